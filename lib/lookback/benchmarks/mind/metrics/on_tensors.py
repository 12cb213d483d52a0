"""`lcm` and `gsc` of torch tensors (N,H,W,3): the same frames, measured on the tensor's device with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lookback.benchmarks.mind.metrics.fidelity import mirror_half
from lookback.benchmarks.mind.metrics.shared import lcm_length, preset, scored_length
from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant
from lookback.measures.tensors import measured_pairs, require_videos

if TYPE_CHECKING:
    from torch import Tensor


def tensor_lcm(
    prediction: Tensor,
    truth: Tensor,
    *,
    mark_time: int = 0,
    video_max_time: int | None = None,
    lpips: Callable[..., Any] | None = None,
    variant: Variant = "corrected",
) -> dict[str, Any]:
    """`lcm` for tensors. `lpips` is a network of the package lpips here."""
    require_videos(prediction, truth)
    limit = lcm_length(len(truth), mark_time, len(prediction), video_max_time)
    chosen = preset("lcm", variant)
    length = scored_length(limit, chosen["read_batch"])
    if length == 0:
        raise NotScorable(Reason.TOO_SHORT, f"{len(prediction)} predicted and {len(truth)} true frames leave none to score")
    return measured_pairs(prediction[:length], truth[mark_time : mark_time + length], chosen["identical"] == "left_out", lpips)


def tensor_gsc(video: Tensor, *, lpips: Callable[..., Any] | None = None, variant: Variant = "corrected") -> dict[str, Any]:
    """`gsc` for tensors. `lpips` is a network of the package lpips here."""
    require_videos(video)
    chosen = preset("gsc", variant)
    half = mirror_half(len(video), chosen["work_batch"])
    return measured_pairs(video[:half], video.flip(0)[:half], chosen["identical"] == "left_out", lpips)
