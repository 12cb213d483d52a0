"""Stage 60: failures that camera path, masks and shots show, with the frames behind them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from lookback.artifacts import RunArtifacts
from lookback.clips import KEYS, clips_from_frame
from lookback.forensics.evidence import gather
from lookback.forensics.rules import RULES
from lookback.params import RunParams
from lookback.progress import track
from lookback.tables import empty_table, read_table, write_table


def forensics(params: RunParams) -> dict[str, pd.DataFrame]:
    """Apply every rule to every clip; writes `failures`."""
    folder = params.paths.tables
    clips, artifacts, screen = (read_table(folder, name) for name in ("clips", "artifacts", "screen"))
    cuts = {tuple(row[name] for name in KEYS): int(row["n_cuts"]) for row in screen.dropna(subset=["n_cuts"]).to_dict("records")}
    stored = RunArtifacts(params.paths.artifacts, artifacts)
    rows: list[dict[str, Any]] = []
    for clip in track(clips_from_frame(clips), "looking for failures"):
        seen = gather(clip, partial(stored.load, clip), cuts.get(clip.key, 0))
        for rule in RULES:
            found = rule.find(seen)
            if found is not None:
                rows.append({**dict(zip(KEYS, clip.key, strict=True)), "rule": rule.when, **found.__dict__})
    columns = list(empty_table("failures").columns)
    frame = pd.DataFrame(rows)[columns] if rows else empty_table("failures")
    return {"failures": write_table(folder, "failures", frame)}
