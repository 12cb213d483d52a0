"""MIND's metrics beside the released program (`src/process.py` and what it calls), on one small dataset in MIND's own layout.

The released worker runs whole on the dataset: its loop, its batches, its readers, lcm, gsc, dino and action. Three things are
handed over or left out; every other computation is its own. LPIPS gets the weights that we embed (the package would download them).
ViPE and the cut before it are replaced by reading its images.txt. Videos keep their small size: the resize is compared apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.artifacts import Artifact, PoseTrack, TruePoseTrack
from lookback.backends.aesthetic import LaionAesthetic
from lookback.backends.base import BackendOptions
from lookback.backends.features.frames import Dinov3Features
from lookback.backends.perceptual.backends import EmbeddedPerceptual
from lookback.backends.pose.formats import read_poses
from lookback.backends.pretrained import quiet_loading
from lookback.benchmarks.mind.actions import released_name
from lookback.benchmarks.mind.layout import Mind
from lookback.benchmarks.mind.metrics.action import action_rpe
from lookback.benchmarks.mind.metrics.dino import FeatureErrors, shaping_of
from lookback.benchmarks.mind.metrics.fidelity import PairMeasure, frame_measures
from lookback.benchmarks.mind.metrics.shared import HEIGHT, WIDTH, preprocess
from lookback.benchmarks.mind.parity_inputs import HEIGHT as SMALL_HEIGHT
from lookback.benchmarks.mind.parity_inputs import (
    LENGTHS,
    MARK,
    MIRROR,
    MIRRORS,
    PERSPECTIVE,
    TEST,
    Inputs,
    QualityNetwork,
    name_of,
    wandering,
    write_inputs,
)
from lookback.benchmarks.mind.parity_inputs import WIDTH as SMALL_WIDTH
from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.layouts.documents import read_json
from lookback.media import open_video, probe
from lookback.params.stages import Source
from lookback.parity import ParityRow, Released, run_released
from lookback.paths import resolve
from lookback.registry import METRICS
from lookback.scoring import Scored, ScoringClip
from lookback.scoring.clip import score_clip

SIZES = ((1080, 1920), (480, 832), (333, 777), (720, 1283), (1000, 1000))  # plain, cover, odd remainder, square
EVERY = 5  # pixels of a resized frame that are compared, in both directions
MEASURES = {"mse": 1e-7, "psnr": 1e-4, "ssim": 3e-5, "lpips": 1e-5}  # with tolerances: both compute in float32
TOKENS = 1e-11  # of dino: rescaled twice, frames differ by 1e-9 to 1e-7
GROUPS = ("rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")
CLIP_FRAMES = 2  # of a real clip; at 720x1280 the released SSIM takes seconds for each

DRIVER = """
import contextlib, sys, threading, types
from pathlib import Path
import torch
for name in ("pyiqa", "pyiqa.archs", "pyiqa.archs.musiq_arch", "clip"):  # imported by process.py for `visual` alone
    sys.modules[name] = types.ModuleType(name)
sys.modules["pyiqa.archs.musiq_arch"].MUSIQ = None
import lpips
trunk = {name[6:]: torch.from_numpy(value) for name, value in inputs.items() if name.startswith("lpips:")}
network = lpips.LPIPS(net="alex", spatial=False, pnet_rand=True, verbose=False).eval()
network.load_state_dict(trunk)
lpips.LPIPS = lambda net, spatial: network
import process
import metrics.action, utils.utils, utils.vipe_utils
from metrics.dino import dino_mse_metric
from metrics.visual_quality import visual_quality_metric
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from utils.dino_utils import load_dinov3_model
from transformers import CLIPVisionModelWithProjection

resize = utils.utils.transform_image
lcm = lambda a, b: process.lcm_metric(
    a, b, network, StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none"),
    PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=[1, 2, 3]), 10, "cpu")
averages = lambda found, *names: [found["avg_" + name] for name in names]
layout = lambda frames: torch.from_numpy(frames).permute(0, 3, 1, 2)
first = lambda path: process.VideoStreamReader(path).read_batch(inputs["clip_frames"])[1]

for number, (height, width) in enumerate(inputs["sizes"]):
    frame = torch.from_numpy(inputs[f"frame:{number}"]).float()[None].permute(0, 3, 1, 2)
    attempt(f"resize:{number}", lambda: resize(frame)[0, :, ::inputs["every"], ::inputs["every"]].permute(1, 2, 0).numpy())
