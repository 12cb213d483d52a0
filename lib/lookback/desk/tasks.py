"""Which questions are asked about which clips, and in which order an annotator sees them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lookback.clips import Clip
from lookback.errors import UsageError
from lookback.registry import BENCHMARKS

JUDGEABILITY = "Does the subject leave the view and come back clearly enough to be judged, in both videos?"


@dataclass(frozen=True)
class DeskTask:
    """One question: about one clip (trigger), or about the clips of two models for the same task (pairwise)."""

    task: str  # "trigger" or "pairwise"
    benchmark: str
    setting: str
    dimension: str
    scene: str
    question: str
    clip_a: str
    model_a: str
    clip_b: str = ""
    model_b: str = ""

    @property
    def id(self) -> str:
        parts = (self.task, self.benchmark, self.setting, self.dimension, self.clip_a, self.model_a, self.clip_b, self.model_b)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]

    @property
    def asks_judgeability(self) -> bool:
        return (
            self.task == "pairwise"
            and self.dimension in BENCHMARKS.get(self.benchmark).pair_questions(self.setting, "").judgeable_first
        )


def build_tasks(
    clips: Sequence[Clip], kinds: Sequence[str] = ("trigger", "pairwise"), limit: int | None = None, seed: int = 0
) -> list[DeskTask]:
    """All questions about these clips. With `limit`, a seeded sample of them, the same for every annotator."""
    tasks: list[DeskTask] = []
    if "trigger" in kinds:
        tasks += [task for clip in clips if (task := _trigger(clip)) is not None]
    if "pairwise" in kinds:
        tasks += _pairs(clips)
    if not tasks:
        raise UsageError(
            "There is nothing to ask about these clips: trigger questions need clips of a benchmark that asks them, preferences "
            "need clips of two models for the same task of a benchmark that compares models"
        )
    if limit is not None and limit < len(tasks):
        chosen = np.random.default_rng(seed).choice(len(tasks), size=limit, replace=False)
        tasks = [tasks[index] for index in sorted(chosen)]
    return tasks


def order_for(annotator: str, tasks: Sequence[DeskTask], seed: int) -> list[tuple[DeskTask, bool]]:
    """The tasks in this annotator's order, each with `swapped` (sides exchanged).

    The name is part of the seed, so that the order is the same after a restart.
    """
    digest = hashlib.sha256(f"{seed}\0{annotator}".encode()).digest()
    generator = np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
    order = generator.permutation(len(tasks))
    swapped = generator.random(len(tasks)) < 0.5
    return [(tasks[index], bool(swapped[index]) and tasks[index].task == "pairwise") for index in order]


def _trigger(clip: Clip) -> DeskTask | None:
    asked = BENCHMARKS.get(clip.benchmark).yes_no_question(clip)
    if asked is None:
        return None
    return DeskTask("trigger", clip.benchmark, clip.setting, asked.dimension, clip.scene, asked.text, clip.clip_id, clip.model_id)


def _pairs(clips: Sequence[Clip]) -> list[DeskTask]:
    by_task: dict[tuple[str, str, str], list[Clip]] = {}
    for clip in clips:
        by_task.setdefault((clip.benchmark, clip.setting, clip.clip_id), []).append(clip)
    tasks = []
    for (benchmark, setting, clip_id), group in sorted(by_task.items()):
        for first, second in combinations(sorted(group, key=lambda clip: clip.model_id), 2):
            for dimension, question in BENCHMARKS.get(benchmark).pair_questions(setting, first.subset).questions.items():
                tasks.append(
                    DeskTask(
                        "pairwise",
                        benchmark,
                        setting,
                        dimension,
                        first.scene,
                        question,
                        clip_id,
                        first.model_id,
                        clip_id,
                        second.model_id,
                    )
                )
    return tasks
