"""MBench's text interaction: OpenCLIP image and text features (eq. 15). There is no embedded stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, TextImageFeatures
from lookback.backends.base import BackendOptions
from lookback.backends.runtime import FrameBatches, autocast, checkpoint, settings, torch_device, usable
from lookback.clips import Clip
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.media import VideoInfo, sample_segments
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch

OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32", "frames_per_segment": 8}
WEIGHTS = "openclip-vit-b-32"


@backend(role="clip", name="open_clip", title="OpenCLIP ViT-B/32 (LAION-2B)", embedded=False, weights=(WEIGHTS,))
class OpenClip:
    """Loads a folder in the hub's layout: open_clip_config.json and open_clip_model.safetensors."""

    requires: ClassVar[tuple[str, ...]] = ()

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, WEIGHTS, self.set["path"])

    @staticmethod
    def available() -> Availability:
        return usable(WEIGHTS, modules=("torch", "open_clip"), install="open_clip_torch")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _ClipJob:
        texts = clip.caption_segments or ([clip.prompt] if clip.prompt else [])
        if not texts:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has neither caption segments nor a prompt")
        return _ClipJob(self, texts, sample_segments(info.n_frames, len(texts), self.set["frames_per_segment"]))

    def images(self, frames: torch.Tensor) -> torch.Tensor:
        """Unit features (n,D) of frames uint8 (n,H,W,3), through the checkpoint's own preprocessing."""
        import torch
        from PIL import Image

        model, preprocess, _ = _model(self.path, self.device)
        pictures = torch.stack([preprocess(Image.fromarray(frame)) for frame in frames.cpu().numpy()]).to(self.device)
        with torch.inference_mode(), autocast(self.device, self.set["precision"]):
            return torch.nn.functional.normalize(model.encode_image(pictures).float(), dim=-1)

    def texts(self, texts: list[str]) -> np.ndarray:
        """Unit features (M,D) of texts; what is longer than the model's context is cut."""
        import torch

        model, _, tokenizer = _model(self.path, self.device)
        with torch.inference_mode(), autocast(self.device, self.set["precision"]):
            features = model.encode_text(tokenizer(texts).to(self.device))
        return torch.nn.functional.normalize(features.float(), dim=-1).cpu().numpy()


class _ClipJob:
    """N frames of each of M caption segments, and the M texts."""

    def __init__(self, backend: OpenClip, texts: list[str], segments: list[np.ndarray]):
        self.backend, self.captions = backend, texts
        self.wants = np.concatenate(segments)
        self.segment = np.repeat(np.arange(len(segments)), [len(frames) for frames in segments])
        self.batches = FrameBatches(
            backend.device, backend.options.batch_size, len(self.wants), lambda frames: (backend.images(frames),)
        )

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.batches.push(indices, frames)

    def finish(self) -> TextImageFeatures:
        indices, (images,) = self.batches.finish()
        facts = {"n_segments": len(self.captions), "frames_per_segment": self.backend.set["frames_per_segment"]}
        texts = self.backend.texts(self.captions)
        return TextImageFeatures(frame_index=indices, image=images, segment=self.segment, text=texts, facts=facts)


@lru_cache(maxsize=1)
def _model(path: Path, device: str) -> tuple[Any, Any, Any]:
    import open_clip

    name = f"local-dir:{path}"
    try:
        model, preprocess = open_clip.create_model_from_pretrained(name, device=device)
        tokenizer = open_clip.get_tokenizer(name)
    except (OSError, ValueError, RuntimeError) as error:
        raise BackendUnavailable(f"{path} holds no checkpoint that open_clip can load: {error}") from None
    return model.eval().requires_grad_(False), preprocess, tokenizer
