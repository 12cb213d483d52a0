"""Ways to spoil a valid file: bytes, words, and the nodes of JSON, YAML and CSV documents."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

Mutation = Callable[[bytes, np.random.Generator], bytes]

# fmt: off
HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, -(10**400), 1e308, -1e308, 1e-320,
    float("nan"), float("inf"), float("-inf"), "", " ", "\0", "\x1b[2J", "a" * 5000, "9" * 5000, "²", "１２", "\ud800",
    "../../../etc/passwd", "/etc/passwd", "C:\\boot.ini", "~", "file:///etc/passwd",
    "<script>alert(1)</script>", "'; DROP TABLE clips; --", "{{7*7}}", "${HOME}", "`id`", "2024-13-45",
    "!!python/object/apply:os.system [id]", "=cmd|'/c calc'!A1",
    [], {}, [[]], [{}], {"": {}}, [None] * 50, {"a": {"b": {"c": [1]}}},
]
WORDS = [
    b"", b"nan", b"inf", b"-inf", b"1e999", b"-0", b"9" * 400, b"9" * 5000, b"0x10", b"1_0", b"\0", b"\xff\xfe", b"\xed\xa0\x80",
    b"'", b'"', b"{", b"[" * 3000, b"*a", b"&a [*a]", b"!!python/name:os.system", b"2024-13-45", b"1:2:3:4", b"\xe2\x80\xae",
    b"\r", b"\n\n\n", b",,,,,", b"#", b"\xc2\xb2",
]
# fmt: on


def flip(content: bytes, random: np.random.Generator) -> bytes:
    """A few single bits."""
    spoilt = bytearray(content)
    for place in random.integers(0, max(1, len(spoilt)), int(random.integers(1, 9))):
        if spoilt:
            spoilt[place] ^= 1 << int(random.integers(0, 8))
    return bytes(spoilt)


def overwrite(content: bytes, random: np.random.Generator) -> bytes:
    """A run of bytes replaced by zeros, ones or noise: lengths, counts and offsets among them."""
    spoilt = bytearray(content)
    start, size = int(random.integers(0, max(1, len(spoilt)))), int(random.choice([1, 2, 4, 8, 64]))
    spoilt[start : start + size] = [b"\0" * size, b"\xff" * size, random.bytes(size), b"\x7f" + b"\xff" * (size - 1)][
        random.integers(0, 4)
    ]
    return bytes(spoilt)


def cut(content: bytes, random: np.random.Generator) -> bytes:
    return content[: int(random.integers(0, max(1, len(content))))]


def splice(content: bytes, random: np.random.Generator) -> bytes:
    """A part taken out, doubled, or moved."""
    first, second, third = sorted(int(place) for place in random.integers(0, len(content) + 1, 3))
    way = random.integers(0, 3)
    if way == 0:
        return content[:first] + content[second:]
    if way == 1:
        return content[:second] + content[first:second] + content[second:]
    return content[:first] + content[second:third] + content[first:second] + content[third:]


def word(content: bytes, random: np.random.Generator) -> bytes:
    """One word or number replaced, or something put between two."""
    found = list(re.finditer(rb"[^\s,:{}\[\]\"]+", content))
    if not found:
        return content + WORDS[random.integers(0, len(WORDS))]
    spot = found[random.integers(0, len(found))]
    end = spot.end() if random.random() < 0.8 else spot.start()
    return content[: spot.start()] + WORDS[random.integers(0, len(WORDS))] + content[end:]


def _spoil(value: Any, random: np.random.Generator) -> Any:
    """The value with one node, somewhere, replaced, dropped or doubled."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = list(value)[random.integers(0, len(value))]
        if random.random() < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        if random.random() < 0.05:
            return {**value, str(HOSTILE[random.integers(0, len(HOSTILE))])[:50]: value[key]}
        return {**value, key: _spoil(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.85:
        place = int(random.integers(0, len(value)))
        if random.random() < 0.15:
            return value[:place] + value[place + 1 :] if random.random() < 0.5 else value[: place + 1] + value[place:]
        return [*value[:place], _spoil(value[place], random), *value[place + 1 :]]
    return HOSTILE[random.integers(0, len(HOSTILE))]


def json_node(content: bytes, random: np.random.Generator) -> bytes:
    return json.dumps(_spoil(json.loads(content), random)).encode()


def jsonl_node(content: bytes, random: np.random.Generator) -> bytes:
    lines = content.splitlines()
    place = int(random.integers(0, len(lines)))
    return b"\n".join([*lines[:place], json_node(lines[place], random), *lines[place + 1 :]])


def yaml_node(content: bytes, random: np.random.Generator) -> bytes:
    return yaml.safe_dump(_spoil(yaml.safe_load(content), random), allow_unicode=True).encode("utf-8", "surrogatepass")


def csv_cell(content: bytes, random: np.random.Generator) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode())))
    row = int(random.integers(0, len(rows)))
    if rows[row]:
        rows[row][int(random.integers(0, len(rows[row])))] = str(HOSTILE[random.integers(0, len(HOSTILE))])
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


BINARY: tuple[Mutation, ...] = (flip, overwrite, cut, splice)
TEXT: tuple[Mutation, ...] = (flip, cut, splice, word, word)
STRUCTURED: dict[str, Mutation] = {".json": json_node, ".jsonl": jsonl_node, ".yaml": yaml_node, ".csv": csv_cell}


def mutations_of(suffix: str) -> tuple[Mutation, ...]:
    """What fits a kind of file: documents mostly stay well-formed, so that the checks behind the parser are reached too."""
    if suffix in STRUCTURED:
        return (*TEXT, *(STRUCTURED[suffix],) * 5)
    return TEXT if suffix == ".txt" else BINARY
