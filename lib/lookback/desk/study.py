"""A study: its items, its people, and what each of them does next. The same for every door that people come in by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lookback.clips import Clip
from lookback.desk.assignment import Standing, deal
from lookback.desk.book import BACK, LEFT, OPENED, READ, SKIPPED, VoteBook
from lookback.desk.forms import Form, find_form
from lookback.desk.items import OTHER_SIDE, SIDES, Item, Part, Video, ordered, spread
from lookback.desk.practice import practice_clip
from lookback.desk.roster import Roster
from lookback.desk.settings import Settings, declared_items
from lookback.errors import ContractError, LookbackError, MediaError, UsageError
from lookback.files import write_text
from lookback.params import RunParams
from lookback.paths import portable, resolve
from lookback.progress import track
from lookback.widgets.playable import DEFAULT_FPS, Playable, playable

SLACK = 0.95  # a vote may come this share of the longest video's length after the item was opened


class Refused(LookbackError):
    """Something that a page may not do now; the sentence is for the person at the page."""


class Frozen(Part):
    """The file `study.json`: everything that must not change once people have begun."""

    settings: Settings
    title: str
    source: str
    instructions: tuple[str, ...]
    items: tuple[Item, ...]
    blocks_per_person: int | None = None
    left_out: int = 0  # items whose video cannot be read


@dataclass(frozen=True)
class Shown:
    """The item in front of a person, and whether its sides are exchanged."""

    item: Item
    swapped: bool


class Study:
    """One study in its folder. Opening it again goes on where it stopped."""

    def __init__(self, folder: Path, frozen: Frozen):
        self.folder, self.frozen, self.settings = folder, frozen, frozen.settings
        self.book = VoteBook(folder / "votes.sqlite", swapped=lambda name, item: self._swapped(name, self.by_id[item]))
        self.roster = Roster(folder / "annotators.json")
        self.by_id = {item.id: item for item in frozen.items}
        self.unit_of = {name: item.block or name for name, item in self.by_id.items() if item.role == "study"}
        self.members: dict[str, list[str]] = {}
        for name, unit in self.unit_of.items():
            self.members.setdefault(unit, []).append(name)
        self._files: dict[Video, Playable] = {}

    @classmethod
    def open(cls, params: RunParams, clips: Sequence[Clip], settings: Settings, begin: bool = True) -> Study:
        """The study of these settings, begun if it is new. Other settings than at its beginning are an error.

        Without `begin` a study that is not there yet is an error.
        """
        form = find_form(settings.form)
        settings = settings.complete(form)
        folder = params.paths.root / "studies" / settings.folder
        path = folder / "study.json"
        if path.is_file():
            study = cls(folder, _read(path))
            _same(study.settings, settings, path)
            return study
        if not begin:
            raise UsageError(f"The run {params.run} has no study {settings.folder} with votes yet; check --run, --form or --study")
        frozen = _begin(form, params, clips, settings, folder)
        write_text(path, json.dumps(frozen.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")
        return cls(folder, frozen)

    def _role(self, role: str) -> list[Item]:
        return [item for item in self.by_id.values() if item.role == role]

    @cached_property
    def items(self) -> list[Item]:
        """The items of the study proper."""
        return self._role("study")

    @cached_property
    def practice(self) -> list[Item]:
        return self._role("practice")

    @cached_property
    def gold(self) -> list[Item]:
        return self._role("gold")

    # -- people -----------------------------------------------------------------------------------------------------------------
    @property
    def people(self) -> list[str]:
        """The people who take part now: invited, and not marked as gone."""
        gone = self.book.gone()
        return [name for name in self.roster.names if name not in gone]

    def invite(self, names: Sequence[str]) -> dict[str, str]:
        """Invite people, also while the study runs; returns their tokens. Open work is dealt out anew."""
        tokens = self.roster.invite(names)
        for name in set(tokens) & self.book.gone():
            self.book.happened(name, BACK)
        self.deal()
        return tokens

    def leave(self, name: str) -> None:
        """Mark a person as gone: the link stops working, the votes stay, and the open items go to the others."""
        if name not in self.roster.names:
            raise UsageError(f"Nobody called '{name}' was invited")
        self.book.happened(name, LEFT)
        self.deal()

    def deal(self, fixed: Set[tuple[str, str]] = frozenset()) -> dict[str, int]:
        """Deal out all items that nobody has begun; returns the units that lack raters, and how many.

        `fixed` are pairs of person and item that stay as they are, begun or not.
        """
        standing, sizes = self._standing(fixed), {unit: len(names) for unit, names in self.members.items()}
        dealt = deal(sizes, self.raters, self.people, standing, self.frozen.blocks_per_person, self.settings.seed)
        kept = {(name, item) for unit, names in standing.kept.items() for name in names for item in self.members[unit]}
        new = {(name, item) for name, units in dealt.units.items() for unit in units for item in self.members[unit]}
        self.book.assign(kept | new)
        return dict(dealt.lacking)

    def _standing(self, fixed: Set[tuple[str, str]]) -> Standing:
        """Kept: units that somebody has finished, or has begun and still works on. Closed: single items that somebody skipped."""
        answered, skipped, begun = self.book.answered_pairs(), self.book.event_pairs(SKIPPED), self.book.event_pairs(OPENED)
        done = Counter((name, self.unit_of[item]) for name, item in answered if item in self.unit_of)
        touched = {(name, self.unit_of[item]) for name, item in answered | begun | fixed if item in self.unit_of}
        alone = {(name, item) for name, item in skipped if self.unit_of.get(item) == item}
        gone = self.book.gone()
        kept: dict[str, set[str]] = {}
        for name, unit in touched - alone:
            if name not in gone or done[name, unit] == len(self.members[unit]):
                kept.setdefault(unit, set()).add(name)
        closed: dict[str, set[str]] = {}
        for name, unit in alone:
            closed.setdefault(unit, set()).add(name)
        return Standing(kept, closed)

    def is_proper(self, item: str) -> bool:
        """Whether an item id belongs to the study proper, not to practice or gold."""
        return item in self.unit_of

    @property
    def raters(self) -> int:
        assert self.settings.raters is not None  # completed when the study began
        return self.settings.raters

    # -- one person -------------------------------------------------------------------------------------------------------------
    def has_read(self, name: str) -> bool:
        return self.book.has_read(name)

    def read(self, name: str) -> None:
        self.book.happened(name, READ)

    def own_items(self, name: str) -> list[Item]:
        """The person's items in the person's own order, which a restart repeats."""
        own = [self.by_id[item] for item in self.book.assigned_to(name)]
        return sorted(own, key=lambda item: ordered(self.settings.seed, name, item.id))

    def now(self, name: str) -> Shown | None:
        """What the person does next: practice first, then the own items with gold items among them; None when all is done."""
        answered, skipped = self.book.answered(name), self.book.skipped(name)
        done = answered | skipped
        open_practice = [item for item in self.practice if item.id not in done]
        own = self.own_items(name)
        left = [item for item in own if item.id not in done]
        gold = sorted(
            (item for item in self.gold if item.id not in done), key=lambda item: ordered(self.settings.seed, name, item.id)
        )
        due = self._gold_after(name, sum(map(self.is_proper, done))) > len(self.gold) - len(gold)
        item = next(iter(open_practice or (gold if due and left else left)), None)
        return None if item is None else Shown(item, self._swapped(name, item))

    def _gold_after(self, name: str, items: int) -> int:
        """How many gold items the person gets along with this many items of the study proper, the first of which is never gold.

        With a share of 0.1, one comes at a random place in every ten items. The places are each person's own, and a restart repeats
        them: colleagues cannot tell each other when to take care.
        """
        share = self.settings.gold_share or 0
        random = (int(ordered(self.settings.seed, "gold", name, str(turn))[:8], 16) / 16**8 for turn in range(len(self.gold)))
        return sum(turn + part < share * (items + 1) for turn, part in enumerate(random)) if items > 0 else 0

    def progress(self, name: str) -> tuple[int, int]:
        """How many items the person has done, and of how many. Gold items count like all others, or the numbers would tell them."""
        finished = self.book.answered(name) | self.book.skipped(name)
        proper, gold = sum(map(self.is_proper, finished)), sum(item.id in finished for item in self.gold)
        left = len(self.book.assigned_to(name) - finished)
        gold_to_come = max(0, self._gold_after(name, proper + left - 1) - gold) if left else 0  # no gold item is the last one
        return proper + gold, proper + gold + left + gold_to_come

    def _swapped(self, name: str, item: Item) -> bool:
        return item.compares and int(ordered(self.settings.seed, "side", name, item.id)[:8], 16) % 2 == 1

    def show(self, name: str) -> Shown | None:
        """The same as `now`; notes when the item was first seen."""
        shown = self.now(name)
        if shown is not None:
            self.book.opened(name, shown.item)
        return shown

    def vote(self, name: str, item_id: str, given: Mapping[str, str], comment: str = "", watched: bool = False) -> Item:
        """Store the answers (question id -> label of a choice) to the item in front of the person."""
        shown = self._in_front(name, item_id)
        self._watched(name, shown.item, watched)
        self.book.add(name, shown.item, stored(shown, given), comment)
        return shown.item

    def skip(self, name: str, item_id: str, why: str = "") -> None:
        """Leave an item out. If it stands alone, it goes to somebody else."""
        item = self._in_front(name, item_id).item
        if item.role == "practice":
            raise Refused("A practice item cannot be skipped; answer it, the explanation follows")
        self.book.skip(name, item, why)
        if item.role == "study" and not item.block:
            self.deal(self.book.assigned())

    def undo(self, name: str) -> bool:
        """Take back the person's last answer or skip. A skipped item comes back from whoever has not opened it yet."""
        item = self.book.undo(name)
        if item is not None and item not in self.book.assigned_to(name) and self.is_proper(item):
            self.deal({pair for pair in self.book.assigned() if pair[1] != item})
        return item is not None

    def _in_front(self, name: str, item_id: str) -> Shown:
        shown = self.now(name)
        if shown is None or shown.item.id != item_id:
            raise Refused("This item is already answered; the page shows the next one")
        return shown

    def _watched(self, name: str, item: Item, watched: bool) -> None:
        if not self.settings.watch:
            return
        longest = max(self.file(video).seconds for video in item.videos)
        passed = self.book.clock() - self.book.opened(name, item)  # less than 0 after the clock was set back
        if not watched or 0 <= passed < SLACK * longest:
            raise Refused("Watch the video to its end first; then the answer counts")

    def file(self, video: Video) -> Playable:
        """The file that is served for a video of this study."""
        if video not in self._files:
            try:
                self._files[video] = playable(resolve(video.path), self.folder / "media", video.still)
            except MediaError:  # gone since the study began: its address answers 404, and people can skip the item
                return Playable(resolve(video.path), 0.0, DEFAULT_FPS)
        return self._files[video]

    def video_of(self, name: str, item_id: str, slot: int) -> Playable | None:
        """The file of one video of an item that the person has seen; nothing else is served."""
        item = self.by_id.get(item_id)
        if item is None or not self.book.has_opened(name, item_id) or not 0 <= slot < len(item.videos):
            return None
        return self.file(item.videos[::-1][slot] if self._swapped(name, item) else item.videos[slot])


