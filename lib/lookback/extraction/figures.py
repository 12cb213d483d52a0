"""Tables and figures of artifacts: coverage by role, camera paths, masks on frames, visibility timelines, seconds per role."""

from __future__ import annotations

import cv2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from lookback.artifacts import Masks, PoseTrack
from lookback.camera.poses import pitch_deg, turned_yaw_deg
from lookback.clips import Clip
from lookback.figures import PALETTE, style
from lookback.media import open_video, sample_uniform
from lookback.paths import resolve

LEAST_SPAN_DEG = 5.0
STATES = {  # the state codes of the mask artifact
    0: ("out", "#d0d7de"),
    1: ("in view", PALETTE[2]),
    2: ("leaving", PALETTE[1]),
    3: ("returned", PALETTE[0]),
    -1: ("not known", "#57606a"),
}


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
        top.set(xlabel="x, right (units)", ylabel="z, forward (units)", title="from above")
        if not any(pose.moves for _, pose in paths):
            top.text(0.5, 0.5, "no position was observed", ha="center", transform=top.transAxes, color="#57606a")
            top.set(xticks=[], yticks=[])
        figure.legend(*yaw_axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7.5)
    seen = sum(pose.moves for _, pose in paths)
    caption = f"Camera paths of {len(paths)} clips relative to their first frame: yaw, pitch, and position seen from above"
    return figure, f"{caption} (where it was observed: {seen} clips; estimated positions have a unit of their own)."


def visibility_figure(rows: list[tuple[str, np.ndarray]]) -> tuple[Figure, str]:
    """One strip per clip: when the subject is in view, leaving, out, returned, or when that is not known."""
    with style():
        figure, axes = plt.subplots(figsize=(9, 0.3 * len(rows) + 1.2), layout="constrained")
        for number, (_, state) in enumerate(rows):
            for code, (_, colour) in STATES.items():
                spans = _spans(state == code)
                axes.broken_barh(spans, (number - 0.38, 0.76), facecolors=colour)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_xlabel("frame")
        handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for _, colour in STATES.values()]
        figure.legend(handles, [name for name, _ in STATES.values()], loc="outside upper right", ncols=5, fontsize=8)
    return figure, f"Visibility of the subject in {len(rows)} clips, as the mask backend sees it."


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
        for code, (_, colour) in STATES.items():
            timeline.broken_barh(_spans(state == code), (0, 1), facecolors=colour)
        timeline.set(xlim=(0, len(frames)), yticks=[], xlabel="frame")
    away = int((state == 0).sum())
    return figure, f"The subject of {clip.label} as the mask backend sees it: out of view in {away} of {len(frames)} frames."


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


def _spans(marked: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(int), [0]])))
    return [(int(start), int(end - start)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
