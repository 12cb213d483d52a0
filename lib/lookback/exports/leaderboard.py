"""A zip per benchmark for a leaderboard: scores, tables, the files that its own scripts read, and what measured each number."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.benchmark import Export
from lookback.clips import KEYS
from lookback.errors import ContractError, LookbackError
from lookback.exports.results import results
from lookback.files import atomic_path
from lookback.names import counted, one_line
from lookback.params import RunParams
from lookback.registry import BENCHMARKS, stand_ins

SCHEMA = "lookback.submission/2"
WRITTEN = (1980, 1, 1, 0, 0, 0)  # the time of every file, so that the same scores give the same bytes
RELEASED = "official"  # the variant that repeats the released programs
UNCHECKED = "whether these clips are the benchmark's own tasks is not checked: compare their number with the paper's"


def write_leaderboard(params: RunParams, output: Path) -> Path:
    """Write `<benchmark>.zip` for every scored benchmark of the run into the folder; or the one zip that `output` names."""
    content = results(params)
    names = sorted({sample["benchmark"] for sample in content["samples"] if sample["scores"]})
    if not names:
        raise ContractError(f"The run '{params.run}' has no scores to export")
    if output.suffix == ".zip" and len(names) > 1:
        raise ContractError(f"The run '{params.run}' has clips of {', '.join(names)}; give a folder, each gets a zip of its own")
    for name in names:
        _write_zip(params, name, content, output if output.suffix == ".zip" else output / f"{name}.zip")
    return output


def _write_zip(params: RunParams, benchmark: str, content: dict[str, Any], target: Path) -> None:
    from lookback.report.beside import own_tables

    own = {**content, **{part: [row for row in content[part] if row["benchmark"] == benchmark] for part in ("samples", "summary")}}
    scored = {row["metric"] for row in own["summary"]}
    own["metrics"] = {name: value for name, value in content["metrics"].items() if name in scored}
    files = {"results.json": json.dumps(own, ensure_ascii=False, indent=1).encode() + b"\n"}
    for name, (table, data) in own_tables(params).items():
        if set(data.items["benchmark"]) == {benchmark}:
            files[f"tables/{name}.csv"] = table.to_csv().encode()
    left_out: dict[str, str] = {}
    for name, write in BENCHMARKS.get(benchmark).exports().items():
        try:
            files |= {f"{name}/{file}": text for file, text in _exported(params, write).items()}
        except LookbackError as error:
            left_out[name] = one_line(str(error))
    submission = _submission(params, benchmark, own, left_out)
    files["submission.json"] = json.dumps(submission, ensure_ascii=False, indent=1).encode() + b"\n"
    _pack(target, files.items())


def _exported(params: RunParams, write: Export) -> dict[str, bytes]:
    """The files of a format by their path."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "files"
        write(params, root)
        if root.is_file():
            return {"table.csv": root.read_bytes()}  # the formats that are one file are tables
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def _submission(params: RunParams, benchmark: str, own: dict[str, Any], left_out: dict[str, str]) -> dict[str, Any]:
    """What a reader of the leaderboard must know: who measured what, with which variant and backends, on how many clips."""
    rows = pd.DataFrame(
        [{**{key: sample[key] for key in KEYS}, **score} for sample in own["samples"] for score in sample["scores"]]
    )
    metrics = {str(name): _measured(part) for name, part in rows.groupby("metric", sort=True)}
    why = [f"{name}: measured by an embedded stand-in" for name, facts in metrics.items() if facts["stand_ins"]]
    why += [f"{name}: variant {facts['variant']}" for name, facts in metrics.items() if facts["variant"] != RELEASED]
    lacking = {name: facts["clips"] - facts["scored"] for name, facts in metrics.items()}
    why += [f"{name}: {counted(count, 'clip')} without a score" for name, count in lacking.items() if count]
    return {
        "schema": SCHEMA,
        "benchmark": benchmark,
        "run": params.run,
        "lookback": own["provenance"]["lookback"],
        "git": own["provenance"]["git"],
        "models": sorted(rows["model_id"].unique()),
        "clips": len(own["samples"]),
        "metrics": metrics,
        "measured_as_released": not why,
        "why_not": why,
        "unchecked": UNCHECKED,
        "left_out": left_out,
    }


def _measured(rows: pd.DataFrame) -> dict[str, Any]:
    named = {part for text in rows["backend"].unique() for part in text.split(",")} - {"", "none"}
    backends = sorted(name for name in named if not name.endswith("=none"))
    per_clip = rows.groupby(KEYS)["value"].count()
    return {
        "variant": "/".join(sorted(rows["variant"].unique())),
        "backends": backends,
        "stand_ins": stand_ins(backends),
        "clips": len(per_clip),
        "scored": int((per_clip > 0).sum()),
    }


def _pack(target: Path, files: Iterable[tuple[str, bytes]]) -> None:
    with atomic_path(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, WRITTEN), content, zipfile.ZIP_DEFLATED)