def stored(shown: Shown, given: Mapping[str, str]) -> dict[str, str]:
    """Answers as they are stored: a side becomes the sign of the model that stood there."""
    sides = {side: OTHER_SIDE[sign] if shown.swapped else sign for side, sign in SIDES.items()}
    preferences = {question.id for question in shown.item.questions if question.answers == "preference"}
    return {name: sides.get(label, label) if name in preferences else label for name, label in given.items()}


def given(shown: Shown, right: Mapping[str, str]) -> dict[str, str]:
    """Stored labels as the choices that the person sees; the reverse of `stored`."""
    names = {OTHER_SIDE[sign] if shown.swapped else sign: side for side, sign in SIDES.items()}
    preferences = {question.id for question in shown.item.questions if question.answers == "preference"}
    return {name: names[label] if name in preferences else label for name, label in right.items()}


def _begin(form: Form, params: RunParams, clips: Sequence[Clip], settings: Settings, folder: Path) -> Frozen:
    items = form.items(params, clips, settings.seed)
    if not items:
        raise UsageError(
            f"The form {form.name} has nothing to ask about the run {params.run}: single clips need a question of their own, "
            "preferences need clips of two models for the same task"
        )
    everything = list(items)
    known = declared_items(settings.gold, everything, "gold") + declared_items(settings.training, everything, "practice")
    chosen = spread(everything, settings.limit, settings.seed)
    if settings.practice and not settings.training:
        known += _practice(form, folder / "media")
    if settings.gold_share and not settings.gold:
        known += form.gold(chosen)
    readable = _readable([*chosen, *known], folder / "media")
    if not any(item.role == "study" for item in readable):
        raise UsageError("No video of this study can be read; run the curation stage, its table `rejected` says why")
    return Frozen(
        settings=settings,
        title=form.words.title,
        source=form.words.source,
        instructions=(*form.words.instructions, *settings.instructions),
        items=tuple(readable),
        blocks_per_person=form.words.blocks_per_person,
        left_out=sum(item.role == "study" for item in chosen) - sum(item.role == "study" for item in readable),
    )


