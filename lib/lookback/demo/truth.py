"""The demo's truth: one table row and one array record per clip."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from lookback.artifacts.masks import pack_masks
from lookback.demo.clip import RenderedClip, phases
from lookback.demo.plan import PlannedClip
from lookback.demo.scenes import load_scene
from lookback.paths import portable

SUBJECT_PART, TWIN_PART = 1, 2


def truth_row(planned: PlannedClip, clip: RenderedClip, record: Path) -> dict[str, Any]:
    """The row of the truth table; frames count in the generated video."""
    task, scene = planned.task, load_scene(planned.task.scene)
    d_start, r_start = phases(clip.visibility[task.mark_time :])
    return {
        "benchmark": task.benchmark,
        "setting": task.setting,
        "model_id": planned.model_id,
        "clip_id": task.clip_id,
        "scene": scene.name,
        "subset": scene.subset,
        "event": task.event,
        "event_action": scene.events[task.event].action,
        "failure": clip.spec.failure,
        "severity": clip.spec.severity,
        "expected_state": scene.events[task.event].expected_state,
        "shown_state": shown_state(clip),
        "d_start": d_start,
        "r_start": r_start,
        "returns": r_start is not None,
        "record": portable(record),
    }


def shown_state(clip: RenderedClip) -> str:
    """The state of the subject at the end of the clip, in words."""
    scene = load_scene(clip.spec.scene)
    event = scene.events[clip.spec.event]
    if clip.opacity[-1] < 0.5:
        return f"{scene.subject.name} is gone"
    share = event_share(clip)
    if share is None or share > 0.75:
        return event.expected_state
    start = scene.events["none"].expected_state
    return start if share < 0.25 else f"between '{start}' and '{event.expected_state}'"


def event_share(clip: RenderedClip) -> float | None:
    """How much of the event has happened at the end: 1 all, 0 nothing; None when the task has no event."""
    scene = load_scene(clip.spec.scene)
    event = scene.events[clip.spec.event]
    if clip.expected[-1] > 0:
        return float(clip.state[-1] / clip.expected[-1])
    move = np.asarray(event.move)
    if not move.any():
        return None
    return float((clip.position[-1] - scene.subject.place) @ move / (move @ move))


def record_path(root: Path, planned: PlannedClip) -> Path:
    """Where a clip's arrays lie below the truth folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", planned.task.clip_id)
    return root / planned.task.benchmark / (planned.task.setting or "all") / planned.model_id / f"{name}.npz"


def write_record(path: Path, clip: RenderedClip, mark_time: int = 0) -> None:
    """Poses, visibility, state and packed masks of the generated video (from `mark_time` on)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = slice(mark_time, None)
    np.savez_compressed(
        path,
        c2w=clip.c2w[part],
        target_c2w=clip.target_c2w[part],
        intrinsics=clip.intrinsics,
        visibility=clip.visibility[part],
        state=clip.state[part],
        expected_state=clip.expected[part],
        position=clip.position[part],
        opacity=clip.opacity[part],
        subject_mask=pack_masks(clip.parts[part] == SUBJECT_PART),
        twin_mask=pack_masks(clip.parts[part] == TWIN_PART),
        width=clip.spec.width,
    )
