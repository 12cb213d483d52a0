"""The sections of a parameter file, one class each. Unknown keys are refused, and values cannot be changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from lookback.errors import hint
from lookback.registry import BENCHMARKS, JUDGES, LAYOUTS, METRICS

Variant = Literal["paper", "official", "corrected"]


class Section(BaseModel):
    """The base of every section."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _only_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} '{name}'; {hint(name, known)}")


class Ray(Section):
    """For `executor: ray`: the resources of each worker. All nodes see the project and output folders under the same paths."""

    address: str = ""  # of a cluster: auto, host:port, ray://host:port; empty: start Ray on this machine for each stage
    num_cpus: float = Field(default=1, gt=0)  # per worker
    num_gpus: float = Field(default=0, ge=0)  # per worker; 0.5 lets two workers share one
    batch: int = Field(default=1, ge=1, le=1024)  # clips sent to a worker at once; more is faster where a clip takes milliseconds
    start_timeout_s: float = Field(default=300, gt=0)  # how long to wait while no worker can start


class Source(Section):
    """One dataset on disk. `layout: auto` detects the layout and says why."""

    root: str
    layout: str = "auto"  # a registered layout
    gt_root: str | None = None  # memobench, mind: the ground truth, if it is not below root
    phases: str | None = None  # memobench: the phase sheet (CSV or XLSX)
    pattern: str | None = None  # folder: e.g. "{model}/{clip}.mp4"
    poses: str | None = None  # pattern of pose files made elsewhere, e.g. "poses/{model}/{clip}.npz"; relative to root, or absolute
    poses_format: str | None = None  # of these files: vggt, da3, mapanything, ... (docs/artifacts.md)
    files: dict[str, str] = {}  # role: pattern of files made elsewhere, e.g. masks: "masks/{model}/{clip}.npz"
    action_convention: Literal["auto", "readme", "code"] = "auto"  # mind: the meaning of 0/1/2 in action.json

    @field_validator("layout")
    @classmethod
    def _layout_exists(cls, layout: str) -> str:
        if layout != "auto":
            _only_known([layout], ["auto", *LAYOUTS.names()], "layout")
        return layout


class Filters(Section):
    """Keep only these clips; empty keeps all. A name that does not occur is an error."""

    models: list[str] = []
    subsets: list[str] = []
    conditions: list[str] = []
    sample_ids: list[str] = []
    limit: int | None = Field(default=None, ge=1)


class World(Section):
    """The demo world. It is rendered first, and curation then reads it like any other dataset."""

    width: int = Field(default=320, ge=64, le=1920, multiple_of=2)
    height: int = Field(default=192, ge=64, le=1080, multiple_of=2)
    scale: float = Field(default=1.0, gt=0, le=1)  # share of the full demo plan; use small values for quick trials


class Curation(Section):
    """What to read, and which part of it."""

    sources: list[Source] = []
    filters: Filters = Filters()
    world: World | None = None  # if set, render the demo world and read its five datasets


class Extraction(Section):
    """Which backend serves each role. What is not named here follows from the `profile` of the run."""

    roles: list[str] = []  # empty: the roles that the metrics of each clip read, and `always`
    always: list[str] = ["pose", "masks"]  # roles that judges and forensics use
    backends: dict[str, str] = {}  # role: backend name; `mind/features: dinov3` is for the clips of one benchmark
    options: dict[str, dict[str, str | int | float | bool]] = {}  # options of the backend, by role or benchmark/role
    allow_download: bool = False  # allow downloads of hub models (pinned revision)
    batch_size: int = Field(default=16, ge=1)


class Scoring(Section):
    """Which metrics and variants are scored."""

    metrics: list[str] = []  # empty: every metric that applies
    variant: Variant | None = None  # empty: the default of each metric
    compare_variants: bool = False  # score the other variants too, for the table of differences
    constants: dict[str, float] = {}  # other values for named constants, e.g. lighting_tau
    # LPIPS of how many frames of a clip: all, a number, or auto (all on a GPU and with `variant: official`, else 16 on a CPU, where
    # a frame takes seconds). A sampled score says so in its row and in the tables' notes; the papers' numbers are of all frames
    lpips_frames: Literal["auto", "all"] | Annotated[int, Field(ge=1)] = "auto"
    sweeps: bool = False  # MemoBench tables S4 and S7: score again with other constants and mask prompts
    resamples: int = Field(default=1000, ge=100)

    @field_validator("metrics")
    @classmethod
    def _metrics_exist(cls, metrics: list[str]) -> list[str]:
        if metrics:
            _only_known(metrics, METRICS.names(), "metric")
        return metrics

    @field_validator("constants")
    @classmethod
    def _constants_exist(cls, constants: dict[str, float]) -> dict[str, float]:
        if constants:
            _only_known(constants, sorted({name for spec in METRICS for name in spec.constants}), "constant")
        return constants


