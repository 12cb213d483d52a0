"""Camera paths: how every model answered the same camera request."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from lookback.artifacts import PoseTrack, RunArtifacts
from lookback.camera.poses import pitch_deg, turned_yaw_deg
from lookback.clips import Clip
from lookback.extraction.figures import LEAST_SPAN_DEG, paths_figure
from lookback.registry import BENCHMARKS
from lookback.report.figures.drawn import DrawnFigure, line_look

STILL = 1e-3  # units: a camera that moves less is drawn without a path from above
LEAST_SPAN = 0.1  # units: the view from above is at least this wide, so that noise does not look like a path
TITLES = ("yaw (deg, right is positive)", "pitch (deg, up is positive)", "from above (x right, z forward)")


def camera_paths(benchmark: str, clips: Iterable[Clip], artifacts: RunArtifacts) -> DrawnFigure | None:
    """Yaw, pitch and position of every model for the request that most models answered; None if no path is known."""
    asked: dict[tuple[str, str], list[Clip]] = {}
    for clip in clips:
        if clip.benchmark == benchmark and artifacts.stored(clip, PoseTrack.role):
            asked.setdefault((clip.setting, clip.clip_id), []).append(clip)
    # paths are loaded for one request only: a run may have thousands
    requests = sorted(asked, key=lambda key: (len(asked[key]), key), reverse=True)
    found = ((request, _posed(asked[request], artifacts)) for request in requests)
    (setting, request), chosen = next((each for each in found if each[1]), (("", ""), []))
    if not chosen:
        return None
    static, _ = paths_figure(chosen)
    moving = [_place(pose) for _, pose in chosen if pose.moves]
    panels = 3 if moving else 2
    interactive = make_subplots(1, panels, subplot_titles=TITLES[:panels])
    for index, (clip, pose) in enumerate(chosen):
        _add(interactive, clip.model_id, pose, line_look(index))
    for panel, angle in enumerate((turned_yaw_deg, pitch_deg), start=1):
        values = np.concatenate([angle(pose.c2w) for _, pose in chosen])
        low, high = 1.05 * min(values.min(), -LEAST_SPAN_DEG), 1.05 * max(values.max(), LEAST_SPAN_DEG)
        interactive.update_yaxes(range=[low, high], row=1, col=panel)
        interactive.update_xaxes(title="frame", row=1, col=panel)
    if moving:
        spans = _spans(np.concatenate(moving))
        interactive.update_xaxes(range=spans[0], row=1, col=3).update_yaxes(range=spans[1], row=1, col=3)
        static.axes[2].set(xlim=spans[0], ylim=spans[1])
    interactive.update_layout(height=430)
    requested = any(clip.target_poses or BENCHMARKS.get(benchmark).camera_request(clip) for clip, _ in chosen)
    what = "request" if requested else "clip"
    words = f"{_caption(len(chosen), len(moving))} The {what} is '{request}' ({' '.join(filter(None, (benchmark, setting)))})."
    return DrawnFigure(f"camera-paths-{benchmark}", words, static, interactive)


def _posed(clips: Iterable[Clip], artifacts: RunArtifacts) -> list[tuple[Clip, PoseTrack]]:
    return [(clip, without_still_path(pose)) for clip in clips if (pose := artifacts.load(clip, PoseTrack)) is not None]


def without_still_path(pose: PoseTrack) -> PoseTrack:
    """The pose without positions where the camera never leaves its place: their noise is no path."""
    place = _place(pose)
    told = place[np.isfinite(place).all(axis=1)]
    if len(told) and np.ptp(told, axis=0).max() >= STILL:
        return pose
    return pose.without_positions()


def _place(pose: PoseTrack) -> np.ndarray:
    """Positions from above (x, z) relative to the first frame; NaN where none was observed."""
    return pose.positions()[:, [0, 2]]


def _spans(places: np.ndarray) -> list[list[float]]:
    """x and z ranges around all positions, at least `LEAST_SPAN` wide."""
    low, high = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
    half = 0.55 * np.maximum(high - low, LEAST_SPAN)
    middle = (low + high) / 2
    return [[float(centre - reach), float(centre + reach)] for centre, reach in zip(middle, half, strict=True)]


def _caption(clips: int, moving: int) -> str:
    start = f"Camera paths of {clips} clips relative to their first frame: yaw"
    if not moving:
        return f"{start} and pitch. No camera leaves its place, or no position was observed."
    others = "" if moving == clips else f" ({moving} of {clips}; the others stay in place, or none was observed)"
    return f"{start}, pitch, and position seen from above{others}."


def _add(figure: go.Figure, model: str, pose: PoseTrack, line: dict[str, str]) -> None:
    frames, c2w = pose.frame_index.tolist(), pose.c2w
    look = {"name": model, "legendgroup": model, "mode": "lines", "line": line}
    figure.add_scatter(x=frames, y=np.round(turned_yaw_deg(c2w), 3).tolist(), row=1, col=1, **look)
    figure.add_scatter(x=frames, y=np.round(pitch_deg(c2w), 3).tolist(), row=1, col=2, showlegend=False, **look)
    if pose.moves:
        place = np.round(_place(pose), 4)
        figure.add_scatter(x=place[:, 0].tolist(), y=place[:, 1].tolist(), row=1, col=3, showlegend=False, **look)
