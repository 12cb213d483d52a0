"""Prompt files of the benchmarks: `<benchmark>/prompts/<name>.v<N>.md`, with a header that names the source, and YAML catalogues.

The text of a version never changes: the version and the hash of the text are part of every recording key and table row. A run may
bring words of its own (`judging.prompts`): inside `using` they replace the package's, and the hash of their file is in the version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Any

from lookback.errors import ContractError
from lookback.files import sha256_json
from lookback.registry import benchmark_packages
from lookback.yaml_files import parse_yaml

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
ALWAYS = frozenset({"clip"})  # values that every question gives; a pack may use them in any prompt
ASKED = frozenset({"question", "rubric"})  # values that a pack may reword with the others; they cannot name each other
WHOLE = frozenset({"task", "sampling"})  # a question that holds only these is a whole prompt


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders filled in."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], text)


@dataclass(frozen=True)
class Prompt:
    """One prompt file: the system and the user message, with `{{name}}` placeholders."""

    name: str
    version: str  # name and version of the file, then the first digits of the hash of its text
    source: str
    system: str
    user: str
    takes: frozenset[str]  # the values that it is filled with; the words of a pack may leave some out

    def render(self, **values: str) -> tuple[str, str]:
        """The filled-in system and user message. The values must be exactly those that the prompt takes."""
        if self.takes - ALWAYS != set(values) - ALWAYS:
            raise ContractError(f"Prompt {self.name} takes {sorted(self.takes)}, not {sorted(values)}")
        return fill(self.system, values), fill(self.user, values)

    @property
    def question(self) -> str:
        """The line that asks, for the tables: the last one that ends with a question mark, else the first line."""
        lines = [line.strip() for line in self.user.splitlines() if line.strip()]
        return next((line for line in reversed(lines) if line.endswith("?")), next(iter(lines), ""))


@dataclass(frozen=True)
class Pack:
    """Words of a user's own file that replace the package's: parts of prompts, and texts of a catalogue."""

    hash: str  # of the file
    source: str = ""
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # name of a prompt -> its `system`, `user` or both
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # `questions` and `rubrics` of a catalogue -> id -> text

    def prompt(self, own: Prompt) -> Prompt:
        """The prompt in the pack's words."""
        words = {"system": own.system, "user": own.user, **self.prompts.get(own.name, {})}
        version = f"{_version(own.name, [words['system'], words['user']])};pack+{self.hash}"
        return replace(own, version=version, source=self.source or own.source, system=words["system"], user=words["user"])

    def catalogue(self, name: str, own: dict[str, Any]) -> dict[str, Any]:
        """The catalogue with the pack's texts."""
        said, rubrics = self.texts.get("questions", {}), self.texts.get("rubrics", {})
        questions = [{**entry, "text": said.get(entry.get("id", ""), entry["text"])} for entry in own["questions"]]
        changed = {"questions": questions} | ({"rubrics": {**own["rubrics"], **rubrics}} if "rubrics" in own else {})
        return {**own, **changed, "version": f"{_version(name, changed)};pack+{self.hash}"}


_NONE: Mapping[str, Pack] = MappingProxyType({})
_USED: ContextVar[Mapping[str, Pack]] = ContextVar("prompt packs", default=_NONE)


@contextmanager
def using(packs: Mapping[str, Pack]) -> Iterator[None]:
    """While this lasts, prompts and catalogues (by name) come in the words of these packs."""
    token = _USED.set(packs)
    try:
        yield
    finally:
        _USED.reset(token)


def load_prompt(name: str) -> Prompt:
    """The prompt with this name, for example "mbench_trigger_human.v1"."""
    own, pack = own_prompt(name), _USED.get().get(name)
    return own if pack is None else pack.prompt(own)


@cache
def own_prompt(name: str) -> Prompt:
    """The package's own words of a prompt."""
    text = _read(f"{name}.md")
    match = re.fullmatch(r"---\nsource: (.*?)\n---\n# system\n(.*?)\n# user\n(.*)", text, re.DOTALL)
    if not match:
        raise ContractError(f"Prompt file {name}.md must have a 'source:' between '---' lines, then '# system' and '# user'")
    source, system, user = (part.strip() for part in match.groups())
    return Prompt(name, _version(name, [system, user]), source, system, user, frozenset(PLACEHOLDER.findall(system + user)))


def load_catalogue(name: str) -> dict[str, Any]:
    """A YAML catalogue of fixed questions. Its `version` has the form of a prompt's version."""
    own, pack = own_catalogue(name), _USED.get().get(name)
    return own if pack is None else pack.catalogue(name, own)


@cache
def own_catalogue(name: str) -> dict[str, Any]:
    """The package's own words of a catalogue."""
    values = parse_yaml(_read(f"{name}.yaml"))
    return {**values, "version": _version(name, values["questions"])}


def is_catalogue(name: str) -> bool:
    return f"{name}.yaml" in _files()


def _version(name: str, words: object) -> str:
    return f"{name}+{sha256_json(words)[:8]}"


def prompt_names() -> list[str]:
    """The names of all prompts and catalogues."""
    return sorted(name.rpartition(".")[0] for name in _files())


def _read(name: str) -> str:
    if name not in _files():
        raise ContractError(f"There is no prompt file {name}; the benchmarks hold {', '.join(prompt_names())}")
    return _files()[name].read_text(encoding="utf-8")


@cache
def _files() -> dict[str, Traversable]:
    """Every prompt file by name."""
    folders = [files(package) / "prompts" for package in benchmark_packages()]
    found = [entry for folder in folders if folder.is_dir() for entry in folder.iterdir()]
    return {entry.name: entry for entry in found if entry.name.endswith((".md", ".yaml"))}
