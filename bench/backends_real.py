"""CPU seconds per clip of every embedded backend, on a few real clips, without decoding.

    python bench/backends_real.py ../shared/clips/memobench/Real_007_wan.mp4 ... [--record before|after]

Processor time, because other programs may share the machine. `--record` keeps the mean per backend in docs/measured/backends.json
under that name. An older version is measured with this same file: PYTHONPATH=<its checkout>/lib python bench/backends_real.py ...
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from lookback.backends.base import BackendOptions
from lookback.clips import Anchor, Clip
from lookback.media import open_video
from lookback.registry import BACKENDS
from recording import record

ROOT = Path(__file__).parents[1]
ANCHORS = ROOT / "lib" / "lookback" / "validity" / "anchors.csv"
BATCH, LOADING = 16, 2  # frames


def clip_of(path: Path, width: int, height: int) -> Clip:
    """The clip with the place of its subject, drawn by hand."""
    with ANCHORS.open(encoding="utf-8") as handle:
        row = next(row for row in csv.DictReader(handle) if row["clip_id"] == path.stem)
    x, y, w, h = (float(row[name]) for name in ("centre_x", "centre_y", "width", "height"))
    anchor = Anchor(centre_x=x * width, centre_y=y * height, width=w * width, height=h * height)
    return Clip(benchmark="mbench", setting="A", model_id="m", clip_id=path.stem, video=str(path), object_anchor=anchor)


def seconds_of(spec: Any, clip: Clip, info: Any, frames: np.ndarray, made: dict[str, Any]) -> tuple[float, Any]:
    """CPU seconds of one backend on one clip, and its artifact (None where it finds nothing)."""
    built = spec.build(BackendOptions())
    start = time.process_time()
    try:
        job = built.start(clip, info, made)
        wanted = np.arange(len(frames)) if job.wants is None else np.asarray(job.wants)
        wanted = wanted[wanted < len(frames)]
        for begin in range(0, len(wanted), BATCH):
            job.push(wanted[begin : begin + BATCH], frames[wanted[begin : begin + BATCH]])
        artifact = job.finish()
    except Exception as error:  # a backend that cannot score this clip still took its time
        print(f"    {spec.key}: {error}") if len(frames) > LOADING else None
        artifact = None
    return time.process_time() - start, artifact


def in_order() -> list[Any]:
    """The usable embedded backends, those that others require first."""
    specs = [spec for spec in BACKENDS if spec.embedded and spec.name != "files" and spec.available().usable]
    return sorted(specs, key=lambda spec: (len(getattr(spec.build, "requires", ())), spec.key))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--only", nargs="*", default=[], help="only these backends (role=name)")
    parser.add_argument("--record", default="", help="the name under which the means are kept")
    given = parser.parse_args()
    spent: dict[str, list[float]] = {}
    for path in given.clips:
        with open_video(path) as reader:
            info = reader.info
            frames = reader.read(np.arange(info.n_frames))
        made: dict[str, Any] = {}
        for spec in in_order():
            if given.only and spec.key not in given.only:
                continue
            seconds_of(spec, clip_of(path, info.width, info.height), info, frames[:LOADING], made)  # loads the weights
            seconds, artifact = seconds_of(spec, clip_of(path, info.width, info.height), info, frames, made)
            if artifact is not None:
                made[spec.role] = artifact
            spent.setdefault(spec.key, []).append(seconds)
    means = {name: round(float(np.mean(values)), 2) for name, values in sorted(spent.items())}
    for name, value in means.items():
        print(f"{name:45} {value:6.2f} CPU s a clip (n={len(spent[name])})")
    if given.record:
        values = {given.record: {"clips": [path.stem for path in given.clips], "seconds": means}}
        record("backends", "python bench/backends_real.py", values)


if __name__ == "__main__":
    main()
