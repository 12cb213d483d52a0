"""WRBench's camera files beside a video: `<video>.camera.json`, `.d1_target.json`, `.target_c2w.npy`, `.camera_trajectory.json`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookback.benchmarks.wrbench.places import in_dataset
from lookback.camera.intent import PRESETS, CameraIntent, compile, parse, to_grammar
from lookback.camera.poses import Poses, turned_yaw_deg
from lookback.errors import ParameterError, Reason
from lookback.layouts.confine import Root, existing_file
from lookback.layouts.documents import Document, read_json
from lookback.layouts.reading import Breach
from lookback.paths import portable

CONVENTION = "opencv_c2w"
CUSTOM = "custom"  # the name of a path that is not a preset; its frame_action_script describes it
_FAMILIES = {"yaw": "rotation", "pan": "translation", "static": "static"}
MAIN_REQUESTS = ("static", "yaw_LR", "yaw_RL", "pan_LR", "pan_RL")


def control_profile(intent: CameraIntent, peak_deg: float) -> tuple[str, str]:
    """WRBench's (control_family, control_profile): canonical_60deg, diagnostic_<n>deg, canonical_pan, canonical_static."""
    family = _FAMILIES.get((intent.name or "").split("_")[0], "unknown")
    if family == "rotation":
        return family, "canonical_60deg" if abs(peak_deg - 60.0) < 1e-6 else f"diagnostic_{peak_deg:g}deg"
    return family, {"translation": "canonical_pan", "static": "canonical_static"}.get(family, "unknown")


def fov_deg(intrinsics: np.ndarray, width: int) -> float:
    """Horizontal field of view: 2 atan(width / (2 fx))."""
    return float(np.degrees(2.0 * np.arctan(width / (2.0 * float(np.asarray(intrinsics)[..., 0, 0].flat[0])))))


def to_sidecar(intent: CameraIntent, video_name: str, fps: float, width: int, height: int, fov: float) -> dict[str, Any]:
    """Content of `<video>.camera.json`; the files it names lie beside the video."""
    yaw = turned_yaw_deg(compile(intent))
    peak = round(float(np.abs(yaw).max()), 9)
    family, profile = control_profile(intent, peak)
    return {
        "target_coordinate_convention": CONVENTION,
        "target_role": "benchmark_intended_control",
        "target_pose_path": f"{video_name}.target_c2w.npy",
        "trajectory_c2w_path": f"{video_name}.target_c2w.npy",
        "camera_trajectory_path": f"{video_name}.camera_trajectory.json",
        "control_family": family,
        "control_direction": intent.name or CUSTOM,
        "control_profile": profile,
        "camera_type": intent.name or CUSTOM,
        "frame_action_script": to_grammar(intent),
        "evidence_level": "benchmark_intent",
        "adapter_provenance": "deterministic_adapter",
        "yaw_peak_deg": peak,
        "num_frames": intent.frames,
        "fps": float(fps),
        "image_size": [width, height],
        "fov": fov,
        "trajectory_sampling_rule": "linear per segment, both ends included",
    }


def to_trajectory(intent: CameraIntent, c2w: Poses, intrinsics: np.ndarray, fps: float) -> dict[str, Any]:
    """Content of `<video>.camera_trajectory.json`: the target poses and one intrinsic matrix per frame."""
    matrices = np.broadcast_to(np.asarray(intrinsics, dtype=np.float64), (len(c2w), 3, 3))
    return {
        "coordinate_convention": CONVENTION,
        "camera_type": intent.name or CUSTOM,
        "fps": float(fps),
        "frame_count": len(c2w),
        "c2w": np.asarray(c2w).tolist(),
        "intrinsics": matrices.tolist(),
    }


SIDECAR = ".camera.json"
D1_TARGET = ".d1_target.json"
TARGET = ".target_c2w.npy"
_WITH_ANGLE = re.compile(r"^(yaw|pan)(\d+(?:\.\d+)?)?_?(LR|RL)\d*$")
NO_CAMERA = ("none", "uncontrolled")


def sidecar_path(video: Path, suffix: str = SIDECAR) -> Path:
    return video.with_name(video.name + suffix)


