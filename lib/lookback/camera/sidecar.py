"""WRBench's camera files beside a video: `<video>.camera.json`, `.target_c2w.npy`, `.camera_trajectory.json`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookback.camera.intent import CameraIntent, compile, to_grammar
from lookback.camera.poses import Poses, turned_yaw_deg

CONVENTION = "opencv_c2w"
CUSTOM = "custom"  # the name of a path that is no preset; its frame_action_script says what it is
_FAMILIES = {"yaw": "rotation", "pan": "translation", "static": "static"}


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
