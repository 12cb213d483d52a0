"""Contact sheets: a clip, or a failure beside the faithful clip, as evenly spaced labelled frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from lookback.camera.intent import preset
from lookback.demo.clip import RenderedClip, render_clip
from lookback.demo.failures import FAILURES
from lookback.demo.spec import ClipSpec

GAP, BAR, MARGIN = 4, 20, 150  # pixels between frames, for a row's caption line, for the row's name
PAPER, INK, FAINT = (255, 255, 255), (30, 30, 30), (110, 110, 110)
PHASE_COLOURS = {"V": (0, 114, 178), "D": (120, 120, 120), "R": (213, 94, 0)}  # colour-blind safe

# where each failure shows best: scene, event, camera
DEMONSTRATIONS: dict[str, tuple[str, str, str]] = {
    "camera_inactivity": ("courtyard", "none", "yaw_LR"),
    "wrong_direction": ("courtyard", "none", "yaw_LR"),
    "camera_drift": ("gallery", "none", "yaw_LR"),
    "hard_cut": ("plaza", "none", "yaw_LR"),
    "object_vanishes": ("playroom", "none", "yaw_LR"),
    "identity_drift": ("study", "none", "yaw_LR"),
    "texture_drift": ("garage", "none", "yaw_RL"),
    "state_reset": ("dining", "state", "yaw_LR"),
    "event_never_starts": ("kitchen", "state", "yaw_LR"),
    "teleport": ("courtyard", "none", "yaw_LR"),
    "duplicate": ("plaza", "none", "yaw_LR"),
    "subject_dragged": ("study", "none", "yaw_LR"),
    "background_hallucination": ("office", "none", "yaw_LR"),
    "lighting_shift": ("gallery", "none", "yaw_LR"),
    "style_shift": ("plaza", "none", "yaw_LR"),
    "ghosting": ("courtyard", "none", "yaw_LR"),
    "geometric_melt": ("gallery", "none", "yaw_LR"),
}


def phase(clip: RenderedClip, frame: int) -> str:
    """V while the subject has not left, D while it is away, R after its return (MemoBench); always V when it never leaves."""
    if clip.d_start is None or frame < clip.d_start:
        return "V"
    return "D" if clip.r_start is None or frame < clip.r_start else "R"


def sheet(rows: Sequence[tuple[str, RenderedClip]], count: int = 8, title: str = "") -> NDArray[np.uint8]:
    """One row per (name, clip): evenly spaced frames, their number and phase above each."""
    height, width = rows[0][1].frames.shape[1:3]
    top = BAR + GAP if title else GAP
    size = (MARGIN + count * (width + GAP), top + len(rows) * (height + BAR + GAP))
    canvas = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(canvas)
    font, small = ImageFont.load_default(15), ImageFont.load_default(12)
    if title:
        draw.text((GAP, GAP), title, INK, font)
    for row, (name, clip) in enumerate(rows):
        y = top + row * (height + BAR + GAP)
        for line, part in enumerate(_wrapped(name, 20)):
            draw.text((GAP, y + BAR + line * 18), part, INK, font)
        for column, frame in enumerate(np.linspace(0, len(clip.frames) - 1, count).round().astype(int)):
            x = MARGIN + column * (width + GAP)
            label = phase(clip, int(frame))
            draw.text((x, y + 2), f"frame {frame}", FAINT, small)
            draw.text((x + 60, y + 2), label, PHASE_COLOURS[label], small)
            canvas.paste(Image.fromarray(clip.frames[frame]), (x, y + BAR))
            draw.rectangle((x, y + BAR - 3, x + width - 1, y + BAR - 1), PHASE_COLOURS[label])
    return np.asarray(canvas)


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def comparison_sheet(right: RenderedClip, wrong: RenderedClip, count: int = 8) -> NDArray[np.uint8]:
    """The faithful clip above the failing one."""
    failure = FAILURES[wrong.spec.failure].title
    return sheet([("faithful", right), (f"{failure}, severity {wrong.spec.severity:g}", wrong)], count)


def failure_sheet(
    failure: str, severities: Sequence[float] = (0.5, 1.0), frames: int = 48, size: tuple[int, int] = (320, 192), seed: int = 7
) -> NDArray[np.uint8]:
    """A failure on the scene where it shows best: the faithful clip, then one row per severity."""
    scene, event, camera = DEMONSTRATIONS[failure]
    right = ClipSpec(scene, preset(camera, frames=frames), event, width=size[0], height=size[1], seed=seed)
    specs = [ClipSpec(scene, right.camera, event, failure, severity, *size, seed=seed) for severity in severities]
    title = FAILURES[failure].title
    rows = [("faithful", render_clip(right)), *((f"{title} {spec.severity:g}", render_clip(spec)) for spec in specs)]
    return sheet(rows, title=f"{title} ({scene})")
