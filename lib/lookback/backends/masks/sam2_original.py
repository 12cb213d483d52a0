"""SAM 2 with the video predictor of its authors (`sam2`), from the released .pt checkpoints.

The predictor expects a whole video on disk. Here it gets one picture at a time while the clip is decoded, and old outputs are
deleted, so that neither disk nor memory use grows with the clip.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PIL import Image

from lookback.artifacts import Masks
from lookback.backends.base import BackendOptions
from lookback.backends.masks.prompt import DETECTOR_WEIGHTS, OPTIONS, Prompt, PromptedJob, PromptedMasks
from lookback.backends.runtime import Options, loaded_once
from lookback.errors import UsageError
from lookback.media import VideoInfo
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

WEIGHTS, FILE = "sam2.1-hiera-large-original", "sam2.1_hiera_large.pt"
OBJECT = 1
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as in the predictor's own loader


@backend(
    role="masks",
    name="sam2-original",
    title="SAM 2.1 by its authors' video predictor, from a released .pt checkpoint; prompted as sam2",
    embedded=False,
    weights=(WEIGHTS, DETECTOR_WEIGHTS),
)
class OriginalSam2Masks(PromptedMasks):
    """The option `config` names a configuration of the package; without it, the name of the checkpoint file decides.

    `overrides` are Hydra overrides of that configuration, for a checkpoint that was trained with other sizes.
    """

    defaults: ClassVar[Options] = {**OPTIONS, "config": "", "overrides": []}
    weights = (WEIGHTS,)
    modules = ("torch", "sam2")

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        if self.path.is_dir():
            self.path = self.path / FILE
        self.config = self.settings["config"] or _config_of(self.path)

    def predictor(self) -> Any:
        return _predictor(self.path, self.config, tuple(self.settings["overrides"]), self.device)

    def job(self, info: VideoInfo, prompt: Prompt) -> _OriginalJob:
        return _OriginalJob(self, info, prompt)


class _OriginalJob(PromptedJob):
    def __init__(self, backend: OriginalSam2Masks, info: VideoInfo, prompt: Prompt):
        super().__init__(backend, info, prompt, "SAM 2 video predictor")
        self.backend = backend
        self.record["config"] = backend.config
        self.picture = _Picture()
        self.state: dict[str, Any] = {}
        self.masks: Generator[Any, None, None]

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        import torch

        predictor = self.backend.predictor()
        for index, frame in zip(indices, frames, strict=True):
            self.picture.show(frame, predictor.image_size)
            number = len(self.rows)
            with torch.inference_mode(), self.backend.autocast():
                if not self.state:
                    self._prompt(predictor, frame)
                with contextlib.redirect_stderr(io.StringIO()):  # the predictor draws a progress bar
                    _, _, logits = next(self.masks)
            outputs = self.state["output_dict_per_obj"][0]
            output = outputs["cond_frame_outputs"].get(number) or outputs["non_cond_frame_outputs"][number]
            score = float(torch.sigmoid(output["object_score_logits"].float()).reshape(-1)[0])
            self.rows.add(int(index), (logits[0, 0] > 0).cpu().numpy(), score)
            self._forget(number - max(predictor.num_maskmem, predictor.max_obj_ptrs_in_encoder))

    def finish(self) -> Masks:
        if self.state:
            self.masks.close()
        return super().finish()

    def _prompt(self, predictor: Any, frame: np.ndarray) -> None:
        """Start the predictor for a video of this length. The pictures come from the decoder."""
        height, width = self.rows.size
        with tempfile.TemporaryDirectory() as folder:  # the predictor opens a folder of pictures, but uses only their size
            Image.new("RGB", (width, height)).save(Path(folder) / "0.jpg")
            with contextlib.redirect_stderr(io.StringIO()):
                self.state = predictor.init_state(folder)
        self.state |= {"images": self.picture, "num_frames": self.info.n_frames, "cached_features": {}}
        shown = {"box": self.prompt_box(frame) / self.rows.scale}
        if self.point:
            shown = {"points": self.prompt_point(frame)[None] / self.rows.scale[:2], "labels": np.ones(1, np.int32)}
        predictor.add_new_points_or_box(self.state, 0, OBJECT, **shown)
        self.masks = predictor.propagate_in_video(self.state)

    def _forget(self, frame: int) -> None:
        """Delete the outputs that are older than the memory bank. The prompted frame stays."""
        self.state["output_dict_per_obj"][0]["non_cond_frame_outputs"].pop(frame, None)
        self.state["frames_tracked_per_obj"][0].pop(frame, None)


class _Picture:
    """Replaces the list of all pictures that the predictor expects. The predictor only asks for the current one."""

    def show(self, frame: np.ndarray, side: int) -> None:
        """Set the current picture, prepared as in the predictor's loader: resized to a square by Pillow, normalised as ImageNet."""
        import torch

        picture = np.asarray(Image.fromarray(frame).resize((side, side)), np.float64) / 255
        self.pixels = torch.from_numpy((picture - MEAN) / DEVIATION).permute(2, 0, 1).float()

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.pixels


def _config_of(path: Path) -> str:
    """The configuration of the package that belongs to the name of a released file."""
    from sam2.build_sam import HF_MODEL_ID_TO_FILENAMES

    configs = {name: config for config, name in HF_MODEL_ID_TO_FILENAMES.values()}
    if path.name not in configs:
        raise UsageError(
            f"{path}: its name is not one of the released checkpoints ({', '.join(sorted(configs))}); "
            "name its configuration in the role's `config` option, such as configs/sam2.1/sam2.1_hiera_l.yaml"
        )
    return configs[path.name]


@loaded_once(1)
def _predictor(path: Path, config: str, overrides: tuple[str, ...], device: str) -> Any:
    from sam2.build_sam import build_sam2_video_predictor

    try:
        predictor = build_sam2_video_predictor(config, str(path), device, hydra_overrides_extra=list(overrides))
    except Exception as error:  # Hydra, pickle and torch each raise their own types
        what = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"{path}: cannot be loaded as a SAM 2 checkpoint of {config} ({what[0]}); check `path` and `config`"
        ) from None
    if find_spec("sam2._C") is None:
        predictor.fill_hole_area = 0  # only an optional CUDA extension can fill holes of up to 8 pixels
    return predictor.requires_grad_(False)
