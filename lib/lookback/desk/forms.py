"""Ready forms: a paper's study with its instructions, practice, gold items and number of raters. Each benchmark defines its own.

The words stand in a benchmark's `forms.yaml`; `Form` joins them with the function that makes the items of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING

from lookback.clips import Clip
from lookback.desk.items import TIE, Context, Item, Part, Question, Video, clip_context
from lookback.errors import UsageError, hint
from lookback.registry import BENCHMARKS
from lookback.yaml_files import parse_yaml

if TYPE_CHECKING:
    from lookback.params import RunParams


class Practice(Part):
    """A practice item: clips that are drawn for it (`lookback.desk.practice`), its right answers, and why they are right."""

    videos: tuple[str, ...]
    right: Mapping[str, str]  # question id -> stored label
    why: str
    ask: tuple[str, ...] = ()  # ids of the form's questions; none: those in `right`
    questions: tuple[Question, ...] = ()  # questions of its own instead
    context: tuple[Context, ...] = ()
    captions: tuple[str, ...] = ()


class Words(Part):
    """What `forms.yaml` says about one form."""

    title: str
    source: str  # the paper's section
    instructions: tuple[str, ...]
    raters: int  # people per item
    blocks_per_person: int | None = None  # none: as many as there are to do
    gold_share: float = 0.1  # gold items per item
    practice: tuple[Practice, ...] = ()


Items = Callable[["RunParams", Sequence[Clip], int], list[Item]]  # run, its clips, seed


@dataclass(frozen=True)
class Form:
    """One study. `catalogue` holds every question it can ask, by id; `items` raises `UsageError` if the run has nothing to ask."""

    name: str
    benchmark: str
    words: Words
    catalogue: Mapping[str, Question]
    items: Items
    gold: Callable[[Sequence[Item]], list[Item]]


def form_words(package: str) -> dict[str, Words]:
    """The forms of a benchmark's `forms.yaml`, by name."""
    content = parse_yaml(files(package).joinpath("forms.yaml").read_text(encoding="utf-8"))
    return {name: Words.model_validate(words) for name, words in content.items()}


def all_forms() -> dict[str, Form]:
    return {form.name: form for benchmark in BENCHMARKS for form in benchmark.study_forms()}


def find_form(name: str) -> Form:
    forms = all_forms()
    if name not in forms:
        raise UsageError(f"There is no form '{name}'; {hint(name, forms)}")
    return forms[name]


def forms_for(params: RunParams, clips: Sequence[Clip]) -> list[Form]:
    """The forms that have something to ask about a run."""
    return [
        form
        for form in all_forms().values()
        if any(clip.benchmark == form.benchmark for clip in clips) and _asks(form, params, clips)
    ]


def _asks(form: Form, params: RunParams, clips: Sequence[Clip]) -> bool:
    try:
        return bool(form.items(params, clips, 0))
    except UsageError:
        return False


def of_benchmark(clips: Sequence[Clip], benchmark: str) -> list[Clip]:
    return [clip for clip in clips if clip.benchmark == benchmark]


def single(clip: Clip, questions: Sequence[Question]) -> Item:
    """An item about one generated clip."""
    return Item(
        benchmark=clip.benchmark,
        setting=clip.setting,
        scene=clip.scene,
        clip_a=clip.clip_id,
        model_a=clip.model_id,
        videos=(Video(path=clip.video),),
        questions=tuple(questions),
        context=clip_context(clip),
    )


def pairs(clips: Sequence[Clip]) -> Iterator[tuple[Clip, Clip]]:
    """Every two models' clips of the same task."""
    by_task: dict[tuple[str, str], list[Clip]] = {}
    for clip in clips:
        by_task.setdefault((clip.setting, clip.clip_id), []).append(clip)
    for _, group in sorted(by_task.items()):
        yield from combinations(sorted(group, key=lambda clip: clip.model_id), 2)


def pair(first: Clip, second: Clip, questions: Sequence[Question]) -> Item:
    """An item that compares two models' clips of the same task."""
    return single(first, questions).model_copy(
        update={
            "clip_b": second.clip_id,
            "model_b": second.model_id,
            "videos": (Video(path=first.video), Video(path=second.video)),
        }
    )


def gold_item(item: Item, right: Mapping[str, str], **changes: object) -> Item:
    """A gold item made from an ordinary one."""
    return item.model_copy(update={**changes, "role": "gold", "right": dict(right), "block": ""})


def same_twice(items: Sequence[Item]) -> list[Item]:
    """Gold pairs: a clip beside itself, so that there is no difference."""
    chosen = {item.scene + item.model_a: item for item in items if all(not question.only_if for question in item.questions)}
    return [
        gold_item(item, {question.id: TIE for question in item.questions}, videos=(item.videos[0], item.videos[0]))
        for item in chosen.values()
        if all(question.answers == "preference" for question in item.questions)
    ]


def held_still(items: Sequence[Item]) -> list[Item]:
    """Gold clips: the first picture held, so that nothing leaves and nothing comes back."""
    chosen = {item.scene + item.model_a: item for item in items}
    return [
        gold_item(
            item, {question.id: "no" for question in item.questions}, videos=(item.videos[0].model_copy(update={"still": True}),)
        )
        for item in chosen.values()
    ]
