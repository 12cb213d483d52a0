"""Preference pairs for reward models and policy training (WRBench appendix H): one JSONL per dimension, and a summary.

The appendix names the contents (metric records, judgeability flags, pair construction rules, dynamic-versus-dynamic filtering,
counts after missing assets are removed) but not the exact rules. Ours are RULES below; they are written into the summary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import ContractError, Reason
from lookback.files import sha256_json, write_json, write_text
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table

SUPPORT, INTEGRITY = "wrbench.support", "wrbench.visual_integrity"
GATED = (Reason.NO_OOV, Reason.NO_RETURN, Reason.NO_INITIAL_JUDGEABLE)
ASSETS = ("video", "reference_image", "target_poses")
RECORD = ["metric", "variant", "phase", "value", "reason", "detail", "backend", "version", "weights", "params_hash", "input_hash"]
RULES = {
    "same_task": "Both clips answer one request (same setting and clip_id) by two models.",
    "missing_asset": "Every file that either clip names (video, reference image, target poses) is there.",
    "not_scored": "Both clips have a value on the dimension's metric.",
    "not_judgeable": "Re-observed dimensions: both clips show hidden-and-returned evidence that is judgeable on this dimension.",
    "not_dynamic": "Integrity, visible and re-observed dimensions compare dynamic with dynamic: where a camera motion was "
    "requested, no clip whose camera stayed put takes part, so that holding still is never rewarded.",
    "tie": "The chosen clip's value exceeds the rejected one's by more than the tie band.",
    "not_preserved": "Camera and support dimensions: the chosen clip's visual integrity is not lower than the rejected one's by "
    "more than its tie band; camera dimensions: it is judgeable where the rejected one is.",
}


@dataclass(frozen=True)
class Dimension:
    """One dimension of preference: its metric, its tie band, and the rules that apply to it."""

    name: str
    metric: str
    tie_band: float = 0.05
    judgeable: bool = False
    dynamic: bool = True
    preserves: tuple[str, ...] = ()


DIMENSIONS = (
    Dimension("camera_precision", "wrbench.cam_prec", dynamic=False, preserves=(INTEGRITY, SUPPORT)),
    Dimension("camera_alignment", "wrbench.cam_align", dynamic=False, preserves=(INTEGRITY, SUPPORT)),
    Dimension("visual_integrity", INTEGRITY, tie_band=0.02),
    Dimension("visible_spatial", "wrbench.visible_spatial"),
    Dimension("visible_state", "wrbench.visible_state"),
    Dimension("reobservation_support", SUPPORT, dynamic=False, preserves=(INTEGRITY,)),
    Dimension("reobserved_spatial", "wrbench.reobserved_spatial", judgeable=True),
    Dimension("reobserved_state", "wrbench.reobserved_state", judgeable=True),
)
BANDS = {dimension.metric: dimension.tie_band for dimension in DIMENSIONS}


@dataclass(frozen=True)
class Candidate:
    """A clip with its scores, ready to be paired."""

    clip: Clip
    values: dict[str, float]  # metric -> value, where there is one
    reasons: dict[str, str]  # metric -> why there is none
    records: list[dict[str, Any]]
    moved: bool | None  # whether its camera moved; None when unknown
    assets: bool

    def judgeable(self, metric: str = SUPPORT) -> bool:
        """Whether the return can be judged, at all or on one dimension (D5 and D6 are gated separately)."""
        return self.values.get(SUPPORT) == 1.0 and self.reasons.get(metric, "") not in GATED

    def side(self, metric: str) -> dict[str, Any]:
        """The candidate as one side of a record."""
        reobserved = {dimension.name: self.judgeable(dimension.metric) for dimension in DIMENSIONS if dimension.judgeable}
        return {
            "model_id": self.clip.model_id,
            "condition_type": self.clip.condition_type,
            "video": self.clip.video,
            "content_hash": self.clip.content_hash,
            "value": self.values[metric],
            "judgeable": {"support": self.judgeable(), **reobserved},
            "dynamic": self.moved,
            "metrics": self.records,
        }


def export_preferences(params: RunParams, output: Path) -> Path:
    """Write `<dimension>.jsonl` for every dimension and `summary.json` (rules, and what was dropped why) into a folder."""
    summary: dict[str, Any] = {"run": params.run, "rules": RULES, "dimensions": {}}
    for dimension, records, counts in preference_pairs(params):
        lines = "".join(json.dumps(record, ensure_ascii=False, allow_nan=False, sort_keys=True) + "\n" for record in records)
        write_text(output / f"{dimension.name}.jsonl", lines)
        summary["dimensions"][dimension.name] = {"metric": dimension.metric, "tie_band": dimension.tie_band, **counts}
    write_json(output / "summary.json", summary)
    return output


def preference_pairs(params: RunParams) -> Iterator[tuple[Dimension, list[dict[str, Any]], dict[str, Any]]]:
    """Each dimension's records, and how many candidates were dropped why."""
    groups = _candidates(params)
    for dimension in DIMENSIONS:
        records, dropped = [], Counter(dict.fromkeys(list(RULES)[1:], 0))
        for first, second in _pairs(groups):
            if (why := _dropped(dimension, first, second)) is not None:
                dropped[why] += 1
            else:
                records.append(_record(dimension, first, second))
        yield dimension, records, {"pairs": len(records), "candidates": len(records) + dropped.total(), "dropped": dict(dropped)}


