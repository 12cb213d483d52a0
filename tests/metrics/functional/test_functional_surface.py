"""The functional twins exist under the design's names, and bad input gets a typed reason."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import NotScorable, Reason, UsageError
from lookback.metrics import functional

SIGNATURES = {
    "m_score": "scores, triggered",
    "centroid_consistency": "features",
    "masked_ssim_warp": "image_i, image_j_warped, mask_i",
    "epipolar_error": "points_i, points_j, fundamental",
    "reprojection_error": "points_i, points_j, K, c2w_i, c2w_j",
    "lighting_deviation": "frames_i, frames_j, alpha",
    "style_consistency": "gram_matrices",
    "camera_interaction": "c2w, instructed_twist",
    "text_interaction": "image_features, text_features",
    "phase_map": "d_start, r_start, gt_frames, n_frames",
    "psnr": "a, b",
    "ssim": "a, b",
    "motion_smoothness": "frames, flows",
    "object_identity": "patches, patches_0",
    "geo3d": "depth_v, depth_r",
    "object_reappearance": "confidences, n_frames",
    "camera_controllability": "gt_c2w, c2w",
    "vqa_pass_rate": "answers, questions",
    "cam_prec": "target_c2w, c2w, request",
    "cam_align": "c2w, request",
    "visual_integrity": "cls, patches, valid",
    "yes_probability": "yes_logits, no_logits",
    "probe_score": "p_positive, p_negative",
    "reobservation_pattern": "judgeable",
    "lcm": "prediction, truth",
    "gsc": "video",
    "rpe": "gt_c2w, c2w",
}
PATH = from_yaw_pitch_roll(np.linspace(0.0, 20.0, 12))
BROKEN = PATH.copy()
BROKEN[3, 0, 3] = np.nan
MIRRORED = PATH.copy()
MIRRORED[:, :3, 0] *= -1.0
PICTURE = np.zeros((2, 16, 16, 3), np.uint8)


@pytest.mark.parametrize(("name", "expected"), SIGNATURES.items())
def test_positional_parameters_are_the_design_s(name: str, expected: str) -> None:
    parameters = inspect.signature(getattr(functional, name)).parameters.values()
    positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert ", ".join(positional) == expected


@pytest.mark.parametrize("name", functional.__all__)
def test_every_twin_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(functional, name))


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("cam_prec", (PATH, PATH[:-1], "yaw_LR"), Reason.LENGTH_MISMATCH),
        ("cam_prec", (PATH, BROKEN, "yaw_LR"), Reason.INVALID_INPUT),
        ("cam_prec", (PATH, MIRRORED, "yaw_LR"), Reason.INVALID_INPUT),
        ("cam_align", (PATH[:1], "static"), Reason.TOO_SHORT),
        ("cam_align", (PATH, "pan_LR"), Reason.NOT_APPLICABLE),
        ("camera_controllability", (PATH, PATH[:5]), Reason.LENGTH_MISMATCH),
        ("camera_controllability", (BROKEN, PATH), Reason.INVALID_INPUT),
        ("rpe", (PATH[:6], PATH[:6]), Reason.TOO_FEW_VALUES),
        ("rpe", (PATH, np.zeros((12, 3, 4))), Reason.INVALID_INPUT),
        ("camera_interaction", (PATH, np.zeros(6)), Reason.NOT_APPLICABLE),
        ("camera_interaction", (PATH, np.ones((3, 6))), Reason.LENGTH_MISMATCH),
        ("m_score", ([], []), Reason.TOO_FEW_VALUES),
        ("m_score", ([0.5], [True, False]), Reason.LENGTH_MISMATCH),
        ("m_score", ([None], [True]), Reason.TOO_FEW_VALUES),
        ("m_score", ([0.5], ["maybe"]), Reason.INVALID_INPUT),
        ("centroid_consistency", (np.zeros((0, 4)),), Reason.TOO_FEW_VALUES),
        ("centroid_consistency", (np.zeros((3, 4)),), Reason.INVALID_INPUT),
        ("centroid_consistency", ([[1.0, 0.0], [-1.0, 0.0]],), Reason.UNDEFINED),
        ("tracks_consistency", ([],), Reason.NO_FACE),
        ("masked_ssim_warp", (PICTURE[0], PICTURE[1], np.zeros((16, 16))), Reason.NO_MASK),
        ("masked_ssim_warp", (PICTURE[0], PICTURE[1], np.ones((8, 8))), Reason.SIZE_MISMATCH),
        ("masked_ssim_warp", (PICTURE[0], PICTURE[1], np.full((16, 16), np.nan)), Reason.INVALID_INPUT),
        ("epipolar_error", (np.zeros((7, 2)), np.zeros((7, 2)), np.eye(3)), Reason.TOO_FEW_MATCHES),
        ("epipolar_error", (np.zeros((9, 2)), np.zeros((9, 2)), np.zeros((3, 3))), Reason.NO_PARALLAX),
        ("reprojection_error", (np.zeros((3, 2)), np.zeros((3, 2)), np.eye(3), PATH[0], PATH[1]), Reason.TOO_FEW_MATCHES),
        ("reprojection_error", (np.zeros((9, 2)), np.zeros((9, 2)), np.eye(4), PATH[0], PATH[1]), Reason.INVALID_INPUT),
        ("fundamental_from_poses", (np.eye(3), np.eye(3), PATH[0], PATH[5]), Reason.NO_PARALLAX),
        ("fundamental_from_poses", (np.eye(3), np.zeros((3, 3)), np.eye(4), np.eye(4) + np.eye(4, k=3)), Reason.INVALID_INPUT),
        ("rpe", ([["a"]], [["b"]]), Reason.INVALID_INPUT),
        ("lighting_deviation", (PICTURE[:0], PICTURE, 0.5), Reason.TOO_SHORT),
        ("style_consistency", (np.zeros((1, 4, 4)),), Reason.TOO_SHORT),
        ("text_interaction", (np.ones((2, 3, 4)), np.ones((3, 4))), Reason.LENGTH_MISMATCH),
        ("state_progress", (0.0,), Reason.JUDGE_UNPARSED),
        ("fold_pairs", (PATH[:2],), Reason.TOO_SHORT),
        ("caption_segment_pairs", (PATH, [[0, 1]]), Reason.NOT_APPLICABLE),
        ("caption_segment_pairs", (PATH, [[0], [1], [40]]), Reason.INVALID_INPUT),
        ("phase_map", (50, 20, 100, 81), Reason.NO_PHASES),
        ("phase_map", (20, 50, 100, 4), Reason.TOO_SHORT),
        ("psnr", (PICTURE, PICTURE[:, :8]), Reason.SIZE_MISMATCH),
        ("psnr", (PICTURE[..., 0], PICTURE[..., 0]), Reason.INVALID_INPUT),
        ("ssim", (PICTURE.astype(float) + 7.0, PICTURE.astype(float)), Reason.INVALID_INPUT),
        ("ssim", (PICTURE[:, :8, :8], PICTURE[:, :8, :8]), Reason.INVALID_INPUT),
        ("motion_smoothness", (PICTURE, np.zeros((2, 16, 16, 2))), Reason.SIZE_MISMATCH),
        ("motion_smoothness", (PICTURE[:1], np.zeros((0, 16, 16, 2))), Reason.TOO_SHORT),
        ("object_identity", (np.ones((2, 5, 3)), np.ones((4, 3))), Reason.SIZE_MISMATCH),
        ("geo3d", (np.ones((3, 4, 4)), np.ones((3, 4, 4))), Reason.UNDEFINED),
        ("geo3d", (np.ones((1, 4, 4)), np.ones((3, 4, 4))), Reason.TOO_SHORT),
        ("object_reappearance", ([0.5], 0), Reason.TOO_SHORT),
        ("object_reappearance", ([0.5, 0.5], 1), Reason.INVALID_INPUT),
        ("object_reappearance", ([1.5], 4), Reason.INVALID_INPUT),
        ("inactivity_gate", (PATH * 0 + np.eye(4), PATH), Reason.UNDEFINED),
        ("vqa_pass_rate", ([], []), Reason.MISSING_INPUT),
        ("vqa_pass_rate", ([{"ID": 1, "Answer": "Yes"}], [{"ID": 1, "Dimension Polarity": "Positive"}]), Reason.INVALID_INPUT),
        ("visual_integrity", (np.ones((1, 3)), np.ones((1, 4, 3)), None), Reason.TOO_SHORT),
        ("visual_integrity", (np.ones((2, 3)), np.ones((3, 4, 3)), None), Reason.LENGTH_MISMATCH),
        ("visual_integrity", (np.ones((2, 3)), np.ones((2, 4, 3)), np.zeros(4)), Reason.INVALID_INPUT),
        ("yes_probability", ([], [1.0]), Reason.JUDGE_UNPARSED),
        ("yes_probability", ([-np.inf], [-np.inf]), Reason.JUDGE_UNPARSED),
        ("probe_score", ([0.8, np.nan], [0.3]), Reason.PROBE_MISSING),
        ("probe_score", ([1.2], [0.3]), Reason.INVALID_INPUT),
        ("reobservation_pattern", ([],), Reason.TOO_SHORT),
        ("dimension_average", ({"cam_align": 0.5},), Reason.MISSING_INPUT),
        ("lcm", (PICTURE, PICTURE[:, :8]), Reason.SIZE_MISMATCH),
        ("lcm", (PICTURE[:0], PICTURE), Reason.TOO_SHORT),
        ("gsc", (np.zeros((3, 16, 16, 3), np.uint8),), Reason.INVALID_INPUT),
        ("dino_mse", (np.ones((2, 3, 4)), np.ones((2, 2, 4))), Reason.SIZE_MISMATCH),
    ],
)
def test_what_cannot_be_scored_says_why(name: str, arguments: tuple[Any, ...], reason: Reason) -> None:
    with pytest.raises(NotScorable) as caught:
        getattr(functional, name)(*arguments)
    assert caught.value.reason is reason
    assert caught.value.detail


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("cam_align", (PATH, "yaw_UP"), {}),
        ("cam_prec", (PATH, PATH, "zoom"), {}),
        ("psnr", (PICTURE, PICTURE), {"variant": "corrected"}),
        ("lcm", (PICTURE, PICTURE), {"variant": "paper"}),
        ("state_progress", (3.0,), {"scale": "best"}),
    ],
)
def test_a_wrong_call_is_a_usage_error_that_lists_what_exists(
    name: str, arguments: tuple[Any, ...], options: dict[str, str]
) -> None:
    with pytest.raises(UsageError, match=r"scores|it has"):
        getattr(functional, name)(*arguments, **options)
