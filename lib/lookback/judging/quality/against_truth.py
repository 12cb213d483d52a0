"""The judges' decisions (trigger, re-observation support) against the demo world's truth, clip by clip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lookback.camera.poses import relative_to_first, rotation_angle_deg
from lookback.clips import KEYS
from lookback.judging.quality.shared import answered
from lookback.paths import resolve
from lookback.registry import BENCHMARKS

AWAY_DEG, BACK_DEG = 30.0, 15.0  # the view counts as left beyond the one and as back within the other
COLUMNS = [*KEYS, "judge", "decision", "said", "true"]


def decisions_against_truth(judgements: pd.DataFrame, truth: pd.DataFrame, clips: pd.DataFrame) -> pd.DataFrame:
    """One row per clip, judge and decision (`trigger`, `support`) whose right answer is known: `said` and `true`.

    A subject returns when the world says so. The environment's trigger asks about the view instead: the true camera turned away
    and came back.
    """
    asked_of = truth.drop(columns="subset").merge(clips[[*KEYS, "subset"]], on=KEYS)  # a scene may serve several subsets
    known = {tuple(row[name] for name in KEYS): row for row in asked_of.to_dict("records")}
    first = answered(judgements[judgements["repeat"] == 0])
    return pd.DataFrame(list(_decisions(first, known)), columns=COLUMNS)


def truth_agreement(decisions: pd.DataFrame) -> pd.DataFrame:
    """Per judge and decision, and over both: clips, right ones, their share."""
    both = decisions.assign(decision="both")
    grouped = pd.concat([decisions, both]).assign(right=lambda rows: rows["said"] == rows["true"]).groupby(["judge", "decision"])
    return grouped["right"].agg(clips="count", right="sum", share="mean").reset_index()


def _decisions(judgements: pd.DataFrame, known: dict[Any, Any]) -> Iterator[tuple[Any, ...]]:
    for (*key, task, judge), rows in judgements.groupby([*KEYS, "task", "judge"], sort=False):
        row = known.get(tuple(key))
        if row is None:
            continue
        answers = dict(zip(rows["question_id"], rows["answer"], strict=True))
        for name, said in BENCHMARKS.get(row["benchmark"]).decisions(str(task), answers).items():
            true = _view_returns(row) if row["subset"] == "environment" and name == "trigger" else bool(row["returns"])
            yield (*key, judge, name, said, true)


def _view_returns(row: dict[str, Any]) -> bool:
    with np.load(resolve(row["record"]), allow_pickle=False) as record:
        turned = rotation_angle_deg(np.eye(4), relative_to_first(record["c2w"]))
    return bool(turned.max() > AWAY_DEG and turned[-1] < BACK_DEG)
