"""MemoBench's tables of a run: 2 (automated), 3 (VQA), S3 and S4 (ORS by coverage and prompt), S5 (strong motion), S6 (phases),
S7 (constants), S8 (camera error), S10 (failures)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lookback.benchmarks.memobench.metrics.ors import SWEPT_RANGES
from lookback.benchmarks.memobench.strata import strata_tables
from lookback.clips import KEYS
from lookback.forensics.rules import LABELS, TITLES
from lookback.forensics.score import counts
from lookback.report.model_table import POOLED, Column, backend_note, model_table, single_clip_models
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable, mark_best
from lookback.scoring.aggregate import aggregate
from lookback.tables import read_csv

COLUMNS = [
    Column("VisQual", "memobench.visual_quality", scale=100, digits=1),
    Column("MotSmooth", "memobench.motion_smoothness", scale=100, digits=1),
    Column("ObjConsist", "memobench.object_identity", scale=100, digits=1),
    Column("3DConsist", "memobench.geo3d", scale=100, digits=1),
    Column("ORS", "memobench.ors", digits=3),
    Column("PSNR", "memobench.psnr"),
    Column("SSIM", "memobench.ssim", digits=3),
    Column("LPIPS", "memobench.lpips", digits=3),
    Column("CamCtrl", "memobench.camera_controllability", scale=100, digits=1),
    Column("ImgReward", "memobench.image_reward", scale=100, digits=1),
]
VQA = (
    ("Continuity of memory", "memobench.vqa_continuity_of_memory"),
    ("Object and background", "memobench.vqa_object_background"),
    ("Instruction following", "memobench.vqa_instruction_following"),
    ("Physics adherence", "memobench.vqa_physics_adherence"),
)
FOUND_BY = {
    "demo": "the written rules of the forensics stage",
    "real": "models that the forensics stage has fitted on labelled real clips",
}
STRONG_MOTION_DEG = 90.0
NET = "Ground-truth rotation: from the first frame to the last, as TotalGT_RotDeg of the release; a camera that comes back has 0°."


def paper_tables(data: PaperData) -> list[PaperTable]:
    """Every table that these scores can fill."""
    if data.items.empty:
        return []
    sweeps = data.params.paths.tables / "scoring"
    return [
        *automated(data),
        *vqa_table(data),
        *coverage_sweep(data.tables["units"], data.items[data.items["metric"] == "memobench.ors"]),
        *strata_tables(data),
        *prompt_styles(sweeps / "prompts.csv"),
        *constant_sweep(sweeps / "sweeps.csv"),
        *strong_motion(data),
        *camera_errors(data.items, data.tables["artifacts"]),
        *failure_counts(data.tables["failures"], data.tables["clips"], _abstentions(data.params.paths.tables)),
    ]


def remarks(written: Mapping[str, PaperTable]) -> list[str]:
    """Which tables the run did not ask for or could not fill."""
    absent = [name for name in ("s4", "s7") if f"memobench-{name}" not in written]
    said = [f"{', '.join(name.upper() for name in absent)}: not run (scoring.sweeps)."] if absent else []
    if "memobench-s5" not in written:
        said.append(f"S5: no clip's true camera is known to end {STRONG_MOTION_DEG:.0f}° or more away from its first frame.")
    return said


def automated(data: PaperData) -> list[PaperTable]:
    """Table 2 (automated metrics) and S6 (fidelity by phase)."""
    own, categories = data.items, data.condition_types("memobench")
    summary = aggregate(own, seed=data.seed, resamples=data.resamples, by=POOLED)
    group = categories if any(categories.values()) else None
    table = model_table(
        "memobench-2", "MemoBench table 2: automated metrics", summary, COLUMNS, group=group, intervals=data.intervals
    )
    table.notes.append(backend_note(own))
    phases = [
        Column(f"{name} {phase}", f"memobench.{metric}", phase, digits=digits)
        for name, metric, digits in (("PSNR", "psnr", 2), ("SSIM", "ssim", 3), ("LPIPS", "lpips", 3))
        for phase in ("V", "R")
    ]
    per_phase = model_table(
        "memobench-s6", "MemoBench table S6: fidelity while visible (V) and after the return (R)", summary, phases
    )
    for name, sign in (("PSNR", -1), ("SSIM", -1), ("LPIPS", 1)):
        per_phase.frame[f"{name} drop"] = sign * (per_phase.frame[f"{name} R"] - per_phase.frame[f"{name} V"])
        per_phase.digits[f"{name} drop"] = per_phase.digits[f"{name} R"]
        per_phase.better[f"{name} drop"] = False
        per_phase.metrics[f"{name} drop"] = per_phase.metrics[f"{name} R"]
        assert per_phase.missing is not None
        per_phase.missing[f"{name} drop"] = "V or R has no value"
    order = [f"{name} {part}" for name in ("PSNR", "SSIM", "LPIPS") for part in ("V", "R", "drop")]
    per_phase.frame = per_phase.frame[["model", *order]]
    drops = mark_best(per_phase.frame, {name: False for name in order if name.endswith("drop")}, per_phase.digits)
    drops[per_phase.frame["model"].isin(single_clip_models(own))] = ""
    assert per_phase.marks is not None
    per_phase.marks = per_phase.marks.join(drops)
    words = "Drop: positive is worse after the return (V minus R; R minus V for LPIPS)."
    per_phase.notes += [words, backend_note(own[own["metric"].isin([column.metric for column in phases])])]
    return [table, per_phase]


def vqa_table(data: PaperData) -> list[PaperTable]:
    """Table 3: share of questions answered rightly, by dimension."""
    own = data.items[data.items["metric"].isin([metric for _, metric in VQA])]
    if own.empty:
        return []
    summary = aggregate(own, seed=data.seed, resamples=data.resamples, by=POOLED)
    columns = [Column(name, metric, scale=100, digits=1) for name, metric in VQA]
    table = model_table("memobench-3", "MemoBench table 3: VQA by dimension (% right)", summary, columns, intervals=data.intervals)
    table.notes.append(backend_note(own))
    return [table]


def coverage_sweep(units: pd.DataFrame, items: pd.DataFrame) -> list[PaperTable]:
    """Table S3: per model, mean and sd over its clips of ORS when a mask must cover between low and high of the image."""
    kept = set(items["variant"])
    own = units[(units["metric"] == "memobench.ors") & (units["reason"] == "") & units["variant"].isin(kept)]
    if own.empty:
        return []
    frames = own[own["kind"] == "frame"].groupby(KEYS).size()
    columns: dict[str, pd.Series] = {}
    for low, high in SWEPT_RANGES:
        fits = own[own["raw"].between(low / 100, high / 100) & (own["value"] > 0)]
        best = fits.groupby([*KEYS, "frame"])["value"].max().groupby(KEYS).sum()
        scores = (best.reindex(frames.index, fill_value=0.0) / frames).groupby("model_id")
        name = f"{low:g}-{high:g} %"
        columns |= {f"{name} mean": scores.mean(), f"{name} sd": scores.std(), "n": scores.size()}
    frame = pd.DataFrame(columns).rename_axis("model").reset_index()
    frame = frame[[*[name for name in frame if name != "n"], "n"]]
    digits = {name: 3 for name in frame.columns if name not in ("model", "n")}
    missing = pd.DataFrame(dict.fromkeys(digits, "one clip: no sd"), index=frame.index)
    notes = [
        "Mean and sd over the model's clips, as in the paper; n clips.",
        "Every range chooses among all masks of a frame; there is no second range to fall back on.",
        *_origin(items),
    ]
    title = "MemoBench table S3: ORS by coverage range (% of the image)"
    return [PaperTable("memobench-s3", title, frame, ["model"], digits, missing=missing, notes=notes)]


def _origin(items: pd.DataFrame) -> list[str]:
    """Which variants and backends made these scores."""
    return [f"Variants: {', '.join(sorted(items['variant'].unique()))}.", backend_note(items)]


def prompt_styles(path: Path) -> list[PaperTable]:
    """Table S4: ORS by the style of the mask prompt, mean and sd over clips by model (`scoring.sweeps`)."""
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
    """Table S7: does the order of the clips change with other constants? Only when the run asks for it (`scoring.sweeps`)."""
    if not path.is_file() or (frame := read_csv(path, keep_default_na=False, na_values=[""])).empty:
        return []
    title = "MemoBench table S7: Kendall's tau of the clip-model pairs' order against the default constants"
    digits = {"value": 2, "kendall_tau": 3, "mean": 4, "default_mean": 4}
    return [PaperTable("memobench-s7", title, frame.fillna({"why": ""}), ["metric", "constant", "why"], digits)]


def strong_motion(data: PaperData) -> list[PaperTable]:
    """Table S5: table 2 over the clips whose ground-truth camera ends 90 degrees or more away from its first frame."""
    own, turned = data.items, net_rotations(data.tables["artifacts"], "gt_pose")
    kept = own[[turned.get(tuple(key), 0.0) >= STRONG_MOTION_DEG for key in own[KEYS].to_numpy()]]
    if kept.empty:
        return []
    summary = aggregate(kept, seed=data.seed, resamples=data.resamples, by=POOLED)
    title = f"MemoBench table S5: clips with at least {STRONG_MOTION_DEG:.0f}° of ground-truth rotation"
    table = model_table("memobench-s5", title, summary, COLUMNS)
    clips = kept.drop_duplicates(KEYS).groupby("model_id").size()
    table.frame.insert(1, "n", clips.reindex(table.frame["model"]).to_numpy())
    table.notes += [NET, backend_note(kept)]
    return [table]


def camera_errors(items: pd.DataFrame, artifacts: pd.DataFrame) -> list[PaperTable]:
    """Table S8: the synthetic clips' rotation RMSE (mean and sd over clips, degrees), CamCtrl, the truth's net rotation, n."""
    scored = (items["metric"] == "memobench.camera_controllability") & items["value"].notna()
    own = items[scored & (items["setting"] == "synthetic")]
    if own.empty:
        return []
    turned = pd.Series(net_rotations(artifacts, "gt_pose"), name="turned").rename_axis(KEYS)
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
    marks[frame["n"] == 1] = ""
    metrics = dict.fromkeys(better, "memobench.camera_controllability")
    notes = [NET, *_origin(own)]
    return [PaperTable("memobench-s8", title, frame, ["model"], digits, marks, notes=notes, better=better, metrics=metrics)]


def failure_counts(failures: pd.DataFrame, clips: pd.DataFrame, abstentions: pd.DataFrame) -> list[PaperTable]:
    """Table S10: clips with each failure label by split; a clip may have several. A dash: no clip of the split was judged."""
    own = failures[failures["benchmark"] == "memobench"]
    if own.empty:
        return []
    by_model = counts(own, clips[clips["benchmark"] == "memobench"], abstentions)
    by_split = by_model.groupby("setting")[["clips", *TITLES.values()]].sum(min_count=1)
    sizes, table = by_split["clips"], by_split.rename(columns={title: label for label, title in TITLES.items()})[list(LABELS)].T
    table["total"] = table.sum(axis=1, min_count=1)
    frame = (
        table.sort_values("total", ascending=False, kind="stable").rename_axis("failure").rename_axis(None, axis=1).reset_index()
    )
    domains = dict.fromkeys(str(rule).partition(":")[0] for rule in own["rule"])
    clips_of = ", ".join(f"{name} {count}" for name, count in sizes.items())
    note = f"Labels are not exclusive; found by {' and '.join(FOUND_BY.get(each, each) for each in domains)}. Clips: {clips_of}."
    notes = [note, *(["A dash: not judged in any clip; the page of failures says why."] if table.isna().any(axis=None) else [])]
    missing = pd.DataFrame("not judged", index=frame.index, columns=table.columns)
    title = "MemoBench table S10: failures found"
    return [PaperTable("memobench-s10", title, frame, ["failure"], missing=missing, notes=notes)]


def _abstentions(tables: Path) -> pd.DataFrame:
    """The failures about which nothing is said, by clip; empty where the stage did not write them."""
    path = tables / "forensics" / "abstentions.csv"
    return read_csv(path, keep_default_na=False) if path.is_file() else pd.DataFrame(columns=[*KEYS, "label"])


def net_rotations(artifacts: pd.DataFrame, role: str) -> Mapping[tuple[str, ...], float]:
    """Degrees from the first frame to the last (a perfect return is 0) by clip, from the pose artifacts' records."""
    rows = artifacts[(artifacts["role"] == role) & (artifacts["stored"] != "")]
    facts = [json.loads(text).get("return_error_deg", np.nan) for text in rows["summary"]]
    return {tuple(key): float(value) for key, value in zip(rows[KEYS].to_numpy(), facts, strict=True)}
