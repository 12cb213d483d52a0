"""Tables and figures of artifacts: coverage by role, camera paths, masks on frames, visibility timelines, seconds per role."""

from __future__ import annotations

import cv2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lookback.artifacts import Masks, PoseTrack
from lookback.camera.poses import pitch_deg, turned_yaw_deg
from lookback.clips import Clip
from lookback.figures import PALETTE, STATES, style
from lookback.media import open_video, sample_uniform
from lookback.names import counted
from lookback.paths import resolve

LEAST_SPAN_DEG = 5.0
MOST_ROWS = 24  # clips in the figure of visibility


def coverage_table(artifacts: pd.DataFrame) -> pd.DataFrame:
    """Per role and backend: how many clips have an artifact, and why the others have none."""
    rows = []
    for (role, backend), group in artifacts.groupby(["role", "backend"], sort=True):
        reasons = group.loc[group["reason"] != "", "reason"].value_counts()
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        rows.append(
            {
                "role": role,
                "backend": backend or "none",
                "clips": len(group),
                "made": int((group["stored"] != "").sum()),
                "why": why,
            }
        )
    return pd.DataFrame(rows, columns=["role", "backend", "clips", "made", "why"])


def paths_figure(paths: list[tuple[Clip, PoseTrack]]) -> tuple[Figure, str]:
    """Yaw and pitch per frame and positions from above, for a few clips."""
    with style():
        figure, (yaw_axes, pitch_axes, top) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        for number, (clip, pose) in enumerate(paths):
            frames, c2w = pose.frame_index, pose.c2w
            look = {"color": PALETTE[number % len(PALETTE)], "linestyle": ("-", "--", ":")[number // len(PALETTE) % 3]}
            yaw_axes.plot(frames, turned_yaw_deg(c2w), label=f"{clip.benchmark}: {clip.model_id}", **look)
            pitch_axes.plot(frames, pitch_deg(c2w), **look)
            place = pose.positions()
            top.plot(place[:, 0], place[:, 2], marker=".", markersize=3, **look)
        yaw_axes.set(xlabel="frame", ylabel="yaw (deg, right is positive)")
        pitch_axes.set(xlabel="frame", ylabel="pitch (deg, up is positive)")
        for axes in (yaw_axes, pitch_axes):  # hundredths of a degree are noise and must look small
            low, high = axes.get_ylim()
            axes.set_ylim(min(low, -LEAST_SPAN_DEG), max(high, LEAST_SPAN_DEG))
        top.xaxis.set_major_locator(MaxNLocator(5))
        top.set(xlabel="x, right (units)", ylabel="z, forward (units)", title="from above")
        if not any(pose.moves for _, pose in paths):
            top.text(0.5, 0.5, "no position was observed", ha="center", transform=top.transAxes, color="#57606a")
            top.set(xticks=[], yticks=[])
        figure.legend(*yaw_axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7.5)
    seen = sum(pose.moves for _, pose in paths)
    whose = f"{counted(len(paths), 'clip')} relative to {'its' if len(paths) == 1 else 'their'} first frame"
    caption = f"Camera paths of {whose}: yaw, pitch, and position seen from above"
    return figure, f"{caption} (where it was observed: {counted(seen, 'clip')}; estimated positions have a unit of their own)."


def visibility_figure(clips: list[tuple[Clip, Masks]]) -> tuple[Figure, str]:
    """One strip per clip: when the subject is in view, partly in view, out, returned, or when that is not known."""
    rows = clips[:MOST_ROWS]
    with style():
        figure, axes = plt.subplots(figsize=(9, 0.3 * len(rows) + 1.2), layout="constrained")
        for number, (_, masks) in enumerate(rows):
            _draw_states(axes, masks, number - 0.38, 0.76)
        axes.set_yticks(range(len(rows)), [clip.label for clip, _ in rows], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_xlabel("frame")
        handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for _, colour in STATES.values()]
        figure.legend(handles, [name for name, _ in STATES.values()], loc="outside upper right", ncols=5, fontsize=8)
    which = counted(len(rows), "clip") if len(rows) == len(clips) else f"the first {len(rows)} of {counted(len(clips), 'clip')}"
    return figure, f"Visibility of the subject in {which}, as the mask backend sees it."


def mask_strip_figure(clip: Clip, masks: Masks, n: int = 8) -> tuple[Figure, str]:
    """Frames spread over the clip with the outline of the mask, above the visibility timeline."""
    frames, state = masks.frame_index, masks.state.astype(int)
    rows = sample_uniform(len(frames), n)
    with open_video(resolve(clip.video)) as reader:
        pictures = reader.read(frames[rows])
    with style():
        figure = plt.figure(figsize=(11, 11 / len(rows) * pictures.shape[1] / pictures.shape[2] + 0.9), layout="constrained")
        grid = figure.add_gridspec(2, len(rows), height_ratios=[5, 1])
        for column, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
            axes = figure.add_subplot(grid[0, column])
            axes.imshow(_outlined(picture, masks.resized(int(row), picture.shape[:2]), STATES[state[row]][1]))
            axes.set_title(f"frame {frames[row]}: {STATES[state[row]][0]}", fontsize=7.5)
            axes.axis("off")
        timeline = figure.add_subplot(grid[1, :])
        _draw_states(timeline, masks, 0, 1)
        timeline.set(xlim=(0, frames[-1] + 1), yticks=[], xlabel="frame")
    away = f"{int((state == 0).sum())} of {counted(len(frames), 'frame')} looked at"
    return figure, f"The subject of {clip.label} as the mask backend sees it: out of view in {away}."


def _outlined(picture: np.ndarray, mask: np.ndarray, colour: str) -> np.ndarray:
    """The picture with the mask's outline drawn two pixels wide at the picture's size."""
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    rgb = tuple(round(255 * channel) for channel in to_rgb(colour))
    return cv2.drawContours(picture.copy(), outlines, -1, rgb, max(1, picture.shape[1] // 160))


def timing_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Seconds per role: clips, total, mean, and the share of all."""
    if timings.empty:
        return pd.DataFrame(columns=["role", "clips", "seconds", "seconds_per_clip", "share"])
    grouped = timings.groupby("role")["seconds"].agg(clips="size", seconds="sum", seconds_per_clip="mean").reset_index()
    grouped["share"] = grouped["seconds"] / grouped["seconds"].sum()
    return grouped.sort_values("seconds", ascending=False, ignore_index=True)


def _draw_states(axes: Axes, masks: Masks, bottom: float, height: float) -> None:
    """A bar over the frames of each run of equal states, in the state's colour. A state lasts until the next mask."""
    frames = masks.frame_index
    ends = np.append(frames[1:], frames[-1:] + 1)
    for code, (_, colour) in STATES.items():
        edges = np.flatnonzero(np.diff(np.concatenate([[0], (masks.state == code).astype(int), [0]])))
        runs = [(frames[first], ends[last - 1] - frames[first]) for first, last in zip(edges[::2], edges[1::2], strict=True)]
        axes.broken_barh(runs, (bottom, height), facecolors=colour)
