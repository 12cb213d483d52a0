"""Our official variants beside MemoBench's released programs: the same clips, the same small networks, number beside number.

The released evaluation runs as its users run it, from a dataset folder to its table. Its large networks are replaced on both sides
by small random ones of the same classes (RAFT, DINOv2, Depth-Anything; LPIPS has the embedded weights). Where it only averages what
a network says, a formula of the pixels stands in. Poses of generated clips are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from lookback.backends.base import BackendOptions
from lookback.backends.depth import DepthAnythingV2
from lookback.backends.features.frames import Dinov2Features
from lookback.backends.flow import RaftSmall
from lookback.backends.perceptual.backends import EmbeddedPerceptual
from lookback.benchmarks.memobench.metrics.ors import (
    COVERAGE_RANGES,
    FoundMasks,
    best_mask,
    object_reappearance,
    subject_phrase,
)
from lookback.benchmarks.memobench.metrics.vqa import DIMENSIONS, vqa_pass_rate
from lookback.benchmarks.memobench.parity_clips import MODEL, ComparedClip, ReadClip, compared_clips, read_clip, write_dataset
from lookback.benchmarks.memobench.parity_driver import DRIVER
from lookback.benchmarks.memobench.vqa.bank import read_question_file
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.measures.frames import phase_map
from lookback.parity import ParityRow, Released, run_released
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Item, ScoringClip

FOLDER = "evaluation"
# our metric beside the program's column, and the difference that still counts as equal: the last digit that the program keeps of a
# score of 0-100 (poses are given, so the camera must agree); PSNR and SSIM change by this much between releases of OpenCV
SCORES = {
    "motion_smoothness": ("MotionSmoothness", 0.1),
    "visual_quality": ("VisualQuality", 0.1),
    "object_identity": ("ObjIdentityConsistency", 0.1),
    "geo3d": ("Geo3DConsistency", 0.1),
    "image_reward": ("ImageRewardScore", 0.1),
    "camera_controllability": ("CameraControllability", 1e-9),
}
FIDELITY = {"psnr": ("PSNR", 0.05), "ssim": ("SSIM", 0.002), "lpips": ("LPIPS", 0.002)}
PHASE_COLUMNS = {"V": "O", "D": "H", "R": "R", "": "ALL"}
WEIGHTS = [0.9, 0.2, 0.4]  # of the colours that stand for an aesthetic score
MARKS = [(120, 220, 300, 81), (60, 100, 150, 81), (5, 298, 300, 81), (1, 2, 300, 12), (299, 300, 300, 9), (13, 27, 40, 26)]


def parity(peer: Path, clips: Path | None) -> Iterator[ParityRow]:
    """Every metric that the released programs compute, on made-up clips and on those in `clips`. Both sides run at once."""
    with TemporaryDirectory(prefix="lookback-memobench-") as name, ThreadPoolExecutor(max_workers=1) as beside:
        folder, answered, prompts = Path(name), _answered(clips), _prompts(clips)
        compared = compared_clips(folder / "made", clips)
        write_dataset(folder / "root", compared)
        networks = Networks(folder / "networks")
        given = {
            **_places(folder, peer),
            "answered": answered,
            "phrase prompts": prompts,
            "marks": MARKS,
            "weights": WEIGHTS,
            **MASKS,
        }
        given |= {f"path {clip.folder_name}": clip.path for clip in compared}
        running = beside.submit(run_released, peer, DRIVER, given, folders=(FOLDER,))
        ours = [_scored(read_clip(folder / "root", clip), networks) for clip in compared]
        released = running.result()
    for clip, found in zip(compared, ours, strict=True):
        yield from _clip_rows(clip, found, released)
    yield from _object_rows(released)
    yield from _phrase_rows(released, prompts)
    yield from _mark_rows(released)
    yield from _answer_rows(released, answered)


def _places(folder: Path, peer: Path) -> dict[str, str]:
    """Where the released program finds its data, and where it writes its table."""
    return {
        "root": str(folder / "root"),
        "networks": str(folder / "networks"),
        "synthetic": f"output/{MODEL}/Synthetic",
        "real": f"output/{MODEL}/Real",
        "prompts": "prompts_real.csv",
        "out": str(folder / "table.csv"),
        "vqa": str(peer.resolve() / FOLDER / "vqa"),
    }


class Networks:
    """The same small networks for both programs: written to a folder, and built as our own backends."""

    def __init__(self, folder: Path):
        import torch
        from torchvision.models.optical_flow import raft_small

        folder.mkdir(parents=True)
        self.perceptual = EmbeddedPerceptual(BackendOptions())
        torch.save(self.perceptual.lpips("alex").state_dict(), folder / "lpips.pth")
        torch.manual_seed(0)
        torch.save(raft_small(weights=None).state_dict(), folder / "raft.pth")
        _write_transformers(folder)
        self.flow = RaftSmall(BackendOptions(values={"path": str(folder / "raft.pth")}))
        self.features = Dinov2Features(BackendOptions(values={"path": str(folder / "dinov2")}))
        self.depth = DepthAnythingV2(BackendOptions(values={"path": str(folder / "depth")}))
        self.aesthetic = self.quality = self.image_reward = _Formulas()

    def tool(self, role: str) -> Any:
        return getattr(self, role)


class _Formulas:
    """Formulas of the pixels in place of networks whose values are only averaged."""

    def scores(self, frames: np.ndarray, head: str, antialias: bool) -> np.ndarray:
        colours = (frames.astype(np.float32) / 255).mean(axis=(1, 2))
        return np.asarray((colours / np.linalg.norm(colours, axis=1, keepdims=True)) @ np.array(WEIGHTS, np.float32) * 5)

    def measure(self, frames: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        return {name: (frames.astype(np.float32) / 255).mean(axis=(1, 2, 3)) * 1.2 for name in names}

    def rewards(self, prompt: str, frames: np.ndarray) -> np.ndarray:
        return np.asarray(frames.mean(axis=(1, 2, 3)) / 64 - 2 + len(prompt) / 100)


def _write_transformers(folder: Path) -> None:
    """DINOv2 and Depth-Anything of the published classes, a few hundred numbers each."""
    import torch
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config, Dinov2Model
    from transformers.models.dpt.image_processing_dpt import DPTImageProcessor
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
    }
    Dinov2Model(Dinov2Config(**shape)).save_pretrained(folder / "dinov2")
    stages = [f"stage{number}" for number in range(1, 5)]
    taps: dict[str, Any] = {"out_features": stages, "reshape_hidden_states": False, "apply_layernorm": True}
    backbone = Dinov2Config(**shape, **taps)
    sizes: dict[str, Any] = {
        "neck_hidden_sizes": [8] * 4,
        "fusion_hidden_size": 8,
        "head_hidden_size": 8,
        "reassemble_hidden_size": 32,
    }
    network: Any = DepthAnythingForDepthEstimation
    network(DepthAnythingConfig(backbone_config=backbone, patch_size=14, **sizes)).save_pretrained(folder / "depth")
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    size = {"height": 112, "width": 112}
    processor = DPTImageProcessor(size=size, keep_aspect_ratio=True, ensure_multiple_of=14, image_mean=mean, image_std=std)
    processor.save_pretrained(folder / "depth")


# -- the whole program ------------------------------------------------------------------------------------------------------------
def _scored(ours: ReadClip, networks: Networks) -> dict[str, list[Item]]:
    """The items of every official variant."""
    names = [*SCORES, *FIDELITY]
    specs = [METRICS.get(f"memobench.{name}") for name in names]
    contexts = [
        ScoringClip(ours.clip, "official", {}, pd.DataFrame(), ours.entry, networks.tool, settings=spec.preset("official", {}))
        for spec in specs
    ]
    found = score_clip(list(zip(specs, contexts, strict=True)))
    return {name: result.items for name, result in zip(names, found, strict=True)}


def _clip_rows(clip: ComparedClip, found: dict[str, list[Item]], released: Released) -> Iterator[ParityRow]:
    for name, (column, tolerance) in SCORES.items():
        yield _row(released, name, clip, found[name][0], column, 100.0, tolerance)
    for name, (column, tolerance) in FIDELITY.items():
        for item in found[name]:
            column_of_phase = f"GT_{PHASE_COLUMNS[item.phase]}_{column}"
            yield _row(released, f"{name} {item.phase}".strip(), clip, item, column_of_phase, 1.0, tolerance)


# what serves both sides in place of a model that is not here
STAND_INS = {
    "visual_quality": "a formula of the pixels on both sides",
    "image_reward": "a formula of the pixels on both sides",
    "motion_smoothness": "a small random RAFT on both sides",
    "object_identity": "a small random DINOv2 on both sides",
    "geo3d": "a small random Depth-Anything on both sides",
    "camera_controllability": "given poses on both sides, not MapAnything's",
}


def _row(
    released: Released, metric: str, clip: ComparedClip, item: Item, column: str, factor: float, tolerance: float
) -> ParityRow:
    value = None if item.value is None else factor * item.value
    note = f"ours: {item.detail}" if item.reason == Reason.BACKEND_UNAVAILABLE else STAND_INS.get(metric, "")
    name = f"{clip.folder_name} {column}"
    if name not in released.arrays:
        note = released.notes.get("program ran", "") or note
    return released.row(f"memobench.{metric}", clip.case, value, name, tolerance, note)


# -- the object score: masks in, numbers out --------------------------------------------------------------------------------------
MASKS: dict[str, Any] = {
    # shares of the picture and confidences of the masks that a frame of shade 0, 1, 2, ... has
    "mask shares": [[0.02, 0.6], [0.00045, 0.9], [0.55, 0.65], [], [0.5, 0.3], [0.0005, 0.71]],
    "mask scores": [[0.4, 0.95], [0.99, 0.8], [0.3, 0.61], [], [0.123, 0.7], [0.05, 0.9]],
    "shades": list(range(23)),
    "r_start": 4,
}


def _object_rows(released: Released) -> Iterator[ParityRow]:
    confidences = []
    for shade in MASKS["shades"][MASKS["r_start"] :]:
        row = shade % len(MASKS["mask shares"])
        masks = FoundMasks(*(np.array(MASKS[name][row], float) for name in ("mask shares", "mask scores")))
        best = best_mask(masks, COVERAGE_RANGES)
        confidences += [] if best is None else [float(masks.confidence[best])]
    score = round(object_reappearance(confidences, len(MASKS["shades"]) - MASKS["r_start"]), 4)
    yield released.row("memobench.ors", "given masks on 19 frames", score, "ors", 1e-9, released.notes.get("object score ran", ""))


def _prompts(clips: Path | None) -> list[list[str]]:
    """[prompt, subject] of synthetic clips: the published ones where they lie, and spellings that the rule must survive."""
    made = [
        ["A person sees a red car(subject) parked, then walks on.", "car"],
        ["He SEES another dog (subject) running. He turns.", "dog"],
        ["Nothing is seen here.", "boat"],
        ["sees a man. later sees a cart(subject) rolling", "cart"],
    ]
    table = clips / "synthetic_metadata.csv" if clips else None
    if table is None or not table.is_file():
        return made
    rows = pd.read_csv(table, keep_default_na=False)
    return made + [[str(prompt), str(subject)] for prompt, subject in zip(rows["prompt"], rows["subject"], strict=True)]


def _phrase_rows(released: Released, prompts: Sequence[Sequence[str]]) -> Iterator[ParityRow]:
    """The share of prompts from which both programs take the same words."""
    facts: dict[str, Any] = {"benchmark": "memobench", "setting": "synthetic", "model_id": "m", "clip_id": "c", "video": "v.mp4"}
    ours = [subject_phrase(Clip(**facts, prompt=text, object_name=subject)) for text, subject in prompts]
    theirs = released.arrays.get("phrases")
    same = None if theirs is None else float(np.mean([a == b for a, b in zip(ours, theirs.tolist(), strict=True)]))
    note = released.note("phrases") if theirs is None else ""
    yield ParityRow("memobench.ors", f"words asked for, {len(ours)} prompts (share that is the same)", 1.0, same, 0.0, note)


def _mark_rows(released: Released) -> Iterator[ParityRow]:
    theirs = released.arrays.get("marks")
    note = "" if theirs is not None else released.note("marks")
    for number, (disappear, reappear, true_count, count) in enumerate(MARKS):
        ours = phase_map(disappear, reappear, true_count, count)
        for part, name in enumerate(("d_start", "r_start")):
            value = None if theirs is None else float(theirs[number][part])
            case = f"{name} of ({disappear}, {reappear}) in {true_count}, {count} frames"
            yield ParityRow("memobench phases", case, float(ours[part]), value, 0.0, note)


# -- the scoring of answers -------------------------------------------------------------------------------------------------------
Records = list[dict[str, Any]]


def _answered(clips: Path | None) -> dict[str, list[Records]]:
    """name -> [answers, questions]: banks with and without a stated polarity, published banks; some answers are missing."""
    random = np.random.default_rng(0)
    sides = ["Positive", "Negative"]
    banks: dict[str, Records] = {
        "stated polarity": [
            {"ID": k, "Dimension": DIMENSIONS[k % 4], "Dimension Polarity": sides[int(random.integers(2))], "Question": "?"}
            for k in range(24)
        ],
        "polarity in the name only": [
            {"ID": k, "Dimension": f"{DIMENSIONS[k % 4]} ({sides[k % 2]} Polarity)", "Question": "?"} for k in range(24)
        ],
    }
    folder = clips / "vqa_questions" if clips else None
    for path in sorted(folder.glob("*-questions.csv")) if folder and folder.is_dir() else []:
        banks[path.stem.removesuffix("-questions")] = [question.record() for question in read_question_file(path).final]
    return {name: [_random_answers(bank, random), bank] for name, bank in banks.items()} | odd_answers()


def odd_answers() -> dict[str, list[Records]]:
    """name -> [answers, questions] that a judge or a question maker may write and that only an exact reading counts alike."""

    def asked(number: int, side: str = "Positive", dimension: str = DIMENSIONS[3]) -> dict[str, Any]:
        return {"ID": number, "Dimension": dimension, "Dimension Polarity": side, "Question": "?"}

    def said(number: int | str, word: str, dimension: str = DIMENSIONS[3]) -> dict[str, Any]:
        return {"ID": number, "Dimension": dimension, "Answer": word, "Verdict": "Pass"}

    right, wrong = (f"{DIMENSIONS[3]} ({side} Polarity)" for side in ("Positive", "Negative"))
    return {
        "a full stop behind Yes": [[said(1, "Yes."), said(2, "Yes")], [asked(1), asked(2)]],
        "ids as text": [[said("1", "No"), said("2", "No")], [asked(1, "Negative"), asked(2, "Negative")]],
        "polarity in small letters": [[said(1, "Yes"), said(2, "No")], [asked(1, "positive"), asked(2, "negative")]],
        "an answer to no question": [[said(1, "Yes"), said(7, "No")], [asked(1)]],
        "a question answered twice": [[said(1, "Yes"), said(1, "No"), said(2, "Yes")], [asked(1), asked(2)]],
        "dimensions that state the polarity": [
            [said(1, "Yes", right), said(2, "Yes", wrong)],
            [asked(1, "Positive", right), asked(2, "Negative", wrong)],
        ],
        "another dimension in the answer": [[said(1, "Yes", DIMENSIONS[0]), said(2, "Yes")], [asked(1), asked(2)]],
    }


def _random_answers(bank: Records, random: np.random.Generator) -> Records:
    """Yes or no at random; the last question comes back without an answer, and the one before it not at all."""
    words = random.choice(["Yes", "No", "yes"], len(bank)).tolist()
    rows = [
        {"ID": question["ID"], "Dimension": question["Dimension"], "Answer": word, "Verdict": "Pass"}
        for question, word in zip(bank, words, strict=True)
    ]
    rows[-1]["Answer"] = ""
    return rows[:-2] + rows[-1:]


def _answer_rows(released: Released, answered: dict[str, list[Records]]) -> Iterator[ParityRow]:
    for name, (answers, bank) in answered.items():
        for dimension, rate in vqa_pass_rate(answers, bank, variant="official").items():
            plain = dimension.partition("(")[0].strip().lower().replace(" ", "_")
            metric = f"memobench.vqa_{plain.replace('object_and', 'object')}"
            yield released.row(metric, name, rate, f"vqa {name} {dimension}", 1e-9, released.notes.get("answers ran", ""))
