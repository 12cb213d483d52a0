"""What is said about a clip: for every label a probability, a finding, or the reason why nothing is said.

In the domain `demo` the written rules decide, with the limits that were chosen there. In the domain `real` a small fitted model per
label decides. A label that needs an understanding of the scene waits for a judge's answer; one that was not seen to beat chance on
real clips is off unless it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lookback.errors import Reason
from lookback.forensics.calibration import Calibration, LabelCalibration
from lookback.forensics.evidence import Evidence, Finding, Rule
from lookback.forensics.features import Features, features, in_words
from lookback.forensics.model import Abstention
from lookback.forensics.rules import RULES

CAMERA = ("camera_drift", "camera_inactivity", "subject_dragged")
SUBJECT = ("object_vanishes", "identity_drift", "state_reset", "event_never_starts", "teleport", "duplicate", "subject_dragged")
STILL, DRIFT = "camera_inactivity", "camera_drift"  # no labelled clip has both: a camera that does not move goes nowhere wrong
HARDLY_MOVES = "the camera hardly moves, which is camera inactivity"
WHOLE_CLIP = ("camera_drift", "camera_inactivity", "event_never_starts")  # other failures show late


@dataclass(frozen=True)
class Verdict:
    """One label of one clip: the probability, the finding if it is named, or why nothing is said."""

    rule: Rule
    probability: float | None = None
    finding: Finding | None = None
    abstained: Abstention | None = None


def verdicts(seen: Evidence, table: Calibration, experimental: bool = False) -> list[Verdict]:
    """One verdict per label, in the order of the taxonomy."""
    if table.domain == "demo":
        return [_by_rule(seen, rule, table.labels[rule.label]) for rule in RULES]
    found = features(seen)
    told = [_by_calibration(seen, found, rule, table.labels[rule.label], experimental) for rule in RULES]
    still = any(each.rule.label == STILL and each.finding is not None for each in told)
    unmoved = Abstention(Reason.NOT_APPLICABLE, HARDLY_MOVES)
    return [Verdict(each.rule, abstained=unmoved) if still and each.rule.label == DRIFT else each for each in told]


def _by_rule(seen: Evidence, rule: Rule, label: LabelCalibration) -> Verdict:
    why_not = cannot_tell(rule.label, seen)
    finding = rule.find(seen)
    if finding is None:
        return Verdict(rule, abstained=why_not) if why_not is not None else Verdict(rule, 0.0)
    probability = finding.confidence if label.model is None else label.model.probability({"confidence": finding.confidence})
    return Verdict(rule, probability, replace(finding, confidence=probability))


def cannot_tell(label: str, seen: Evidence) -> Abstention | None:
    """Why a written rule has no evidence to look at; None if it has."""
    if label in CAMERA:
        if seen.path is None:
            return Abstention(Reason.NO_POSES, "no camera path")
        if label != "subject_dragged" and seen.requested is None:
            return Abstention(Reason.MISSING_INPUT, "nothing says which camera motion was asked for")
    elif label != "cut_ghosting" and not seen.returns:
        return Abstention(Reason.NO_RETURN, "no late frame shows a place that was seen before")
    if label in SUBJECT and seen.state is None and not any(record["from_truth"] for record in seen.returns):
        return Abstention(Reason.NO_MASK, "the subject was never found")
    return None


def _by_calibration(seen: Evidence, found: Features, rule: Rule, label: LabelCalibration, experimental: bool) -> Verdict:
    told = _by_judge(seen, rule, label)
    if told is not None:
        return told
    if label.by == "judge":
        return Verdict(rule, abstained=Abstention(Reason.NEEDS_JUDGE, label.why))
    if label.model is None or (label.experimental and not experimental):
        return Verdict(rule, abstained=Abstention(Reason.UNPROVEN, label.why))
    missing = label.model.missing(found.values)
    if missing is not None:
        reason = found.missing[missing]
        return Verdict(rule, abstained=Abstention(reason.reason, reason.detail))
    probability, says = label.model.probability(found.values), label.model.says(found.values)
    words = in_words(label.model.spoke(found.values), found.values)
    if says is None:
        return Verdict(rule, probability, abstained=Abstention(Reason.TOO_CLOSE, words))
    if not says:
        return Verdict(rule, probability)
    return Verdict(rule, probability, _finding(seen, rule, probability, words))


def _by_judge(seen: Evidence, rule: Rule, label: LabelCalibration) -> Verdict | None:
    """The answer of a real judge: `yes` to a question that speaks for the failure, or `no` to one that speaks against it.

    None where nobody was asked.
    """
    told = [
        seen.answers[name] if sign > 0 else 1 - seen.answers[name] for name, sign in label.questions.items() if name in seen.answers
    ]
    if not told:
        return None
    probability = float(np.mean(told))
    named = _finding(seen, rule, probability, f"a judge's answers to {', '.join(label.questions)}") if probability >= 0.5 else None
    return Verdict(rule, probability, named)


def _finding(seen: Evidence, rule: Rule, probability: float, words: str) -> Finding:
    last = max((seen.clip.n_frames or 1) - 1, 0)
    first = 0 if rule.label in WHOLE_CLIP else last * 2 // 3
    return Finding(rule.label, probability, first, last, words)
