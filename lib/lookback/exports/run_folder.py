"""The run folder that `lookback eval` writes, in MBench's layout: items.jsonl, eval.log, metrics/<name>/{units,items}.jsonl
and summary.json (its README, "Output Layout")."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.errors import NotScorable
from lookback.files import write_json, write_text
from lookback.judging.gate import trigger_verdicts
from lookback.judging.recording import scorer
from lookback.judging.verdicts import Verdict, clip_verdicts
from lookback.measures.scores import m_score
from lookback.params import RunParams
from lookback.scoring.aggregate import UNMEASURABLE, missing_rule
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table

FILES = ("items.jsonl", "units.jsonl", "summary.json")  # of one metric
SUMMED = ["score", "score_raw", "triggered", "trigger_score", "model_id", "phase", "reason"]


def write_run_folder(params: RunParams, output: Path, log_file: bool = True, benchmark: str | None = None) -> Path:
    """Write the folder with every metric of the run (or of one benchmark); metrics of other benchmarks fit into the same layout.

    What an earlier evaluation wrote about other metrics is removed.
    """
    folder = params.paths.tables
    gated = folder / "gated.parquet"
    clips, items, units = (
        table if benchmark is None else table[table["benchmark"] == benchmark]
        for table in (read_table(folder, name) for name in ("clips", "gated" if gated.is_file() else "items", "units"))
    )
    items, units = only_chosen(items, params), only_chosen(units, params)
    judged = folder / "judgements.parquet"
    triggers = _triggers(read_table(folder, "judgements"), params) if judged.is_file() else {}
    _write_lines(
        output / "items.jsonl", [{"item_id": row["clip_id"], "model_id": row["model_id"]} for row in clips.to_dict("records")]
    )
    for metric in written_metrics(output) - {*items["metric"]}:
        _remove(output / "metrics" / metric)
    log = []
    for metric, own in items.groupby("metric", sort=True):
        target = output / "metrics" / str(metric)
        rows = [_item(row, triggers) for row in own.to_dict("records")]
        _write_lines(target / "items.jsonl", rows)
        _write_lines(target / "units.jsonl", [_unit(row, triggers) for row in units[units["metric"] == metric].to_dict("records")])
        groups = _summary(str(metric), rows, gated=not params.judging.ignore_trigger)
        write_json(target / "summary.json", {"metric": metric, "groups": groups})
        log += [_log_line(str(metric), row) for row in rows]
    if log_file:
        write_text(output / "eval.log", "".join(f"{line}\n" for line in log))
    return output


def written_metrics(output: Path) -> set[str]:
    """The metrics whose results lie in the folder."""
    return {path.parent.name for path in (output / "metrics").glob(f"*/{FILES[0]}")}


def _remove(folder: Path) -> None:
    """Remove the files of a metric, and their folder unless somebody put something else there."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _triggers(judgements: pd.DataFrame, params: RunParams) -> dict[tuple[str, ...], Verdict]:
    """For every clip, whether the trigger happened: the verdict of the judge whose answers count."""
    asked = judgements[judgements["task"] == "trigger"]
    counted = asked[asked["backend"] == scorer(params)] if len(asked) else asked
    return trigger_verdicts(clip_verdicts(counted, {"trigger": counted["judge"].iloc[0]})) if len(counted) else {}


def _triggered(row: dict[str, Any], triggers: dict[tuple[str, ...], Verdict]) -> dict[str, float]:
    """`triggered` and `trigger_score` of a T clip; empty if the answer could not be read."""
    verdict = triggers.get(tuple(row[name] for name in KEYS)) if row["setting"] == "T" else None
    if verdict is None or verdict.value is None:
        return {}
    return {"triggered": float(verdict.answer == "yes"), "trigger_score": verdict.value}


def _scores(row: dict[str, Any]) -> dict[str, float]:
    """`score`, and `score_raw` if it differs from the score."""
    if pd.isna(row["value"]):
        return {}
    scores = {"score": float(row["value"])}
    if pd.notna(row["raw"]) and float(row["raw"]) != scores["score"]:
        scores["score_raw"] = float(row["raw"])
    return scores


