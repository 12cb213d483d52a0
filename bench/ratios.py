"""What the design buys, as ratios measured in one run: `make bench` prints the table and writes outputs/bench.json.

    python bench/ratios.py [--only a b ...]

(a) all pixel metrics of a clip in one decode, against one decode per metric; (b) eight clips of one ground truth in one pass over
it, against one after the other (bench/race.py races the released programs); (c) one worker against two; (d) a first run against one
that finds everything in the store; (e) how time and memory grow with the number and length of clips: fitted exponents; (f) a
cluster bootstrap against a plain loop; (g) where the time of an extraction goes.
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
from lookback.clips import Clip, clips_to_frame
from lookback.files import write_json
from lookback.machine import one_line
from lookback.params import RunParams
from lookback.params.load import validate
from lookback.provenance import git_revision

Row = dict[str, Any]
TRUTH_SIZE, FRAMES = (1080, 1920), 81
# what MemoBench's eight published models deliver (height, width), against its 1080p ground truth
DELIVERED = [(480, 832), (480, 832), (480, 832), (464, 832), (576, 1024), (336, 592), (352, 640), (192, 336)]
GRAIN = 2.0  # noise in grey levels that gives a truth frame 42 kB and a frame of 832x480 8 kB, as the published files have


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def moving_picture(size: tuple[int, int], frames: int, seed: int = 0, grain: float = 0.0) -> np.ndarray:
    """A photograph-like texture that drifts: neither trivial nor random to compress. `grain` is new noise in every frame."""
    from skimage import data, transform

    picture = transform.resize(data.astronaut(), (size[0] + frames, size[1] + frames), anti_aliasing=True)
    rng = np.random.default_rng(seed)
    picture = (255 * np.clip(picture + rng.normal(0, 0.01, picture.shape), 0, 1)).astype(np.uint8)
    video = np.stack([picture[i : i + size[0], i : i + size[1]] for i in range(frames)])
    if grain:
        for frame in video:
            frame[...] = np.clip(frame + grain * rng.standard_normal(frame.shape, np.float32), 0, 255).round()
    return video


def clip_with_truth(video: Path, truth: Path, size: tuple[int, int]) -> Clip:
    """One model's answer: 81 frames against a 1080p ground truth."""
    from lookback.media import encode

    encode(video, moving_picture(size, FRAMES, grain=GRAIN), 16)
    facts = {
        "n_frames": FRAMES,
        "fps": 16.0,
        "width": size[1],
        "height": size[0],
        "gt_frames": FRAMES,
        "d_start": 27,
        "r_start": 54,
    }
    names = {"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64}
    return Clip(**names, **facts, video=str(video), ground_truth=str(truth))


def pixel_metrics(clip: Clip) -> list[Any]:
    """PSNR and SSIM of the paper and of the released code, per phase and whole."""
    from lookback.registry import METRICS
    from lookback.scoring.contract import ScoringClip

    nothing: Any = lambda role: None  # noqa: E731 - these metrics need no artifact and no model
    specs = [METRICS.get(name) for name in ("memobench.psnr", "memobench.ssim")]
    return [
        (spec, ScoringClip(clip, variant, {}, pd.DataFrame(), nothing, nothing, settings=spec.preset(variant, {})))
        for spec in specs
        for variant in ("paper", "official")
    ]


def clips_of_one_truth(folder: Path) -> list[Clip]:
    """The sizes that the models deliver, against one 1080p ground truth."""
    from lookback.media import encode

    truth = encode(folder / "truth.mp4", moving_picture(TRUTH_SIZE, FRAMES, 1, GRAIN), 16)
    return [clip_with_truth(folder / f"video{number}.mp4", truth, size) for number, size in enumerate(DELIVERED)]


def one_decode(folder: Path) -> list[Row]:
    """(a) All pixel metrics of a clip in one decode, for the sizes that the models deliver."""
    from lookback.scoring.clip import score_clip

    together, apart = np.zeros(len(DELIVERED)), np.zeros(len(DELIVERED))
    for number, clip in enumerate(clips_of_one_truth(folder)):
        chosen = pixel_metrics(clip)
        if number == 0:
            score_clip(chosen[:1])
        together[number], all_at_once = seconds(lambda: score_clip(chosen))  # noqa: B023 - called at once
        apart[number], one_by_one = seconds(lambda: [score_clip([metric])[0] for metric in chosen])  # noqa: B023
        assert all_at_once == one_by_one
    ratios = dict(zip((f"{width}x{height}" for height, width in DELIVERED), apart / together, strict=True))
    told = ", ".join(f"{ratio:.1f} at {size}" for size, ratio in ratios.items())
    return [row("a", "pixel metrics of 8 clips in one decode, against one decode each", apart.sum(), together.sum(), 3.0, told)]


def one_truth(folder: Path) -> list[Row]:
    """(b) Clips of one ground truth in one pass over it."""
    from collections import defaultdict

    from lookback.scoring.clip import score_clip, score_clips

    clips = clips_of_one_truth(folder)
    score_clip(pixel_metrics(clips[-1]))
    together, in_step = seconds(lambda: score_clips([pixel_metrics(clip) for clip in clips], [defaultdict(float) for _ in clips]))
    apart, alone = seconds(lambda: [score_clip(pixel_metrics(clip)) for clip in clips])
    assert in_step == alone
    return [row("b", "8 clips in one pass over their ground truth, against one after the other", apart, together, None)]


def small_clips(folder: Path, count: int, frames: int = 48, size: tuple[int, int] = (96, 160)) -> pd.DataFrame:
    """Clips with bytes of their own, in the folder layout's table."""
    from lookback.media import content_hash, encode

    folder.mkdir(parents=True, exist_ok=True)
    clips = []
    for number in range(count):
        video = encode(folder / f"c{number:04d}.mp4", moving_picture(size, min(frames, 96), number)[np.arange(frames) % 96], 16)
        facts = {"n_frames": frames, "fps": 16.0, "width": size[1], "height": size[0], "scene": f"s{number}"}
        names = {"benchmark": "wrbench", "setting": "s", "model_id": "m", "clip_id": f"c{number:04d}"}
        clips.append(Clip(**names, **facts, video=str(video), content_hash=content_hash(video)))
    return clips_to_frame(clips)


def parameters(folder: Path, workers: int, roles: list[str]) -> RunParams:
    values = {"run": "bench", "output": str(folder), "workers": workers, "device": "cpu", "extraction": {"roles": roles}}
    return validate(values, "benchmark")


def workers(folder: Path) -> list[Row]:
    """(c) Extraction of camera paths by one and by two worker processes of one thread each."""
    from lookback.extraction.run import extract_run

    table = small_clips(folder / "clips", 40, size=(192, 320))
    os.environ["OMP_NUM_THREADS"] = "1"
    one, first = seconds(lambda: alone(folder / "one", table))
    two, second = seconds(lambda: extract_run(parameters(folder / "two", 2, ["pose"]), table)[0])
    keys = ["clip_id", "role"]
    assert first.sort_values(keys)["stored"].tolist() == second.sort_values(keys)["stored"].tolist()
    return [row("c", "camera paths of 40 clips, one worker against two", one, two, 1.7)]


def alone(folder: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The same work by a pool of one process."""
    from lookback.clips import clips_from_frame
    from lookback.extraction.run import ExtractionTask, extract_task
    from lookback.workers import _Pool

    params = parameters(folder, 1, ["pose"])
    tasks = [ExtractionTask(clip, ("pose",), params) for clip in clips_from_frame(table)]
    pool: Any = _Pool(extract_task, tasks, 1)
    return pd.DataFrame([line for _, result in pool.run() for line in result.rows])


def cold_and_warm(folder: Path) -> list[Row]:
    """(d) Extraction and scoring, first and again."""
    from lookback.extraction.run import extract_run
    from lookback.scoring.run import score_run
    from lookback.tables import empty_table

    table = small_clips(folder / "clips", 24, size=(192, 320))
    params = parameters(folder / "run", 1, ["pose", "masks", "quality", "features"])
    params = params.changed(scoring={"metrics": ["wrbench.visual_integrity"]})

    def both() -> None:
        artifacts, _ = extract_run(params, table)
        score_run(params, table, empty_table("segments"), artifacts)

    cold, _ = seconds(both)
    warm, _ = seconds(both)
    return [row("d", "extraction and scoring of 24 clips, first against again", cold, warm, 30.0)]


GROWTH = """
import json, sys, time
from pathlib import Path
import pandas as pd
sys.path.insert(0, {here!r})
from ratios import parameters
from lookback.extraction.run import extract_run
folder = Path(sys.argv[1])
params = parameters(folder / "run", 1, ["quality", "flow"])
extract_run(params, pd.read_parquet(folder / "warm.parquet"))
started = time.perf_counter()
extract_run(params, pd.read_parquet(folder / "clips.parquet"))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) / 1024  # getrusage would tell the parent's peak where that is larger
print(json.dumps([time.perf_counter() - started, peak]))
"""


def growth(folder: Path) -> list[Row]:
    """(e) Each size in a process of its own: sharpness and optical flow of 64x48 clips."""
    here = str(Path(__file__).parent)
    rows = []
    for what, sizes in (
        ("number of clips", [(10, 48), (100, 48), (1000, 48)]),
        ("length (5 s, 1 min, 15 min)", [(1, 80), (1, 960), (1, 14400)]),
    ):
        found = []
        for count, frames in sizes:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                for name, n, length in (("warm", 1, 16), ("clips", count, frames)):
                    small_clips(Path(place) / name, n, length, (48, 64)).to_parquet(Path(place) / f"{name}.parquet")
                command = [sys.executable, "-c", GROWTH.format(here=here), place]
                printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found.append(json.loads(printed.strip().splitlines()[-1]))
        amount = np.array([count * frames for count, frames in sizes], float)
        time_s, peak_mb = np.array(found).T
        exponent = float(np.polyfit(np.log(amount), np.log(time_s), 1)[0])
        told = ", ".join(f"{second:.1f} s" for second in time_s) + "; " + ", ".join(f"{peak:.0f} MB" for peak in peak_mb)
        rows.append(
            {"id": "e", "what": f"time against {what}: exponent", "ratio": exponent, "goal": 1.05, "smaller": True, "note": told}
        )
        share = float(peak_mb[-1] / peak_mb[0])
        rows.append(
            {"id": "e", "what": f"memory against {what}: last / first", "ratio": share, "goal": 1.10, "smaller": True, "note": ""}
        )
    return rows


def bootstrap(folder: Path) -> list[Row]:
    """(f) The mean of 5,000 values in 200 scenes, 2,000 resamples: one matrix product against a loop over resamples."""
    from lookback.stats import bootstrap_ci

    rng = np.random.default_rng(0)
    values, scenes = rng.normal(size=5000), rng.integers(0, 200, 5000)
    members = [np.flatnonzero(scenes == scene) for scene in range(200)]

    def loop() -> np.ndarray:
        draw = np.random.default_rng(0)
        return np.array([values[np.concatenate([members[i] for i in draw.integers(0, 200, 200)])].mean() for _ in range(2000)])

    bootstrap_ci(values[:10], clusters=scenes[:10], resamples=10)
    ours, found = seconds(lambda: bootstrap_ci(values, clusters=scenes, resamples=2000, seed=0))
    plain, draws = seconds(loop)
    note = f"standard error {found.se:.5f} against {draws.std(ddof=1):.5f}"
    return [row("f", "cluster bootstrap, 2,000 resamples, against a loop", plain, ours, None, note)]


def shares(folder: Path) -> list[Row]:
    """(g) One 1080p clip of 81 frames through the embedded backends: seconds of each part, and its share."""
    from lookback.extraction.run import extract_run
    from lookback.media import content_hash, encode
    from lookback.store import ArtifactStore

    video = encode(folder / "hd.mp4", moving_picture(TRUTH_SIZE, FRAMES), 16)
    facts = {"n_frames": FRAMES, "fps": 16.0, "width": TRUTH_SIZE[1], "height": TRUTH_SIZE[0], "scene": "s"}
    anchor = {"object_anchor": {"centre_x": 960.0, "centre_y": 540.0, "width": 400.0, "height": 400.0}}
    names = {"benchmark": "wrbench", "setting": "s", "model_id": "m", "clip_id": "c"}
    clip = Clip(**names, **facts, **anchor, video=str(video), content_hash=content_hash(video))
    params = parameters(folder / "hd", 1, ["pose", "masks", "flow", "features", "quality", "perceptual"])
    written = 0.0
    plain = ArtifactStore.save

    def clocked(*arguments: Any, **named: Any) -> Any:
        nonlocal written
        took, result = seconds(lambda: plain(*arguments, **named))
        written += took
        return result

    ArtifactStore.save = clocked  # type: ignore[method-assign]
    try:
        total, (_, timings) = seconds(lambda: extract_run(params, clips_to_frame([clip])))
    finally:
        ArtifactStore.save = plain  # type: ignore[method-assign]
    parts = {**timings.groupby("role")["seconds"].sum().to_dict(), "write": written}
    note = ", ".join(
        f"{name} {value:.1f} s ({100 * value / total:.0f} %)" for name, value in sorted(parts.items(), key=lambda x: -x[1])
    )
    return [
        {
            "id": "g",
            "what": f"1080p clip of {FRAMES} frames, all embedded artifacts: seconds",
            "ratio": total,
            "goal": None,
            "note": note,
        }
    ]


def row(name: str, what: str, slow: float, fast: float, goal: float | None, note: str = "") -> Row:
    told = f"{slow:.2f} s against {fast:.2f} s" + (f"; {note}" if note else "")
    return {"id": name, "what": what, "ratio": slow / fast, "goal": goal, "note": told}


MEASURES: dict[str, Callable[[Path], list[Row]]] = {
    "a": one_decode,
    "b": one_truth,
    "c": workers,
    "d": cold_and_warm,
    "e": growth,
    "f": bootstrap,
    "g": shares,
}


def reached(found: Row) -> str:
    if found["goal"] is None:
        return ""
    good = found["ratio"] <= found["goal"] if found.get("smaller") else found["ratio"] >= found["goal"]
    return f"{'<=' if found.get('smaller') else '>='} {found['goal']:g} {'yes' if good else 'NO'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=sorted(MEASURES), default=sorted(MEASURES))
    rows: list[Row] = []
    for name in parser.parse_args().only:
        with tempfile.TemporaryDirectory() as folder:
            found = MEASURES[name](Path(folder))
        for each in found:
            print(f"({each['id']}) {each['what']:<70} {each['ratio']:8.2f}  {reached(each):<12} {each['note']}", flush=True)
        rows += found
    write_json(Path(__file__).parents[1] / "outputs" / "ratios.json", {"rows": rows, "machine": one_line(), "git": git_revision()})
    return 1 if any(reached(each).endswith("NO") for each in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