attempt("pale", lambda: averages(lcm(layout(inputs["pale_a"]), layout(inputs["pale_b"])), "mse", "psnr", "ssim", "lpips"))

dino = load_dinov3_model(inputs["dino"], "cpu")
vision = CLIPVisionModelWithProjection.from_pretrained(inputs["clip"]).eval()
encoder = types.SimpleNamespace(encode_image=lambda pictures: vision(pixel_values=pictures).image_embeds)
head = torch.nn.Linear(24, 1)
head.load_state_dict(torch.load(inputs["head"], weights_only=True))
kernel = torch.from_numpy(inputs["quality"])
quality = lambda pictures: torch.nn.functional.conv2d(pictures, kernel, stride=8).tanh().mean(dim=(2, 3))
for number, (one, other) in enumerate(inputs["pairs"]):
    with torch.no_grad():
        a, b = first(one), first(other)
        give(f"frames:{number}", a[0, :, ::inputs["every"], ::inputs["every"]].permute(1, 2, 0).numpy())
        attempt(f"lcm:{number}", lambda: averages(lcm(a, b), "mse", "psnr", "ssim", "lpips"))
        attempt(f"dino:{number}", lambda: dino_mse_metric(a, b, *dino, "cpu")["avg_dino_mse"])
        found = lambda: visual_quality_metric(a, quality, head, encoder, 10, "cpu")
        attempt(f"visual:{number}", lambda: averages(found(), "imaging", "aesthetic"))

attempt("labels", lambda: "|".join(process.extract_actions_from_json(inputs["actions"], inputs["mark"], 97)))

def poses(video, cache_dir, gt_cache_path=None, expected_frames=97, **rest):
    found, count = utils.vipe_utils.parse_colmap_images_txt(Path(gt_cache_path or Path(video).parent) / "images.txt")
    if gt_cache_path is None or count < expected_frames:  # where ViPE would run
        return found[:expected_frames]
    return released_poses(Path(video), Path("."), gt_cache_path=gt_cache_path, expected_frames=expected_frames)

released_poses = metrics.action.extract_traj
metrics.action.extract_traj = poses
metrics.action.crop_video_frames = lambda video, count, cache_dir, start_frame=0: Path(video)
utils.utils.transform_image = lambda images: images / 255.0

class Queue(list):
    def get(self, timeout):
        if not self:
            stop.set()
        return self.pop(0)
    put = list.append

stop, done = threading.Event(), []
tasks = Queue(process.Task({"path": path, "perspective": view, "test_type": kind}, 3) for view, kind, path in inputs["tasks"])
process.compute_metrics_single_gpu(
    tasks, done, inputs["gt_root"], inputs["test_root"], inputs["dino"], ["lcm", "gsc", "dino", "action"], None, 10, "cpu", 0, stop)
for record in done:
    name = record["path"]
    if "video_results" in record:
        scores = record["video_results"][0]["gsc"] if record["video_results"] and "gsc" in record["video_results"][0] else {}
        give(f"{name}:length", len(scores.get("mse", [])))
        give(f"{name}:gsc", averages(scores, "mse", "psnr", "ssim", "lpips") if scores else None)
        continue
    give(f"{name}:length", len(record.get("lcm", {}).get("mse", [])))
    give(f"{name}:lcm", averages(record["lcm"], "mse", "psnr", "ssim", "lpips") if "lcm" in record else None)
    give(f"{name}:dino", record["dino"]["avg_dino_mse"] if "dino" in record else None)
    for group, values in record.get("action", {}).items():
        give(f"{name}:action:{group}", [values[key] for key in ["count", *inputs["groups"]]])

short = inputs["short"]
metrics.action.extract_traj = lambda *arguments, **named: short
attempt("short", lambda: (metrics.action.action_accuracy_metric(Path("a"), Path("b"), 0, ["forward"] * 7) or {"": None})[""])
"""


def parity(peer: Path, clips: Path | None) -> Iterator[ParityRow]:
    """Every metric beside the released program's, on made-up videos and on the first two clips of the folder."""
    with TemporaryDirectory(prefix="lookback-mind-") as name, quiet_loading():
        inputs = write_inputs(Path(name))
        made = Made(inputs, clips)
        theirs = run_released(peer, DRIVER, made.for_the_driver(), folders=("src",))
        if not theirs.arrays:
            yield ParityRow("mind", "the released program", None, None, note=theirs.note(""))
            return
        yield from _resize_rows(made, theirs)
        yield from _picture_rows(made, theirs)
        yield from _loop_rows(made, theirs)
        yield from _mirror_rows(made, theirs)
        yield from _action_rows(made, theirs)


