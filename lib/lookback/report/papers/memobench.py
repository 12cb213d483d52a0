"""MemoBench's other tables: VQA (3), ORS by coverage and prompt (S3, S4), strong motion (S5), camera error (S8), failures (S10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.forensics.rules import LABELS
from lookback.metrics.aggregate import aggregate
from lookback.metrics.functional import object_reappearance
from lookback.report.papers.shape import POOLED, Column, backend_note, model_table
from lookback.report.table import PaperTable, mark_best
from lookback.tables import read_csv

VQA = (
    ("Continuity of memory", "memobench.vqa_continuity_of_memory"),
    ("Object and background", "memobench.vqa_object_background"),
    ("Instruction following", "memobench.vqa_instruction_following"),
    ("Physics adherence", "memobench.vqa_physics_adherence"),
)
# the paper's eight ranges, in per cent of the image; the third is its default
COVERAGES = ((0.01, 30), (0.03, 40), (0.05, 50), (0.05, 60), (0.05, 70), (0.10, 50), (0.10, 70), (0.20, 50))
STRONG_MOTION_DEG = 90.0


def vqa_table(items: pd.DataFrame, seed: int, resamples: int, intervals: bool) -> list[PaperTable]:
    """Table 3: share of questions answered rightly, by dimension."""
    own = items[items["metric"].isin([metric for _, metric in VQA])]
    if own.empty:
        return []
    summary = aggregate(own, seed=seed, resamples=resamples, by=POOLED)
    columns = [Column(name, metric, scale=100, digits=1) for name, metric in VQA]
    table = model_table("memobench-3", "MemoBench table 3: VQA by dimension (% right)", summary, columns, intervals=intervals)
    table.notes.append(backend_note(own))
    return [table]


def coverage_sweep(units: pd.DataFrame, items: pd.DataFrame) -> list[PaperTable]:
    """Table S3: per model, mean and sd over its clips of ORS when a mask must cover between low and high of the image."""
    own = units[(units["metric"] == "memobench.ors") & (units["reason"] == "")]
    if own.empty:
        return []
    columns: dict[str, pd.Series] = {}
    for low, high in COVERAGES:
        fits = own["raw"].between(low / 100, high / 100) & (own["value"] > 0)
        scores = own.assign(fits=fits).groupby(KEYS).apply(_ors, include_groups=False).groupby("model_id")
        name = f"{low:g}-{high:g} %"
        columns |= {f"{name} mean": scores.mean(), f"{name} sd": scores.std(), "n": scores.size()}
    frame = pd.DataFrame(columns).rename_axis("model").reset_index()
    frame = frame[[*[name for name in frame if name != "n"], "n"]]
    digits = {name: 3 for name in frame.columns if name not in ("model", "n")}
    missing = pd.DataFrame(dict.fromkeys(digits, "one clip: no sd"), index=frame.index)
    notes = [
        "Mean and sd over the model's clips, as in the paper; n clips.",
        "From the masks kept at the default range; a mask outside it and inside a wider one counts where it was kept.",
        *_origin(items[items["metric"] == "memobench.ors"]),
    ]
    title = "MemoBench table S3: ORS by coverage range (% of the image)"
    return [PaperTable("memobench-s3", title, frame, ["model"], digits, missing=missing, notes=notes)]


def _origin(items: pd.DataFrame) -> list[str]:
    """Which variants and backends made these scores."""
    return [f"Variants: {', '.join(sorted(items['variant'].unique()))}.", backend_note(items)]


def _ors(frames: pd.DataFrame) -> float:
    return object_reappearance(frames.loc[frames["fits"], "value"].to_numpy(float), len(frames))


def prompt_styles(path: Path) -> list[PaperTable]:
    """Table S4: ORS by the words that the masks were asked for with, mean and sd over clips by model (`scoring.sweeps`)."""
    if not path.is_file() or (frame := read_csv(path, keep_default_na=False, na_values=[""])).empty:
        return []
    title = "MemoBench table S4: ORS by prompt style"
    why = sorted(set(frame["why"].dropna()))
    shown = frame.drop(columns="why").fillna({"model_id": ""}).rename(columns={"model_id": "model"})
    return [
        PaperTable(
            "memobench-s4",
            title,
            shown,
            ["style", "model"],
            {"mean": 3, "sd": 3},
            notes=[f"Missing: {'; '.join(why)}."] if why else [],
        )
    ]


def constant_sweep(path: Path) -> list[PaperTable]:
    """Table S7: does the clips' order hold under other constants? Only where the run asked for it (`scoring.sweeps`)."""
    if not path.is_file() or (frame := read_csv(path, keep_default_na=False, na_values=[""])).empty:
        return []
    title = "MemoBench table S7: Kendall's tau of the clip-model pairs' order against the default constants"
    digits = {"value": 2, "kendall_tau": 3, "mean": 4, "default_mean": 4}
    return [PaperTable("memobench-s7", title, frame.fillna({"why": ""}), ["metric", "constant", "why"], digits)]


