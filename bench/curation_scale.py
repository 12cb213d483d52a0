"""Curation of many clips: time and memory of reading, hashing, probing and screening, first fresh and then from the cache.

    python bench/curation_scale.py [--clips 1000 10000] [--workers 2]

Writes an MBench-A setup of tiny videos with pose files: once as links to one video (what the records themselves cost: reading,
hashing, poses, screen, tables), once with bytes of its own in every video, so that each is decoded too. Prints a row per number of
clips, for the first curation and for a second one that finds everything in the cache: seconds on the clock, seconds of all
processors together, and the largest resident size of the main process and of any worker. Flat means that ten times the clips do
not need ten times the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MODELS = 8
FRAMES, WIDTH, HEIGHT = 8, 64, 48


def write_dataset(root: Path, clips: int, distinct: bool) -> None:
    """`clips` generations spread over eight models; sample.json files are shared, as in the benchmark."""
    from lookback.camera import compile as compile_request
    from lookback.camera import inverse, preset
    from lookback.media import encode

    texture = (
        np.random.default_rng(0).integers(0, 255, (HEIGHT // 4, WIDTH // 4 + FRAMES, 3), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    )
    root.mkdir(parents=True)
    base = encode(root / "base.mp4", (texture[:, i : i + WIDTH] for i in range(FRAMES)), 8)
    poses = root / "poses.npz"
    np.savez(poses, extrinsics=inverse(compile_request(preset("yaw_LR", FRAMES)))[:, :3])
    (root / "dataset.yaml").write_text("dataset_id: mbencha\n")
    condition = "left_then_right_10s"
    for number in range(-(-clips // MODELS)):
        folder = root / "samples" / "environment" / f"s{number:05d}"
        folder.mkdir(parents=True)
        (folder / "sample.json").write_text(json.dumps({"metadata": {"caption": f"A street, number {number}."}}))
    lines: dict[str, list[str]] = {}
    for number in range(clips):
        model, sample = f"model{number % MODELS}", f"s{number // MODELS:05d}"
        inner = f"environment/{sample}/{condition}"
        folder = root / "models" / model / "outputs" / inner
        folder.mkdir(parents=True)
        if distinct:  # a `free` box at the end of an MP4 is skipped by every reader: the same pictures, other bytes
            (folder / "video.mp4").write_bytes(base.read_bytes() + struct.pack(">I4sQ", 16, b"free", number))
        else:
            os.link(base, folder / "video.mp4")
        os.link(poses, folder / "poses.npz")
        row = {"subset": "environment", "sample_id": sample, "condition_id": condition, "model_id": model}
        row |= {"media": {"videos": [{"path": f"outputs/{inner}/video.mp4", "role": "generated"}]}}
        row |= {"artifacts": {"da3": {"path": f"outputs/{inner}/poses.npz"}}}
        lines.setdefault(model, []).append(json.dumps(row))
    for model, rows in lines.items():
        (root / "models" / model / "samples.jsonl").write_text("\n".join(rows) + "\n")


def measure(root: Path, workers: int) -> dict[str, float]:
    """One curation of the dataset in this process, with the tables written."""
    from lookback import stages
    from lookback.params.load import validate

    params = validate({"run": "scale", "workers": workers, "curation": {"sources": [{"root": str(root)}]}}, "benchmark")
    start = time.perf_counter()
    tables = stages.curation(params)
    seconds = time.perf_counter() - start
    main, worker = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "clips": len(tables["clips"]),
        "seconds": seconds,
        "processor_s": main.ru_utime + main.ru_stime + worker.ru_utime + worker.ru_stime,
        "main_mib": main.ru_maxrss / 1024,
        "worker_mib": worker.ru_maxrss / 1024,
    }


def run(clips: int, workers: int, distinct: bool) -> None:
    """Print a row for the fresh and the cached curation, each in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary) / "project"
        (project / "params").mkdir(parents=True)
        (project / "notebooks").mkdir()
        write_dataset(Path(temporary) / "data", clips, distinct)
        time.sleep(2.5)  # files written this very moment are not trusted by the hash cache
        environment = {**os.environ, "LOOKBACK_ROOT": str(project), "OMP_NUM_THREADS": "1"}
        for label in ("fresh", "cached"):
            command = [sys.executable, __file__, "--measure", str(Path(temporary) / "data"), "--workers", str(workers)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout.splitlines()[-1])
            kind = "distinct" if distinct else "linked"
            times = f"{row['seconds']:7.1f} s  processors {row['processor_s']:7.1f} s"
            memory = f"main {row['main_mib']:5.0f} MiB  worker {row['worker_mib']:5.0f} MiB"
            print(f"{row['clips']:>7.0f}  {kind:<8} {label:<7} {times}  {memory}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.workers)))
        return
    for distinct in (False, True):
        for clips in arguments.clips:
            run(clips, arguments.workers, distinct)


if __name__ == "__main__":
    main()
