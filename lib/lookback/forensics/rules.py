"""The failure taxonomy: fourteen labels, each with a written rule. A clip can have several labels.

Each rule states in words what it looks for and with which thresholds; the notebook and the report print these words. The rules
decide in the demo world; on real clips they are only compared with. A rule finds nothing if its evidence is missing. No rule reads
the demo world's truth or the answers of a simulated judge.
"""

from __future__ import annotations

from lookback.forensics import scene_rules, subject_rules
from lookback.forensics.evidence import Evidence, Finding, Rule

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
_ALL = {rule.label: rule for rule in (*scene_rules.RULES, *subject_rules.RULES)}
RULES: tuple[Rule, ...] = tuple(_ALL[label] for label in ORDER)
LABELS = tuple(rule.label for rule in RULES)
TITLES = {rule.label: rule.title for rule in RULES}
# injected failures of the demo world that have another label here
OF_INJECTED = {
    "texture_drift": "identity_drift",
    "wrong_direction": "camera_drift",
    "hard_cut": "cut_ghosting",
    "ghosting": "cut_ghosting",
}


def find_failures(seen: Evidence) -> list[tuple[Rule, Finding]]:
    """Every rule that finds a failure in this clip, with its finding."""
    found = ((rule, rule.find(seen)) for rule in RULES)
    return [(rule, finding) for rule, finding in found if finding is not None]
