"""Cameras: poses as arrays, camera requests, and the forms in which the benchmarks write them."""

from lookback.camera.alignment import Similarity, apply_similarity, umeyama
from lookback.camera.intent import CameraIntent, Motion, Segment, compile, make_intent, motion, parse, preset, to_grammar
from lookback.camera.poses import (
    align_first_frame,
    from_yaw_pitch_roll,
    inverse,
    look_at,
    net_rotation_deg,
    pitch_deg,
    relative_to_first,
    rotation_angle_deg,
    total_rotation_deg,
    turned_yaw_deg,
    validate_poses,
    yaw_deg,
)
from lookback.camera.text import parse_action, parse_action_sequence, parse_captions, to_captions, to_text

__all__ = [
    "CameraIntent",
    "Motion",
    "Segment",
    "Similarity",
    "align_first_frame",
    "apply_similarity",
    "compile",
    "from_yaw_pitch_roll",
    "inverse",
    "look_at",
    "make_intent",
    "motion",
    "net_rotation_deg",
    "parse",
    "parse_action",
    "parse_action_sequence",
    "parse_captions",
    "pitch_deg",
    "preset",
    "relative_to_first",
    "rotation_angle_deg",
    "to_captions",
    "to_grammar",
    "to_text",
    "total_rotation_deg",
    "turned_yaw_deg",
    "umeyama",
    "validate_poses",
    "yaw_deg",
]
