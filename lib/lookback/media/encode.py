"""Write clips. A file appears completely or not at all, and the same frames always give the same bytes.

The bytes depend neither on the run nor on the instruction set of the processor.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc, VideoReformatter
from av.video.stream import VideoStream

from lookback.errors import FULL_DISK, ContractError, MediaError, Reason, UsageError
from lookback.files import atomic_path, writing
from lookback.media.container import EXACT, quiet_ffmpeg
from lookback.scratch import part_folder

# Fixed, so that the bytes do not depend on the number of cores.
THREADS = 2
# Without this the encoder decides differently on each instruction set. Also, the AVX-512 code of x264's macroblock tree reads
# memory that was never written, so the bytes would differ from call to call.
X264_PARAMS = "cpu-independent=1"
AVCOL_SPC_BT709 = 1
OF_THE_DISK = (*FULL_DISK, errno.EFBIG, errno.EIO)
CONTAINERS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm", ".avi": "avi", ".ts": "mpegts"}


def encode(
    path: str | Path,
    frames: Iterable[np.ndarray],
    fps: float,
    codec: str = "libx264",
    crf: int | None = 18,
    pix_fmt: str = "yuv420p",
) -> Path:
    """Encode RGB frames (uint8, or float in [0, 1]) to `path`; the suffix chooses the container.

    The video is BT.709 with limited range, and tagged so. 4:2:0 needs an even size, so a clip with an odd size is written as
    yuv444p, which keeps every pixel.

    `crf` is for libx264 and libx265; give codec="ffv1", pix_fmt="bgr0" and a .mkv path for a lossless clip.
    """
    path = Path(path)
    if not 0 < fps <= 1000:
        raise UsageError(f"{path}: fps must lie in (0, 1000], not {fps:g}")
    if path.suffix.lower() not in CONTAINERS:
        raise UsageError(f"{path}: no container is known for {path.suffix!r}; name it {', '.join(CONTAINERS)}")
    with atomic_path(path, suffix="") as temporary:  # without the suffix of a video, so that a killed run leaves no clip behind
        _write(temporary, path, _images(path, frames), Fraction(fps).limit_denominator(1001), codec, crf, pix_fmt)
    return path


def _write(
    temporary: Path, path: Path, images: Iterator[np.ndarray], rate: Fraction, codec: str, crf: int | None, pix_fmt: str
) -> None:
    first = next(images, None)
    if first is None:
        raise MediaError(f"{path}: there is no frame to encode", Reason.TOO_SHORT)
    height, width = first.shape[:2]
    if pix_fmt == "yuv420p" and (height % 2 or width % 2):
        pix_fmt = "yuv444p"
    try:
        quiet_ffmpeg()
        with av.open(
            os.fspath(temporary), "w", format=CONTAINERS[path.suffix.lower()], options={"fflags": "+bitexact"}
        ) as container:
            stream = container.add_stream(codec, rate=rate)
            assert isinstance(stream, VideoStream)
            _configure(stream, width, height, pix_fmt, codec, crf)
            reformatter = VideoReformatter()
            for count, image in enumerate(_prepend(first, images)):
                frame = reformatter.reformat(
                    av.VideoFrame.from_ndarray(image, format="rgb24"),
                    format=pix_fmt,
                    dst_colorspace=None if pix_fmt.startswith(("rgb", "gbr", "bgr")) else Colorspace.ITU709,
                    dst_color_range=ColorRange.JPEG if pix_fmt.startswith(("rgb", "gbr", "bgr")) else ColorRange.MPEG,
                    interpolation=EXACT,
                    threads=1,
                )
                frame.pts, frame.time_base = count, 1 / rate
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:  # others are of the call
            raise
        raise UsageError(f"{path}: cannot encode {width}x{height} {pix_fmt} with {codec} into {path.suffix} ({error})") from None


def _configure(stream: VideoStream, width: int, height: int, pix_fmt: str, codec: str, crf: int | None) -> None:
    context = stream.codec_context
    stream.width, stream.height, stream.pix_fmt = width, height, pix_fmt
    context.thread_count = THREADS
    context.gop_size = 48
    options = {"flags": "+bitexact"}
    if codec in ("libx264", "libx265"):
        options["preset"] = "veryfast"
        if crf is not None:
            options["crf"] = str(crf)
    if codec == "libx264":
        options["x264-params"] = X264_PARAMS
    if not pix_fmt.startswith(("rgb", "gbr", "bgr")):
        context.colorspace, context.color_range = AVCOL_SPC_BT709, ColorRange.MPEG
        context.color_primaries, context.color_trc = ColorPrimaries.BT709, ColorTrc.BT709
    context.options = options


def write_frames(folder: str | Path, frames: Iterable[np.ndarray]) -> Path:
    """Write frames as 000000.png, 000001.png, ...; the folder appears completely, and must be empty or missing before."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ContractError(f"{folder}: is not an empty folder; remove it or choose another")
    with writing(folder), part_folder(folder) as temporary:
        count = -1
        for count, image in enumerate(_images(folder, frames)):
            written, data = cv2.imencode(".png", image[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 3])
            if not written:
                raise MediaError(f"{folder}: frame {count} could not be written as PNG", Reason.INVALID_INPUT)
            (temporary / f"{count:06d}.png").write_bytes(data.tobytes())
        if count < 0:
            raise MediaError(f"{folder}: there is no frame to write", Reason.TOO_SHORT)
        temporary.replace(folder)
    return folder


def _prepend(first: np.ndarray, rest: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    yield first
    yield from rest


def _images(path: Path, frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """uint8 RGB images of one size."""
    shape: tuple[int, ...] | None = None
    for count, frame in enumerate(frames):
        image = np.asarray(frame)
        if image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise MediaError(f"{path}: frame {count} has shape {image.shape}, not (height, width, 3)", Reason.INVALID_INPUT)
        if shape is not None and image.shape != shape:
            message = f"{path}: frame {count} is {image.shape[1]}x{image.shape[0]}, the first was {shape[1]}x{shape[0]}"
            raise MediaError(message, Reason.SIZE_MISMATCH)
        shape = image.shape
        if np.issubdtype(image.dtype, np.floating):
            if not (np.isfinite(image).all() and image.min() >= 0 and image.max() <= 1):
                raise MediaError(f"{path}: frame {count} has values outside [0, 1] or not finite", Reason.INVALID_INPUT)
            image = np.rint(image * 255).astype(np.uint8)
        elif image.dtype != np.uint8:
            raise MediaError(f"{path}: frame {count} is {image.dtype}, not uint8 or float", Reason.INVALID_INPUT)
        yield np.ascontiguousarray(image)
