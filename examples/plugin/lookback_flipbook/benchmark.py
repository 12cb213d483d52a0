"""Flipbook: what the rest of lookback asks about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.benchmark import Benchmark, YesNoQuestion
from lookback.clips import Clip
from lookback.registry import benchmark

if TYPE_CHECKING:
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable


@benchmark
class Flipbook(Benchmark):
    """Videos that should leave their first picture and end with it."""

    name = "flipbook"
    title = "Flipbook"

    def yes_no_question(self, clip: Clip) -> YesNoQuestion:
        """People are asked what the judge is asked."""
        from lookback_flipbook.judging import QUESTION, WORDS

        return YesNoQuestion(QUESTION, WORDS)

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback_flipbook.report import paper_tables

        return paper_tables(data)
