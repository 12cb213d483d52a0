"""Evidence built by hand: a textured room, a subject in it, a camera that turns away and back."""

from __future__ import annotations

import numpy as np
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.forensics.evidence import Evidence, Path
from lookback.forensics.pairs import Aligned

WIDTH, HEIGHT, N = 320, 192, 40


def make_clip(**facts: object) -> Clip:
    values = {"benchmark": "wrbench", "setting": "demo", "model_id": "m", "clip_id": "c", "video": "none.mp4", "n_frames": N}
    return Clip(**{**values, "width": WIDTH, "height": HEIGHT, **facts})


def make_path(yaws: np.ndarray) -> Path:
    return Path(np.arange(len(yaws)), from_yaw_pitch_roll(yaws, np.zeros(len(yaws)), np.zeros(len(yaws))))


def out_and_back(peak: float = 60.0) -> np.ndarray:
    return np.concatenate([np.linspace(0, peak, N // 2), np.linspace(peak, 0, N - N // 2)])


# a return on which nothing is wrong: what the measures of a faithful clip look like
SOUND = {
    "departure": False, "frame": 35, "reference": 2, "from_truth": False, "gain": [1.0, 1.0, 1.0], "saturation": 1.0, "detail": 1.0,
    "bend": 0.0, "low_blocks": 0.0, "palette_kept": 0.97, "echo": 0.0, "changed": 0.0, "changed_subject": 0.0, "blob": 0.0,
    "second_copy": 0.3, "subject_colour": 0.02, "subject_structure": 0.99, "subject_strength": 0.99, "own_colour": 1.0,
    "own_colour_here": 1.0, "like_surroundings": 0.6, "like_surroundings_before": 0.6,
}  # fmt: skip


def returned(**changes: object) -> list[dict[str, object]]:
    return [{**SOUND, **changes}, {**SOUND, "frame": 38, "reference": 1, **changes}]


def pair_of(reference: np.ndarray, late: np.ndarray, subject: np.ndarray, subject_late: np.ndarray | None = None) -> Aligned:
    valid = np.ones(subject.shape, bool)
    return Aligned(reference, late, valid, subject, subject if subject_late is None else subject_late)


def seen_with(records: list[dict[str, object]], yaws: np.ndarray | None = None, **facts: object) -> Evidence:
    path = make_path(out_and_back() if yaws is None else yaws)
    return Evidence(make_clip(**facts), path, make_path(out_and_back()), pairs=records)
