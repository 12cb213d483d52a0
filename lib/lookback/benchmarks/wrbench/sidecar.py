"""WRBench's camera files beside a video: `<video>.camera.json`, `.target_c2w.npy`, `.camera_trajectory.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
TARGET = ".target_c2w.npy"
_WITH_ANGLE = re.compile(r"^(yaw|pan)(\d+(?:\.\d+)?)?_?(LR|RL)\d*$")
NO_CAMERA = ("none", "uncontrolled")


def sidecar_path(video: Path) -> Path:
    return video.with_name(video.name + SIDECAR)


def read_sidecar(path: Path) -> Document | None:
    return Document(read_json(path), path) if path.exists() else None


def is_opencv_c2w(text: str) -> bool:
    """`opencv_c2w`, or the convention spelt out in words."""
    words = re.sub(r"[_\-,]+", " ", text.strip().lower())
    if words.startswith("opencv c2w"):
        return True
    return all(part in words for part in ("opencv", "camera to world", "x right", "y down", "z forward"))


def target_poses(root: Root, video: Path, sidecar: Document | None) -> dict[str, Any]:
    """The camera path the model was asked to follow: the file the sidecar names, else `<video>.target_c2w.npy` when it is there."""
    beside = video.with_name(video.name + TARGET)
    if sidecar is None:
        return {"target_poses": _file(root, beside.name, beside, "target_poses", video)} if beside.exists() else {}
    name = sidecar.first("target_coordinate_convention", "coordinate_convention")
    convention = sidecar.text(name)
    if not is_opencv_c2w(convention):
        problem = f"is '{convention}', and target poses must be OpenCV camera-to-world (x right, y down, z forward)"
        raise Breach(sidecar.where, name, problem, "convert the poses and write opencv_c2w")
    field = sidecar.first("target_pose_path", "trajectory_c2w_path")
    named = sidecar.get(field)
    if named is None and not beside.exists():
        return {}
    text = named if named is not None else beside.name
    return {"target_poses": _file(root, text, sidecar.where, field, video)}


def _file(root: Root, text: object, where: Path | str, field: str, video: Path) -> str:
    """A file that lies in the dataset, as the clip names it."""
    path = in_dataset(root, text, where, field, video.parent)
    return portable(existing_file(path, where, field, root.name(path)))


def sidecar_facts(sidecar: Document) -> dict[str, Any]:
    """Field of view and the request's details; the video's size and rate are probed instead of taken from here."""
    fov = sidecar.number("fov")
    if fov is not None and fov >= 180:
        raise Breach(sidecar.where, "fov", f"is {fov:g}, not a field of view in degrees", "write degrees between 0 and 180")
    return {"fov_deg": fov}


def sidecar_extras(sidecar: Document) -> dict[str, Any]:
    """What the file says about the requested control; the manifest's rows of the generation script repeat it."""
    return {name: sidecar.get(name) for name in CONTROL_FIELDS if sidecar.get(name) is not None}


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
