"""The role `aesthetic`: LAION's aesthetic scores of frames, from a head on the image features of OpenAI's CLIP ViT-L/14.

LAION released two heads that the benchmarks use: `linear` (sa_0_4_vit_l_14_linear, MIND) and `mlp` (sac+logos+ava1-l14-linearMSE,
MemoBench). Both are chains of affine layers: the MLP has dropout but no activation. No backend is embedded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from lookback.artifacts import Artifact
from lookback.backends.base import BackendOptions
from lookback.backends.features.geometry import Normalisation
from lookback.backends.perceptual.loading import torch_state
from lookback.backends.pretrained import load_pretrained
from lookback.backends.runtime import Options, TorchBackend, checkpoint, loaded_once
from lookback.clips import Clip
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

CLIP, HEADS = "clip-vit-large-patch14", "laion-aesthetic"
FILES = {"linear": "sa_0_4_vit_l_14_linear.pth", "mlp": "sac+logos+ava1-l14-linearMSE.pth"}
NORMALISATION = Normalisation((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))


@backend(
    role="aesthetic",
    name="laion",
    title="LAION aesthetic heads (linear, MLP) on CLIP ViT-L/14",
    embedded=False,
    weights=(CLIP, HEADS),
)
class LaionAesthetic(TorchBackend):
    """Loads CLIP from a folder as the model hub has it, and the heads from a folder with LAION's two files."""

    defaults: ClassVar[Options] = {"path": "", "heads_path": "", "precision": "fp32"}
    weights = (CLIP, HEADS)
    modules = ("torchvision", "transformers")

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.heads = checkpoint(options, HEADS, self.settings["heads_path"])

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> NoReturn:
        raise NotScorable(Reason.NOT_APPLICABLE, "metrics ask for aesthetic scores of frames of their own; nothing is extracted")

    def scores(self, frames: np.ndarray, head: str = "linear", antialias: bool = False) -> np.ndarray:
        """Scores (n,) float32, about 1 to 10, of frames (n,H,W,3), uint8 or float in [0,1].

        The shorter side becomes the network's (224 pixels, bicubic), then the centre is cropped. `antialias` resizes in 8 bits with
        an antialias, as CLIP's own preparation of pictures does; without it the pixels are resized as floats, as MIND does.
        """
        import torch

        layers = _layers(self.heads / FILES[head], self.device)
        model = _vision(self.path, self.device)
        found = []
        with torch.inference_mode():
            for start in range(0, len(frames), self.options.batch_size):
                images = _shaped(frames[start : start + self.options.batch_size], int(model.config.image_size), antialias)
                with self.autocast():
                    features = model(pixel_values=images.to(self.device)).image_embeds
                values = torch.nn.functional.normalize(features.float(), dim=-1)
                for weight, bias in layers:
                    values = values @ weight.T + bias
                found.append(values[:, 0].cpu().numpy())
        return np.concatenate(found)


def _shaped(frames: np.ndarray, side: int, antialias: bool) -> torch.Tensor:
    """Normalised (n,3,side,side) of frames (n,H,W,3)."""
    import torch
    from PIL import Image
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as transform

    whole = frames if frames.dtype == np.uint8 else frames.astype(np.float32)
    if antialias:
        bytes_ = whole if whole.dtype == np.uint8 else np.rint(whole * 255).astype(np.uint8)
        pictures = [transform.resize(Image.fromarray(frame), [side], InterpolationMode.BICUBIC) for frame in bytes_]
        images = torch.stack([transform.to_tensor(transform.center_crop(picture, [side])) for picture in pictures])
    else:
        pixels = torch.from_numpy(np.ascontiguousarray(whole)).permute(0, 3, 1, 2).float()
        pixels = pixels / 255 if whole.dtype == np.uint8 else pixels
        images = transform.center_crop(transform.resize(pixels, [side], InterpolationMode.BICUBIC, antialias=False), [side])
    return transform.normalize(images, list(NORMALISATION.mean), list(NORMALISATION.std))


@loaded_once(1)
def _vision(folder: Path, device: str) -> Any:
    """The image half of CLIP with its projection."""
    from transformers import CLIPVisionModelWithProjection

    (model,) = load_pretrained(folder, "CLIP", CLIPVisionModelWithProjection)
    return model.to(device)


@loaded_once(2)
def _layers(path: Path, device: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """(weight, bias) of every layer of a head, in the order of their numbers."""
    if not path.is_file():
        raise BackendUnavailable(f"{path}: there is no such head", "Put LAION's file there, or correct heads_path")
    state = torch_state(path)
    names = sorted((name.removesuffix("weight") for name in state if name.endswith("weight")), key=_number)
    if not names or any(f"{name}bias" not in state for name in names):
        raise BackendUnavailable(f"{path} is no head of linear layers; take LAION's file again")
    return [(state[f"{name}weight"].float().to(device), state[f"{name}bias"].float().to(device)) for name in names]


def _number(name: str) -> int:
    found = re.findall(r"[0-9]+", name)
    return int(found[-1]) if found else 0
