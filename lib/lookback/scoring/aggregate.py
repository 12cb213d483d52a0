"""Summarise items (a value or reason per clip and metric) as one row per model: mean, n, coverage, reasons, interval.

A clip that cannot be measured because of what the video shows (no face, no object, nothing to match) is either left out of the mean
or counts as 0. The metric's preset decides (`missing: leave_out | zero`); both means stand in the row. Left out, a model that
destroys what it should keep loses its worst clips and may win, so every row also has its coverage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.clips import KEYS
from lookback.errors import ContractError, Reason
from lookback.registry import METRICS
from lookback.stats.intervals import SHARE, Bounds, bootstrap_totals, enough_resamples, number, share_interval, varying_interval
from lookback.stats.ratings import cluster_codes

GROUP = ("benchmark", "setting", "metric", "variant", "phase", "model_id")
TRIGGER_DETAIL = "trigger judge "  # the detail of an item that the trigger gate removed begins with this
CLIP_FACTS = ("scene", "subset", "condition_id", "condition_type", "camera", "event_level", "event_action", "shortfall")
RESAMPLES = 2000
CONFIDENCE = 0.95
INTERVAL = ("ci_low", "ci_high", "ci_note", "n_clusters")
# the video itself lacks what the metric looks for; other reasons (no backend, no file, no judge) are not the model's fault
UNMEASURABLE = (Reason.NO_FACE, Reason.NO_MASK, Reason.TOO_FEW_MATCHES, Reason.LOW_TEXTURE, Reason.CUT)
Missing = Literal["leave_out", "zero"]
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def with_clip_facts(items: pd.DataFrame, clips: pd.DataFrame, facts: Sequence[str] = CLIP_FACTS) -> pd.DataFrame:
    """Add the clip's columns that rows are grouped and clustered by."""
    merged = items.merge(clips[[*KEYS, *facts]], on=KEYS, how="left", validate="many_to_one", indicator="_found")
    lost = merged[merged["_found"] != "both"]
    if len(lost):
        raise ContractError(
            f"{len(lost)} items belong to no clip, the first is {'/'.join(lost.iloc[0][KEYS])}; score the same clips table."
        )
    return merged.drop(columns="_found")


def is_short(items: pd.DataFrame) -> pd.Series:
    """Which rows are of a clip that lacks a part of its task. Items without facts about their clips have none."""
    return items["shortfall"] != "" if "shortfall" in items else pd.Series(False, items.index)


