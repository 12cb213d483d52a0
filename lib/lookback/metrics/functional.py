"""Every metric as a pure function on arrays. Each returns a float, an array or a small dict, or raises `NotScorable(reason)`.

Poses are (N,4,4) camera-to-world in OpenCV axes; images uint8 or float in [0,1], RGB, (N,H,W,3).

Torch tensors are taken, too, and give tensors on their device. `mse`, `psnr`, `ssim`, `lpips`, `lcm`, `gsc`, `dino_mse` and
`centroid_consistency` are computed there and have gradients. The others are computed in numpy and have none.

>>> import numpy as np
>>> grey, lighter = np.full((2, 16, 16, 3), 100, np.uint8), np.full((2, 16, 16, 3), 110, np.uint8)
>>> round(psnr(grey, lighter), 2), round(ssim(grey, lighter), 3), round(mse(grey, lighter), 5)
(28.13, 0.995, 0.00154)
>>> m_score([0.9, 0.7, None, None], [True, True, False, False])
0.6153846153846154
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast, overload

from lookback.benchmarks.folder.metrics.motion import lightness_jumps
from lookback.benchmarks.folder.metrics.place import overlap_ssim
from lookback.benchmarks.mbench.metrics.camera_interaction import camera_interaction, camera_interaction_cosine, twist_cosines
from lookback.benchmarks.mbench.metrics.human_consistency import returning_cosines, tracks_consistency
from lookback.benchmarks.mbench.metrics.object_geometry_consistency import masked_ssim_warp
from lookback.benchmarks.mbench.metrics.object_texture_consistency import centroid_consistency as _centroid_consistency
from lookback.benchmarks.mbench.metrics.prompt_interaction import segment_cosines, text_interaction
from lookback.benchmarks.mbench.metrics.rendering_lighting import lighting_deviation, lighting_score
from lookback.benchmarks.mbench.metrics.rendering_style import gram_matrix, style_consistency
from lookback.benchmarks.mbench.metrics.spatial_epipolar import epipolar_error, epipolar_score
from lookback.benchmarks.mbench.metrics.spatial_reprojection import reprojection_error, reprojection_score
from lookback.benchmarks.mbench.metrics.state_progress import progress_correctness, state_progress
from lookback.benchmarks.memobench.metrics.camera_controllability import (
    camera_controllability,
    camera_errors,
    inactivity_gate,
    passes_motion_gate,
)
from lookback.benchmarks.memobench.metrics.fidelity import psnr as _psnr
from lookback.benchmarks.memobench.metrics.fidelity import ssim as _ssim
from lookback.benchmarks.memobench.metrics.geo3d import geo3d
from lookback.benchmarks.memobench.metrics.image_reward import image_reward
from lookback.benchmarks.memobench.metrics.motion_smoothness import motion_smoothness, warp_errors
from lookback.benchmarks.memobench.metrics.object_identity import object_identity
from lookback.benchmarks.memobench.metrics.ors import best_detection, object_reappearance
from lookback.benchmarks.memobench.metrics.visual_quality import visual_quality
from lookback.benchmarks.memobench.metrics.vqa import vqa_pass_rate
from lookback.benchmarks.mind.metrics.action import action_rpe, rpe
from lookback.benchmarks.mind.metrics.dino import dino_mse as _dino_mse
from lookback.benchmarks.mind.metrics.fidelity import gsc, lcm
from lookback.benchmarks.mind.metrics.on_tensors import tensor_gsc, tensor_lcm
from lookback.benchmarks.mind.metrics.shared import preprocess
from lookback.benchmarks.mind.metrics.visual import visual
from lookback.benchmarks.wrbench.metrics.cam_align import cam_align, static_hold
from lookback.benchmarks.wrbench.metrics.cam_prec import cam_prec, camera_precision
from lookback.benchmarks.wrbench.metrics.probes import probe_score
from lookback.benchmarks.wrbench.metrics.reobservation import dimension_average, is_sparse, reobservation_pattern, support_rate
from lookback.benchmarks.wrbench.metrics.visual_integrity import integrity_parts, visual_integrity
from lookback.measures import tensors
from lookback.measures.features import track_identities
from lookback.measures.frames import (
    caption_segment_pairs,
    fold_pairs,
    ground_truth_index,
    ground_truth_pairs,
    phase_frames,
    phase_map,
)
from lookback.measures.geometry import depth_warp, fundamental_from_poses, homography_warp, match_sift
from lookback.measures.images import mean_squared_error as _mse
from lookback.measures.revisits import compare_place, find_revisit, local_structure, same_place, view_overlap
from lookback.measures.scores import m_score, trigger_scores, yes_probability
from lookback.measures.tensors import accepts_tensors, lpips

if TYPE_CHECKING:
    from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T", covariant=True)

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
    "compare_place",
    "depth_warp",
    "dimension_average",
    "dino_mse",
    "epipolar_error",
    "epipolar_score",
    "find_revisit",
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
    "lightness_jumps",
    "local_structure",
    "lpips",
    "m_score",
    "masked_ssim_warp",
    "match_sift",
    "motion_smoothness",
    "mse",
    "object_identity",
    "object_reappearance",
    "overlap_ssim",
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
    "returning_cosines",
    "rpe",
    "same_place",
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
    "view_overlap",
    "visual",
    "visual_integrity",
    "visual_quality",
    "vqa_pass_rate",
    "warp_errors",
    "yes_probability",
]


class _OnBoth(Protocol[P, T]):
    """What type checkers read: a tensor gives a tensor, which has gradients; arrays give what the function itself gives."""

    @overload
    def __call__(self, first: Tensor, /, *others: Any, **settings: Any) -> Tensor: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...


def _on_both(function: Callable[P, T], twin: Callable[..., Any]) -> _OnBoth[P, T]:
    return cast(Any, accepts_tensors(function, twin))


centroid_consistency = _on_both(_centroid_consistency, tensors.centroid_consistency)
dino_mse = _on_both(_dino_mse, tensors.dino_mse)
mse = _on_both(_mse, tensors.mse)
psnr = _on_both(_psnr, tensors.psnr)
ssim = _on_both(_ssim, tensors.ssim)

_TWINS: dict[str, Callable[..., Any]] = {"gsc": tensor_gsc, "lcm": tensor_lcm}
_TAKE_BOTH = {"centroid_consistency", "dino_mse", "lpips", "mse", "psnr", "ssim"}
for _name in {*__all__} - _TAKE_BOTH:
    globals()[_name] = accepts_tensors(globals()[_name], _TWINS.get(_name))
