"""Readers of other estimators' pose files, one per file. All give camera-to-world poses in OpenCV axes."""

from __future__ import annotations

from pathlib import Path

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats.c2w import read_c2w
from lookback.backends.pose.formats.colmap import read_colmap
from lookback.backends.pose.formats.common import Reader
from lookback.backends.pose.formats.da3 import read_da3
from lookback.backends.pose.formats.kitti import read_kitti
from lookback.backends.pose.formats.mapanything import read_mapanything
from lookback.backends.pose.formats.tum import read_tum
from lookback.backends.pose.formats.vggt import read_vggt
from lookback.backends.pose.formats.vipe import read_vipe
from lookback.errors import ContractError
from lookback.media import VideoInfo

FORMATS: dict[str, Reader] = {
    "c2w": read_c2w,
    "colmap": read_colmap,
    "da3": read_da3,
    "kitti": read_kitti,
    "mapanything": read_mapanything,
    "tum": read_tum,
    "vggt": read_vggt,
    "vipe": read_vipe,
}


def read_poses(path: Path, format: str, info: VideoInfo) -> PoseTrack:
    """The camera path in a file of one of `FORMATS`, or a ContractError that says what is wrong with it."""
    if format not in FORMATS:
        raise ContractError(f"{path}: pose format '{format}' is not known; use one of {', '.join(FORMATS)}")
    try:
        return FORMATS[format](path, info)
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:  # arrays of a shape or kind that no estimator writes
        message = " ".join(str(error).split())[:200]
        raise ContractError(f"{path}: does not hold poses as {format} writes them ({message}); estimate them again") from None
