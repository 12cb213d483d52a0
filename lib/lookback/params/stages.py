"""The parameter sections of the later stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from lookback.errors import hint
from lookback.params.section import Section
from lookback.registry import BENCHMARKS, JUDGES, METRICS

Variant = Literal["paper", "official", "corrected"]


def _only_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} '{name}'; {hint(name, known)}")


class Extraction(Section):
    """Which backend serves each role. `auto` takes the paper's model when it is usable here, else the embedded one."""

    roles: list[str] = []  # empty: what each clip's metrics read, and `always`
    always: list[str] = ["pose", "masks"]  # what judges and forensics look at
    backends: dict[str, str] = {}  # role: backend name; roles not named use `embedded`
    prefer: Literal["embedded", "paper"] = "embedded"
    options: dict[str, dict[str, str | int | float | bool]] = {}  # per role, passed to the backend
    allow_download: bool = False  # a hub model may be fetched (pinned revision)
    batch_size: int = Field(default=16, ge=1)


class Scoring(Section):
    metrics: list[str] = []  # empty: every metric that applies
    variant: Variant | None = None  # empty: each metric's own default
    compare_variants: bool = False  # also score the other variants, for the table of differences
    constants: dict[str, float] = {}  # overrides of named constants, e.g. lighting_tau
    sweeps: bool = False  # MemoBench tables S4 and S7: score again under other constants and mask prompts
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
    judge: str = "none"  # a registered judge; `lookback doctor` lists them
    model: str = ""  # empty: $LOOKBACK_JUDGE_MODEL or $MBENCH_VLM_MODEL; for `transformers` a hub name or a folder
    # empty: $LOOKBACK_JUDGE_URL or $MBENCH_VLM_BASE_URL. The key comes from the environment only, never from a file
    base_url: str = ""
    # the re-observation gate is another judge than the scorer; empty: geometric, or simulated beside a simulated scorer
    gate_judge: str | None = None
    gate_model: str = ""
    also: list[str] = ["geometric"]  # asked the same questions for comparison; never used for gating
    tasks: list[str] = []  # empty: every task that applies
    ignore_trigger: bool = False
    # what is sent
    n_frames: int = Field(default=8, ge=1)  # uniform frames for triggers and ratings
    fps: float = Field(default=2.0, gt=0)  # frames per second for probes, judgeability and VQA
    max_frames: int = Field(default=32, ge=2)
    image_side: int = Field(default=512, ge=64, le=4096)  # longer side of a sent frame, in pixels
    jpeg_quality: int = Field(default=85, ge=30, le=100)
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=4096, ge=1)
    samples: int = Field(default=5, ge=1)  # calls a yes/no question is asked where the server gives no log-probabilities
    sampling_temperature: float = Field(default=0.7, gt=0)
    repeats: int = Field(default=1, ge=1)
    # how it is sent
    concurrency: int = Field(default=8, ge=1, le=256)
    timeout_s: float = Field(default=60, gt=0)
    max_retries: int = Field(default=3, ge=0)
    max_wait_s: float = Field(default=60, gt=0)  # the longest pause a server may ask for
    max_calls: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    price_per_call: float = Field(default=0.0, ge=0)
    price_per_million_input: float = Field(default=0.0, ge=0)
    price_per_million_output: float = Field(default=0.0, ge=0)
    recordings: str = ""  # replay: the folder of recorded answers; empty: this run's own
    error_rate: float = Field(default=0.05, ge=0, le=0.5)  # simulated: the declared share of wrong answers
    # MemoBench VQA
    vqa_questions: str = ""  # folder of <Scene>-<n>-questions.csv; empty: questions are generated
    vqa_failures: str = ""  # CSV clip_id,model_id,hint: known-failure clips for the failure filter
    vqa_filter: Literal["paper", "official"] = "paper"

    @field_validator("judge", "gate_judge", "also")
    @classmethod
    def _judges_exist(cls, names: str | list[str] | None) -> str | list[str] | None:
        chosen = {names} if isinstance(names, str) else set(names or ())
        if chosen - {"none"}:
            _only_known(chosen - {"none"}, JUDGES.names(), "judge")
        return names


class Agreement(Section):
    plan: str = "params/agreement.yaml"
    ratings: list[str] = []  # files of human votes; the demo world adds its simulated ones


class Forensics(Section):
    max_cases: int = Field(default=5, ge=0)  # timelines drawn, and case cards drawn
    frames_per_montage: int = Field(default=8, ge=3, le=24)
    plan: str = "params/agreement.yaml"  # says which metric is held against which of people's questions


class Audit(Section):
    """Metrics on trial: controls and nuisances applied to sound clips, beside the failures of the demo world."""

    enabled: bool = False
    # of the nuisances; controls have one strength
    severities: list[Annotated[float, Field(gt=0, le=1)]] = Field(default=[0.25, 0.5, 1.0], min_length=1)
    clips: int = Field(default=4, ge=0)  # sound clips to corrupt, spread over benchmarks and settings; 0 leaves controls out
    benchmarks: list[str] = []  # only clips of these; empty: all
    false_alarms: float = Field(default=0.05, gt=0, lt=1)

    @field_validator("benchmarks")
    @classmethod
    def _benchmarks_exist(cls, benchmarks: list[str]) -> list[str]:
        if benchmarks:
            _only_known(benchmarks, BENCHMARKS.names(), "benchmark")
        return benchmarks


class Report(Section):
    title: str = "lookback report"
    published: bool = False  # report the papers' printed tables; the run has no dataset and no other stage
    sheets: bool = True  # contact sheets of the demo world's failures
    confidence_intervals: bool = True
    thumbnails: int = Field(default=8, ge=0, le=24)
    series: dict[str, list[str]] = Field(default_factory=dict)  # WRBench figure 7: a series' name -> its models, in order
