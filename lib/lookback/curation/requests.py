"""A clip's camera request over its own frames."""

from __future__ import annotations

from lookback.camera.intent import PRESETS, CameraIntent, parse, preset
from lookback.clips import Clip
from lookback.errors import ParameterError


def request_of(clip: Clip) -> CameraIntent | None:
    """The request as an intent, a preset spread over the video's frames; None when there is none that can be read."""
    if not clip.camera or not clip.n_frames:
        return None
    try:
        degrees = clip.extras.get("camera_degrees")
        if clip.camera in PRESETS:
            return preset(clip.camera, clip.n_frames, **({"degrees": float(degrees)} if degrees else {}))
        return parse(clip.camera)
    except ParameterError:
        return None
