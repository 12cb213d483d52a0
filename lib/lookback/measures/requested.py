"""The camera path a clip was asked to follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookback.array_files import read_arrays
from lookback.camera.intent import PRESETS, Rule, compile, parse, preset
from lookback.camera.poses import Poses, square, validate_poses
from lookback.camera.resample import resample_poses
from lookback.camera.text import parse_action
from lookback.errors import ContractError, LookbackError, NotScorable, Reason
from lookback.paths import resolve
from lookback.registry import BENCHMARKS

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
    try:
        return compile_request(context.need("camera"), n_frames, BENCHMARKS.get(context.clip.benchmark).camera_rule)
    except LookbackError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from error


def given_poses(context: ScoringClip) -> Poses:
    """The trajectory that the model was given (N,4,4), from the clip's file, which may leave out the last row of each pose."""
    file = context.need("target_poses")
    try:
        return validate_poses(square(load_array(resolve(file)), file), file)
    except LookbackError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from error


def compile_request(request: str, n_frames: int, rule: Rule = "heading") -> Poses:
    """A preset, WRBench's grammar, or an MBench action condition, as target poses of `n_frames` frames."""
    if request in PRESETS:
        return compile(preset(request, n_frames), rule)
    intent = parse(request) if ":" in request or "@" in request else parse_action(request, n_frames)
    poses = compile(intent, rule)
    return poses if len(poses) == n_frames else resample_poses(poses, n_frames)
