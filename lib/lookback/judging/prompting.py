"""Prompt files of the benchmarks: `<benchmark>/prompts/<name>.v<N>.md`, with a header that names the source, and YAML catalogues.

The text of a version never changes: the version and the hash of the text are part of every recording key and table row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from lookback.errors import ContractError
from lookback.files import sha256_json
from lookback.registry import benchmark_packages
from lookback.yaml_files import parse_yaml

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Prompt:
    """One prompt file: the system and the user message, with `{{name}}` placeholders."""

    name: str
    version: str  # name and version of the file, then the first digits of the hash of its text
    source: str
    system: str
    user: str

    def render(self, **values: str) -> tuple[str, str]:
        """The filled-in system and user message. The values must be exactly those of the placeholders."""
        wanted = set(PLACEHOLDER.findall(self.system + self.user))
        if wanted != set(values):
            raise ContractError(f"Prompt {self.name} takes {sorted(wanted)}, not {sorted(values)}")
        return self._fill(self.system, values), self._fill(self.user, values)

    def _fill(self, text: str, values: dict[str, str]) -> str:
        return PLACEHOLDER.sub(lambda match: values[match.group(1)], text)


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt with this name, for example "mbench_trigger_human.v1"."""
    text = _read(f"{name}.md")
    match = re.fullmatch(r"---\nsource: (.*?)\n---\n# system\n(.*?)\n# user\n(.*)", text, re.DOTALL)
    if not match:
        raise ContractError(f"Prompt file {name}.md must have a 'source:' between '---' lines, then '# system' and '# user'")
    source, system, user = (part.strip() for part in match.groups())
    return Prompt(name, f"{name}+{sha256_json([system, user])[:8]}", source, system, user)


@cache
def load_catalogue(name: str) -> dict[str, Any]:
    """A YAML catalogue of fixed questions. Its `version` has the form of a prompt's version."""
    values = parse_yaml(_read(f"{name}.yaml"))
    return {**values, "version": f"{name}+{sha256_json(values['questions'])[:8]}"}


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
