"""A plain folder of videos, without paper, request or ground truth: measures whose inputs are made from the video itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmark import Benchmark, SelfCheck
from lookback.registry import benchmark

if TYPE_CHECKING:
    import pandas as pd

    from lookback.benchmark import ClipCard
    from lookback.registry import MetricSpec
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable

# measures of a paper whose own definition fits any video; in their default variant
BORROWED = (
    "wrbench.visual_integrity",
    "mbencha.environment.rendering_style",
    "mbencha.entity.human_identity_consistency",
    "mbencha.entity.object_texture_consistency",
)


@benchmark
class Folder(Benchmark):
    """Clips of no benchmark."""

    name = "folder"
    title = "Your clips"

    def takes(self, spec: MetricSpec, setting: str, subset: str) -> bool:
        """The measures of any benchmark that need nothing but the video and belong to no part of it, and the borrowed ones."""
        plain = set(spec.needs) <= {"video"} and not (spec.settings or spec.subsets or spec.judge_tasks)
        return plain or spec.name in BORROWED

    def selfcheck(self) -> SelfCheck:
        return SelfCheck((("", ""),))

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback.benchmarks.folder.report import paper_tables

        return paper_tables(data)

    def clip_cards(self, data: PaperData) -> list[ClipCard]:
        from lookback.benchmarks.folder.report import clip_cards

        return clip_cards(data)

    def findings(self, items: pd.DataFrame) -> list[tuple[str, str]]:
        from lookback.benchmarks.folder.report import findings

        return findings(items)
