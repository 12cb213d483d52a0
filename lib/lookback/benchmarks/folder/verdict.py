"""What a clip shows, in words: a sentence from typed evidence, which says plainly what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from lookback.benchmarks.folder.metrics.camera import HALF_TURN_DEG, ROUGH
from lookback.benchmarks.folder.metrics.shared import RETURNED_SHARE, TURNED_DEG
from lookback.clips import KEYS
from lookback.errors import Reason

STILL_DEG = 3.0  # less is the noise of a path
SIDEWAYS = 0.7  # the part of a turn that must be yaw before a side is named
CLEAR_DEG = 12.0  # a smaller turn is called small
VIEW_MOVED = 0.2  # of the first view that is gone when a camera moves without turning; still cameras lose up to 0.1
FULL_RETURN = 0.75
SAME_PLACE, OTHER_PLACE = 0.7, 0.45  # share of the overlap that is kept
SUBJECT_KEPT, SUBJECT_LOST = 0.6, 0.25  # share of the subject's box that is kept; a glass that was filled keeps 0.34
SURROUNDINGS = 0.6  # share of the rest that must be kept before a subject is called gone
AS_SIMILAR, MORE_SIMILAR = 0.03, 0.08  # cosine above what the scene reaches without the subject


class Answer(StrEnum):
    """What the evidence says to a question about a clip."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Evidence:
    """One question about a clip: the answer, the words for it, and the frames to look at."""

    question: str
    answer: Answer
    words: str
    frames: tuple[int, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A clip's score in one measure: its value and raw value, or the reason why there is none; `frames` are those of its units."""

    value: float | None
    raw: float | None
    reason: str
    frames: tuple[tuple[int, int | None], ...] = ()
    detail: str = ""


Facts = Mapping[str, Measured]  # measure -> what was measured
MISSING = Measured(None, None, str(Reason.MISSING_INPUT))


def facts_of(items: pd.DataFrame, units: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Measured]]:
    """Clip -> measure -> what was measured, from the tables of a run."""
    frames: dict[tuple[str, ...], list[tuple[int, int | None]]] = {}
    for row in units[units["frame"].notna()].to_dict("records"):
        other = None if pd.isna(row["frame_other"]) else int(row["frame_other"])
        frames.setdefault((*(row[name] for name in KEYS), row["metric"]), []).append((int(row["frame"]), other))
    found: dict[tuple[str, ...], dict[str, Measured]] = {}
    for row in items.to_dict("records"):
        key = tuple(row[name] for name in KEYS)
        value, raw = (None if pd.isna(row[name]) else float(row[name]) for name in ("value", "raw"))
        seen = tuple(frames.get((*key, row["metric"]), ()))
        found.setdefault(key, {})[row["metric"]] = Measured(value, raw, row["reason"], seen, row.get("detail") or "")
    return found


def evidence_of(facts: Facts, subject: str = "") -> list[Evidence]:
    """The evidence about camera, place and subject, in the order of the sentence."""
    return [*_camera(facts), *_place(facts), *_subject(facts, f"the {subject}" if subject else "the subject"), *_cuts(facts)]


