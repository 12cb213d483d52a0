"""Rules for the subject: it vanishes, becomes another, is reset, never starts its event, comes back elsewhere or twice.

All of them require unchanged surroundings: if the whole picture changed, a difference at the subject's place proves nothing.
"""

from __future__ import annotations

from lookback.forensics.evidence import Evidence, Finding, Rule, sure
from lookback.forensics.limits import limits
from lookback.forensics.scene_rules import camera_drift, lighting_shift, subject_dragged, surroundings_hold

LIMITS = limits()
DIFFERENT_COLOUR, DIFFERENT_STRUCTURE = (
    LIMITS["different_colour"],
    LIMITS["different_structure"],
)  # mean colour difference; correlation of gradients
UNCHANGED = LIMITS["unchanged"]  # from this correlation of gradients on, the subject counts as unchanged
FADED_STRUCTURE, FADED_STRENGTH = LIMITS["faded_structure"], LIMITS["faded_strength"]  # the same outlines, but weaker
LIKE_SURROUNDINGS = LIMITS["like_surroundings"]  # share of the place that has the colours around it
OWN_LEFT = LIMITS["own_left"]  # of the subject's own colours at its place
OWN_ELSEWHERE = LIMITS["own_elsewhere"]  # of its own colours in the whole view
NOTHING_NEW = LIMITS["nothing_new"]  # largest changed blob elsewhere, of the view
SOMETHING_NEW = LIMITS["something_new"]
COPY = LIMITS["copy"]  # correlation of the late subject with a second, new place of the late frame
TWICE = LIMITS["twice"]  # of its own colours in the whole view
OFF_TRUTH = LIMITS["off_truth"]  # of the view
BEYOND_EVENT = LIMITS["beyond_event"]  # of what differs from the ground truth
PROGRESS = LIMITS["progress"]  # of the event
ENDPOINT = "D6_endpoint"  # WRBench's question whether the event's endpoint is shown
COMPACT = LIMITS["compact"]  # largest blob that differs from the ground truth, of the view


def _judgeable(seen: Evidence) -> bool:
    drifted = camera_drift(seen)
    elsewhere = drifted is not None and "wrong direction" not in drifted.evidence  # the view differs, not the subject
    return surroundings_hold(seen) and subject_dragged(seen) is None and not elsewhere


def _differs(seen: Evidence) -> bool:
    enough = DIFFERENT_COLOUR if lighting_shift(seen) is None else 2 * DIFFERENT_COLOUR  # light alone shifts colours unevenly
    return seen.typical("subject_colour") >= enough and seen.typical("subject_structure") < DIFFERENT_STRUCTURE


def duplicate(seen: Evidence) -> Finding | None:
    copy, own = seen.typical("second_copy"), seen.typical("own_colour")
    if not _judgeable(seen) or not seen.typical("blob") >= NOTHING_NEW or any(record["from_truth"] for record in seen.returns):
        return None
    if copy >= COPY:
        words = f"the subject is found a second time in the late frame (correlation {copy:.2f})"
        return Finding("duplicate", sure(copy, COPY, 0.9), *seen.span(), words)
    if not own >= TWICE or lighting_shift(seen) is not None:
        return None
    words = f"the view holds {own:.1f} times the subject's own colours"
    return Finding("duplicate", sure(own, TWICE, 1.8), *seen.span(), words)


def teleport(seen: Evidence) -> Finding | None:
    """With a ground truth: differences lie outside the event's place. Without: the subject's own colours are elsewhere."""
    if not _judgeable(seen) or duplicate(seen) is not None:
        return None
    if any(record["from_truth"] for record in seen.returns):
        off, beyond = seen.typical("off_truth"), seen.typical("outside_event")
        certain = 0.7
        if off != off:  # the camera never returns to an early view: any compact difference from the ground truth counts
            off, beyond = seen.typical("changed"), min(1.0, seen.typical("blob") / COMPACT * BEYOND_EVENT)
            certain = 5.0  # the reset of a moved thing looks the same
        if not (off >= OFF_TRUTH and beyond >= BEYOND_EVENT):
            return None
        words = f"{off:.1%} of the view differ from the ground truth, {beyond:.0%} of that where nothing should have happened"
        return Finding("teleport", sure(beyond, BEYOND_EVENT, certain), *seen.span(), words)
    elsewhere, here = seen.typical("own_colour"), seen.typical("own_colour_here")
    moved = elsewhere >= OWN_ELSEWHERE and here < 0.5 and seen.typical("blob") >= SOMETHING_NEW
    if seen.event_asked or not _differs(seen) or not moved:
        return None
    words = f"{elsewhere:.0%} of the subject's own colours are in view, but {here:.0%} at its place"
    return Finding("teleport", sure(elsewhere - here, 0.1, 0.6), *seen.span(), words)


def object_vanishes(seen: Evidence) -> Finding | None:
    if not _judgeable(seen) or teleport(seen) is not None or any(record["from_truth"] for record in seen.returns):
        return None
    like, left = seen.typical("like_surroundings"), seen.typical("own_colour_here")
    structure, strength = seen.typical("subject_structure"), seen.typical("subject_strength")
    if seen.event_asked:
        gone = seen.typical("changed_subject") >= 0.7 and like >= 0.97 and seen.typical("blob") <= NOTHING_NEW
    else:
        replaced = like >= LIKE_SURROUNDINGS and left < OWN_LEFT and like > seen.typical("like_surroundings_before")
        faded = structure >= FADED_STRUCTURE and strength <= FADED_STRENGTH
        gone = _differs(seen) and (replaced or faded)
    if not gone:
        return None
    words = f"{like:.0%} of the subject's place looks like what surrounds it, its outlines have {strength:.0%} of their strength"
    return Finding("object_vanishes", sure(1 - strength, 1 - FADED_STRENGTH, 0.8), *seen.span(), words)


