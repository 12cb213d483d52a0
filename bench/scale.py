"""A run of 10,000 clips on one machine: time and memory of its tables, its means, its report and the inspector's list.

    python bench/scale.py [--clips 1000 10000] [--limit-s 90]

Makes the tables of a MemoBench run without running it: clips of eight models (links to one small video), an item for every metric
and phase, units for PSNR and SSIM, and camera paths in the store. Then each part runs in a process of its own: writing the tables
with their checks, reading and averaging them, the report, and the inspector up to its first clip. Prints seconds and the largest
resident size. It fails where a part takes longer than the limit, or where its time grows faster than the number of clips.
bench/curation_scale.py does the same for curation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lookback.files import write_json
from lookback.machine import one_line
from lookback.params import RunParams
from lookback.params.load import validate
from lookback.provenance import git_revision

MODELS, FRAMES, SIZE = 8, 8, (48, 64)
UNIT_METRICS = ("memobench.psnr", "memobench.ssim")
GROWTH = 1.25  # the exponent of time over clips up to which growth counts as linear: small runs have fixed costs
ROOT = Path(__file__).parents[1]


def parameters() -> RunParams:
    return validate({"run": "scale", "workers": 1, "device": "cpu"}, "benchmark")


# -- the run ----------------------------------------------------------------------------------------------------------------------
def clips_of(count: int, project: Path) -> pd.DataFrame:
    """Eight models' answers to the same scenes, each a link to one small video."""
    from lookback.clips import Clip, clips_to_frame
    from lookback.media import content_hash, encode

    base = encode(project / "base.mp4", np.random.default_rng(0).integers(0, 255, (FRAMES, *SIZE, 3), np.uint8), 8)
    facts = {"n_frames": FRAMES, "fps": 8.0, "width": SIZE[1], "height": SIZE[0], "gt_frames": FRAMES, "d_start": 3, "r_start": 6}
    found = []
    for number in range(count):
        model, scene = f"model{number % MODELS}", f"scene_{number // MODELS:05d}"
        video = project / "videos" / model / f"{scene}.mp4"
        video.parent.mkdir(parents=True, exist_ok=True)
        os.link(base, video)
        names = {"benchmark": "memobench", "setting": "real", "subset": "real", "model_id": model, "clip_id": scene, "scene": scene}
        found.append(Clip(**names, **facts, video=str(video), ground_truth=str(base), content_hash=content_hash(base)))
    return clips_to_frame(found)


