"""Broken inputs: one sentence, a typed reason, and every frame before the break."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from lookback.errors import MediaError, Reason
from lookback.media import open_video, probe, read_image, write_frames
from media_clips import decoded_plainly, moving_texture, write_video

FASTSTART: dict[str, Any] = {"container_options": {"movflags": "faststart"}}
VP9: dict[str, Any] = {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8"}
CUT_STREAMS: dict[str, tuple[str, dict]] = {
    "mp4 without B-frames": ("clip.mp4", {"bf": "0", "g": "12", **FASTSTART}),
    "mp4 with B-frames": ("clip.mp4", {"bf": "3", "g": "12", **FASTSTART}),
    "hevc": ("clip.mp4", {"codec": "libx265", "x265-params": "keyint=12:log-level=none", **FASTSTART}),
    "matroska": ("clip.mkv", {"bf": "3", "g": "12"}),
    "webm": ("clip.webm", VP9),
    "transport stream": ("clip.ts", {"bf": "3", "g": "12"}),
    "avi": ("clip.avi", {"codec": "mpeg4"}),
}


def delivered(path: Path) -> tuple[list[np.ndarray], MediaError | None]:
    frames: list[np.ndarray] = []
    try:
        with open_video(path) as reader:
            for index, frame in reader:
                assert index == len(frames)
                frames.append(frame)
    except MediaError as error:
        return frames, error
    return frames, None


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("stream", CUT_STREAMS)
def test_a_truncated_file_delivers_what_it_holds_and_then_says_where_it_broke(tmp_path: Path, stream: str, share: float) -> None:
    name, options = CUT_STREAMS[stream]
    whole = write_video(tmp_path / name, moving_texture(60, 64, 96), **options)
    reference = decoded_plainly(whole)
    data = whole.read_bytes()
    cut = tmp_path / f"cut_{name}"
    cut.write_bytes(data[: int(len(data) * share)])
    info = probe(cut)
    frames, error = delivered(cut)
    assert not info.complete
    assert 0 < info.n_frames < 60
    assert len(frames) == info.n_frames
    assert np.array_equal(np.stack(frames), reference[: len(frames)])
    assert error is not None
    assert error.reason is Reason.DECODE_FAILED
    assert f"after {len(frames)} frames" in str(error)
    with open_video(cut) as reader:
        last = reader.info.n_frames - 1
        assert np.array_equal(reader.read([last])[0], reference[last])
        with pytest.raises(MediaError):
            reader.read([last + 1])


def test_a_cut_between_two_packets_is_noticed(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "clip.mp4", moving_texture(30, 64, 96), bf="0", **FASTSTART)
    with av.open(str(whole)) as container:
        entry = container.streams.video[0].index_entries[20]
    (tmp_path / "cut.mp4").write_bytes(whole.read_bytes()[: entry.pos])
    info = probe(tmp_path / "cut.mp4")
    assert (info.n_frames, info.complete) == (20, False)


def test_a_fragmented_mp4_cut_within_a_fragment_keeps_the_frames_before(tmp_path: Path) -> None:
    frames = moving_texture(60, 64, 96)
    whole = write_video(tmp_path / "clip.mp4", frames, bf="0", g="12", container_options={"movflags": "frag_keyframe+empty_moov"})
    reference, data = decoded_plainly(whole), whole.read_bytes()
    third_fragment = data.index(b"mdat", data.index(b"mdat", data.index(b"mdat") + 4) + 4)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(data[: third_fragment + 600])
    read, error = delivered(cut)
    assert error is not None
    assert 24 <= len(read) < 60
    assert np.array_equal(np.stack(read), reference[: len(read)])


def test_batches_deliver_the_last_partial_batch_before_the_error(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "clip.mp4", moving_texture(60, 64, 96), bf="0", g="12", **FASTSTART)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    n_frames = probe(cut).n_frames
    seen = 0
    with open_video(cut) as reader, pytest.raises(MediaError):
        for indices, _ in reader.batches(7):
            seen += len(indices)
    assert seen == n_frames


@pytest.mark.parametrize("bf", ["0", "3"])
def test_damage_in_the_middle_stops_at_the_damaged_frame(tmp_path: Path, bf: str) -> None:
    whole = write_video(tmp_path / "clip.mp4", moving_texture(60, 64, 96), bf=bf, g="12", **FASTSTART)
    reference = decoded_plainly(whole)
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = np.random.default_rng(0).bytes(200)
    (tmp_path / "damaged.mp4").write_bytes(bytes(data))
    frames, error = delivered(tmp_path / "damaged.mp4")
    assert error is not None
    assert 12 <= len(frames) < 60
    assert np.array_equal(np.stack(frames), reference[: len(frames)])
    with open_video(tmp_path / "damaged.mp4") as reader:
        assert np.array_equal(reader.read([59])[0], reference[59]), "groups after the damage are whole"
        with pytest.raises(MediaError):
            reader.read([len(frames)])
        assert np.array_equal(reader.read([58])[0], reference[58]), "a failed read must not spoil the next"


def test_a_frame_that_the_decoder_drops_in_silence_is_noticed(tmp_path: Path) -> None:
    """A VP9 packet whose show_frame bit (0x02 of its first byte, profile 0) is cleared decodes and shows nothing."""
    source = write_video(tmp_path / "source.webm", moving_texture(30, 64, 96), g="60", **VP9)
    target = tmp_path / "dropped.nut"  # WebM would join the packet with the next
    with av.open(str(source)) as container, av.open(str(target), "w") as output:
        copy = output.add_stream_from_template(container.streams.video[0])
        for index, packet in enumerate(container.demux(video=0)):
            if packet.size:
                data = bytearray(bytes(packet))
                if index == 12:
                    data[0] &= ~0x02
                edited = av.Packet(bytes(data))
                edited.pts, edited.dts, edited.time_base = packet.pts, packet.dts, packet.time_base
                edited.is_keyframe, edited.stream = packet.is_keyframe, copy
                output.mux(edited)
    assert len(decoded_plainly(target)) == 29, "one frame must be gone, or this test shows nothing"
    read, error = delivered(target)
    assert len(read) == 12
    assert error is not None
    assert "after 12 frames (a frame is missing)" in str(error)


def test_a_matroska_whose_packets_end_before_its_duration_is_incomplete(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.webm", moving_texture(60), **VP9)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    path.write_bytes(bytes(data))
    info = probe(path)
    read, error = delivered(path)
    assert not info.complete
    assert len(read) == info.n_frames < 60
    assert error is not None


def test_a_transport_stream_cut_between_its_packets_never_shifts_an_index(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "clip.ts", moving_texture(60, 64, 96), bf="3", g="12")
    reference, data = decoded_plainly(whole), whole.read_bytes()
    cut = tmp_path / "cut.ts"
    found_incomplete = 0
    for packets in range(len(data) // 188 // 3, len(data) // 188, 9):
        cut.write_bytes(data[: 188 * packets])
        read, error = delivered(cut)
        found_incomplete += error is not None
        # Nothing tells whether the very last packet is whole, so its frame may differ.
        assert np.array_equal(np.stack(read[:-1]), reference[: len(read) - 1])
    assert found_incomplete > 3


def test_a_size_change_within_the_stream_is_refused(tmp_path: Path) -> None:
    first = write_video(tmp_path / "a.h264", moving_texture(10, 64, 96))
    second = write_video(tmp_path / "b.h264", moving_texture(10, 96, 64))
    (tmp_path / "both.h264").write_bytes(first.read_bytes() + second.read_bytes())
    frames, error = delivered(tmp_path / "both.h264")
    assert error is not None
    assert error.reason is Reason.SIZE_MISMATCH
    assert len(frames) == 10


def bad_files(folder: Path) -> Iterator[tuple[str, bytes, Reason]]:
    whole = write_video(folder / "whole.mp4", moving_texture(20, 64, 96)).read_bytes()
    yield "zero bytes", b"", Reason.DECODE_FAILED
    yield "text", b"this is not a video\n" * 500, Reason.DECODE_FAILED
    yield "noise", np.random.default_rng(0).bytes(50_000), Reason.DECODE_FAILED
    yield "header cut off", whole[: len(whole) // 2], Reason.DECODE_FAILED
    yield (
        "playlist of other files",
        b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nwhole.mp4\n#EXT-X-ENDLIST\n",
        Reason.DECODE_FAILED,
    )
    yield "concat script", b"ffconcat version 1.0\nfile whole.mp4\n", Reason.DECODE_FAILED


def test_files_that_are_no_video_get_one_sentence_and_a_reason(tmp_path: Path) -> None:
    for name, data, reason in bad_files(tmp_path):
        path = tmp_path / "bad.mp4"
        path.write_bytes(data)
        for call in (probe, open_video):
            with pytest.raises(MediaError) as error:
                call(path)
            assert error.value.reason is reason, name
            assert str(path) in str(error.value), name
            assert "\n" not in str(error.value), name


def test_a_missing_file_is_missing_input(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="no such file") as error:
        probe(tmp_path / "nowhere.mp4")
    assert error.value.reason is Reason.MISSING_INPUT


def test_a_file_that_may_not_be_read_is_missing_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "clip.mp4", moving_texture(3, 64, 96))
    monkeypatch.setattr("os.access", lambda *_: False)  # a test may run as a user whom permissions do not bind
    with pytest.raises(MediaError, match="permissions") as error:
        probe(path)
    assert error.value.reason is Reason.MISSING_INPUT


def test_sound_without_pictures_is_refused(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=48000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 48000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(MediaError, match="no video stream"):
        probe(tmp_path / "sound.mp4")


def test_an_absurd_video_header_is_refused_before_it_is_believed(tmp_path: Path) -> None:
    path = write_video(tmp_path / "clip.avi", moving_texture(3, 64, 96), codec="rawvideo")
    data = bytearray(path.read_bytes())
    struct.pack_into("<ii", data, data.find(b"strf") + 12, 20_000, 20_000)
    path.write_bytes(bytes(data))
    with pytest.raises(MediaError) as error:
        probe(path)
    assert error.value.reason is Reason.INVALID_INPUT


def png_that_declares(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [9_000, 60_000])
def test_a_decompression_bomb_is_refused(tmp_path: Path, side: int) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    (folder / "0.png").write_bytes(png_that_declares(side, side))
    for call in (lambda: probe(folder), lambda: read_image(folder / "0.png"), lambda: probe(folder / "0.png")):
        with pytest.raises(MediaError) as error:
            call()
        assert error.value.reason is Reason.INVALID_INPUT


def test_a_truncated_frame_of_a_folder_is_named(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames", moving_texture(5, 64, 96))
    third = folder / "000002.png"
    third.write_bytes(third.read_bytes()[:-200])
    frames, error = delivered(folder)
    assert len(frames) == 2
    assert error is not None
    assert "000002.png" in str(error)
    assert "frame 2 of 5" in str(error)
