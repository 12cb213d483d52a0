"""Label Studio's JSON export: one entry per task, with its data and every annotator's completed annotation.

The task's `data` carries the tidy columns (task, benchmark, setting, dimension, clip_a, model_a, clip_b, model_b, scene);
the answer is the annotation's choices or rating. A project that asks several dimensions at once names each control after its
dimension.
Export format: Label Studio documentation, "Export annotations", raw JSON (`annotations[].result[]`, `completed_by`, `created_at`).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from lookback.errors import ContractError

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
            annotator, time = _annotator(annotation, name), _seconds(annotation, name)
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


def _seconds(annotation: dict[str, Any], where: str) -> float:
    created = annotation.get("created_at")
    if created is None:
        return float("nan")
    try:
        return pd.Timestamp(created).timestamp()
    except ValueError:
        raise ContractError(f"{where}: created_at {created!r} is not a date") from None
