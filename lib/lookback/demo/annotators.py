"""Simulated annotators who vote from the truth with known noise, bias and tie behaviour; every vote is labelled simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from lookback.camera.poses import rotation_angle_deg
from lookback.clips import Clip
from lookback.demo.effects import quality
from lookback.paths import resolve
from lookback.registry import BENCHMARKS
from lookback.tables import check_table

SECONDS_PER_VOTE = 9.0
VIEW_LEFT_DEG, VIEW_BACK_DEG = 30.0, 15.0  # the camera turned or moved away at least this far, and came back at least this close
MOVE_LEFT, MOVE_BACK = 0.5, 0.25


@dataclass(frozen=True)
class Annotator:
    """Prefers A when quality_a - quality_b + side_bias + noise exceeds the tie band; flips yes/no answers at `lapse`."""

    name: str
    noise: float = 0.12  # standard deviation, in units of quality
    side_bias: float = 0.0  # added in favour of A
    tie_band: float = 0.08  # smaller differences are called equal
    lapse: float = 0.03


ANNOTATORS: tuple[Annotator, ...] = (
    Annotator("sim-annotator-1", noise=0.08, tie_band=0.06, lapse=0.02),
    Annotator("sim-annotator-2", noise=0.12, side_bias=0.02),
    Annotator("sim-annotator-3", noise=0.12, side_bias=-0.02, tie_band=0.12),
    Annotator("sim-annotator-4", noise=0.18, tie_band=0.05, lapse=0.05),
    Annotator("sim-annotator-5", noise=0.10, tie_band=0.15, lapse=0.04),
)


def simulate_votes(
    truth: pd.DataFrame, seed: int, annotators: Sequence[Annotator] = ANNOTATORS, votes_per_item: int = 3
) -> pd.DataFrame:
    """Simulated votes for a truth table: each benchmark's questions about single clips and pairs."""
    rows: list[dict[str, object]] = []
    clock = dict.fromkeys((annotator.name for annotator in annotators), 0)
    for question in _questions(truth):
        rng = np.random.default_rng([seed, int.from_bytes(hashlib.sha256(repr(question.key).encode()).digest()[:8], "big")])
        for index in sorted(rng.choice(len(annotators), size=min(votes_per_item, len(annotators)), replace=False)):
            voter = annotators[index]
            label = question.answer(voter, rng)
            clock[voter.name] += 1
            rows.append(
                {**question.columns(), "annotator": voter.name, "label": label, "time": SECONDS_PER_VOTE * clock[voter.name]}
            )
    return check_table("ratings", pd.DataFrame(rows).assign(simulated=True))


@dataclass(frozen=True)
class _Question:
    """One question."""

    task: str
    benchmark: str
    setting: str
    dimension: str
    clip_a: str
    model_a: str
    clip_b: str
    model_b: str
    scene: str
    value: float  # pairwise: quality_a - quality_b; else 1 for yes, 0 for no

    @property
    def key(self) -> tuple[str, ...]:
        return (self.task, self.benchmark, self.setting, self.dimension, self.clip_a, self.model_a, self.clip_b, self.model_b)

    def columns(self) -> dict[str, str]:
        names = ("task", "benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b", "scene")
        return {name: getattr(self, name) for name in names}

    def answer(self, voter: Annotator, rng: np.random.Generator) -> str:
        if self.task != "pairwise":
            return "yes" if (self.value > 0.5) != (rng.random() < voter.lapse) else "no"
        felt = self.value + voter.side_bias + voter.noise * rng.standard_normal()
        return "0" if abs(felt) <= voter.tie_band else ("1" if felt > 0 else "-1")


def _questions(truth: pd.DataFrame) -> Iterator[_Question]:
    for (benchmark, setting, clip_id), group in truth.groupby(["benchmark", "setting", "clip_id"], sort=True):
        clips = group.sort_values("model_id").to_dict("records")
        asked = str(clip_id).split(":")[0]  # where questions differ by subset, their ids begin with the subset
        declared = BENCHMARKS.get(str(benchmark))
        pairs = declared.pair_questions(str(setting), asked)
        for clip in clips:
            shown = Clip(benchmark=benchmark, setting=setting, model_id=clip["model_id"], clip_id=clip_id, subset=asked, video="")
            if (question := declared.yes_no_question(shown)) is not None:
                yes = float(triggered(clip, asked))
                place = (clip_id, clip["model_id"], "", "", clip["scene"])
                yield _Question("trigger", str(benchmark), str(setting), question.dimension, *place, yes)
        for first, second in combinations(clips, 2):
            for dimension in pairs.questions:
                shared = (benchmark, setting, dimension, clip_id, first["model_id"], clip_id, second["model_id"], first["scene"])
                if dimension in pairs.judgeable_first:
                    judgeable = bool(first["returns"] and second["returns"])
                    yield _Question("judgeability", *shared, float(judgeable))
                    if not judgeable:
                        continue
                values = [quality(dimension, clip["failure"], clip["severity"]) for clip in (first, second)]
                yield _Question("pairwise", *shared, values[0] - values[1])


def triggered(clip: dict[str, object], subset: str) -> bool:
    """Whether the memory challenge happens: the subject (for an environment: the camera) leaves and returns."""
    if subset != "environment":
        return bool(clip["returns"])
    with np.load(resolve(str(clip["record"])), allow_pickle=False) as record:
        c2w = record["c2w"]
    turned = rotation_angle_deg(c2w[:1], c2w)
    moved = np.linalg.norm(c2w[:, :3, 3] - c2w[0, :3, 3], axis=1)
    left = turned.max() > VIEW_LEFT_DEG or moved.max() > MOVE_LEFT
    return bool(left and turned[-1] < VIEW_BACK_DEG and moved[-1] < MOVE_BACK)
