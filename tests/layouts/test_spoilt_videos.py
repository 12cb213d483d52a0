"""26 spoilt videos in each of the five layouts: each is refused in a sentence that names it, or scored; the others are as before.

With the 101 documents and poses of test_corruptions.py, the 55 names of test_odd_names.py, and the 10 pose files of
extraction/test_pose_files.py these 130 are 296 spoilt datasets, each in a way of its own.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
import pytest
from layout_data import BUILDERS, FRAMES, encoded, frames, video
from lookback import evaluate
from lookback.curation.contract import validate
from lookback.errors import Reason
from lookback.media import encode
from lookback.params.stages import Source

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import fuzz

Spoil = Callable[[Path], object]


def content(make: Callable[[], bytes]) -> Spoil:
    """Writes these bytes; they are made once."""
    made = cache(make)
    return lambda path: path.write_bytes(made())


def whole() -> bytes:
    return encoded(".mp4", FRAMES, 0, 8)


def clip(n: int = FRAMES, height: int = 48, width: int = 64, fps: float = 8, **options: str) -> Spoil:
    def make() -> bytes:
        with TemporaryDirectory() as folder:
            return encode(Path(folder) / "video.mp4", frames(n)[:, :height, :width], fps, **options).read_bytes()

    return content(make)


def muxed(container: str, pieces: Callable[[], list[av.VideoFrame] | list[av.AudioFrame]], codec: str = "libx264") -> Spoil:
    def make() -> bytes:
        file = io.BytesIO()
        with av.open(file, "w", format=container) as output:
            stream = output.add_stream(codec, rate=1000 if codec == "libx264" else 44100)
            if codec == "libx264":
                stream.width, stream.height = 64, 48
            for piece in [*pieces(), None]:
                output.mux(stream.encode(piece))
        return file.getvalue()

    return content(make)


def at(times: Sequence[int]) -> list[av.VideoFrame]:
    """A frame at each of these milliseconds."""
    pieces = [av.VideoFrame.from_ndarray(image) for image in frames(len(times))]
    for piece, time in zip(pieces, times, strict=True):
        piece.pts, piece.time_base = time, Fraction(1, 1000)
    return pieces


def silence() -> list[av.AudioFrame]:
    piece = av.AudioFrame.from_ndarray(np.zeros((1, 44100), np.float32), "fltp", "mono")
    piece.sample_rate = 44100
    return [piece]


def rotated() -> bytes:
    """A quarter turn in the track's header, as telephones write it."""
    matrix = whole().index(b"tkhd") + 44
    turn = np.array([0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30], ">i4").tobytes()
    return whole()[:matrix] + turn + whole()[matrix + len(turn) :]


def holed() -> bytes:
    start = whole().index(b"mdat") + 400
    return whole()[:start] + bytes(300) + whole()[start + 300 :]


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_link(path: Path) -> None:
    outside = path.rename(next(parent for parent in path.parents if parent.name == "data").with_name(f"{path.stem}-outside.mp4"))
    path.symlink_to(outside)


def to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


