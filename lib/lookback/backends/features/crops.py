"""The roles `object_features` and `person_features`: one vector per masked crop.

A crop is the bounding box of a mask. Pixels outside the mask get the encoder's mean colour, which is zero after normalising. The
crop is scaled onto a square canvas with its proportions kept. MBench eq. 5 (object texture) and section 4.2.2 (human appearance).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks, ObjectFeatures, People, PersonFeatures
from lookback.backends.features.encoders import DINOV2, DINOV3, LITE, EncoderBackend
from lookback.backends.features.geometry import Grid, on_grid
from lookback.backends.runtime import FrameBatches, Options, check_finite
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo, sample_uniform
from lookback.registry import backend

if TYPE_CHECKING:
    import torch

SIDE = 224  # of the square canvas: the size that the encoders were trained on
MAX_CROPS = 32  # MBench samples as many frames for its human tracks
MIN_SIDE = 8  # an encoder cannot describe smaller boxes


class CropFeatures(EncoderBackend):
    """Features of the crops that the masks of another role define."""

    defaults: ClassVar[Options] = {"path": "", "precision": "auto"}
    max_crops: ClassVar[int | None] = None  # per clip; more are thinned out evenly

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> CropJob:
        masks = artifacts[self.requires[0]]
        assert isinstance(masks, Masks)
        return CropJob(self, masks, info)

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> Artifact:
        """The artifact with the vectors of the crops at these rows of the masks."""
        raise NotImplementedError


class ObjectCrops(CropFeatures):
    """The anchored or named object, in frames spread evenly over those where it is in view."""

    requires = (Masks.role,)
    max_crops = MAX_CROPS

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> ObjectFeatures:
        return ObjectFeatures(frame=masks.frame_index[rows], vector=vectors, facts=facts)


class PersonCrops(CropFeatures):
    """Every person that was found, with the number of the track."""

    requires = (People.role,)

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> PersonFeatures:
        assert isinstance(masks, People)
        return PersonFeatures(frame=masks.frame_index[rows], vector=vectors, track=masks.track[rows], facts=facts)


class CropJob:
    """Cuts out and encodes the crops of one clip."""

    def __init__(self, backend: CropFeatures, masks: Masks, info: VideoInfo):
        self.backend, self.masks = backend, masks
        visible = masks.large_rows(info.height, info.width, MIN_SIDE)
        if not len(visible):
            raise NotScorable(Reason.NO_MASK, "the masks show nothing in any frame")
        if backend.max_crops is not None:
            visible = visible[sample_uniform(len(visible), backend.max_crops)]
        self.rows = visible[np.argsort(masks.frame_index[visible], kind="stable")]
        self.wants = np.unique(masks.frame_index[self.rows])
        self.batches = FrameBatches(backend.device, backend.options.batch_size, len(self.rows), self._compute)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        for index, frame in zip(indices, frames, strict=True):
            for row in self.rows[self.masks.frame_index[self.rows] == index]:
                canvas = cut_out(frame, self.masks.resized(int(row), frame.shape[:2]), self.backend.encoder.normalisation.mean)
                self.batches.push(np.array([row]), canvas[None])

    def finish(self) -> Artifact:
        rows, (vectors,) = self.batches.finish()
        check_finite(vectors, self.backend.precision)
        facts = {"n_crops": len(rows), "side": SIDE, "precision": self.backend.precision}
        return self.backend.artifact(self.masks, rows, vectors, facts)

    def _compute(self, canvases: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The vectors of canvases. The fourth channel of a canvas is the mask, which marks the patches that show the object."""
        from torch.nn.functional import max_pool2d

        model = self.backend.encoder
        grid = Grid.of(SIDE, SIDE, model.patch, SIDE, square=True)
        weight = max_pool2d(canvases[..., 3].float(), model.patch) > 0
        cls, _ = model(on_grid(canvases[..., :3], grid, model.normalisation), weight)
        return (cls,)


def cut_out(frame: np.ndarray, mask: np.ndarray, colour: tuple[float, float, float]) -> np.ndarray:
    """uint8 (SIDE,SIDE,4): the masked box, centred on a background of this colour, with its mask as the fourth channel."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    fill = np.rint(np.array(colour) * 255).astype(np.uint8)
    crop = np.where(mask[box][..., None], frame[box], fill)
    scale = SIDE / max(crop.shape[:2])
    height, width = (max(1, round(side * scale)) for side in crop.shape[:2])
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    canvas = np.empty((SIDE, SIDE, 4), np.uint8)
    canvas[..., :3], canvas[..., 3] = fill, 0
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    canvas[top : top + height, left : left + width, :3] = cv2.resize(crop, (width, height), interpolation=method)
    small = cv2.resize(mask[box].astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    canvas[top : top + height, left : left + width, 3] = small
    return canvas


@backend(role="object_features", name="dinov2", title="DINOv2 ViT-B/14 of the masked object", weights=(DINOV2,), embedded=False)
class Dinov2Objects(ObjectCrops):
    weights = (DINOV2,)


@backend(role="object_features", name="dinov3", title="DINOv3 ViT-B/16 of the masked object", weights=(DINOV3,), embedded=False)
class Dinov3Objects(ObjectCrops):
    weights = (DINOV3,)


@backend(
    role="object_features",
    name=LITE,
    title="EfficientNet-Lite0 of the masked object, in place of DINO",
    weights=(LITE,),
    embedded=True,
)
class LiteObjects(ObjectCrops):
    weights = (LITE,)
    on_gpu = "fp32"


@backend(role="person_features", name="dinov2", title="DINOv2 ViT-B/14 of each masked person", weights=(DINOV2,), embedded=False)
class Dinov2People(PersonCrops):
    weights = (DINOV2,)


@backend(role="person_features", name="dinov3", title="DINOv3 ViT-B/16 of each masked person", weights=(DINOV3,), embedded=False)
class Dinov3People(PersonCrops):
    weights = (DINOV3,)


@backend(
    role="person_features",
    name=LITE,
    title="EfficientNet-Lite0 of each masked person, in place of DINO",
    weights=(LITE,),
    embedded=True,
)
class LitePeople(PersonCrops):
    weights = (LITE,)
    on_gpu = "fp32"
