"""The parameter sections of the later stages."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lookback.params.section import Section

Variant = Literal["paper", "official", "corrected"]


class Extraction(Section):
    """Which backend serves each role. `auto` takes the paper's model when it is usable here, else the embedded one."""

    roles: list[str] = ["pose", "masks", "faces", "features", "perceptual", "flow", "depth", "clip", "quality"]
    backends: dict[str, str] = {}  # role: backend name; roles not named use `embedded`
    prefer: Literal["embedded", "paper"] = "embedded"
    options: dict[str, dict[str, str | int | float | bool]] = {}  # per role, passed to the backend
    allow_download: bool = False  # a hub model may be fetched (pinned revision)
    batch_size: int = Field(default=16, ge=1)


class Scoring(Section):
    metrics: list[str] = []  # empty: every metric that applies
    variant: Variant | None = None  # empty: each metric's own default
    constants: dict[str, float] = {}  # overrides of named constants, e.g. lighting_tau
    resamples: int = Field(default=1000, ge=100)


class Judging(Section):
    judge: Literal["none", "geometric", "simulated", "openai", "transformers", "replay"] = "none"
    tasks: list[str] = []  # empty: every task that applies
    ignore_trigger: bool = False
    model: str = ""
    base_url: str = ""  # the key is read from $LOOKBACK_JUDGE_KEY (or $MBENCH_VLM_API_KEY), never from a file
    n_frames: int = Field(default=8, ge=1)
    repeats: int = Field(default=1, ge=1)
    concurrency: int = Field(default=8, ge=1, le=256)
    timeout_s: float = Field(default=60, gt=0)
    max_retries: int = Field(default=3, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    price_per_call: float = Field(default=0.0, ge=0)
    recordings: str = ""  # replay: the folder of recorded answers
    error_rate: float = Field(default=0.05, ge=0, le=0.5)  # simulated: the declared share of wrong answers


class Agreement(Section):
    plan: str = "params/agreement.yaml"
    ratings: list[str] = []  # files of human votes; the demo world adds its simulated ones


class Forensics(Section):
    max_cases: int = Field(default=12, ge=0)
    frames_per_montage: int = Field(default=8, ge=3, le=24)


class Audit(Section):
    enabled: bool = False
    severities: list[float] = [0.25, 0.5, 1.0]
    clips: int = Field(default=4, ge=1)


class Report(Section):
    title: str = "lookback report"
    sheets: bool = True  # contact sheets of the demo world's failures
    confidence_intervals: bool = True
    thumbnails: int = Field(default=8, ge=0, le=24)
