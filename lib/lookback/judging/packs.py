"""Prompt packs: files with the words of a user's own, named in `judging.prompts` (docs/judges.md shows the format).

A pack is YAML or Markdown. Any other file is handed to the benchmark, which may know the form of its released program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookback.benchmark import Benchmark
from lookback.errors import ContractError, UsageError, hint
from lookback.files import sha256_file
from lookback.judging.prompting import ALWAYS, ASKED, PLACEHOLDER, WHOLE, Pack, is_catalogue, own_catalogue, own_prompt
from lookback.paths import resolve
from lookback.registry import BENCHMARKS
from lookback.yaml_files import MAX_CHARACTERS, parse_yaml

MESSAGES = ("system", "user")
TEXTS = {"question": "questions", "rubric": "rubrics"}  # heading in Markdown -> field of a catalogue
HEADING = re.compile(r"^# (system|user|question|rubric)(?:[ \t]+(\S+))?[ \t]*$", re.MULTILINE | re.IGNORECASE)
HEADER = re.compile(r"\A---\nsource:(.*?)\n---\n", re.DOTALL)
LEFT_OVER = re.compile(r"\{\{.{0,40}", re.DOTALL)
FIELDS = ("source", *MESSAGES, "prompts", *TEXTS.values())


def pack_names() -> list[str]:
    """Every name that `judging.prompts` takes."""
    return sorted(name for benchmark in BENCHMARKS for name in benchmark.prompt_packs())


def read_packs(named: Mapping[str, str]) -> dict[str, Pack]:
    """The packs of a run by the prompts and catalogues that they reword. `named` is `judging.prompts`: pack -> path."""
    found: dict[str, Pack] = {}
    for name, path in named.items():
        owner = next((benchmark for benchmark in BENCHMARKS if name in benchmark.prompt_packs()), None)
        if owner is None:
            raise UsageError(f"judging.prompts: there is no pack '{name}'; {hint(name, pack_names())}")
        pack = read_pack(owner, name, resolve(path))
        found |= dict.fromkeys(owner.prompt_packs()[name], pack)
    return found


def read_pack(owner: Benchmark, name: str, path: Path) -> Pack:
    """One pack, checked against the prompts that it may reword."""
    try:
        return _checked(_values(owner, name, path), owner.prompt_packs()[name], sha256_file(path)[:16])
    except (OSError, UnicodeDecodeError):
        raise ContractError(f"judging.prompts.{name}: {path} cannot be read as text; name a YAML or Markdown file") from None
    except ValueError as error:
        raise ContractError(f"judging.prompts.{name}: {path}: {error}; docs/judges.md shows the format") from None


def _values(owner: Benchmark, name: str, path: Path) -> dict[str, Any]:
    """The fields of the file in the form of a YAML pack."""
    if path.suffix not in (".yaml", ".yml", ".md"):
        released = owner.read_prompt_pack(name, path)
        if released is None:
            raise ValueError("the form of this file is unknown; a pack is a .yaml, .yml or .md file")
        return dict(released)
    with path.open(encoding="utf-8-sig") as handle:
        text = handle.read(MAX_CHARACTERS + 1)
    values = _markdown(text) if path.suffix == ".md" else parse_yaml(text)
    if not isinstance(values, dict) or not values:
        raise ValueError(f"it must hold some of the fields {', '.join(FIELDS)}")
    return values


def _markdown(text: str) -> dict[str, Any]:
    """Sections `# system`, `# user`, `# question ID`, `# rubric NAME`; the first two for one prompt where its name follows."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it is longer than {MAX_CHARACTERS} characters")
    values: dict[str, Any] = {}
    if header := HEADER.match(text):
        values["source"] = " ".join(header.group(1).split())
    headings = list(HEADING.finditer(text))
    before = text[header.end() if header else 0 : headings[0].start()].strip() if headings else ""
    if before:
        raise ValueError(f"the text '{before[:40]}' stands before the first heading; begin with '# system' or '# user'")
    for place, heading in enumerate(headings):
        kind, named = heading.group(1).lower(), heading.group(2)
        end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        target = values
        if kind in TEXTS:
            if named is None:
                raise ValueError(f"the heading '# {kind}' names no {kind}")
            target, kind = values.setdefault(TEXTS[kind], {}), named
        elif named is not None:
            target = values.setdefault("prompts", {}).setdefault(named, {})
        if kind in target:
            raise ValueError(f"'{heading.group(0).strip()}' stands there twice")
        target[kind] = text[heading.end() : end].strip()
    return values


def _checked(values: dict[str, Any], reworded: tuple[str, ...], content: str) -> Pack:
    _known(values, FIELDS, "field")
    names = {prompt.rpartition(".")[0]: prompt for prompt in reworded if not is_catalogue(prompt)}
    shared = {part: _text(values[part], part) for part in MESSAGES if part in values}
    prompts = {prompt: dict(shared) for prompt in names.values()} if shared else {}
    for name, words in _mapping(values, "prompts").items():
        _known([name], [*names], "prompt")
        own = prompts.setdefault(names[name], {})
        own |= {part: _text(text, f"prompts.{name}.{part}") for part, text in _mapping({name: words}, name).items()}
        _known(own, MESSAGES, "part of a prompt")
    for prompt, parts in prompts.items():
        for text in parts.values():
            _check_placeholders(text, own_prompt(prompt).takes | ALWAYS, prompt)
    texts = {
        field: {name: _text(text, f"{field}.{name}") for name, text in _mapping(values, field).items()} for field in TEXTS.values()
    }
    catalogues = [own_catalogue(name) for name in reworded if is_catalogue(name)]
    _known(texts["questions"], [entry["id"] for one in catalogues for entry in one["questions"]], "question")
    _known(texts["rubrics"], [name for one in catalogues for name in one.get("rubrics", {})], "rubric")
    taken = frozenset[str]().union(*(own_prompt(prompt).takes for prompt in names.values()))
    for field, entries in texts.items():
        for name, text in entries.items():
            _check_placeholders(text, taken - ASKED | ALWAYS | WHOLE, f"{field}.{name}")
    if not prompts and not any(texts.values()):
        raise ValueError("it rewords nothing")
    return Pack(content, str(values.get("source", "")), prompts, texts)


def _check_placeholders(text: str, known: frozenset[str], where: str) -> None:
    _known(PLACEHOLDER.findall(text), sorted(known), f"placeholder of {where}")
    if left := LEFT_OVER.search(PLACEHOLDER.sub("", text)):
        raise ValueError(
            f"'{left.group()}' in {where} is no placeholder; write {{{{name}}}} with one of {', '.join(sorted(known))}"
        )


def _known(names: Any, known: Any, what: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} '{name}' in this pack; {hint(str(name), known) if known else 'it has none'}")


def _mapping(values: Mapping[str, Any], field: str) -> dict[str, Any]:
    found = values.get(field) or {}
    if not isinstance(found, dict):
        raise ValueError(f"'{field}' must hold names and texts")
    return found


def _text(value: object, field: str) -> str:
    if value == "" and field.rpartition(".")[2] == "system":  # a released program may send no system message
        return ""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{field}' must be a text")
    return value.strip()
