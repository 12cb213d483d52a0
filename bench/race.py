"""The race against the released programs: the same real clips, the same numbers, in turns on the same machine.

    python bench/race.py [--only memobench mind wrbench] [--scenes N]

Needs the released sources in ../shared/peers and sample clips in ../shared/clips; a part that is not here is left out
with a note. Each row says how long ours and theirs took (wall clock and processor time), how far the numbers differ, and what bare
decoding of the same files takes, each file once: nobody who reads the clips can be faster. Ours and bare decoding take turns, five
times for each scene, and the median counts; the released program runs once, between them. Other work on the machine slows down all
of them. Processor time depends less on it; the ratios of both clocks are given.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from lookback.benchmarks.memobench.dataset_files import SHEETS, read_phases
from lookback.clips import Clip
from lookback.files import write_json
from lookback.layouts.reading import Findings
from lookback.machine import one_line
from lookback.media import open_video
from lookback.parity import Released, run_released
from lookback.provenance import git_revision
from lookback.registry import METRICS
from lookback.scoring.clip import score_clips
from lookback.scoring.contract import ScoringClip

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
PEERS, CLIPS, WRBENCH_CLIPS = SHARED / "peers", SHARED / "clips" / "memobench", SHARED / "clips" / "wrbench"
T = TypeVar("T")
Clock = np.ndarray  # (wall, processor) seconds
TURNS = 5
LIMIT_S = 3600.0
PHASES = {"V": "O", "D": "H", "R": "R", "": "ALL"}  # ours and theirs
MIND_FRAMES = 16  # the released SSIM at 720x1280 takes most of a second for each


@dataclass
class Racer:
    """What both sides and the bare decoder took so far."""

    clips: int = 0
    ours: Clock = field(default_factory=lambda: np.zeros(2))
    theirs: Clock = field(default_factory=lambda: np.zeros(2))
    decoding: Clock = field(default_factory=lambda: np.zeros(2))
    differences: dict[str, float] = field(default_factory=dict)

    def race(
        self, paths: Sequence[Path], ours: Callable[[], T], theirs: Callable[[], Released], frames: int | None = None
    ) -> tuple[T, Released]:
        """Run both sides on these files, and decode them; what both sides found."""
        result = ours()  # imports, and compiled code is loaded: the released program's clock starts after that, too
        taken: list[tuple[Clock, Clock]] = []
        for turn in range(TURNS):
            taken.append((clocked(ours), clocked(lambda: decode(paths, frames))))
            if turn == TURNS // 2:
                released = theirs()
        if "clock" not in released.arrays:
            raise RuntimeError(f"the released program did not run: {released.note('clock')}")
        mine, decoding = np.median(taken, axis=0)
        self.ours += mine
        self.decoding += decoding
        self.theirs += released.arrays["clock"]
        return result, released

    def differ(self, name: str, ours: float, theirs: float) -> None:
        self.differences[name] = max(self.differences.get(name, 0.0), abs(ours - theirs))


def clocked(work: Callable[[], object]) -> Clock:
    started = time.perf_counter(), time.process_time()
    work()
    return np.array([time.perf_counter() - started[0], time.process_time() - started[1]])


def decode(paths: Sequence[Path], frames: int | None = None) -> None:
    """Bare decoding to RGB, each file once."""
    for path in paths:
        with open_video(path) as reader:
            for index, _ in reader:
                if frames is not None and index + 1 >= frames:
                    break


# -- MemoBench: PSNR and SSIM of every phase --------------------------------------------------------------------------------------
# `_eval_clip` of the released program, whole; all metrics but PSNR and SSIM are switched off
MEMOBENCH = """
import collections, time
import numpy as np, torch
import run_eval
from automated.metrics import reference_fidelity
nothing = lambda *given, **named: collections.defaultdict(float)
for name in ("temporal_flow_score", "aesthetic_score", "image_quality_score", "clip_frame_similarity"):
    setattr(run_eval, name, lambda *given, **named: 0.0)
for name in ("geometry_3d_consistency", "object_centric_identity_consistency", "extract_gt_frame_at"):
    setattr(run_eval, name, nothing)
run_eval.load_intrinsics_npz = nothing
reference_fidelity._to_lpips_tensor = lambda picture, device: torch.zeros(1)
reference_fidelity._lpips_model = lambda a, b: torch.zeros(len(a), 1, 1, 1)
started = time.perf_counter(), time.process_time()
for number, clip in enumerate(inputs["clips"]):
    for name, value in run_eval._eval_clip(clip, 640, 4, "cpu").items():
        if name.startswith("GT_") and name.endswith(("PSNR", "SSIM")):
            give(f"{number} {name}", value)
