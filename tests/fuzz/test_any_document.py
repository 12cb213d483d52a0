"""Every public reader takes any document of the right shape with wild values: it gives a table, or one typed error."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import lookback
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from lookback.errors import ContractError
from lookback.layouts import read as read_layout
from lookback.params.stages import Source

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from fuzz import TYPED, quiet, time_limit
from fuzz_mutations import HOSTILE
from fuzz_readers import Reader, all_readers

PACKAGE = Path(lookback.__file__).parent
FIRST_WORDS = {"read", "load", "parse"}
NOT_FROM_OUTSIDE = ("demo", "runners/child", "networks")
NO_DOCUMENT = {  # public readers of other things than JSON, YAML, CSV and tables of text
    "strips.read_strip": "a video",
    "media.packets.read_table": "a video's packets",
    "forensics.curves.read_small": "a video",
    "backends.pretrained.load_pretrained": "a checkpoint",
    "backends.perceptual.loading.read_array_tree": "a checkpoint",
    "benchmarks.memobench.parity_clips.read_clip": "a video",
    "benchmarks.wrbench.prompt_pack.read_released_pack": "Python source",
    "benchmarks.wrbench.prompt_pack.read_released_probes": "Python source",
    "benchmarks.wrbench.prompt_pack.read_released_gate": "Python source",
}


def refused_at_once(source: Source) -> None:
    if found := read_layout(source).violations:
        raise ContractError(found[0].line)


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> list[Reader]:
    with quiet():
        return all_readers(tmp_path_factory.mktemp("documents"), refused_at_once)


def public_readers() -> Iterator[str]:
    """`module.function` of every public function that is named as a reader and takes a path."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix()
        if module.startswith(NOT_FROM_OUTSIDE):
            continue
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and node.name.partition("_")[0] in FIRST_WORDS:
                named = [ast.unparse(each.annotation) for each in node.args.args if each.annotation is not None]
                if {"Path", "str | Path", "list[Path]", "Root"} & set(named):
                    yield f"{module.removesuffix('/__init__').replace('/', '.')}.{node.name}"


def called(read: Callable[[], object]) -> set[str]:
    """`module.function` of everything in the package that a call runs."""
    found = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and (file := frame.f_code.co_filename).startswith(str(PACKAGE)):
            module = Path(file).relative_to(PACKAGE).with_suffix("").as_posix().removesuffix("/__init__")
            found.add(f"{module.replace('/', '.')}.{frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        read()
    finally:
        sys.setprofile(None)
    return found


def test_every_public_reader_is_among_the_readers_that_are_tried(readers):
    tried: set[str] = set()
    with quiet():
        for reader in readers:
            tried |= called(reader.read)
    missing = set(public_readers()) - tried - NO_DOCUMENT.keys()
    assert missing == set(), "give bench/fuzz_readers.py a valid file for each of these"
    assert NO_DOCUMENT.keys() <= set(public_readers())


# fmt: off
FORMS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str]]] = {  # how a kind of document is taken apart and written again
    ".json": (json.loads, json.dumps),
    ".jsonl": (lambda text: [json.loads(line) for line in text.splitlines()], lambda rows: "\n".join(map(json.dumps, rows))),
    ".yaml": (yaml.safe_load, lambda value: yaml.safe_dump(value, allow_unicode=True)),
    ".csv": (lambda text: list(csv.reader(io.StringIO(text))), lambda rows: table(rows)),
    ".txt": (lambda text: [line.split() for line in text.splitlines()], lambda rows: lines(rows)),
}
# fmt: on


def table(rows: list[list[object]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def lines(rows: list[list[object]]) -> str:
    return "\n".join(" ".join(map(str, row)) for row in rows)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value below this one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*at, key)
        yield from places(inner, (*at, key))


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
CELLS = st.integers().map(str) | st.floats().map(str) | st.text(max_size=20) | st.sampled_from(HOSTILE).map(str)


def spoilt(draw: st.DataObject, valid: Any, wild: st.SearchStrategy[Any]) -> Any:
    """The document with one to four of its values replaced, or left out."""
    document = deepcopy(valid)
    for _ in range(draw.draw(st.integers(1, 4))):
        ways = list(places(document))
        assume(ways)
        *way, last = draw.draw(st.sampled_from(ways))
        inside = document
        for key in way:
            inside = inside[key]
        if draw.draw(st.integers(0, 9)):
            inside[last] = deepcopy(draw.draw(wild))
        else:
            del inside[last]
    return document


def hold(reader: Reader, examples: int) -> None:
    """Any spoilt document is taken or refused in a typed error with words, soon."""
    content = reader.path.read_bytes()
    take, write = FORMS[reader.path.suffix]
    valid = take(content.decode())
    wild = CELLS if reader.path.suffix in (".csv", ".txt") else WILD

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None, derandomize=True, deadline=None)
    @given(st.data())
    def check(draw: st.DataObject) -> None:
        document = spoilt(draw, valid, wild)
        if wild is CELLS:
            document = [row if isinstance(row, list) else [row] for row in document]
        reader.path.write_bytes(write(document).encode("utf-8", "surrogatepass"))
        try:
            with time_limit():
                reader.read()
        except TYPED as error:
            assert str(error).strip()

    try:
        with quiet():
            reader.read()
            check()
    finally:
        reader.path.write_bytes(content)


@pytest.mark.parametrize("suffix", FORMS)
def test_wild_values_in_a_document_are_a_table_or_a_typed_error(suffix: str, readers):
    for reader in readers:
        if reader.path.suffix == suffix:
            hold(reader, 100)


@pytest.mark.long
@pytest.mark.parametrize("suffix", FORMS)
def test_a_thousand_documents_of_wild_values_are_tables_or_typed_errors(suffix: str, readers):
    for reader in readers:
        if reader.path.suffix == suffix:
            hold(reader, 1000)
