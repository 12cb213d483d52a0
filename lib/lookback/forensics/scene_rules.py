"""Rules for the camera and the surroundings.

Camera: it does not move, drifts, turns the wrong way, drags the subject along, jumps, or leaves echoes of earlier pictures.
Surroundings: light, style, shapes or the whole place change between a late frame and its reference.
"""

from __future__ import annotations

import numpy as np

from lookback.forensics.evidence import Evidence, Finding, Path, Rule, sure
from lookback.forensics.limits import limits

LIMITS = limits()
MOVES_DEG = LIMITS["moves_deg"]  # a smaller request does not count as a turn
INACTIVE_SHARE = LIMITS["inactive_share"]  # of the requested turn
DIRECTION_DEG = LIMITS["direction_deg"]  # a smaller peak gives no direction
DRIFT_DEG = LIMITS["drift_deg"]  # between the last orientation and the requested one
DRAGGED_SLOPE = LIMITS["dragged_slope"]  # of the image motion that a thing at rest would have
DRAGGED_STAYS = LIMITS["dragged_stays"]  # share of the frames in which a thing at rest would be out of view
ECHO = LIMITS["echo"]  # weight of an earlier picture in the late one
ECHO_DETAIL = LIMITS["echo_detail"]  # an echo blurs fine detail, to this share or less
ECHO_BENT = LIMITS["echo_bent"]  # required weight if the surroundings also look bent
ECHO_COLOURS = LIMITS["echo_colours"]  # intersection of the background's palettes
LIGHT = LIMITS["light"]  # |log| of the background's brightness ratio
STYLE_DETAIL, STYLE_SATURATION = LIMITS["style_detail"], LIMITS["style_saturation"]  # gains of fine detail and of saturation
BEND = LIMITS["bend"]  # displacement that no homography explains, as a share of the width
SAME_COLOURS = LIMITS["same_colours"]  # intersection of the background's palettes
NEW_BLOCKS = LIMITS["new_blocks"]  # share of textured background blocks that show something else
NEW_AREA = LIMITS["new_area"]  # share of the view that changed


def camera_inactivity(seen: Evidence) -> Finding | None:
    if seen.path is None or seen.requested is None or seen.requested.farthest < MOVES_DEG or _reversed(seen):
        return None
    share = seen.path.farthest / seen.requested.farthest
    if share >= INACTIVE_SHARE:
        return None
    words = f"the camera turned {seen.path.farthest:.1f} of {seen.requested.farthest:.1f} deg"
    frames = seen.path.frames
    return Finding("camera_inactivity", sure(-share, -INACTIVE_SHARE, -0.1), int(frames[0]), int(frames[-1]), words)


def _peak(path: Path) -> tuple[int, float]:
    index = int(np.abs(path.yaw).argmax())
    return int(path.frames[index]), float(path.yaw[index])


def _reversed(seen: Evidence) -> bool:
    if seen.path is None or seen.requested is None:
        return False
    made, wanted = _peak(seen.path)[1], _peak(seen.requested)[1]
    return abs(wanted) >= MOVES_DEG and abs(made) >= DIRECTION_DEG and np.sign(made) != np.sign(wanted)


