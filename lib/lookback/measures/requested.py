"""The camera path a clip was asked to follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookback.array_files import read_arrays
from lookback.camera.poses import Poses, square, validate_poses
from lookback.camera.requests import requested_path, target_path
from lookback.camera.resample import resample_poses
from lookback.clips import Clip
from lookback.errors import ContractError, LookbackError, NotScorable, Reason
from lookback.paths import resolve

if TYPE_CHECKING:
    from lookback.scoring import ScoringClip


def load_array(path: Path) -> np.ndarray:
    """A .npy file without pickles, or NotScorable that names it."""
    if not path.is_file():
        raise NotScorable(Reason.MISSING_INPUT, f"{path.name} does not exist")
    try:
        arrays = read_arrays(path)
    except ContractError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from None
    if "array" not in arrays:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} is an archive of arrays, not one array")
    return arrays["array"]


def requested_poses(context: ScoringClip, n_frames: int) -> Poses:
    """Target poses (n_frames,4,4): the clip's own file when it has one, else compiled from its camera request."""
    if context.clip.target_poses:
        poses = given_poses(context)
        return poses if len(poses) == n_frames else resample_poses(poses, n_frames)
    context.need("camera")
    try:
        return requested_path(context.clip, n_frames)
    except LookbackError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from error


def asked_path(clip: Clip) -> Poses | None:
    """The path of a clip from the file of its request, else from the words of it; None when there is none that can be read."""
    if not clip.target_poses:
        return target_path(clip)
    try:
        poses = read_poses(clip.target_poses)
    except (LookbackError, NotScorable):
        return None  # curation has named the broken file
    return resample_poses(poses, clip.n_frames) if clip.n_frames and clip.n_frames != len(poses) else poses


def given_poses(context: ScoringClip) -> Poses:
    """The trajectory that the model was given (N,4,4), from the clip's file."""
    try:
        return read_poses(context.need("target_poses"))
    except LookbackError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from error


def read_poses(file: str) -> Poses:
    """The poses (N,4,4) of a file, which may leave out the last row of each."""
    return validate_poses(square(load_array(resolve(file)), file), file)
