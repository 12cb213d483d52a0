"""What a model takes, declared in YAML: text, a first frame, a camera path or actions, with frame count, rate, size and axes."""

from __future__ import annotations

from importlib import resources
from itertools import accumulate
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from scipy.spatial.transform import Rotation

from lookback.camera.intent import SIGNS, CameraIntent, Motion, Segment
from lookback.camera.poses import Poses, inverse
from lookback.errors import ParameterError, UsageError, hint
from lookback.paths import expanded
from lookback.yaml_files import parse_yaml

# rows: the axes of the convention in OpenCV's (x right, y down, z forward)
AXES = {
    "opencv": np.diag([1.0, 1.0, 1.0]),
    "opengl": np.diag([1.0, -1.0, -1.0]),  # x right, y up, z backward
    "unreal": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),  # x forward, y right, z up (left-handed)
}
HOLD = "hold"
WORDS = (*(f"{kind}_{direction}" for kind, directions in SIGNS.items() for direction in directions), HOLD)
CONTINUOUS = ("yaw_deg", "pitch_deg", "roll_deg", "right", "down", "forward")  # per frame, since the frame before

ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]  # it becomes the name of a folder


class Interface(BaseModel):
    """One model's interface. A field that the model does not use keeps its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: ModelName
    takes: Literal["text", "text+image", "camera-path", "discrete-actions", "continuous-actions"]
    image: bool = True  # of path and action models: whether they get the first frame, too
    frames: int = Field(default=81, ge=2, le=100_000)
    fps: float = Field(default=16.0, gt=0)
    size: tuple[Annotated[int, Field(ge=16)], Annotated[int, Field(ge=16)]] = (832, 480)  # width, height
    fov_deg: float = Field(default=60.0, gt=0, lt=180)  # horizontal
    axes: Literal["opencv", "opengl", "unreal"] = "opencv"
    matrix: Literal["c2w", "w2c"] = "c2w"
    file: Literal["npy", "json", "cameractrl"] = "npy"  # of a camera path
    rotation_gain: float = Field(default=1.0, gt=0)  # what the model needs to be told to turn by the angle that is asked
    translation_gain: float = Field(default=1.0, gt=0)
    actions: dict[str, str] = {}  # of discrete actions: our word -> the model's token; empty: our words
    condition_type: str = ""  # the viewpoint condition type of result tables; empty: prompt-only or model-inferred

    @field_validator("actions")
    @classmethod
    def _known_words(cls, actions: dict[str, str]) -> dict[str, str]:
        if unknown := next((word for word in actions if word not in WORDS), None):
            raise ValueError(f"There is no action '{unknown}'; {hint(unknown, WORDS)}")
        return actions

    @property
    def wants_image(self) -> bool:
        return self.takes == "text+image" or (self.takes not in ("text", "text+image") and self.image)

    @property
    def says_camera(self) -> bool:
        """Whether the camera is described in the prompt, because the model has no other input for it."""
        return self.takes in ("text", "text+image")

    @property
    def viewpoint(self) -> str:
        return self.condition_type or ("prompt-only" if self.says_camera else "model-inferred")

    def delivered(self, intent: CameraIntent) -> CameraIntent:
        """The motions as the model must be told them."""
        gains = {kind: self.rotation_gain if kind in ("yaw", "pitch", "roll") else self.translation_gain for kind in SIGNS}
        return CameraIntent(
            tuple(
                Segment(
                    tuple(Motion(each.kind, each.direction, each.amount * gains[each.kind]) for each in part.motions), part.frames
                )
                for part in intent.segments
            ),
            intent.name,
        )

    def delivered_path(self, c2w: Poses) -> Poses:
        """A given path as the model must be told it: the steps from frame to frame, scaled and put together again.

        A step's turn r is scaled about its own axis, its way d in the axes of the camera midway through the turn, as a request is
        compiled: R' = exp(g r), d' = h exp((g - 1) r / 2) d with the gains g of rotations and h of translations.
        """
        steps = inverse(c2w[:-1]) @ c2w[1:]
        turns = Rotation.from_matrix(steps[:, :3, :3]).as_rotvec()
        midway = Rotation.from_rotvec((self.rotation_gain - 1) / 2 * turns)
        steps[:, :3, 3] = self.translation_gain * midway.apply(steps[:, :3, 3])
        steps[:, :3, :3] = Rotation.from_rotvec(self.rotation_gain * turns).as_matrix()
        return np.stack(list(accumulate(steps, np.matmul, initial=c2w[0])))

    def converted(self, c2w: Poses) -> Poses:
        """OpenCV camera-to-world poses in the model's axes; the first pose stays the identity if it is one."""
        change = np.eye(4)
        change[:3, :3] = AXES[self.axes]
        poses: Poses = change @ np.asarray(c2w, np.float64) @ np.linalg.inv(change)
        return inverse(poses) if self.matrix == "w2c" else poses

    def tokens(self, intent: CameraIntent) -> list[str]:
        """One token per frame; motions at once are joined by `+`. A motion without a token is a ParameterError."""
        tokens: list[str] = []
        for part in intent.segments:
            words = [f"{each.kind}_{each.direction}" for each in part.motions] or [HOLD]
            for word in words:
                if self.actions and word not in self.actions:
                    raise ParameterError(f"the model has no action for '{word}'; it has {', '.join(self.actions)}")
            tokens += ["+".join(self.actions.get(word, word) for word in words)] * part.frames
        return tokens

    def steps(self, intent: CameraIntent) -> np.ndarray:
        """Continuous actions (frames, 6): the change of every channel since the frame before, as `compile` moves the camera.

        A segment's first frame rests where the segment before ended, so the first row is zero; a segment of one frame is one step.
        """
        columns = {"yaw": 0, "pitch": 1, "roll": 2, "pan": 3, "crane": 4, "dolly": 5}
        steps = np.zeros((intent.frames, len(CONTINUOUS)))
        start = 0
        for part in intent.segments:
            moving = slice(start + (part.frames > 1), start + part.frames)
            for each in part.motions:
                steps[moving, columns[each.kind]] += each.signed_amount / max(part.frames - 1, 1)
            start += part.frames
        return steps


def examples() -> list[str]:
    """The names of the interfaces that come with the package."""
    folder = resources.files("lookback.conditions") / "interfaces"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def read_interface(name: str) -> Interface:
    """An interface from a YAML file, or one that comes with the package, by name."""
    path = expanded(name)
    if path.suffix.lower() in (".yaml", ".yml"):
        if not path.is_file():
            raise UsageError(
                f"{path}: there is no such interface file; `lookback conditions interfaces` lists those of the package"
            )
        text = path.read_text(encoding="utf-8", errors="replace")
    elif name in examples():
        text = (resources.files("lookback.conditions") / "interfaces" / f"{name}.yaml").read_text(encoding="utf-8")
    else:
        raise UsageError(f"There is no interface '{name}'; {hint(name, examples())} or name a YAML file")
    try:
        return Interface.model_validate(parse_yaml(text) or {})
    except ValueError as error:
        raise ParameterError(f"{name}: {first_problem(error)}") from None


def first_problem(error: ValueError) -> str:
    """The first thing that is wrong with a document, in one sentence."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    said = first["ctx"]["error"] if first["type"] == "value_error" else first["msg"]
    if not first["loc"]:
        return "the file is no list of names and values such as 'frames: 81'"
    return f"'{'.'.join(map(str, first['loc']))}': {str(said)[:1].lower()}{str(said)[1:]}"