def camera_drift(seen: Evidence) -> Finding | None:
    """Wrong direction: the yaw peaks on the other side. Drift: the camera ends away from the request, without a jump."""
    off = seen.deviation
    if seen.path is None or seen.requested is None or off is None:
        return None
    if _reversed(seen):
        (frame, made), (_, wanted) = _peak(seen.path), _peak(seen.requested)
        words = f"wrong direction: yaw peaks at {made:.1f}, asked {wanted:.1f} deg"
        return Finding("camera_drift", sure(abs(made), DIRECTION_DEG, 0.5 * abs(wanted)), frame, frame, words)
    if seen.path.jump() is not None or camera_inactivity(seen) is not None or _path_in_doubt(seen):
        return None
    last = max(1, len(off) // 10)
    end = float(np.median(off[-last:]))
    if end < DRIFT_DEG:
        return None
    beyond = np.flatnonzero(off >= DRIFT_DEG)
    words = f"the camera ends {end:.1f} deg from where it was asked to be"
    return Finding(
        "camera_drift", sure(end, DRIFT_DEG, 3 * DRIFT_DEG), int(seen.path.frames[beyond[0]]), int(seen.path.frames[-1]), words
    )


def _path_in_doubt(seen: Evidence) -> bool:
    """Echoes, or a world that changed, make the estimated poses unreliable."""
    return bool(ghost_weight(seen)) or (seen.typical("low_blocks") >= 0.5 and seen.typical("changed") >= 0.2)


def subject_dragged(seen: Evidence) -> Finding | None:
    if seen.path is None or seen.boxes is None or seen.state is None or seen.intrinsics is None or not seen.turns_only:
        return None
    n = min(len(seen.boxes), len(seen.path.c2w))
    if n < 4 or not np.isfinite(seen.boxes[0]).all() or seen.path.farthest < MOVES_DEG:
        return None
    centre = (seen.boxes[:n, :2] + seen.boxes[:n, 2:]) / 2
    rest, ahead = _at_rest(seen, centre[0], n)
    width, height = float(seen.clip.width or 0), float(seen.clip.height or 0)
    gone = ~ahead | (rest < 0).any(axis=1) | (rest[:, 0] > width) | (rest[:, 1] > height)
    if gone.mean() < 0.1:
        return None
    first = int(np.argmax(gone))
    usable = (np.arange(n) < first) & np.isfinite(centre).all(axis=1) & (seen.state[:n] == 1)
    usable &= np.abs(rest - centre[0]).max(axis=1) > 0.015 * width
    if usable.sum() < 3:
        return None
    expected, made = (rest - centre[0])[usable], (centre - centre[0])[usable]
    slope = float((expected * made).sum() / (expected * expected).sum())
    stays = float((seen.state[:n][gone] > 0).mean())
    if slope > DRAGGED_SLOPE or stays < DRAGGED_STAYS:
        return None
    words = (
        f"the subject made {slope:.0%} of the image motion of a thing at rest, and stayed in {stays:.0%} of the frames without it"
    )
    frames = np.flatnonzero(gone)
    return Finding("subject_dragged", sure(-slope, -DRAGGED_SLOPE, -0.2), int(frames[0]), int(frames[-1]), words)


def _at_rest(seen: Evidence, point: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a distant point of the first frame would appear in every frame, and whether it is in front of the camera."""
    assert seen.path is not None and seen.intrinsics is not None
    ray = np.linalg.inv(seen.intrinsics) @ np.append(point, 1.0)
    turned = np.einsum("nji,jk,k->ni", seen.path.c2w[:n, :3, :3], seen.path.c2w[0, :3, :3], ray)
    image = turned @ seen.intrinsics.T
    return image[:, :2] / np.where(np.abs(image[:, 2:]) < 1e-6, 1e-6, image[:, 2:]), turned[:, 2] > 0.05


def cut_ghosting(seen: Evidence) -> Finding | None:
    jump = seen.path.jump() if seen.path is not None else None
    if jump is not None:
        return Finding("cut_ghosting", 1.0 if jump in seen.shots else 0.8, jump, jump, f"cut: the camera jumps before frame {jump}")
    if seen.path is None and len(seen.shots) > 1:
        return Finding(
            "cut_ghosting", 0.8, int(seen.shots[1]), int(seen.shots[1]), f"cut: a new shot starts at frame {seen.shots[1]}"
        )
    weight = ghost_weight(seen)
    if not weight >= ECHO:
        return None
    frames = [int(record["frame"]) for record in seen.returns if record.get("echo", 0.0) >= ECHO]
    words = f"ghosting: pictures from some frames before hang over the late ones with a weight of {weight:.2f}"
    return Finding("cut_ghosting", sure(weight, ECHO, 3 * ECHO), min(frames), max(frames), words)


def ghost_weight(seen: Evidence) -> float:
    """Weight of the echo if fine detail is blurred too; 0 if there is no echo."""
    weight, detail = seen.typical("echo"), seen.typical("detail")
    enough = ECHO_BENT if seen.typical("bend") >= BEND else ECHO
    kept = seen.typical("palette_kept") >= ECHO_COLOURS  # an echo keeps the colours, a new world does not
    return weight if weight >= enough and detail <= ECHO_DETAIL and kept else 0.0


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
    """The surroundings are unchanged, so that a difference at the subject's place comes from the subject."""
    rules = (style_shift, geometric_melt, background_hallucination)
    return bool(seen.returns) and not ghost_weight(seen) and all(rule(seen) is None for rule in rules)


RULES = (
    Rule(
        "camera_drift",
        "camera drift / wrong direction",
        f"the yaw peaks on the other side than requested, by {DIRECTION_DEG:g} deg or more; or the camera ends {DRIFT_DEG:g} "
        f"deg or more "
        "from where it was asked to be, without a jump and after having moved",
        camera_drift,
    ),
    Rule(
        "camera_inactivity",
        "camera inactivity",
        f"the camera turns less than {INACTIVE_SHARE:.0%} of a requested turn of {MOVES_DEG:g} deg or more, and not the wrong way",
        camera_inactivity,
    ),
    Rule(
        "subject_dragged",
        "subject dragged with the camera",
        f"under a camera that only turns, the subject makes at most {DRAGGED_SLOPE:.0%} of the image motion of a thing at "
        f"rest, and is "
        f"still in view in {DRAGGED_STAYS:.0%} of the frames in which such a thing would be out",
        subject_dragged,
    ),
    Rule(
        "cut_ghosting",
        "cut / ghosting",
        "cut: one turn between neighbouring frames exceeds 8 deg and four times the fourth largest (a shot boundary through "
        "which the "
        f"camera path runs on is a changed world, not a cut); ghosting: an earlier picture has a weight of {ECHO:g} or more in "
        f"the late "
        f"one (least squares on gradients; {ECHO_BENT:g} where the surroundings also look bent), the fine detail falls to "
        f"{ECHO_DETAIL:g} or "
        f"less and {ECHO_COLOURS:.0%} of the colours are kept",
        cut_ghosting,
    ),
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
