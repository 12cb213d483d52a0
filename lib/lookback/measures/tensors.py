"""The pixel and feature measures for torch tensors: on the tensor's device, with gradients. Tests compare them with the numpy ones.

`accepts_tensors` gives a function of arrays its form for tensors: a twin from this file where there is one; else the tensors are
read as arrays, and what comes out is put on their device (without gradients). This module is imported without torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import cv2
import numpy as np

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import require_unit_range, require_variant, wrong_shape
from lookback.measures.features import centroid_cosines
from lookback.measures.images import IDENTICAL_DB, IDENTICAL_MSE, K1, K2, MARGIN, SIGMA, WINDOW

if TYPE_CHECKING:
    from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")
LUMA = (0.299, 0.587, 0.114)
LPIPS_BATCH = 8  # pairs that the network is shown at once
FIDELITY = ("paper", "official")  # the variants of `psnr` and `ssim`


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def accepts_tensors(function: Callable[P, T], twin: Callable[..., Any] | None = None) -> Callable[P, T]:
    """The same function, which gives tensors where it is given tensors."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        values = [*args, *kwargs.values()]
        tensors = [each for value in values for each in _listed(value) if is_tensor(each)]
        if not tensors:
            return function(*args, **kwargs)
        if twin is not None and any(map(is_tensor, values)):
            answer = twin(*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        plain = [as_array(value) for value in args]
        named = {name: as_array(value) for name, value in kwargs.items()}
        return _like(function(*plain, **named), tensors)

    return called


def _listed(value: Any) -> Sequence[Any]:
    """The entries of a list: it may hold a tensor per track or segment."""
    return value if isinstance(value, (list, tuple)) else [value]


def as_array(value: Any) -> Any:
    """A tensor as an array (numpy has no bfloat16), also in a list; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(as_array(each) for each in value)
    if not is_tensor(value):
        return value
    plain = value.detach().cpu()
    return (_at_least_float(plain) if plain.dtype.is_floating_point else plain).numpy()


def _at_least_float(value: Tensor) -> Tensor:
    """In float32 where it is a whole number or has half precision."""
    return value if value.dtype.is_floating_point and value.dtype.itemsize >= 4 else value.float()


def _like(value: Any, tensors: Sequence[Tensor]) -> Any:
    """Numbers and arrays as tensors on the device of the inputs; what is no number stays as it is."""
    import torch

    if isinstance(value, Mapping):
        return {name: _like(part, tensors) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_like(part, tensors) for part in value)
    kinds = [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point]
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return torch.as_tensor(value, device=tensors[0].device)
    if isinstance(value, (float, np.floating, np.ndarray)):
        return torch.as_tensor(value, device=tensors[0].device, dtype=kinds[0] if kinds else torch.get_default_dtype())
    return value


# -- pictures -------------------------------------------------------------------------------------------------------------------
def _pair(a: Any, b: Any) -> tuple[Tensor, Tensor, float]:
    """Two pictures or videos as (N,H,W,3) floats, and the largest value they can have: 255 for uint8, else 1."""
    import torch

    first, second = (value if is_tensor(value) else torch.as_tensor(np.asarray(value)) for value in (a, b))
    device = first.device if is_tensor(a) else second.device
    for shape in (tuple(first.shape), tuple(second.shape)):
        if len(shape) not in (3, 4) or shape[-1] != 3 or 0 in shape[-3:]:
            raise NotScorable(Reason.INVALID_INPUT, f"frames: {wrong_shape(shape, '(H,W,3) or (N,H,W,3)')}")
        if shape[0] == 0:
            raise NotScorable(Reason.TOO_SHORT, "frames: 0 frames, at least 1 are needed")
    if first.shape != second.shape:
        raise NotScorable(Reason.SIZE_MISMATCH, f"frames: {tuple(first.shape)} against {tuple(second.shape)}")
    peak = 255.0 if first.dtype == second.dtype == torch.uint8 else 1.0
    floats = [_unit(value.to(device), peak) for value in (first, second)]
    kind = torch.promote_types(floats[0].dtype, floats[1].dtype)
    shape = (-1, *first.shape[-3:])
    return floats[0].to(kind).reshape(shape), floats[1].to(kind).reshape(shape), peak


def require_videos(*videos: Any) -> None:
    """Refuse a picture where frames (N,H,W,3) are counted: its rows would be taken for frames."""
    for shape in (tuple(np.shape(video)) for video in videos):
        if len(shape) != 4:
            raise NotScorable(Reason.INVALID_INPUT, f"frames: {wrong_shape(shape, '(N,H,W,3)')}")


def _unit(value: Tensor, peak: float) -> Tensor:
    """Floats in [0, peak], in float32 at least: the squares and differences of SSIM are lost in half precision."""
    import torch

    if value.dtype == torch.uint8:
        return value.float() if peak == 255.0 else value.float() / 255.0
    if not value.dtype.is_floating_point:
        raise NotScorable(Reason.INVALID_INPUT, f"frames are uint8 or float in [0,1], not {value.dtype}")
    low, high = value.detach().aminmax()
    require_unit_range(float(low), float(high), "frames")
    return _at_least_float(value)


def mse(a: Any, b: Any) -> Any:
    """Mean squared error of pictures or videos in [0,1]."""
    first, second, peak = _pair(a, b)
    return ((first - second) / peak).square().mean()


def psnr(a: Any, b: Any, *, variant: str = "paper") -> Any:
    """The mean PSNR over frames; identical frames give 99 dB. Where `official` must resize, the numpy function does it."""
    require_variant(variant, FIDELITY)
    if variant == "official" and _official_resizes(a, b):
        return NotImplemented
    first, second, peak = _pair(a, b)
    squared = ((first - second) / peak).square().mean(dim=(1, 2, 3))
    decibels = -10.0 * squared.clamp_min(IDENTICAL_MSE).log10()
    return decibels.where(squared >= IDENTICAL_MSE, IDENTICAL_DB).mean()


def ssim(a: Any, b: Any, *, variant: str = "paper") -> Any:
    """The mean SSIM of the luma over frames. Where `official` must resize, the numpy function does it."""
    require_variant(variant, FIDELITY)
    if variant == "official" and _official_resizes(a, b):
        return NotImplemented
    first, second, peak = _pair(a, b)
    luma = first.new_tensor(LUMA)
    grey = [(frames @ luma)[:, None] for frames in (first, second)]
    if peak == 255.0:
        grey = [picture.round() for picture in grey]  # OpenCV's grey of bytes is a byte
    maps = ssim_map(grey[0], grey[1], peak)
    margin = MARGIN if variant == "paper" else 0
    height, width = maps.shape[-2:]
    return maps[..., margin : height - margin, margin : width - margin].mean()


def _official_resizes(a: Any, b: Any) -> bool:
    return tuple(a.shape) != tuple(b.shape) or max(a.shape[-3:-1]) > 640


def ssim_map(a: Tensor, b: Tensor, data_range: float) -> Tensor:
    """SSIM at every pixel and channel of (N,C,H,W), borders reflected; the formula is that of `lookback.measures.images`."""
    import torch
    from torch.nn.functional import conv2d, pad

    if min(a.shape[-2:]) < WINDOW:
        raise NotScorable(
            Reason.INVALID_INPUT, f"a picture of {a.shape[-1]}x{a.shape[-2]} is smaller than the {WINDOW}x{WINDOW} window of SSIM"
        )
    kernel = torch.as_tensor(cv2.getGaussianKernel(WINDOW, SIGMA), dtype=a.dtype, device=a.device).flatten()
    channels = a.shape[1]
    rows = kernel.view(1, 1, 1, -1).repeat(channels, 1, 1, 1)

    def blurred(picture: Tensor) -> Tensor:
        padded = pad(picture, (MARGIN,) * 4, mode="reflect")
        return conv2d(conv2d(padded, rows, groups=channels), rows.transpose(2, 3), groups=channels)

    c1, c2 = 2.0 * (K1 * data_range) ** 2, 2.0 * (K2 * data_range) ** 2
    total, difference = a + b, a - b
    mean_s, mean_d = blurred(total).square(), blurred(difference).square()
    var_s, var_d = blurred(total.square()) - mean_s, blurred(difference.square()) - mean_d
    return (mean_s - mean_d + c1) * (var_s - var_d + c2) / ((mean_s + mean_d + c1) * (var_s + var_d + c2))


def lpips(a: Any, b: Any, network: Callable[..., Any]) -> Any:
    """The mean distance of a network of the package lpips (or one that is called like it) over the frames of two videos.

    The network is given pairs (n,3,H,W) in [-1,1].
    """
    first, second, peak = _pair(a, b)
    own = next(iter(network.parameters()), first) if hasattr(network, "parameters") else first  # it may be in half precision
    pairs = [((frames.permute(0, 3, 1, 2) / peak) * 2.0 - 1.0).to(own.dtype) for frames in (first, second)]
    starts = range(0, len(first), LPIPS_BATCH)
    found = [network(pairs[0][start : start + LPIPS_BATCH], pairs[1][start : start + LPIPS_BATCH]).flatten() for start in starts]
    mean = sum(part.sum() for part in found) / len(first)
    return mean if is_tensor(a) or is_tensor(b) else float(mean)


def measured_pairs(
    a: Tensor, b: Tensor, identical_left_out: bool, lpips_network: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """mse, psnr and ssim (RGB, data range 1) of every pair of frames, and their means `avg_*`.

    Identical frames have an infinite PSNR, which is left out of the mean or makes it infinite.
    """
    import torch

    first, second, peak = _pair(a, b)
    first, second = first / peak, second / peak
    squared = (first - second).square().mean(dim=(1, 2, 3))
    maps = ssim_map(first.permute(0, 3, 1, 2), second.permute(0, 3, 1, 2), 1.0)
    found = {"mse": squared, "psnr": -10.0 * squared.log10(), "ssim": maps.mean(dim=(1, 2, 3))}
    if lpips_network is not None:
        found["lpips"] = torch.stack([lpips(x[None], y[None], lpips_network) for x, y in zip(first, second, strict=True)])
    means = {f"avg_{name}": values.mean() for name, values in found.items()}
    finite = found["psnr"].isfinite()
    if identical_left_out and finite.any():
        means["avg_psnr"] = found["psnr"][finite].mean()
    return {"length": len(squared), **found, **means}


# -- features -------------------------------------------------------------------------------------------------------------------
def centroid_consistency(features: Any) -> Any:
    """The mean cosine of features (N,D) with their centroid, in [0,1]."""
    from torch.nn.functional import cosine_similarity

    centroid_cosines(as_array(features))  # refuses what has no direction
    features = _at_least_float(features)
    return cosine_similarity(features, features.mean(dim=0, keepdim=True), dim=-1).mean().clamp(0.0, 1.0)


def dino_mse(patches: Any, patches_truth: Any) -> Any:
    """Per frame, the mean squared error of L2-normalised tokens (N,P,D)."""
    import torch
    from torch.nn.functional import normalize

    if patches.shape != patches_truth.shape:
        raise NotScorable(Reason.SIZE_MISMATCH, f"patches: {tuple(patches.shape)} against {tuple(patches_truth.shape)}")
    if len(patches.shape) != 3:
        shape = tuple(patches.shape)
        raise NotScorable(Reason.INVALID_INPUT, f"patches: {len(shape)} axes instead of 3 (shape {shape})")
    if len(patches) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, "patches: 0 values, at least 1 are needed")
    pair = [_at_least_float(torch.as_tensor(tokens)) for tokens in (patches, patches_truth)]
    if not all(tokens.isfinite().all() for tokens in pair):
        raise NotScorable(Reason.INVALID_INPUT, "patches: contains values that are not finite")
    one, other = (normalize(tokens, dim=-1) for tokens in pair)
    return (one - other).square().mean(dim=(1, 2))
