"""ORS by the size of the object and by the camera's turn at the reappearance (MemoBench appendix A.7.1), as table and figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import cv2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from lookback.artifacts import Artifact, Masks, RunArtifacts, TruePoseTrack
from lookback.benchmarks.memobench.dataset_files import OBJECT_MASK
from lookback.camera.poses import rotation_angle_deg
from lookback.clips import KEYS, Clip, clips_from_frame
from lookback.errors import ContractError, MediaError
from lookback.figures import PALETTE, style
from lookback.media.frames import image_size
from lookback.paths import resolve
from lookback.report.figures.drawn import DrawnFigure, line_look
from lookback.report.model_table import backend_note
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable

A = TypeVar("A", bound=Artifact)
ORS = "memobench.ors"


@dataclass(frozen=True)
class Strata:
    """How clips are sorted: the parts, each from its bound up to the next."""

    name: str
    unit: str
    bounds: tuple[float, ...]
    parts: tuple[str, ...]


SIZE = Strata("object size", "% of the first frame", (0, 2, 10), ("small, under 2 %", "medium, 2-10 %", "large, over 10 %"))
# the paper names only "over 120 degrees"; the other bounds are ours
TURN = Strata("turn at the reappearance", "degrees", (0, 30, 60, 120), ("under 30°", "30-60°", "60-120°", "over 120°"))


def strata_tables(data: PaperData) -> list[PaperTable]:
    """Mean and sd of ORS by model in every part of both sortings."""
    scores = sorted_scores(data)
    if scores.empty:
        return []
    grouped = scores.groupby(["sorted by", "part", "model"], sort=False, observed=True)["ors"]
    frame = grouped.agg(mean="mean", sd="std", n="size").reset_index()
    missing = pd.DataFrame({"sd": "one clip: no sd"}, index=frame.index)
    known = scores.drop_duplicates(["sorted by", *KEYS]).groupby("sorted by").size()
    unknown = {strata.name: _clips(data) - int(known.get(strata.name, 0)) for strata in (SIZE, TURN)}
    notes = [
        "Size: the part of the first frame that the object's mask covers. Turn: from the first true frame to that of the return.",
        *[f"Clips without a known {name}: {count}." for name, count in unknown.items() if count],
        backend_note(data.items[data.items["metric"] == ORS]),
    ]
    title = "MemoBench appendix A.7.1: ORS by object size and by the camera's turn at the reappearance"
    labels = ["sorted by", "part", "model"]
    return [PaperTable("memobench-a7-1", title, frame, labels, {"mean": 3, "sd": 3}, missing=missing, notes=notes)]


def strata_figure(data: PaperData) -> DrawnFigure | None:
    """A line per model over the parts of each sorting."""
    scores = sorted_scores(data)
    if scores.empty:
        return None
    shown = [strata for strata in (SIZE, TURN) if (scores["sorted by"] == strata.name).any()]
    models = sorted(scores["model"].unique())
    interactive = make_subplots(1, len(shown), subplot_titles=[strata.name for strata in shown])
    with style():
        static, grid = plt.subplots(1, len(shown), figsize=(5.2 * len(shown), 3.6), layout="constrained", squeeze=False)
        for panel, strata in enumerate(shown):
            own = scores[scores["sorted by"] == strata.name]
            means = own.pivot_table(index="part", columns="model", values="ors", observed=True).reindex(list(strata.parts))
            for index, model in enumerate(models):
                if model in means:
                    values, colour = means[model].tolist(), PALETTE[index % len(PALETTE)]
                    grid[0, panel].plot(range(len(values)), values, "o-", color=colour, label=model)
                    look = {"name": model, "legendgroup": model, "showlegend": panel == 0, "line": line_look(index)}
                    interactive.add_scatter(x=strata.parts, y=values, mode="lines+markers", row=1, col=panel + 1, **look)
            grid[0, panel].set(title=strata.name, ylabel="ORS", ylim=(-0.03, 1.03))
            grid[0, panel].set_xticks(range(len(strata.parts)), strata.parts, fontsize=7)
        static.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    interactive.update_layout(height=430)
    caption = (
        f"MemoBench: ORS by the size of the object and by how far the true camera has turned when it is back, {_clips(data)} clips "
    )
    caption += f"of {len(models)} models. Small objects and far turns are found again less often."
    return DrawnFigure("ors-strata", caption, static, interactive)


def sorted_scores(data: PaperData) -> pd.DataFrame:
    """One row per score and sorting with a known place: sorted by, part, model, ors, and the clip's keys."""
    own = data.items[(data.items["metric"] == ORS) & (data.items["phase"] == "") & data.items["value"].notna()]
    table = data.tables["clips"]
    clips = {clip.key: clip for clip in clips_from_frame(table[table["benchmark"] == "memobench"])}
    artifacts = RunArtifacts(data.params.paths.artifacts, data.tables["artifacts"])
    rows: list[list[object]] = []
    for row in own.to_dict("records"):
        key = tuple(row[name] for name in KEYS)
        if (clip := clips.get(key)) is None:
            continue
        for strata, place in ((SIZE, object_size(clip, artifacts)), (TURN, turn_at_return(clip, artifacts))):
            if place is not None:
                part = strata.parts[int(np.searchsorted(strata.bounds, place, side="right")) - 1]
                rows.append([strata.name, part, row["model_id"], row["value"], *key])
    frame = pd.DataFrame(rows, columns=["sorted by", "part", "model", "ors", *KEYS])
    order = [part for strata in (SIZE, TURN) for part in strata.parts]
    frame["part"] = pd.Categorical(frame["part"], order, ordered=True)
    return frame.sort_values(["sorted by", "part", "model"], kind="stable")


def object_size(clip: Clip, artifacts: RunArtifacts) -> float | None:
    """Per cent of the first frame that the object covers: from the dataset's mask, else from the clip's own in frame 0."""
    if given := clip.extras.get(OBJECT_MASK):
        return _covered(resolve(str(given)))
    masks = _loaded(artifacts, clip, Masks)
    covered = 0.0 if masks is None else float(masks.area[masks.rows_at(0)].max(initial=0.0))
    return 100.0 * covered if covered > 0 else None


def _covered(path: Path) -> float | None:
    """Per cent of a mask image that is not black; None when it cannot be read."""
    try:
        image_size(path)  # checks the size in the header before memory is allocated for it
    except MediaError:
        return None
    image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    return None if image is None else 100.0 * float((image > 0).mean())


def turn_at_return(clip: Clip, artifacts: RunArtifacts) -> float | None:
    """Degrees between the true camera's first frame and the frame in which the object is back."""
    truth = None if clip.r_start is None else _loaded(artifacts, clip, TruePoseTrack)
    if truth is None or clip.r_start is None:
        return None
    first, back = truth.at(np.array([0, clip.r_start]))
    return float(rotation_angle_deg(first, back))


def _loaded(artifacts: RunArtifacts, clip: Clip, kind: type[A]) -> A | None:
    try:
        return artifacts.load(clip, kind)
    except ContractError:
        return None


def _clips(data: PaperData) -> int:
    own = data.items[(data.items["metric"] == ORS) & (data.items["phase"] == "") & data.items["value"].notna()]
    return len(own.drop_duplicates(KEYS))
