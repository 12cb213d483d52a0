"""Every metric's pure twin on arrays. Each returns a float, an array or a small dict, or raises `NotScorable(reason)`.

Poses are (N,4,4) camera-to-world in OpenCV axes; images uint8 or float in [0,1], RGB, (N,H,W,3).
"""

from __future__ import annotations

from lookback.metrics.mbench.camera_interaction import camera_interaction, camera_interaction_cosine, twist_cosines
from lookback.metrics.mbench.human_identity_consistency import tracks_consistency
from lookback.metrics.mbench.m_score import m_score, trigger_scores
from lookback.metrics.mbench.object_geometry_consistency import masked_ssim_warp
from lookback.metrics.mbench.object_texture_consistency import centroid_consistency
from lookback.metrics.mbench.progress_correctness import progress_correctness
from lookback.metrics.mbench.prompt_interaction import segment_cosines, text_interaction
from lookback.metrics.mbench.rendering_lighting import lighting_deviation, lighting_score
from lookback.metrics.mbench.rendering_style import gram_matrix, style_consistency
from lookback.metrics.mbench.spatial_epipolar import epipolar_error, epipolar_score
from lookback.metrics.mbench.spatial_reprojection import reprojection_error, reprojection_score
from lookback.metrics.mbench.state_progress import state_progress
from lookback.metrics.memobench.camera_controllability import (
    camera_controllability,
    camera_errors,
    inactivity_gate,
    passes_motion_gate,
)
from lookback.metrics.memobench.geo3d import geo3d
from lookback.metrics.memobench.image_reward import image_reward
from lookback.metrics.memobench.motion_smoothness import motion_smoothness, warp_errors
from lookback.metrics.memobench.object_identity import object_identity
from lookback.metrics.memobench.ors import best_detection, object_reappearance
from lookback.metrics.memobench.phases import ground_truth_index, ground_truth_pairs, phase_frames, phase_map
from lookback.metrics.memobench.psnr import psnr
from lookback.metrics.memobench.ssim import ssim
from lookback.metrics.memobench.visual_quality import visual_quality
from lookback.metrics.memobench.vqa import vqa_pass_rate
from lookback.metrics.mind.action import action_rpe, rpe
from lookback.metrics.mind.dino import dino_mse
from lookback.metrics.mind.gsc import gsc
from lookback.metrics.mind.lcm import lcm
from lookback.metrics.mind.preprocess import preprocess
from lookback.metrics.mind.visual import visual
from lookback.metrics.shared.correspondences import match_sift
from lookback.metrics.shared.epipolar import fundamental_from_poses
from lookback.metrics.shared.pairs import caption_segment_pairs, fold_pairs
from lookback.metrics.shared.tracks import track_identities
from lookback.metrics.shared.warp import depth_warp, homography_warp
from lookback.metrics.wrbench.cam_align import cam_align, static_hold
from lookback.metrics.wrbench.cam_prec import cam_prec, camera_precision
from lookback.metrics.wrbench.probes import probe_score, yes_probability
from lookback.metrics.wrbench.reobservation import dimension_average, is_sparse, reobservation_pattern, support_rate
from lookback.metrics.wrbench.visual_integrity import integrity_parts, visual_integrity

__all__ = [
    "action_rpe",
    "best_detection",
    "cam_align",
    "cam_prec",
    "camera_controllability",
    "camera_errors",
    "camera_interaction",
    "camera_interaction_cosine",
    "camera_precision",
    "caption_segment_pairs",
    "centroid_consistency",
    "depth_warp",
    "dimension_average",
    "dino_mse",
    "epipolar_error",
    "epipolar_score",
    "fold_pairs",
    "fundamental_from_poses",
    "geo3d",
    "gram_matrix",
    "ground_truth_index",
    "ground_truth_pairs",
    "gsc",
    "homography_warp",
    "image_reward",
    "inactivity_gate",
    "integrity_parts",
    "is_sparse",
    "lcm",
    "lighting_deviation",
    "lighting_score",
    "m_score",
    "masked_ssim_warp",
    "match_sift",
    "motion_smoothness",
    "object_identity",
    "object_reappearance",
    "passes_motion_gate",
    "phase_frames",
    "phase_map",
    "preprocess",
    "probe_score",
    "progress_correctness",
    "psnr",
    "reobservation_pattern",
    "reprojection_error",
    "reprojection_score",
    "rpe",
    "segment_cosines",
    "ssim",
    "state_progress",
    "static_hold",
    "style_consistency",
    "support_rate",
    "text_interaction",
    "track_identities",
    "tracks_consistency",
    "trigger_scores",
    "twist_cosines",
    "visual",
    "visual_integrity",
    "visual_quality",
    "vqa_pass_rate",
    "warp_errors",
    "yes_probability",
]
