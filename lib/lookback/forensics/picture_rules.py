"""Failures of light, style, shape and surroundings, seen in late frames against their references."""

from __future__ import annotations

import numpy as np

from lookback.forensics.camera_rules import ghost_weight
from lookback.forensics.evidence import Evidence
from lookback.forensics.finding import Finding, Rule, sure

LIGHT = 0.15  # |log| of the background's mean gain
STYLE_DETAIL, STYLE_SATURATION = 1.1, 1.2  # gains of fine detail and of saturation
BEND = 0.012  # of the width
SAME_COLOURS = 0.75  # intersection of the background's palettes
NEW_BLOCKS = 0.2  # share of textured background blocks that show something else
NEW_AREA = 0.25  # share of the view that changed


def style_shift(seen: Evidence) -> Finding | None:
    detail, saturation = seen.typical("detail"), seen.typical("saturation")
    if not (detail >= STYLE_DETAIL and saturation >= STYLE_SATURATION):
        return None
    words = f"fine detail is {detail:.1f} and saturation {saturation:.1f} times the reference's"
    return Finding("style_shift", sure(detail, STYLE_DETAIL, 1.8), *seen.span(), words)


def lighting_shift(seen: Evidence) -> Finding | None:
    gain = seen.light()
    if not abs(np.log(gain)) >= LIGHT or style_shift(seen) is not None or new_world(seen):
        return None
    words = f"the background is {gain:.2f} times as bright as before"
    return Finding("lighting_shift", sure(abs(float(np.log(gain))), LIGHT, 3 * LIGHT), *seen.span(), words)


def geometric_melt(seen: Evidence) -> Finding | None:
    bend = seen.typical("bend")
    if not bend >= BEND or not seen.typical("palette_kept") >= SAME_COLOURS or style_shift(seen) is not None or ghost_weight(seen):
        return None
    words = f"the same surroundings are displaced by {bend:.1%} of the width where a rigid world would lie still"
    return Finding("geometric_melt", sure(bend, BEND, 2.5 * BEND), *seen.span(), words)


def new_world(seen: Evidence) -> bool:
    new = seen.typical("low_blocks") >= NEW_BLOCKS and seen.typical("changed") >= NEW_AREA
    return new and seen.typical("palette_kept") < SAME_COLOURS and not ghost_weight(seen)


def background_hallucination(seen: Evidence) -> Finding | None:
    if not new_world(seen) or style_shift(seen) is not None:
        return None
    share, kept = seen.typical("low_blocks"), seen.typical("palette_kept")
    words = f"{share:.0%} of the background's blocks show something else, {kept:.0%} of its colours are kept"
    return Finding("background_hallucination", sure(share, NEW_BLOCKS, 0.7), *seen.span(), words)


def surroundings_hold(seen: Evidence) -> bool:
    """The picture as a whole can be trusted, so that a difference at the subject's place is the subject's."""
    rules = (style_shift, geometric_melt, background_hallucination)
    return bool(seen.returns) and not ghost_weight(seen) and all(rule(seen) is None for rule in rules)


RULES = (
    Rule(
        "background_hallucination",
        "background hallucination",
        f"{NEW_BLOCKS:.0%} or more of the textured background blocks correlate below 0.5 with the reference, {NEW_AREA:.0%} or "
        f"more of the "
        f"view changed, and the background keeps less than {SAME_COLOURS:.0%} of its colours",
        background_hallucination,
    ),
    Rule(
        "lighting_shift",
        "lighting shift",
        f"the background's median brightness changes by a factor of {np.exp(LIGHT):.2f} or more while its structure stays",
        lighting_shift,
    ),
    Rule(
        "style_shift",
        "style shift",
        f"fine detail rises to {STYLE_DETAIL:g} times and saturation to {STYLE_SATURATION:g} times the reference's or more",
        style_shift,
    ),
    Rule(
        "geometric_melt",
        "geometric melt",
        f"{BEND:.1%} of the width or more of displacement is left after the best homography, the background keeps "
        f"{SAME_COLOURS:.0%} of "
        "its colours, and there is no ghosting",
        geometric_melt,
    ),
)