class Made:
    """The inputs, and our backends on the same weights."""

    def __init__(self, inputs: Inputs, clips: Path | None):
        self.inputs = inputs
        draws = np.random.default_rng(1)
        self.frames = [draws.integers(0, 256, (height, width, 3), np.uint8) for height, width in SIZES]
        scene = draws.uniform(0.4, 0.5, (2, 2, 72, 96, 3)).astype(np.float32)
        self.pale = (scene[0], (0.5 * scene[0] + 0.5 * scene[1]).astype(np.float32))
        videos = sorted(clips.rglob("*.mp4"))[:2] if clips else []
        made = [inputs.generated(length) / "video.mp4" for length in LENGTHS[:2]]
        self.pairs = [(videos[0], videos[1])] if len(videos) == 2 else [(made[0], made[1])]
        self.short = wandering(8, draws)
        self.perceptual = EmbeddedPerceptual(BackendOptions())
        self.dino = Dinov3Features(_options(path=str(inputs.dino)))
        self.aesthetic = LaionAesthetic(_options(path=str(inputs.clip), heads_path=str(inputs.heads)))
        self.quality = QualityNetwork()
        known = Mind.read(Source(root=str(inputs.test_root), gt_root=str(inputs.gt_root), layout="mind")).clips
        self.clips = {clip.sample_id: _probed(clip) for clip in known}

    def tool(self, role: str) -> Any:
        return {"perceptual": self.perceptual, "features": self.dino, "aesthetic": self.aesthetic, "quality": self.quality}[role]

    def for_the_driver(self) -> dict[str, Any]:
        weights = {f"lpips:{name}": value.numpy() for name, value in self.perceptual.lpips("alex").state_dict().items()}
        inputs = self.inputs
        tasks = [[PERSPECTIVE, TEST, name_of(length)] for length in LENGTHS]
        tasks += [[PERSPECTIVE, MIRROR, f"loop_{number}"] for number in range(len(MIRRORS))]
        folders = {"gt_root": inputs.gt_root, "test_root": inputs.test_root, "dino": inputs.dino, "clip": inputs.clip}
        return {
            **weights,
            **{f"frame:{number}": frame for number, frame in enumerate(self.frames)},
            **{name: str(folder) for name, folder in folders.items()},
            **{"sizes": [list(size) for size in SIZES], "every": EVERY, "clip_frames": CLIP_FRAMES, "groups": list(GROUPS)},
            **{"pale_a": self.pale[0], "pale_b": self.pale[1], "short": self.short, "mark": MARK, "tasks": tasks},
            "head": str(inputs.heads / "sa_0_4_vit_l_14_linear.pth"),
            "pairs": [[str(one), str(other)] for one, other in self.pairs],
            "quality": self.quality.kernel,
            "actions": str(self.actions),
        }

    @property
    def actions(self) -> Path:
        return self.inputs.gt_root / PERSPECTIVE / "test" / TEST / name_of(LENGTHS[-1]) / "action.json"

    def official(self, metric: str, clip: Clip, artifacts: tuple[Artifact, ...] = (), **constants: float) -> Scored:
        """The metric's official variant of a small clip, as a run scores it."""
        return self.scored(metric, clip, "official", artifacts, height=SMALL_HEIGHT, width=SMALL_WIDTH, **constants)

    def scored(self, metric: str, clip: Clip, variant: str, artifacts: tuple[Artifact, ...] = (), **constants: float) -> Scored:
        spec, entries = METRICS.get(metric), {artifact.role: artifact.pack() for artifact in artifacts}
        settings = spec.preset(variant, constants)
        context = ScoringClip(clip, variant, constants, pd.DataFrame(), entries.__getitem__, self.tool, settings=settings)
        return score_clip([(spec, context)])[0]


def _options(**values: str) -> BackendOptions:
    return BackendOptions(values=values)


def _probed(clip: Clip) -> Clip:
    return clip.model_copy(update={"n_frames": probe(resolve(clip.video)).n_frames})


def _mean(scored: Scored, phase: str = "") -> float | None:
    """The value of an item; None where it has a reason instead."""
    return next((item.value for item in scored.items if item.phase == phase), None)


