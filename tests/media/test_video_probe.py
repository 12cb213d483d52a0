"""A probe's facts against clips whose facts are known by construction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from lookback.media import open_video, probe
from media_clips import decoded_plainly, moving_texture, write_video


def test_facts_of_a_plain_mp4(make_video: Callable[..., Path]) -> None:
    path = make_video(n_frames=40, height=96, width=128, fps=24)
    info = probe(path)
    assert (info.path, info.kind, info.codec, info.pix_fmt) == (path, "video", "h264", "yuv420p")
    assert (info.n_frames, info.fps, info.width, info.height) == (40, 24.0, 128, 96)
    assert info.duration == pytest.approx(40 / 24)
    assert (info.rotation, info.variable_frame_rate, info.complete) == (0, False, True)


@pytest.mark.parametrize("name", ["clip.h264", "clip.ts", "clip.mkv", "clip.webm", "clip.avi", "clip.flv", "clip.mpg"])
def test_count_is_exact_where_the_container_declares_none(make_video: Callable[..., Path], name: str) -> None:
    codec = {"webm": "libvpx-vp9", "avi": "mpeg4", "mpg": "mpeg2video"}.get(name.split(".")[1], "libx264")
    options = {"deadline": "realtime", "cpu-used": "8"} if codec == "libvpx-vp9" else {"bf": "2"}
    path = make_video(name, n_frames=37, codec=codec, **options)
    assert probe(path).n_frames == 37 == len(decoded_plainly(path))


def test_fragmented_mp4_is_counted_by_its_packets(make_video: Callable[..., Path]) -> None:
    path = make_video(container_options={"movflags": "frag_keyframe+empty_moov"}, g="8")
    assert probe(path).n_frames == 40


def test_packets_that_show_no_frame_are_not_counted(tmp_path: Path) -> None:
    """VP8's alternate references are decoded and not shown: bit 4 of a packet's first byte (RFC 6386, section 9.1)."""
    source = write_video(tmp_path / "source.webm", moving_texture(40), codec="libvpx", deadline="realtime", g="100")
    target = tmp_path / "hidden.webm"
    with av.open(str(source)) as container, av.open(str(target), "w") as output:
        stream = container.streams.video[0]
        copy = output.add_stream_from_template(stream)
        for index, packet in enumerate(container.demux(stream)):
            if packet.size:
                data = bytearray(bytes(packet))
                if index in (7, 20):
                    data[0] &= ~0x10
                edited = av.Packet(bytes(data))
                edited.pts, edited.dts, edited.time_base = packet.pts, packet.dts, packet.time_base
                edited.is_keyframe, edited.stream = packet.is_keyframe, copy
                output.mux(edited)
    reference = decoded_plainly(target)
    assert len(reference) == 38, "two packets must be hidden, or this test shows nothing"
    with open_video(target) as reader:
        assert reader.info.n_frames == 38
        assert np.array_equal(reader.read([37, 19, 7]), reference[[37, 19, 7]])


def test_frames_trimmed_by_an_edit_list_are_not_counted(tmp_path: Path) -> None:
    """Cutting without re-encoding starts within a group of pictures: the file keeps the frames before the cut, and hides them."""
    source = write_video(tmp_path / "source.mp4", moving_texture(48), g="24", bf="0")
    target = tmp_path / "trimmed.mp4"
    with av.open(str(source)) as container, av.open(str(target), "w") as output:
        stream = container.streams.video[0]
        copy = output.add_stream_from_template(stream)
        assert stream.time_base is not None
        shift = 10 * round(1 / (24 * stream.time_base))
        for packet in container.demux(stream):
            if packet.pts is not None and packet.dts is not None:
                packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
                packet.stream = copy
                output.mux(packet)
    reference = decoded_plainly(target)
    assert len(reference) == 38, "the edit list must hide ten frames, or this test shows nothing"
    with open_video(target) as reader:
        assert reader.info.n_frames == 38
        assert np.array_equal(np.stack([frame for _, frame in reader]), reference)
        assert np.array_equal(reader.read([37, 0, 20]), reference[[37, 0, 20]])


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_variable_frame_rate_is_told_and_averaged(make_video: Callable[..., Path], name: str) -> None:
    times = np.cumsum(np.random.default_rng(1).integers(20, 90, 40))
    info = probe(make_video(name, times=times.tolist(), bf="2"))
    assert info.variable_frame_rate
    assert info.fps == pytest.approx(39 / ((times[-1] - times[0]) / 1000), rel=1e-3)


@pytest.mark.parametrize("n_frames", [1, 2, 3])
@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.avi"])
def test_the_shortest_clips(make_video: Callable[..., Path], name: str, n_frames: int) -> None:
    path = make_video(name, n_frames=n_frames, codec="mpeg4")
    with open_video(path) as reader:
        assert (reader.info.n_frames, reader.info.fps) == (n_frames, 24.0)
        assert np.array_equal(np.stack([frame for _, frame in reader]), decoded_plainly(path))


def test_a_transport_stream_of_two_frames_has_its_own_rate(make_video: Callable[..., Path]) -> None:
    assert probe(make_video("clip.ts", n_frames=2)).fps == pytest.approx(24.0)


def test_millisecond_time_stamps_of_matroska_are_a_constant_rate(make_video: Callable[..., Path]) -> None:
    info = probe(make_video("clip.mkv", fps=24))
    assert (info.fps, info.variable_frame_rate) == (24.0, False)


@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv422p", "yuv420p10le", "yuvj420p"])
@pytest.mark.parametrize(("height", "width"), [(95, 127), (96, 127), (95, 128)])
def test_odd_sizes_have_every_pixel(tmp_path: Path, height: int, width: int, pix_fmt: str) -> None:
    flat = np.full((3, height, width, 3), (200, 120, 60), np.uint8)
    codec = "mjpeg" if pix_fmt == "yuvj420p" else "ffv1"
    path = write_video(tmp_path / "clip.mkv", flat, codec=codec, pix_fmt=pix_fmt)
    with open_video(path) as reader:
        assert (reader.info.height, reader.info.width) == (height, width)
        assert np.abs(reader.read([2])[0].astype(int) - flat[0]).max() <= 5


@pytest.mark.parametrize("pix_fmt", ["yuv420p10le", "yuv444p", "yuv422p", "gray", "gray10le", "yuv444p10le"])
def test_other_pixel_formats_come_out_close_to_what_went_in(make_video: Callable[..., Path], pix_fmt: str) -> None:
    path = make_video("clip.mkv", codec="ffv1", pix_fmt=pix_fmt, n_frames=4)
    source = moving_texture(4)
    with open_video(path) as reader:
        assert reader.info.pix_fmt == pix_fmt
        frames = reader.read(range(4))
    if pix_fmt.startswith("gray"):
        source = np.stack([np.repeat(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2) for f in source])
    centres = np.s_[:, 4::8, 4::8]  # away from edges, where subsampled chroma blurs
    limit = 4 if "444" in pix_fmt or "gray" in pix_fmt else 40
    assert np.abs(frames[centres].astype(int) - source[centres]).mean() < limit


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_metadata_is_applied(make_video: Callable[..., Path], rotation: int, mirrored: bool) -> None:
    stored = decoded_plainly(make_video("plain.mp4", n_frames=5))
    path = make_video("turned.mp4", n_frames=5, rotation=rotation, mirrored=mirrored)
    expected = np.rot90(stored, k=-rotation // 90, axes=(1, 2))
    if mirrored:
        expected = expected[:, :, ::-1]
    with open_video(path) as reader:
        assert (reader.info.height, reader.info.width) == expected.shape[1:3]
        if not mirrored:
            assert reader.info.rotation == rotation
        assert np.array_equal(np.stack([frame for _, frame in reader]), expected)
        assert np.array_equal(reader.read([3, 1]), expected[[3, 1]])


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotation_agrees_with_opencv(make_video: Callable[..., Path], rotation: int) -> None:
    path = make_video(n_frames=3, rotation=rotation)
    capture = cv2.VideoCapture(str(path))
    read, image = capture.read()
    capture.release()
    assert read
    with open_video(path) as reader:
        frame = reader.read([0])[0]
    assert frame.shape == image.shape
    assert np.abs(frame.astype(int) - image[..., ::-1]).mean() < 2


def test_cover_art_is_not_taken_for_the_video(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "clip.mp4"), "w") as container:
        cover = container.add_stream("png", rate=1)
        cover.width, cover.height, cover.pix_fmt = 16, 16, "rgb24"
        cover.disposition = av.stream.Disposition.attached_pic
        stream = container.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        container.mux(cover.encode(av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24")))
        container.mux(cover.encode(None))
        for image in moving_texture(10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    info = probe(tmp_path / "clip.mp4")
    assert (info.n_frames, info.width, info.height) == (10, 128, 96)


def test_a_tag_that_is_no_utf8_does_not_hide_the_video(make_video: Callable[..., Path], tmp_path: Path) -> None:
    """The title of an old camera's file, in Latin-1; PyAV 18 refuses the whole file unless it is told not to."""
    path, word = tmp_path / "tagged.mp4", b"QQQQQQQQ"
    with av.open(str(make_video(n_frames=5))) as source, av.open(str(path), "w") as target:
        target.metadata["title"] = word.decode()
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    data = path.read_bytes()
    assert data.count(word) == 1
    path.write_bytes(data.replace(word, "caf\u00e9 \u00fc\u00f6\u00e4".encode("latin-1")[:8]))
    assert probe(path).n_frames == 5
    with open_video(path) as reader:
        assert len(list(reader)) == 5


@pytest.mark.parametrize("name", ["clip.mkv", "clip.webm"])
def test_a_whole_matroska_that_begins_late_is_complete(make_video: Callable[..., Path], name: str) -> None:
    codec = {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8"} if name.endswith("webm") else {}
    info = probe(make_video(name, fps=25, times=[10_000 + 40 * index for index in range(40)], **codec))
    assert (info.n_frames, info.complete, info.fps) == (40, True, 25.0)


@pytest.mark.parametrize("n_frames", [12, 60])
def test_a_transport_stream_that_slows_down_at_its_end_is_complete(make_video: Callable[..., Path], n_frames: int) -> None:
    times = np.cumsum([0, *[40] * (n_frames - 7), *[80] * 6]).tolist()
    info = probe(make_video("clip.ts", n_frames=n_frames, fps=25, times=times))
    assert (info.n_frames, info.complete, info.variable_frame_rate) == (n_frames, True, True)
