"""Camera requests: segments of motions, WRBench's grammar for them, and the target poses that they mean.

Grammar: `kind:direction:value@frames`, a comma means "then", `+` means "at once" and shares one `@frames`; `static@frames` holds
the camera. Rotations are in degrees, translations in world units. Example: `yaw:left:60@40,yaw:right:60@41`.
Names of presets (`yaw_LR`, `arc_RL`, `orbit` ...) and the meaning of every word are those of WRBench's released program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lookback.camera.poses import Poses, from_yaw_pitch_roll
from lookback.errors import ParameterError

# kind -> direction -> sign on the kind's axis (yaw right, pitch up, roll clockwise, x right, z forward, y down are positive).
# WRBench names a roll by the picture: at `roll:left` the picture turns left, because the camera itself turns clockwise.
SIGNS: dict[str, dict[str, int]] = {
    "yaw": {"left": -1, "right": 1},
    "pitch": {"up": 1, "down": -1},
    "roll": {"left": 1, "right": -1},
    "pan": {"left": -1, "right": 1},
    "dolly": {"forward": 1, "back": -1},
    "crane": {"up": -1, "down": 1},
}
ROTATIONS = ("yaw", "pitch", "roll")
_TRAVEL = {"pan": 0, "crane": 1, "dolly": 2}  # kind -> axis of the position
_ALIASES = {
    "dolly": {"backward": "back", "in": "forward", "out": "back"},
    "roll": {"cw": "right", "ccw": "left"},
}
_KINDS_TEXT = "yaw, pitch, roll (degrees), pan, dolly, crane (units) and static"
# preset -> the motions of its first half, which the second half takes back
_OUTWARD: dict[str, tuple[tuple[str, str], ...]] = {
    "static": (),
    "yaw_LR": (("yaw", "left"),),
    "yaw_RL": (("yaw", "right"),),
    "pan_LR": (("pan", "left"),),
    "pan_RL": (("pan", "right"),),
    "arc_LR": (("yaw", "left"), ("dolly", "forward")),
    "arc_RL": (("yaw", "right"), ("dolly", "forward")),
    "orbit": (("yaw", "left"), ("pan", "right")),
}
PRESETS = tuple(_OUTWARD)
DEFAULT_FRAMES, DEFAULT_DEGREES, DEFAULT_UNITS, DEFAULT_DOLLY = 81, 60.0, 0.5, 1.0
WORDS_UNITS = 1.5  # how far the camera goes where words name no distance (MBench names none)
# heading: yaw turns about the vertical, travel follows the camera's heading.
# released: turns are composed as written, each in the camera's own frame at that time; travel follows the axes of frame 0.
Rule = Literal["heading", "released"]


@dataclass(frozen=True)
class Motion:
    """One motion of a segment: `amount` degrees or units of `kind` towards `direction`."""

    kind: str
    direction: str
    amount: float

    @property
    def signed_amount(self) -> float:
        return SIGNS[self.kind][self.direction] * self.amount

    def reversed(self) -> Motion:
        other = next(d for d in SIGNS[self.kind] if d != self.direction)
        return Motion(self.kind, other, self.amount)


@dataclass(frozen=True)
class Segment:
    """Motions that happen at once over `frames` frames; no motion at all means the camera holds still."""

    motions: tuple[Motion, ...]
    frames: int


@dataclass(frozen=True)
class CameraIntent:
    """The whole request. `name` is a preset's or a condition's own name where it has one."""

    segments: tuple[Segment, ...]
    name: str | None = None

    @property
    def frames(self) -> int:
        return sum(segment.frames for segment in self.segments)


def motion(kind: str, direction: str, amount: float) -> Motion:
    """A checked motion; an unknown kind or direction is a `ParameterError`. A negative amount goes the other way."""
    if kind not in SIGNS:
        raise ParameterError(f"Camera motion '{kind}' is unknown; valid kinds are {_KINDS_TEXT}.")
    direction = _ALIASES.get(kind, {}).get(direction, direction)
    if direction not in SIGNS[kind]:
        raise ParameterError(f"Camera motion '{kind}' cannot go '{direction}'; valid directions are {' and '.join(SIGNS[kind])}.")
    if not np.isfinite(amount):
        raise ParameterError(f"Camera motion '{kind}:{direction}' needs a number of degrees or units, not {amount:g}.")
    return Motion(kind, direction, float(amount))


def _checked(segments: Sequence[Segment], name: str | None = None) -> CameraIntent:
    for segment in segments:
        if segment.frames < 1:
            raise ParameterError(f"A camera segment of {segment.frames} frames is too short; give each segment 1 frame or more.")
    if not segments:
        raise ParameterError("The camera request is empty; give a preset or segments like yaw:left:60@40,yaw:right:60@41.")
    return CameraIntent(tuple(segments), name)


def split_frames(frames: int, parts: int) -> list[int]:
    """`frames` over `parts` segments, the remainder at the end: 81 in 2 gives 40 + 41."""
    share, rest = divmod(frames, parts)
    return [share + (1 if index >= parts - rest else 0) for index in range(parts)]


def make_intent(moves: list[tuple[Motion, ...]], frames: int, name: str | None = None) -> CameraIntent:
    """An intent whose segments share `frames` evenly (the last ones take the remainder)."""
    return _checked([Segment(m, n) for m, n in zip(moves, split_frames(frames, len(moves)), strict=True)], name)


def preset(name: str, frames: int = DEFAULT_FRAMES, degrees: float = DEFAULT_DEGREES, units: float | None = None) -> CameraIntent:
    """WRBench's go-and-return presets; LR goes left first. `units` is the way of a pan (0.5 if not given) or dolly (1.0)."""
    if name not in PRESETS:
        raise ParameterError(f"Camera preset '{name}' is unknown; valid presets are {', '.join(PRESETS)}.")
    if name == "static":
        return _checked([Segment((), frames)], name)
    amounts = {"yaw": degrees, "pan": DEFAULT_UNITS if units is None else units, "dolly": DEFAULT_DOLLY if units is None else units}
    out = tuple(motion(kind, direction, amounts[kind]) for kind, direction in _OUTWARD[name])
    return make_intent([out, tuple(move.reversed() for move in out)], frames, name)


