"""WRBench's released program beside ours: camera paths, CamPrec, CamAlign, visual integrity, probes, the gate and the table.

The network of visual integrity is a small DINOv2 with random weights, which both sides load; the released preparation of frames
comes from the processor that is saved beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from lookback.benchmarks.wrbench.metrics.cam_align import alignment
from lookback.benchmarks.wrbench.metrics.cam_prec import precision_parts
from lookback.benchmarks.wrbench.metrics.probes import probe_score
from lookback.benchmarks.wrbench.metrics.reobservation import support_rate
from lookback.benchmarks.wrbench.metrics.shared import REQUESTS, Request, settings_of
from lookback.benchmarks.wrbench.metrics.visual_integrity import integrity_frames
from lookback.benchmarks.wrbench.parity_drivers import ALIGNMENT, GATE, INTEGRITY, PATHS, PRECISION, PROBES, SAMPLER, TABLE
from lookback.camera.intent import PRESETS, SIGNS, compile, parse, preset
from lookback.camera.poses import Poses, from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.measures.scores import yes_probability
from lookback.parity import ParityRow, Released, Value, run_released

SOURCE = ("src",)
LENGTHS = (81, 49, 2)
PATH_TOLERANCE = 2e-6  # the released paths are float32
SCORE_TOLERANCE = 1e-7  # acos near 0 turns the last digits of a product of matrices into 1e-9
ROUNDED = 1e-6  # the released probes are rounded to six digits
INTEGRITY_TOLERANCE = 1e-4  # ours keeps patches as float16
CLIPS = 2  # clips of the user's folder that are compared


def parity(peer: Path, clips: Path | None) -> Iterator[ParityRow]:
    """Every comparison."""
    yield from path_rows(peer)
    yield from precision_rows(peer)
    yield from alignment_rows(peer)
    yield from sampler_rows(peer)
    yield from probe_rows(peer)
    yield from gate_rows(peer)
    yield from integrity_rows(peer, clips)


def _apart(metric: str, case: str, ours: np.ndarray, released: Released, name: str, tolerance: float) -> ParityRow:
    """A row for two arrays: the largest difference between them, which should be 0."""
    if note := released.note(name):
        return ParityRow(metric, case, None, None, tolerance, note)
    theirs = released.arrays[name]
    apart = float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else float("inf")
    return ParityRow(metric, f"{case}: largest difference", apart, 0.0, tolerance)


def script_grid() -> list[str]:
    """Scripts of one motion, of two at once, of two in turn, and of all six kinds."""
    amounts = dict.fromkeys(("yaw", "pitch", "roll"), 30) | dict.fromkeys(("pan", "dolly", "crane"), 0.7)
    single = [f"{kind}:{way}:{amounts[kind]}" for kind, ways in SIGNS.items() for way in ways]
    pairs = [(a, b) for a, b in product(single, single) if a.split(":")[0] != b.split(":")[0]]
    every = "yaw:left:30+pitch:up:20+roll:right:10+pan:left:0.5+dolly:forward:1+crane:up:0.2@9"
    further = [
        "roll:cw:30@5",
        "dolly:backward:1@5",
        "yaw:left:30@1",
        "yaw:left:-30@5",
        "yaw:left:0@5",
        "static+yaw:left:30@5",
        every,
    ]
    return [
        *(f"{one}@9" for one in single),
        *(f"{a}+{b}@9" for a, b in pairs),
        *(f"{a}@7,{b}@6" for a, b in product(single, single)),
        *further,
        "yaw:left:30+yaw:left:20@5",
        "static@5,yaw:left:30@4",
    ]


def path_rows(peer: Path) -> Iterator[ParityRow]:
    """The released compiler over every preset and a grid of scripts."""
    scripts = script_grid()
    released = run_released(peer, PATHS, {"scripts": scripts, "lengths": LENGTHS}, folders=SOURCE)
    for name, frames in product(PRESETS, LENGTHS):
        ours = compile(preset(name, frames), "released")
        yield _apart("camera path", f"{name} over {frames} frames", ours, released, f"{name}@{frames}", PATH_TOLERANCE)
    ours = np.concatenate([compile(parse(script), "released") for script in scripts])
    yield _apart("camera path", f"{len(scripts)} scripts", ours, released, "scripts", PATH_TOLERANCE)


@dataclass(frozen=True)
class _Motion:
    """A made-up prediction for a request."""

    request: Request
    name: str
    target: Poses
    made: Poses


def motions() -> list[_Motion]:
    """Targets of the five requests with predictions that are right, half, wrong, weak, drifting, noisy, moved or too short."""
    rng = np.random.default_rng(0)
    wave = np.concatenate([np.linspace(0, 1, 12), np.linspace(1, 0, 13)])
    away = from_yaw_pitch_roll(40.0, 10.0, 5.0, (1.0, 2.0, 3.0))
    found = []
    for request in REQUESTS:
        kind, _, way = request.partition("_")
        sign = -1.0 if way == "LR" else 1.0
        for name, share in (("copy", 1.0), ("half", 0.5), ("wrong way", -1.0), ("weak", 0.02), ("still", 0.0)):
            target, made = (_moved(kind, sign, part, wave) for part in (1.0, share))
            found.append(_Motion(request, name, target, made))
        target = _moved(kind, sign, 1.0, wave)
        yaw, pitch, roll = rng.normal(0, 1.5, (3, 25))
        noise = from_yaw_pitch_roll(yaw, pitch, roll, rng.normal(0, 0.02, (25, 3)))
        tiny = target.copy()
        tiny[1:, 1, 3] += 1e-8
        found += [
            _Motion(request, "noisy", target, target @ noise),
            _Motion(request, "elsewhere", away @ target, target @ noise),
            _Motion(request, "tiny drift", target, tiny),
            _Motion(request, "too short", target, target[:20]),
        ]
    return found


def _moved(kind: str, sign: float, share: float, wave: np.ndarray) -> Poses:
    position = np.zeros((len(wave), 3))
    if kind == "pan":
        position[:, 0] = sign * share * 0.5 * wave
    if kind == "static":
        position[:, 2] = 0.06 * (1 - share) * wave
    yaw = {"yaw": sign * 60.0 * share, "pan": 0.0, "static": 3.0 * (1 - share)}[kind]
    return from_yaw_pitch_roll(yaw * wave, 0.0, 0.0, position)


def precision_rows(peer: Path) -> Iterator[ParityRow]:
    """CamPrec with the released constants and gates."""
    context, cases = settings_of("cam_prec", "official"), motions()
    settings = {
        "rot_scale_deg": context.number("rotation_scale_deg"),
        "trans_scale": context.number("translation_scale"),
        "yaw_weak_threshold_deg": context.number("weak_yaw_deg"),
        "pan_weak_threshold": context.number("weak_pan"),
        "static_rot_threshold_deg": context.number("still_rotation_deg"),
        "static_trans_threshold": context.number("still_translation"),
    }
    released = run_released(
        peer, PRECISION, {"requests": [case.request for case in cases], **settings, **_poses(cases)}, folders=SOURCE
    )
    for place, case in enumerate(cases):
        ours = _or_none(lambda case=case: precision_parts(case.target, case.made, case.request, context)["score"])
        yield released.row("cam_prec", f"{case.request}, {case.name}", ours, f"score{place}", SCORE_TOLERANCE)


def _poses(cases: Sequence[_Motion]) -> dict[str, np.ndarray]:
    return {f"{side}{place}": getattr(case, side) for place, case in enumerate(cases) for side in ("target", "made")}


def _or_none(score: Any) -> float | None:
    """Our score; NaN where we refuse the input."""
    try:
        return float(score())
    except NotScorable:
        return float("nan")


def alignment_rows(peer: Path) -> Iterator[ParityRow]:
    """CamAlign, its status, and the means of the released table, which takes only rows with the status `ok`."""
    context = settings_of("cam_align", "official")
    cases = [case for case in motions() if case.name != "too short"]
    released = run_released(peer, ALIGNMENT, {"requests": [case.request for case in cases], **_poses(cases)}, folders=SOURCE)
    scored: list[tuple[str, float, str]] = []
    for place, case in enumerate(cases):
        ours: float | None = float("nan")
        if not case.request.startswith("pan"):
            ours, status = alignment(case.made, case.request, context)
            scored.append((case.request, ours, status))
        yield released.row("cam_align", f"{case.request}, {case.name}", ours, f"score{place}", SCORE_TOLERANCE)
    yield from _table_rows(peer, scored)


def _table_rows(peer: Path, scored: Sequence[tuple[str, float, str]]) -> Iterator[ParityRow]:
    """One prompt-only model through the released table: CamAlign over `ok` rows, means of what is there, support over all rows."""
    rng = np.random.default_rng(1)
    probes = rng.uniform(size=(len(scored), 4)).round(6)
    gates = rng.uniform(size=len(scored)) < 0.5
    rows: list[Mapping[str, Value]] = [
        {"request": request, "score": score, "status": status, "probes": list(map(float, values)), "gate": bool(gate)}
        for (request, score, status), values, gate in zip(scored, probes, gates, strict=True)
    ]
    released = run_released(peer, TABLE, {"rows": rows}, folders=SOURCE)
    returned = np.where(gates[:, None], probes[:, 2:], np.nan)
    ours = {
        "D1_camalign": float(np.mean([score for _, score, status in scored if status == "ok"])),
        "D3_spatial_in": float(probes[:, 0].mean()),
        "D4_state_in": float(probes[:, 1].mean()),
        "D5_spatial_oov": float(np.nanmean(returned[:, 0])),
        "D6_state_oov": float(np.nanmean(returned[:, 1])),
        "reobservation_support": support_rate(map(bool, gates)),
    }
    for name, value in ours.items():
        yield released.row("table", f"{name} of a prompt-only model, {len(rows)} clips", value, name, SCORE_TOLERANCE)


def sampler_rows(peer: Path) -> Iterator[ParityRow]:
    """Which frames visual integrity looks at."""
    context = settings_of("visual_integrity", "official")
    cases = [(81, 16.0), (129, 24.0), (300, 30.0), (20, 30.0), (5, 8.0), (3, 24.0), (1000, 60.0), (97, 2.0), (50, None)]
    limits = {"fps": context.number("integrity_fps")} | {
        "fewest": int(context.number("integrity_min_frames")),
        "most": int(context.number("integrity_max_frames")),
    }
    released = run_released(peer, SAMPLER, {"cases": cases, **limits}, folders=SOURCE)
    for place, (frames, fps) in enumerate(cases):
        ours = integrity_frames(frames, fps, context).astype(float)
        case = f"{frames} frames at {'an unknown rate' if fps is None else f'{fps:g} fps'}"
        yield _apart("frames of visual integrity", case, ours, released, f"frames{place}", 0.0)


def probe_rows(peer: Path) -> Iterator[ParityRow]:
    """p_yes of token scores, and the dimensions of probe answers, one of them missing."""
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 4, (6, 8))
    answers = rng.uniform(size=(3, 10)).round(6)
    released = run_released(peer, PROBES, {"logits": logits, "answers": answers}, folders=SOURCE)
    for place, row in enumerate(logits):
        yield released.row("p_yes", f"token scores {place + 1}", yes_probability(row[:4], row[4:]), f"p{place}", ROUNDED)
    spans = {"D3": (0, 3), "D4": (3, 6), "D5": (6, 8), "D6": (8, 10)}
    for place, row in enumerate(answers):
        values = np.where((np.arange(10) == 4) & (place == 2), np.nan, row)  # the third clip lacks a probe of D4
        for name, (start, stop) in spans.items():
            ours = _or_none(lambda part=values[start:stop]: probe_score(part[:-1], part[-1:]))
            yield released.row("probes", f"{name} of clip {place + 1}", ours, f"{name}_{place}", ROUNDED)


def gate_rows(peer: Path) -> Iterator[ParityRow]:
    """The gate of every clip of up to four seconds, with and without a second question and a planned gap."""
    cases = [
        (first, second, flags, planned)
        for first in map("".join, product("yn", repeat=4))
        for second in ("", "ynyy", "yyyy")
        for flags in ((True, True), (True, False), (False, False))
        for planned in (True, False)
        if second or flags == (True, True)
    ]
    released = run_released(peer, GATE, {"cases": cases}, folders=SOURCE)
    ours = np.array([_gates(*case) for case in cases], dtype=float)
    for column, name in enumerate(("reobserved_spatial", "reobserved_state", "support")):
        yield _apart("gate", f"{name}, {len(cases)} clips", ours[:, column], released, name, 0.0)


def _gates(first: str, second: str, flags: tuple[bool, bool], planned: bool) -> tuple[bool, bool, bool]:
    """Our gates of one clip: both re-observed dimensions, and support."""
    from lookback.benchmarks.wrbench import judging
    from lookback.benchmarks.wrbench.metrics.reobservation import score as support_of
    from lookback.judging.question import SECOND
    from lookback.judging.verdicts import JudgedClip, Verdict

    def verdicts(seconds: str, further: Mapping[str, bool]) -> dict[str, Verdict]:
        said = {f"{SECOND}{place:03d}": letter == "y" for place, letter in enumerate(seconds)} | dict(further)
        return {name: Verdict("yes" if flag else "no", float(flag), None, "judge", "") for name, flag in said.items()}

    supported = judging.support({name: (verdict.answer, None) for name, verdict in verdicts(first, {}).items()})[0]
    tasks = {judging.GATE: verdicts(first, {})}
    if second and not supported:  # only clips without a return are asked again
        tasks[judging.RESCUE] = verdicts(second, dict(zip(judging.FLAGS, flags, strict=True)))
    extras = {"oov_gap": "yaw_LR" if planned else "none"}
    judged = JudgedClip(_clip("video.mp4", extras=extras), "official", tasks)
    spatial, state = (judging.reobservable(judged, name, settings_of(name, "official"))[0] for name in judging.REOBSERVED)
    return spatial, state, bool(support_of(judged).value)


def integrity_rows(peer: Path, clips: Path | None) -> Iterator[ParityRow]:
    """Visual integrity of a made-up clip and of the user's first clips, with a small random DINOv2."""
    with TemporaryDirectory(prefix="lookback-parity-") as name:
        folder = Path(name)
        try:
            random_dinov2(folder / "dinov2", hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
        except ImportError as error:
            yield ParityRow("visual_integrity", "a small random DINOv2", None, None, note=f"cannot be built here: {error}")
            return
        videos = [_made_up_clip(folder / "made_up.mp4"), *(sorted(clips.rglob("*.mp4"))[:CLIPS] if clips else [])]
        inputs = {"model": str(folder / "dinov2"), "videos": [str(video.resolve()) for video in videos]}
        released = run_released(peer, INTEGRITY, inputs, folders=SOURCE)
        integrity = our_integrity(folder / "dinov2")
        for place, video in enumerate(videos):
            ours = integrity(video)
            note = released.note(f"score{place}") or "a small random DINOv2 on both sides"
            yield released.row("visual_integrity", video.name, ours, f"score{place}", INTEGRITY_TOLERANCE, note)


def random_dinov2(folder: Path, **sizes: Any) -> None:
    """A DINOv2 of random weights (sizes: by default the base model's) with the processor of the published checkpoints."""
    import torch
    from transformers import BitImageProcessor, Dinov2Config, Dinov2Model

    with torch.random.fork_rng():
        torch.manual_seed(0)
        Dinov2Model(Dinov2Config(image_size=224, patch_size=14, **sizes)).save_pretrained(folder)
    BitImageProcessor(
        size={"shortest_edge": 256},
        crop_size={"height": 224, "width": 224},
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    ).save_pretrained(folder)


def _made_up_clip(path: Path) -> Path:
    """Two seconds of a picture that moves sideways and changes its colour halfway."""
    from lookback.media.encode import encode

    rng = np.random.default_rng(3)
    small = rng.uniform(0, 1, (8, 24, 3))
    picture = np.kron(small, np.ones((18, 18, 1)))
    frames = np.stack([picture[:, 4 * index : 4 * index + 256] for index in range(32)])
    frames[16:, :, :, 0] *= 0.6
    encode(path, (255 * frames).astype(np.uint8), 16.0)
    return path


def our_integrity(model: Path) -> Callable[[Path], float]:
    """Our official visual integrity of a video, with the DINOv2 of this folder."""
    from lookback.backends.base import BackendOptions
    from lookback.backends.features.frames import Dinov2Features
    from lookback.media import probe
    from lookback.registry import METRICS
    from lookback.scoring.clip import score_clip
    from lookback.scoring.contract import ScoringClip

    spec, encoder = METRICS.get("wrbench.visual_integrity"), Dinov2Features(BackendOptions(values={"path": str(model)}))
    settings = spec.preset("official", {})

    def integrity(video: Path) -> float:
        info = probe(video)
        clip = _clip(str(video), n_frames=info.n_frames, fps=info.fps, width=info.width, height=info.height)
        context = ScoringClip(clip, "official", {}, pd.DataFrame(), _nothing, lambda role: encoder, settings=settings)
        (item,) = score_clip([(spec, context)])[0].items
        return float("nan") if item.value is None else item.value

    return integrity


def _clip(video: str, **facts: Any) -> Clip:
    return Clip(benchmark="wrbench", setting="parity", model_id="model", clip_id="clip", scene="s", video=video, **facts)


def _nothing(role: str) -> Any:
    raise NotScorable(Reason.MISSING_INPUT, f"'{role}' is not extracted here")