def read_sidecar(path: Path) -> Document | None:
    return Document(read_json(path), path) if path.exists() else None


def is_opencv_c2w(text: str) -> bool:
    """`opencv_c2w`, or the convention spelt out in words."""
    words = re.sub(r"[_\-,]+", " ", text.strip().lower())
    if words.startswith("opencv c2w"):
        return True
    return all(part in words for part in ("opencv", "camera to world", "x right", "y down", "z forward"))


# the fields that the released program asks in turn (eval/d1/pose.py, d1_camera.py, d1_sidecar_contract.py)
CONVENTION_FIELDS = ("target_coordinate_convention", "coordinate_convention", "coordinate", "d1_metric_tier", "metric_tier")
DIRECTION_FIELDS = ("control_direction", "camera_type", "camera", "source_action")
FILE_FIELDS = ("target_pose_path", "trajectory_c2w_path")
INLINE_FIELDS = ("target_poses_c2w", "input_poses_c2w")
ROW_FIELDS = ("target_pose_path", "input_pose_path", "trajectory_c2w_path", *INLINE_FIELDS)


@dataclass(frozen=True)
class Target:
    """A file of target poses, and what the place that names it says about the requested control."""

    file: str
    control: Mapping[str, Any]


def find_target(
    root: Root, video: Path, base: Path, row: Document, given: Document | None, sidecar: Document | None
) -> tuple[Target | None, list[Breach]]:
    """The camera path the model was asked to follow, and what is wrong with places that name one in vain.

    The released program looks in the manifest's row (`base` is the manifest's folder), in `<video>.d1_target.json` (`given`) and in
    `<video>.camera.json` (`sidecar`), and takes the first target that its main table accepts (d1_camera.py:340-393). Where it
    accepts none, the first counts here. Without a sidecar the mere file `<video>.target_c2w.npy` counts, too.
    """
    beside, folder = sidecar_path(video, TARGET), video.parent
    mere = None
    if beside.exists() and not os.path.lexists(sidecar_path(video)):
        mere = Document({"target_pose_path": beside.name, "target_coordinate_convention": CONVENTION}, beside)
    places = [
        (row, ROW_FIELDS, base, None),
        (given, FILE_FIELDS, folder, None),
        (sidecar, FILE_FIELDS, folder, beside),
        (mere, FILE_FIELDS, folder, None),
    ]
    found: list[Target] = []
    faults: list[Breach] = []
    for document, fields, start, unnamed in places:
        try:
            if document is not None and (target := _named(root, document, fields, start, unnamed)) is not None:
                found.append(target)
        except Breach as breach:
            faults.append(breach)
    return next((target for target in found if not main_profile_faults(target.control)), found[0] if found else None), faults


def _named(root: Root, document: Document, fields: tuple[str, ...], base: Path, unnamed: Path | None) -> Target | None:
    """The target that a row or file names, or the `unnamed` file, if it is there. `base`: where relative paths begin."""
    field = document.first(*fields)
    named = document.get(field) or (unnamed.name if unnamed is not None and unnamed.exists() else None)
    if not named:
        return None
    name = document.first(*CONVENTION_FIELDS)
    convention = document.text(name)
    if not is_opencv_c2w(convention):
        problem = f"is '{convention}', and target poses must be OpenCV camera-to-world (x right, y down, z forward)"
        raise Breach(document.where, name, problem, "convert the poses and write opencv_c2w")
    if field in INLINE_FIELDS:
        problem = "holds the poses themselves, which are read from files only"
        raise Breach(document.where, field, problem, "save them as .npy and name the file in target_pose_path")
    return Target(_file(root, named, document.where, field, base), control_of(document))


def _file(root: Root, text: object, where: Path | str, field: str, base: Path) -> str:
    """A file that lies in the dataset, as the clip names it."""
    path = in_dataset(root, text, where, field, base)
    return portable(existing_file(path, where, field, root.name(path)))


def sidecar_facts(sidecar: Document) -> dict[str, Any]:
    """Field of view and the request's details; the video's size and rate are probed instead of taken from here."""
    fov = sidecar.number("fov")
    if fov is not None and fov >= 180:
        raise Breach(sidecar.where, "fov", f"is {fov:g}, not a field of view in degrees", "write degrees between 0 and 180")
    return {"fov_deg": fov}