def _part(theirs: Released, name: str, place: int) -> float | None:
    """One number of an array that the driver gave; None where the released program gives no score."""
    values = theirs.arrays.get(name)
    return None if values is None or np.isnan(values.astype(float)).all() else float(values.reshape(-1)[place])


def _largest(ours: NDArray[np.float32], theirs: Released, metric: str, case: str, name: str) -> ParityRow:
    """The largest difference of a value of two pictures, which should be 0."""
    found = theirs.arrays.get(name)
    difference = None if found is None else float(np.abs(ours[::EVERY, ::EVERY] - found).max())
    note = theirs.note(name) or f"largest difference of a pixel, of every {EVERY}th row and column"
    return ParityRow(metric, case, difference, None if found is None else 0.0, 2e-4, note)


def _resize_rows(made: Made, theirs: Released) -> Iterator[ParityRow]:
    for number, (frame, (height, width)) in enumerate(zip(made.frames, SIZES, strict=True)):
        yield _largest(preprocess(frame), theirs, "mind.resize", f"{width}x{height} to {WIDTH}x{HEIGHT}", f"resize:{number}")


def _picture_rows(made: Made, theirs: Released) -> Iterator[ParityRow]:
    """Pictures in, numbers out: pale frames as they are, and the first frames of pairs of videos at MIND's size."""
    distance = lambda a, b: float(made.perceptual.distance(a[None], b[None], "alex")[0])  # noqa: E731
    pale = [frame_measures(a, b, distance) for a, b in zip(*made.pale, strict=True)]
    yield from _measure_rows("mind.lcm", "pale frames", _averages(pale), theirs, "pale")
    for number, (one, other) in enumerate(made.pairs):
        case = f"{one.parent.name}/{one.name}, {other.parent.name}/{other.name}, {CLIP_FRAMES} frames"
        left, right = _first_frames(one), _first_frames(other)
        yield _largest(preprocess(left[0]), theirs, "mind.frames", f"{one.parent.name}/{one.name}", f"frames:{number}")
        found = [PairMeasure(distance=distance)(a, b, True) for a, b in zip(left, right, strict=True)]
        yield from _measure_rows("mind.lcm", case, _averages(found), theirs, f"lcm:{number}")
        yield theirs.row(
            "mind.dino", case, _dino(made, left, right), f"dino:{number}", TOKENS, theirs.note(f"dino:{number}") or DINO
        )
        clip = _probed(Clip(benchmark="mind", setting="", model_id="", clip_id=one.name, subset=TEST, video=str(one)))
        visual = made.scored("mind.visual", clip, "corrected", video_max_time=CLIP_FRAMES)
        for place, (part, note) in enumerate({"imaging": MUSIQ, "aesthetic": AESTHETIC}.items()):
            name = f"visual:{number}"
            given = _part(theirs, name, place)
            yield ParityRow(f"mind.visual {part}", case, _mean(visual, part), given, 1e-6, theirs.note(name) or note)


DINO = "DINOv3 with few layers and random weights on both sides"
MUSIQ = "a small random network in place of MUSIQ on both sides"
AESTHETIC = "CLIP with few layers and random weights, and a random linear head, on both sides"


def _first_frames(video: Path) -> list[NDArray[np.uint8]]:
    with open_video(video) as reader:
        return list(reader.read(list(range(CLIP_FRAMES))))


def _averages(rows: list[dict[str, float]]) -> dict[str, float | None]:
    return {name: float(np.mean([row[name] for row in rows])) for name in MEASURES}


def _measure_rows(metric: str, case: str, ours: dict[str, float | None], theirs: Released, name: str) -> Iterator[ParityRow]:
    for place, (measure, tolerance) in enumerate(MEASURES.items()):
        yield ParityRow(f"{metric} {measure}", case, ours[measure], _part(theirs, name, place), tolerance, theirs.note(name))


def _dino(made: Made, left: list[NDArray[np.uint8]], right: list[NDArray[np.uint8]]) -> float:
    spec = METRICS.get("mind.dino")
    clip = next(iter(made.clips.values()))
    context = ScoringClip(clip, "official", {}, pd.DataFrame(), _nothing, made.tool, settings=spec.preset("official", {}))
    errors = FeatureErrors(made.dino, (HEIGHT, WIDTH), shaping_of(context))
    for index, (frame, truth) in enumerate(zip(left, right, strict=True)):
        errors.push(index, frame, truth)
    return float(np.mean(list(errors.finish().values())))


