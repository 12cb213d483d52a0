"""Videos for the browser: a time must tell the number of its frame, else a copy with even times is played."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from lookback.media import open_video
from lookback.widgets.playable import browsers_play, playable

FRAMES, FPS, TICK = 30, 24, Fraction(1, 24000)


def video(path: Path, late: float) -> Path:
    """Grey frames of growing brightness, the first one `late` frames after time 0."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream({".mp4": "libx264", ".webm": "libvpx-vp9"}[path.suffix], rate=FPS)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = TICK
        for index in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 20 + 7 * index, np.uint8))
            frame.pts, frame.time_base = round((index + late) / FPS / TICK), TICK
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def first_time(path: Path) -> float:
    with av.open(str(path)) as container:
        return float(next(container.decode(video=0)).time)


@pytest.mark.parametrize("name", ["late.mp4", "late.webm"])
def test_a_video_that_begins_late_is_copied_where_a_time_tells_the_frame(tmp_path, name):
    path = video(tmp_path / name, late=20)
    assert first_time(path) == pytest.approx(20 / FPS, abs=0.01)
    assert playable(path, tmp_path).path == path  # to be played alone
    copy = playable(path, tmp_path, even=True).path
    assert copy != path and first_time(copy) == 0
    with open_video(path) as original, open_video(copy) as made:
        assert not browsers_play(path, original.info, even=True) and browsers_play(copy, made.info, even=True)
        np.testing.assert_allclose(made.read(range(FRAMES)).mean((1, 2, 3)), original.read(range(FRAMES)).mean((1, 2, 3)), atol=2)


@pytest.mark.parametrize("name", ["prompt.mp4", "prompt.webm"])
def test_a_video_that_begins_within_half_a_frame_is_played_as_it_is(tmp_path, name):
    path = video(tmp_path / name, late=0.3)
    assert playable(path, tmp_path, even=True).path == path