def control_of(document: Document) -> dict[str, Any]:
    """What a row or file says about the requested control, as the released program understands it."""
    found = {name: _plain(document.get(name)) for name in CONTROL_FIELDS if document.get(name) not in (None, "")}
    if named := [document.get(name) for name in DIRECTION_FIELDS if document.get(name) in MAIN_REQUESTS]:
        found["control_direction"] = named[0]
    if document.get("target_certification_status") == "certified":
        found.setdefault("evidence_level", "payload_audited")
    return found


def _plain(value: Any) -> Any:
    """A cell of a CSV manifest as the number or list that it spells."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


# what the main table wants to know about a target (eval/d1/d1_sidecar_contract.py of the release)
REQUIRED = ("num_frames", "fps", "image_size", "fov", "trajectory_sampling_rule")
CONTROL_FIELDS = (
    "target_role", "evidence_level", "adapter_provenance", "control_family", "control_direction", "control_profile",
    "canonical_profile", "frame_action_script", "yaw_peak_deg", "target_yaw_peak_deg", *REQUIRED,
)  # fmt: skip
ROLES = ("benchmark_intended_control", "canonical_intended_control")
EVIDENCE = ("benchmark_intent", "payload_audited")
PROVENANCE = ("exact_model_payload_exported", "deterministic_adapter", "uncertified_estimate")
PROFILES = {
    "rotation": ("canonical_60deg",),
    "translation": ("canonical_pan", "canonical_translation"),
    "static": ("canonical_static",),
}


def main_profile_faults(control: Mapping[str, Any]) -> list[str]:
    """Why the released program keeps a target out of its main table; empty for one that it takes. `control`: CONTROL_FIELDS."""
    direction = str(control.get("control_direction") or "")
    named = _FAMILIES.get(direction.split("_")[0]) if direction in MAIN_REQUESTS else None
    family = control.get("control_family") or named
    profile = control.get("control_profile")
    if profile is None and control.get("canonical_profile") == "yaw_go_return_60deg":
        profile = "canonical_60deg"
    provenance = control.get("adapter_provenance")
    peak = control.get("yaw_peak_deg", control.get("target_yaw_peak_deg"))
    checks = {
        "target_role": control.get("target_role") in ROLES,
        "control_direction": named is not None,
        "control_family": family == named,
        "control_profile": profile in PROFILES.get(str(family), ()),
        "evidence_level": control.get("evidence_level") in EVIDENCE,
        "yaw_peak_deg": family != "rotation" or (isinstance(peak, int | float) and abs(abs(peak) - 60.0) <= 1e-6),
        "adapter_provenance": provenance is None or provenance in PROVENANCE,
        **{name: control.get(name) not in (None, "") for name in REQUIRED},
    }
    return [f"{name} is {control.get(name)!r}" for name, right in checks.items() if not right]


def sidecar_request(sidecar: Document) -> tuple[str, Path | str, str]:
    """The request in a sidecar, its file and its field: the name of a preset, or the script of a custom path."""
    field = "frame_action_script" if sidecar.text("control_direction", "") == CUSTOM else "control_direction"
    return sidecar.text(field, ""), sidecar.where, field


def camera_request(text: str, where: Path | str, field: str) -> tuple[str, dict[str, Any]]:
    """A request as preset or grammar, and its angle where the name carries one (yaw30_LR); `none` asks for nothing."""
    if not text or text in NO_CAMERA:
        return "", {}
    if text in PRESETS:
        return text, {}
    if match := _WITH_ANGLE.match(text):
        extras = {"camera_degrees": float(match[2])} if match[2] else {}
        return f"{match[1]}_{match[3]}", extras
    try:
        parse(text)
    except ParameterError as error:
        problem = f"'{text}' is no camera request ({str(error).rstrip('.')})"
        raise Breach(where, field, problem, f"use {', '.join(PRESETS)} or the grammar", Reason.INVALID_INPUT) from None
    return text, {}
