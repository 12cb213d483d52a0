"""The published clips, where they are at hand (third-party, never part of this repository)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lookback.media import open_video, probe, shot_cuts

CLIPS = Path(__file__).parents[3] / "shared" / "clips"

pytestmark = [
    pytest.mark.clips,
    pytest.mark.long,
    pytest.mark.skipif(not CLIPS.is_dir(), reason="the third-party clips (../shared/clips) are not here"),
]


def test_memobench_clips_have_81_frames_at_24_fps() -> None:
    clips = sorted((CLIPS / "memobench").glob("*.mp4"))
    assert clips
    for clip in clips:
        info = probe(clip)
        assert (info.n_frames, info.fps, info.complete, info.variable_frame_rate) == (81, 24.0, True, False), clip.name
        if clip.stem.endswith("_gt"):
            assert (info.width, info.height) == (1920, 1080)


def test_clips_decode_to_their_probed_length_and_read_exactly() -> None:
    by_size = sorted(CLIPS.glob("*/*.mp4"), key=lambda clip: -clip.stat().st_size)
    one_of_each_maker = {clip.stem.rpartition("_")[2]: clip for clip in by_size}.values()  # the smallest that it encoded
    assert len(one_of_each_maker) > 9
    for clip in one_of_each_maker:
        with open_video(clip) as reader:
            wanted = [0, reader.info.n_frames // 2, reader.info.n_frames - 1]
            kept = {index: frame for index, frame in reader if index in wanted}
            assert sorted(kept) == wanted, clip.name
            assert np.array_equal(reader.read(wanted[::-1]), np.stack([kept[index] for index in wanted[::-1]])), clip.name


def test_generated_clips_are_single_shots() -> None:
    for clip in sorted(CLIPS.glob("wrbench/*.mp4")):
        with open_video(clip) as reader:
            assert shot_cuts(reader).tolist() == [], clip.name
