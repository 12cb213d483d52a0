"""MBench: twelve dimensions of memory, scored on clips that entered their challenge (trigger-conditioned M-Score)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from lookback.benchmark import Benchmark, ContentTable, Export, PairQuestions, SelfCheck, YesNoQuestion
from lookback.camera.requests import action_request
from lookback.clips import Clip
from lookback.registry import benchmark

if TYPE_CHECKING:
    from lookback.agreement.analyse import Analysis
    from lookback.conditions.construction import Constructor
    from lookback.conditions.records import RecordFiles
    from lookback.desk.forms import Form
    from lookback.layouts.writing import Writer
    from lookback.published.printed import PrintedPaper
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable

SUBSETS = ("human", "object", "environment", "causal")
# What MBench asks its annotators: twelve dimensions, each of its own subset, and one trigger per subset (appendix C.1).
PREFERENCE = {
    "human_identity": ("human", "Which video better keeps the same person: is the face after the return the face from before?"),
    "human_appearance": ("human", "Which video better keeps the person's clothes, hair and build after the return?"),
    "object_texture": ("object", "Which video better keeps the object's surface, colours and markings after the return?"),
    "object_geometry": ("object", "Which video better keeps the object's shape and size after the return?"),
    "epipolar": ("environment", "Which video better keeps the place's layout when the camera comes back?"),
    "reprojection": ("environment", "In which video do things stand more exactly where they stood before?"),
    "lighting": ("environment", "Which video better keeps brightness and colour of light when the camera comes back?"),
    "style": ("environment", "Which video better keeps one rendering style throughout?"),
    "action_interaction": ("causal", "In which video does the camera follow the requested motion better?"),
    "text_interaction": ("causal", "Which video better shows what the captions say, segment by segment?"),
    "state_evolution": ("causal", "In which video does the unseen process visibly go on while nobody looks?"),
    "evolution_correctness": ("causal", "In which video has the unseen process reached the more plausible state at the return?"),
}
TRIGGER = {
    "human": "Does the person visibly leave the view and come back?",
    "object": "Does the object visibly leave the view (or get covered) and come back?",
    "environment": "Does the camera visibly leave the first view and come back to it?",
    "causal": "Does the video visibly enter its challenge: does the process run on while it is out of view, and is it seen again?",
}


@benchmark
class MBench(Benchmark):
    """MBench-A (action-conditioned) and MBench-T (text-conditioned)."""

    name = "mbench"
    title = "MBench"
    anchor_field = "metadata.object_anchor"
    profiled = ("mbench-2-t", "mbench-2-a")

    def camera_request(self, clip: Clip) -> str:
        """MBench-A's action over the video's own frames: the sample's list of one word per frame, else the one that its condition
        names (a sample may be filmed with several actions), else the sample's own."""
        if clip.camera or clip.setting != "A" or not clip.n_frames:
            return clip.camera
        action = clip.extras.get("action") or ""
        if not isinstance(action, str):
            return action_request(tuple(action), clip.n_frames)
        return action_request(clip.condition_id, clip.n_frames) or action_request(action, clip.n_frames)

    def contents(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[ContentTable]:
        return [ContentTable("mbench-4", "MBench table 4: samples by subset", composition(clips), ["subset"])]

    def samples_each_caption(self, clip: Clip) -> bool:
        """MBench-T looks for faces in every caption segment (appendix B.3)."""
        return clip.setting == "T"

    def prompts_with_a_point(self, clip: Clip) -> bool:
        """In MBench-T the detected box serves as a point prompt; MBench-A prompts with the anchor's box (appendix B.3)."""
        return clip.setting == "T"

    def prompt_packs(self) -> dict[str, tuple[str, ...]]:
        triggers = tuple(f"mbench_trigger_{subset}.v1" for subset in SUBSETS)
        return {"mbench_trigger": triggers, "mbench_ratings": ("mbench_state_progress.v1", "mbench_progress_correctness.v1")}

    def decisions(self, task: str, answers: Mapping[str, str]) -> dict[str, bool]:
        return {"trigger": answers["trigger"] == "yes"} if task == "trigger" and "trigger" in answers else {}

    def blind_spot(self, metric: str, failure: str) -> str:
        """Eq. 6 measures each track against its own centroid."""
        if failure in ("identity_drift", "object_vanishes") and ".human_" in metric:
            return (
                "eq. 6 compares each track with its own centroid, so a person who comes back as another (a new track) or never "
                "comes back loses nothing; the corrected variant looks for the people of the beginning at the end"
            )
        return ""

    def yes_no_question(self, clip: Clip) -> YesNoQuestion | None:
        """Whether a text-conditioned clip entered its challenge."""
        if clip.setting != "T":
            return None
        return YesNoQuestion(f"trigger_{clip.subset}", TRIGGER.get(clip.subset, TRIGGER["environment"]))

    def pair_questions(self, setting: str, subset: str) -> PairQuestions:
        """The dimensions of the subset; text-conditioned models are given no camera motion to follow."""
        asked = {name: text for name, (of_subset, text) in PREFERENCE.items() if of_subset == subset}
        return PairQuestions({name: text for name, text in asked.items() if not (setting == "T" and name == "action_interaction")})

    def study_forms(self) -> Sequence[Form]:
        from lookback.benchmarks.mbench.forms import forms

        return forms()

    def agreement_tables(self, analysis: Analysis) -> None:
        from lookback.benchmarks.mbench.agreement import add_tables

        add_tables(analysis)

    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        from lookback.benchmarks.mbench.report import paper_tables

        return paper_tables(data)

    def exports(self) -> dict[str, Export]:
        from lookback.benchmarks.mbench.export import export_mbench

        return {"mbench": export_mbench}

    def constructor(self) -> Constructor:
        from lookback.benchmarks.mbench import construct

        return construct

    def records(self) -> RecordFiles:
        from lookback.benchmarks.mbench import records

        return records

    def writer(self) -> Writer:
        from lookback.benchmarks.mbench import writer

        return writer

    def selfcheck(self) -> SelfCheck:
        from lookback.benchmarks.mbench.selfcheck import FACES, PLACES, answers

        return SelfCheck(PLACES, FACES, answers=answers)

    def printed(self) -> PrintedPaper:
        from lookback.benchmarks.mbench.printed import PAPER

        return PAPER


def composition(clips: pd.DataFrame) -> pd.DataFrame:
    """Table 4: number of evaluation samples per subset in A and in T, with totals."""
    samples = clips.drop_duplicates(["setting", "subset", "sample_id"])
    counts = pd.crosstab(samples["subset"], samples["setting"]).reindex(index=list(SUBSETS), columns=["A", "T"], fill_value=0)
    counts["total"] = counts.sum(axis=1)
    counts.loc["total"] = counts.sum()
    return counts.rename_axis(columns=None).reset_index(names="subset")
