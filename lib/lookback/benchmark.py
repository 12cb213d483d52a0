"""The class `Benchmark`: one object per paper. Curation, judging, desk, agreement and report ask it what differs between papers.

A benchmark is a folder in `lookback/benchmarks` (or a package of a plug-in) with up to four modules that are found by name:
`benchmark` (a subclass of `Benchmark`, registered with `@benchmark`), `layout` (its reader), `metrics`, `judging` (its questions).
Nothing outside these folders names a benchmark. What differs between papers is a field or a method below. Every method has a
default for a benchmark that does not define it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.clips import Clip
from lookback.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lookback.agreement.analyse import Analysis
    from lookback.camera.intent import Rule
    from lookback.conditions.construction import Constructor
    from lookback.conditions.plans import Scene
    from lookback.conditions.records import RecordFiles
    from lookback.desk.forms import Form
    from lookback.judging.run import Session
    from lookback.layouts.writing import Writer
    from lookback.params import RunParams
    from lookback.parity import ParityRow
    from lookback.published.printed import PrintedPaper
    from lookback.registry import MetricSpec
    from lookback.report.figures.drawn import DrawnFigure
    from lookback.report.paper import PaperData
    from lookback.report.table import PaperTable

Export = Callable[["RunParams", Path], Path]
Story = tuple[str, pd.DataFrame, str]  # title, table, one sentence written from it


@dataclass(frozen=True)
class ContentTable:
    """A table of what a dataset holds, as the paper prints it."""

    id: str
    title: str
    frame: pd.DataFrame
    labels: list[str]
    digits: int = 3


@dataclass(frozen=True)
class ClipCard:
    """What a clip shows: a sentence, and a picture (H,W,3) with its caption."""

    title: str
    words: str
    picture: NDArray[np.uint8] | None = None
    caption: str = ""


@dataclass(frozen=True)
class YesNoQuestion:
    """What the annotation desk asks about a single clip."""

    dimension: str
    text: str


@dataclass(frozen=True)
class PairQuestions:
    """What the desk asks about two models' answers to one task: dimension -> question.

    For the dimensions in `judgeable_first` it first asks whether the return can be judged at all.
    """

    questions: Mapping[str, str] = field(default_factory=dict)
    judgeable_first: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SelfCheck:
    """(setting, subset) at which the self-check's clip of a room, and that of a face, are scored; a still camera is one of `still`.

    `answers(spoilt)` are written answers to the benchmark's questions: task -> question -> "yes", "no" or a number.
    """

    places: tuple[tuple[str, str], ...]
    faces: tuple[tuple[str, str], ...] = ()
    still: tuple[tuple[str, str], ...] = ()
    answers: Callable[[bool], dict[str, dict[str, str | float]]] = lambda spoilt: {}


class Benchmark:
    """One paper's benchmark. Subclasses set the fields and override the methods that the paper defines."""

    name: ClassVar[str]
    title: ClassVar[str]
    # curation
    one_task_list: ClassVar[bool] = False  # all its settings together are one list of tasks, and every model gets all of them
    every_task_has_event: ClassVar[bool] = False  # something happens to the subject in each of its tasks
    length_field: ClassVar[str] = "n_frames"  # the field of its files that holds the ground truth's length
    repeats_truth: ClassVar[bool] = False  # its tasks ask for a video as long as the ground truth
    anchor_field: ClassVar[str] = "anchors.csv"  # the field of its files that holds the subject's box
    camera_rule: ClassVar[Rule] = "heading"  # how its camera requests become paths (lookback.camera.intent)
    # scoring: the column `phase` holds measures of different units (mse, psnr, ...) rather than parts of a video
    parts_are_measures: ClassVar[bool] = False
    not_reproduced: ClassVar[tuple[str, ...]] = ()  # defects of its released program that no variant repeats
    # report: the tables whose rows are drawn as profiles
    profiled: ClassVar[tuple[str, ...]] = ()

    # -- curation ---------------------------------------------------------------------------------------------------------------
    def camera_request(self, clip: Clip) -> str:
        """The camera motion that was asked for, in the grammar of `lookback.camera`; empty when there is none."""
        return clip.camera

    def observer_walks(self, clip: Clip) -> bool:
        """Whether the camera is an observer who walks past the subject, rather than a camera that turns on the spot."""
        return False

    def contents(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[ContentTable]:
        """The paper's tables of what its dataset holds (`clips` and `screen` of this benchmark alone)."""
        return []

    def content_figures(self, clips: pd.DataFrame, screen: pd.DataFrame) -> list[tuple[Figure, str]]:
        """Figures of what its dataset holds, each with its caption."""
        return []

    # -- extraction and scoring -------------------------------------------------------------------------------------------------
    def samples_each_caption(self, clip: Clip) -> bool:
        """Whether sampled frames are spread inside each caption segment instead of over the whole clip."""
        return False

    def prompts_with_a_point(self, clip: Clip) -> bool:
        """Whether the segmenter is shown the middle of the object's box instead of the box."""
        return False

    def takes(self, spec: MetricSpec, setting: str, subset: str) -> bool:
        """Whether its clips of this setting and subset are scored with a metric."""
        return (
            spec.benchmark == self.name
            and (not spec.settings or setting in spec.settings)
            and (not spec.subsets or subset in spec.subsets)
        )

    def sweeps(
        self, params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, artifacts: pd.DataFrame
    ) -> dict[str, pd.DataFrame]:
        """Its clips scored again under other settings (`scoring.sweeps`): a table by name."""
        return {}

    # -- judging ----------------------------------------------------------------------------------------------------------------
    def ask_later(self, session: Session, clips: Sequence[Clip], tasks: frozenset[str]) -> None:
        """Ask the questions that depend on earlier answers. `tasks` are the names of the run's tasks."""

    def prompt_packs(self) -> dict[str, tuple[str, ...]]:
        """What `judging.prompts` may name -> the prompts and catalogues of the package that such a file may reword."""
        return {}

    def read_prompt_pack(self, pack: str, path: Path) -> Mapping[str, object] | None:
        """The words in a file of its released program, as the fields of a YAML pack (`questions`, `prompts`, ...).

        None where the form of the file is unknown.
        """
        return None

    def polarity(self, task: str, question_id: str) -> str:
        """positive or negative for a question with a right answer; empty when it has none or belongs to another benchmark."""
        return ""

    def decisions(self, task: str, answers: Mapping[str, str]) -> dict[str, bool]:
        """What one judge's answers about a clip (question -> answer) decide: did the subject, or the view, leave and come back?"""
        return {}

    def question_prefixes(self, metric: str) -> tuple[str, ...]:
        """How the ids of a metric's own questions begin, where one task asks for several metrics; ("",) means all questions."""
        return ("",)

    def quality_tables(self, session: Session) -> dict[str, pd.DataFrame]:
        """Tables about the quality of its own questions, by name."""
        return {}

    def judging_files(self, session: Session) -> dict[str, str]:
        """Files to keep beside the judging tables: name -> content."""
        return {}

    def blind_spot(self, metric: str, failure: str) -> str:
        """Why the formula of one of its metrics cannot see a failure, in a sentence; empty where it can."""
        return ""

    # -- people -----------------------------------------------------------------------------------------------------------------
    def yes_no_question(self, clip: Clip) -> YesNoQuestion | None:
        """What people are asked about this clip alone."""
        return None

    def pair_questions(self, setting: str, subset: str) -> PairQuestions:
        """What people are asked about two models' answers to one task."""
        return PairQuestions()

    def study_forms(self) -> Sequence[Form]:
        """The paper's studies with people, ready for the annotation desk."""
        return ()

    def agreement_tables(self, analysis: Analysis) -> None:
        """Add the paper's tables of human agreement to the analysis."""

    # -- report -----------------------------------------------------------------------------------------------------------------
    def paper_tables(self, data: PaperData) -> list[PaperTable]:
        """The paper's tables from a run; `data.items` holds this benchmark's scores alone."""
        return []

    def paper_remarks(self, written: Mapping[str, PaperTable]) -> list[str]:
        """Sentences below the tables, for example why one of the paper's tables is missing."""
        return []

    def paper_figures(self, data: PaperData) -> list[DrawnFigure | None]:
        """The paper's figures from a run."""
        return []

    def clip_cards(self, data: PaperData) -> list[ClipCard]:
        """What each clip shows, in words and pictures, for a benchmark whose clips are looked at one by one."""
        return []

    def findings(self, items: pd.DataFrame) -> list[tuple[str, str]]:
        """Sentences for the report's first page that the scores support, each with the id of the table behind it."""
        return []

    def stories(self, tables: Mapping[str, pd.DataFrame]) -> list[Story]:
        """The paper's case studies, repeated on a run's own data."""
        return []

    def exports(self) -> dict[str, Export]:
        """Formats that its users' scripts read, by name."""
        return {}

    def records(self) -> RecordFiles | None:
        """How its tasks are read before a model has done them, and where the videos belong."""
        return None

    def constructor(self) -> Constructor | None:
        """How a set of its samples is built from source videos."""
        return None

    def write_scene(self, scene: Scene, video: Path | None, out: Path) -> str:
        """Write a planned scene of a user's own in its layout; a line that says what was written."""
        raise UsageError(f"{self.title} has no files for planned scenes")

    def writer(self) -> Writer | None:
        """Writes datasets in its layout."""
        return None

    def selfcheck(self) -> SelfCheck | None:
        """Where the self-check scores its own clips as this benchmark's."""
        return None

    def parity(self, peer: Path, clips: Path | None) -> Iterator[ParityRow]:
        """Its metrics beside the released program in the folder `peer`, on the clips in `clips` and on made-up inputs."""
        yield from ()

    def printed(self) -> PrintedPaper | None:
        """The tables that the paper prints."""
        return None