def _candidates(params: RunParams) -> list[list[Candidate]]:
    """The run's WRBench clips, grouped by request."""
    folder = params.paths.tables
    clips = [clip for clip in clips_from_frame(read_table(folder, "clips")) if clip.benchmark == "wrbench"]
    if not clips:
        raise ContractError(f"The run '{params.run}' has no WRBench clips to make pairs of")
    if not (folder / "gated.parquet").is_file():
        raise ContractError(
            f"The run '{params.run}' is not judged yet, so that nothing says what is judgeable; run its judging stage first"
        )
    items = read_table(folder, "gated")
    items = only_chosen(items[items["benchmark"] == "wrbench"], params)
    rows = dict(iter(items.groupby(KEYS, sort=False)))
    inactive = _inactive(read_table(folder, "judgements"))
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for clip in sorted(clips, key=lambda each: (each.setting, each.clip_id, each.model_id)):
        scored = rows.get(clip.key, items.iloc[:0]).sort_values(["metric", "phase"])
        whole = scored[(scored["phase"] == "") & scored["value"].notna()]
        values = {str(metric): float(value) for metric, value in zip(whole["metric"], whole["value"], strict=True)}
        moved = None if clip.key not in inactive else not inactive[clip.key]
        reasons = {str(metric): str(reason) for metric, reason in zip(scored["metric"], scored["reason"], strict=True) if reason}
        records = json.loads(scored[RECORD].to_json(orient="records", double_precision=15))
        assets = all(resolve(path).exists() for name in ASSETS if (path := getattr(clip, name)))
        groups.setdefault((clip.setting, clip.clip_id), []).append(Candidate(clip, values, reasons, records, moved, assets))
    return list(groups.values())


def _inactive(judgements: pd.DataFrame) -> dict[tuple[str, ...], bool]:
    """Whether the camera stayed still, from the timeline. A measuring judge counts before a simulated one."""
    rows = judgements[
        (judgements["task"] == "timeline") & (judgements["question_id"] == "camera_inactive") & (judgements["repeat"] == 0)
    ]
    rows = rows[rows["answer"].isin(["yes", "no"])].sort_values("simulated", ascending=False, kind="stable")
    return {tuple(row[name] for name in KEYS): row["answer"] == "yes" for row in rows.to_dict("records")}


def _pairs(groups: list[list[Candidate]]) -> Iterator[tuple[Candidate, Candidate]]:
    for group in groups:
        yield from combinations(group, 2)


def _dropped(dimension: Dimension, first: Candidate, second: Candidate) -> str | None:
    """The first rule that keeps a pair out, or None."""
    pair = (first, second)
    if not all(each.assets for each in pair):
        return "missing_asset"
    if dimension.judgeable and not all(each.judgeable(dimension.metric) for each in pair):
        return "not_judgeable"
    if not all(dimension.metric in each.values for each in pair):
        return "not_scored"
    if dimension.dynamic and first.clip.camera != "static" and any(each.moved is False for each in pair):
        return "not_dynamic"
    if abs(first.values[dimension.metric] - second.values[dimension.metric]) <= dimension.tie_band:
        return "tie"
    chosen, rejected = _ordered(dimension, first, second)
    return None if all(_preserved(metric, chosen, rejected) for metric in dimension.preserves) else "not_preserved"


def _preserved(metric: str, chosen: Candidate, rejected: Candidate) -> bool:
    if metric == SUPPORT:
        return chosen.judgeable() or not rejected.judgeable()
    if metric not in chosen.values or metric not in rejected.values:
        return False  # unknown, so the pair is dropped
    return chosen.values[metric] >= rejected.values[metric] - BANDS[metric]


def _ordered(dimension: Dimension, first: Candidate, second: Candidate) -> tuple[Candidate, Candidate]:
    """(chosen, rejected): every WRBench metric is better when higher."""
    return (first, second) if first.values[dimension.metric] > second.values[dimension.metric] else (second, first)


def _record(dimension: Dimension, first: Candidate, second: Candidate) -> dict[str, Any]:
    chosen, rejected = _ordered(dimension, first, second)
    clip = chosen.clip
    return {
        "pair_id": sha256_json([dimension.name, *chosen.clip.key, rejected.clip.model_id])[:20],
        "dimension": dimension.name,
        "metric": dimension.metric,
        "benchmark": clip.benchmark,
        "setting": clip.setting,
        "clip_id": clip.clip_id,
        "scene": clip.scene,
        "prompt": clip.prompt,
        "camera": clip.camera,
        "event": {"level": clip.event_level, "action": clip.event_action, "expected_state": clip.expected_state},
        "chosen": chosen.side(dimension.metric),
        "rejected": rejected.side(dimension.metric),
        "margin": chosen.values[dimension.metric] - rejected.values[dimension.metric],
        "tie_band": dimension.tie_band,
    }
