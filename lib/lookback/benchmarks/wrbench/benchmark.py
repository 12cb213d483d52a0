"""WRBench: camera, visual integrity, and the visible and re-observed state of an event, where the return can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookback.benchmark import Benchmark, ContentTable, Export, PairQuestions, SelfCheck, Story
from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.registry import benchmark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lookback.agreement.analyse import Analysis
    from lookback.conditions.records import RecordFiles
    from lookback.desk.forms import Form
    from lookback.judging.run import Session
    from lookback.layouts.writing import Writer
    from lookback.parity import ParityRow
    from lookback.published.printed import PrintedPaper
    from lookback.report.figures.drawn import DrawnFigure
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable

# What WRBench asks its annotators: one claim per axis (section 3.5).
PREFERENCE = {
    "camera": "In which video does the camera move more as requested?",
    "visual_integrity": "Which video is the more intact picture, without melting, flicker or artefacts?",
    "visible_spatial": "While the subject is in view: in which video is it more in the right place?",
    "visible_state": "While the subject is in view: in which video is it more in the right state?",
    "reobserved_spatial": "After the subject came back: in which video is it more in the right place?",
    "reobserved_state": "After the subject came back: in which video is it more in the right state?",
}
JUDGEABLE_FIRST = frozenset({"reobserved_spatial", "reobserved_state"})


@benchmark
class WRBench(Benchmark):
    """Videos of events with a camera request. The manifest names the setting."""

    name = "wrbench"
    title = "WRBench"
    profiled = ("wrbench-2",)
    camera_rule = "released"
    not_reproduced = (
        "WRBench: the main table leaves out the model hunyuanworld_voyager, and the reported CamPrec the static clips of "
        "hunyuan_game_craft; here every model and every clip of a run is in the table.",
        "WRBench: CamPrec of a video of one frame has a score; here a camera path needs two frames.",
        "WRBench: the program adds up five spellings of Yes and of No; the text has six, with ' YES' and ' NO', and so has every "
        "variant here.",
        "WRBench: the example configuration gives the re-observation gate 48 new tokens, which cuts off its JSON; the program's "
        "own value is 768. Here `judging.max_tokens` (4096) holds for every question, and an answer that is cut off says so.",
    )

    def contents(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[ContentTable]:
        from lookback.benchmarks.wrbench.contents import event_factor_coverage

        labels = ["event_level", "spatial", "state", "event_action", "camera"]
        return [ContentTable("wrbench-events", "WRBench: clips by event factors", event_factor_coverage(clips), labels)]

    def content_figures(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[tuple[Figure, str]]:
        from lookback.benchmarks.wrbench.contents import event_coverage_figure

        return [event_coverage_figure(clips)]

    def prompt_packs(self) -> dict[str, tuple[str, ...]]:
        return {
            "wrbench_probes": ("wrbench_probe.v1", "wrbench_probes.v1"),
            "wrbench_judgeability": ("wrbench_judgeability.v1", "wrbench_rescue.v1"),
        }

    def read_prompt_pack(self, pack: str, path: Path) -> Mapping[str, object] | None:
        from lookback.benchmarks.wrbench.prompt_pack import read_released_pack

        return read_released_pack(pack, path)

    def ask_later(self, session: Session, clips: Sequence[Clip], tasks: frozenset[str]) -> None:
        """The gate once more where the run names that task, then the probes of re-observed dimensions whose gate is open."""
        from lookback.benchmarks.wrbench.judging import RESCUE, ask_again, ask_reobserved

        if RESCUE in session.params.tasks:
            ask_again(session, clips)
        if "probe" in tasks:
            ask_reobserved(session, clips)

    def polarity(self, task: str, question_id: str) -> str:
        from lookback.benchmarks.wrbench.judging import probes

        if task not in ("probe", "judgeability"):
            return ""
        return next((probe.polarity for probe in probes() if probe.id == question_id), "")

    def decisions(self, task: str, answers: Mapping[str, str]) -> dict[str, bool]:
        from lookback.benchmarks.wrbench.judging import GATE, support

        if task != GATE:
            return {}
        try:
            return {"support": support({name: (answer, None) for name, answer in answers.items()})[0]}
        except NotScorable:
            return {}

    def question_prefixes(self, metric: str) -> tuple[str, ...]:
        from lookback.judging.question import SECOND

        prefixes = {
            "wrbench.visible_spatial": ("D3_",),
            "wrbench.visible_state": ("D4_",),
            "wrbench.reobserved_spatial": ("D5_", SECOND),
            "wrbench.reobserved_state": ("D6_", SECOND),
            "wrbench.support": (SECOND,),
        }
        return prefixes.get(metric, ("",))

    def pair_questions(self, setting: str, subset: str) -> PairQuestions:
        return PairQuestions(PREFERENCE, JUDGEABLE_FIRST)

    def study_forms(self) -> Sequence[Form]:
        from lookback.benchmarks.wrbench.forms import forms

        return forms()

    def agreement_tables(self, analysis: Analysis) -> None:
        from lookback.benchmarks.wrbench.agreement import add_tables

        add_tables(analysis)

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback.benchmarks.wrbench.frontiers import reading_tables
        from lookback.benchmarks.wrbench.report import paper_tables

        further = reading_tables(data.items, data.condition_types(self.name), data.params.report.series)
        return [*paper_tables(data), *further]

    def paper_figures(self, data: PaperData) -> list[DrawnFigure | None]:
        from lookback.benchmarks.wrbench.figures import camera_access, series_diagnostics
        from lookback.benchmarks.wrbench.frontiers import frontier_figure

        frontier = frontier_figure(data.items, data.condition_types(self.name))
        return [frontier, camera_access(data.items), series_diagnostics(data.items, data.params.report.series)]

    def findings(self, items: pd.DataFrame) -> list[tuple[str, str]]:
        from lookback.benchmarks.wrbench.report import returns_finding

        return returns_finding(items)

    def stories(self, tables: Mapping[str, pd.DataFrame]) -> list[Story]:
        from lookback.benchmarks.wrbench.stories import tell

        return tell(tables)

    def exports(self) -> dict[str, Export]:
        from lookback.benchmarks.wrbench.preferences import export_preferences
        from lookback.exports import main_table_export

        return {"wrbench": main_table_export("wrbench-2", self.title), "preferences": export_preferences}

    def records(self) -> RecordFiles:
        from lookback.benchmarks.wrbench import records

        return records

    def writer(self) -> Writer:
        from lookback.benchmarks.wrbench import writer

        return writer

    def selfcheck(self) -> SelfCheck:
        from lookback.benchmarks.wrbench.selfcheck import PLACES, answers

        return SelfCheck(PLACES, still=PLACES, answers=answers)

    def parity(self, peer: Path, clips: Path | None) -> Iterator[ParityRow]:
        from lookback.benchmarks.wrbench.parity import parity

        return parity(peer, clips)

    def printed(self) -> PrintedPaper:
        from lookback.benchmarks.wrbench.printed import PAPER

        return PAPER
