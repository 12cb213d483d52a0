"""Frames for the browser: exactly those of the decoder, whatever the order they are asked for in, within bounded memory."""

import cv2
import numpy as np
import pytest
from lookback.media import encode, open_video
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
