"""Film strips: the right frames at the right places."""

from pathlib import Path

import numpy as np
from lookback.media import encode, open_video
from lookback.strips import TITLE_HEIGHT, read_strip


def movie(path: Path) -> Path:
    return encode(path, np.random.default_rng(0).integers(0, 255, (24, 48, 64, 3), np.uint8), fps=8)


def test_a_strip_shows_evenly_spaced_frames_with_gaps_under_a_title(tmp_path):
    video = movie(tmp_path / "clip.mp4")
    strip = read_strip(video, 4)
    assert strip.frames == (0, 8, 15, 23)
    joined = strip.joined(gap=4, title="faithful")
    assert joined.shape == (TITLE_HEIGHT + 48, 4 * (64 + 4), 3)
    assert (joined[:TITLE_HEIGHT] < 255).any()
    with open_video(video) as reader:
        for place, frame in enumerate(reader.read([0, 8, 15, 23])):
            left = place * 68
            np.testing.assert_array_equal(joined[TITLE_HEIGHT:, left : left + 64], frame)
            assert (joined[TITLE_HEIGHT:, left + 64 : left + 68] == 255).all()


def test_named_frames_can_be_resized_shrunk_and_numbered(tmp_path):
    strip = read_strip(movie(tmp_path / "clip.mp4"), [20, 3])
    assert strip.frames == (20, 3)
    assert strip.resized(32).pictures.shape == (2, 24, 32, 3) and strip.resized(32, 40).pictures.shape == (2, 40, 32, 3)
    assert strip.shrunk(32).pictures.shape == (2, 24, 32, 3) and strip.shrunk(100) is strip
    changed = (strip.numbered().pictures != strip.pictures).any(axis=(0, 3))
    assert changed[24:].any() and not changed[:24].any()  # only the lower corner is written on
