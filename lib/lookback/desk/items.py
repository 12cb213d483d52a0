"""What people are shown and asked: an item is one or two videos with the questions about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from lookback.camera.intent import parse
from lookback.camera.text import to_text
from lookback.clips import Clip
from lookback.errors import ParameterError, UsageError, hint

Role = Literal["study", "gold", "practice"]
# stored preferences: 1 if A is better, -1 if B is better
SIDES = {"left": "1", "tie": "0", "right": "-1"}
OTHER_SIDE = {"1": "-1", "0": "0", "-1": "1"}
TIE = "0"


class Part(BaseModel):
    """A value that cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(Part):
    """One answer: what is sent, what the button says, and its key."""

    label: str
    text: str
    key: str


YES_NO = (Choice(label="yes", text="Yes", key="y"), Choice(label="no", text="No", key="n"))
PREFERENCE = (
    Choice(label="left", text="Left is better", key="1"),
    Choice(label="tie", text="No difference", key="0"),
    Choice(label="right", text="Right is better", key="2"),
)


class Question(Part):
    """One question. Its answer becomes one vote: `task` and `dimension` are columns of the ratings."""

    task: str
    dimension: str
    text: str
    answers: Literal["yes_no", "preference"]
    only_if: str = ""  # the id of a yes/no question of the same item; this one is asked only after a yes to it

    @property
    def id(self) -> str:
        return f"{self.task}/{self.dimension}"

    @property
    def choices(self) -> tuple[Choice, ...]:
        return YES_NO if self.answers == "yes_no" else PREFERENCE

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers as they are stored."""
        return ("yes", "no") if self.answers == "yes_no" else tuple(SIDES.values())


class Video(Part):
    """One video: a file, or only its first picture held for as long as the file lasts."""

    path: str
    still: bool = False
    caption: str = ""  # what stands below it; two clips that are compared have none and may change sides


class Context(Part):
    """A line above the videos: what the models were asked to show."""

    title: str
    lines: tuple[str, ...]


class Item(Part):
    """One screen of a study. A gold or practice item knows its `right` answers (question id -> stored label)."""

    benchmark: str
    setting: str
    scene: str
    clip_a: str
    model_a: str
    clip_b: str = ""
    model_b: str = ""
    videos: tuple[Video, ...]
    questions: tuple[Question, ...]
    context: tuple[Context, ...] = ()
    block: str = ""  # items with the same block go to the same people, as the questions of one survey version do
    role: Role = "study"
    right: Mapping[str, str] = {}
    why: str = ""  # the explanation shown after a practice item

    @property
    def id(self) -> str:
        asked = [f"{question.id}\1{question.text}" for question in self.questions]
        shown = [f"{video.path}\1{video.still}" for video in self.videos]
        parts = (self.role, self.benchmark, self.setting, *self.sides, *asked, *shown)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]

    @property
    def sides(self) -> tuple[str, str, str, str]:
        return self.clip_a, self.model_a, self.clip_b, self.model_b

    @property
    def compares(self) -> bool:
        """Whether two clips without captions stand side by side, so that their sides may be exchanged."""
        return len(self.videos) == 2 and not any(video.caption for video in self.videos)

    @property
    def stratum(self) -> tuple[str, str]:
        return self.setting, self.questions[-1].dimension.partition("#")[0]

    def asked(self, answers: Mapping[str, str]) -> Iterator[Question]:
        """The questions that must be answered, given the answers so far."""
        for question in self.questions:
            if not question.only_if or answers.get(question.only_if) == "yes":
                yield question

    def check(self, answers: Mapping[str, str]) -> None:
        """Raises `UsageError` unless the answers (stored labels) are complete and each is possible."""
        asked = {question.id: question for question in self.asked(answers)}
        for name, label in answers.items():
            if name not in asked:
                raise UsageError(f"'{name}' is not asked here; {hint(name, asked)}")
            if label not in asked[name].labels:
                raise UsageError(f"'{label}' is not an answer to {name}; possible answers: {', '.join(asked[name].labels)}")
        if missing := [question.text for question in asked.values() if question.id not in answers]:
            raise UsageError(f"This question has no answer yet: {missing[0]}")


def clip_context(clip: Clip) -> tuple[Context, ...]:
    """What the models were asked to show: captions, camera, object (MBench figure 4)."""
    captions = clip.caption_segments or ([clip.prompt] if clip.prompt else [])
    lines = [("Captions" if len(captions) > 1 else "Prompt", captions)]
    lines += [("Camera", _camera(clip)), ("Object", [clip.object_name] if clip.object_name else [])]
    return tuple(Context(title=title, lines=tuple(texts)) for title, texts in lines if texts)


def _camera(clip: Clip) -> list[str]:
    """The camera request in words; a request that the grammar does not know is shown as it is."""
    if not clip.camera:
        return []
    try:
        return [to_text(parse(clip.camera))]
    except ParameterError:
        return [clip.camera]


def ordered(seed: int, *names: str) -> str:
    """A text to sort by: random, but always the same for the same seed and names."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).hexdigest()


def spread(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """A seeded sample of at most `limit` items, taken in turn from every setting and dimension, so that none is left out."""
    if limit is None or limit >= len(items):
        return list(items)
    strata: dict[tuple[str, str], list[Item]] = {}
    for item in sorted(items, key=lambda item: ordered(seed, item.id)):
        strata.setdefault(item.stratum, []).append(item)
    place = {item.id: turn for group in strata.values() for turn, item in enumerate(group)}
    return sorted(items, key=lambda item: (place[item.id], item.stratum))[:limit]
