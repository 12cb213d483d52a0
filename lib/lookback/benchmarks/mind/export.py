"""MIND's Result.json, exactly as its README describes it. An infinite PSNR is not JSON: it becomes null, with a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lookback.clips import Clip, clips_from_frame
from lookback.errors import ContractError
from lookback.files import write_json
from lookback.params import RunParams
from lookback.scoring.variants import only_chosen
from lookback.tables import read_table

MEASURES = ("mse", "lpips", "ssim", "psnr")
STATISTICS = {"trans": ("rpe_trans_mean", "rpe_trans_median"), "rot": ("rpe_rot_mean_deg", "rpe_rot_median_deg")}


def export_mind(params: RunParams, output: Path) -> Path:
    """One Result file per model: `Result_<model>.json` in a folder, or the named .json when the run has one model."""
    folder = params.paths.tables
    clips = [clip for clip in clips_from_frame(read_table(folder, "clips")) if clip.benchmark == "mind"]
    if not clips:
        raise ContractError(f"The run '{params.run}' has no MIND clips to export")
    items, units = (only_chosen(read_table(folder, name), params) for name in ("items", "units"))
    models = sorted({clip.model_id for clip in clips})
    for model in models:
        data = _data(
            [clip for clip in clips if clip.model_id == model], items[items["model_id"] == model], units[units["model_id"] == model]
        )
        limit = int(params.scoring.constants.get("video_max_time", 0)) or None
        target = output if output.suffix == ".json" and len(models) == 1 else output / f"Result_{model}.json"
        write_json(target, {"video_max_time": limit, "data": data})
    return output


def _data(clips: list[Clip], items: pd.DataFrame, units: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    mirrored: dict[tuple[str, str], dict[str, Any]] = {}
    for clip in clips:
        own = items[items["clip_id"] == clip.clip_id]
        frames = units[units["clip_id"] == clip.clip_id]
        perspective, test_type, name, *video = clip.clip_id.split("/")
        if test_type == "mirror_test":
            fresh = {"path": name, "perspective": perspective, "test_type": test_type, "video_results": []}
            row = mirrored.setdefault((perspective, name), fresh)
            row["video_results"].append(_mirror(clip, video[0] if video else name, own, frames))
            continue
        record: dict[str, Any] = {
            "path": name,
            "perspective": perspective,
            "test_type": test_type,
            "error": _errors(own),
            "mark_time": clip.mark_time,
        }
        record |= {"total_time": clip.gt_frames, "sample_frames": clip.n_frames}
        for key, metric in (("lcm", "mind.lcm"), ("visual_quality", "mind.visual"), ("dino", "mind.dino")):
            found = _per_frame(frames[frames["metric"] == metric], own[own["metric"] == metric], metric)
            record |= {key: found} if found else {}
        action = _action(own[own["metric"] == "mind.action"])
        rows.append(record | ({"action": action} if action else {}))
    return rows + list(mirrored.values())


def _mirror(clip: Clip, name: str, items: pd.DataFrame, units: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"video_name": f"{name}.mp4", "error": _errors(items), "mark_time": (clip.n_frames or 0) // 2}
    row["sample_frames"] = clip.n_frames
    found = _per_frame(units[units["metric"] == "mind.gsc"], items[items["metric"] == "mind.gsc"], "mind.gsc")
    return row | ({"gsc": {"length": len(found.get("mse", [])), **found}} if found else {})


def _per_frame(units: pd.DataFrame, items: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Per-frame lists and their averages under the README's names."""
    found: dict[str, Any] = {}
    for phase, own in units.groupby("phase", sort=False):
        name = str(phase) or "dino_mse"
        ordered = own.sort_values("frame")
        found[name] = [None if pd.isna(value) else float(value) for value in ordered["value"]]
        mean = items.loc[items["phase"] == phase, "value"]
        found[f"avg_{name}"] = None if mean.empty or pd.isna(mean.iloc[0]) else float(mean.iloc[0])
        if any(value is None for value in found[name]):
            found["note"] = f"{name}: null stands for an infinite value (identical frames)"
    return found


def _action(items: pd.DataFrame) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for row in items[items["value"].notna()].to_dict("records"):
        name, _, kind = row["phase"].rpartition(":")
        mean, median = STATISTICS[kind]
        groups.setdefault(name, {"count": int(row["n_units"])})
        groups[name] |= {mean: float(row["value"]), median: float(row["raw"])}
    return groups


def _errors(items: pd.DataFrame) -> str | None:
    missing = items[items["reason"] != ""]
    return "; ".join(f"{row['metric']}: {row['reason']} {row['detail']}".strip() for row in missing.to_dict("records")) or None
