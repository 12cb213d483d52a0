"""Generate the clips that the self-check scores. They are computed in whole numbers and stored without loss.

- `room`: the camera turns away from a box and comes back, 34 frames. Its ground truth has no errors of a model.
- `still`: the camera should stand still but drifts a little, 12 frames.
- `face`: a photograph that ships with scikit-image moves through the picture, 12 frames.

`spoilt=True` makes the same clips with errors in them. The results must then differ from the recorded values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookback.benchmark import SelfCheck
from lookback.clips import Anchor, Clip
from lookback.extras import need
from lookback.files import write_json
from lookback.media import content_hash, write_frames
from lookback.registry import BENCHMARKS
from lookback.selfcheck.judged import Verdicts, written_answers
from lookback.selfcheck.pictures import Picture, Room, View, intrinsics, scramble

FPS = 11.0
FRAMES, OUT = 34, 16  # frames of the path, and the last frame on the way out
LEAVES, RETURNS = 11, 22  # frames of the ground truth in which the box is gone, and back
STILL_FRAMES = FACE_FRAMES = 12
FACE_ROLES = frozenset({"faces", "people", "person_features"})
ROOM_ROLES = frozenset({"pose", "masks", "features", "object_features", "perceptual", "depth", "flow", "quality"})
ROOM_ROLES |= {"clip", "image_reward"}


@dataclass(frozen=True)
class Sample:
    """One clip with a label for each benchmark that scores it. The labels share its files and artifacts."""

    name: str
    clips: tuple[Clip, ...]
    roles: frozenset[str]  # the roles with something to find in it
    answers: Verdicts

    @property
    def clip(self) -> Clip:
        """The clip for the backends. All labels have the same video, camera path and subject."""
        return self.clips[0]


@dataclass(frozen=True)
class Noise:
    """Changes one of `every` pixels of the videos by one grey level; no pixel when `every` is 0."""

    every: int = 0
    seed: int = 0

    def added(self, picture: Picture, frame: int) -> Picture:
        if not self.every:
            return picture
        draws = [scramble(np.arange(picture.size), 1000 * self.seed + 2 * frame + part).reshape(picture.shape) for part in (0, 1)]
        chosen = (256 * draws[0] + draws[1]) < 65536 // self.every
        return np.clip(picture.astype(np.int64) + np.where(draws[1] % 2, chosen, -1 * chosen), 0, 255).astype(np.uint8)


def write_samples(folder: Path, spoilt: bool = False, noise: Noise | None = None) -> list[Sample]:
    """Write the clips below `folder`."""
    noise = noise or Noise()
    return [_room(folder / "room", spoilt, noise), _still(folder / "still", spoilt, noise), _face(folder / "face", spoilt, noise)]


def _path(error: int) -> list[View]:
    """The path away and back. `error` is what a model adds: millimetres on the way back, and too many steps in its turns."""
    views = []
    for frame in range(FRAMES):
        away = min(frame, FRAMES - 1 - frame)
        late = error * max(0, frame - OUT) // OUT
        views.append(View(8 * away + error * away // 60, (25 * away + late, -4 * away, 15 * away)))
    return views


def _mirrored(view: View) -> View:
    """The view of a path to the left instead of the right, which turns less far."""
    x, y, z = view.place
    return View(-view.steps * 3 // 4, (-x, y, z))


def _room(folder: Path, spoilt: bool, noise: Noise) -> Sample:
    room, empty = Room(), Room(with_box=False)
    asked = _path(0)
    walked = [_mirrored(view) for view in _path(60)] if spoilt else _path(60)
    made = [(empty if spoilt and frame > OUT else room).look(view) for frame, view in enumerate(walked)]
    frames = [_fading(picture, frame) for frame, (picture, _) in enumerate(made)]
    depth = np.stack([depth for _, depth in made]).astype(np.float32) / np.float32(1000)
    if spoilt:
        frames[2], frames[-3] = 255 - frames[-3], frames[2]
        frames[OUT::2] = [picture // 64 * 64 for picture in frames[OUT::2]]
        depth = depth[::-1, ::-1] ** 2
    files = _poses(folder / "generated", walked) | {"depth": _save(folder / "depth.npy", depth[:, ::2, ::2])}
    truth = write_frames(folder / "truth", [room.look(view)[0] for view in asked])
    target = _poses(folder / "asked", asked)["poses"]
    actions = [{"time": frame, "ws": 0, "ad": 0, "ud": 0, "lr": 2 if frame < OUT else 1} for frame in range(FRAMES)]
    write_json(folder / "actions.json", {"data": actions})
    base = {
        **_facts(folder, frames, noise),
        **{"poses": files["poses"], "poses_format": "c2w", "target_poses": target, "gt_poses": target, "gt_poses_format": "c2w"},
        **{"ground_truth": str(truth), "gt_frames": FRAMES, "actions": str(folder / "actions.json")},
        **{"d_start": LEAVES, "r_start": RETURNS, "mark_time": 0, "fov_deg": 60.0},
        **{"prompt": "A box in a room. The camera turns right and comes back.", "object_name": "box", "camera": "yaw_RL"},
        "caption_segments": ["A box in a room.", "The camera turns right.", "The box is in view again."],
        "object_anchor": Anchor(centre_x=127.5, centre_y=108, width=88, height=72),
        "files": {"depth": files["depth"]},
    }
    labels = _labels("room", lambda check: check.places)
    return Sample("room", tuple(Clip.model_validate({**label, **base}) for label in labels), ROOM_ROLES, written_answers(spoilt))


def _labels(name: str, places: Callable[[SelfCheck], Iterable[tuple[str, str]]]) -> list[dict[str, str]]:
    """The labels (benchmark, setting, subset) under which the benchmarks score a clip."""
    checks = {benchmark.name: check for benchmark in BENCHMARKS if (check := benchmark.selfcheck()) is not None}
    named = {"model_id": "selfcheck", "clip_id": name, "scene": name, "condition_type": "camera-conditioned"}
    return [
        {"benchmark": benchmark, "setting": setting, "subset": subset, **named}
        for benchmark, check in checks.items()
        for setting, subset in places(check)
    ]


def _still(folder: Path, spoilt: bool, noise: Noise) -> Sample:
    room = Room()
    views = [View(0, ((4 if spoilt else 1) * frame, 0, frame)) for frame in range(STILL_FRAMES)]
    facts = _facts(folder, [room.look(view)[0] for view in views], noise)
    files = {"poses": _poses(folder / "generated", views)["poses"], "poses_format": "c2w"}
    files["target_poses"] = _poses(folder / "asked", [View(0)] * STILL_FRAMES)["poses"]
    asked = {"fov_deg": 60.0, "camera": "static", "prompt": "A box in a room.", "object_name": "box"}
    labels = _labels("still", lambda check: check.still)
    clips = tuple(Clip.model_validate({**label, **facts, **files, **asked}) for label in labels)
    return Sample("still", clips, frozenset({"pose", "features"}), written_answers(spoilt))


def _face(folder: Path, spoilt: bool, noise: Noise) -> Sample:
    """A head of 200 pixels in front of a plain wall. It moves, and the light changes."""
    need("skimage")
    import skimage.data

    portrait = skimage.data.astronaut()[0:216, 110:366].astype(np.int64)
    frames = []
    for frame in range(FACE_FRAMES):
        picture = np.roll(portrait, 2 * frame, axis=1) * (64 - frame) // 64
        if spoilt and frame >= FACE_FRAMES // 2:
            picture = picture[:, ::-1, ::-1] // 2 + 60
        frames.append(picture.astype(np.uint8))
    facts = _facts(folder, frames, noise)
    text = {"prompt": "A woman smiles.", "object_name": "woman", "caption_segments": ["A woman smiles.", "She moves."]}
    labels = _labels("face", lambda check: check.faces)
    clips = tuple(Clip.model_validate({**label, **facts, **text}) for label in labels)
    return Sample("face", clips, FACE_ROLES, written_answers(spoilt))


def _fading(picture: Picture, frame: int) -> Picture:
    """The picture, a little darker in each frame, with blue fading fastest."""
    loss = np.array([1, 2, 3]) * (frame + 1)
    return (picture.astype(np.int64) * (512 - loss) // 512).astype(np.uint8)


def _facts(folder: Path, frames: list[Picture], noise: Noise) -> dict[str, str | int | float]:
    """Write the video, and give the fields that curation would give it."""
    video = write_frames(folder / "video", [noise.added(picture, number) for number, picture in enumerate(frames)])
    height, width = frames[0].shape[:2]
    size = {"n_frames": len(frames), "fps": FPS, "width": width, "height": height}
    return {"video": str(video), "content_hash": content_hash(video), **size}


def _poses(folder: Path, views: list[View]) -> dict[str, str]:
    count = len(views)
    _save(folder / "intrinsics.npy", np.repeat(intrinsics()[None], count, axis=0))
    return {"poses": _save(folder / "poses.npy", np.stack([view.c2w() for view in views]))}


def _save(path: Path, array: np.ndarray) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return str(path)