class Judging(Section):
    """Who judges, what is asked, and how it is sent."""

    judge: str = "none"  # a registered judge; `lookback doctor` lists them
    model: str = ""  # empty: $LOOKBACK_JUDGE_MODEL or $MBENCH_VLM_MODEL; for `transformers` a hub name or a folder
    # empty: $LOOKBACK_JUDGE_URL or $MBENCH_VLM_BASE_URL. The key comes only from the environment, never from a file
    base_url: str = ""
    # the re-observation gate must be another judge than the scorer; empty: geometric, or simulated if the scorer is simulated
    gate_judge: str | None = None
    gate_model: str = ""
    also: list[str] = ["geometric"]  # judges that are asked the same questions for comparison; their answers never count
    tasks: list[str] = []  # empty: every task that applies
    ignore_trigger: bool = False
    prompts: dict[str, str] = {}  # a pack's name -> a file with words of your own (docs/judges.md), e.g. mbench_trigger: my.md
    # what is sent
    n_frames: int = Field(default=8, ge=1)  # evenly spread frames for triggers and ratings
    fps: float = Field(default=2.0, gt=0)  # frames per second for probes, judgeability and VQA
    max_frames: int = Field(default=32, ge=2)
    video: bool = False  # send the frames of probes, judgeability and VQA as one video of `fps` frames per second
    image_side: int = Field(default=512, ge=64, le=4096)  # longer side of a sent frame, in pixels
    jpeg_quality: int = Field(default=85, ge=30, le=100)
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=4096, ge=1)  # a model that thinks first needs room for that, too
    chat_template_kwargs: dict[str, JsonValue] = {}  # of the model's chat template, e.g. enable_thinking: false
    extra_body: dict[str, JsonValue] = {}  # openai: further fields of every request, e.g. top_k: 1
    samples: int = Field(default=5, ge=1)  # calls per yes/no question where the server gives no log-probabilities
    sampling_temperature: float = Field(default=0.7, gt=0)
    repeats: int = Field(default=1, ge=1)
    # how it is sent
    concurrency: int = Field(default=8, ge=1, le=256)
    timeout_s: float = Field(default=60, gt=0)
    max_retries: int = Field(default=3, ge=0)
    max_wait_s: float = Field(default=60, gt=0)  # the longest pause that a server may ask for
    max_calls: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    price_per_call: float = Field(default=0.0, ge=0)
    price_per_million_input: float = Field(default=0.0, ge=0)
    price_per_million_output: float = Field(default=0.0, ge=0)
    recordings: str = ""  # replay: the folder of recorded answers; empty: this run's own
    error_rate: float = Field(default=0.05, ge=0, le=0.5)  # simulated judge: the share of wrong answers
    # MemoBench VQA
    vqa_questions: str = ""  # folder of <Scene>-<n>-questions.csv; empty: questions are generated
    vqa_failures: str = ""  # CSV with clip_id,model_id,hint: clips with known failures, for the failure filter
    vqa_filter: Literal["paper", "official"] = "paper"

    @field_validator("prompts")
    @classmethod
    def _packs_exist(cls, prompts: dict[str, str]) -> dict[str, str]:
        if prompts:
            _only_known(prompts, sorted(name for benchmark in BENCHMARKS for name in benchmark.prompt_packs()), "prompt pack")
        return prompts

    @field_validator("extra_body")
    @classmethod
    def _fields_are_free(cls, fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """What the judge itself sends must not be replaced behind its back."""
        if taken := sorted({"model", "messages", "stream", "n", "chat_template_kwargs"} & set(fields)):
            raise ValueError(f"'{taken[0]}' cannot be sent this way; the judge sets it itself")
        return fields

    @field_validator("judge", "gate_judge", "also")
    @classmethod
    def _judges_exist(cls, names: str | list[str] | None) -> str | list[str] | None:
        chosen = {names} if isinstance(names, str) else set(names or ())
        if chosen - {"none"}:
            _only_known(chosen - {"none"}, JUDGES.names(), "judge")
        return names


class Agreement(Section):
    """The plan of the analysis, and the files of human votes."""

    plan: str = "params/agreement.yaml"
    ratings: list[str] = []  # files of human votes; the demo world adds simulated votes


class Forensics(Section):
    """How failures are decided, and which cases are drawn."""

    # `demo`: the written rules, whose limits were chosen on the demo world; `real`: models fitted on labelled real clips.
    # Empty: demo for clips that the demo world rendered, else real
    domain: Literal["", "demo", "real"] = ""
    experimental: bool = False  # real: also name failures that were not seen to beat chance on real clips
    max_cases: int = Field(default=5, ge=0)  # timelines and case cards that are drawn
    frames_per_montage: int = Field(default=8, ge=3, le=24)
    plan: str = "params/agreement.yaml"  # says which metric is compared with which question to people


class Audit(Section):
    """Test the metrics: with controls and nuisances on sound clips, beside the failures of the demo world."""

    enabled: bool = False
    # of the nuisances; controls have one strength
    severities: list[Annotated[float, Field(gt=0, le=1)]] = Field(default=[0.25, 0.5, 1.0], min_length=1)
    clips: int = Field(default=4, ge=0)  # sound clips to change, spread over benchmarks and settings; 0: no controls
    benchmarks: list[str] = []  # only clips of these; empty: all
    false_alarms: float = Field(default=0.05, gt=0, lt=1)

    @field_validator("benchmarks")
    @classmethod
    def _benchmarks_exist(cls, benchmarks: list[str]) -> list[str]:
        if benchmarks:
            _only_known(benchmarks, BENCHMARKS.names(), "benchmark")
        return benchmarks


class Report(Section):
    """What the report shows."""

    title: str = "lookback report"
    published: bool = False  # report the tables printed in the papers; such a run has no dataset and no other stage
    sheets: bool = True  # contact sheets of the demo world's failures
    confidence_intervals: bool = True
    thumbnails: int = Field(default=8, ge=0, le=24)
    ceiling: int = Field(default=4, ge=0)  # real videos per benchmark that are scored as if a model had made them
    series: dict[str, list[str]] = Field(default_factory=dict)  # WRBench figure 7: a series' name -> its models, in order
