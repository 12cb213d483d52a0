"""Object Reappearance Score: is the object found when it should be back (MemoBench section 3.4, eq. 6)?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import Masks
from lookback.benchmarks.memobench.metrics.shared import memobench_metric, phases, raw_rounded
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_finite, require_probability
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Stream, Unit

# share of the image a mask may cover: the first range, and the one tried when nothing fits the first
COVERAGE_RANGES: tuple[tuple[float, float], ...] = ((0.0005, 0.50), (0.0005, 0.70))
# the eight ranges of table S3, in per cent of the image; the third is the default
SWEPT_RANGES = ((0.01, 30), (0.03, 40), (0.05, 50), (0.05, 60), (0.05, 70), (0.10, 50), (0.10, 70), (0.20, 50))
_SUBJECT_PHRASE = re.compile(r"sees (.*?\(subject\)[^.,]*)", re.IGNORECASE)  # as the released program finds it


class FoundMasks(NamedTuple):
    """All masks of one frame: the share of the picture that each covers, and its confidence."""

    coverage: NDArray[np.float64]
    confidence: NDArray[np.float64]


class AskedMasks(Protocol):
    """A mask backend that is asked for an object by words, in each frame anew."""

    def query(self, frame: NDArray[np.uint8], words: str, threshold: float) -> FoundMasks:
        """Every mask of at least `threshold` confidence, whatever its size."""


def best_detection(
    coverages: ArrayLike, confidences: ArrayLike, *, ranges: Sequence[tuple[float, float]] = COVERAGE_RANGES
) -> float | None:
    """The highest confidence among one frame's masks whose coverage (share of the image) fits, or None when none does."""
    cover = require_finite(coverages, "coverages", ndim=1, at_least=0)
    confidence = require_finite(confidences, "confidences", ndim=1, at_least=0)
    if len(cover) != len(confidence):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"coverages and confidences: {len(cover)} against {len(confidence)}")
    row = best_mask(FoundMasks(cover, confidence), ranges)
    return None if row is None else float(confidence[row])


def best_mask(masks: FoundMasks, ranges: Sequence[tuple[float, float]]) -> int | None:
    """The row of the most confident mask that fits the first range; where none does, the next range is tried."""
    for low, high in ranges:
        fits = np.flatnonzero((masks.coverage >= low) & (masks.coverage <= high))
        if len(fits):
            return int(fits[masks.confidence[fits].argmax()])
    return None


def object_reappearance(confidences: ArrayLike, n_frames: int) -> float:
    """(n_d / n_R) * mean confidence of the n_d detected among n_R reappear frames (MemoBench eq. 6), in [0,1].

    `confidences` holds one number per frame with a valid detection; without any the score is 0.
    """
    if n_frames < 1:
        raise NotScorable(Reason.TOO_SHORT, "the R phase has no frame")
    if np.size(confidences) == 0:
        return 0.0
    detected = require_probability(confidences, "confidences")
    if len(detected) > n_frames:
        raise NotScorable(Reason.INVALID_INPUT, f"{len(detected)} detected frames of {n_frames}")
    return float(detected.sum() / n_frames)


def subject_phrase(clip: Clip) -> str:
    """What the released program asks for: the prompt's words after "sees" up to and around "(subject)", with these marks in it.

    Real clips, and prompts without such words, are asked for by the name of the subject.
    """
    found = _SUBJECT_PHRASE.search(clip.prompt) if clip.setting == "synthetic" else None
    return found.group(1).strip().rstrip(".,") if found else clip.object_name


@memobench_metric(
    "ors",
    title="Object reappearance score",
    needs=("video", "d_start", "r_start"),
    roles=("masks",),
    tools=("masks",),
    equation="(n_d / n_R) * mean confidence of the detections of 0.05-50 % of the image (else up to 70 %)",
    source="MemoBench section 3.4, eq. 6",
    pixels=True,
)
def score(context: ScoringClip) -> PixelScoring:
    """The object's masks in the R frames: asked for by words in each frame, or followed from the first frame.

    `ors_low` and `ors_high` are the coverage range. The units keep every mask that any range of table S3 would choose.
    """
    frames, backend = phases(context)["R"], context.backend("masks")
    if hasattr(backend, "query"):
        words, threshold = (
            _words(context, str(getattr(backend, "settings", {}).get("phrase", ""))),
            context.number("confidence_threshold"),
        )
        found = yield Stream(f"ors-{context.variant}", lambda: _Queries(backend, words, threshold), frames)
        told, seen = f"asked for '{words}'", frames
    else:
        found, seen = _followed(context, frames)
        told = ""
    units, confidences = [], []
    low, high, fallback = context.number("ors_low"), context.number("ors_high"), context.number("ors_fallback")
    for frame in seen:
        masks = found.get(int(frame), FoundMasks(np.empty(0), np.empty(0)))
        row = best_mask(masks, ((low, high), (low, max(high, fallback))))
        units += _units(int(frame), masks, row)
        confidences += [float(masks.confidence[row])] if row is not None else []
    detail = "; ".join(filter(None, [f"found in {len(confidences)} of {len(seen)} frames", told]))
    value = raw_rounded(context, object_reappearance(confidences, len(seen)))
    return Scored([Item(value, value, detail=detail, n_units=len(seen))], units)


