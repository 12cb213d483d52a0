"""Animated GIF, WebP and PNG behave as videos do."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from lookback.errors import MediaError, Reason
from lookback.media import open_video, probe
from media_clips import moving_texture
from PIL import Image, ImageSequence


def save(path: Path, frames: np.ndarray, duration: int | list[int] = 50) -> Path:
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=duration, lossless=True)
    return path


@pytest.mark.parametrize("suffix", [".webp", ".png"])
def test_lossless_animations_read_back_exactly(tmp_path: Path, suffix: str) -> None:
    frames = moving_texture(15, 48, 64)
    with open_video(save(tmp_path / f"clip{suffix}", frames)) as reader:
        info = reader.info
        assert (info.kind, info.n_frames, info.fps, info.variable_frame_rate) == ("animation", 15, 20.0, False)
        assert (info.height, info.width, info.duration) == (48, 64, 0.75)
        assert np.array_equal(np.stack([frame for _, frame in reader]), frames)
        assert np.array_equal(reader.read([14, 3, 3, 0]), frames[[14, 3, 3, 0]])
        assert reader.read([]).shape == (0, 48, 64, 3)


def test_gif_frames_are_composed_and_equal_pillow(tmp_path: Path) -> None:
    path = save(tmp_path / "clip.gif", moving_texture(15, 48, 64), duration=100)
    with Image.open(path) as image:
        reference = np.stack([np.array(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)])
    with open_video(path) as reader:
        assert (reader.info.n_frames, reader.info.fps, reader.info.codec) == (15, 10.0, "gif")
        assert np.array_equal(np.stack([frame for _, frame in reader]), reference)
        assert np.array_equal(reader.read([9, 1]), reference[[9, 1]])


@pytest.mark.parametrize("disposal", [1, 2, 3, [1, 3, 3, 1, 3], [3, 1, 3, 2, 1]])
def test_gif_frames_give_way_as_their_disposal_says(tmp_path: Path, disposal: int | list[int]) -> None:
    """ffmpeg is the reference: Pillow leaves a first frame in place that is to be restored to what was before it."""
    images = [Image.new("RGB", (64, 48), (30, 60, 90)) for _ in range(5)]
    for number, image in enumerate(images):
        image.paste((250, 40 * number, 10), (5 + 10 * number, 10, 15 + 10 * number, 30))
    path = tmp_path / "clip.gif"
    images[0].save(path, save_all=True, append_images=images[1:], disposal=disposal, duration=100)
    with av.open(str(path)) as file:
        reference = np.stack([frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)])
    with open_video(path) as reader:
        assert np.array_equal(np.stack([frame for _, frame in reader]), reference)
        assert np.array_equal(reader.read([3, 1]), reference[[3, 1]])


@pytest.mark.parametrize("suffix", [".webp", ".gif"])
def test_frame_durations_make_a_variable_rate(tmp_path: Path, suffix: str) -> None:
    info = probe(save(tmp_path / f"clip{suffix}", moving_texture(4, 48, 64), duration=[100, 200, 100, 400]))
    assert info.variable_frame_rate
    assert info.fps == pytest.approx(4 / 0.8)


def test_the_kind_is_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    path = save(tmp_path / "clip.webp", moving_texture(4, 48, 64)).rename(tmp_path / "clip.mp4")
    assert probe(path).kind == "animation"


def test_a_truncated_gif_delivers_its_first_frames_and_raises(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.gif", moving_texture(15, 48, 64))
    with open_video(whole) as reader:
        reference = reader.read(range(15))
    cut = tmp_path / "cut.gif"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    frames = []
    with open_video(cut) as reader, pytest.raises(MediaError, match=f"after {reader.info.n_frames} frames"):
        for _, frame in reader:
            frames.append(frame)
    assert 0 < len(frames) < 15
    assert np.array_equal(np.stack(frames), reference[: len(frames)])


def test_a_truncated_webp_is_refused(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.webp", moving_texture(15, 48, 64))
    cut = tmp_path / "cut.webp"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(MediaError, match="animation"):
        open_video(cut)


def test_the_picture_for_programs_without_animation_is_no_frame(tmp_path: Path) -> None:
    frames = moving_texture(6, 48, 64)
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(tmp_path / "clip.png", save_all=True, append_images=images[1:], default_image=True, duration=50)
    with open_video(tmp_path / "clip.png") as reader:
        assert (reader.info.n_frames, reader.info.fps, reader.info.variable_frame_rate) == (5, 20.0, False)
        assert np.array_equal(np.stack([frame for _, frame in reader]), frames[1:])
        assert np.array_equal(reader.read([4]), frames[5:])


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".png"])
def test_a_still_image_is_no_clip(tmp_path: Path, suffix: str) -> None:
    Image.fromarray(moving_texture(1, 48, 64)[0]).save(tmp_path / f"still{suffix}")
    with pytest.raises(MediaError, match="is a still image") as error:
        probe(tmp_path / f"still{suffix}")
    assert error.value.reason is Reason.INVALID_INPUT
