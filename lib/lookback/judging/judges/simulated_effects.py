"""How much each failure of the demo world hurts what a judge is asked about: share of the full loss at severity 1.

These are declared, not measured: they say what a viewer of the demo world's failure would complain about.
"""

from __future__ import annotations

FOLLOWING, OBJECTS, MEMORY, PHYSICS = "Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence"
VISIBLE_SPACE, VISIBLE_STATE = "visible_spatial", "visible_state"
RETURN_SPACE, RETURN_STATE = "reobserved_spatial", "reobserved_state"
PROGRESS, CORRECTNESS = "state_progress", "progress_correctness"

EFFECTS: dict[str, dict[str, float]] = {
    "none": {},
    "camera_inactivity": {FOLLOWING: 1.0},
    "wrong_direction": {FOLLOWING: 0.8},
    "camera_drift": {FOLLOWING: 0.5},
    "hard_cut": {FOLLOWING: 0.3, PHYSICS: 0.6, VISIBLE_SPACE: 0.4},
    "style_shift": {OBJECTS: 0.9},
    "ghosting": {OBJECTS: 0.5, PHYSICS: 0.5, VISIBLE_SPACE: 0.2},
    "geometric_melt": {OBJECTS: 0.6, PHYSICS: 0.8, VISIBLE_SPACE: 0.5, RETURN_SPACE: 0.4, CORRECTNESS: 0.6},
    "object_vanishes": {MEMORY: 1.0, OBJECTS: 0.6, RETURN_SPACE: 1.0, RETURN_STATE: 1.0, PROGRESS: 1.0, CORRECTNESS: 1.0},
    "identity_drift": {OBJECTS: 0.8, MEMORY: 0.5, RETURN_STATE: 0.2, CORRECTNESS: 0.3},
    "texture_drift": {OBJECTS: 0.6, CORRECTNESS: 0.2},
    "state_reset": {MEMORY: 0.6, FOLLOWING: 0.4, RETURN_STATE: 1.0, PROGRESS: 1.0, CORRECTNESS: 0.6},
    "event_never_starts": {FOLLOWING: 0.6, VISIBLE_STATE: 1.0, RETURN_STATE: 1.0, PROGRESS: 1.0},
    "teleport": {MEMORY: 0.8, PHYSICS: 0.6, RETURN_SPACE: 1.0, CORRECTNESS: 0.5},
    "duplicate": {OBJECTS: 0.7, MEMORY: 0.5, PHYSICS: 0.4, RETURN_SPACE: 0.8, CORRECTNESS: 0.5},
    "subject_dragged": {FOLLOWING: 0.6, PHYSICS: 0.5, VISIBLE_SPACE: 1.0},
    "background_hallucination": {OBJECTS: 1.0, RETURN_SPACE: 0.3},
    "lighting_shift": {OBJECTS: 0.4, PHYSICS: 0.4},
}
