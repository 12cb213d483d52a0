"""The roles `object_features` and `person_features`: the encoder's vector of each masked crop.

A crop is the mask's bounding box; everything outside the mask gets the encoder's mean colour, which is zero after normalising. The
crop is scaled into a square canvas with its proportions kept. MBench eq. 5 (object texture) and section 4.2.2 (human appearance).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks, ObjectFeatures, People, PersonFeatures
from lookback.backends.base import BackendOptions
from lookback.backends.features.encoders import EMBEDDED, LITE, PAPER, Encoder, encoder, encoder_available
from lookback.backends.features.geometry import Grid, on_grid
from lookback.backends.runtime import FrameBatches, checkpoint, settings, torch_device
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo, sample_uniform
from lookback.registry import Availability, backend

if TYPE_CHECKING:
    import torch

SIDE = 224  # the side of a crop's canvas: the encoders' training size
MAX_ROWS = 32  # as many as MBench samples frames for its human tracks
MIN_SIDE = 8  # smaller boxes hold nothing that an encoder could describe
OPTIONS: dict[str, Any] = {"path": "", "precision": "fp32"}


class CropFeatures:
    """Features of the crops that another role's masks cut out."""

    requires: ClassVar[tuple[str, ...]]
    weights: ClassVar[str]
    most: ClassVar[int | None] = None  # crops of a clip, spread evenly over those there are

    def __init__(self, options: BackendOptions):
        self.options = options
        self.set = settings(options, OPTIONS)
        self.device = torch_device(options)
        self.path = checkpoint(options, self.weights, self.set["path"])

    @classmethod
    def available(cls) -> Availability:
        return encoder_available(cls.weights)

    @property
    def encoder(self) -> Encoder:
        return encoder(self.weights, self.path, self.device, self.set["precision"])

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> CropJob:
        masks = self.masks_among(artifacts)
        if masks is None:
            raise NotScorable(Reason.NO_MASK, f"there is no artifact of the role '{self.requires[0]}' for this clip")
        return CropJob(self, masks, info)

    def masks_among(self, artifacts: Mapping[str, Artifact]) -> Masks | None:
        raise NotImplementedError

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> Artifact:
        """The artifact of the crops that these rows of the masks cut out."""
        raise NotImplementedError


class ObjectCrops(CropFeatures):
    """The anchored or named object, on frames spread evenly over those where it is in view."""

    requires: ClassVar[tuple[str, ...]] = (Masks.role,)
    most = MAX_ROWS

    def masks_among(self, artifacts: Mapping[str, Artifact]) -> Masks | None:
        return Masks.among(artifacts)

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> ObjectFeatures:
        return ObjectFeatures(frame=masks.frame_index[rows], vector=vectors, facts=facts)


class PersonCrops(CropFeatures):
    """Every person found, with the track of each."""

    requires: ClassVar[tuple[str, ...]] = (People.role,)

    def masks_among(self, artifacts: Mapping[str, Artifact]) -> People | None:
        return People.among(artifacts)

    def artifact(self, masks: Masks, rows: np.ndarray, vectors: np.ndarray, facts: dict[str, Any]) -> PersonFeatures:
        assert isinstance(masks, People)
        return PersonFeatures(frame=masks.frame_index[rows], vector=vectors, track=masks.track[rows], facts=facts)


class CropJob:
    """One clip's crops."""

    def __init__(self, backend: CropFeatures, masks: Masks, info: VideoInfo):
        self.backend, self.masks = backend, masks
        visible = masks.large_rows(info.height, info.width, MIN_SIDE)
        if not len(visible):
            raise NotScorable(Reason.NO_MASK, "the masks show nothing in any frame")
        if backend.most is not None:
            visible = visible[sample_uniform(len(visible), backend.most)]
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
        facts = {"n_crops": len(rows), "side": SIDE, "precision": self.backend.set["precision"]}
        return self.backend.artifact(self.masks, rows, vectors, facts)

    def _compute(self, canvases: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The fourth channel of a canvas is the mask: it says which patches show the object."""
        from torch.nn.functional import max_pool2d

        model = self.backend.encoder
        grid = Grid.of(SIDE, SIDE, model.patch, SIDE, square=True)
        weight = max_pool2d(canvases[..., 3].float(), model.patch) > 0
        cls, _ = model(on_grid(canvases[..., :3], grid, model.normalisation), weight)
        return (cls,)


def cut_out(frame: np.ndarray, mask: np.ndarray, colour: tuple[float, float, float]) -> np.ndarray:
    """uint8 (SIDE,SIDE,4): the masked box on the given colour, centred, proportions kept, and its mask as the fourth channel."""
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


@backend(role="object_features", name="dinov2", title="DINOv2 ViT-B/14 of the masked object", weights=("dinov2-base",), **PAPER)
class Dinov2Objects(ObjectCrops):
    weights = "dinov2-base"


@backend(role="object_features", name="dinov3", title="DINOv3 ViT-B/16 of the masked object", weights=("dinov3-vitb16",), **PAPER)
class Dinov3Objects(ObjectCrops):
    weights = "dinov3-vitb16"


@backend(
    role="object_features",
    name=LITE,
    title="EfficientNet-Lite0 of the masked object, in place of DINO",
    weights=(LITE,),
    **EMBEDDED,
)
class LiteObjects(ObjectCrops):
    weights = LITE


@backend(role="person_features", name="dinov2", title="DINOv2 ViT-B/14 of each masked person", weights=("dinov2-base",), **PAPER)
class Dinov2People(PersonCrops):
    weights = "dinov2-base"


@backend(role="person_features", name="dinov3", title="DINOv3 ViT-B/16 of each masked person", weights=("dinov3-vitb16",), **PAPER)
class Dinov3People(PersonCrops):
    weights = "dinov3-vitb16"


@backend(
    role="person_features",
    name=LITE,
    title="EfficientNet-Lite0 of each masked person, in place of DINO",
    weights=(LITE,),
    **EMBEDDED,
)
class LitePeople(PersonCrops):
    weights = LITE
