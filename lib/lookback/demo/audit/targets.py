"""Which metrics a failure is meant to be seen by, after the papers' own definitions of what each metric measures."""

from __future__ import annotations

MEANT_FOR: dict[str, tuple[str, ...]] = {
    "camera_inactivity": ("memobench.camera_activity", "memobench.camera_controllability", "cam_align", "camera_interaction"),
    "camera_drift": ("camera_interaction", "spatial_epipolar", "spatial_reprojection", "wrbench.cam_prec", "mind.action"),
    "wrong_direction": ("wrbench.cam_align", "camera_interaction"),
    "object_vanishes": ("memobench.ors", "object_texture_consistency", "object_geometry_consistency", "state_progress"),
    "identity_drift": ("human_identity_consistency", "human_appearance_consistency", "object_texture_consistency"),
    "texture_drift": ("object_texture_consistency", "human_appearance_consistency"),
    "state_reset": ("vqa_continuity_of_memory", "progress_correctness", "wrbench.reobserved_state"),
    "event_never_starts": ("wrbench.visible_state", "wrbench.reobserved_state", "state_progress"),
    "teleport": ("wrbench.visible_spatial", "wrbench.reobserved_spatial", "vqa_continuity_of_memory", "vqa_physics_adherence"),
    "duplicate": ("wrbench.reobserved_spatial", "wrbench.visible_spatial", "vqa_object_background"),
    "background_hallucination": ("memobench.object_identity", "memobench.geo3d", "vqa_object_background", "spatial_reprojection"),
    "lighting_shift": ("rendering_lighting",),
    "style_shift": ("rendering_style",),
    "hard_cut": ("mind.gsc", "mind.lcm", "mind.dino", "memobench.motion_smoothness"),
    "ghosting": ("mind.gsc", "mind.lcm", "mind.dino", "mind.visual"),
    "geometric_melt": ("object_geometry_consistency", "spatial_epipolar", "spatial_reprojection", "memobench.geo3d"),
    "subject_dragged": ("wrbench.support", "wrbench.visible_spatial"),
}


def meant_for(failure: str, measure: str) -> bool:
    """Whether a measure (a metric's name, for MIND with its part) is meant to see the failure."""
    return any(wanted in measure for wanted in MEANT_FOR.get(failure, ()))
