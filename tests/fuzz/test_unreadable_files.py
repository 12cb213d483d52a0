"""One clip that cannot be read (no permission, an I/O error, gone, a link to nothing): its own reason, and the rest goes on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip
from lookback.curation.inspection import ClipToInspect, inspect
from lookback.errors import MediaError, Reason
from lookback.extraction.identity import changed_since_curation, file_hash
from lookback.forensics.pictures import thumbnails
from lookback.hashcache import HashCache
from lookback.judging.frames import Encoding, FrameSource
from lookback.media import content_hash, encode, open_video, probe
from lookback.report.sheets import sheet_html
from time_limits import HUNG_S

PROJECT = Path(__file__).resolve().parents[2]


def movie(path: Path, seed: int = 0) -> Path:
    frames = np.random.default_rng(seed).integers(0, 255, (8, 64, 96, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    return encode(path, frames, fps=8)


def clip_of(video: Path, **fields) -> Clip:
    keys = {"benchmark": "folder", "setting": "", "model_id": "m", "clip_id": video.stem}
    return Clip(**keys, video=str(video), **fields)


def denied(video: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The system refuses this file, whoever asks."""
    opened = Path.open

    def refuse(self: Path, *arguments, **options):
        if self == video:
            raise OSError(number, os.strerror(number), str(video))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENOENT, errno.ESTALE])
def test_a_refused_file_is_the_clips_own_violation(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    video = movie(tmp_path / "m" / "a.mp4")
    digest = content_hash(video)
    denied(video, monkeypatch, number)
    found = inspect(ClipToInspect(clip_of(video)))
    assert found.clip is None
    assert [(v.field, v.reason) for v in found.violations] == [("video", Reason.MISSING_INPUT)]
    assert os.strerror(number) in found.violations[0].problem
    assert changed_since_curation(clip_of(video, content_hash=digest)) == ""
    assert file_hash(video) == "unreadable"
    assert HashCache(tmp_path / "hashes.json").tree(tmp_path / "m")


STRANGE = {
    "a link to nothing": lambda folder: (folder / "a.mp4").symlink_to(folder / "gone.mp4"),
    "a link to itself": lambda folder: (folder / "a.mp4").symlink_to(folder / "a.mp4"),
    "an empty folder": lambda folder: (folder / "a.mp4").mkdir(),
    "gone": lambda folder: None,
}


@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_file_is_a_typed_reason_everywhere(strange: str, tmp_path: Path):
    STRANGE[strange](tmp_path)
    check_everywhere(tmp_path / "a.mp4")


def test_a_name_that_is_too_long_is_a_typed_reason_everywhere(tmp_path: Path):
    check_everywhere(tmp_path / f"{'a' * 300}.mp4")


def check_everywhere(video: Path) -> None:
    clip = clip_of(video, n_frames=8, fps=8.0, width=96, height=64, content_hash="0" * 64)
    readers = (open_video, probe, lambda path: FrameSource(Encoding()).jpegs(str(path), (0,)))
    for read in readers:
        with pytest.raises(MediaError):
            read(video)
    assert inspect(ClipToInspect(clip)).clip is None
    assert file_hash(video) is not None
    assert 'class="remark"' in sheet_html("teleport", [("faithful", clip), ("failing", clip)])
    assert [picture.shape for picture in thumbnails(clip, np.arange(3)).pictures] == [(160, 240, 3)] * 3


def unprivileged() -> list[str]:
    """What a command is run under so that permissions count: nothing, or for root without its right to pass them by."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root passes permissions by, and there is no setpriv to take that right away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Three clips of one model, one of which nobody may read."""
    root = tmp_path / "data"
    for number, name in enumerate("abc"):
        movie(root / "m" / f"{name}.mp4", number)
    (root / "m" / "b.mp4").chmod(0)
    return root


def lookback(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    (cwd / "params").mkdir(exist_ok=True)
    shutil.copy(PROJECT / "params" / "weights.lock.yaml", cwd / "params")
    (cwd / "notebooks").mkdir(exist_ok=True)
    command = [*unprivileged(), sys.executable, "-m", "lookback", *arguments]
    environment = {**os.environ, "LOOKBACK_ROOT": str(cwd)}
    return subprocess.run(command, capture_output=True, text=True, timeout=HUNG_S, check=False, cwd=cwd, env=environment)


@pytest.mark.long
def test_validate_names_the_clip_that_may_not_be_read(dataset: Path, tmp_path: Path):
    arguments = ["--layout", "folder", "--pattern", "{model}/{clip}.mp4", "--workers", "1"]
    done = lookback("validate", str(dataset), *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 1 and "b.mp4" in done.stdout and "ermission" in done.stdout


@pytest.mark.long
def test_eval_scores_the_clips_that_may_be_read(dataset: Path, tmp_path: Path):
    arguments = ["--layout", "folder", "--pattern", "{model}/{clip}.mp4", "--metrics", "memobench.visual_quality", "--workers", "1"]
    done = lookback("eval", str(dataset), "--output", str(tmp_path / "out"), *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tables = tmp_path / "out" / "tables"
    assert sorted(pd.read_parquet(tables / "items.parquet")["clip_id"].unique()) == ["a", "c"]
    rejected = pd.read_parquet(tables / "rejected.parquet")
    assert list(rejected["reason"]) == ["missing_input"] and "b.mp4" in rejected["path"][0]
