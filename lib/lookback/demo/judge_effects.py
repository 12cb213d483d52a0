"""How much each failure of the demo world hurts MemoBench's four VQA dimensions: share of the full loss at severity 1.

Declared, not measured; the other dimensions are declared with the world (`lookback.demo.effects`).
"""

from __future__ import annotations

from lookback.demo.effects import LOSSES

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
    """Loss times severity, in [0,1], of one dimension or rating; an unknown dimension is a mistake of the code."""
    table = VQA_LOSSES.get(dimension) or LOSSES[RATED.get(dimension, dimension)]
    return table.get(failure, 0.0) * severity
