"""Exact reads: whatever the stream's structure, `read` gives the frames that decoding from the start gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from lookback.errors import MediaError, Reason, UsageError
from lookback.media import open_video
from lookback.media import video as video_module
from media_clips import decoded_plainly, moving_texture, write_video

OPEN_GOP = {"x264-params": "open-gop=1:keyint=12:bframes=3"}
OPEN_GOP_HEVC = {"codec": "libx265", "x265-params": "open-gop=1:keyint=12:bframes=3:log-level=none"}
STREAMS: dict[str, tuple[str, dict]] = {
    "h264 with B-frames": ("clip.mp4", {"bf": "3", "g": "12"}),
    "h264 open GOP in Matroska": ("clip.mkv", OPEN_GOP),
    "h264 open GOP in a transport stream": ("clip.ts", OPEN_GOP),
    "h264 intra refresh, no true keyframes": ("clip.mp4", {"x264-params": "intra-refresh=1:keyint=12"}),
    "hevc open GOP": ("clip.mp4", OPEN_GOP_HEVC),
    "hevc open GOP in Matroska": ("clip.mkv", OPEN_GOP_HEVC),
    "raw h264 without time stamps": ("clip.h264", {"bf": "3", "g": "12"}),
    "h264 in AVI without display times": ("clip.avi", {"bf": "3", "g": "12"}),
    "mpeg4 in AVI": ("clip.avi", {"codec": "mpeg4", "bf": "2", "g": "12"}),
    "mpeg2 in a program stream": ("clip.mpg", {"codec": "mpeg2video", "bf": "2", "g": "12"}),
    "vp9": ("clip.webm", {"codec": "libvpx-vp9", "g": "12", "deadline": "realtime", "cpu-used": "8"}),
    "av1": ("clip.mp4", {"codec": "libsvtav1", "g": "12", "preset": "12"}),
    "variable frame rate": (
        "clip.mp4",
        {"bf": "3", "g": "12", "times": np.cumsum(np.random.default_rng(1).integers(10, 90, 60)).tolist()},
    ),
    "fragmented mp4": ("clip.mp4", {"bf": "3", "g": "12", "container_options": {"movflags": "frag_keyframe+empty_moov"}}),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_read_equals_sequential_decoding(tmp_path: Path, stream: str) -> None:
    name, options = STREAMS[stream]
    path = write_video(tmp_path / name, moving_texture(60, 64, 96), **options)
    reference = decoded_plainly(path)
    assert len(reference) == 60
    with open_video(path) as reader:
        assert np.array_equal(np.stack([frame for _, frame in reader]), reference)
        for index in np.random.default_rng(0).permutation(60).tolist():
            assert np.array_equal(reader.read([index])[0], reference[index]), f"frame {index}"
        wanted = [59, 3, 3, 40, 0, 12, 11, 13, 3]
        assert np.array_equal(reader.read(wanted), reference[wanted])
        assert reader.read([]).shape == (0, 64, 96, 3)


@pytest.fixture
def decoded_frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one entry for each frame that any reader decodes."""
    counted: list[int] = []
    decode_packets = video_module.decode_packets

    def counting(*arguments: Any, **keywords: Any) -> Iterator[av.VideoFrame]:
        for frame in decode_packets(*arguments, **keywords):
            counted.append(1)
            yield frame

    monkeypatch.setattr(video_module, "decode_packets", counting)
    return counted


def test_a_late_frame_does_not_decode_the_clip(tmp_path: Path, decoded_frames: list[int]) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(240, 64, 96), g="12", bf="2")
    with open_video(path) as reader:
        decoded_frames.clear()
        reader.read([230])
        assert len(decoded_frames) <= 12
        reader.read([231, 232])
        assert len(decoded_frames) <= 14, "reading on must not start again"


