"""What answers do to the items: scores of the judge-based metrics, and the trigger gate.

The trigger gate takes the score from items of MBench-T clips that never entered their memory challenge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.verdicts import JudgedClip, Verdict, Verdicts
from lookback.params import RunParams
from lookback.registry import METRICS, MetricSpec
from lookback.scoring.aggregate import TRIGGER_DETAIL
from lookback.scoring.contract import Item, noted
from lookback.scoring.variants import scored_variants
from lookback.tables import PROVENANCE, SCHEMAS, empty_table

KEPT = {str(Reason.NOT_APPLICABLE)}  # a metric that does not apply to a clip keeps that reason
VERSION = "1"  # of the judge-based metrics, in their provenance


def gate_items(items: pd.DataFrame, triggers: Mapping[tuple[str, ...], Verdict]) -> pd.DataFrame:
    """The items after the gate. `triggers` holds the trigger verdict of each clip that was asked; other clips stay unchanged.

    If the answer is No, the item loses its value and gets the reason `not_triggered`. If there is no readable answer, the item
    gets the reason of the missing answer. MBench-A and the other benchmarks are never gated.
    """
    gated = items.copy()
    keys = list(zip(*(gated[name] for name in KEYS), strict=True)) if len(gated) else []
    for place, key in enumerate(keys):
        verdict = triggers.get(key)
        if verdict is None or verdict.answer == "yes" or gated["reason"].iat[place] in KEPT:
            continue
        reason = Reason.NOT_TRIGGERED if verdict.answer == "no" else verdict.reason or Reason.JUDGE_UNPARSED
        before = gated["reason"].iat[place]
        detail = f"{TRIGGER_DETAIL}{verdict.judge}: {verdict.verbatim[:300]}" + (f" (was {before})" if before else "")
        for column, value in (("value", float("nan")), ("raw", float("nan")), ("reason", str(reason)), ("detail", detail)):
            gated.iat[place, gated.columns.get_loc(column)] = value
    return gated


def trigger_verdicts(verdicts: Verdicts) -> dict[tuple[str, ...], Verdict]:
    """The trigger verdict of each clip that was asked."""
    return {key: tasks["trigger"]["trigger"] for key, tasks in verdicts.items() if "trigger" in tasks.get("trigger", {})}


def judged_metrics(clip: Clip, wanted: Iterable[str]) -> list[MetricSpec]:
    """The judge-based metrics that apply to the clip's benchmark, setting and subset."""
    chosen = set(wanted)
    return [
        spec
        for spec in METRICS
        if spec.judge_tasks and (not chosen or spec.name in chosen) and spec.applies_to(clip.benchmark, clip.setting, clip.subset)
    ]


def judged_items(
    params: RunParams,
    clips: Iterable[Clip],
    verdicts: Verdicts,
    why_not: Mapping[str, tuple[Reason, str]],
) -> pd.DataFrame:
    """One item per clip, judge-based metric and variant. `why_not` gives the reason where a task was not asked."""
    rows: list[dict[str, object]] = []
    for clip in clips:
        for spec in judged_metrics(clip, params.scoring.metrics):
            for variant in scored_variants(spec, params):
                settings = spec.preset(variant, params.scoring.constants)
                judged = JudgedClip(clip, variant, verdicts.get(clip.key, {}), why_not, settings)
                try:
                    item = spec.score(judged)
                except NotScorable as missing:
                    item = Item(reason=str(missing.reason), detail=missing.detail)
                judges = ",".join(judged.judges(spec.judge_tasks)) or "none"
                origin = dict(zip(PROVENANCE, (judges, VERSION, "", "", clip.content_hash[:16]), strict=True))
                keys = dict(zip(KEYS, clip.key, strict=True))
                rows.append({**keys, "metric": spec.name, "variant": variant, **asdict(noted(item, clip.shortfall)), **origin})
    return pd.DataFrame(rows, columns=list(SCHEMAS["items"].columns)) if rows else empty_table("items")
