"""MIND: long context memory against the ground truth, mirrored paths, and action control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lookback.benchmark import Benchmark, Export, SelfCheck
from lookback.registry import benchmark

if TYPE_CHECKING:
    from lookback.conditions.plans import Scene
    from lookback.conditions.records import RecordFiles
    from lookback.layouts.writing import Writer
    from lookback.parity import ParityRow
    from lookback.published.printed import PrintedPaper
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable


@benchmark
class Mind(Benchmark):
    """First- and third-person videos of three tests."""

    name = "mind"
    title = "MIND"
    one_task_list = True
    length_field = "total_time"
    repeats_truth = True
    parts_are_measures = True
    not_reproduced = (
        "MIND: a task whose action.json does not load repeats the row before it (here: a reason)",
        "MIND: PSNR of identical frames is Infinity in the JSON (here: null and a note; the official mean is undefined)",
        "MIND: the pose cache is keyed on the path, so that a replaced video keeps its old poses (here: on the content)",
        "MIND: an axis that is neither 0, 1 nor 2 is read as rest, and missing or misnumbered rows are not noticed (here: no "
        "action accuracy for that task, and a finding; all other scores are there)",
    )
    profiled = ("mind-mem_test", "mind-mirror_test")

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback.benchmarks.mind.report import paper_tables

        return paper_tables(data)

    def exports(self) -> dict[str, Export]:
        from lookback.benchmarks.mind.export import export_mind

        return {"mind": export_mind}

    def records(self) -> RecordFiles:
        from lookback.benchmarks.mind import records

        return records

    def write_scene(self, scene: Scene, video: Path | None, out: Path) -> str:
        from lookback.benchmarks.mind.plan import write_scene

        return write_scene(scene, video, out)

    def writer(self) -> Writer:
        from lookback.benchmarks.mind import writer

        return writer

    def selfcheck(self) -> SelfCheck:
        from lookback.benchmarks.mind.selfcheck import PLACES

        return SelfCheck(PLACES)

    def parity(self, peer: Path, clips: Path | None) -> Iterator[ParityRow]:
        from lookback.benchmarks.mind.parity import parity

        return parity(peer, clips)

    def printed(self) -> PrintedPaper:
        from lookback.benchmarks.mind.printed import PAPER

        return PAPER
