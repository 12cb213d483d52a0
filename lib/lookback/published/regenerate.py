"""Can a user make a paper's table again? `python -m lookback.published.regenerate > docs/regenerate.md` writes the page.

Every benchmark lists the tables and figures of its paper in `published/tables.yaml`. What a table needs follows from its metrics:
the presets say which network, the registry which backend and which weights, and whether they come with the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from lookback.errors import ContractError
from lookback.registry import METRICS, MetricSpec, backends_of, benchmark_packages
from lookback.yaml_files import parse_yaml

PAGE = "docs/regenerate.md"
FILE = "tables.yaml"
PRESETS = ("official", "paper", "corrected")  # the first that all metrics of a table have is shown
NETWORK_SETTINGS = ("network", "head", "imaging")  # the endings of the names of settings that choose a network
GIVEN_WITH_DATA = ("gt_pose",)
JUDGE, VOTES = "judge", "human votes"
INTRODUCTION = f"""\
# Can a user make it again?

Every table and numbered figure of the papers: whether this project makes it from a user's own data, and what that needs. This page
is made from each benchmark's `published/{FILE}`, its presets and the list of backends; a test compares it with them.
`python -m lookback.published.regenerate > {PAGE}` writes it anew.

- **yes**: everything comes with the project. What follows "with" is data that the user has.
- **needs**: a model that the user fetches (`params/weights.lock.yaml` says from where), or files that it made
  ([artifacts.md](artifacts.md) says how they are named), or a judge.
- **no**: it cannot be made, with the reason.

RUN is a parameter file that names the dataset (`curation.sources`), URL and MODEL the server of a judge.
"""


class Entry(BaseModel):
    """A table or figure of a paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    title: str
    metrics: list[str] = []
    also: list[str] = []  # what else it is made from: human votes, ground truth, a judge
    no: str = ""  # why it cannot be made

    @model_validator(mode="before")
    @classmethod
    def _no_is_a_word(cls, values: Any) -> Any:
        """YAML reads the bare key `no` as false."""
        return {"no" if name is False else name: value for name, value in values.items()} if isinstance(values, dict) else values


class PaperTables(BaseModel):
    """All tables of a paper. `models` says in words what serves a role where no backend of ours is the paper's."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    paper: str
    models: dict[str, str] = {}
    tables: list[Entry]


@dataclass(frozen=True)
class Row:
    """One line of the page."""

    table: str
    shows: str
    status: str
    preset: str
    command: str


def papers() -> list[PaperTables]:
    """The tables of every benchmark that lists them."""
    found = []
    for package in benchmark_packages():
        if find_spec(f"{package}.published") is not None:
            file = resources.files(f"{package}.published").joinpath(FILE)
            if file.is_file():
                found.append(read_tables(file.read_text(encoding="utf-8"), f"{package}, {FILE}"))
    return found


def read_tables(text: str, where: str) -> PaperTables:
    """The content of a tables.yaml. An unknown field, metric or id that occurs twice is an error."""
    try:
        tables = PaperTables.model_validate(parse_yaml(text))
    except (ValidationError, ValueError) as error:
        raise ContractError(f"{where}: {' '.join(str(error).split())[:300]}; correct it") from None
    ids = [entry.id for entry in tables.tables]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise ContractError(f"{where}: the id '{min(twice)}' occurs twice; give every table its own")
    for entry in tables.tables:
        for name in entry.metrics:
            METRICS.get(name)
    return tables


def row_of(entry: Entry, paper: PaperTables) -> Row:
    """Status, preset and command of a table."""
    if entry.no:
        return Row(entry.id, entry.title, f"no, {entry.no}", "", "")
    specs = [METRICS.get(name) for name in entry.metrics]
    preset = _common_preset(specs)
    also = list(dict.fromkeys([*entry.also, *([JUDGE] if any(spec.judge_tasks for spec in specs) else [])]))
    models = _together(models_of(spec, preset or spec.default_variant, paper.models) for spec in specs)
    return Row(
        entry.id,
        entry.title,
        _status(models, also),
        f"`{preset}`" if preset else "each metric's own" * bool(specs),
        _command(preset, models, also),
    )


def _common_preset(specs: Iterable[MetricSpec]) -> str:
    """The first preset that all metrics have."""
    shared = [set(spec.variants) for spec in specs]
    return next((name for name in PRESETS if shared and all(name in variants for variants in shared)), "")


def models_of(spec: MetricSpec, variant: str, words: Mapping[str, str]) -> list[str]:
    """The models that a metric needs and that do not come with the project."""
    preset = spec.preset(variant, {}) if variant in spec.variants else {}
    chosen = [str(value).lower() for name, value in preset.items() if name.endswith(NETWORK_SETTINGS) and isinstance(value, str)]
    roles = [role for role in (*spec.roles, *spec.tools) if role not in GIVEN_WITH_DATA]
    return _together([words[role]] if role in words else _model(role, chosen) for role in dict.fromkeys(roles))


def _model(role: str, chosen: list[str]) -> list[str]:
    """The weights of a role that must be fetched: those that a preset names by a part of their name, else the papers' first model.

    What is embedded stands in for a paper's model, and counts only where a preset names it.
    """
    specs = [spec for spec in backends_of(role) if spec.name != "files"]
    named = {spec: found for spec in specs if (found := [name for name in spec.weights if any(value in name for value in chosen)])}
    for spec in [*(spec for spec in named if spec.embedded), *named]:
        return [f"`{name}`" for name in named[spec] if not spec.embedded]
    for spec in specs:
        if not spec.embedded and spec.weights:
            return [f"`{name}`" for name in spec.weights]
    elsewhere = [spec.name for spec in specs if not spec.embedded]  # in environments of their own: they name no weights
    if len(elsewhere) == 1:  # of several, words say which one is the paper's
        return [f"`{elsewhere[0]}`"]
    return [f"the paper's model of the role `{role}`"]


def _together(groups: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


def _status(models: list[str], also: list[str]) -> str:
    needed = [*models, *(["a judge"] if JUDGE in also else [])]
    data = [name for name in also if name != JUDGE]
    said = f"needs {', '.join(needed)}" if needed else "yes"
    return f"{said}; with {', '.join(data)}" if data else said


def _command(preset: str, models: list[str], also: list[str]) -> str:
    """The call that makes the paper's tables of a run, this one among them."""
    settings = [f"scoring.variant={preset}"] if preset else []
    settings += ["profile=paper"] if models else []
    settings += ["judging.judge=openai", "judging.base_url=URL", "judging.model=MODEL"] if JUDGE in also else []
    settings += ["agreement.ratings=[votes.csv]"] if VOTES in also else []
    return " ".join(["lookback report --run RUN", *(f"--set {setting}" for setting in settings)])


@cache
def page() -> str:
    """The whole page in Markdown."""
    return "\n".join([INTRODUCTION, *(_section(paper) for paper in papers())])


def _section(paper: PaperTables) -> str:
    lines = [f"## {paper.paper}", "", "| table | what it shows | status | preset | command |", "|---|---|---|---|---|"]
    for row in (row_of(entry, paper) for entry in paper.tables):
        cells = (row.table, row.shows, row.status, row.preset, f"`{row.command}`" if row.command else "")
        lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
    return "\n".join([*lines, ""])


def _cell(text: Any) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
