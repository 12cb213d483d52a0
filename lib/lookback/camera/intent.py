"""Camera requests: segments of motions, WRBench's grammar for them, and the target poses that they mean.

Grammar: `kind:direction:value@frames`, a comma means "then", `+` means "at once" and shares one `@frames`; `static@frames` holds
the camera. Rotations are in degrees, translations in world units. Example: `yaw:left:60@40,yaw:right:60@41`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from lookback.camera.poses import Poses, from_yaw_pitch_roll
from lookback.errors import ParameterError

# kind -> direction -> sign on the kind's axis (yaw right, pitch up, roll right, x right, z forward, y down are positive)
SIGNS: dict[str, dict[str, int]] = {
    "yaw": {"left": -1, "right": 1},
    "pitch": {"up": 1, "down": -1},
    "roll": {"left": -1, "right": 1},
    "pan": {"left": -1, "right": 1},
    "dolly": {"forward": 1, "back": -1},
    "crane": {"up": -1, "down": 1},
}
ROTATIONS = ("yaw", "pitch", "roll")
_ALIASES = {
    "dolly": {"backward": "back", "in": "forward", "out": "back"},
    "roll": {"cw": "right", "ccw": "left"},
}
_KINDS_TEXT = "yaw, pitch, roll (degrees), pan, dolly, crane (units) and static"
PRESETS = ("static", "yaw_LR", "yaw_RL", "pan_LR", "pan_RL")
DEFAULT_FRAMES, DEFAULT_DEGREES, DEFAULT_UNITS = 81, 60.0, 0.5


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
    """A checked motion; an unknown kind or direction or a non-positive amount is a `ParameterError`."""
    if kind not in SIGNS:
        raise ParameterError(f"Camera motion '{kind}' is unknown; valid kinds are {_KINDS_TEXT}.")
    direction = _ALIASES.get(kind, {}).get(direction, direction)
    if direction not in SIGNS[kind]:
        raise ParameterError(f"Camera motion '{kind}' cannot go '{direction}'; valid directions are {' and '.join(SIGNS[kind])}.")
    if not (np.isfinite(amount) and amount > 0):
        raise ParameterError(f"Camera motion '{kind}:{direction}' needs an amount above 0, not {amount:g}.")
    return Motion(kind, direction, float(amount))


def _checked(segments: list[Segment], name: str | None = None) -> CameraIntent:
    for segment in segments:
        kinds = [m.kind for m in segment.motions]
        if len(set(kinds)) != len(kinds):
            raise ParameterError(f"A camera segment moves '{max(kinds, key=kinds.count)}' twice at once; give it one amount.")
        if segment.frames < (2 if segment.motions else 1):
            raise ParameterError(f"A camera segment of {segment.frames} frames is too short: a move needs 2 frames, a hold 1.")
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


def preset(name: str, frames: int = DEFAULT_FRAMES, degrees: float = DEFAULT_DEGREES, units: float = DEFAULT_UNITS) -> CameraIntent:
    """WRBench's go-and-return presets: static, yaw_LR, yaw_RL, pan_LR, pan_RL. LR goes left first, then back to the right."""
    if name not in PRESETS:
        raise ParameterError(f"Camera preset '{name}' is unknown; valid presets are {', '.join(PRESETS)}.")
    if name == "static":
        return _checked([Segment((), frames)], name)
    kind, order = name.split("_")
    out = motion(kind, "left" if order == "LR" else "right", degrees if kind == "yaw" else units)
    return make_intent([(out,), (out.reversed(),)], frames, name)


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
    for token in script.split(",") if script else []:
        match = _SEGMENT.match(token)
        if match is None:
            raise ParameterError(
                f"Camera segment '{token}' is neither kind:direction:value@frames nor a preset ({', '.join(PRESETS)}); "
                f"valid kinds are {_KINDS_TEXT}."
            )
        body, frames = match["body"], _parse_frames(match["frames"], token)
        segments.append(Segment(() if body == "static" else tuple(_parse_motion(part) for part in body.split("+")), frames))
    return _checked(segments)


def to_grammar(intent: CameraIntent) -> str:
    """The intent in WRBench's grammar; `parse` gives the same segments back."""
    parts = []
    for segment in intent.segments:
        motions = "+".join(f"{m.kind}:{m.direction}:{m.amount!r}".removesuffix(".0") for m in segment.motions)
        parts.append(f"{motions or 'static'}@{segment.frames}")
    return ",".join(parts)


def compile(intent: CameraIntent) -> Poses:
    """Target camera-to-world poses (N,4,4); frame 0 is the identity.

    Each segment runs linearly from its start to its full amount, both included, so a turning point is held for one frame and the
    mean yaw of yaw_LR over 81 frames is exactly 30 degrees. Dolly and pan follow the current heading (yaw), crane the world's
    vertical; each step uses the heading midway between its two frames, so that the reversed path retraces the same positions.
    """
    channels = {kind: np.empty(intent.frames) for kind in SIGNS}
    level = dict.fromkeys(SIGNS, 0.0)
    start = 0
    for segment in intent.segments:
        progress = np.linspace(0.0, 1.0, segment.frames)
        amounts = {m.kind: m.signed_amount for m in segment.motions}
        for kind, values in channels.items():
            values[start : start + segment.frames] = level[kind] + progress * amounts.get(kind, 0.0)
            level[kind] += amounts.get(kind, 0.0)
        start += segment.frames
    heading = np.radians(channels["yaw"])
    midway = (heading[1:] + heading[:-1]) / 2
    right, forward = np.diff(channels["pan"]), np.diff(channels["dolly"])
    position = np.zeros((intent.frames, 3))
    position[1:, 0] = np.cumsum(right * np.cos(midway) + forward * np.sin(midway))
    position[1:, 2] = np.cumsum(forward * np.cos(midway) - right * np.sin(midway))
    position[:, 1] = channels["crane"]
    return from_yaw_pitch_roll(channels["yaw"], channels["pitch"], channels["roll"], position)
