"""The two pictures of forensics: the timeline of one clip, and the card of a case with two clips.

A timeline shows frames, metric curves, camera yaw and visibility on one time axis; below, the frame after the return stands beside
its reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.patches import Patch
from numpy.typing import NDArray

from lookback.clips import Clip
from lookback.errors import MediaError
from lookback.figures import PALETTE, PHASE_COLOURS, STATES, style
from lookback.forensics.evidence import Evidence
from lookback.forensics.probe import Comparison, Inputs, frame_masks, most_changed_pair
from lookback.media import sample_uniform
from lookback.paths import resolve
from lookback.strips import HIGHLIGHT, FilmStrip, read_strip

OUTLINE, TRACK = PALETTE[6], PALETTE[4]
TRAIL = 8  # frames of the subject's track that are drawn
THUMBNAIL = 240  # width in pixels
MAX_CURVES = 3
MIN_YAW = 8.0  # the axis covers at least this many degrees, so that the noise of a still camera looks small


@dataclass(frozen=True)
class Span:
    """Frames [start, end] in which a failure shows."""

    start: int
    end: int
    title: str

    def holds(self, frame: int) -> bool:
        return self.start <= frame <= self.end


def chosen_frames(n_frames: int, count: int, spans: list[Span]) -> NDArray[np.int64]:
    """Evenly spaced frames. If none lies in a failing span, the nearest one is moved to the start of that span."""
    frames = sample_uniform(n_frames, count).astype(np.int64)
    for span in spans:
        if not any(span.holds(int(frame)) for frame in frames):
            frames[np.abs(frames - span.start).argmin()] = span.start
    return np.unique(frames)


def thumbnails(clip: Clip, frames: NDArray[np.int64]) -> FilmStrip:
    """The frames, no wider than a thumbnail. If the clip cannot be read, grey pictures that say so."""
    try:
        return read_strip(resolve(clip.video), frames.tolist()).shrunk(THUMBNAIL)
    except MediaError:
        height = round(THUMBNAIL * (clip.height or 9) / (clip.width or 16))
        grey = np.full((height, THUMBNAIL, 3), 190, np.uint8)
        cv2.putText(grey, "cannot be read", (4, height // 2), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 1, cv2.LINE_AA)
        return FilmStrip(tuple(frames.tolist()), np.stack([grey] * len(frames)))


def failing_frames(frames: NDArray[np.int64], spans: list[Span]) -> set[int]:
    """The frames that lie in a failing span."""
    return {frame for frame in frames.tolist() if any(span.holds(frame) for span in spans)}


def trail(boxes: NDArray[np.floating] | None, frame: int, width: int) -> NDArray[np.float64]:
    """Centres of the subject's box over the last frames up to this one, as shares of the video's width."""
    if boxes is None or frame >= len(boxes):
        return np.empty((0, 2))
    recent = boxes[max(0, frame - TRAIL) : frame + 1]
    recent = recent[np.isfinite(recent).all(axis=1)]
    return np.asarray((recent[:, :2] + recent[:, 2:]) / 2 / width, np.float64)


def outlined(picture: NDArray[np.uint8], mask: NDArray[np.bool_] | None, track: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The picture with the outline of the mask and the subject's recent track drawn on it."""
    if len(track) > 1:
        points = np.rint(track * picture.shape[1]).astype(np.int32)
        tint = tuple(round(255 * part) for part in to_rgb(TRACK))
        picture = np.asarray(cv2.polylines(picture.copy(), [points[:, None]], False, tint, 2, cv2.LINE_AA), np.uint8)
    if mask is None or not mask.any():
        return picture
    full = cv2.resize(mask.astype(np.uint8), (picture.shape[1], picture.shape[0]), interpolation=cv2.INTER_NEAREST)
    contours, _ = cv2.findContours(full, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    colour = tuple(round(255 * part) for part in to_rgb(OUTLINE))
    return np.asarray(cv2.drawContours(picture.copy(), contours, -1, colour, 2), np.uint8)


@dataclass(frozen=True)
class Timeline:
    """One clip with everything its timeline shows."""

    seen: Evidence
    inputs: Inputs | None
    spans: list[Span]
    curves: pd.DataFrame  # columns metric, frame, value
    heading: str
    caption: str


def phases(seen: Evidence) -> list[tuple[str, int, int]]:
    """The phases V, D and R as (name, start, end), from the visibility of the subject; `end` is not included."""
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
    """The timeline of one clip: `count` frames, the curves, and the comparison with the reference if there is one."""
    n_frames = what.seen.clip.n_frames or 1
    frames = chosen_frames(n_frames, count, what.spans)
    pair = most_changed_pair(what.inputs, what.seen.pairs) if what.inputs is not None else None
    with style():
        figure = Figure(figsize=(11, 6.6 if pair is not None else 4.9))
        rows = [1.0, 1.1, 1.0, 0.28] + ([0.35, 1.75] if pair is not None else [])
        grid = figure.add_gridspec(len(rows), 1, height_ratios=rows, hspace=0.3, left=0.07, right=0.985, top=0.93, bottom=0.06)
        _draw_frames(figure.add_subplot(grid[0]), what, frames)
        curves, yaw, visibility = (figure.add_subplot(grid[row]) for row in (1, 2, 3))
        _curves(curves, what)
        _yaw(yaw, what.seen)
        _visibility(visibility, what.seen)
        for axes in (curves, yaw, visibility):
            axes.set_xlim(-0.5, n_frames - 0.5)
        for axes in (curves, yaw):
            _shade(axes, what)
            axes.tick_params(labelbottom=False)
        visibility.set_xlabel("frame", labelpad=1)
        if pair is not None:
            _comparison(figure, grid[5], pair)
        figure.suptitle(what.heading, fontsize=10, x=0.07, ha="left", y=0.985)
    return figure


def _draw_frames(axes: Axes, what: Timeline, frames: NDArray[np.int64]) -> None:
    strip = thumbnails(what.seen.clip, frames)
    masks = frame_masks(what.inputs, frames) if what.inputs is not None else [None] * len(frames)
    tracks = [trail(what.seen.boxes, frame, what.seen.clip.width or 1) for frame in strip.frames]
    drawn = [outlined(picture, mask, track) for picture, mask, track in zip(strip.pictures, masks, tracks, strict=True)]
    strip = replace(strip, pictures=np.stack(drawn))
    strip.draw(axes, failing_frames(frames, what.spans), what.seen.clip.fps)


def _shade(axes: Axes, what: Timeline) -> None:
    for name, start, end in phases(what.seen):
        axes.axvspan(start - 0.5, end - 0.5, color=PHASE_COLOURS[name], alpha=0.10, lw=0)
        axes.text(
            (start + end) / 2, 0.97, name, transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=8, color="#555555"
        )
    for span in what.spans:
        axes.axvspan(span.start - 0.5, span.end + 0.5, facecolor="none", edgecolor=HIGHLIGHT, hatch="///", alpha=0.35, lw=0)


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
    colours = ListedColormap([colour for _, colour in STATES.values()])
    axes.imshow(seen.state[None], aspect="auto", cmap=colours, vmin=-1, vmax=3, extent=(-0.5, last + 0.5, 0, 1))
    present = sorted(set(seen.state.tolist()))
    handles = [Patch(color=colour, label=name) for name, colour in (STATES[code] for code in present)]
    axes.legend(handles=handles, fontsize=7, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.9), frameon=False, handlelength=1.2)