class _Queries:
    """Asks for the object in every frame."""

    def __init__(self, backend: AskedMasks, words: str, threshold: float):
        self.backend, self.words, self.threshold = backend, words, threshold
        self.found: dict[int, FoundMasks] = {}

    def push(self, index: int, frame: NDArray[np.uint8], truth: Any) -> None:
        self.found[index] = self.backend.query(frame, self.words, self.threshold)

    def finish(self) -> dict[int, FoundMasks]:
        return self.found


def _words(context: ScoringClip, phrase: str = "") -> str:
    """What is asked for: the preset's words, or the run's own `phrase` with the subject's name in it (table S4)."""
    subject = context.clip.object_name
    words = subject_phrase(context.clip) if context.setting("words") == "prompt_phrase" else subject
    if not words:
        raise NotScorable(Reason.MISSING_INPUT, "the clip names no subject to ask for")
    return phrase.replace("{subject}", subject).replace("{first}", subject.split()[0]) if phrase and subject else words


def _followed(context: ScoringClip, frames: NDArray[np.int64]) -> tuple[Mapping[int, FoundMasks], NDArray[np.int64]]:
    """The masks that extraction stored, and the R frames that they speak of.

    Masks made elsewhere by asking every frame carry the words in the fact `query`. A frame may have several of them.
    """
    masks = context.artifact(Masks)
    asked = str(masks.facts.get("query", ""))
    if context.setting("masks") == "queried" and asked != _words(context):
        told = f"asked for '{asked}'" if asked else "followed from a box in the first frame"
        raise NotScorable(
            Reason.BACKEND_UNAVAILABLE, f"the masks were {told}; this variant asks every R frame for '{_words(context)}' (SAM 3)"
        )
    rows = masks.rows_in(frames)
    if not len(rows) and not asked:
        raise NotScorable(Reason.TOO_SHORT, "no frame of R has a mask row")
    spoken = np.unique(masks.frame_index[rows])
    if not asked and not _evenly(spoken, frames, masks.frame_index):
        raise NotScorable(
            Reason.INVALID_INPUT,
            f"the masks name {len(spoken)} of the {len(frames)} frames of R, at uneven steps: whether the object is missing in the "
            "others cannot be told; give every frame a mask, all 0 where the object is not seen",
        )
    found: dict[int, FoundMasks] = {}
    for frame in spoken:
        own = rows[(masks.frame_index[rows] == frame) & masks.in_view[rows]]
        found[int(frame)] = FoundMasks(masks.area[own].astype(float), masks.confidence[own].astype(float).clip(0, 1))
    return found, frames if asked else spoken


def _evenly(spoken: NDArray[np.int64], frames: NDArray[np.int64], every: NDArray[np.int64]) -> bool:
    """Whether the frames `spoken` of a phase are all of its frames, or a sample at the step of `every` frame that has a row."""
    step = int(np.diff(np.unique(every)).min(initial=len(frames)))
    gaps = np.diff(np.concatenate([[frames[0] - 1], spoken, [frames[-1] + 1]]))
    return len(spoken) == len(frames) or bool(gaps.max() <= step + 1)  # steps of a rounded sample differ by one


def _units(frame: int, masks: FoundMasks, row: int | None) -> list[Unit]:
    """The frame's unit (confidence and coverage of its detection, or 0), then the masks that only other ranges would choose."""
    swept = {best_mask(masks, [(low / 100, high / 100)]) for low, high in SWEPT_RANGES} - {row, None}
    own = (0.0, 0.0) if row is None else (float(masks.confidence[row]), float(masks.coverage[row]))
    others = [
        Unit(f"f{frame}_m{other}", "mask", float(masks.confidence[other]), float(masks.coverage[other]), frame, phase="R")
        for other in sorted(other for other in swept if other is not None)
    ]
    return [Unit(f"f{frame}", "frame", *own, frame, phase="R"), *others]
