"""Camera paths in space: the one that was asked for, the true one, and those that the models made."""

from __future__ import annotations

import numpy as np

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.camera.poses import Poses, relative_to_first
from lookback.clips import Clip
from lookback.inspector.run import RunView
from lookback.measures.requested import asked_path

DIGITS = 4
MOVED = 1e-6  # a path shorter than this only turns
Path3D = dict[str, str | bool | list[int] | list[list[float]]]


def camera_paths(run: RunView, clip: Clip, others: list[Clip]) -> list[Path3D]:
    """Every known path, from the first camera, with the same size: the units of the estimators differ."""
    asked = asked_path(clip)
    found = [path_3d("asked", "asked", asked, list(range(len(asked))))] if asked is not None else []
    true = run.artifact(clip, TruePoseTrack)
    if true is not None:
        found.append(path_3d("ground truth", "truth", true.c2w, true.frame_index.tolist()))
    for each in (clip, *others):
        made = run.artifact(each, PoseTrack)
        if made is not None:
            found.append(path_3d(each.model_id, "made", made.c2w, made.frame_index.tolist()))
    return found


def path_3d(name: str, kind: str, c2w: Poses, frames: list[int]) -> Path3D:
    """Places, viewing directions and upward directions for each pose, in the first camera's axes (x right, y down, z forward)."""
    poses = relative_to_first(c2w)
    reach = float(np.linalg.norm(poses[:, :3, 3], axis=1).max())
    places = poses[:, :3, 3] / reach if reach > MOVED else np.zeros((len(poses), 3))
    parts = {"places": places, "forward": poses[:, :3, 2], "up": -poses[:, :3, 1]}
    lists = {part: np.round(values, DIGITS).tolist() for part, values in parts.items()}
    return {"name": name, "kind": kind, "moves": reach > MOVED, "frames": frames, **lists}