def _comparison(figure: Figure, place: SubplotSpec, pair: Comparison) -> None:
    inner = place.subgridspec(1, 4, width_ratios=[1, 1, 1, 0.04], wspace=0.06)
    for column, (picture, title) in enumerate(((pair.reference, pair.reference_title), (pair.late, pair.late_title))):
        axes = figure.add_subplot(inner[0, column])
        axes.imshow(picture)
        axes.set_axis_off()
        axes.set_title(title, fontsize=8, pad=3)
    axes = figure.add_subplot(inner[0, 2])
    shown = axes.imshow(pair.difference, cmap="magma", vmin=0, vmax=0.6)
    axes.set_axis_off()
    axes.set_title("difference (largest channel)", fontsize=8, pad=3)
    figure.colorbar(shown, cax=figure.add_subplot(inner[0, 3])).ax.tick_params(labelsize=7)


@dataclass(frozen=True)
class Side:
    """One of the two clips of a card."""

    clip: Clip
    heading: str
    spans: list[Span]


@dataclass(frozen=True)
class Card:
    """A case: a title, two clips and the caption."""

    title: str
    sides: tuple[Side, Side]
    caption: str


def card_figure(card: Card, count: int) -> Figure:
    """Evenly spaced frames of both clips. Frames in which a failure was found have a thick border."""
    with style():
        figure = Figure(figsize=(11, 3.2))
        for row, side in enumerate(card.sides):
            axes = figure.add_axes((0.01, 0.44 - 0.44 * row, 0.98, 0.34))
            frames = chosen_frames(side.clip.n_frames or 1, count, side.spans)
            thumbnails(side.clip, frames).draw(axes, failing_frames(frames, side.spans))
            axes.text(0, 1.2, side.heading, transform=axes.transAxes, fontsize=8.5, va="bottom")
        figure.suptitle(card.title, fontsize=10, x=0.01, ha="left", y=1.0)
    return figure
