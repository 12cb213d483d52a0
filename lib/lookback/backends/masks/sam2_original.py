"""SAM 2 by its authors' own video predictor (`sam2`), from the checkpoints in the form they were released in (.pt).

The predictor wants a whole video on disk. Here it is given one picture at a time as the clip is decoded, and forgets what it no
longer reads, so that neither disk nor memory grows with the clip.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Generator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PIL import Image

from lookback.artifacts import Masks
from lookback.backends.base import BackendOptions
from lookback.backends.masks import grounding
from lookback.backends.masks.prompt import OPTIONS, PromptedJob, PromptedMasks
from lookback.backends.runtime import autocast, checkpoint, usable
from lookback.errors import UsageError
from lookback.media import VideoInfo
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch

WEIGHTS, FILE = "sam2.1-hiera-large-original", "sam2.1_hiera_large.pt"
OBJECT = 1
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's, as the predictor's own loader has them


@backend(
    role="masks",
    name="sam2-original",
    title="SAM 2.1 by its authors' video predictor, from a released .pt checkpoint; prompted as sam2",
    embedded=False,
    weights=(WEIGHTS, grounding.WEIGHTS),
)
class OriginalSam2Masks(PromptedMasks):
    """`config` names one of the package's configurations; empty: the one that belongs to the checkpoint's file name.

    `overrides` are Hydra overrides of that configuration, for a checkpoint that was trained with other sizes.
    """

    defaults: ClassVar[dict[str, Any]] = {**OPTIONS, "config": "", "overrides": []}

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        given = checkpoint(options, WEIGHTS, self.set["path"])
        self.path = given / FILE if given.is_dir() else given
        self.config = self.set["config"] or _config_of(self.path)

    @staticmethod
    def available() -> Availability:
        return usable(WEIGHTS, modules=("torch", "sam2"))

    def predictor(self) -> Any:
        return _predictor(self.path, self.config, tuple(self.set["overrides"]), self.device)

    def job(self, info: VideoInfo, box: np.ndarray | None, name: str) -> _OriginalJob:
        return _OriginalJob(self, info, box, name)


class _OriginalJob(PromptedJob):
    def __init__(self, backend: OriginalSam2Masks, info: VideoInfo, box: np.ndarray | None, name: str):
        super().__init__(backend, info, box, name, "SAM 2 video predictor, box prompt in the first frame")
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
            with torch.inference_mode(), autocast(self.backend.device, self.backend.set["precision"]):
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
        """The predictor's own state for a video of this length, whose pictures come from the decoder."""
        height, width = self.rows.size
        with tempfile.TemporaryDirectory() as folder:  # it opens a folder of pictures, but needs no more than their size
            Image.new("RGB", (width, height)).save(Path(folder) / "0.jpg")
            with contextlib.redirect_stderr(io.StringIO()):
                self.state = predictor.init_state(folder)
        self.state |= {"images": self.picture, "num_frames": self.info.n_frames, "cached_features": {}}
        predictor.add_new_points_or_box(self.state, 0, OBJECT, box=self.prompt_box(frame) / self.rows.scale)
        self.masks = predictor.propagate_in_video(self.state)

    def _forget(self, frame: int) -> None:
        """Drop the outputs that are older than the memory bank; the prompted frame stays."""
        self.state["output_dict_per_obj"][0]["non_cond_frame_outputs"].pop(frame, None)
        self.state["frames_tracked_per_obj"][0].pop(frame, None)


class _Picture:
    """Stands where the predictor expects all pictures of the video: it only ever asks for the one that is shown."""

    def show(self, frame: np.ndarray, side: int) -> None:
        """As the predictor's loader prepares a picture: Pillow's resize to a square, ImageNet's mean and deviation."""
        import torch

        picture = np.asarray(Image.fromarray(frame).resize((side, side)), np.float64) / 255
        self.pixels = torch.from_numpy((picture - MEAN) / DEVIATION).permute(2, 0, 1).float()

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.pixels


def _config_of(path: Path) -> str:
    """The package's configuration for a released file, by the file's name."""
    from sam2.build_sam import HF_MODEL_ID_TO_FILENAMES

    configs = {name: config for config, name in HF_MODEL_ID_TO_FILENAMES.values()}
    if path.name not in configs:
        raise UsageError(
            f"{path}: its name is none of the released checkpoints ({', '.join(sorted(configs))}); "
            "say which it is by the role's `config` option, such as configs/sam2.1/sam2.1_hiera_l.yaml"
        )
    return configs[path.name]


@lru_cache(maxsize=1)
def _predictor(path: Path, config: str, overrides: tuple[str, ...], device: str) -> Any:
    from sam2.build_sam import build_sam2_video_predictor

    try:
        predictor = build_sam2_video_predictor(config, str(path), device, hydra_overrides_extra=list(overrides))
    except Exception as error:  # Hydra, pickle and torch each have their own
        what = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"{path}: cannot be loaded as a SAM 2 checkpoint of {config} ({what[0]}); check `path` and `config`"
        ) from None
    if find_spec("sam2._C") is None:
        predictor.fill_hole_area = 0  # holes of up to 8 pixels are filled by an optional CUDA extension only
    return predictor.requires_grad_(False)
