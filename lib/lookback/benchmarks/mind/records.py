"""MIND's records: the ground truth's action.json from mark_time on, with the video before it as the memory context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lookback.benchmarks.mind.actions import Actions, read_actions
from lookback.benchmarks.mind.layout import PERSPECTIVES, ground_truth_folder
from lookback.benchmarks.mind.plan import MIRROR
from lookback.camera.intent import SIGNS, CameraIntent, Motion, Segment
from lookback.camera.text import to_text
from lookback.conditions.interface import Interface
from lookback.conditions.records import Record
from lookback.layouts.confine import folders
from lookback.layouts.reading import Breach

TESTS = ("mem_test", "action_space_test")
UNKNOWN_AMOUNT = 1.0  # action.json says which way, not how far; no file and no prompt gets this number
KINDS = {"forward": "dolly", "backward": "dolly", "left": "pan", "right": "pan", "look_up": "pitch", "look_down": "pitch"}


def holds(root: Path) -> bool:
    return ground_truth_folder(root) is not None


def read(root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
    """One record per ground-truth folder. The actions are those of the ground truth, cut or held to the frames of the model."""
    truth = ground_truth_folder(root)
    if truth is None:
        yield Breach(root, "records", "holds no MIND ground truth", "name the folder with 1st_data/test or 3rd_data/test")
        return
    for perspective in PERSPECTIVES:
        for kind in TESTS:
            for folder in folders(truth / perspective / "test" / kind):
                try:
                    yield _record(perspective, kind, folder, read_actions(folder / "action.json", "auto"), interface)
                except Breach as breach:
                    yield breach
        for folder in folders(truth / perspective / "test" / MIRROR):
            for file in sorted(folder.glob("path-*.json"), key=lambda path: (len(path.name), path.name)):
                try:
                    yield _mirrored(perspective, folder, file, interface)
                except Breach as breach:
                    yield breach


def _record(perspective: str, kind: str, folder: Path, actions: Actions, interface: Interface) -> Record:
    names = actions.names[actions.mark_time :][: interface.frames]
    names += ("none",) * (interface.frames - len(names))
    camera = CameraIntent(tuple(Segment(_motions(name), len(list(run))) for name, run in groupby(names)))
    return Record(
        "mind",
        f"{perspective}/{kind}/{folder.name}",
        actions.caption,
        f"{actions.caption} {to_text(camera, how_far=False)}".strip(),
        camera,
        setting=perspective,
        subset=kind,
        sample_id=folder.name,
        scene=folder.name,
        says_how_far=False,
        facts={"context_video": str((folder / "video.mp4").absolute()), "context_frames": actions.mark_time},
    )


def _mirrored(perspective: str, folder: Path, file: Path, interface: Interface) -> Record:
    """A path there and back. Its frames are the file's own: cut or held, the second half would not mirror the first."""
    actions = read_actions(file, "code")
    if actions.total_time != interface.frames:
        problem = f"has {actions.total_time} frames, the model makes {interface.frames}"
        raise Breach(file, "total_time", problem, "plan the path for the model's frames, or change `frames` of the interface")
    record = _record(perspective, MIRROR, folder, replace(actions, mark_time=0), interface)
    return replace(record, clip_id=f"{record.clip_id}/{file.stem}", condition_id=file.stem, facts={})


def _motions(name: str) -> tuple[Motion, ...]:
    """`forward+look_right` as motions; how far is not known."""
    found = []
    for word in name.split("+") if name not in ("none", "no_op", "") else []:
        direction = word.removeprefix("look_").replace("backward", "back")
        kind = KINDS.get(word, "yaw")
        assert direction in SIGNS[kind], word
        found.append(Motion(kind, direction, UNKNOWN_AMOUNT))
    return tuple(found)


def video(record: Record, model: str) -> str:
    if record.subset == MIRROR:
        return f"test_root/{model}/{record.setting}/{MIRROR}/{record.sample_id}/{record.condition_id}.mp4"
    return f"test_root/{model}/{record.setting}/{record.subset}/{record.sample_id}/video.mp4"


def beside(out: Path, record: Record, interface: Interface) -> None:
    """Nothing: MIND's scoring reads the request from the ground truth's action.json."""


def finish(out: Path, source: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    """Nothing: MIND has no manifest. Score with --gt-root and the folder of the records."""
