"""YUV to RGB against the definition (ITU-R BT.601, BT.709, BT.2020, SMPTE 240M; limited and full range)."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from lookback.media import encode, open_video

# AVColorSpace number -> (Kr, Kb); 2 is "unspecified", which swscale reads as BT.601.
MATRICES = {1: (0.2126, 0.0722), 2: (0.299, 0.114), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087), 9: (0.2627, 0.0593)}
LIMITED, FULL = 1, 2


def by_definition(y: np.ndarray, u: np.ndarray, v: np.ndarray, matrix: int, colour_range: int) -> np.ndarray:
    kr, kb = MATRICES[matrix]
    if colour_range == FULL:
        y, u, v = y / 255, (u - 128.0) / 255, (v - 128.0) / 255
    else:
        y, u, v = (y - 16.0) / 219, (u - 128.0) / 224, (v - 128.0) / 224
    red, blue = y + 2 * (1 - kr) * v, y + 2 * (1 - kb) * u
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return 255 * np.clip(np.stack([red, green, blue], axis=-1), 0, 1)


@pytest.mark.parametrize("colour_range", [LIMITED, FULL])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(("pix_fmt", "limit"), [("yuv444p", 1), ("yuv420p", 3)])
def test_matrix_and_range_follow_the_tags(tmp_path: Path, pix_fmt: str, limit: int, matrix: int, colour_range: int) -> None:
    rng = np.random.default_rng(matrix)
    y, u, v = rng.integers(40, 220, (8, 8)), rng.integers(90, 166, (8, 8)), rng.integers(90, 166, (8, 8))
    frame = av.VideoFrame(128, 128, pix_fmt)
    for plane, patches in zip(frame.planes, (y, u, v), strict=True):
        side = plane.width // 8
        rows = np.zeros((plane.height, plane.line_size), np.uint8)
        rows[:, : plane.width] = np.kron(patches, np.ones((side, side), int))
        plane.update(rows.tobytes())
    frame.colorspace, frame.color_range, frame.pts = matrix, colour_range, 0
    with av.open(str(tmp_path / "clip.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=24)
        stream.width, stream.height, stream.pix_fmt = 128, 128, pix_fmt
        stream.codec_context.colorspace, stream.codec_context.color_range = matrix, colour_range
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with open_video(tmp_path / "clip.mkv") as reader:
        decoded = reader.read([0])[0, 8::16, 8::16]
    assert np.abs(decoded - by_definition(y, u, v, matrix, colour_range)).max() <= limit


@pytest.mark.parametrize(("pix_fmt", "height"), [("yuv420p", 90), ("yuv420p", 91), ("yuv420p10le", 90), ("yuv422p10le", 90)])
def test_frames_are_those_that_opencv_gives_the_released_programs(tmp_path: Path, pix_fmt: str, height: int) -> None:
    noise = np.random.default_rng(3).integers(0, 255, (height, 160, 3), dtype=np.uint8)
    image = cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 2), None, 0, 255, cv2.NORM_MINMAX)
    with av.open(str(tmp_path / "clip.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=24)
        stream.width, stream.height, stream.pix_fmt = 160, height, pix_fmt
        container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format=pix_fmt)))
        container.mux(stream.encode(None))
    with open_video(tmp_path / "clip.mkv") as reader:
        decoded = reader.read([0])[0].astype(int)
    released = cv2.VideoCapture(str(tmp_path / "clip.mkv")).read()[1][..., ::-1]
    assert np.abs(decoded - released).max() <= 2  # two builds of swscale may round differently


def test_encoding_and_decoding_keep_colours(tmp_path: Path) -> None:
    patches = np.random.default_rng(0).integers(0, 256, (6, 10, 3))
    image = np.kron(patches, np.ones((32, 32, 1), int)).astype(np.uint8)
    encode(tmp_path / "clip.mp4", [image] * 5, fps=24, crf=1)
    with open_video(tmp_path / "clip.mp4") as reader:
        decoded = reader.read([2])[0, 16::32, 16::32]
    assert np.abs(decoded.astype(int) - patches).max() <= 6
    assert np.abs(decoded.astype(int) - patches).mean() < 2
