"""How much each failure lowers the answer to each question (annotators, simulated judge): share of the full loss at severity 1.

These numbers are declared, not measured."""

from __future__ import annotations

# the names are those of the annotation desk's questions (MBench's twelve dimensions, WRBench's axes)
LOSSES: dict[str, dict[str, float]] = {
    "human_identity": {
        "identity_drift": 1.0, "object_vanishes": 0.9, "geometric_melt": 0.5, "texture_drift": 0.4, "style_shift": 0.3,
        "ghosting": 0.3, "duplicate": 0.3, "lighting_shift": 0.1,
    },
    "human_appearance": {
        "texture_drift": 1.0, "identity_drift": 0.9, "object_vanishes": 0.9, "geometric_melt": 0.5, "style_shift": 0.5,
        "lighting_shift": 0.3, "ghosting": 0.3,
    },
    "object_texture": {
        "texture_drift": 1.0, "identity_drift": 0.9, "object_vanishes": 0.9, "style_shift": 0.6, "lighting_shift": 0.3,
        "geometric_melt": 0.3, "ghosting": 0.3,
    },
    "object_geometry": {
        "geometric_melt": 1.0, "object_vanishes": 0.9, "duplicate": 0.4, "identity_drift": 0.3, "teleport": 0.3,
        "camera_drift": 0.2, "texture_drift": 0.15, "style_shift": 0.1,
    },
    "epipolar": {
        "background_hallucination": 1.0, "geometric_melt": 0.9, "camera_drift": 0.5, "hard_cut": 0.5, "teleport": 0.2,
        "object_vanishes": 0.1,
    },
    "reprojection": {
        "geometric_melt": 1.0, "background_hallucination": 0.8, "camera_drift": 0.6, "hard_cut": 0.6, "teleport": 0.4,
        "object_vanishes": 0.15,
    },
    "lighting": {"lighting_shift": 1.0, "style_shift": 0.5, "background_hallucination": 0.3, "texture_drift": 0.1},
    "style": {
        "style_shift": 1.0, "geometric_melt": 0.3, "lighting_shift": 0.3, "ghosting": 0.3, "background_hallucination": 0.3,
        "texture_drift": 0.15,
    },
    "action_interaction": {"camera_inactivity": 1.0, "wrong_direction": 1.0, "camera_drift": 0.8, "hard_cut": 0.5},
    "text_interaction": {
        "event_never_starts": 0.8, "object_vanishes": 0.7, "state_reset": 0.5, "camera_inactivity": 0.5,
        "identity_drift": 0.4, "geometric_melt": 0.3, "style_shift": 0.2,
    },
    "state_evolution": {"event_never_starts": 1.0, "state_reset": 1.0, "object_vanishes": 0.9, "geometric_melt": 0.2},
    "evolution_correctness": {
        "event_never_starts": 1.0, "state_reset": 0.9, "object_vanishes": 0.9, "teleport": 0.5, "duplicate": 0.5,
        "geometric_melt": 0.5, "identity_drift": 0.3, "texture_drift": 0.2,
    },
    "camera": {
        "camera_inactivity": 1.0, "wrong_direction": 1.0, "camera_drift": 0.8, "hard_cut": 0.5, "subject_dragged": 0.2,
    },
    "visual_integrity": {
        "geometric_melt": 1.0, "ghosting": 0.9, "hard_cut": 0.8, "style_shift": 0.6, "texture_drift": 0.4, "duplicate": 0.4,
        "background_hallucination": 0.4, "object_vanishes": 0.3, "identity_drift": 0.3, "lighting_shift": 0.3,
        "subject_dragged": 0.2,
    },
    "visible_spatial": {"subject_dragged": 1.0, "geometric_melt": 0.4, "hard_cut": 0.3, "event_never_starts": 0.3},
    "visible_state": {"event_never_starts": 1.0, "state_reset": 0.2, "texture_drift": 0.2, "identity_drift": 0.2},
    "reobserved_spatial": {
        "teleport": 1.0, "object_vanishes": 1.0, "duplicate": 0.8, "state_reset": 0.5, "event_never_starts": 0.5,
        "subject_dragged": 0.5, "geometric_melt": 0.4, "background_hallucination": 0.4,
    },
    "reobserved_state": {
        "state_reset": 1.0, "event_never_starts": 1.0, "object_vanishes": 1.0, "duplicate": 0.3, "identity_drift": 0.3,
        "texture_drift": 0.2,
    },
}  # fmt: skip


def quality(dimension: str, failure: str, severity: float) -> float:
    """1 - loss * severity: the quality of a clip with this failure, as far as the question asks."""
    return 1.0 - LOSSES[dimension].get(failure, 0.0) * severity


VQA_LOSSES: dict[str, dict[str, float]] = {
    "Instruction Following": {
        "camera_inactivity": 1.0,
        "wrong_direction": 0.8,
        "event_never_starts": 0.6,
        "subject_dragged": 0.6,
        "camera_drift": 0.5,
        "state_reset": 0.4,
        "hard_cut": 0.3,
    },
    "Object and Background": {
        "background_hallucination": 1.0,
        "style_shift": 0.9,
        "identity_drift": 0.8,
        "duplicate": 0.7,
        "texture_drift": 0.6,
        "geometric_melt": 0.6,
        "object_vanishes": 0.6,
        "ghosting": 0.5,
        "lighting_shift": 0.4,
    },
    "Continuity of Memory": {
        "object_vanishes": 1.0,
        "teleport": 0.8,
        "state_reset": 0.6,
        "identity_drift": 0.5,
        "duplicate": 0.5,
    },
    "Physics Adherence": {
        "geometric_melt": 0.8,
        "teleport": 0.6,
        "hard_cut": 0.6,
        "ghosting": 0.5,
        "subject_dragged": 0.5,
        "duplicate": 0.4,
        "lighting_shift": 0.4,
    },
}
RATED = {"state_progress": "state_evolution", "progress_correctness": "evolution_correctness"}


def damage(dimension: str, failure: str, severity: float) -> float:
    """Loss times severity, in [0,1], of one dimension or rating; an unknown dimension raises KeyError."""
    table = VQA_LOSSES.get(dimension) or LOSSES[RATED.get(dimension, dimension)]
    return table.get(failure, 0.0) * severity
