"""The settings of one study, from a YAML file or from the form's own defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from lookback.desk.forms import Form
from lookback.desk.items import Item, Part
from lookback.errors import ParameterError, hint
from lookback.yaml_files import parse_yaml


class Declared(Part):
    """An item with a known answer that the organiser chose among the study's own: gold, or practice with an explanation."""

    clip: str
    model_a: str
    model_b: str = ""
    setting: str = ""
    right: Mapping[str, str]  # question id ("pairwise/object_texture") or dimension -> stored label ("1", "0", "-1", "yes", "no")
    why: str = ""

    def matches(self, item: Item) -> bool:
        same = (item.clip_a, item.model_a, item.model_b) == (self.clip, self.model_a, self.model_b)
        return same and self.setting in ("", item.setting) and set(self._ids(item)) == set(self.right)

    def _ids(self, item: Item) -> dict[str, str]:
        """The declared names that this item asks, each with the question's id."""
        names = {name: question.id for question in item.questions for name in (question.id, question.dimension)}
        return {name: names[name] for name in self.right if name in names}

    def item(self, item: Item, role: str) -> Item:
        right = {name: self.right[declared] for declared, name in self._ids(item).items()}
        return item.model_copy(update={"role": role, "right": right, "why": self.why, "block": ""})


class Settings(Part):
    """What an organiser may change. Nothing of it changes once the study has begun."""

    form: str
    name: str = Field(default="", pattern=r"^[A-Za-z0-9._-]*$")  # the folder of the study; empty: the form's name
    raters: int | None = Field(default=None, ge=1)  # people per item; none: as the paper did
    limit: int | None = Field(default=None, ge=1)  # at most this many items, spread over settings and dimensions
    seed: int = 1
    gold_share: float | None = Field(default=None, ge=0, le=0.5)  # gold items per item; none: as the form says
    practice: bool = True
    watch: bool = True  # an answer is possible only after the videos were played to the end
    instructions: tuple[str, ...] = ()  # further paragraphs, e.g. whom to ask
    gold: tuple[Declared, ...] = ()
    training: tuple[Declared, ...] = ()

    @property
    def folder(self) -> str:
        return self.name or self.form

    def complete(self, form: Form) -> Settings:
        """With the form's own numbers where none are given."""
        own = {"raters": form.words.raters, "gold_share": form.words.gold_share, "name": self.folder}
        return self.model_copy(update={key: value for key, value in own.items() if getattr(self, key) in (None, "")})


def load_settings(path: Path) -> Settings:
    """Read a study file; a mistake is one sentence that names file and key."""
    try:
        values = parse_yaml(path.read_text(encoding="utf-8"))
        return Settings.model_validate(values)
    except OSError as error:
        raise ParameterError(f"The study file {path} cannot be read ({error.strerror}); see docs/annotation.md") from None
    except ValidationError as error:
        lines = [f"{path.name}: {'.'.join(map(str, part['loc'])) or 'study'}: {part['msg']}" for part in error.errors()]
        raise ParameterError("\n".join(lines)) from None
    except ValueError as error:  # also bad UTF-8
        raise ParameterError(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None


def declared_items(declared: Iterable[Declared], items: list[Item], role: str) -> list[Item]:
    """The declared items, taken out of `items`."""
    found = []
    for wanted in declared:
        item = next((item for item in items if wanted.matches(item)), None)
        if item is None:
            known = sorted({item.clip_a for item in items})
            raise ParameterError(
                f"No item has the clip {wanted.clip}, model_a {wanted.model_a}, model_b '{wanted.model_b}' and the questions "
                f"{', '.join(wanted.right)}; {hint(wanted.clip, known, 'clips')}"
            )
        items.remove(item)
        found.append(wanted.item(item, role))
    return found
