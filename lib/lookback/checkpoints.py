"""Score the clips of a model's checkpoints while it trains, and keep a curve per metric.

Every folder below the watched one is a checkpoint: a dataset in any layout, or plain videos. A number in its name is its step. It
is scored once its files have not changed for a while (or a file `DONE` lies in it), and again when they or the settings change. The
curve shows the last settings: other metrics replace the earlier ones. A training loop can call `score_folder` itself instead of
having the folder watched.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from lookback import stages
from lookback.api import STAGES, forget_failures, keep_clips, replaced, run_params
from lookback.curation.gathering import rejected_line
from lookback.errors import LookbackError, UsageError
from lookback.exports.results import write_results
from lookback.files import locked, sha256_json, write_json, write_text
from lookback.names import last_number, one_line
from lookback.params import RunParams
from lookback.paths import expanded, shown
from lookback.pipeline.lock import run_lock
from lookback.report.figures.curve import CURVE_BY as BY
from lookback.report.figures.curve import draw_curve
from lookback.scoring.aggregate import aggregate, with_clip_facts
from lookback.tables import csv_text, read_csv, read_table

STATE, CURVE, RUNS = "checkpoints.json", "curve.csv", "checkpoints"
DONE = "DONE"
COLUMNS = ["checkpoint", "step", *BY, "mean", "ci_low", "ci_high", "n", "n_items", "n_rejected", "n_clusters", "ci_note", "reasons"]
NUMBERS = ("step", "mean", "ci_low", "ci_high", "n", "n_items", "n_rejected", "n_clusters")  # the other columns are text
SETTINGS = {"seed", "profile", "device", *STAGES}  # parameters that change the scores of a checkpoint


@dataclass(frozen=True)
class Checkpoint:
    """One folder of clips, and a hash of the names, sizes and times of its files."""

    folder: Path
    state: str
    settled: bool
    given: int | None = None  # the step, where it is not read from the folder's name

    @property
    def name(self) -> str:
        return self.folder.name if self.given is None else step_name(self.given)

    @property
    def step(self) -> float | None:
        """The step that was given, else the last number in the name."""
        return self.given if self.given is not None else last_number(self.name)


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
    if (root := params.paths.root).resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{shown(root)} lies in the watched folder, whose folders are checkpoints; name a run elsewhere")
    again = {name for name, record in _scored(params.paths.root).items() if record.get("problem")}
    seen: dict[str, tuple[str, float]] = {}  # the last state of each, and when it was seen first: file times may lie in the future
    while True:
        scored = _scored(params.paths.root)
        for checkpoint in checkpoints(folder, settle_s):
            known = scored.get(checkpoint.name, {}).get("state") == _state(checkpoint, params)
            if known and checkpoint.name not in again:
                continue
            state, since = seen.get(checkpoint.name, ("", 0.0))
            if state != checkpoint.state:
                since = time.monotonic()
                seen[checkpoint.name] = (checkpoint.state, since)
            if checkpoint.settled or time.monotonic() - since >= settle_s:
                again.discard(checkpoint.name)
                yield _line(checkpoint, score_checkpoint(checkpoint, params))
            elif once:
                yield (
                    f"{one_line(checkpoint.name)}: not scored yet, a file's time is less than {settle_s:g} s ago or in the future; "
                    f"call again later, or put a file {DONE} into its folder"
                )
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
    sources = [{"root": str(folder.absolute()), "layout": layout}]
    return score_checkpoint(replace(checkpoint, given=step), step_params(output, {"sources": sources}, metrics, workers))


def step_params(output: Path, curation: dict[str, Any], metrics: Sequence[str], workers: int) -> RunParams:
    """The parameters of a run that scores a step's videos without a judge."""
    extraction: dict[str, Any] = {"always": []} if metrics else {}
    sections: dict[str, Any] = {"curation": curation, "extraction": extraction, "scoring": {"metrics": list(metrics)}}
    return run_params(str(output), workers, sections, said_in="settings of the step")


def step_name(step: int) -> str:
    """The name of the checkpoint of a step."""
    return f"step-{step}"


