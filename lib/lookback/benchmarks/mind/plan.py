"""A planned scene as MIND's files: action.json and images.txt, or the action files of mirrored paths."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from lookback.benchmarks.mind.actions import to_mind
from lookback.benchmarks.mind.layout import PERSPECTIVES, TEST_TYPES
from lookback.benchmarks.mind.writer import POSES, TRUTH, action_document, colmap_images
from lookback.camera.intent import CameraIntent, Segment
from lookback.camera.requests import path_of
from lookback.conditions.plans import Scene
from lookback.conditions.records import intent_of
from lookback.errors import ContractError, ParameterError
from lookback.layouts.writing import Film, Request, Texts, write_json
from lookback.media import open_video

MIRROR = "mirror_test"
MIRRORED = "path-{number}.json"  # beside nothing else: mirrored paths have no ground truth


def write_scene(scene: Scene, video: Path | None, out: Path) -> str:
    perspective, test = scene.perspective or PERSPECTIVES[0], scene.group or TEST_TYPES[0]
    for given, known in ((perspective, PERSPECTIVES), (test, TEST_TYPES)):
        if given not in known:
            raise ParameterError(f"'{given}' is not one of {', '.join(known)}")
    place = out / TRUTH / perspective / "test" / test / scene.name
    return _write_mirrored(scene, place) if test == MIRROR else _write_truth(scene, video, place)


def _write_truth(scene: Scene, video: Path | None, place: Path) -> str:
    intent = scene.intent
    if not 0 < scene.mark_time < scene.frames:
        raise ParameterError(f"mark_time must lie inside the {scene.frames} frames, not at {scene.mark_time}")
    if video is not None:
        with open_video(video) as reader:
            if reader.info.n_frames != scene.frames:
                raise ContractError(f"{video.name} has {reader.info.n_frames} frames, the plan says {scene.frames}")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(video, place / "video.mp4")
    request = Request("", scene.name, "", scene.name, "", scene.name, "none", intent, _texts(scene), scene.fps, scene.mark_time)
    path = path_of(intent)
    write_json(place / "action.json", action_document(request, _filmed(path)))
    (place / "images.txt").write_text(colmap_images(path[scene.mark_time :][:POSES]), encoding="utf-8")
    missing = "" if video else ", no video yet"
    return f"{scene.name}: {scene.frames - scene.mark_time} frames to predict after {scene.mark_time}{missing}"


def _write_mirrored(scene: Scene, place: Path) -> str:
    """One action file per path: there and the same way back, so that the second half mirrors the first."""
    cameras = scene.paths or ([scene.camera] if scene.camera else [])
    if not cameras:
        raise ParameterError("a mirrored scene needs `paths`: one camera per path, the way there")
    for number, camera in enumerate(cameras, start=1):
        intent = mirrored(intent_of(camera, scene.frames // 2))
        write_json(
            place / MIRRORED.format(number=number),
            {
                "mark_time": intent.frames // 2,
                "total_time": intent.frames,
                "caption": scene.prompt,
                "data": to_mind(intent, "code"),
            },
        )
    return f"{scene.name}: {len(cameras)} mirrored paths of {scene.frames // 2 * 2} frames"


def mirrored(intent: CameraIntent) -> CameraIntent:
    """There and back: the motions in the opposite direction and order."""
    back = tuple(Segment(tuple(each.reversed() for each in part.motions), part.frames) for part in reversed(intent.segments))
    return CameraIntent((*intent.segments, *back))


def _texts(scene: Scene) -> Texts:
    return Texts(scene.subject, (), scene.prompt, scene.prompt)


def _filmed(path: np.ndarray) -> Film:
    """A film of which only the camera is known."""
    nothing = np.zeros((len(path), 1, 1, 3), np.uint8)
    return Film(nothing, path, path, np.eye(3), nothing[..., 0].astype(np.float32), None)
