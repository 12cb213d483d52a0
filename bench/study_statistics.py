"""How often are the printed claims false, how often are true ones found, and do the intervals hold the truth? Simulated studies.

    python bench/study_statistics.py [--studies 500] [--workers 2] [--only KIND] [--output statistics.json]
    python bench/study_statistics.py --record                              the same, and docs/statistics.md with its record
    python bench/study_statistics.py --from statistics.json --record       the page from figures measured elsewhere

`study_generators.py` draws the studies, `study_cells.py` says which there are and analyses them. Every finished cell is written at
once; a run that was stopped goes on with the cells that its output lacks. Set OMP_NUM_THREADS=1: a worker has one core.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from multiprocessing import Pool
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from lookback.files import write_json, write_text
from lookback.machine import one_line
from lookback.provenance import git_revision
from recording import MEASURED, ROOT
from study_cells import CELLS, Cell
from study_page import page

COMMAND = "python bench/study_statistics.py --record"
CHUNK = 10  # studies a worker takes at once
MEASURES = ("false", "found", "coverage", "width")
Task = tuple[int, int, range]  # cell, seed, studies
Found = dict[str, dict[str, float]]  # one study: measures by estimate


def one_study(cell: Cell, seed: int, number: int) -> Found:
    """What one study gives; several differences under one name are one family: false if any claim is, the rest as means."""
    rng = np.random.default_rng([seed, crc32(cell.name.encode()), number])
    rows = pd.DataFrame(cell.study(rng))
    found: Found = {}
    for name, own in rows.groupby("estimate", sort=False):
        tested, known = own["claim"].notna() & own["side"].notna(), own["low"].notna() & own["high"].notna()
        real, placed = own["side"].notna() & (own["side"] != 0), known & own["truth"].notna()
        held = (own["low"] - 1e-9 <= own["truth"]) & (own["truth"] <= own["high"] + 1e-9)
        found[str(name)] = {
            "tested": float(tested.any()),
            "false": float((tested & (own["claim"] != 0) & (own["claim"] != own["side"])).any()),
            "found": float((own["claim"] == own["side"])[real].mean()),
            "coverage": float(held[placed].mean()),
            "width": float((own["high"] - own["low"])[known].mean()),
            "none": float((~known).all()),
        }
    return found


def chunk(task: Task) -> tuple[int, list[Found], list[str]]:
    """(cell, what its studies gave, errors): an analysis that fails is counted, and the run goes on."""
    place, seed, numbers = task
    results, errors = [], []
    for number in numbers:
        try:
            results.append(one_study(CELLS[place], seed, number))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
    return place, results, errors


def summary(cell: Cell, results: list[Found], errors: list[str]) -> dict[str, Any]:
    """A row for every estimate of the cell: rates and means with their Monte Carlo errors."""
    rows = []
    for name in dict.fromkeys(name for each in results for name in each):
        table = pd.DataFrame([each[name] for each in results if name in each])
        if not table["tested"].any():
            table[["false", "found"]] = np.nan
        row: dict[str, Any] = {"estimate": name}
        for measure in MEASURES:
            values = table[measure].dropna()
            row[measure] = _rounded(values.mean())
            row[f"{measure}_error"] = _rounded(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        rows.append({**row, "untested": int((table["tested"] == 0).sum()), "without": int(table["none"].sum())})
    failed = {"failed": len(errors), "first_error": errors[0]} if errors else {}
    return {"kind": cell.kind, "situation": cell.situation, "size": cell.size, "studies": len(results), **failed, "rows": rows}


def _rounded(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None


def measured(cells: list[int], studies: int, seed: int, workers: int) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The cells as they are finished."""
    tasks: list[Task] = []
    for place in cells:
        count = max(1, round(studies * CELLS[place].share))
        tasks += [(place, seed, range(first, min(first + CHUNK, count))) for first in range(0, count, CHUNK)]
    results: dict[int, list[Found]] = defaultdict(list)
    errors: dict[int, list[str]] = defaultdict(list)
    left = pd.Series([task[0] for task in tasks]).value_counts().to_dict()
    with Pool(workers) as pool:
        for place, found, failed in pool.imap_unordered(chunk, tasks):
            results[place] += found
            errors[place] += failed
            left[place] -= 1
            if left[place] == 0:
                yield CELLS[place], summary(CELLS[place], results.pop(place), errors[place])


def run(output: Path, studies: int, seed: int, workers: int, only: str) -> dict[str, Any]:
    """All cells whose name contains `only`; those that the output already has with this seed and size are not run again."""
    asked = {"studies": studies, "seed": seed}
    kept = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    same = {name: kept.get(name) for name in asked} == asked
    done = {_name(found): found for found in kept["cells"]} if same else {}
    origin = {"command": f"`{COMMAND}`", "machine": one_line(), "commit": git_revision(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    wanted = [place for place, cell in enumerate(CELLS) if only in cell.name and cell.name not in done]
    for cell, found in measured(wanted, studies, seed, workers):
        if not found["studies"]:
            print(f"every study failed: {cell.name}: {found['first_error']}", flush=True)
            continue
        done[cell.name] = found
        write_json(output, {**origin, **asked, "cells": [done[each.name] for each in CELLS if each.name in done]})
        print(f"{len(done)} of {len(CELLS)}: {cell.name}")
        print(pd.DataFrame(found["rows"]).to_string(index=False, na_rep=""), found.get("first_error", ""), flush=True)
    return {**origin, **asked, "cells": [done[each.name] for each in CELLS if each.name in done]}


def _name(found: dict[str, Any]) -> str:
    return f"{found['kind']} | {found['situation']} | {found['size']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=500, help="studies a cell; costly cells take a part of it")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--output", type=Path, default=Path("statistics.json"), help="where finished cells go")
    parser.add_argument("--from", dest="source", type=Path, help="figures that were measured before; nothing is run")
    parser.add_argument("--record", action="store_true", help="write docs/measured/statistics.json and docs/statistics.md")
    arguments = parser.parse_args()
    if arguments.source:
        found = json.loads(arguments.source.read_text(encoding="utf-8"))
    else:
        found = run(arguments.output, arguments.studies, arguments.seed, arguments.workers, arguments.only)
    if arguments.record:
        write_json(MEASURED / "statistics.json", found)
        write_text(ROOT / "docs" / "statistics.md", page(found))


if __name__ == "__main__":
    main()
