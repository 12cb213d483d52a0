"""Item rows of the judge-based metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.verdicts import JudgedClip, Verdict
from lookback.params import RunParams
from lookback.registry import METRICS, MetricSpec
from lookback.scoring.contract import Item
from lookback.scoring.variants import scored_variants
from lookback.tables import PROVENANCE, SCHEMAS, empty_table

VERSION = "1"


def judged_metrics(clip: Clip, wanted: Iterable[str]) -> list[MetricSpec]:
    """The judge-based metrics of the clip's benchmark, setting and subset."""
    chosen = set(wanted)
    return [
        spec
        for spec in METRICS
        if spec.judge_tasks and (not chosen or spec.name in chosen) and spec.applies_to(clip.benchmark, clip.setting, clip.subset)
    ]


def judged_items(
    params: RunParams,
    clips: Iterable[Clip],
    verdicts: Mapping[tuple[str, ...], Mapping[str, Mapping[str, Verdict]]],
    why_not: Mapping[str, tuple[Reason, str]],
) -> pd.DataFrame:
    """One row per clip, judge-based metric and variant; where no judge could answer, the row says so."""
    rows: list[dict[str, Any]] = []
    for clip in clips:
        for spec in judged_metrics(clip, params.scoring.metrics):
            for variant in scored_variants(spec, params):
                judged = JudgedClip(clip, variant, verdicts.get(clip.key, {}), why_not)
                try:
                    item = spec.score(judged)
                except NotScorable as missing:
                    item = Item(reason=str(missing.reason), detail=missing.detail)
                judges = ",".join(judged.judges(spec.judge_tasks)) or "none"
                origin = dict(zip(PROVENANCE, (judges, VERSION, "", "", clip.content_hash[:16]), strict=True))
                keys = dict(zip(KEYS, clip.key, strict=True))
                rows.append({**keys, "metric": spec.name, "variant": variant, **asdict(item), **origin})
    return pd.DataFrame(rows, columns=list(SCHEMAS["items"].columns)) if rows else empty_table("items")
