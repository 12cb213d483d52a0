"""The image encoders: one vector per picture and one vector per patch."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lookback.backends.features.geometry import IMAGENET, Normalisation
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import TorchBackend, autocast, dtype_of, loaded_once, usable
from lookback.registry import Availability

if TYPE_CHECKING:
    import torch


DINOV2, DINOV3, LITE = "dinov2-base", "dinov3-vitb16", "efficientnet-lite0"
# the name of each family, and the types of checkpoints that belong to it
FAMILIES = {DINOV2: ("DINOv2", "dinov2", "dinov2_with_registers"), DINOV3: ("DINOv3", "dinov3_vit")}


class Encoder(Protocol):
    """Calling it gives the vectors of pictures (n,D) and of patches (n,P,D), float32. `patch` is the side of a patch in pixels."""

    patch: int
    normalisation: Normalisation

    def __call__(self, images: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`images` (n,3,h,w) on the grid; `weight` (n,rows,columns) is 1 where a patch shows the picture, 0 where it is padding."""


class DinoEncoder:
    """DINOv2 or DINOv3 through `transformers`: the CLS token, and the patch tokens without CLS and register tokens."""

    normalisation = IMAGENET

    def __init__(self, weights: str, folder: Path, device: str, precision: str):
        from transformers import AutoModel

        name, *types = FAMILIES[weights]
        (model,) = load_pretrained(folder, name, AutoModel, types=tuple(types))
        self.model = model.to(device, dtype_of(precision))
        self.device, self.precision = device, precision
        self.patch = int(model.config.patch_size)
        self.special = 1 + int(getattr(model.config, "num_register_tokens", 0) or 0)

    def __call__(self, images: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # half precision is that of the weights themselves: faster than autocast, and as close to fp32 in what scores are made of
        with autocast(self.device, self.precision) if self.precision == "tf32" else nullcontext():
            tokens = self.model(pixel_values=images.to(dtype_of(self.precision))).last_hidden_state
        return tokens[:, 0].float(), tokens[:, self.special :].float()


class LiteEncoder:
    """EfficientNet-Lite0: the head's feature map gives patch vectors of 1280 numbers; their weighted mean describes the picture."""

    patch = 32
    normalisation = Normalisation((127 / 255,) * 3, (128 / 255,) * 3)

    def __init__(self, path: Path, device: str, precision: str):
        from lookback.networks.efficientnet_lite0 import load

        self.model = load(path).to(device)
        self.device, self.precision = device, precision

    def __call__(self, images: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        # on a CPU one picture at a time is faster: its layers stay in the cache
        parts = images.split(1) if self.device == "cpu" else (images,)
        with autocast(self.device, self.precision):
            maps = [self.model.feature_map(part.contiguous(memory_format=torch.channels_last)) for part in parts]
        feature_map = torch.cat(maps)
        patches = feature_map.float().flatten(2).transpose(1, 2)
        share = weight.flatten(1).to(patches)
        pooled = (patches * share[:, :, None]).sum(1) / share.sum(1, keepdim=True).clamp_min(1e-6)
        return pooled, patches


class EncoderBackend(TorchBackend):
    """A backend that runs an encoder. The encoder is loaded when the first frame arrives."""

    on_gpu = "fp16"  # of DINO; the scores of EfficientNet leave the tolerance in it

    @classmethod
    def available(cls) -> Availability:
        return usable(*cls.weights, modules=("torch",) if cls.weights == (LITE,) else ("torch", "transformers"))

    @property
    def encoder(self) -> Encoder:
        return _encoder(self.weights[0], self.path, self.device, self.precision)


@loaded_once(4)
def _encoder(weights: str, path: Path, device: str, precision: str) -> Encoder:
    """One instance per process, shared by the roles features, object_features and person_features."""
    return LiteEncoder(path, device, precision) if weights == LITE else DinoEncoder(weights, path, device, precision)
