"""Artifacts to look at: coverage by role, camera paths, visibility timelines, seconds per role."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lookback.camera.poses import pitch_deg, relative_to_first, yaw_deg
from lookback.clips import Clip
from lookback.figures import PALETTE, style
from lookback.store import Entry

STATES = ("out", "in view", "leaving", "returned")
STATE_COLOURS = ("#d0d7de", PALETTE[2], PALETTE[1], PALETTE[0])


def coverage_table(artifacts: pd.DataFrame) -> pd.DataFrame:
    """Per role and backend: how many clips have it, and why the others do not."""
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


def paths_figure(paths: list[tuple[Clip, Entry]]) -> tuple[Figure, str]:
    """Yaw and pitch over frames, and the positions from above, of a few clips."""
    with style():
        figure, (yaw_axes, pitch_axes, top) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        for number, (clip, pose) in enumerate(paths):
            frames, c2w = pose.arrays["frame_index"], pose.arrays["c2w"]
            colour = PALETTE[number % len(PALETTE)]
            yaw_axes.plot(frames, yaw_deg(c2w), color=colour, label=f"{clip.benchmark}: {clip.model_id}")
            pitch_axes.plot(frames, pitch_deg(c2w), color=colour)
            place = relative_to_first(c2w)[:, :3, 3]
            top.plot(place[:, 0], place[:, 2], color=colour, marker=".", markersize=3)
        yaw_axes.set(xlabel="frame", ylabel="yaw (deg, right is positive)")
        pitch_axes.set(xlabel="frame", ylabel="pitch (deg, up is positive)")
        top.set(xlabel="x, right (units)", ylabel="z, forward (units)", title="from above")
        figure.legend(*yaw_axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7.5)
    return figure, f"Camera paths of {len(paths)} clips relative to their first frame: yaw, pitch, and position seen from above."


def visibility_figure(rows: list[tuple[str, np.ndarray]]) -> tuple[Figure, str]:
    """One strip per clip: when the subject is in view, leaving, out, returned."""
    with style():
        figure, axes = plt.subplots(figsize=(9, 0.3 * len(rows) + 1.2), layout="constrained")
        for number, (_, state) in enumerate(rows):
            for code, colour in enumerate(STATE_COLOURS):
                spans = _spans(state == code)
                axes.broken_barh(spans, (number - 0.38, 0.76), facecolors=colour)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=7.5)
        axes.invert_yaxis()
        axes.set_xlabel("frame")
        handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in STATE_COLOURS]
        figure.legend(handles, STATES, loc="outside upper right", ncols=4, fontsize=8)
    return figure, f"Visibility of the subject in {len(rows)} clips, as the mask backend sees it."


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
