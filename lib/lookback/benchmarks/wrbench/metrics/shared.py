"""What WRBench's metrics share: their declaration, their settings, and the camera request of a clip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.camera.poses import relative_to_first, rotation_angle_deg, signed_peak, turned_yaw_deg
from lookback.errors import NotScorable, Reason, UsageError
from lookback.measures.requested import requested_poses
from lookback.presets import Setting, presets_of
from lookback.registry import metric
from lookback.scoring import ScoringClip

PACKAGE = "lookback.benchmarks.wrbench"


def wrbench_metric(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register under `wrbench.<name>`: a score in [0,1], higher is better; the declaration may name another unit."""
    common: dict[str, Any] = {"benchmark": "wrbench", "unit": "score", "range": (0.0, 1.0), "higher_is_better": True}
    return metric(name=f"wrbench.{name}", presets=presets_of(PACKAGE, name), **{**common, **declaration})


class Settings(Protocol):
    """What formulas read their settings from: a clip that is scored, or a variant of presets.yaml."""

    def setting(self, name: str) -> Setting: ...

    def number(self, name: str) -> float: ...


@dataclass(frozen=True)
class VariantSettings:
    """The settings of one variant."""

    values: Mapping[str, Setting]

    def setting(self, name: str) -> Setting:
        return self.values[name]

    def number(self, name: str) -> float:
        return float(cast(float, self.values[name]))


def settings_of(name: str, variant: str) -> VariantSettings:
    """The settings of a metric (its name without the benchmark) in one variant."""
    known = presets_of(PACKAGE, name).settings
    if variant not in known:
        raise UsageError(f"{name} has no variant '{variant}'; it has {', '.join(known)}")
    return VariantSettings(known[variant])


Request = Literal["yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static"]
REQUESTS: tuple[Request, ...] = ("yaw_LR", "yaw_RL", "pan_LR", "pan_RL", "static")


def require_request(request: str) -> None:
    """The request is one of the five presets."""
    if request not in REQUESTS:
        raise UsageError(f"There is no camera request '{request}'; WRBench scores {', '.join(REQUESTS)}.")


STILL_DEG, STILL_UNITS = 0.5, 1e-3


def clip_request(context: ScoringClip) -> Request:
    """The name of the preset. Another path counts as the preset that it is closest to, or is not scored, as the variant says."""
    camera = context.need("camera")
    for request in REQUESTS:
        if camera == request:
            return request
    if context.setting("other_paths") == "missing":
        raise NotScorable(Reason.NOT_APPLICABLE, f"the released program scores {', '.join(REQUESTS)}, not '{camera}'")
    poses = requested_poses(context, context.need("n_frames"))
    yaw, across = signed_peak(turned_yaw_deg(poses)), signed_peak(relative_to_first(poses)[:, 0, 3])
    moved = float(np.linalg.norm(relative_to_first(poses)[:, :3, 3], axis=1).max())
    if abs(yaw) > STILL_DEG:
        return "yaw_RL" if yaw > 0 else "yaw_LR"
    if abs(across) > STILL_UNITS:
        return "pan_RL" if across > 0 else "pan_LR"
    if moved <= STILL_UNITS:
        return "static"
    raise NotScorable(Reason.NOT_APPLICABLE, f"the request '{camera}' is neither a yaw, a pan nor static")


def angle_deg(rotation_a: ArrayLike, rotation_b: ArrayLike, context: Settings) -> NDArray[np.float64]:
    """Geodesic angle in degrees. `angle: acos` is acos((tr - 1) / 2), which is up to 1e-6 deg off near 0, as released."""
    if context.setting("angle") == "exact":
        return rotation_angle_deg(rotation_a, rotation_b)
    a, b = (np.asarray(rotation, dtype=np.float64)[..., :3, :3] for rotation in (rotation_a, rotation_b))
    trace = np.trace(np.swapaxes(a, -1, -2) @ b, axis1=-2, axis2=-1)
    angles: NDArray[np.float64] = np.degrees(np.arccos(np.clip((trace - 1.0) / 2.0, -1.0, 1.0)))
    return angles
