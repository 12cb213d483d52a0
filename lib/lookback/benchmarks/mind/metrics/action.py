"""Action accuracy: relative pose error of the generated camera after similarity alignment (MIND, `action`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.benchmarks.mind.actions import NO_ACTION, action_name, detect_convention, released_name
from lookback.benchmarks.mind.metrics.shared import mind_metric, predicted_frames, preset
from lookback.camera.alignment import apply_similarity, umeyama
from lookback.camera.poses import inverse, rotation_angle_deg
from lookback.errors import NotScorable, ParameterError, Reason
from lookback.measures.checks import Variant, require_equal_length, require_poses
from lookback.paths import resolve
from lookback.scoring import Item, Scored, ScoringClip, Unit

TRANSLATIONS = frozenset({"w", "a", "s", "d", "forward", "backward", "left", "right"})
ROTATIONS = frozenset({"cam_left", "cam_right", "cam_up", "cam_down", "yaw_left", "yaw_right", "pitch_up", "pitch_down"})
LOOKS = frozenset({"look_left", "look_right", "look_up", "look_down"})
APART = "apart"  # the group of labels that count in `__overall__` and under their own name only


class RelativeErrors(NamedTuple):
    """Per transition: translation error in the truth's units, rotation error in degrees, and whether it is no outlier."""

    translation: NDArray[np.float64]
    rotation_deg: NDArray[np.float64]
    valid: NDArray[np.bool_]


class Limits(NamedTuple):
    """Larger errors are failures of the pose estimator and are left out; fewer steps than `min_steps` give no result."""

    max_rotation_deg: float = 179.0
    max_translation: float = 1e9
    min_steps: int = 8


RELEASED = Limits()


def relative_pose_errors(
    gt_c2w: ArrayLike, c2w: ArrayLike, limits: Limits = RELEASED, *, added_variance: float = 0.0
) -> RelativeErrors:
    """E_i = (Q_i^-1 Q_{i+1})^-1 (P_i^-1 P_{i+1}), Q the truth and P the generated path after Umeyama Sim(3) of positions onto Q.

    A camera that never translates has scale 0: its steps are then 0 long. For `added_variance` see `umeyama`.
    """
    truth, generated = require_poses(gt_c2w, "gt_c2w", at_least=2), require_poses(c2w, "c2w", at_least=2)
    require_equal_length(truth, generated, "gt_c2w and c2w")
    aligned = apply_similarity(generated, umeyama(generated[:, :3, 3], truth[:, :3, 3], added_variance=added_variance))
    error = inverse(inverse(truth[:-1]) @ truth[1:]) @ (inverse(aligned[:-1]) @ aligned[1:])
    translation = np.linalg.norm(error[:, :3, 3], axis=1)
    rotation = rotation_angle_deg(np.eye(3), error)
    return RelativeErrors(translation, rotation, (rotation <= limits.max_rotation_deg) & (translation <= limits.max_translation))


def rpe(gt_c2w: ArrayLike, c2w: ArrayLike) -> dict[str, float]:
    """Relative pose error with delta 1 after Sim(3) alignment: count, rpe_trans_mean/median, rpe_rot_mean_deg/median_deg.

    Fewer than 8 valid steps give no result.
    """
    errors = relative_pose_errors(gt_c2w, c2w)
    return _statistics(errors, errors.valid, minimum=RELEASED.min_steps)


def action_rpe(
    gt_c2w: ArrayLike, c2w: ArrayLike, actions: Sequence[str], *, variant: Variant = "corrected"
) -> dict[str, dict[str, float]]:
    """The statistics of `rpe` overall and by action group: __overall__, translation, rotation, other, act:<name>.

    `actions[i]` is the label at frame i (`lookback.benchmarks.mind.actions.action_name`), the action of the step from i to i+1.
    Combined actions ("forward+look_right") are `other`. Official knows rotations only as cam_*, yaw_* and pitch_*, so that look_*
    lands in `other`, as does resting (`no_op`).
    """
    settings = preset("action", variant)
    errors = relative_pose_errors(gt_c2w, c2w, added_variance=settings["added_variance"])
    return grouped(errors, actions, settings["looks"], settings["rest"])