def identity_drift(seen: Evidence) -> Finding | None:
    if not _judgeable(seen) or seen.event_asked or not _differs(seen):
        return None
    if any(rule(seen) is not None for rule in (duplicate, teleport, object_vanishes)):
        return None
    colour, structure = seen.typical("subject_colour"), seen.typical("subject_structure")
    words = f"at the subject's place colours differ by {colour:.2f} and structure correlates {structure:.2f}, the surroundings hold"
    return Finding("identity_drift", sure(colour, DIFFERENT_COLOUR, 0.2), *seen.span(), words)


def _unchanged(seen: Evidence) -> bool:
    if seen.answers.get(ENDPOINT, 0.0) >= 0.5:  # a real judge saw the end of the event
        return False
    return seen.typical("subject_structure") >= UNCHANGED and seen.typical("subject_colour") < DIFFERENT_COLOUR


def _began(seen: Evidence) -> bool:
    return seen.departure is not None and seen.departure.get("subject_structure", 1.0) < UNCHANGED


def state_reset(seen: Evidence) -> Finding | None:
    """With a ground truth: the event's place shows the past. Without: the event began in view and is undone on return."""
    if not _judgeable(seen) or not seen.event_asked or teleport(seen) is not None:
        return None
    if any(record["from_truth"] for record in seen.returns):
        progress, off = seen.typical("event_progress"), seen.typical("off_truth")
        if not (progress <= PROGRESS and off >= OFF_TRUTH / 2):
            return None
        words = f"on return the event is at {max(progress, 0.0):.0%} of the ground truth's"
        return Finding("state_reset", sure(-progress, -PROGRESS, -0.3), *seen.span(), words)
    if not (_unchanged(seen) and _began(seen)):
        return None
    words = "the event was seen to begin, but the subject returns as it was in the first frame"
    return Finding("state_reset", sure(seen.typical("subject_structure"), UNCHANGED, 1.0), *seen.span(), words)


def event_never_starts(seen: Evidence) -> Finding | None:
    if not _judgeable(seen) or not seen.event_asked or any(record["from_truth"] for record in seen.returns):
        return None
    if not _unchanged(seen) or _began(seen):
        return None
    structure = seen.typical("subject_structure")
    words = f"an event was asked for, yet the subject is as in the first frame throughout (correlation {structure:.2f})"
    return Finding("event_never_starts", sure(structure, UNCHANGED, 1.0), *seen.span(), words)


HOLD = "surroundings hold, subject not dragged; "
RULES = (
    Rule(
        "object_vanishes",
        "object vanishes",
        HOLD + f"no event asked: its place differs (colour {DIFFERENT_COLOUR:g}, structure below {DIFFERENT_STRUCTURE:g}) and "
        f"either has the "
        f"colours around it ({LIKE_SURROUNDINGS:.0%}, own colours below {OWN_LEFT:.0%}) or the same outlines at "
        f"{FADED_STRENGTH:.0%} of their "
        f"strength or less; event asked: its place looks like the surroundings and nothing new is near ({NOTHING_NEW:.1%} of "
        f"the view)",
        object_vanishes,
    ),
    Rule(
        "identity_drift",
        "identity drift",
        HOLD
        + f"no event asked: colours at the subject's place differ by {DIFFERENT_COLOUR:g} or more, its structure correlates below "
        f"{DIFFERENT_STRUCTURE:g}, and it neither vanished, moved nor doubled (texture drift counts as identity drift)",
        identity_drift,
    ),
    Rule(
        "state_reset",
        "state reset",
        HOLD
        + f"event asked: against a ground truth the event has made {PROGRESS:.0%} of its way or less and all that differs lies "
        f"in its "
        f"place; without one, it was seen to begin (correlation with the first frame below {UNCHANGED:g}) and is undone on return",
        state_reset,
    ),
    Rule(
        "event_never_starts",
        "event never started",
        HOLD + f"event asked, no ground truth: the subject's place correlates {UNCHANGED:g} or more with the first frame both when "
        f"it leaves "
        "and on return (a real judge that sees the event's endpoint overrules this; a simulated one is not asked)",
        event_never_starts,
    ),
    Rule(
        "teleport",
        "teleport",
        HOLD + f"against a ground truth {OFF_TRUTH:.0%} or more of the view differ, {BEYOND_EVENT:.0%} of that beyond the event's "
        f"place (or, when the "
        f"camera never comes back to an early view, in one blob of {COMPACT:.0%}, a moved thing's reset included); without "
        f"one and no event asked, {OWN_ELSEWHERE:.0%} of its own colours are in view but less than half at its place",
        teleport,
    ),
    Rule(
        "duplicate",
        "duplicate",
        HOLD + f"something new of {NOTHING_NEW:.1%} of the view or more, and the late subject is found at a second place of the "
        f"same frame that is mostly new "
        f"(correlation {COPY:g} or more) or the view holds {TWICE:g} times its own colours or more",
        duplicate,
    ),
)