def _practice(form: Form, folder: Path) -> list[Item]:
    made = []
    for number, practice in enumerate(form.words.practice, start=1):
        captions = practice.captions or ("",) * len(practice.videos)
        paths = [practice_clip(name, folder) for name in practice.videos]
        asked = practice.ask or tuple(practice.right)
        made.append(
            Item(
                benchmark=form.benchmark,
                setting="practice",
                scene="practice",
                clip_a=f"practice {number}",
                model_a=practice.videos[0],
                videos=tuple(Video(path=portable(path), caption=caption) for path, caption in zip(paths, captions, strict=True)),
                questions=practice.questions or tuple(form.catalogue[name] for name in asked),
                context=practice.context,
                role="practice",
                right=practice.right,
                why=practice.why,
            )
        )
    return made


def _readable(items: Sequence[Item], folder: Path) -> list[Item]:
    """The items whose videos can all be read; what browsers do not play is encoded here."""
    videos = list(dict.fromkeys(video for item in items for video in item.videos))
    good = {video for video in track(videos, "checking videos", unit="video") if _plays(video, folder)}
    return [item for item in items if good.issuperset(item.videos)]


def _plays(video: Video, folder: Path) -> bool:
    try:
        return playable(resolve(video.path), folder, video.still).seconds > 0
    except MediaError:
        return False


def _read(path: Path) -> Frozen:
    try:
        return Frozen.model_validate_json(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ContractError(f"{path} is not a study of this version; move its folder away to begin anew") from None


def _same(begun: Settings, asked: Settings, path: Path) -> None:
    changed = [name for name in Settings.model_fields if getattr(begun, name) != getattr(asked, name)]
    if changed:
        was = ", ".join(f"{name} was {getattr(begun, name)!r}" for name in changed)
        raise UsageError(
            f"{path} began with other settings ({was}); votes under two settings do not mix, so give this study another name"
        )