# fmt: off
SPOILT: dict[str, Spoil] = {
    "empty": content(bytes),
    "cut": content(lambda: whole()[: len(whole()) // 2]),
    "header": content(lambda: whole()[:40]),
    "last": content(lambda: whole()[:-1]),
    "holed": content(holed),
    "noise": content(lambda: np.random.default_rng(0).bytes(4000)),
    "text": content(lambda: b"not a video\n" * 40),
    "one-frame": clip(1),
    "four-frames": clip(4),
    "one-pixel": clip(height=1, width=1),
    "odd-size": clip(height=47, width=63),
    "one-line": clip(height=2),
    "ten-bit": clip(pix_fmt="yuv420p10le"),
    "uneven": muxed("mp4", lambda: at([0, 1, 2, 300, 301, 302, 303, 2000, 2001, 2002, 2003, 9000])),
    "fast": clip(fps=1000),
    "slow": clip(fps=0.001),
    "rotated": content(rotated),
    "raw": muxed("h264", lambda: at(range(0, 1500, 125))),
    "sound": muxed("mp4", silence, "aac"),
    "matroska": content(lambda: encoded(".mkv", FRAMES, 0, 8)),
    "renamed": lambda path: path.rename(path.with_suffix(".txt")),
    "directory": to_folder,
    "outside": to_link,
    "circle": to_itself,
    "unreadable": lambda path: path.chmod(0),
    "pipe": to_pipe,
}
# fmt: on
REFUSED = {"empty", "cut", "header", "holed", "noise", "text", "sound", "renamed", "directory", "outside", "circle", "pipe"}
if os.geteuid():  # root may read everything
    REFUSED.add("unreadable")
# the video that is spoilt, the subset or sample that evaluation scores, and quick metrics
LAYOUTS = {
    "mbench": (
        "models/{}/outputs/environment/environment_1/left_then_right_10s/video.mp4",
        {"subsets": ["environment"]},
        ["mbencha.environment.rendering_lighting", "mbencha.environment.spatial_reprojection"],
    ),
    "memobench": ("output/{}/Real/007/video.mp4", {"subsets": ["real"]}, ["memobench.psnr"]),
    "wrbench": (
        "{}/kitchen_cat_cup_knock__T0__yaw_LR.mp4",
        {"sample_ids": ["kitchen_cat_cup_knock__T0__yaw_LR"]},
        ["wrbench.visual_integrity"],
    ),
    "mind": ("test_root/{}/1st_data/mem_test/hall/video.mp4", {"subsets": ["mem_test"]}, ["mind.dino"]),
    "folder": ("{}/one.mp4", {"sample_ids": ["one"]}, ["folder.steady_light", "folder.cuts"]),
}


def spoilt(layout: str, root: Path) -> Path:
    """A dataset with a model whose videos are whole, and a model for each way to spoil one of its videos."""
    models = ("whole", *SPOILT)
    if layout == "folder":
        for model in models:
            for name in ("one", "two"):
                video(root / model / f"{name}.mp4", seed=len(name))
    else:
        BUILDERS[layout](root, models=models)
    for model, spoil in SPOILT.items():
        spoil(root / LAYOUTS[layout][0].format(model))
    return root


@pytest.fixture(autouse=True)
def no_longer_than_minutes(monkeypatch):
    """Of the processor, for 27 models."""
    monkeypatch.setattr(fuzz, "LIMIT_S", 600.0)
    with fuzz.time_limit():
        yield


@pytest.mark.parametrize("layout", LAYOUTS)
def test_validate_names_the_video_that_cannot_be_used_and_no_other(layout: str, tmp_path: Path):
    violations = validate(Source(root=str(spoilt(layout, tmp_path / "data")), layout=layout))
    told = {model: [each for each in violations if re.search(f"[/']{model}/", each.line)] for model in ("whole", *SPOILT)}
    assert sum(map(len, told.values())) == len(violations) and told["whole"] == []
    assert {model for model, found in told.items() if any(not violation.concerns for violation in found)} == REFUSED
    for violation in violations:
        assert isinstance(violation.reason, Reason) and violation.remedy
        assert "\n" not in violation.line and len(violation.line) < 500


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_evaluation_scores_the_others_and_every_item_without_a_value_has_its_reason(layout: str, tmp_path: Path):
    root = spoilt(layout, tmp_path / "data")
    place, filters, metrics = LAYOUTS[layout]
    result = evaluate(root, benchmark=layout, metrics=metrics, filters=filters)
    videos = {model: str(root / place.format(model)) for model in ("whole", *SPOILT)}
    used = set(result.clips["video"])
    assert {model for model, video in videos.items() if video not in used} == REFUSED
    lost = [" ".join(row) for row in result.rejected[["path", "problem"]].to_numpy()]
    assert all(any(re.search(f"[/']{model}/", words) for words in lost) for model in REFUSED)
    items = result.items
    assert (items["value"].isna() == (items["reason"] != "")).all()
    assert set(items["reason"]) - {""} <= set(map(str, Reason))
    assert items[items["model_id"] == "whole"]["value"].notna().all()
