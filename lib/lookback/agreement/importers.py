"""Read votes: tidy CSV or JSON lines, Label Studio exports, and the CSV of the annotation desk.

One row is one vote: task, benchmark, setting, dimension, clip_a, model_a, clip_b, model_b, scene, annotator, label, time (seconds
since 1970, or a date), simulated. `clip_b`/`model_b` are empty where one clip is judged. A dimension may have a question's id after
"#" ("continuity_of_memory#12"), which keeps several questions of one dimension separate.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookback import json_text
from lookback.agreement.files import read_csv_texts, read_json_lines, read_parquet_file, read_text
from lookback.errors import ContractError, UsageError, brief
from lookback.names import odd_character, one_line
from lookback.tables import SCHEMAS

DATA_COLUMNS = ("task", "benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b", "scene", "simulated")
ANSWER_TYPES = ("choices", "rating", "number", "pairwise")
# Label Studio's Pairwise control answers left or right; A is shown on the left
SIDES = {"left": "1", "right": "-1"}


def is_label_studio(content: Any) -> bool:
    """A list of tasks with `data` and `annotations`."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(e, dict) and "data" in e and "annotations" in e for e in content)
    )


def read_label_studio(content: list[dict[str, Any]], where: str) -> pd.DataFrame:
    """One row per annotator's answer; skipped (cancelled) annotations are left out, unreadable ones are an error."""
    rows = []
    for entry in content:
        name = f"{where}, task {entry.get('id', '?')}"
        data = entry["data"]
        base = {column: data[column] for column in DATA_COLUMNS if column in data}
        for annotation in entry["annotations"]:
            if annotation.get("was_cancelled"):
                continue
            annotator, time = _annotator(annotation, name), _seconds(str(annotation.get("created_at") or ""), name)
            answers = [r for r in annotation.get("result", []) if r.get("type") in ANSWER_TYPES]
            if not answers:
                raise ContractError(f"{name}: the annotation of {annotator} holds no choice and no rating; complete or skip it")
            for answer in answers:
                dimension = base.get("dimension") or answer.get("from_name")
                rows.append({**base, "dimension": dimension, "annotator": annotator, "label": _answer(answer, name), "time": time})
    if not rows:
        raise ContractError(f"{where}: the export holds no completed annotation")
    return pd.DataFrame(rows)


def _annotator(annotation: dict[str, Any], where: str) -> str:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    if who in (None, ""):
        raise ContractError(f"{where}: an annotation does not say who completed it (completed_by)")
    return str(who)


def _answer(answer: dict[str, Any], where: str) -> str:
    kind, value = answer["type"], answer.get("value", {})
    if kind == "choices":
        chosen = value.get("choices", [])
        if len(chosen) != 1:
            raise ContractError(f"{where}: expected one choice, found {chosen}; make the control single-choice")
        return str(chosen[0])
    if kind == "pairwise":
        side = value.get("selected", answer.get("selected"))
        if side not in SIDES:
            raise ContractError(f"{where}: a pairwise answer must be left or right, found {side!r}")
        return SIDES[side]
    found = value.get(kind)
    if found is None:
        raise ContractError(f"{where}: the {kind} answer has no value")
    return str(int(found)) if float(found).is_integer() else str(found)


COLUMNS = list(SCHEMAS["ratings"].columns)
REQUIRED = ["task", "benchmark", "dimension", "clip_a", "model_a", "annotator", "label"]
DEFAULTS = {"setting": "", "clip_b": "", "model_b": "", "scene": "", "simulated": False}
TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}


def read_ratings(path: str | Path) -> pd.DataFrame:
    """Votes from a .csv, .jsonl, .json (Label Studio export or a list of records) or .parquet file, in the tidy schema."""
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"There is no ratings file {source}")
    try:
        votes = tidy(_read(source), source.name)
    except UnicodeEncodeError:  # JSON can contain half of a surrogate pair
        raise ContractError(f"{source.name}: a vote holds half a character; write the file as UTF-8") from None
    if votes.empty:
        raise ContractError(f"{source.name} holds no votes; below the header each row is one vote")
    return votes


def read_gold(path: str | Path) -> pd.DataFrame:
    """Answers to items with a known answer, as the annotation desk writes gold.csv; answers to practice items are left out.

    Columns: annotator, and right, or in its place label and expected.
    """
    source = Path(path)
    if not source.is_file():
        raise UsageError(f"There is no file of gold answers {source}")
    table = read_csv_texts(source)
    if {"label", "expected"} <= set(table) and "right" not in table:
        table["right"] = (table["label"].str.lower() == table["expected"].str.lower()).astype(str)
    if not {"annotator", "right"} <= set(table):
        raise ContractError(f"{source.name}: gold answers need the columns annotator and right (or label and expected)")
    if "role" in table:
        table = table[table["role"] == "gold"]
    odd = table.loc[~table["right"].str.lower().isin(TRUE | FALSE), "right"]
    if len(odd):
        raise ContractError(f"{source.name}: {odd.iloc[0]!r} in column right is neither true nor false")
    return table[["annotator"]].assign(right=table["right"].str.lower().isin(TRUE)).reset_index(drop=True)