def _item(row: dict[str, Any], triggers: dict[tuple[str, ...], Verdict]) -> dict[str, Any]:
    scores = _scores(row) | _triggered(row, triggers)
    record = {"item_id": row["clip_id"], "model_id": row["model_id"], "scores": scores, "n_units": int(row["n_units"])}
    if row["phase"]:
        record["phase"] = row["phase"]
    if row["reason"]:
        record["reason"] = row["reason"]
    raw = {"raw": None if pd.isna(row["raw"]) else float(row["raw"]), "detail": row["detail"], "backend": row["backend"]}
    return {**record, "metadata": {"raw_scores": raw, "variant": row["variant"]}}


def _unit(row: dict[str, Any], triggers: dict[tuple[str, ...], Verdict]) -> dict[str, Any]:
    raw = {name: None if pd.isna(row[name]) else row[name] for name in ("kind", "frame", "frame_other", "phase", "raw", "detail")}
    record = {"unit_id": f"{row['clip_id']}__{row['unit_id']}", "item_id": row["clip_id"], "model_id": row["model_id"]}
    if row["reason"]:
        record["reason"] = row["reason"]
    return {**record, "scores": _scores(row) | _triggered(row, triggers), "metadata": {"raw_scores": raw}}


def _summary(metric: str, rows: list[dict[str, Any]], gated: bool) -> dict[str, Any]:
    """Means per model (and phase) with n; with triggers also the trigger coverage, and the M-Score where clips that did not trigger
    have no score (`gated`). `score_raw` stands where it is not the score of every item.

    A clip that the video makes unmeasurable is left out of `score` or counts as 0 there, as the preset says. Where a group has such
    clips, both means stand beside it.
    """
    groups: dict[str, Any] = {}
    frame = pd.DataFrame([_summed(row) for row in rows]).reindex(columns=SUMMED)
    frame = frame.astype({"score": float, "score_raw": float})
    failed = frame["reason"].isin([str(reason) for reason in UNMEASURABLE])
    rule = missing_rule(metric, rows[0]["metadata"]["variant"] if rows else "")
    zeroed = frame["score"].mask(failed, 0.0)
    frame = frame.assign(left_out=frame["score"], zeroed=zeroed, score=zeroed if rule == "zero" else frame["score"], failed=failed)
    for (model, phase), own in frame.groupby(["model_id", "phase"], sort=True):
        name = f"{model}:{phase}" if phase else str(model)
        own = own if (own["score_raw"] != own["left_out"])[own["score_raw"].notna()].any() else own.drop(columns="score_raw")
        group: dict[str, Any] = {
            key: float(own[key].mean()) for key in ("score", "score_raw", "triggered", "trigger_score") if _has(own, key)
        }
        group |= {"n": int(own["left_out"].notna().sum()), "n_items": len(own)}
        if own["failed"].any():
            group |= {"missing": rule, "score_missing_zero": float(own["zeroed"].mean())}
            group |= {"score_missing_left_out": float(own["left_out"].mean())} if _has(own, "left_out") else {}
        if _has(own, "triggered"):
            known = own[own["triggered"].notna()]
            scores, fired = known.reindex(columns=["score"])["score"].to_numpy(float), known["triggered"].to_numpy() > 0
            group |= {"trigger_coverage": float(fired.mean())} | ({"m_score": _m_score(scores, fired)} if gated else {})
        groups[name] = group
    return groups


def _summed(row: dict[str, Any]) -> dict[str, Any]:
    """What the means are made of. Raw numbers count for every item with a score, also where an item does not repeat it."""
    raw = {"score_raw": row["metadata"]["raw_scores"]["raw"]} if "score" in row["scores"] else {}
    return {**row["scores"], **raw, "model_id": row["model_id"], "phase": row.get("phase", ""), "reason": row.get("reason", "")}


def _m_score(scores: np.ndarray, fired: np.ndarray) -> float | None:
    """The M-Score; None if no triggered clip could be scored."""
    try:
        return m_score(scores, fired)
    except NotScorable:
        return None


def _has(frame: pd.DataFrame, column: str) -> bool:
    return column in frame and bool(frame[column].notna().any())


def _log_line(metric: str, row: dict[str, Any]) -> str:
    said = ", ".join(f"{name}={value:.4f}" for name, value in row["scores"].items()) or f"no score: {row.get('reason', '')}"
    return f"{metric} {row['model_id']} {row['item_id']} {said}"


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))