def score_checkpoint(checkpoint: Checkpoint, params: RunParams) -> dict[str, Any]:
    """Score one checkpoint, add it to the curve, and draw the curve again. If it cannot be scored, the reason is recorded."""
    source = params.curation.sources[0].model_copy(update={"root": str(checkpoint.folder.absolute())})
    own = params.changed(curation={"sources": [source]})
    return score_step(own, checkpoint.name, checkpoint.step, state=_state(checkpoint, params))


def score_step(
    params: RunParams, name: str, step: float | None, only: Collection[tuple[str, ...]] | None = None, state: str = ""
) -> dict[str, Any]:
    """The same for the videos of the parameters' sources. `only` keeps the clips with these keys."""
    root = params.paths.root
    own = params.model_copy(update={"output": str(root / RUNS / name)})
    problem, said, rows = "", "", None
    started = time.monotonic()
    try:
        with run_lock(own.paths.root):
            forget_failures(own)
            for stage in STAGES:
                tables = getattr(stages, stage)(own)
                if stage == "curation" and only is not None:
                    keep_clips(own, tables["clips"], only)
            write_results(own)
        clips, rejected = (read_table(own.paths.tables, table) for table in ("clips", "rejected"))
        said = rejected_line(rejected, own.paths.tables / "rejected.parquet") if len(rejected) else ""
        found = aggregate(with_clip_facts(tables["gated"], clips), by=BY, seed=params.seed, resamples=params.scoring.resamples)
        rows = found.assign(checkpoint=name, step=step, n_rejected=len(rejected))[COLUMNS]
    except LookbackError as error:
        problem = str(error)
    return record_step(root, name, step, rows, problem, state, time.monotonic() - started, said)


def record_step(
    root: Path,
    name: str,
    step: float | None,
    rows: pd.DataFrame | None = None,
    problem: str = "",
    state: str = "",
    seconds: float = 0.0,
    rejected: str = "",
) -> dict[str, Any]:
    """Keep a step's line of the record and its rows of the curve; returns the line. A step with a problem has no rows."""
    rows = pd.DataFrame(columns=COLUMNS) if rows is None else rows
    record = step_record(step, problem, state, seconds, rejected)
    with locked(root / STATE):
        earlier = read_curve(root)
        own = earlier["checkpoint"] == name
        curve = pd.concat([each for each in (earlier[~own], rows) if len(each)] or [rows], ignore_index=True)
        curve = curve.sort_values([*BY, "step", "checkpoint"], ignore_index=True)
        write_text(root / CURVE, csv_text(curve))
        draw_curve(curve, root)
        write_json(root / STATE, {**_scored(root), name: record})  # last: a step that is recorded is not scored again
    gone = {*earlier.loc[own, "metric"]} - {*rows["metric"]}
    return {**record, "rows": len(rows), "scored": int(rows["mean"].notna().sum()), "replaced": len(gone)}


def step_record(step: float | None, problem: str = "", state: str = "", seconds: float = 0.0, rejected: str = "") -> dict[str, Any]:
    """What checkpoints.json keeps of a step."""
    return {"step": step, "state": state, "seconds": round(seconds, 1), "problem": one_line(problem), "rejected": rejected}


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


def read_curve(root: Path) -> pd.DataFrame:
    """The curve so far. A checkpoint may have any name, also NA."""
    if not (root / CURVE).is_file():
        return pd.DataFrame(columns=COLUMNS)
    texts = {name: str for name in COLUMNS if name not in NUMBERS}
    curve = read_csv(root / CURVE, dtype=texts, keep_default_na=False, na_values={name: [""] for name in NUMBERS})
    return curve.reindex(columns=COLUMNS)


def _line(checkpoint: Checkpoint, done: dict[str, Any]) -> str:
    if done["problem"]:
        return f"{one_line(checkpoint.name)}: not scored, {done['problem']}"
    also = f"; {replaced(done['replaced'])}" if done["replaced"] else ""
    also += f"; {done['rejected']}" if done["rejected"] else ""
    return f"{one_line(checkpoint.name)}: {done['scored']} of {done['rows']} metrics have values, {done['seconds']:.0f} s{also}"
