"""The documents of a dataset (JSON, JSON lines, YAML, CSV, XLSX), read with limits and checked field by field."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookback import json_text
from lookback.errors import Reason, brief
from lookback.layouts.reading import Breach
from lookback.yaml_files import parse_yaml

# Real documents are far smaller (an action.json of 15 minutes is 6 MB); larger ones could fill the memory.
MAX_BYTES = {".json": 64 << 20, ".yaml": 1 << 20, ".yml": 1 << 20, ".jsonl": 256 << 20, ".csv": 64 << 20, ".xlsx": 32 << 20}
MAX_UNPACKED_XLSX = 512 << 20
SURROGATE = re.compile("[\ud800-\udfff]")


class Document:
    """A parsed mapping whose errors name the file and the field. Fields may be dotted: `metadata.object_anchor`."""

    def __init__(self, value: Any, where: Path | str, prefix: str = ""):
        if not isinstance(value, dict):
            raise Breach(where, prefix or "document", f"is {_kind(value)}, not a mapping", "write it as {...} with named fields")
        self.value, self.where, self.prefix = value, where, prefix

    def get(self, field: str) -> Any:
        """The raw value, None when absent."""
        value: Any = self.value
        for part in field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def first(self, *fields: str) -> str:
        """The first of these fields that is present, else the first name."""
        return next((name for name in fields if self.get(name) not in (None, "")), fields[0])

    def text(self, field: str, default: str | None = None) -> str:
        value = self.get(field)
        if value is None and default is not None:
            return default
        if not _is_text(value):
            raise self.breach(field, value, "a text")
        return str(value).strip()

    def name(self, field: str) -> str:
        """A text that may become part of an id: no separators, no control characters."""
        value = self.text(field)
        if any(character in value for character in "/\\:") or not value.isprintable():
            raise Breach(
                self.where,
                self.prefix + field,
                f"{value!r} holds a character that ids cannot have",
                "use letters, digits, '_', '-' and '.'",
            )
        return value

    def integer(self, field: str, low: int = 0) -> int:
        value = self.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int_or_none(value) or value < low:
            raise self.breach(field, value, f"a whole number of {low} or more")
        return int(value)

    def number(self, field: str) -> float | None:
        """A finite number above 0; None when absent."""
        value = self.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value) or value <= 0:
            raise self.breach(field, value, "a number above 0")
        return float(value)

    def texts(self, field: str, default: list[str] | None = None) -> list[str]:
        value = self.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, list) or not value or not all(map(_is_text, value)):
            raise self.breach(field, value, "a list of texts")
        return [part.strip() for part in value]

    def rows(self, field: str) -> list[Any]:
        value = self.get(field)
        if not isinstance(value, list) or not value:
            raise self.breach(field, value, "a list with at least one entry")
        return value

    def inner(self, field: str) -> Document:
        return Document(self.get(field), self.where, f"{self.prefix}{field}.")

    def breach(self, field: str, value: Any, wanted: str) -> Breach:
        if value is None:
            return Breach(self.where, self.prefix + field, "is missing", f"add it as {wanted}", Reason.MISSING_INPUT)
        return Breach(self.where, self.prefix + field, f"is {_kind(value)}, not {wanted}", f"write {wanted}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and is_unicode(value)


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8. JSON can contain half a surrogate pair, and file names can contain any byte."""
    return SURROGATE.search(text) is None


def int_or_none(value: float) -> int | None:
    return int(value) if is_finite(value) else None


def is_finite(value: float) -> bool:
    """Whether a number is finite and fits; JSON can hold whole numbers with more digits than a float."""
    return abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)


def read_json(path: Path) -> Any:
    return _parse_json(_text(path), path)


def read_jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    """('file:line', value or the Breach of that line) for every line that is not blank."""
    from lookback.paths import portable

    name = portable(path)
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            yield where, _parse_json(line, where)
        except Breach as breach:
            yield where, breach


def read_yaml(path: Path) -> Any:
    try:
        return parse_yaml(_text(path))
    except ValueError as error:
        raise Breach(path, "document", f"is not valid YAML ({_short(error)})", "correct it at that place") from None


def read_rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """('file:row', {column: text}) of a CSV or XLSX file; column names are lower-case, empty rows are skipped."""
    from lookback.paths import portable

    table = _xlsx(path) if path.suffix.lower() == ".xlsx" else _csv(path)
    if not table or not any(cell.strip() for cell in table[0]):
        raise Breach(path, "header", "has no header row", "name the columns in the first row")
    header = [cell.strip().lower() for cell in table[0]]
    named = [name for name in header if name]
    if len(set(named)) != len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise Breach(path, "header", f"has the column '{twice}' twice", "keep one of them")
    rows = []
    for number, cells in enumerate(table[1:], start=2):
        if any(cell.strip() for cell in cells):
            rows.append((f"{portable(path)}:{number}", {k: v.strip() for k, v in zip(header, cells, strict=False) if k}))
    return rows


def _csv(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(_text(path), newline="")))
    except csv.Error as error:
        raise Breach(path, "document", f"is no readable CSV file ({_short(error)})", "save it again as CSV") from None


def _xlsx(path: Path) -> list[list[str]]:
    import openpyxl

    _check_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > MAX_UNPACKED_XLSX:
            raise Breach(path, "document", f"unpacks to {unpacked >> 20} MB", "save only the phase sheet")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            return [[_cell(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        finally:
            book.close()
    except Breach:
        raise
    except Exception as error:  # zipfile, zlib, XML parser and openpyxl share no base class
        raise Breach(path, "document", f"is no readable XLSX file ({_short(error)})", "save it again as XLSX or CSV") from None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _text(path: Path) -> str:
    _check_size(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Breach(path, "document", f"is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    except OSError as error:
        raise Breach(path, "document", f"cannot be read ({error.strerror})", "check its permissions") from None


def _check_size(path: Path) -> None:
    if not path.is_file():
        raise Breach(path, "document", "does not exist", "put the file there", Reason.MISSING_INPUT)
    limit = MAX_BYTES[path.suffix.lower()]
    if path.stat().st_size > limit:
        raise Breach(path, "document", f"is larger than {limit >> 20} MB", "this cannot be such a document; check the file")


def _parse_json(text: str, where: Path | str) -> Any:
    try:
        return json_text.loads(text)
    except ValueError as error:
        raise Breach(where, "document", f"is not valid JSON ({_short(error)})", "correct it at that place") from None


def _kind(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", bool: "true or false", type(None): "empty"}
    return kinds.get(type(value)) or brief(value)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