def without_short(items: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """The items of clips that have all of their task, and how many scored clips of each model are excluded because they do not."""
    short = is_short(items)
    excluded = items[short & items["value"].notna()].drop_duplicates(KEYS)
    return items[~short], {str(model): int(count) for model, count in excluded.groupby("model_id").size().items()}


def excluded_note(counts: Mapping[str, int]) -> str:
    """ "Excluded, because ...: first-model 2, second-model 1." """
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"Excluded, because the video lacks a part of its task (fewer frames, say): {told}."


def missing_rule(metric: object, variant: object) -> Missing:
    """What the preset of a metric's variant says about clips that the video makes unmeasurable."""
    presets = METRICS.get(str(metric)).presets if metric in METRICS else None
    return "zero" if presets is not None and presets.settings.get(str(variant), {}).get("missing") == "zero" else "leave_out"


def aggregate(
    items: pd.DataFrame, *, by: Sequence[str] = GROUP, cluster: str = "scene", seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """One row per group: mean, sd, n, n_items, coverage, reasons (JSON counts), and the interval with its note.

    n counts the values; n_items the clips the metric applies to, so coverage = n / n_items. `mean_left_out` is the mean of the
    values, `mean_zero` that with a 0 for each unmeasurable clip; `mean` is the one that the preset names (`missing`).

    `n_short` counts the values of clips that lack a part of their task (`Clip.shortfall`), which the mean counts like the others.

    The interval is a bootstrap that draws whole scenes (`cluster`), because clips of one scene are not independent: percentiles, or
    t under ten scenes. One scene has none, nor have values that are all alike; the note says so. Where all clips pass or all fail
    (a metric between 0 and 1), it is Wilson's over the scenes.
    """
    _require_columns(items, [*by, cluster, "value", "reason"])
    rows = [
        _group_row(dict(zip(by, key, strict=True)), group, cluster, seed, resamples)
        for key, group in items.groupby(list(by), sort=True)
    ]
    columns = ["mean", "sd", "n", "n_items", "coverage", "missing", "mean_left_out", "mean_zero", "n_zero", "n_short", "reasons"]
    return pd.DataFrame(rows, columns=[*by, *columns, *INTERVAL])


def aggregate_triggered(
    items: pd.DataFrame, *, by: Sequence[str] = GROUP, cluster: str = "scene", seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """MBench's trigger-conditioned row: s_rel, c_trig and m_score (eq. 1-3) with the interval of m_score.

    An item whose reason is `not_triggered` counts against coverage; one that triggered and could not be measured counts as
    triggered; one whose trigger has no readable answer is left out (`reasons` counts it). `m_score_left_out` and `m_score_zero` are
    the two ways to count unmeasurable clips, `m_score` is the one that the preset names.
    """
    _require_columns(items, [*by, cluster, "value", "reason"])
    rows = [
        _trigger_row(dict(zip(by, key, strict=True)), group, cluster, seed, resamples)
        for key, group in items.groupby(list(by), sort=True)
    ]
    columns = ["s_rel", "c_trig", "m_score", "n", "n_triggered", "n_items", "missing", "m_score_left_out", "m_score_zero"]
    return pd.DataFrame(rows, columns=[*by, *columns, "n_zero", "n_short", "reasons", *INTERVAL])


def _group_row(key: dict[str, object], group: pd.DataFrame, cluster: str, seed: int, resamples: int) -> dict[str, object]:
    applicable, measured = _applicable(group), _values(group, key)
    filled, rule = _with_zeros(applicable, measured), missing_rule(key.get("metric"), key.get("variant"))
    values = filled if rule == "zero" else measured
    terms = np.column_stack([values, np.ones(len(values))])
    row = key | {"n": len(measured), "n_items": len(applicable), "reasons": _reason_counts(group)}
    row |= {"coverage": len(measured) / len(applicable) if len(applicable) else np.nan, "missing": rule}
    row |= {"mean_left_out": measured.mean(), "mean_zero": filled.mean(), "n_zero": len(filled) - len(measured)}
    row |= {"n_short": int(is_short(group)[measured.index].sum())}
    row |= {"mean": values.mean(), "sd": values.std(ddof=1) if len(values) > 1 else np.nan}
    share = _pass_or_fail(key.get("metric"), values)
    clusters, bounds = group.loc[values.index, cluster], _bounds(key.get("metric"))
    return row | _interval(terms, _mean_of_totals, clusters, _group_seed(seed, key), resamples, bounds, share)


def _trigger_row(key: dict[str, object], group: pd.DataFrame, cluster: str, seed: int, resamples: int) -> dict[str, object]:
    applicable, measured = _applicable(group), _values(group, key)
    applicable = applicable[~_trigger_unread(applicable)]
    filled, rule = _with_zeros(applicable, measured), missing_rule(key.get("metric"), key.get("variant"))
    triggered = (applicable["reason"] != Reason.NOT_TRIGGERED).to_numpy(dtype=float)
    left_out, zeroed = (_trigger_terms(applicable, values, triggered) for values in (measured, filled))
    terms = zeroed if rule == "zero" else left_out
    row = key | dict(zip(("s_rel", "c_trig", "m_score"), _trigger_totals(terms), strict=True))
    row |= {"n": len(measured), "n_triggered": int(triggered.sum()), "n_items": len(applicable), "reasons": _reason_counts(group)}
    row |= {"m_score_left_out": _trigger_totals(left_out)[2], "m_score_zero": _trigger_totals(zeroed)[2]}
    row |= {"n_zero": len(filled) - len(measured), "n_short": int(is_short(group)[measured.index].sum()), "missing": rule}
    return row | _interval(terms, _m_score_of_totals, applicable[cluster], _group_seed(seed, key), resamples, SHARE)


def _with_zeros(applicable: pd.DataFrame, measured: pd.Series) -> pd.Series:
    """The values, and a 0 for each clip that the video makes unmeasurable, in the order of the items."""
    failed = applicable.index[applicable["reason"].isin([str(reason) for reason in UNMEASURABLE])]
    return pd.concat([measured, pd.Series(0.0, failed)]).loc[lambda both: applicable.index[applicable.index.isin(both.index)]]


def _trigger_terms(applicable: pd.DataFrame, values: pd.Series, triggered: NDArray[np.float64]) -> NDArray[np.float64]:
    counted = applicable.index.isin(values.index).astype(float)
    return np.column_stack([values.reindex(applicable.index, fill_value=0.0), counted, triggered, np.ones(len(applicable))])


def _trigger_totals(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """(s_rel, c_trig, m_score) of all items."""
    return _trigger_scores(terms.sum(axis=0, keepdims=True))[0] if len(terms) else np.full(3, np.nan)


def _m_score_of_totals(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return _trigger_scores(totals)[:, 2]


def _mean_of_totals(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return totals[:, 0] / totals[:, 1]


def _trigger_scores(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(s_rel, c_trig, m_score) per row of (sum of values, number of values, triggered, items).

    If no clip triggered, the score is 0. If clips triggered but none was measured, there is no score.
    """
    unmeasured = np.where(totals[:, 2] > 0, np.nan, 0.0)
    reliability = np.divide(totals[:, 0], totals[:, 1], out=unmeasured, where=totals[:, 1] > 0)
    coverage = totals[:, 2] / totals[:, 3]
    both = np.where(reliability + coverage > 0, reliability + coverage, 1.0)
    return np.column_stack([reliability, coverage, np.where(np.isnan(reliability), np.nan, 2.0 * reliability * coverage / both)])


def _pass_or_fail(metric: object, values: pd.Series) -> bool:
    """Whether a metric between 0 and 1 has no other values."""
    return _bounds(metric) == SHARE and bool(values.isin((0.0, 1.0)).all())


def _bounds(metric: object) -> Bounds:
    """The range that a metric declares."""
    least, most = METRICS.get(str(metric)).range if metric in METRICS else (None, None)
    return -np.inf if least is None else least, np.inf if most is None else most


def _interval(
    terms: NDArray[np.float64],
    statistic: Statistic,
    clusters: pd.Series,
    seed: int,
    resamples: int,
    bounds: Bounds,
    share: bool = False,
) -> dict[str, object]:
    """Interval of the statistic (or share) over resampled clusters, or a note that says why there is none."""
    if not len(terms):
        return {"ci_low": np.nan, "ci_high": np.nan, "ci_note": "no values", "n_clusters": 0}
    codes = cluster_codes(clusters.to_numpy(), len(terms))
    n_clusters = int(codes.max()) + 1
    resamples = enough_resamples(resamples, n_clusters, CONFIDENCE)
    draws = bootstrap_totals(terms, statistic, codes, resamples, seed) if n_clusters > 1 else np.empty(0)
    value = float(statistic(terms.sum(axis=0, keepdims=True))[0])
    made = share_interval if share else partial(varying_interval, bounds=bounds)
    low, high, note = made(draws, value, n_clusters, CONFIDENCE)
    return {"ci_low": number(low), "ci_high": number(high), "ci_note": note, "n_clusters": n_clusters}


def _applicable(group: pd.DataFrame) -> pd.DataFrame:
    return group[group["reason"] != Reason.NOT_APPLICABLE]


def _trigger_unread(items: pd.DataFrame) -> pd.Series:
    """Items without a score because it is unknown whether their clip triggered."""
    gated = items["detail"].astype(str).str.startswith(TRIGGER_DETAIL) if "detail" in items else pd.Series(False, items.index)
    return gated & (items["reason"] != Reason.NOT_TRIGGERED)


def _values(group: pd.DataFrame, key: Mapping[str, object]) -> pd.Series:
    values = group["value"].dropna().astype(float)
    if np.isinf(values).any():
        raise ContractError(f"An infinite value cannot be averaged: {', '.join(f'{name}={part}' for name, part in key.items())}.")
    return values


def _reason_counts(group: pd.DataFrame) -> str:
    counts = group.loc[group["reason"] != "", "reason"].astype(str).value_counts()
    return json.dumps({reason: int(counts[reason]) for reason in sorted(counts.index)})


def _group_seed(seed: int, key: Mapping[str, object]) -> int:
    """A seed of its own for each group, so that a new one does not change the intervals of the others; the same for all models."""
    named = {name: part for name, part in key.items() if name != "model_id"}
    return zlib.crc32(json.dumps([seed, named], sort_keys=True, default=str).encode())


def _require_columns(items: pd.DataFrame, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in items.columns]
    if missing:
        raise ContractError(f"The items table lacks {', '.join(missing)}; join the clips' facts first (with_clip_facts).")
