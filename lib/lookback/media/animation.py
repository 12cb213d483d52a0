"""Animated GIF, WebP and PNG, read by Pillow. Frames are composed as a viewer shows them; alpha is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.GifImagePlugin import GifImageFile

from lookback.errors import MediaError, Reason
from lookback.media.frames import DAMAGED, open_image
from lookback.media.reader import VideoInfo, VideoReader, check_size

# Browsers show frames of 10 ms or less, and frames without a duration, for 100 ms.
BROWSER_FLOOR_MS, BROWSER_DEFAULT_MS = 10, 100
RESTORE = 3  # GIF's disposal method "restore to previous"
MAGIC = (b"GIF87a", b"GIF89a", b"\x89PNG\r\n\x1a\n")


def is_animation(path: Path) -> bool:
    """Whether the file is an animation, by its first bytes, because names can be wrong."""
    with path.open("rb") as file:
        head = file.read(16)
    return head.startswith(MAGIC) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


class AnimationReader(VideoReader):
    """An animation file. Opening it decodes all frames once, because only this gives their number and durations."""

    def __init__(self, path: Path):
        durations: list[float] = []
        complete = True
        with _opened(path) as image:
            check_size(path, *image.size)
            width, height = image.size
            codec, mode = str(image.format).lower(), image.mode
            try:
                for _ in _images(image):
                    milliseconds = float(image.info.get("duration", 0))
                    durations.append(milliseconds if milliseconds > BROWSER_FLOOR_MS else BROWSER_DEFAULT_MS)
            except DAMAGED:
                complete = False
        if not durations:
            raise MediaError(f"{path}: no frame of this animation can be decoded; copy or generate it again")
        if complete and len(durations) == 1:
            raise MediaError(f"{path}: is a still image; give a video, an animation or a folder of frames", Reason.INVALID_INPUT)
        seconds = sum(durations) / 1000
        variable = len(set(durations)) > 1
        n_frames = len(durations)
        info = VideoInfo(
            path, "animation", n_frames, n_frames / seconds, width, height, seconds, 0, codec, mode.lower(), variable, complete
        )
        super().__init__(info)

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        yield from enumerate(self._select(np.arange(self.info.n_frames)))
        if not self.info.complete:
            message = f"{self.info.path}: decoding broke after {self.info.n_frames} frames; copy or generate the clip again"
            raise MediaError(message)

    def _select(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        if not len(indices):
            return
        wanted = set(indices.tolist())
        with _opened(self.info.path) as image:
            for index, rgb in enumerate(_images(image)):
                if index in wanted:
                    yield np.array(rgb)
                if index == indices[-1]:  # the rest may be cut off
                    return


def _opened(path: Path) -> Image.Image:
    try:
        return open_image(path)
    except Image.DecompressionBombError as error:
        raise MediaError(f"{path}: its header declares an impossible image size; {error}", Reason.INVALID_INPUT) from None
    except DAMAGED as error:
        raise MediaError(f"{path}: cannot be read as an animation ({error}); copy or generate it again") from None


def _images(image: Image.Image) -> Iterator[Image.Image]:
    """The composed RGB frames, from the first one. A PNG may hold a picture for other programs before them."""
    for index in range(int(getattr(image, "default_image", False)), getattr(image, "n_frames", 1)):
        image.seek(index)
        yield image.convert("RGB")
        if index == 0 and isinstance(image, GifImageFile) and image.disposal_method == RESTORE and image.dispose is None:
            # what was there before the first frame is the background; Pillow would leave the frame in place
            left, top, right, bottom = image.dispose_extent or (0, 0, 0, 0)
            background = Image.new(image.mode, (right - left, bottom - top), image.info.get("background", 0))
            image.dispose = background.im