def strong_motion(
    items: pd.DataFrame, artifacts: pd.DataFrame, columns: list[Column], seed: int, resamples: int
) -> list[PaperTable]:
    """Table S5: table 2 over the clips whose ground-truth camera turns by 90 degrees or more in total."""
    turned = total_rotations(artifacts, "gt_pose")
    own = items[(items["benchmark"] == "memobench")]
    kept = own[[turned.get(tuple(key), 0.0) >= STRONG_MOTION_DEG for key in own[KEYS].to_numpy()]]
    if kept.empty:
        return []
    summary = aggregate(kept, seed=seed, resamples=resamples, by=POOLED)
    title = f"MemoBench table S5: clips with at least {STRONG_MOTION_DEG:.0f}° of ground-truth rotation"
    table = model_table("memobench-s5", title, summary, columns)
    clips = kept.drop_duplicates(KEYS).groupby("model_id").size()
    table.frame.insert(1, "n", clips.reindex(table.frame["model"]).to_numpy())
    table.notes.append(backend_note(kept))
    return [table]


def camera_errors(items: pd.DataFrame, artifacts: pd.DataFrame) -> list[PaperTable]:
    """Table S8: the synthetic clips' rotation RMSE (mean and sd over clips, degrees), CamCtrl, the ground truth's rotation, n."""
    scored = (items["metric"] == "memobench.camera_controllability") & items["value"].notna()
    own = items[scored & (items["setting"] == "synthetic")]
    if own.empty:
        return []
    turned = pd.Series(total_rotations(artifacts, "gt_pose"), name="turned").rename_axis(KEYS)
    joined = own.merge(turned.reset_index(), on=KEYS, how="left")
    grouped = joined.groupby("model_id")
    frame = pd.DataFrame(
        {
            "ATE rot. mean (deg)": grouped["raw"].mean(),
            "ATE rot. sd (deg)": grouped["raw"].std(),
            "CamCtrl": 100 * grouped["value"].mean(),
            "GT rotation (deg)": grouped["turned"].mean(),
            "n": grouped.size(),
        }
    )
    frame = frame.sort_values("ATE rot. mean (deg)").rename_axis("model").reset_index()
    better = {"ATE rot. mean (deg)": False, "CamCtrl": True}
    digits = {"ATE rot. mean (deg)": 2, "ATE rot. sd (deg)": 2, "CamCtrl": 1, "GT rotation (deg)": 1}
    marks, title = mark_best(frame, better, digits), "MemoBench table S8: camera error"
    return [PaperTable("memobench-s8", title, frame, ["model"], digits, marks, notes=_origin(own), better=better)]


def failure_counts(failures: pd.DataFrame, clips: pd.DataFrame) -> list[PaperTable]:
    """Table S10: clips with each failure label by split; a clip may have several."""
    own = failures[failures["benchmark"] == "memobench"]
    if own.empty:
        return []
    once = own.drop_duplicates([*KEYS, "label"])
    sizes = clips[clips["benchmark"] == "memobench"].groupby("setting").size()
    found = once.pivot_table(index="label", columns="setting", values="clip_id", aggfunc="count", fill_value=0)
    table = found.reindex(index=list(LABELS), columns=list(sizes.index), fill_value=0)
    table["total"] = table.sum(axis=1)
    frame = (
        table.sort_values("total", ascending=False, kind="stable")
        .rename_axis("failure", axis=0)
        .rename_axis(None, axis=1)
        .reset_index()
    )
    note = (
        "Labels are not exclusive; found by the written rules of the forensics stage. Clips: "
        + ", ".join(f"{name} {count}" for name, count in sizes.items())
        + "."
    )
    return [PaperTable("memobench-s10", "MemoBench table S10: failures found", frame, ["failure"], notes=[note])]


def total_rotations(artifacts: pd.DataFrame, role: str) -> Mapping[tuple[str, ...], float]:
    """Total rotation in degrees by clip, from the pose artifacts' records."""
    rows = artifacts[(artifacts["role"] == role) & (artifacts["stored"] != "")]
    facts = [json.loads(text).get("total_rotation_deg", np.nan) for text in rows["summary"]]
    return {tuple(key): float(value) for key, value in zip(rows[KEYS].to_numpy(), facts, strict=True)}
