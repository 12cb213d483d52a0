"""Decode clips to RGB frames and encode frames to clips. The whole package uses only this decoder.

A clip is a video file, a folder of PNG/JPEG frames, or an animated GIF/WebP/PNG. A clip that cannot be read raises
`lookback.errors.MediaError` with a typed `reason`.
"""

from lookback.media.access import content_hash, open_video, probe
from lookback.media.cuts import shot_cuts
from lookback.media.derived import Habits, SharedFrame, derived
from lookback.media.encode import encode, write_frames
from lookback.media.frames import read_image
from lookback.media.reader import VideoInfo, VideoReader
from lookback.media.resize import resize, shrink
from lookback.media.sampling import sample_fps, sample_segments, sample_uniform

__all__ = [
    "Habits",
    "SharedFrame",
    "VideoInfo",
    "VideoReader",
    "content_hash",
    "derived",
    "encode",
    "open_video",
    "probe",
    "read_image",
    "resize",
    "sample_fps",
    "sample_segments",
    "sample_uniform",
    "shot_cuts",
    "shrink",
    "write_frames",
]
