"""Agreement tables on disk: a CSV each, and one Markdown page with every table's reading and the plan's hash under it.

A study's folder also holds its plan, the votes that entered, the text for a paper, a script in R that recomputes the main table,
and a manifest. The manifest lists every file that was written, so that the next analysis removes those and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pandas as pd

import lookback
from lookback.agreement.analyse import Analysis
from lookback.agreement.journal import journal_page
from lookback.agreement.plan import Plan
from lookback.agreement.printed import hidden_columns, printed
from lookback.errors import ContractError
from lookback.files import sha256_file, write_bytes, write_json, write_text
from lookback.names import markdown_text
from lookback.paths import frozen_file
from lookback.tables import csv_text

ROWS_SHOWN = 40
MANIFEST = "manifest.json"
UNIT_COLUMNS = ["item", "family", "kind", "setting", "dimension", "question", "cluster", "model_a", "clip_a", "model_b", "clip_b"]
UNIT_COLUMNS += ["label", "n_votes", "status", "metric", "value_a", "value_b", "delta", "decision", "missing"]
VOTE_COLUMNS = ["item", "family", "kind", "setting", "dimension", "question", "scene", "model_a", "clip_a", "model_b", "clip_b"]
VOTE_COLUMNS += ["annotator", "label", "simulated"]


def save_tables(tables: dict[str, pd.DataFrame], folder: str | Path) -> list[Path]:
    """Write `<name>.csv` for every table and `agreement.md`; returns the paths."""
    target = Path(folder)
    texts = {f"{name}.csv": csv_text(table) for name, table in tables.items()} | {"agreement.md": to_markdown(tables)}
    for name, text in texts.items():
        write_text(target / name, text)
    return [target / name for name in texts]


def save_study(study: Analysis, folder: Path, plan: Path) -> list[Path]:
    """Write the tables, the text for a paper, the votes that entered, the R script and the plan; returns the paths."""
    written = save_tables(study.tables, folder)
    texts = {"methods.md": journal_page(study), "votes_used.csv": _exported(study.votes, VOTE_COLUMNS)}
    texts |= {"units.csv": _exported(study.units, UNIT_COLUMNS), "scales.csv": csv_text(_scales(study.plan, study.votes))}
    texts["rules.csv"] = csv_text(pd.DataFrame({"rule": list(RULES), "value": [getattr(study.plan, rule) for rule in RULES]}))
    if "main" in study.tables:
        texts["recompute.R"] = (files("lookback.agreement") / "templates" / "recompute.R.txt").read_text(encoding="utf-8")
    for name, text in texts.items():
        write_text(folder / name, text)
    copies = [path for path in (plan, frozen_file(plan)) if path.is_file()]
    for path, name in zip(copies, ("plan.yaml", "plan.frozen.json"), strict=False):
        write_bytes(folder / name, path.read_bytes())
    return [*written, *(folder / name for name in (*texts, *("plan.yaml", "plan.frozen.json")[: len(copies)]))]


RULES = ("orientation", "win_ratio_ties", "aggregate")


def _exported(table: pd.DataFrame, columns: list[str]) -> str:
    """The columns that the R script reads; labels as text, and empty where there is none."""
    chosen = table[[c for c in columns if c in table]].copy()
    for name in ("label", "decision"):
        if name in chosen:
            chosen[name] = ["" if pd.isna(value) else _plain(value) for value in chosen[name]]
    return csv_text(chosen.assign(**{name: "" for name in ("decision",) if name not in chosen and "status" in chosen}))


def _plain(value: object) -> str:
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _scales(plan: Plan, votes: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name in sorted(votes["family"].unique()):
        family = plan.families[name]
        scale = plan.scales[family.scale]
        for place, (label, number) in enumerate(zip(plan.categories(name), scale.values, strict=True), start=1):
            row = {"family": name, "place": place, "label": _plain(label), "number": number, "level": scale.level}
            rows.append({**row, "turns": "yes" if family.pairs else "no"})
    return pd.DataFrame(rows)


def clear_earlier(folder: Path) -> list[str]:
    """Remove the files that an earlier analysis wrote here. Files that were changed since stay; their names are returned."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return []
    try:
        written = dict(json.loads(manifest.read_text(encoding="utf-8"))["files"])
    except (ValueError, KeyError, TypeError):
        raise ContractError(
            f"{manifest} is not readable, so it is not known what an earlier analysis wrote there; name a new folder"
        ) from None
    changed = []
    for name, digest in written.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            continue
        if sha256_file(path) == digest:
            path.unlink()
        else:
            changed.append(name)
    manifest.unlink()
    return changed


def write_manifest(folder: Path, written: Sequence[Path], study: Analysis, inputs: dict[str, Sequence[Path]]) -> None:
    """`manifest.json`: versions and hashes of the inputs, what is known about the plan, and every written file with its hash."""
    sources = {kind: [{"file": path.name, "sha256": sha256_file(path)} for path in paths] for kind, paths in inputs.items()}
    known = {"lookback": lookback.__version__, "plan_hash": study.plan.hash, "n_votes": len(study.votes)}
    known["plan_standing"] = study.standing.words if study.standing else "not known"
    listed = {path.relative_to(folder).as_posix(): sha256_file(path) for path in sorted(written)}
    write_json(folder / MANIFEST, {**known, "inputs": sources, "files": listed})


def to_markdown(tables: dict[str, pd.DataFrame]) -> str:
    """Title, table, reading and footnote of each; long and wide tables are shortened, with a note."""
    parts = ["# Agreement of metrics with people", ""]
    for name, table in tables.items():
        if name == "readings":
            continue
        parts += [f"## {markdown_text(table.attrs['title'])} (`{name}`)", "", _rows(printed(name, table.head(ROWS_SHOWN))), ""]
        more = [f"{len(table) - ROWS_SHOWN} more rows"] if len(table) > ROWS_SHOWN else []
        more += [f"{hidden} more columns"] if (hidden := hidden_columns(name, table)) > 0 else []
        parts += [f"{' and '.join(more)} in `{name}.csv`.", ""] if more else []
        parts += [markdown_text(table.attrs["reading"]), "", f"*{markdown_text(table.attrs['footnote'])}*", ""]
    return "\n".join(parts)


def _rows(shown: pd.DataFrame) -> str:
    header = "| " + " | ".join(markdown_text(str(name)) for name in shown.columns) + " |"
    rule = "|" + "---|" * shown.shape[1]
    lines = ["| " + " | ".join(markdown_text(str(cell)) for cell in row) + " |" for row in shown.itertuples(index=False)]
    return "\n".join([header, rule, *lines])
