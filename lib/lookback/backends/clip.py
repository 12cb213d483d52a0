"""The role `clip`: OpenCLIP features of frames and captions, for MBench's text interaction (eq. 15). No backend is embedded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lookback.artifacts import Artifact, TextImageFeatures
from lookback.backends.runtime import FrameBatches, Options, TorchBackend, loaded_once
from lookback.clips import Clip
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.media import VideoInfo, sample_segments
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

WEIGHTS = "openclip-vit-b-32"


@backend(role="clip", name="open_clip", title="OpenCLIP ViT-B/32 (LAION-2B)", embedded=False, weights=(WEIGHTS,))
class OpenClip(TorchBackend):
    """Loads a folder as the model hub has it: open_clip_config.json and open_clip_model.safetensors."""

    defaults: ClassVar[Options] = {"path": "", "precision": "fp32", "frames_per_segment": 8}
    weights = (WEIGHTS,)
    modules = ("torch", "open_clip")

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _ClipJob:
        texts = clip.caption_segments or ([clip.prompt] if clip.prompt else [])
        if not texts:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has neither caption segments nor a prompt")
        return _ClipJob(self, texts, sample_segments(info.n_frames, len(texts), self.settings["frames_per_segment"]))

    def images(self, frames: torch.Tensor) -> torch.Tensor:
        """Features (n,D) of length 1 of frames uint8 (n,H,W,3), after the preprocessing that the checkpoint prescribes."""
        import torch
        from PIL import Image

        model, preprocess, _ = _model(self.path, self.device)
        pictures = torch.stack([preprocess(Image.fromarray(frame)) for frame in frames.cpu().numpy()]).to(self.device)
        with torch.inference_mode(), self.autocast():
            return torch.nn.functional.normalize(model.encode_image(pictures).float(), dim=-1)

    def texts(self, texts: list[str]) -> np.ndarray:
        """Features (M,D) of length 1 of texts. A text that is longer than the model's context is cut."""
        import torch

        model, _, tokenizer = _model(self.path, self.device)
        with torch.inference_mode(), self.autocast():
            features = model.encode_text(tokenizer(texts).to(self.device))
        return torch.nn.functional.normalize(features.float(), dim=-1).cpu().numpy()


class _ClipJob:
    """Encodes N frames of each of M caption segments, and the M texts."""

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
        facts = {"n_segments": len(self.captions), "frames_per_segment": self.backend.settings["frames_per_segment"]}
        texts = self.backend.texts(self.captions)
        return TextImageFeatures(frame_index=indices, image=images, segment=self.segment, text=texts, facts=facts)


@loaded_once(1)
def _model(path: Path, device: str) -> tuple[Any, Any, Any]:
    import open_clip

    name = f"local-dir:{path}"
    try:
        model, preprocess = open_clip.create_model_from_pretrained(name, device=device)
        tokenizer = open_clip.get_tokenizer(name)
    except (OSError, ValueError, RuntimeError) as error:
        raise BackendUnavailable(f"{path} holds no checkpoint that open_clip can load: {error}") from None
    return model.eval().requires_grad_(False), preprocess, tokenizer
