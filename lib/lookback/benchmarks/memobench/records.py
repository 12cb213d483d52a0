"""MemoBench's records: prompt, first frame and camera path of every ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lookback.backends.pose.formats import read_poses
from lookback.benchmarks.memobench.dataset_files import (
    REAL,
    SYNTHETIC,
    ClipName,
    clip_name,
    find_sheets,
    ground_truth_root,
    plain_name,
    read_metadata,
    read_phases,
    truth_of,
)
from lookback.camera.poses import Poses, relative_to_first
from lookback.camera.resample import resample_poses
from lookback.conditions.interface import Interface
from lookback.conditions.records import Record
from lookback.errors import ContractError, MediaError, Reason
from lookback.layouts.confine import Root, folders
from lookback.layouts.reading import Breach, ClipRef, Findings
from lookback.media import open_video
from lookback.paths import resolve


def holds(root: Path) -> bool:
    return ground_truth_root(root) is not None


def read(root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
    """One record per ground truth with a prompt. Its path is the true one, spread over the frames of the model."""
    found = ground_truth_root(root)
    if found is None:
        yield Breach(root, "records", f"holds no {SYNTHETIC}/ or {REAL}/", "name the folder of MemoBench's data")
        return
    findings, places = Findings(), [root, found]
    metadata = read_metadata(places, findings)
    phases, skipped = read_phases(find_sheets(None, places), findings)
    for violation in findings.violations:
        yield Breach(violation.path, violation.field, violation.problem, violation.remedy)
    for name in _names(found):
        plain = plain_name(name.clip_id)
        if plain in skipped:
            continue
        try:
            facts = {"phases": asdict(phases[plain])} if plain in phases else {}
            yield _record(Root(found), name, metadata.get(plain, {}), facts, interface)
        except Breach as breach:
            yield breach


def _names(root: Path) -> list[ClipName]:
    synthetic = [clip for scene in folders(root / SYNTHETIC) for clip in folders(scene)]
    names = [clip_name(folder.name) for folder in [*synthetic, *folders(root / REAL)]]
    return [name for name in names if name is not None]


def _record(root: Root, name: ClipName, told: Mapping[str, str], facts: Mapping[str, Any], interface: Interface) -> Record:
    findings = Findings()
    truth = truth_of(root, name, findings, ClipRef(sample_id=name.clip_id))
    prompt = told.get("prompt", "")
    if not prompt:
        problem = f"the metadata has no prompt of '{name.clip_id}'"
        raise Breach(root.path, "prompt", problem, "add its row to the metadata table", Reason.MISSING_INPUT)
    image = truth.get("reference_image")
    return Record(
        "memobench",
        name.clip_id,
        prompt,
        prompt,
        None,
        setting=name.setting,
        subset=name.setting,
        sample_id=name.clip_id,
        scene=name.scene or name.clip_id,
        image=resolve(str(image)) if image else None,
        path=_path(truth, interface.frames) if interface.takes == "camera-path" else None,
        facts={**facts, "subject": told.get("object_name", "")},
    )


def _path(truth: Mapping[str, Any], frames: int) -> Poses:
    """The true camera path over `frames` frames, from its first pose."""
    if "gt_poses" not in truth or "ground_truth" not in truth:
        raise Breach("ground truth", "gt_poses", "has no camera path", "add the poses of the ground truth", Reason.MISSING_INPUT)
    try:
        with open_video(resolve(truth["ground_truth"])) as reader:
            poses = read_poses(resolve(truth["gt_poses"]), truth["gt_poses_format"], reader.info)
    except (ContractError, MediaError) as error:
        raise Breach("ground truth", "gt_poses", str(error), "export the poses again") from None
    return resample_poses(relative_to_first(poses.c2w), frames)


def video(record: Record, model: str) -> str:
    return f"output/{model}/{'Synthetic' if record.setting == 'synthetic' else 'Real'}/{record.clip_id}.mp4"


def beside(out: Path, record: Record, interface: Interface) -> None:
    """Nothing: MemoBench's scoring compares with the ground truth."""


def finish(out: Path, source: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    """Nothing: MemoBench has no manifest. Score with --gt-root and the folder of the records."""