_SEGMENT = re.compile(r"^(?P<body>[^@]+)@(?P<frames>[^@]+)$")


def _parse_frames(token: str, segment: str) -> int:
    if not re.fullmatch(r"\d+", token) or int(token) < 1:
        raise ParameterError(f"Camera segment '{segment}' has '{token}' frames; write a whole number of 1 or more after @.")
    return int(token)


def _parse_motion(token: str) -> Motion:
    fields = token.split(":")
    if len(fields) != 3:
        raise ParameterError(f"Camera motion '{token}' is not kind:direction:value; valid kinds are {_KINDS_TEXT}.")
    try:
        amount = float(fields[2])
    except ValueError:
        raise ParameterError(f"Camera motion '{token}' has '{fields[2]}' where a number of degrees or units belongs.") from None
    return motion(fields[0], fields[1], amount)


def parse(text: str) -> CameraIntent:
    """A preset name or a grammar string as a `CameraIntent`; errors name the bad token and what is valid."""
    script = re.sub(r"\s+", "", text)
    if script in PRESETS:
        return preset(script)
    segments = []
    for token in script.lower().split(",") if script else []:
        match = _SEGMENT.match(token)
        if match is None:
            raise ParameterError(
                f"Camera segment '{token}' is neither kind:direction:value@frames nor a preset ({', '.join(PRESETS)}); "
                f"valid kinds are {_KINDS_TEXT}."
            )
        body, frames = match["body"], _parse_frames(match["frames"], token)
        motions = tuple(_parse_motion(part) for part in body.split("+") if part != "static")
        segments.append(Segment(motions, frames))
    return _checked(segments)


def to_grammar(intent: CameraIntent) -> str:
    """The intent in WRBench's grammar; `parse` gives the same segments back."""
    parts = []
    for segment in intent.segments:
        motions = "+".join(f"{m.kind}:{m.direction}:{m.amount!r}".removesuffix(".0") for m in segment.motions)
        parts.append(f"{motions or 'static'}@{segment.frames}")
    return ",".join(parts)


def compile(intent: CameraIntent, rule: Rule = "heading") -> Poses:
    """Target camera-to-world poses (N,4,4).

    Each segment runs linearly from its start to its full amount, both included, so a turning point is held for one frame and the
    mean yaw of yaw_LR over 81 frames is exactly 30 degrees. A segment of one frame is at its full amount at once; one of no frames
    is refused.
    """
    parts, start = [], np.eye(4)
    levels = dict.fromkeys(SIGNS, 0.0)
    channels = []
    for segment in _checked(intent.segments).segments:
        progress = np.linspace(0.0, 1.0, segment.frames) if segment.frames > 1 else np.ones(1)
        if rule == "released":
            parts.append(_as_written(segment, progress, start))
            start = _as_written(segment, np.ones(1), start)[0]
        else:
            amounts = {kind: sum(m.signed_amount for m in segment.motions if m.kind == kind) for kind in SIGNS}
            channels.append({kind: levels[kind] + progress * amounts[kind] for kind in SIGNS})
            levels = {kind: levels[kind] + amounts[kind] for kind in SIGNS}
    if rule == "released":
        return np.concatenate(parts)
    return _along_the_heading({kind: np.concatenate([part[kind] for part in channels]) for kind in SIGNS})


def _as_written(segment: Segment, progress: np.ndarray, start: Poses) -> Poses:
    """WRBench's program: each turn multiplies the rotation so far, in the script's order; travel adds up in frame 0's axes."""
    poses = np.repeat(start[None], len(progress), axis=0)
    for move in segment.motions:
        part = progress * move.signed_amount
        if move.kind in ROTATIONS:
            angles = {kind: part if kind == move.kind else 0.0 for kind in ROTATIONS}
            poses[:, :3, :3] = np.matmul(poses[:, :3, :3], from_yaw_pitch_roll(**angles)[:, :3, :3])
        else:
            poses[:, _TRAVEL[move.kind], 3] += part
    return poses


def _along_the_heading(channels: dict[str, np.ndarray]) -> Poses:
    """Dolly and pan follow the heading (yaw), crane the world's vertical.

    Each step uses the heading midway between its two frames, so that the reversed path retraces the same positions.
    """
    heading = np.radians(channels["yaw"])
    midway = np.concatenate([heading[:1], (heading[1:] + heading[:-1]) / 2])
    right, forward = (np.diff(channels[kind], prepend=0.0) for kind in ("pan", "dolly"))
    across = np.cumsum(right * np.cos(midway) + forward * np.sin(midway))
    along = np.cumsum(forward * np.cos(midway) - right * np.sin(midway))
    position = np.stack([across, channels["crane"], along], axis=1)
    return from_yaw_pitch_roll(channels["yaw"], channels["pitch"], channels["roll"], position)