def sentence(evidence: list[Evidence]) -> str:
    """The verdict in words: "The camera turns 58 degrees and comes back; the place is the same; the subject is gone." """
    said = [each.words for each in evidence if each.words]
    text = "; ".join(said).replace("; and ", " and ").replace("; but ", ", but ")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _camera(facts: Facts) -> Iterator[Evidence]:
    turn, back, left = (facts.get(f"folder.{name}", MISSING) for name in ("camera_turn", "camera_return", "view_left"))
    if turn.value is None:
        yield Evidence("camera turns", Answer.NOT_KNOWN, "how the camera moves is not known")
        return
    frames = tuple(frame for frame, _ in turn.frames)
    if turn.value < TURNED_DEG:
        yield Evidence("camera turns", Answer.NO, _hardly(turn.value, left.value), frames)
        return
    yaw = turn.raw or 0.0
    side = "" if abs(yaw) < SIDEWAYS * turn.value else " to the right" if yaw > 0 else " to the left"
    answer, how = (Answer.YES, "") if turn.value >= CLEAR_DEG else (Answer.PARTLY, "only ")
    how += "about " if turn.detail == ROUGH else ""
    turned = abs(yaw) if abs(yaw) > HALF_TURN_DEG else turn.value
    yield Evidence("camera turns", answer, f"the camera turns {how}{turned:.0f} degrees{side}", frames)
    again = facts.get("folder.view_again", MISSING)
    undone = back.value if back.value is not None else 0.0
    frames = tuple(frame for frame, _ in back.frames)
    if undone >= FULL_RETURN or (again.value is not None and undone >= RETURNED_SHARE):
        yield Evidence("camera comes back", Answer.YES, "and comes back", frames)
    elif undone >= RETURNED_SHARE:
        yield Evidence("camera comes back", Answer.PARTLY, f"and comes back part of the way ({undone:.0%})", frames)
    else:
        yield Evidence("camera comes back", Answer.NO, "and does not come back", frames)


def _hardly(turn: float, left: float | None) -> str:
    """The words for a camera that does not turn away."""
    if left is not None and left >= VIEW_MOVED:
        return f"the camera moves without turning away ({left:.0%} of the first view goes out of sight)"
    if turn < STILL_DEG:
        return "the camera stays on its first view"
    return f"the camera turns only {turn:.0f} degrees"


def _place(facts: Facts) -> Iterator[Evidence]:
    kept = facts.get("folder.place_kept", MISSING)
    frames = tuple(frame for pair in kept.frames[:1] for frame in pair if frame is not None)
    if kept.value is None:
        if kept.reason == Reason.TOO_FEW_MATCHES:
            words = "but no frame matches the first view again: whether it is the same place is not known"
            yield Evidence("same place", Answer.NOT_KNOWN, words)
        return
    if kept.value >= SAME_PLACE:
        yield Evidence("same place", Answer.YES, "the place is the same", frames)
    elif kept.value >= OTHER_PLACE:
        yield Evidence("same place", Answer.PARTLY, f"the place has changed in part ({1 - kept.value:.0%} of it differs)", frames)
    else:
        yield Evidence("same place", Answer.NO, f"the place is not the same ({1 - kept.value:.0%} of it differs)", frames)


def _subject(facts: Facts, name: str) -> Iterator[Evidence]:
    kept, again = (facts.get(f"folder.{measure}", MISSING) for measure in ("subject_kept", "subject_again"))
    frames = tuple(frame for pair in (kept.frames or again.frames)[:1] for frame in pair if frame is not None)
    if kept.value is None and again.value is None:
        return
    nearer = again.value - again.raw if again.value is not None and again.raw is not None else None
    if kept.value is not None and kept.value >= SUBJECT_KEPT:
        yield Evidence("subject again", Answer.YES, f"{name} is still there", frames)
    elif nearer is not None and nearer >= MORE_SIMILAR:
        yield Evidence("subject again", Answer.PARTLY, f"{name} is seen again, but not as it was", frames)
    elif (
        kept.value is not None and kept.value < SUBJECT_LOST and (kept.raw or 0.0) >= SURROUNDINGS and (nearer or 0.0) < AS_SIMILAR
    ):
        yield Evidence("subject again", Answer.NO, f"{name} is gone", frames)
    else:
        yield Evidence("subject again", Answer.NOT_KNOWN, f"what became of {name} is not known", frames)


def _cuts(facts: Facts) -> Iterator[Evidence]:
    cuts = facts.get("folder.cuts", MISSING)
    if cuts.value:
        frames = tuple(frame for frame, _ in cuts.frames)
        words = f"there is a hard cut at frame {frames[0]}" if len(frames) == 1 else f"there are {len(frames)} hard cuts"
        yield Evidence("one shot", Answer.NO, words, frames)
