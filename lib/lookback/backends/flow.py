"""The role `flow`: how far each frame moves to the next.

- `raft`, `raft-small`: RAFT (Teed and Deng 2020) in torchvision, MemoBench's choice.
- `dis`: dense inverse search (Kroeger et al. 2016) in OpenCV, embedded.

The artifact holds only the mean length of each flow field. A metric that needs whole fields calls the backend's `flow`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import cv2
import numpy as np

from lookback.artifacts import Artifact, Flow
from lookback.backends.base import BackendOptions
from lookback.backends.runtime import ConfiguredBackend, Options, TorchBackend, in_parts, loaded_once
from lookback.clips import Clip
from lookback.devices import kind_of
from lookback.errors import NotScorable, Reason
from lookback.measures.inverse_search import InverseSearch
from lookback.media import VideoInfo
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

RAFT_STEP, RAFT_MIN_SIDE = 8, 128  # RAFT needs sides that are multiples of 8 and at least 128 long


class FlowBackend(Protocol):
    """`flow(a, b)` is (H,W,2): pixel (x, y) of a is found at (x + u, y + v) of b.

    `inputs` is the range that a network is given: `signed` [-1,1], as RAFT was trained, or `unit` [0,1], as some programs do.
    """

    def flow(self, a: np.ndarray, b: np.ndarray, inputs: str = "signed") -> np.ndarray: ...

    def lengths(self, frames: np.ndarray) -> np.ndarray:
        """The mean length (n-1,) of the flow from each of the frames (n,H,W,3) to the next."""


class FlowJob:
    """Measures the flow between neighbouring frames of one clip. Only the previous frame is kept."""

    wants = None

    def __init__(self, backend: FlowBackend, max_side: int):
        self.backend, self.max_side = backend, max_side
        self.last: np.ndarray | None = None
        self.magnitude: list[float] = []
        self.indices: list[int] = []
        self.scale = 1.0

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        small = [self._small(frame) for frame in frames]
        known = small if self.last is None else [self.last, *small]
        self.magnitude += (self.backend.lengths(np.stack(known)) / self.scale).tolist()
        self.indices += (np.asarray(indices)[len(indices) + 1 - len(known) :] - 1).tolist()
        self.last = small[-1]

    def finish(self) -> Flow:
        if not self.magnitude:
            raise NotScorable(Reason.TOO_SHORT, "one frame has no motion")
        facts: dict[str, Any] = {"unit": "mean pixels per frame at the video's resolution", "max_side": self.max_side}
        facts["mean_magnitude"] = round(float(np.mean(self.magnitude)), 4)
        return Flow(frame_index=np.array(self.indices), magnitude=np.array(self.magnitude, np.float32), facts=facts)

    def _small(self, frame: np.ndarray) -> np.ndarray:
        self.scale = min(1.0, self.max_side / max(frame.shape[:2]))
        if self.scale == 1.0:
            return frame.copy()
        size = (round(frame.shape[1] * self.scale), round(frame.shape[0] * self.scale))
        return cv2.resize(frame, size, interpolation=cv2.INTER_AREA)


@backend(role="flow", name="dis", title="OpenCV dense inverse search (in place of RAFT)", embedded=True)
class DisFlow(ConfiguredBackend):
    """OpenCV's medium preset."""

    defaults: ClassVar[Options] = {"max_side": 512}

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.search = InverseSearch()

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FlowJob:
        return FlowJob(self, self.settings["max_side"])

    def flow(self, a: np.ndarray, b: np.ndarray, inputs: str = "signed") -> np.ndarray:
        """Flow (H,W,2) float32 from a to b, both uint8 (H,W,3). It compares grey levels, so `inputs` changes nothing."""
        return self.search.flow(a, b)

    def lengths(self, frames: np.ndarray) -> np.ndarray:
        return np.array([np.linalg.norm(self.flow(a, b), axis=-1).mean() for a, b in pairwise(frames)])


class Raft(TorchBackend):
    """RAFT in either size, from a weights file on disk."""

    defaults: ClassVar[Options] = {"path": "", "precision": "auto", "updates": 12, "max_side": 960}
    modules = ("torch", "torchvision")
    on_gpu = "tf32"

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> FlowJob:
        return FlowJob(self, self.settings["max_side"])

    def flow(self, a: np.ndarray, b: np.ndarray, inputs: str = "signed") -> np.ndarray:
        """Flow (H,W,2) float32 from a to b, both uint8 (H,W,3): the last of the network's updates."""
        height, width = a.shape[:2]
        flow = self._between(self._tensor(np.stack([a, b]), inputs))
        return flow[0, :, :height, :width].permute(1, 2, 0).cpu().numpy()

    def lengths(self, frames: np.ndarray) -> np.ndarray:
        """On a GPU all pairs are computed together, and only their lengths are copied back."""
        import torch

        height, width = frames.shape[1:3]
        images = self._tensor(frames, "signed")
        step = len(images) - 1 if kind_of(self.device) == "cuda" else 1  # of pairs
        found = [self._between(images[row : row + step + 1])[..., :height, :width] for row in range(0, len(images) - 1, step)]
        return torch.cat([flow.norm(dim=1).mean((1, 2)) for flow in found]).cpu().numpy() if found else np.empty(0)

    def _between(self, images: torch.Tensor) -> torch.Tensor:
        """The flow (n-1,2,h,w) from each of the images (n,3,h,w) to the next."""
        import torch

        network = _raft_network(self.path, self.weights[0], self.device)

        def compute(first: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return (network(images[first], images[first + 1], num_flow_updates=self.settings["updates"])[-1].float(),)

        with torch.inference_mode(), self.autocast():
            return in_parts(compute, torch.arange(len(images) - 1, device=images.device))[0]

    def _tensor(self, images: np.ndarray, inputs: str) -> torch.Tensor:
        """(n,3,h,w) in the range of `inputs`. The border is repeated to the right and below, up to the size that RAFT needs."""
        import torch
        from torch.nn.functional import pad

        tensor = torch.from_numpy(np.ascontiguousarray(images)).to(self.device).permute(0, 3, 1, 2).float()
        tensor = tensor.div(255) if inputs == "unit" else tensor.div(127.5).sub(1)
        missing = [max(-(-side // RAFT_STEP) * RAFT_STEP, RAFT_MIN_SIDE) - side for side in tensor.shape[2:]]
        return pad(tensor, (0, missing[1], 0, missing[0]), mode="replicate")


@backend(role="flow", name="raft", title="RAFT (torchvision)", embedded=False, weights=("raft-large",))
class RaftLarge(Raft):
    weights = ("raft-large",)


@backend(role="flow", name="raft-small", title="RAFT small (torchvision)", embedded=False, weights=("raft-small",))
class RaftSmall(Raft):
    weights = ("raft-small",)


@loaded_once(2)
def _raft_network(path: Path, weights: str, device: str) -> Any:
    import torch
    from torchvision.models.optical_flow import raft_large, raft_small

    network = (raft_large if weights == "raft-large" else raft_small)(weights=None)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network.eval().requires_grad_(False).to(device)