def test_on_the_way_to_a_frame_those_that_no_other_refers_to_are_left_out(tmp_path: Path, decoded_frames: list[int]) -> None:
    options = {"x264-params": "keyint=120:min-keyint=120:scenecut=0:bframes=2:b-adapt=0:b-pyramid=none"}
    path = write_video(tmp_path / "clip.mp4", moving_texture(240, 64, 96), **options)
    reference = decoded_plainly(path)
    for index in (237, 238, 239):  # in each place of a group of one P- and two B-frames
        with open_video(path) as reader:
            decoded_frames.clear()
            assert np.array_equal(reader.read([index, index - 30]), reference[[index, index - 30]])
        assert len(decoded_frames) < 100  # of 119 + 89


def test_sparse_forward_reads_jump_over_whole_groups(tmp_path: Path, decoded_frames: list[int]) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(240, 64, 96), g="12", bf="0")
    reference = decoded_plainly(path)
    with open_video(path) as reader:
        decoded_frames.clear()
        assert np.array_equal(reader.read([12, 120, 228]), reference[[12, 120, 228]])
    assert len(decoded_frames) < 12


@pytest.mark.parametrize("stream", ["h264 open GOP in Matroska", "h264 open GOP in a transport stream", "hevc open GOP", "vp9"])
def test_open_groups_are_sought_and_not_decoded_from_the_start(tmp_path: Path, stream: str, decoded_frames: list[int]) -> None:
    name, options = STREAMS[stream]
    path = write_video(tmp_path / name, moving_texture(120, 64, 96), **options)
    with open_video(path) as reader:
        decoded_frames.clear()
        for index in range(119, 89, -1):
            reader.read([index])
    # At most two groups of 12 for each; from the start it would be about 105 for each.
    assert len(decoded_frames) < 30 * 25


def test_false_keyframes_are_not_believed(tmp_path: Path) -> None:
    """Every packet is marked as a keyframe, and MPEG-4 decodes a predicted frame without its reference, wrongly and in silence."""
    source = write_video(tmp_path / "source.mp4", moving_texture(40, 64, 96), codec="mpeg4", g="40")
    target = tmp_path / "marked.mp4"
    with av.open(str(source)) as container, av.open(str(target), "w") as output:
        copy = output.add_stream_from_template(container.streams.video[0])
        for packet in container.demux(video=0):
            if packet.size:
                packet.is_keyframe, packet.stream = True, copy
                output.mux(packet)
    reference = decoded_plainly(target)
    with open_video(target) as reader:
        assert np.array_equal(reader.read([30, 20, 39]), reference[[30, 20, 39]])


def test_two_iterations_at_once_and_a_read_between_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(30, 64, 96), bf="2")
    reference = decoded_plainly(path)
    with open_video(path) as reader:
        for (i, a), (j, b) in zip(reader, reader, strict=True):
            assert i == j
            assert np.array_equal(a, b)
            assert np.array_equal(reader.read([29 - i])[0], reference[29 - i])


@pytest.mark.parametrize("size", [1, 7, 30, 100])
def test_batches_hold_every_frame_once(tmp_path: Path, size: int) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(30, 64, 96))
    with open_video(path) as reader:
        batches = list(reader.batches(size))
    assert [len(frames) for _, frames in batches[:-1]] == [size] * (len(batches) - 1)
    assert np.array_equal(np.concatenate([indices for indices, _ in batches]), np.arange(30))
    assert np.array_equal(np.concatenate([frames for _, frames in batches]), decoded_plainly(path))


@pytest.mark.parametrize("indices", [[30], [-1], [0, 400]])
def test_an_index_outside_the_clip_is_too_short(tmp_path: Path, indices: list[int]) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(30, 64, 96))
    with open_video(path) as reader, pytest.raises(MediaError, match="the clip has 30") as error:
        reader.read(indices)
    assert error.value.reason is Reason.TOO_SHORT


def test_indices_and_batch_sizes_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(5, 64, 96))
    with open_video(path) as reader:
        with pytest.raises(UsageError, match="integers"):
            reader.read([0.5])
        with pytest.raises(UsageError, match="at least one"):
            next(reader.batches(0))
