"""What judging costs: calls, tokens, seconds and money per clip, from the recording. Never part of a reproducible table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

COLUMNS = [
    "judge",
    "task",
    "clips",
    "calls",
    "retries",
    "input_tokens",
    "output_tokens",
    "seconds_per_clip",
    "p95_latency_s",
    "cost",
]


def cost_per_clip(calls: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Per judge and task, over recorded calls that cost something (`Recording.calls`)."""
    rows = [{**{name: call[name] for name in ("judge", "task", "clip")}, **call["usage"]} for call in calls if call["usage"]]
    if not rows:
        return pd.DataFrame(columns=[*COLUMNS, "cost_per_clip"])
    frame = pd.DataFrame(rows)
    for name in ("input_tokens", "output_tokens", "latency_s", "attempts", "cost"):
        frame[name] = frame[name].fillna(0) if name in frame else 0
    table = []
    for (judge, task), part in frame.groupby(["judge", "task"], sort=True):
        clips = part["clip"].nunique()
        tokens = (int(part["input_tokens"].sum()), int(part["output_tokens"].sum()))
        seconds = (part["latency_s"].sum() / clips, float(part["latency_s"].quantile(0.95)))
        retries = int((part["attempts"] - 1).clip(lower=0).sum())
        table.append((judge, task, clips, len(part), retries, *tokens, *seconds, part["cost"].sum()))
    result = pd.DataFrame(table, columns=COLUMNS)
    return result.assign(cost_per_clip=result["cost"] / result["clips"])