def _nothing(role: str) -> Any:
    raise KeyError(role)


def _loop_rows(made: Made, theirs: Released) -> Iterator[ParityRow]:
    """The released loop over clips of several lengths: how many frames are scored, and their means."""
    for length in LENGTHS:
        name = name_of(length)
        case = f"{length} frames after mark_time"
        lcm, dino = (made.official(metric, made.clips[name]) for metric in ("mind.lcm", "mind.dino"))
        yield theirs.row("mind.lcm", f"{case}: frames scored", float(_scored_frames(lcm)), f"{name}:length")
        ours = {measure: _mean(lcm, measure) for measure in MEASURES}
        yield from _measure_rows("mind.lcm", case, ours, theirs, f"{name}:lcm")
        yield theirs.row("mind.dino", case, _mean(dino), f"{name}:dino", TOKENS)


def _scored_frames(scored: Scored) -> int:
    return len({unit.frame for unit in scored.units})


def _mirror_rows(made: Made, theirs: Released) -> Iterator[ParityRow]:
    for number, count in enumerate(MIRRORS.values()):
        name, case = f"loop_{number}", f"mirror video of {count} frames"
        gsc = made.official("mind.gsc", made.clips[name])
        yield theirs.row("mind.gsc", f"{case}: frames scored", float(_scored_frames(gsc)), f"{name}:length")
        yield from _measure_rows("mind.gsc", case, {measure: _mean(gsc, measure) for measure in MEASURES}, theirs, f"{name}:gsc")


def _action_rows(made: Made, theirs: Released) -> Iterator[ParityRow]:
    """Labels from action.json, and the pose errors of every group from the two images.txt."""
    rows = read_json(made.actions)["data"][MARK : MARK + 97]
    labels = str(theirs.arrays["labels"]).split("|") if "labels" in theirs.arrays else []
    same = sum(released_name(row) == label for row, label in zip(rows, labels, strict=False)) if labels else None
    yield ParityRow("mind.action labels", f"{len(rows)} rows: equal labels", same, len(labels) or None, 0.0, theirs.note("labels"))
    for length in (LENGTHS[0], LENGTHS[-1]):  # fewer than 97 poses, and 97
        clip = made.clips[name_of(length)]
        found = made.scored("mind.action", clip, "official", _pose_artifacts(made, clip, length))
        groups = {item.phase.rpartition(":")[0]: item.n_units for item in found.items}
        given = {name.split(":action:")[1] for name in theirs.arrays if name.startswith(f"{clip.sample_id}:action:")}
        for group in sorted({*groups, *given}):
            key, case = f"{clip.sample_id}:action:{group}", f"{length} frames after mark_time, {group}"
            yield ParityRow("mind.action count", case, groups.get(group), _part(theirs, key, 0), 0.0, theirs.note(key))
            ours = [_item(found, f"{group}:trans"), _item(found, f"{group}:rot")]
            for place, (measure, value) in enumerate(
                zip(GROUPS, [number for pair in ours for number in pair], strict=True), start=1
            ):
                yield ParityRow(f"mind.action {measure}", case, value, _part(theirs, key, place), 1e-5, theirs.note(key))
    few = _or_none(lambda: action_rpe(made.short[:8], made.short[:8], ["forward"] * 7, variant="official")["__overall__"]["count"])
    yield theirs.row("mind.action", "7 steps", few, "short")


def _pose_artifacts(made: Made, clip: Clip, length: int) -> tuple[PoseTrack, TruePoseTrack]:
    """The generated video's poses, and the ground truth's as the reader places them."""
    own = read_poses(made.inputs.generated(length) / "images.txt", "colmap", probe(resolve(clip.video)))
    assert clip.gt_poses and clip.gt_poses_format and clip.ground_truth
    truth = read_poses(resolve(clip.gt_poses), clip.gt_poses_format, probe(resolve(clip.ground_truth)))
    return own, TruePoseTrack.unpack(truth.pack())


def _item(scored: Scored, phase: str) -> tuple[float | None, float | None]:
    """(mean, median) of a group."""
    return next(((item.value, item.raw) for item in scored.items if item.phase == phase), (None, None))


def _or_none(compute: Callable[[], float]) -> float | None:
    try:
        return compute()
    except NotScorable:
        return None