give("clock", [time.perf_counter() - started[0], time.process_time() - started[1]])
"""


def memobench(scenes: int) -> Iterator[tuple[str, Racer]]:
    racer, peer = Racer(), PEERS / "memobench"
    for truth, videos, marks in sample_scenes()[:scenes]:
        clips = [memobench_clip(video, truth, marks) for video in videos]
        theirs = partial(released_scores, peer, videos, truth, marks)
        found, released = racer.race([*videos, truth], partial(official_scores, clips), theirs)
        racer.clips += len(clips)
        for place, scores in enumerate(found):
            for (measure, phase), value in scores.items():
                racer.differ(measure, value, float(released.arrays[f"{place} GT_{PHASES[phase]}_{measure}"]))
    yield "MemoBench: PSNR and SSIM of every phase, with decoding", racer


def sample_scenes() -> list[tuple[Path, list[Path], Any]]:
    """(ground truth, the models' videos, phase marks) of every scene that has a ground truth."""
    phases, _ = read_phases([path for name in SHEETS if (path := CLIPS / name).is_file()], Findings())
    found = []
    for truth in sorted(CLIPS.glob("*_gt.mp4")):
        name = truth.stem.removesuffix("_gt")
        marks = phases.get("".join(letter for letter in name.lower() if letter.isalnum()))
        videos = sorted(path for path in CLIPS.glob(f"{name}_*.mp4") if path != truth)
        if marks is not None and videos:
            found.append((truth, videos, marks))
    return found


def memobench_clip(video: Path, truth: Path, marks: Any) -> Clip:
    with open_video(video) as reader, open_video(truth) as true:
        info, gt_frames = reader.info, true.info.n_frames
    names = {"benchmark": "memobench", "setting": "real", "model_id": video.stem, "clip_id": video.stem, "scene": truth.stem}
    facts = {"n_frames": info.n_frames, "fps": info.fps, "width": info.width, "height": info.height, "gt_frames": gt_frames}
    files = {"video": str(video), "ground_truth": str(truth), "content_hash": "0" * 64}
    return Clip(**names, **facts, **files, d_start=marks.d_start, r_start=marks.r_start)


def official_scores(clips: Sequence[Clip]) -> list[dict[tuple[str, str], float]]:
    """(PSNR or SSIM, phase) -> value of each clip, in one pass over their ground truth."""
    names = {"PSNR": METRICS.get("memobench.psnr"), "SSIM": METRICS.get("memobench.ssim")}
    nothing: Any = lambda role: None  # noqa: E731 - these metrics need no artifact and no model
    chosen = [
        [
            (spec, ScoringClip(clip, "official", {}, pd.DataFrame(), nothing, nothing, settings=spec.preset("official", {})))
            for spec in names.values()
        ]
        for clip in clips
    ]
    found = score_clips(chosen, [defaultdict(float) for _ in clips])
    return [
        {(name, item.phase): float(item.value) for name, scored in zip(names, results, strict=True) for item in scored.items}  # type: ignore[arg-type]
        for results in found
    ]


def released_scores(peer: Path, videos: Sequence[Path], truth: Path, marks: Any) -> Released:
    common = {"data_type": "real", "gt_intrinsics_npz": "", "gt_mp4": str(truth.resolve()), "prompt": ""}
    common |= {"h_start_gt": int(marks.d_start), "r_start_gt": int(marks.r_start), "scene": truth.stem}
    clips = [{**common, "id": video.stem, "video_path": str(video.resolve())} for video in videos]
    return run_released(peer, MEMOBENCH, {"clips": clips}, folders=("evaluation",), time_limit_s=LIMIT_S)


# -- MIND: lcm --------------------------------------------------------------------------------------------------------------------
MIND = """
import sys, time, types
import torch
for name in ("pyiqa", "pyiqa.archs", "pyiqa.archs.musiq_arch", "clip"):  # imported by process.py for `visual` alone
    sys.modules[name] = types.ModuleType(name)
sys.modules["pyiqa.archs.musiq_arch"].MUSIQ = None
import process
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
nothing = lambda a, b: torch.zeros(len(a), 1, 1, 1)
started = time.perf_counter(), time.process_time()
for number, (one, other) in enumerate(inputs["pairs"]):
    a, b = (process.VideoStreamReader(path).read_batch(inputs["frames"])[1] for path in (one, other))
    ssim = StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none")
    psnr = PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=[1, 2, 3])
    found = process.lcm_metric(a, b, nothing, ssim, psnr, 10, "cpu")
    give(f"pair {number}", [found["avg_mse"], found["avg_psnr"], found["avg_ssim"]])
give("clock", [time.perf_counter() - started[0], time.process_time() - started[1]])
"""


def mind(scenes: int) -> Iterator[tuple[str, Racer]]:
    from lookback.benchmarks.mind.metrics.fidelity import measure_pairs
    from lookback.benchmarks.mind.metrics.shared import preprocess

    def lcm(video: Path, truth: Path) -> list[float]:
        with open_video(video) as one, open_video(truth) as other:
            pairs = zip(one, other, range(MIND_FRAMES), strict=False)
            found = measure_pairs(((preprocess(a), preprocess(b)) for (_, a), (_, b), _ in pairs), identical_left_out=False)
        return [found[name] for name in ("avg_mse", "avg_psnr", "avg_ssim")]

    racer = Racer()
    for truth, videos, _ in sample_scenes()[:scenes]:
        video = videos[-1]
        inputs = {"pairs": [[str(video.resolve()), str(truth.resolve())]], "frames": MIND_FRAMES}
        theirs = partial(run_released, PEERS / "mind", MIND, inputs, folders=("src",), time_limit_s=LIMIT_S)
        values, released = racer.race([video, truth], partial(lcm, video, truth), theirs, MIND_FRAMES)
        racer.clips += 1
        for name, value, expected in zip(("mse", "PSNR", "SSIM"), values, released.arrays["pair 0"], strict=True):
            racer.differ(name, value, float(expected))
    yield f"MIND: lcm without LPIPS, {MIND_FRAMES} frames a clip at 720x1280, with decoding", racer


# -- WRBench: visual integrity ----------------------------------------------------------------------------------------------------
def wrbench(scenes: int) -> Iterator[tuple[str, Racer]]:
    from lookback.benchmarks.wrbench.parity import our_integrity, random_dinov2
    from lookback.benchmarks.wrbench.parity_drivers import INTEGRITY

    racer = Racer()
    with TemporaryDirectory() as folder:
        random_dinov2(Path(folder))
        integrity = our_integrity(Path(folder))
        for video in sorted(WRBENCH_CLIPS.glob("*.mp4"))[:scenes]:
            inputs = {"model": folder, "videos": 2 * [str(video.resolve())]}  # the first time loads whatever is loaded only once
            theirs = partial(run_released, PEERS / "wrbench", INTEGRITY, inputs, folders=("src",), time_limit_s=LIMIT_S)
            value, released = racer.race([video], partial(integrity, video), theirs)
            racer.clips += 1
            racer.differ("score", value, float(released.arrays["score1"]))
    yield "WRBench: visual integrity with a DINOv2 of base size (random weights, the same on both sides), with decoding", racer


# -- the table --------------------------------------------------------------------------------------------------------------------
Race = Callable[[int], Iterator[tuple[str, Racer]]]
RACES: dict[str, tuple[Path, Path, Race]] = {  # the released program, the clips, what is run
    "memobench": (PEERS / "memobench", CLIPS, memobench),
    "mind": (PEERS / "mind", CLIPS, mind),
    "wrbench": (PEERS / "wrbench", WRBENCH_CLIPS, wrbench),
}


def row(what: str, racer: Racer) -> dict[str, Any]:
    """One line of the table: seconds of both clocks, and their ratios."""
    clocks = {name: getattr(racer, name).round(2).tolist() for name in ("ours", "theirs", "decoding")}
    ratios = {
        "times faster": (racer.theirs / racer.ours).round(2).tolist(),
        "times decoding": (racer.ours / racer.decoding).round(2).tolist(),
    }
    return {"what": what, "clips": racer.clips, **clocks, **ratios, "differences": racer.differences}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=sorted(RACES), default=sorted(RACES))
    parser.add_argument("--scenes", type=int, default=100, help="at most so many scenes of the sample clips")
    chosen = parser.parse_args()
    rows, notes, load = [], [], [os.getloadavg()[0]]
    for name in chosen.only:
        peer, clips, race = RACES[name]
        missing = [str(path.relative_to(SHARED)) for path in (peer, clips) if not path.is_dir()]
        notes += [f"{name}: left out, ../shared/{path} is not here" for path in missing[:1]]
        for what, racer in () if missing else race(chosen.scenes):
            rows.append(row(what, racer))
            print(told(rows[-1]), flush=True)
        load.append(os.getloadavg()[0])
        found = {"rows": rows, "notes": notes, "load": [round(value, 1) for value in load], "cores": os.cpu_count()}
        # after every part, as the race may be stopped
        write_json(ROOT / "outputs" / "race.json", {**found, "machine": one_line(), "git": git_revision()})
    for note in notes:
        print(note)
    return 0


def told(found: dict[str, Any]) -> str:
    differences = ", ".join(f"{name} {value:.0e}" for name, value in found["differences"].items())
    ours, theirs, decoding = (f"{found[name][0]:.1f} s ({found[name][1]:.1f} s cpu)" for name in ("ours", "theirs", "decoding"))
    faster, share = found["times faster"], found["times decoding"]
    return (
        f"{found['what']}, {found['clips']} clips: ours {ours}, theirs {theirs}, {faster[0]:g} times faster ({faster[1]:g} cpu); "
        f"bare decoding {decoding}, ours takes {share[0]:g} times that ({share[1]:g} cpu); largest differences: {differences}"
    )


if __name__ == "__main__":
    sys.exit(main())