def scores_of(clips: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(units, items) as scoring writes them: random values, one in fifty missing with a reason."""
    from lookback.clips import KEYS
    from lookback.registry import METRICS
    from lookback.tables import PROVENANCE

    rng = np.random.default_rng(0)
    keys = clips[KEYS]
    items, units = [], []
    for spec in METRICS:
        if not spec.applies_to("memobench", "real", "real"):
            continue
        phases = ("", "V", "D", "R") if spec.name in UNIT_METRICS else ("",)
        for phase in phases:
            value = rng.uniform(0.2, 0.9, len(keys))
            lost = rng.random(len(keys)) < 0.02
            common = {"metric": spec.name, "variant": spec.default_variant, "phase": phase}
            told = {
                "value": np.where(lost, np.nan, value),
                "raw": np.where(lost, np.nan, value),
                "reason": np.where(lost, "cut", ""),
            }
            items.append(keys.assign(**common, **told, detail="", n_units=FRAMES, **dict.fromkeys(PROVENANCE, "none")))
        if spec.name in UNIT_METRICS:
            for frame in range(FRAMES):
                value = rng.uniform(0.2, 0.9, len(keys))
                place = {"unit_id": f"all_f{frame}", "kind": "frame", "frame": frame, "frame_other": pd.NA, "phase": ""}
                rest = {"value": value, "raw": value, "reason": "", "detail": ""}
                units.append(keys.assign(metric=spec.name, variant=spec.default_variant, **place, **rest))
    return pd.concat(units, ignore_index=True), pd.concat(items, ignore_index=True)


def paths_of(clips: pd.DataFrame, params: RunParams) -> pd.DataFrame:
    """The artifacts table with a stored camera path for every clip (the content is the same, so the store keeps one)."""
    from lookback.artifacts import PoseTrack
    from lookback.camera import compile as compile_request
    from lookback.camera import preset
    from lookback.clips import KEYS
    from lookback.store import ArtifactStore, Producer
    from lookback.tables import PROVENANCE

    plain = {"intrinsics": np.tile(np.eye(3), (FRAMES, 1, 1)), "confidence": np.ones(FRAMES)}
    c2w = compile_request(preset("yaw_LR", FRAMES))
    track = PoseTrack(frame_index=np.arange(FRAMES), c2w=c2w, has_translation=np.ones(FRAMES, bool), **plain)
    entry = track.pack()
    key = ArtifactStore(params.paths.artifacts).save(Producer("pose", "scale", "1"), "0" * 64, entry.arrays, entry.record)
    told = {"role": "pose", "stored": str(key), "reason": "", "detail": "", "n_frames": FRAMES, "summary": "{}"}
    return clips[KEYS].assign(**told, **dict.fromkeys(PROVENANCE, "none"))


# -- the parts --------------------------------------------------------------------------------------------------------------------
def write_tables(clips: int, project: Path) -> None:
    from lookback.tables import SCHEMAS, empty_table, write_table

    params = parameters()
    table = clips_of(clips, project)
    units, items = scores_of(table)
    made = {"clips": table, "units": units, "items": items, "gated": items, "artifacts": paths_of(table, params)}
    for name in SCHEMAS:
        frame = made.get(name, empty_table(name))
        write_table(params.paths.tables, name, frame[list(SCHEMAS[name].columns)])


def read_and_average(clips: int, project: Path) -> None:
    from lookback.scoring.aggregate import aggregate, with_clip_facts
    from lookback.tables import read_table

    folder = parameters().paths.tables
    tables = {name: read_table(folder, name) for name in ("clips", "units", "gated", "artifacts")}
    means = aggregate(with_clip_facts(tables["gated"], tables["clips"]))
    assert means["n_items"].sum() == len(tables["gated"])


def report(clips: int, project: Path) -> None:
    from lookback import stages

    params = parameters()
    stages.report(params)
    size = params.paths.report.stat().st_size / 2**20
    print(f"report.html {size:.1f} MiB", file=sys.stderr)


def inspector(clips: int, project: Path) -> None:
    """What its page asks until the list with a metric's values and the first clip are shown."""
    from lookback.inspector.listing import listing, values_of
    from lookback.inspector.marks import NoteBook
    from lookback.inspector.opened import opened
    from lookback.inspector.pictures import Pictures
    from lookback.inspector.run import RunView

    view = RunView.of_run(parameters())
    page = json.loads(json.dumps(listing(view, {})))
    assert len(page["clips"]) == clips == len(values_of(view, page["metrics"][0]))
    first = opened(view, Pictures(), NoteBook(project / "notes.json"), page["clips"][0]["label"], [], "phase")
    assert first["slots"]


PARTS: dict[str, Callable[[int, Path], None]] = {
    "write the tables": write_tables,
    "read and average": read_and_average,
    "report": report,
    "inspector": inspector,
}


def measured(name: str, clips: int, project: Path) -> dict[str, float]:
    """One part in a process of its own: seconds on the clock, seconds of the processor, and the largest resident size."""
    command = [sys.executable, __file__, "--part", name, "--clips", str(clips), "--project", str(project)]
    environment = {**os.environ, "LOOKBACK_ROOT": str(project), "OMP_NUM_THREADS": "1", "LOOKBACK_NO_PROGRESS_BAR": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_part(name: str, clips: int, project: Path) -> dict[str, float]:
    started = time.perf_counter(), time.process_time()
    PARTS[name](clips, project)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024
    return {"seconds": time.perf_counter() - started[0], "processor_s": time.process_time() - started[1], "peak_mib": peak}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--limit-s", type=float, default=90.0, help="processor seconds that a part may take")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--project", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(run_part(arguments.part, arguments.clips[0], arguments.project)))
        return 0
    rows: list[dict[str, Any]] = []
    for clips in sorted(arguments.clips):
        with tempfile.TemporaryDirectory() as temporary:
            project = Path(temporary)
            for folder in ("params", "notebooks"):
                (project / folder).mkdir()
            for name in PARTS:
                rows.append({"clips": clips, "part": name, **measured(name, clips, project)})
                found = rows[-1]
                times = f"{found['seconds']:7.1f} s  processor {found['processor_s']:7.1f} s"
                print(f"{clips:>7}  {name:<17} {times}  peak {found['peak_mib']:5.0f} MiB", flush=True)
    slow = [row for row in rows if row["processor_s"] > arguments.limit_s]
    steep = [name for name in PARTS if growth([row for row in rows if row["part"] == name]) > GROWTH]
    for name in steep:
        print(f"{name}: its time grows faster than the number of clips")
    write_json(ROOT / "outputs" / "scale.json", {"rows": rows, "machine": one_line(), "git": git_revision()})
    return 1 if slow or steep else 0


def growth(rows: list[dict[str, Any]]) -> float:
    """The exponent of processor time over clips, from the smallest to the largest run."""
    first, last = rows[0], rows[-1]
    if first["clips"] == last["clips"]:
        return 0.0
    return float(np.log(last["processor_s"] / first["processor_s"]) / np.log(last["clips"] / first["clips"]))


if __name__ == "__main__":
    sys.exit(main())
