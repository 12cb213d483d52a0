"""The encoder: repeatable bytes, whole files, honest sizes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lookback.errors import CannotWrite, MediaError, Reason, UsageError
from lookback.media import content_hash, encode, open_video, probe
from media_clips import moving_texture, plain_ffmpeg

encoder = sys.modules["lookback.media.encode"]  # the package's name `encode` is the function


def test_an_encoded_clip_reads_back(tmp_path: Path) -> None:
    y, x, t = np.ogrid[:192, :320, :81]
    frames = np.stack([x + 2 * t + 0 * y, y + t + 0 * x, (x + y) // 2 + t], axis=-1).transpose(2, 0, 1, 3) % 512
    frames = np.where(frames > 255, 511 - frames, frames).astype(np.uint8)
    path = encode(tmp_path / "new" / "clip.mp4", frames, fps=16)
    info = probe(path)
    assert (info.n_frames, info.fps, info.width, info.height, info.pix_fmt) == (81, 16.0, 320, 192, "yuv420p")
    with open_video(path) as reader:
        decoded = reader.read(range(81))
    error = (decoded.astype(int) - frames) ** 2
    assert 10 * np.log10(255**2 / error.mean()) > 38


@pytest.mark.parametrize("fps", [24, 30, 23.976, 24000 / 1001, 12.5, 7])
def test_the_rate_is_kept(tmp_path: Path, fps: float) -> None:
    assert probe(encode(tmp_path / "clip.mp4", moving_texture(10), fps)).fps == pytest.approx(fps, rel=1e-6)


@pytest.mark.parametrize(("name", "codec", "pix_fmt"), [("a.mp4", "libx264", "yuv420p"), ("a.mkv", "ffv1", "bgr0")])
def test_the_same_frames_give_the_same_bytes(tmp_path: Path, name: str, codec: str, pix_fmt: str) -> None:
    frames = moving_texture(30)
    first = encode(tmp_path / "1" / name, frames, 24, codec=codec, pix_fmt=pix_fmt)
    time.sleep(1.1)  # a creation time in the file would differ by now
    second = encode(tmp_path / "2" / name, iter(frames), 24, codec=codec, pix_fmt=pix_fmt)
    assert first.read_bytes() == second.read_bytes()


def at_offset(frames: np.ndarray, offset: int) -> np.ndarray:
    """A copy that starts `offset` bytes behind an address divisible by 64."""
    room = np.empty(frames.size + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    copy = room[start : start + frames.size].reshape(frames.shape)
    copy[...] = frames
    return copy


@pytest.mark.long
@pytest.mark.parametrize(("height", "width"), [(64, 96), (63, 95), (36, 64), (180, 320), (90, 161)])
def test_twenty_encodes_in_one_process_give_one_set_of_bytes(tmp_path: Path, height: int, width: int) -> None:
    frames = moving_texture(64, height, width)
    clips = {encode(tmp_path / "a.mp4", at_offset(frames, 7 * n % 64), 16).read_bytes() for n in range(20)}
    assert len(clips) == 1


def test_the_bytes_do_not_depend_on_the_instruction_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = moving_texture(64, 64, 96)
    usual = encode(tmp_path / "usual.mp4", frames, 16).read_bytes()
    monkeypatch.setattr(encoder, "X264_PARAMS", encoder.X264_PARAMS + ":asm=0")
    with plain_ffmpeg():
        assert encode(tmp_path / "plain.mp4", frames, 16).read_bytes() == usual


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from media_clips import moving_texture; from lookback.media import encode; "
        "encode(sys.argv[1], moving_texture(30), 24)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "other.mp4"), here], check=True, env=environment)
    assert content_hash(tmp_path / "other.mp4") == content_hash(encode(tmp_path / "this.mp4", moving_texture(30), 24))


@pytest.mark.parametrize(("height", "width"), [(95, 127), (96, 127), (95, 128)])
def test_odd_sizes_keep_every_pixel(tmp_path: Path, height: int, width: int) -> None:
    path = encode(tmp_path / "clip.mp4", moving_texture(5, height, width), 24)
    info = probe(path)
    assert (info.height, info.width, info.pix_fmt) == (height, width, "yuv444p")


def test_ffv1_is_lossless(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (6, 51, 77, 3)).astype(np.uint8)
    path = encode(tmp_path / "clip.mkv", frames, 24, codec="ffv1", pix_fmt="bgr0")
    with open_video(path) as reader:
        assert np.array_equal(reader.read(range(6)), frames)


def test_floats_are_rounded_to_bytes(tmp_path: Path) -> None:
    frames = moving_texture(4)
    assert encode(tmp_path / "a.mp4", frames / 255, 24).read_bytes() == encode(tmp_path / "b.mp4", frames, 24).read_bytes()


def test_a_failure_leaves_neither_a_clip_nor_a_temporary_file(tmp_path: Path) -> None:
    def breaking() -> Iterator[np.ndarray]:
        yield from moving_texture(10)
        raise RuntimeError("the renderer stopped")

    encode(tmp_path / "clip.mp4", moving_texture(3), 24)
    before = (tmp_path / "clip.mp4").read_bytes()
    with pytest.raises(RuntimeError, match="renderer"):
        encode(tmp_path / "clip.mp4", breaking(), 24)
    assert (tmp_path / "clip.mp4").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["clip.mp4"]


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], Reason.TOO_SHORT),
        ([np.zeros((8, 8), np.uint8)], Reason.INVALID_INPUT),
        ([np.full((8, 8, 3), 1.5)], Reason.INVALID_INPUT),
        ([np.full((8, 8, 3), np.nan)], Reason.INVALID_INPUT),
        ([np.zeros((8, 8, 3), np.int32)], Reason.INVALID_INPUT),
        ([np.zeros((8, 8, 3), np.uint8), np.zeros((8, 10, 3), np.uint8)], Reason.SIZE_MISMATCH),
    ],
)
def test_frames_that_are_no_clip_are_refused(tmp_path: Path, frames: list[np.ndarray], reason: Reason) -> None:
    with pytest.raises(MediaError) as error:
        encode(tmp_path / "clip.mp4", frames, 24)
    assert error.value.reason is reason
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "settings", [{"codec": "nonesuch"}, {"pix_fmt": "nonesuch"}, {"pix_fmt": "pal8"}, {"fps": 0}, {"fps": float("nan")}]
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, settings: dict) -> None:
    with pytest.raises(UsageError):
        encode(tmp_path / "clip.mp4", moving_texture(2), **{"fps": 24, **settings})
    with pytest.raises(UsageError, match="no container"):
        encode(tmp_path / "clip.nonesuch", moving_texture(2), 24)
    assert not list(tmp_path.iterdir())


def test_a_file_that_may_not_grow_is_a_disk_error_and_no_wrong_call(tmp_path: Path) -> None:
    """As with `ulimit -f`, or on a file system that holds no large files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(CannotWrite, match=r"Cannot write .*clip\.mp4: File too large"):
            encode(tmp_path / "clip.mp4", moving_texture(8), 24)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())
