"""One clip on one time axis: frames, metric curves, camera yaw and visibility; and the return beside its reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lookback.figures import PALETTE, PHASE_COLOURS, style
from lookback.forensics.evidence import Evidence
from lookback.forensics.probe import Inputs, compared, frame_masks
from lookback.forensics.strips import FAILING, Span, chosen_frames, outlined, read_small, show_strip, trail

STATES = ("out", "in view", "leaving", "returned")
STATE_COLOURS = ("#d9d9d9", PALETTE[2], PALETTE[5], PALETTE[0])
MAX_CURVES = 3
MIN_YAW = 8.0  # degrees shown at least: the noise of a camera at rest is not blown up


@dataclass(frozen=True)
class Timeline:
    """What a timeline is drawn from."""

    seen: Evidence
    inputs: Inputs | None
    spans: list[Span]
    curves: pd.DataFrame  # metric, frame, value, of this clip
    heading: str
    caption: str


def phases(seen: Evidence) -> list[tuple[str, int, int]]:
    """V, D and R as [start, end) frames, from the visibility of the subject."""
    if seen.state is None or seen.frames is None or not len(seen.state):
        return []
    away = seen.state == 0
    if away[0] or not away.any():
        return [("V", int(seen.frames[0]), int(seen.frames[-1]) + 1)]
    first = int(np.argmax(away))
    back = np.flatnonzero(~away[first:])
    last = int(seen.frames[-1]) + 1
    leaves = int(seen.frames[first])
    if not len(back):
        return [("V", 0, leaves), ("D", leaves, last)]
    returns = int(seen.frames[first + back[0]])
    return [("V", 0, leaves), ("D", leaves, returns), ("R", returns, last)]


def timeline_figure(what: Timeline, count: int) -> Figure:
    """The whole picture of one clip."""
    n_frames = what.seen.clip.n_frames or 1
    frames = chosen_frames(n_frames, count, what.spans)
    pair = compared(what.inputs, what.seen.pairs) if what.inputs is not None else None
    with style():
        figure = Figure(figsize=(11, 6.6 if pair is not None else 4.9))
        rows = [1.0, 1.1, 1.0, 0.28] + ([0.35, 1.75] if pair is not None else [])
        grid = figure.add_gridspec(len(rows), 1, height_ratios=rows, hspace=0.3, left=0.07, right=0.985, top=0.93, bottom=0.06)
        _strip(figure.add_subplot(grid[0]), what, frames)
        curves, yaw, strip = (figure.add_subplot(grid[row]) for row in (1, 2, 3))
        _curves(curves, what)
        _yaw(yaw, what.seen)
        _visibility(strip, what.seen)
        for axes in (curves, yaw, strip):
            axes.set_xlim(-0.5, n_frames - 0.5)
        for axes in (curves, yaw):
            _shade(axes, what)
            axes.tick_params(labelbottom=False)
        strip.set_xlabel("frame", labelpad=1)
        if pair is not None:
            _comparison(figure, grid[5], pair)
        figure.suptitle(what.heading, fontsize=10, x=0.07, ha="left", y=0.985)
    return figure


def _strip(axes: Axes, what: Timeline, frames: np.ndarray) -> None:
    pictures = read_small(what.seen.clip, frames)
    masks = frame_masks(what.inputs, frames) if what.inputs is not None else [None] * len(frames)
    tracks = [trail(what.seen.boxes, frame, what.seen.clip.width or 1) for frame in frames.tolist()]
    drawn = [outlined(picture, mask, track) for picture, mask, track in zip(pictures, masks, tracks, strict=True)]
    show_strip(axes, drawn, frames, what.spans, what.seen.clip.fps)


def _shade(axes: Axes, what: Timeline) -> None:
    for name, start, end in phases(what.seen):
        axes.axvspan(start - 0.5, end - 0.5, color=PHASE_COLOURS[name], alpha=0.10, lw=0)
        axes.text(
            (start + end) / 2, 0.97, name, transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=8, color="#555555"
        )
    for span in what.spans:
        axes.axvspan(span.start - 0.5, span.end + 0.5, facecolor="none", edgecolor=FAILING, hatch="///", alpha=0.35, lw=0)


def _curves(axes: Axes, what: Timeline) -> None:
    for colour, (metric, rows) in zip(PALETTE, what.curves.groupby("metric", sort=True), strict=False):
        rows = rows.sort_values("frame")
        low, high = float(rows["value"].min()), float(rows["value"].max())
        scale = max(high - low, 1e-9) if high > 1.5 or low < 0 else 1.0
        values = (rows["value"] - low) / scale if scale != 1.0 else rows["value"]
        name = str(metric).split(".", 1)[1] + (f" ({low:.2g} to {high:.2g})" if scale != 1.0 else "")
        axes.plot(rows["frame"], values, marker=".", ms=4, lw=1.2, color=colour, label=name)
    axes.set_ylim(-0.05, 1.28)
    axes.set_ylabel("metric")
    axes.set_yticks([0, 0.5, 1])
    if len(what.curves):
        axes.legend(fontsize=7, loc="lower left", ncols=MAX_CURVES, framealpha=0.9)
    else:
        axes.text(0.5, 0.5, "no metric of this clip has values per frame", transform=axes.transAxes, ha="center", color="#777777")


def _yaw(axes: Axes, seen: Evidence) -> None:
    if seen.requested is not None:
        scale = (seen.clip.n_frames or 1) / max(len(seen.requested.c2w), 1)
        axes.plot(
            np.arange(len(seen.requested.c2w)) * scale,
            seen.requested.yaw,
            "--",
            color="#222222",
            lw=1.2,
            zorder=3,
            label="asked for",
        )
    if seen.path is not None:
        axes.plot(seen.path.frames, seen.path.yaw, color=PALETTE[5], lw=2.6, label="made")
    axes.set_ylabel("yaw (deg)")
    axes.margins(y=0.18)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -MIN_YAW), max(high, MIN_YAW))
    if axes.has_data():
        axes.legend(fontsize=7, loc="best", ncols=2, framealpha=0.9)


def _visibility(axes: Axes, seen: Evidence) -> None:
    axes.set_yticks([])
    axes.set_ylabel("subject", rotation=0, ha="right", va="center")
    if seen.state is None or seen.frames is None:
        axes.text(0.5, 0.5, "no mask", transform=axes.transAxes, ha="center", va="center", color="#777777")
        return
    last = float(seen.frames[-1])
    axes.imshow(
        seen.state[None], aspect="auto", cmap=ListedColormap(STATE_COLOURS), vmin=0, vmax=3, extent=(-0.5, last + 0.5, 0, 1)
    )
    present = sorted(set(seen.state.tolist()))
    handles = [Patch(color=STATE_COLOURS[code], label=STATES[code]) for code in present]
    axes.legend(handles=handles, fontsize=7, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.9), frameon=False, handlelength=1.2)


def _comparison(figure: Figure, place: object, pair: tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, str]]) -> None:
    reference, late, difference, names = pair
    inner = place.subgridspec(1, 4, width_ratios=[1, 1, 1, 0.04], wspace=0.06)  # type: ignore[attr-defined]
    for column, (picture, title) in enumerate(((reference, names[0]), (late, names[1]))):
        axes = figure.add_subplot(inner[0, column])
        axes.imshow(picture)
        axes.set_axis_off()
        axes.set_title(title, fontsize=8, pad=3)
    axes = figure.add_subplot(inner[0, 2])
    shown = axes.imshow(difference, cmap="magma", vmin=0, vmax=0.6)
    axes.set_axis_off()
    axes.set_title("difference (largest channel)", fontsize=8, pad=3)
    figure.colorbar(shown, cax=figure.add_subplot(inner[0, 3])).ax.tick_params(labelsize=7)