def _read(source: Path) -> pd.DataFrame:
    suffix = source.suffix.lower()
    if suffix == ".csv":
        return read_csv_texts(source)
    if suffix in {".jsonl", ".ndjson"}:
        return pd.DataFrame(read_json_lines(source, "vote"))
    if suffix == ".json":
        return _read_json(source)
    if suffix == ".parquet":
        return read_parquet_file(source)
    raise UsageError(f"{source.name}: unknown kind of ratings file; use .csv, .jsonl, .json (Label Studio) or .parquet")


def tidy(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """The tidy schema's columns and types; missing optional columns get their empty value, unknown columns are an error."""
    lacking = [column for column in REQUIRED if column not in table]
    unknown = [str(column) for column in table if column not in COLUMNS]
    if lacking or unknown:
        parts = [f"lacks {', '.join(lacking)}"] * bool(lacking) + [f"has unknown {', '.join(unknown)}"] * bool(unknown)
        raise ContractError(f"{where}: the ratings table {' and '.join(parts)}; its columns are {', '.join(COLUMNS)}")
    result = table.assign(**{name: value for name, value in DEFAULTS.items() if name not in table}).copy()
    for column in COLUMNS:
        if column == "time":
            result["time"] = _times(result["time"], where) if "time" in result else float("nan")
        elif column == "simulated":
            result["simulated"] = _flags(result["simulated"], where)
        else:
            result[column] = _texts(result[column], where)
    result["label"] = result["label"].str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)
    empty = [c for c in REQUIRED if (result[c] == "").any()]
    if empty:
        row = int((result[empty[0]] == "").to_numpy().argmax())
        raise ContractError(f"{where}: vote {row + 1} has no {empty[0]}; every vote needs {', '.join(REQUIRED)}")
    return result[COLUMNS].reset_index(drop=True)


def _texts(values: pd.Series, where: str) -> pd.Series:
    """Text without surrounding blanks; whole numbers without a decimal point."""

    def text(value: object) -> str:
        if pd.isna(value):
            return ""
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if odd := odd_character(str(value).strip()):
            raise ContractError(f"{where}: a vote holds '{one_line(str(value))}' with {odd}; ids, names and labels are plain text")
        return str(value).strip()

    nested = [value for value in values if isinstance(value, list | dict)]
    if nested:
        raise ContractError(f"{where}: a vote holds {brief(nested[0])} where one text or number belongs")
    codes, found = pd.factorize(values, use_na_sentinel=False)
    texts = np.array([text(value) for value in found], dtype=object)
    return pd.Series(texts[codes] if len(found) else texts, index=values.index, dtype=str)


def _times(values: pd.Series, where: str) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values):
        return values.astype(float)
    codes, found = pd.factorize(_texts(values, where))
    return pd.Series(np.array([_seconds(text, where) for text in found], dtype=float)[codes], index=values.index)


def _seconds(text: str, where: str) -> float:
    """Seconds since 1970 from a number or a date (ISO 8601; UTC where it names no zone); NaN where there is none."""
    if text.lower() in ("", "nan"):
        return float("nan")
    with suppress(ValueError):
        if np.isfinite(seconds := float(text)):
            return seconds
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    raise ContractError(f"{where}: the time {brief(text)} is neither seconds since 1970 nor a date like 2026-03-01T10:00:00")


def _flags(values: pd.Series, where: str) -> pd.Series:
    words = _texts(values, where).str.lower()
    odd = sorted(set(words) - TRUE - FALSE)
    if odd:
        raise ContractError(f"{where}: column simulated must be true or false, found {', '.join(odd[:3])}")
    return words.isin(TRUE)


def _read_json(source: Path) -> pd.DataFrame:
    try:
        content = json_text.loads(read_text(source))
    except json.JSONDecodeError as error:
        raise ContractError(f"{source.name}, line {error.lineno}: not JSON ({error.msg})") from None
    except ValueError as error:
        raise ContractError(f"{source.name}: not JSON ({str(error)[:100]})") from None
    if is_label_studio(content):
        try:
            return read_label_studio(content, source.name)
        except (AttributeError, TypeError, KeyError, ValueError, OverflowError) as error:
            problem = f"{type(error).__name__}: {str(error)[:100]}"
            raise ContractError(f"{source.name}: not as Label Studio exports annotations ({problem}); export it again") from None
    if isinstance(content, list) and all(isinstance(entry, dict) for entry in content):
        return pd.DataFrame(content)
    raise ContractError(f"{source.name}: neither a Label Studio export nor a list of votes")
