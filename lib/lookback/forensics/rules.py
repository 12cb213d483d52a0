"""The failure taxonomy: fourteen labels, each with its written rule. Labels are not exclusive; a rule without evidence is silent.

A rule says in words what it looks for and with which thresholds; the same words stand in the notebook and in the report. No rule
reads the demo world's truth, nor a simulated judge's answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from lookback.forensics import camera_rules, picture_rules, subject_rules
from lookback.forensics.evidence import Evidence
from lookback.forensics.finding import Finding, Rule

__all__ = ["LABELS", "OF_INJECTED", "RULES", "TITLES", "Finding", "Rule", "find_failures"]

ORDER = (
    "object_vanishes",
    "identity_drift",
    "state_reset",
    "event_never_starts",
    "teleport",
    "duplicate",
    "background_hallucination",
    "camera_drift",
    "camera_inactivity",
    "subject_dragged",
    "lighting_shift",
    "style_shift",
    "cut_ghosting",
    "geometric_melt",
)
_ALL = {rule.label: rule for rule in (*camera_rules.RULES, *picture_rules.RULES, *subject_rules.RULES)}
RULES: tuple[Rule, ...] = tuple(_ALL[label] for label in ORDER)
LABELS = tuple(rule.label for rule in RULES)
TITLES = {rule.label: rule.title for rule in RULES}
# the demo world injects some failures that share a label
OF_INJECTED = {
    "texture_drift": "identity_drift",
    "wrong_direction": "camera_drift",
    "hard_cut": "cut_ghosting",
    "ghosting": "cut_ghosting",
}


def find_failures(seen: Evidence, rules: Iterable[Rule] = RULES) -> list[tuple[Rule, Finding]]:
    """Every rule that holds for this clip."""
    found = ((rule, rule.find(seen)) for rule in rules)
    return [(rule, finding) for rule, finding in found if finding is not None]