def grouped(
    errors: RelativeErrors, actions: Sequence[str], looks: str, rest: str, min_steps: int = RELEASED.min_steps
) -> dict[str, dict[str, float]]:
    """The statistics of each group of steps. `looks` and `rest` name the group of look_* and of resting steps."""
    if len(actions) < len(errors.valid):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(actions)} actions for {len(errors.valid)} steps")
    labels = np.array(actions[: len(errors.valid)], dtype=object)
    found = {"__overall__": _statistics(errors, errors.valid, minimum=min_steps)}
    kinds = np.array([action_group(label, looks, rest) for label in labels], dtype=object)
    members = [(name, kinds == name) for name in ("translation", "rotation", "other")]
    members += [(f"act:{name}", labels == name) for name in sorted(set(labels))]
    for name, chosen in members:
        if (chosen & errors.valid).any():
            found[name] = _statistics(errors, chosen & errors.valid)
    return found


def action_group(label: str, looks: str = "rotation", rest: str = APART) -> str:
    """translation, rotation or other. `looks` and `rest` say where look_* and resting belong."""
    label = label.lower()
    if label in TRANSLATIONS:
        return "translation"
    if label in ROTATIONS:
        return "rotation"
    return looks if label in LOOKS else rest if label == NO_ACTION else "other"


def _statistics(errors: RelativeErrors, chosen: NDArray[np.bool_], minimum: int = 1) -> dict[str, float]:
    count = int(chosen.sum())
    if count < minimum:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{count} valid steps, at least {minimum} are needed")
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
    phases=("__overall__:trans", "__overall__:rot"),
)
def score(context: ScoringClip) -> Scored:
    """Items `<group>:trans` and `<group>:rot`; each step's rotation error is a unit."""
    path, truth = context.artifact(PoseTrack).trusted(), context.artifact(TruePoseTrack).trusted()
    frames, truth_frames = posed_frames(context, path, truth)
    labels = frame_actions(context)[: len(truth_frames)]
    if len(labels) + 1 < len(frames):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{len(labels)} actions for {len(frames) - 1} steps from mark_time on")
    limits = Limits(
        context.number("max_rotation_deg"), context.number("max_translation"), min_steps=int(context.number("min_steps"))
    )
    added = context.number("added_variance")
    errors = relative_pose_errors(truth.at(truth_frames), path.at(frames), limits, added_variance=added)
    groups = grouped(errors, labels, str(context.setting("looks")), str(context.setting("rest")), limits.min_steps)
    items = []
    for name, values in groups.items():
        count = int(values["count"])
        items.append(Item(values["rpe_trans_mean"], values["rpe_trans_median"], f"{name}:trans", n_units=count))
        items.append(Item(values["rpe_rot_mean_deg"], values["rpe_rot_median_deg"], f"{name}:rot", n_units=count))
    units = [
        Unit(f"f{int(frame)}", "frame", float(rotation), float(translation), int(frame), detail=label)
        for frame, rotation, translation, label in zip(frames[1:], errors.rotation_deg, errors.translation, labels, strict=False)
    ]
    return Scored(items, units)


def posed_frames(context: ScoringClip, path: PoseTrack, truth: PoseTrack) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(generated frames, ground-truth frames) from mark_time on, as far as both camera paths reach.

    `images.txt` of the released ground truth holds 97 poses from mark_time on. Beyond its end a path would stand still, and a
    camera that keeps moving would be compared with a frozen one.
    """
    frames, truth_frames = predicted_frames(context, int(context.number("max_frames")) or None)
    first, last = int(truth.frame_index[0]), int(truth.frame_index[-1])
    if first > truth_frames[0]:
        raise NotScorable(
            Reason.INVALID_INPUT, f"the ground truth's poses begin at frame {first}, after mark_time {truth_frames[0]}"
        )
    count = int(((frames <= path.frame_index[-1]) & (truth_frames <= last)).sum())
    if count < 2:
        raise NotScorable(Reason.TOO_SHORT, f"{count} frames from mark_time on have a pose in both paths, a step needs 2")
    return frames[:count], truth_frames[:count]


def frame_actions(context: ScoringClip) -> list[str]:
    """The action at each ground-truth frame from mark_time on, at most `max_frames`: other rows of the file are not looked at.

    Officially 1 and 2 always mean the released code's directions.
    """
    path, mark, limit = resolve(context.need("actions")), context.need("mark_time"), int(context.number("max_frames"))
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} does not load: {error}") from None
    chosen = slice(mark, mark + limit if limit else None)
    try:
        if context.setting("convention") == "code":
            return [released_name(row) for row in rows[chosen]]
        convention = context.clip.extras.get("action_convention") or detect_convention(rows)
        return [action_name(row, convention) for row in rows[chosen]]
    except ParameterError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from None
