"""Camera paths: what every model did with the same request, beside the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from lookback.artifacts import RunArtifacts
from lookback.camera.poses import relative_to_first, yaw_deg
from lookback.clips import Clip
from lookback.extraction.figures import paths_figure
from lookback.report.figures.drawn import DrawnFigure, line_look
from lookback.store import Entry


def camera_paths(benchmark: str, clips: Iterable[Clip], artifacts: RunArtifacts) -> DrawnFigure | None:
    """The request that most models answered: yaw, pitch and position of each answer; None where nobody's path is known."""
    posed = [(clip, pose) for clip in clips if clip.benchmark == benchmark and (pose := artifacts.load(clip, "pose")) is not None]
    if not posed:
        return None
    counts = Counter((clip.setting, clip.clip_id) for clip, _ in posed)
    setting, request = max(counts, key=lambda key: (counts[key], key))
    chosen = [(clip, pose) for clip, pose in posed if (clip.setting, clip.clip_id) == (setting, request)]
    static, caption = paths_figure(chosen)
    titles = ["yaw (deg, right is positive) by frame", "from above (x right, z forward)"]
    panels = 2 if any(pose.arrays["has_translation"].any() for _, pose in chosen) else 1
    interactive = make_subplots(1, panels, subplot_titles=titles[:panels])
    for index, (clip, pose) in enumerate(chosen):
        _add(interactive, clip.model_id, pose, line_look(index))
    interactive.update_layout(height=430)
    words = f"{caption} The request is '{request}' ({' '.join(part for part in (benchmark, setting) if part)})."
    return DrawnFigure(f"camera-paths-{benchmark}", words, static, interactive)


def _add(figure: go.Figure, model: str, pose: Entry, line: dict[str, str]) -> None:
    frames, c2w = pose.arrays["frame_index"], pose.arrays["c2w"]
    look = {"name": model, "legendgroup": model, "mode": "lines", "line": line}
    figure.add_scatter(x=frames.tolist(), y=np.round(yaw_deg(c2w), 3).tolist(), row=1, col=1, **look)
    if pose.arrays["has_translation"].any():
        place = np.round(np.where(pose.arrays["has_translation"][:, None], relative_to_first(c2w)[:, :3, 3], np.nan), 4)
        figure.add_scatter(x=place[:, 0].tolist(), y=place[:, 2].tolist(), row=1, col=2, showlegend=False, **look)
