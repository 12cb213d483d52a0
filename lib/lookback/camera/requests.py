"""The camera request of a clip, spread over the frames of its video."""

from __future__ import annotations

from functools import lru_cache

from lookback.camera.intent import PRESETS, CameraIntent, Rule, parse, preset, to_grammar
from lookback.camera.intent import compile as compile_request
from lookback.camera.poses import Poses
from lookback.camera.resample import resample_poses
from lookback.camera.text import parse_action, parse_action_sequence
from lookback.clips import Clip
from lookback.errors import ParameterError, hint
from lookback.registry import BENCHMARKS


def request_of(clip: Clip) -> CameraIntent | None:
    """The request as an intent, a preset spread over the video's frames; None when there is none that can be read."""
    if not clip.camera or not clip.n_frames:
        return None
    try:
        return read_request(clip.camera, clip.n_frames, clip.extras.get("camera_degrees"))
    except ParameterError:
        return None


def target_path(clip: Clip) -> Poses | None:
    """`requested_path` over the video's frames; None when there is no request that can be read."""
    try:
        return requested_path(clip, clip.n_frames) if clip.camera and clip.n_frames else None
    except ParameterError:
        return None


def requested_path(clip: Clip, n_frames: int) -> Poses:
    """The poses (n_frames,4,4) that the clip's request asks for, by its benchmark's rule. Do not write to the array."""
    request = read_request(clip.camera or "", n_frames, clip.extras.get("camera_degrees"))
    poses = path_of(request, BENCHMARKS.get(clip.benchmark).camera_rule)
    return poses if len(poses) == n_frames else resample_poses(poses, n_frames)


@lru_cache(maxsize=1024)  # thousands of clips share a few requests
def path_of(request: CameraIntent, rule: Rule = "heading") -> Poses:
    """The poses that a request asks for. Do not write to the array."""
    path = compile_request(request, rule)
    path.flags.writeable = False
    return path


@lru_cache(maxsize=1024)
def read_request(camera: str, n_frames: int, degrees: float | None = None) -> CameraIntent:
    """A preset, WRBench's grammar (with its own number of frames), or an MBench action such as left_then_right_4s."""
    if camera in PRESETS:
        return preset(camera, n_frames, **({"degrees": float(degrees)} if degrees else {}))
    if ":" in camera or "@" in camera:
        return parse(camera)
    try:
        return parse_action(camera, n_frames)
    except ParameterError as error:
        raise ParameterError(f"{error} Of the presets, {hint(camera, PRESETS)}") from None


@lru_cache(maxsize=1024)
def action_request(action: str | tuple[str, ...], n_frames: int) -> str:
    """MBench-A's action (`left_then_right`, or one word per frame) as a request in the grammar; empty for unknown words."""
    try:
        return to_grammar(parse_action(action, n_frames) if isinstance(action, str) else parse_action_sequence(action))
    except ParameterError:
        return ""  # a condition with other words; metrics that need the request report it
