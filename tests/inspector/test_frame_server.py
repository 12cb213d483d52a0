"""Frames for the browser: exactly those of the decoder, whatever the order they are asked for in, within bounded memory."""

import cv2
import numpy as np
import pytest
from lookback.errors import MediaError
from lookback.media import encode, open_video, write_frames
from lookback.widgets.frames import FrameServer, encode_image, shown_size


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Sixty frames that differ, with one keyframe: stepping back is the worst case."""
    generator = np.random.default_rng(0)
    base = cv2.resize(generator.integers(0, 255, (6, 8, 3), dtype=np.uint8), (128, 96), interpolation=cv2.INTER_CUBIC)
    frames = np.stack([np.roll(base, 2 * k, axis=1) for k in range(60)])
    return encode(tmp_path_factory.mktemp("clip") / "clip.mp4", frames, 12.0)


@pytest.mark.parametrize("order", [range(60), range(59, -1, -1), [40, 3, 41, 2, 59, 0, 0, 58]])
def test_every_order_of_seeking_gives_the_decoders_frames(clip, order):
    with open_video(clip) as video:
        expected = video.read(range(60))
    server = FrameServer()
    for index in order:
        np.testing.assert_array_equal(server.pixels(clip, index), expected[index])


def test_stepping_back_decodes_a_few_frames_at_once(clip, monkeypatch):
    server = FrameServer()
    server.pixels(clip, 50)
    reader = server._reader(clip)
    calls, read = [], reader.read
    monkeypatch.setattr(reader, "read", lambda indices: calls.append(list(indices)) or read(indices))
    for index in range(49, 33, -1):
        server.pixels(clip, index)
    assert len(calls) == 2


def test_memory_is_bounded(clip):
    frame_bytes = 128 * 96 * 3
    server = FrameServer(keep_bytes=20 * frame_bytes)
    for index in range(60):
        server.pixels(clip, index)
    assert sum(frame.nbytes for frame in server._frames.values()) <= 20 * frame_bytes


def test_a_paused_frame_keeps_every_pixel_and_a_large_one_is_scaled_down(clip):
    frame = FrameServer().pixels(clip, 7)
    decoded = cv2.cvtColor(cv2.imdecode(np.frombuffer(encode_image(frame, True), np.uint8), 1), cv2.COLOR_BGR2RGB)
    np.testing.assert_array_equal(decoded, frame)
    large = np.zeros((1080, 1920, 3), np.uint8)
    assert cv2.imdecode(np.frombuffer(encode_image(large, False), np.uint8), 1).shape == (720, 1280, 3)
    assert shown_size(FrameServer().info(clip)) == (128, 96)


def test_a_replaced_video_is_shown_and_the_old_one_is_closed(tmp_path, monkeypatch):
    server, path, closed = FrameServer(), tmp_path / "clip.mp4", []
    for count, grey in ((5, 0), (9, 200)):
        encode(path, np.full((count, 32, 32, 3), grey, np.uint8), 8)
        assert abs(server.pixels(path, 2).mean() - grey) < 3
        assert server.info(path).n_frames == count
        monkeypatch.setattr(server._reader(path), "close", lambda count=count: closed.append(count))
    assert closed == [5] and server._bytes == sum(frame.nbytes for frame in server._frames.values())


def test_a_frame_that_was_written_over_is_shown(tmp_path):
    """Writing over a file leaves the time of its folder as it was."""
    server, folder = FrameServer(), write_frames(tmp_path / "frames", np.zeros((3, 16, 16, 3), np.uint8))
    assert not server.pixels(folder, 1).any()
    noise = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    cv2.imwrite(str(folder / "000001.png"), noise)
    np.testing.assert_array_equal(server.pixels(folder, 1), noise[..., ::-1])


def test_a_removed_video_is_said_in_one_sentence(tmp_path):
    server, path = FrameServer(), encode(tmp_path / "clip.mp4", np.zeros((3, 32, 32, 3), np.uint8), 8)
    server.pixels(path, 0)
    path.unlink()
    with pytest.raises(MediaError, match="No such file"):
        server.pixels(path, 0)
