"""A plain folder of videos, without paper, request or ground truth. Only metrics that need nothing but the video apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmark import Benchmark
from lookback.registry import benchmark

if TYPE_CHECKING:
    from lookback.registry import MetricSpec


@benchmark
class Folder(Benchmark):
    """Clips of no benchmark."""

    name = "folder"
    title = "Folder"

    def takes(self, spec: MetricSpec, setting: str, subset: str) -> bool:
        """The metrics of any benchmark that need nothing but the video and belong to no part of it."""
        return set(spec.needs) <= {"video"} and not (spec.settings or spec.subsets or spec.judge_tasks)
