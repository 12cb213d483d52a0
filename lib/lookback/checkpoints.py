"""Score the clips of a model's checkpoints while it trains, and keep a curve per metric.

Every folder below the watched one is a checkpoint: a dataset in any layout, or plain videos. A number in its name is its step. It
is scored once its files have not changed for a while (or a file `DONE` lies in it), and again when they or the settings change. The
curve shows the last settings: other metrics replace the earlier ones. A training loop can call `score_folder` itself instead of
having the folder watched.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from lookback import stages
from lookback.api import forget_failures, replaced, run_params
from lookback.errors import LookbackError, UsageError
from lookback.exports.results import write_results
from lookback.files import sha256_json, write_json, write_text
from lookback.names import one_line
from lookback.params import RunParams
from lookback.paths import expanded
from lookback.pipeline.lock import run_lock
from lookback.report.figures.curve import CURVE_BY as BY
from lookback.report.figures.curve import draw_curve
from lookback.scoring.aggregate import aggregate, with_clip_facts
from lookback.tables import csv_text, read_table

STATE, CURVE, RUNS = "checkpoints.json", "curve.csv", "checkpoints"
DONE = "DONE"
COLUMNS = ["checkpoint", "step", *BY, "mean", "ci_low", "ci_high", "n", "n_items", "n_clusters", "ci_note", "reasons"]
STAGES = ("curation", "extraction", "scoring", "judging")
SETTINGS = {"seed", "profile", "device", *STAGES}  # parameters that change the scores of a checkpoint


@dataclass(frozen=True)
class Checkpoint:
    """One folder of clips, and a hash of the names, sizes and times of its files."""

    folder: Path
    state: str
    settled: bool
    label: str = ""  # a name other than the folder's

    @property
    def name(self) -> str:
        return self.label or self.folder.name

    @property
    def step(self) -> int | None:
        """The last number in the name."""
        numbers = re.findall(r"\d+", self.name)
        return int(numbers[-1]) if numbers else None


def checkpoints(folder: Path, settle_s: float) -> list[Checkpoint]:
    """The checkpoints of a folder in the order of their steps."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder to watch")
    found = [_checkpoint(each, settle_s) for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    return sorted((each for each in found if each is not None), key=lambda each: (each.step is None, each.step or 0, each.name))


def _checkpoint(folder: Path, settle_s: float) -> Checkpoint | None:
    files = [(str(path.relative_to(folder)), path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        return None
    newest = max(facts.st_mtime for _, facts in files)
    settled = (folder / DONE).is_file() or time.time() - newest >= settle_s
    return Checkpoint(folder, sha256_json([[name, facts.st_size, facts.st_mtime_ns] for name, facts in files])[:16], settled)


def watch(folder: Path, params: RunParams, settle_s: float, every_s: float, once: bool) -> Iterator[str]:
    """Score new and changed checkpoints as they settle; one line each. Goes on until it is interrupted, or once over.

    Those that could not be scored by an earlier call are tried once more.
    """
    again = {name for name, record in _scored(params.paths.root).items() if record.get("problem")}
    while True:
        scored = _scored(params.paths.root)
        for checkpoint in checkpoints(folder, settle_s):
            known = scored.get(checkpoint.name, {}).get("state") == _state(checkpoint, params)
            if checkpoint.settled and (not known or checkpoint.name in again):
                again.discard(checkpoint.name)
                yield _line(checkpoint, score_checkpoint(checkpoint, params))
        if once:
            return
        time.sleep(every_s)


def score_folder(
    folder: Path,
    output: Path,
    metrics: Sequence[str] = (),
    layout: str = "auto",
    workers: int = 1,
    step: int | None = None,
) -> dict[str, Any]:
    """Score a checkpoint's clips from a training loop: its line of the record. `output` holds the curve over all of them.

    Without `step`, the number in the folder's name is the step.
    """
    folder = expanded(folder)
    if (checkpoint := _checkpoint(folder, 0.0)) is None:
        raise UsageError(f"{folder}: there are no files to score")
    if step is not None:
        checkpoint = replace(checkpoint, label=step_name(step))
    sections = {
        "curation": {"sources": [{"root": str(folder.absolute()), "layout": layout}]},
        "extraction": {"always": []} if metrics else {},
        "scoring": {"metrics": list(metrics)},
    }
    return score_checkpoint(checkpoint, run_params(str(output), workers, sections))


def step_name(step: int) -> str:
    """The name of the checkpoint of a step."""
    return f"step-{step}"


def score_checkpoint(checkpoint: Checkpoint, params: RunParams) -> dict[str, Any]:
    """Score one checkpoint, add it to the curve, and draw the curve again. If it cannot be scored, the reason is recorded."""
    root = params.paths.root
    source = params.curation.sources[0].model_copy(update={"root": str(checkpoint.folder.absolute())})
    own = params.changed(curation={"sources": [source]}).model_copy(update={"output": str(root / RUNS / checkpoint.name)})
    problem, rows = "", pd.DataFrame(columns=COLUMNS)
    started = time.monotonic()
    try:
        with run_lock(own.paths.root):
            forget_failures(own)
            for name in STAGES:
                tables = getattr(stages, name)(own)
            write_results(own)
        rows = _rows(checkpoint, tables["gated"], read_table(own.paths.tables, "clips"), params.seed, params.scoring.resamples)
    except LookbackError as error:
        problem = one_line(str(error))
    record = {
        "step": checkpoint.step,
        "state": _state(checkpoint, params),
        "seconds": round(time.monotonic() - started, 1),
        "problem": problem,
    }
    write_json(root / STATE, {**_scored(root), checkpoint.name: record})
    earlier = _curve(root)
    own = earlier["checkpoint"] == checkpoint.name
    curve = pd.concat([each for each in (earlier[~own], rows) if len(each)] or [rows], ignore_index=True)
    curve = curve.sort_values([*BY, "step", "checkpoint"], ignore_index=True)
    write_text(root / CURVE, csv_text(curve))
    draw_curve(curve, root)
    gone = {*earlier.loc[own, "metric"]} - {*rows["metric"]}
    return {**record, "rows": len(rows), "scored": int(rows["mean"].notna().sum()), "replaced": len(gone)}


def _rows(checkpoint: Checkpoint, items: pd.DataFrame, clips: pd.DataFrame, seed: int, resamples: int) -> pd.DataFrame:
    found = aggregate(with_clip_facts(items, clips), by=BY, seed=seed, resamples=resamples)
    return found.assign(checkpoint=checkpoint.name, step=checkpoint.step)[COLUMNS]


def _state(checkpoint: Checkpoint, params: RunParams) -> str:
    """Hash of the files of a checkpoint and of the settings that change its scores; its own folder takes the place of the root."""
    roots = {"curation": {"sources": {"__all__": {"root"}}}}
    return sha256_json([checkpoint.state, params.model_dump(mode="json", include=SETTINGS, exclude=roots)])[:16]


def _scored(root: Path) -> dict[str, dict[str, Any]]:
    try:
        known: dict[str, dict[str, Any]] = json.loads((root / STATE).read_text(encoding="utf-8"))
        return known
    except (OSError, ValueError):
        return {}


def _curve(root: Path) -> pd.DataFrame:
    """The curve so far."""
    if not (root / CURVE).is_file():
        return pd.DataFrame(columns=COLUMNS)
    known = pd.read_csv(root / CURVE, keep_default_na=True, dtype={"checkpoint": str, "phase": str})
    known["phase"] = known["phase"].fillna("")
    return known


def _line(checkpoint: Checkpoint, done: dict[str, Any]) -> str:
    if done["problem"]:
        return f"{one_line(checkpoint.name)}: not scored, {done['problem']}"
    also = f"; {replaced(done['replaced'])}" if done["replaced"] else ""
    return f"{one_line(checkpoint.name)}: {done['scored']} of {done['rows']} metrics have values, {done['seconds']:.0f} s{also}"
