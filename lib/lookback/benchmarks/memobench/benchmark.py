"""MemoBench: the visible, disappear and reappear phases of a clip against its ground truth, and questions about both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookback.benchmark import Benchmark, ContentTable, Export, SelfCheck
from lookback.clips import Clip
from lookback.registry import benchmark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lookback.agreement.analyse import Analysis
    from lookback.conditions.plans import Scene
    from lookback.conditions.records import RecordFiles
    from lookback.desk.forms import Form
    from lookback.judging.run import Session
    from lookback.layouts.writing import Writer
    from lookback.params import RunParams
    from lookback.parity import ParityRow
    from lookback.published.printed import PrintedPaper
    from lookback.report.figures.drawn import DrawnFigure
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable


@benchmark
class MemoBench(Benchmark):
    """Synthetic and real clips of one task list."""

    name = "memobench"
    title = "MemoBench"
    one_task_list = True
    repeats_truth = True
    every_task_has_event = True  # each prompt tells what the subject does
    profiled = ("memobench-2", "memobench-3")
    not_reproduced = (
        "MemoBench: where CLIP-IQA+ cannot be loaded, the program silently takes MUSIQ / 100, or a formula of the Laplacian; here "
        "the score is missing, with its reason.",
        "MemoBench: a VQA call that fails once, or whose answer cannot be read, leaves the clip out without a trace.",
        "MemoBench: a VQA answer 'Yes.' with a full stop, or one under the key that the program's own prompt asks for, has failed; "
        "where the judge writes ids as text, all questions count as positive; strange and second answers count, too. A run here "
        "reads the judge's table first; `vqa_pass_rate(variant='official')` in Python counts raw records as the program does.",
        "MemoBench: frames named frame_1 to frame_20 are put in the order of their letters, 1, 10, 11, ..., 2; here in that of "
        "their numbers.",
        "MemoBench: phases are scored where there are none: of a clip of fewer than 5 frames, and where the sheet says that the "
        "subject leaves at frame 0, or comes back no later than it leaves; here they have a reason instead. Of two rows of the "
        "sheet about one clip the last counts; here the first, with a finding.",
        "MemoBench: SSIM of a frame smaller than its window of 11x11 px consists of reflected pixels; here it is missing. PSNR "
        "does not depend on it.",
    )

    def observer_walks(self, clip: Clip) -> bool:
        """The camera of a synthetic clip is carried past the subject."""
        return clip.setting == "synthetic"

    def contents(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[ContentTable]:
        from lookback.benchmarks.memobench.contents import trajectory_statistics

        table = trajectory_statistics(screen)
        return [ContentTable("memobench-s2", "MemoBench table S2: trajectories", table, ["subset", "trajectory"], digits=1)]

    def content_figures(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[tuple[Figure, str]]:
        from lookback.benchmarks.memobench.contents import trajectory_figure

        return [trajectory_figure(screen)]

    def sweeps(
        self, params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame
    ) -> dict[str, pd.DataFrame]:
        """Tables S7 and S4."""
        from lookback.benchmarks.memobench.sweeps import constant_sweeps, prompt_sweep

        return {"sweeps": constant_sweeps(params, clips, segments, artifacts), "prompts": prompt_sweep(params, clips, segments)}

    def prompt_packs(self) -> dict[str, tuple[str, ...]]:
        return {"memobench_vqa": tuple(f"memobench_{step}.v1" for step in ("generate", "filter", "filter_hint", "judge"))}

    def ask_later(self, session: Session, clips: Sequence[Clip], tasks: frozenset[str]) -> None:
        """The questions of each clip's bank, once the banks are read or made."""
        from lookback.benchmarks.memobench.judging import ask_banks

        if "vqa" in tasks:
            ask_banks(session, clips)

    def polarity(self, task: str, question_id: str) -> str:
        from lookback.benchmarks.memobench.vqa.bank import from_part_id

        question = from_part_id(question_id) if task.startswith("vqa") else None
        return question.side if question is not None else ""

    def quality_tables(self, session: Session) -> dict[str, pd.DataFrame]:
        """How well the question banks detect a known failure."""
        from lookback.benchmarks.memobench.judging import kept_banks
        from lookback.benchmarks.memobench.vqa.audit import bank_audit, discrimination_summary

        audit = bank_audit(kept_banks(session))
        return {"vqa_discrimination": audit, "vqa_discrimination_summary": discrimination_summary(audit) if len(audit) else audit}

    def judging_files(self, session: Session) -> dict[str, str]:
        """The banks that were asked."""
        from lookback.benchmarks.memobench.judging import kept_banks
        from lookback.benchmarks.memobench.vqa.pipeline import bank_records

        banks = kept_banks(session)
        return {"vqa_banks.json": bank_records(banks)} if banks else {}

    def question_prefixes(self, metric: str) -> tuple[str, ...]:
        category = metric.removeprefix("memobench.vqa_")
        if category == metric:
            return ("",)
        return ("object_and_background." if category == "object_background" else f"{category}.",)

    def study_forms(self) -> Sequence[Form]:
        from lookback.benchmarks.memobench.forms import forms

        return forms()

    def agreement_tables(self, analysis: Analysis) -> None:
        from lookback.benchmarks.memobench.agreement import add_tables

        add_tables(analysis)

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback.benchmarks.memobench.report import paper_tables

        return paper_tables(data)

    def paper_remarks(self, written: Mapping[str, PaperTable]) -> list[str]:
        from lookback.benchmarks.memobench.report import remarks

        return remarks(written)

    def paper_figures(self, data: PaperData) -> list[DrawnFigure | None]:
        from lookback.benchmarks.memobench.figures import phase_fidelity
        from lookback.benchmarks.memobench.strata import strata_figure

        return [phase_fidelity(data.items), strata_figure(data)]

    def exports(self) -> dict[str, Export]:
        from lookback.exports import main_table_export

        return {"memobench": main_table_export("memobench-2", self.title)}

    def records(self) -> RecordFiles:
        from lookback.benchmarks.memobench import records

        return records

    def write_scene(self, scene: Scene, video: Path | None, out: Path) -> str:
        from lookback.benchmarks.memobench.plan import write_scene

        return write_scene(scene, video, out)

    def writer(self) -> Writer:
        from lookback.benchmarks.memobench import writer

        return writer

    def selfcheck(self) -> SelfCheck:
        from lookback.benchmarks.memobench.selfcheck import PLACES, answers

        return SelfCheck(PLACES, answers=answers)

    def parity(self, peer: Path, clips: Path | None) -> Iterator[ParityRow]:
        from lookback.benchmarks.memobench.parity import parity

        return parity(peer, clips)

    def printed(self) -> PrintedPaper:
        from lookback.benchmarks.memobench.printed import PAPER

        return PAPER
