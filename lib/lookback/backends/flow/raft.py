"""MemoBench's flow: RAFT (Teed and Deng 2020) in torchvision, from a weights file on disk."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lookback.backends.base import BackendOptions
from lookback.backends.flow.job import FlowRole
from lookback.backends.runtime import autocast, checkpoint, settings, torch_device, usable
from lookback.registry import Availability, backend

OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32", "updates": 12, "max_side": 960}
GRID, LEAST = 8, 128  # RAFT needs sides of whole eighths and at least this long


class Raft(FlowRole):
    """Either size of the network."""

    weights: ClassVar[str]

    def __init__(self, options: BackendOptions):
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, self.weights, self.set["path"])

    @classmethod
    def available(cls) -> Availability:
        return usable(cls.weights, modules=("torch", "torchvision"))

    def flow(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Flow (H,W,2) float32 from a to b, both uint8 (H,W,3): the last of the network's updates."""
        import torch

        network = _network(self.path, self.weights, self.device)
        height, width = a.shape[:2]
        first, second = self._tensor(a), self._tensor(b)
        with torch.inference_mode(), autocast(self.device, self.set["precision"]):
            flow = network(first, second, num_flow_updates=self.set["updates"])[-1]
        return flow[0, :, :height, :width].permute(1, 2, 0).float().cpu().numpy()

    def _tensor(self, image: np.ndarray) -> Any:
        """(1,3,h,w) in [-1,1], the border repeated right and below up to the grid."""
        import torch
        from torch.nn.functional import pad

        tensor = torch.from_numpy(np.ascontiguousarray(image)).to(self.device).permute(2, 0, 1)[None].float().div(127.5).sub(1)
        missing = [max(-(-side // GRID) * GRID, LEAST) - side for side in tensor.shape[2:]]
        return pad(tensor, (0, missing[1], 0, missing[0]), mode="replicate")


@lru_cache(maxsize=2)
def _network(path: Path, weights: str, device: str) -> Any:
    import torch
    from torchvision.models.optical_flow import raft_large, raft_small

    network = (raft_large if weights == "raft-large" else raft_small)(weights=None)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network.eval().requires_grad_(False).to(device)


@backend(role="flow", name="raft", title="RAFT (torchvision)", embedded=False, weights=("raft-large",))
class RaftLarge(Raft):
    weights = "raft-large"


@backend(role="flow", name="raft-small", title="RAFT small (torchvision)", embedded=False, weights=("raft-small",))
class RaftSmall(Raft):
    weights = "raft-small"
