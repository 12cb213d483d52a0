"""The main result table of each benchmark: MBench 2, MemoBench 2, WRBench 2, MIND's measures."""

from __future__ import annotations

import pandas as pd

from lookback.errors import NotScorable
from lookback.scoring.aggregate import aggregate, aggregate_triggered
from lookback.benchmarks.wrbench.metrics.reobservation import dimension_average, is_sparse
from lookback.report.model_table import POOLED, Column, backend_note, model_table
from lookback.benchmarks.wrbench.supplement import SPARSE
from lookback.report.table import PaperTable, mark_best

MBENCH = (
    ("Object geometry", "entity.object_geometry_consistency"),
    ("Object texture", "entity.object_texture_consistency"),
    ("Human identity", "entity.human_identity_consistency"),
    ("Human appearance", "entity.human_appearance_consistency"),
    ("Epipolar", "environment.spatial_epipolar"),
    ("Reprojection", "environment.spatial_reprojection"),
    ("Lighting", "environment.rendering_lighting"),
    ("Style", "environment.rendering_style"),
    ("State", "causal.state_progress"),
    ("Correctness", "causal.progress_correctness"),
    ("Text", "causal.prompt_interaction"),
    ("Action", "causal.camera_interaction"),
)

PERSPECTIVES = {"1st_data": "first person", "3rd_data": "third person"}
MEMOBENCH = [
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


def _compared(metric: str) -> list[Column]:
    """The four measures of two pictures."""
    return [
        Column(f"{metric} {name}", f"mind.{metric}", name, digits=digits)
        for name, digits in (("mse", 4), ("psnr", 2), ("ssim", 3), ("lpips", 3))
    ]


MIRROR = _compared("gsc")
PREDICTED = [
    *_compared("lcm"),
    Column("imaging", "mind.visual", "imaging", digits=3),
    Column("aesthetic", "mind.visual", "aesthetic", digits=3),
    Column("dino mse", "mind.dino", digits=5),
    Column("RPE trans", "mind.action", "__overall__:trans", digits=4),
    Column("RPE rot (deg)", "mind.action", "__overall__:rot", digits=3),
]


def mbench_2(items: pd.DataFrame, gated: bool, seed: int, resamples: int, intervals: bool) -> list[PaperTable]:
    """M-Score x 100 per dimension, one table per setting; A is never gated, and without a trigger's answers (`gated`) T is not
    either: what is left is the reliability.
    """
    tables = []
    for setting, prefix, words in (("T", "mbencht", "text-conditioned"), ("A", "mbencha", "action-conditioned")):
        own = items[(items["benchmark"] == "mbench") & (items["setting"] == setting)]
        if own.empty:
            continue
        columns = [
            Column(header, f"{prefix}.{name}", scale=100) for header, name in MBENCH if not (setting == "T" and header == "Action")
        ]
        if setting == "T" and gated:
            summary, value, shown = aggregate_triggered(own, seed=seed, resamples=resamples), "m_score", "M-Score"
        else:
            summary, value, shown = aggregate(own, seed=seed, resamples=resamples), "mean", "reliability"
        title = f"MBench table 2, {words} models: {shown} x 100"
        table = model_table(f"mbench-2-{setting.lower()}", title, summary, columns, value, intervals=intervals)
        if setting == "T" and not gated:
            table.notes.append("No trigger decides here: raw consistency of every clip, which a still video can lead.")
        table.notes.append(backend_note(own))
        tables.append(table)
    return tables


def memobench_2(items: pd.DataFrame, categories: dict[str, str], seed: int, resamples: int, intervals: bool) -> list[PaperTable]:
    """The automated metrics of MemoBench table 2."""
    own = items[items["benchmark"] == "memobench"]
    if own.empty:
        return []
    summary = aggregate(own, seed=seed, resamples=resamples, by=POOLED)
    group = categories if any(categories.values()) else None
    table = model_table("memobench-2", "MemoBench table 2: automated metrics", summary, MEMOBENCH, group=group, intervals=intervals)
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
        assert per_phase.missing is not None
        per_phase.missing[f"{name} drop"] = "V or R has no value"
    order = [f"{name} {part}" for name in ("PSNR", "SSIM", "LPIPS") for part in ("V", "R", "drop")]
    per_phase.frame = per_phase.frame[["model", *order]]
    per_phase.marks = mark_best(per_phase.frame, per_phase.better, per_phase.digits)
    drops = "Drop: positive is worse after the return (V minus R; R minus V for LPIPS)."
    per_phase.notes += [drops, backend_note(own[own["metric"].isin([column.metric for column in phases])])]
    return [table, per_phase]


def wrbench_2(items: pd.DataFrame, types: dict[str, str], seed: int, resamples: int, intervals: bool) -> list[PaperTable]:
    """The diagnostic profile of WRBench table 2, best and second within the viewpoint condition type."""
    own = items[items["benchmark"] == "wrbench"]
    if own.empty:
        return []
    columns = [
        Column("CamPrec", "wrbench.cam_prec"),
        Column("CamAlign", "wrbench.cam_align"),
        Column("Integ.", "wrbench.visual_integrity"),
        Column("Support %", "wrbench.support", scale=100, digits=1),
        Column("Vis. spatial", "wrbench.visible_spatial"),
        Column("Vis. state", "wrbench.visible_state"),
        Column("Reobs. spatial", "wrbench.reobserved_spatial"),
        Column("Reobs. state", "wrbench.reobserved_state"),
    ]
    summary = aggregate(own, seed=seed, resamples=resamples, by=POOLED)
    group = types if any(types.values()) else None
    table = model_table("wrbench-2", "WRBench table 2: diagnostic profile", summary, columns, group=group, intervals=intervals)
    table.frame["Avg"] = [_average(row) for _, row in table.frame.iterrows()]
    table.better["Avg"] = True
    assert table.missing is not None
    table.missing["Avg"] = "a dimension of the average has no value"
    table.marks = mark_best(table.frame, table.better, table.digits, table.frame["type"] if group else None)
    spatial = summary[summary["metric"] == "wrbench.reobserved_spatial"].set_index("model_id")
    outputs = summary[summary["metric"] == "wrbench.support"].set_index("model_id")
    assert table.suffixes is not None
    for index, model in enumerate(table.frame["model"]):
        judged = int(spatial["n"].get(model, 0))
        if is_sparse(judged, int(outputs["n_items"].get(model, 0))):
            for header in ("Reobs. spatial", "Reobs. state"):
                table.suffixes.loc[index, header] = "†" + table.suffixes.loc[index, header]
    table.notes += [SPARSE, backend_note(own)]
    return [table]


def _average(row: pd.Series) -> float:
    names = {
        "cam_align": "CamAlign",
        "visual_integrity": "Integ.",
        "visible_spatial": "Vis. spatial",
        "visible_state": "Vis. state",
        "reobs_spatial": "Reobs. spatial",
        "reobs_state": "Reobs. state",
    }
    try:
        return dimension_average({name: row[header] for name, header in names.items()})
    except NotScorable:
        return float("nan")


def mind_tables(items: pd.DataFrame, seed: int, resamples: int, intervals: bool) -> list[PaperTable]:
    """MIND's measures per model, each test apart, together and by perspective; then the pose error by group of actions."""
    own = items[items["benchmark"] == "mind"]
    tables = []
    for subset, tested in own.groupby("subset", sort=True):
        apart = {str(name): rows for name, rows in tested.groupby("setting", sort=True)}
        parts = {"": tested} | (apart if len(apart) > 1 else {})
        for setting, rows in parts.items():
            summary = aggregate(rows, seed=seed, resamples=resamples, by=POOLED)
            name = "-".join(filter(None, ("mind", str(subset), setting)))
            title = ", ".join(filter(None, (f"MIND, {subset}", PERSPECTIVES.get(setting, setting))))
            table = model_table(name, title, summary, MIRROR if subset == "mirror_test" else PREDICTED, intervals=intervals)
            table.notes.append(backend_note(rows))
            tables.append(table)
    return [*tables, *_by_action(own, seed, resamples)]


def _by_action(own: pd.DataFrame, seed: int, resamples: int) -> list[PaperTable]:
    """MIND's action accuracy by group of actions: relative pose error, rotation in degrees and translation."""
    rows = own[own["metric"] == "mind.action"]
    groups = dict.fromkeys(phase.rpartition(":")[0] for phase in sorted(rows["phase"].unique()) if ":" in phase)
    if not groups:
        return []
    columns = [
        Column(
            f"{group.replace('__overall__', 'all').removeprefix('act:').replace('_', ' ')} {measure}",
            "mind.action",
            f"{group}:{measure}",
            digits=4,
        )
        for group in groups
        for measure in ("rot", "trans")
    ]
    summary = aggregate(rows, seed=seed, resamples=resamples, by=POOLED)
    title = "MIND: relative pose error by group of actions (rotation in degrees, translation)"
    table = model_table("mind-action", title, summary, columns)
    table.notes.append(backend_note(rows))
    return [table]
