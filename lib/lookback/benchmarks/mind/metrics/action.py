"""Action accuracy: relative pose error of the generated camera after similarity alignment (MIND, `action`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.benchmarks.mind.actions import action_name, detect_convention
from lookback.benchmarks.mind.metrics.shared import mind_metric, predicted_frames, variant_of
from lookback.camera.alignment import apply_similarity, umeyama
from lookback.camera.poses import inverse, rotation_angle_deg
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_equal_length, require_poses, require_variant
from lookback.paths import resolve
from lookback.scoring import Item, Scored, ScoringClip, Unit

MAX_ROTATION_DEG = 179.0
MAX_TRANSLATION = 1e9
MIN_VALID = 8
NO_ACTION = "none"
TRANSLATIONS = frozenset({"forward", "backward", "left", "right"})
ROTATIONS = frozenset({"cam_left", "cam_right", "cam_up", "cam_down"})
LOOKS = frozenset({"look_left", "look_right", "look_up", "look_down"})


class RelativeErrors(NamedTuple):
    """Per transition: translation error in the truth's units, rotation error in degrees, and whether it is no outlier."""

    translation: NDArray[np.float64]
    rotation_deg: NDArray[np.float64]
    valid: NDArray[np.bool_]


def relative_pose_errors(gt_c2w: ArrayLike, c2w: ArrayLike) -> RelativeErrors:
    """E_i = (Q_i^-1 Q_{i+1})^-1 (P_i^-1 P_{i+1}), Q the truth and P the generated path after Umeyama Sim(3) of positions onto Q.

    Errors above 179 deg or 1e9 are outliers. A camera that never translates has scale 0: its steps are then 0 long.
    """
    truth, generated = require_poses(gt_c2w, "gt_c2w", at_least=2), require_poses(c2w, "c2w", at_least=2)
    require_equal_length(truth, generated, "gt_c2w and c2w")
    aligned = apply_similarity(generated, umeyama(generated[:, :3, 3], truth[:, :3, 3]))
    error = inverse(inverse(truth[:-1]) @ truth[1:]) @ (inverse(aligned[:-1]) @ aligned[1:])
    translation = np.linalg.norm(error[:, :3, 3], axis=1)
    rotation = rotation_angle_deg(np.eye(3), error)
    return RelativeErrors(translation, rotation, (rotation <= MAX_ROTATION_DEG) & (translation <= MAX_TRANSLATION))


def rpe(gt_c2w: ArrayLike, c2w: ArrayLike) -> dict[str, float]:
    """Relative pose error with delta 1 after Sim(3) alignment: count, rpe_trans_mean/median, rpe_rot_mean_deg/median_deg.

    Fewer than 8 valid transitions give no result.
    """
    errors = relative_pose_errors(gt_c2w, c2w)
    return _statistics(errors, errors.valid, minimum=MIN_VALID)


def action_rpe(
    gt_c2w: ArrayLike, c2w: ArrayLike, actions: Sequence[str], *, variant: Variant = "corrected"
) -> dict[str, dict[str, float]]:
    """The statistics of `rpe` overall and by action group: __overall__, translation, rotation, other, act:<name>.

    `actions[i]` is the label at frame i (`lookback.benchmarks.mind.actions.action_name`), the action of the step from i to i+1.
    Combined actions ("forward+look_right") are `other`. Official knows rotations only as cam_*, so that look_* lands in `other`.
    """
    require_variant(variant, ("corrected", "official"))
    errors = relative_pose_errors(gt_c2w, c2w)
    if len(actions) < len(errors.valid):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(actions)} actions for {len(errors.valid)} transitions")
    labels = np.array(actions[: len(errors.valid)], dtype=object)
    groups = {"__overall__": _statistics(errors, errors.valid, minimum=MIN_VALID)}
    kinds = np.array([action_group(label, variant=variant) for label in labels], dtype=object)
    members = [(name, kinds == name) for name in ("translation", "rotation", "other")]
    members += [(f"act:{name}", labels == name) for name in sorted(set(labels))]
    for name, chosen in members:
        if (chosen & errors.valid).any():
            groups[name] = _statistics(errors, chosen & errors.valid)
    return groups


def action_group(label: str, *, variant: Variant = "corrected") -> str:
    """translation, rotation or other; standing still belongs to no group but the overall one."""
    if label in TRANSLATIONS:
        return "translation"
    if label in ROTATIONS or (variant == "corrected" and label in LOOKS):
        return "rotation"
    return NO_ACTION if label == NO_ACTION else "other"


def _statistics(errors: RelativeErrors, chosen: NDArray[np.bool_], minimum: int = 1) -> dict[str, float]:
    count = int(chosen.sum())
    if count < minimum:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{count} valid transitions, at least {minimum} are needed")
    translation, rotation = errors.translation[chosen], errors.rotation_deg[chosen]
    return {
        "count": count,
        "rpe_trans_mean": float(translation.mean()),
        "rpe_trans_median": float(np.median(translation)),
        "rpe_rot_mean_deg": float(rotation.mean()),
        "rpe_rot_median_deg": float(np.median(rotation)),
    }


@mind_metric(
    "action",
    title="Action accuracy (relative pose error)",
    unit="truth's units; degrees",
    range=(0.0, None),
    higher_is_better=False,
    needs=("video", "gt_poses", "actions", "mark_time"),
    roles=("pose", "gt_pose"),
    subsets=("mem_test", "action_space_test"),
    equation="relative pose error with delta 1 after Umeyama Sim(3), by action group",
    source="MIND, action",
    differences={"official": "look_* actions land in `other`, never in `rotation`"},
)
def score(context: ScoringClip) -> Scored:
    """Items `<group>:trans` and `<group>:rot`; each transition's rotation error is a unit."""
    frames, truth_frames = predicted_frames(context)
    generated, expected = context.artifact(PoseTrack).at(frames), context.artifact(TruePoseTrack).at(truth_frames)
    done = frame_actions(context)
    if len(done) <= truth_frames[-1]:
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(done)} actions for {truth_frames[-1] + 1} frames of the ground truth")
    labels = [done[frame] for frame in truth_frames]
    groups = action_rpe(expected, generated, labels, variant=variant_of(context))
    items = []
    for name, values in groups.items():
        count = int(values["count"])
        items.append(Item(values["rpe_trans_mean"], values["rpe_trans_median"], f"{name}:trans", n_units=count))
        items.append(Item(values["rpe_rot_mean_deg"], values["rpe_rot_median_deg"], f"{name}:rot", n_units=count))
    errors = relative_pose_errors(expected, generated)
    units = [
        Unit(f"f{int(frame)}", "frame", float(rotation), float(translation), int(frame), detail=label)
        for frame, rotation, translation, label in zip(frames[1:], errors.rotation_deg, errors.translation, labels, strict=False)
    ]
    return Scored(items, units)


def frame_actions(context: ScoringClip) -> list[str]:
    """The action at each ground-truth frame. The convention of action.json is detected unless the run names it."""
    path = resolve(context.need("actions"))
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} does not load: {error}") from None
    convention = context.clip.extras.get("action_convention") or detect_convention(rows)
    return [action_name(row, convention) for row in rows]
