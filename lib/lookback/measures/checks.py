"""Checks of a metric's inputs. A broken input raises `NotScorable` with a typed reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import Poses, validate_poses
from lookback.errors import ContractError, NotScorable, Reason, UsageError

Array = NDArray[Any]
Variant = Literal["paper", "official", "corrected"]

VALUE_TOLERANCE = 1e-3  # resampled float images overshoot [0,1] by this much at most


def require_variant(variant: str, known: Sequence[str]) -> None:
    """UsageError unless this metric has the variant: a wrong name is a mistake in the call, not in the clip."""
    if variant not in known:
        raise UsageError(f"There is no variant '{variant}' of this metric; it has {', '.join(known)}.")


def require_poses(c2w: ArrayLike, name: str = "c2w", at_least: int = 1) -> Poses:
    """(N,4,4) finite rigid camera-to-world poses, N >= at_least."""
    try:
        poses = validate_poses(c2w, name)
    except ContractError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from error
    if len(poses) < at_least:
        raise NotScorable(Reason.TOO_SHORT, f"{name}: {len(poses)} poses, at least {at_least} are needed")
    return poses


def require_equal_length(a: Array, b: Array, names: str) -> None:
    """Two sequences that are compared frame by frame."""
    if len(a) != len(b):
        raise NotScorable(Reason.LENGTH_MISMATCH, f"{names}: {len(a)} against {len(b)}")


def require_equal_size(a: Array, b: Array, names: str) -> None:
    """Two images, or stacks of images, of the same height, width and channels."""
    if a.shape != b.shape:
        raise NotScorable(Reason.SIZE_MISMATCH, f"{names}: {a.shape} against {b.shape}")


def require_finite(values: ArrayLike, name: str, ndim: int | None = None, at_least: int = 1) -> NDArray[np.float64]:
    """A float64 array without NaN or infinity, of `ndim` axes, with at least `at_least` entries on the first."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: not an array of numbers ({error})") from error
    if ndim is not None and array.ndim != ndim:
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: {array.ndim} axes instead of {ndim} (shape {array.shape})")
    if array.ndim and len(array) < at_least:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"{name}: {len(array)} values, at least {at_least} are needed")
    if not np.isfinite(array).all():
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: contains values that are not finite")
    return array


def require_probability(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Numbers in [0,1]; a scalar becomes an array of one."""
    array = require_finite(np.atleast_1d(np.asarray(values, dtype=np.float64)), name, ndim=1)
    if array.min() < 0.0 or array.max() > 1.0:
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: probabilities must lie in [0,1]")
    return array


def require_images(images: ArrayLike, name: str = "frames", ndim: int = 4, at_least: int = 1) -> Array:
    """RGB images, uint8 or float in [0,1]: (H,W,3) when ndim is 3, (N,H,W,3) when it is 4."""
    array = np.asarray(images)
    if array.ndim != ndim or array.shape[-1] != 3 or 0 in array.shape[-3:]:
        wanted = "(H,W,3)" if ndim == 3 else "(N,H,W,3)"
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: {wrong_shape(array.shape, wanted)}")
    if ndim == 4 and len(array) < at_least:
        raise NotScorable(Reason.TOO_SHORT, f"{name}: {len(array)} frames, at least {at_least} are needed")
    if array.dtype == np.uint8:
        return array
    if not np.issubdtype(array.dtype, np.floating):
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: images are uint8 or float in [0,1], not {array.dtype}")
    require_unit_range(float(array.min()), float(array.max()), name)
    return array


def require_unit_range(low: float, high: float, name: str) -> None:
    """The smallest and the largest value of float images lie in [0,1]."""
    if not (low >= -VALUE_TOLERANCE and high <= 1.0 + VALUE_TOLERANCE):  # NaN fails both comparisons
        raise NotScorable(Reason.INVALID_INPUT, f"{name}: float images must lie in [0,1], not [{low:.3g}, {high:.3g}]")


def wrong_shape(shape: tuple[int, ...], wanted: str) -> str:
    """What is wrong with the shape of pictures, with the remedy for channels that come first, as torch's layers have them."""
    last = "; channels come last: permute(0, 2, 3, 1)" if len(shape) == 4 and shape[1] == 3 else ""
    return f"images must have shape {wanted}, not {shape}{last}"


def require_mask(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    """True where a mask is set: not 0, or at least one half where it holds floats (soft masks)."""
    array = np.asarray(values)
    return require_finite(array, name) >= 0.5 if array.dtype.kind == "f" else array.astype(bool)


def unit_float(image: Array) -> NDArray[np.float32]:
    """The image as float32 in [0,1]."""
    if image.dtype == np.uint8:
        return image.astype(np.float32) / np.float32(255.0)
    return image.astype(np.float32, copy=False)
