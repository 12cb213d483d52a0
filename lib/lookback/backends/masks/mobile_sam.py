"""The backend `mobile-sam` of the role `masks`: MobileSAM cuts the object out of key frames, and tracking fills the frames between.

The object counts as in view only as long as it is identified: at every key frame the look of what is cut out (EfficientNet features
and colours) is compared with the first view and the latest confirmed one. After an absence, a find counts only when it looks like
the object. Otherwise the state is not known, with a reason:

- `lost`: tracking lost the object inside the picture, and the picture has not been searched since
- `not_identified`: something was followed or found that cannot be told apart from another object
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.artifacts.masks import bounds
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.classical.cutting import BandCut
from lookback.backends.masks.classical.tracker import Frame, ObjectTracker
from lookback.backends.masks.identity import LITE, Identity, Look, alike
from lookback.backends.masks.prompt import anchor_box
from lookback.backends.masks.segmenter import MODULES, WEIGHTS, Cut, Segmenter, box_of, objects, overlap
from lookback.backends.runtime import ConfiguredBackend, Options, checkpoint, torch_device
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

LOST, NOT_IDENTIFIED = "lost", "not_identified"
CLOSEST_KEYS = 8  # frames
SHAKY = 0.8  # confidence of tracking below which the next key frame comes early
RESCUES = 6  # network calls where tracking lost the object inside the picture
PADDING = 0.05  # share of its size by which the box of a followed mask grows as a prompt
FOLLOWED = 0.4  # overlap of the network's mask with the followed one, from which it replaces it
FOUND = 0.25  # the same for a find after an absence
LEAST_OF_BOX = 0.1  # share of the prompt's box that a mask must fill
# The evidence is mostly the cosine of the features: on the real clips the same object has 0.5 to 0.85 with its first view, the most
# similar of about ten other objects of a frame 0.4 to 0.58. Colours separate less: dark objects all look alike.
SAME = 0.6  # evidence needed for something that was found anywhere in the picture
SAME_PLACE = 0.5  # and for something at the place, or with the features, of the object
STILL = 0.4  # and while the object is followed
UNSURE = 0.1  # a find that lacks at most this much evidence is in doubt; with less it is something else
COLOUR_WEIGHT = 0.1
SIZES = (0.1, 8.0)  # area of a find, as a factor of the object's
SEARCH_GRID = (5, 8)  # points down and across
METHOD = "MobileSAM at key frames, dense inverse search between them, identity by EfficientNet-Lite0 and colours"


@backend(
    role="masks",
    name="mobile-sam",
    title="MobileSAM at key frames, tracking between them, identity checked (in place of SAM 2)",
    embedded=True,
    weights=(WEIGHTS, LITE),
)
class MobileSamMasks(ConfiguredBackend):
    """The prompt is the object anchor of the clip."""

    defaults: ClassVar[Options] = {"key_frames": 5, "searches": 2}
    weights = (WEIGHTS, LITE)
    modules = MODULES

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _MobileSamJob:
        box = anchor_box(clip, info)
        if box is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no object_anchor, so the object to follow is not known")
        return _MobileSamJob(self, info, box)


class _MobileSamJob:
    wants: np.ndarray | None = None

    def __init__(self, backend: MobileSamMasks, info: VideoInfo, box: np.ndarray):
        device = torch_device(backend.options)
        segmenter = Segmenter(checkpoint(backend.options, WEIGHTS), device)
        identity = Identity(checkpoint(backend.options, LITE), device)
        self.rows = MaskRows(info)
        stride = max(CLOSEST_KEYS, -(-info.n_frames // max(1, backend.settings["key_frames"])))
        self.tracker = IdentityTracker(self.rows, box, backend.options.seed, segmenter, identity)
        self.tracker.stride, self.tracker.searches_left = stride, backend.settings["searches"]

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        height, width = self.rows.size
        for index, frame in zip(indices, frames, strict=True):
            self.tracker.full = frame
            self.tracker.push(int(index), cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA))

    def finish(self) -> Masks:
        tracker = self.tracker
        notes = {"lost": tracker.n_lost, "found_again": tracker.n_found, "frames_without_motion": tracker.blind}
        return self.rows.finish({"prompt": "object anchor", "method": METHOD, "network_calls": tracker.calls, **notes})


class IdentityTracker(ObjectTracker):
    """Follows the object as the classical tracker does, and asks the network at key frames, on finds and after a loss."""

    stride = 16
    searches_left = 2
    full: np.ndarray

    def __init__(self, rows: MaskRows, box: np.ndarray, seed: int, segmenter: Segmenter, identity: Identity):
        super().__init__(rows, box / rows.scale, seed)
        self.segmenter, self.identity = segmenter, identity
        self.looks: list[Look] = []  # the first view, and the latest confirmed one
        self.sure_row = self.key_row = 0  # the latest row with confirmed identity; the latest key frame
        self.next_check = 0  # no find is checked before this row
        self.rescues_left = RESCUES
        self.doubt = ""  # why it is not known whether the object is in view; empty when it is
        self.calls = 0

    def push(self, index: int, image: np.ndarray) -> None:
        super().push(index, image)
        row = len(self.rows) - 1
        if not self.mask.any() and self.doubt:
            self.rows.doubts[row] = self.doubt

    def first_mask(self, frame: Frame) -> np.ndarray:
        cut = self._cut(self.box * self.rows.scale)
        inside = np.prod(self.box[2:] - self.box[:2])
        mask = cut.mask if cut.mask.sum() >= LEAST_OF_BOX * inside else super().first_mask(frame)
        self.rows.identity[0] = 1.0
        first = self._look(mask)
        self.looks = [] if first is None else [first]
        return mask

    def checked(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """At a key frame the network's mask replaces the followed one. When it is not the object, the frames since are in doubt."""
        nothing = np.zeros_like(mask)
        if not mask.any():
            return (nothing, 0.0) if self._was_leaving() else self._rescued(frame)
        if frame.row < self.key_row + (CLOSEST_KEYS if confidence < SHAKY else self.stride):
            return mask, confidence
        self.key_row = frame.row
        cut = self._cut(self._prompt(mask), mask)
        agrees = overlap(cut.mask, mask)
        if agrees >= FOLLOWED:
            mask, self.cut = cut.mask, BandCut(self.seed)
        evidence, look = self._evidence(mask)
        self.rows.identity[frame.row] = evidence
        if evidence >= STILL or (self._at_border(mask) and agrees >= FOLLOWED):
            if look is not None and not self._at_border(mask):
                self.looks = [self.looks[0], look] if self.looks else [look]
            self.sure_row = frame.row
            return mask, min(confidence, self._confidence(evidence, cut))
        for row in range(self.sure_row + 1, frame.row):
            self.rows.replace(row, nothing, 0.0)
            self.rows.doubts[row] = NOT_IDENTIFIED
        self.doubt = NOT_IDENTIFIED
        return nothing, 0.0

    def _rescued(self, frame: Frame) -> tuple[np.ndarray, float]:
        """Tracking lost the object inside the picture: look for it once more where it was."""
        self.doubt = LOST
        if self.rescues_left:
            self.rescues_left -= 1
            cut = self._cut(self._prompt(self.mask), self.mask)
            if cut.mask.any() and overlap(cut.mask, self.mask) > 0:
                return self._accept(frame, cut.mask, 1.0, cut, SAME_PLACE)
        return np.zeros(self.rows.size, bool), 0.0

    def confirmed(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """A find counts when the network cuts it out there and it looks like the object; else it is in doubt."""
        nothing = np.zeros_like(mask)
        if frame.row < self.next_check:
            return nothing, 0.0
        if not mask.any():
            return self._searched(frame)
        self.next_check = frame.row + CLOSEST_KEYS
        cut = self._cut(self._prompt(mask), mask)
        if overlap(cut.mask, mask) >= FOUND:
            mask = cut.mask
        return self._accept(frame, mask, confidence, cut, SAME if self.by_colours else SAME_PLACE)

    def _searched(self, frame: Frame) -> tuple[np.ndarray, float]:
        """Some time after the object was lost inside the picture, the whole picture is searched for it."""
        nothing = np.zeros(self.rows.size, bool)
        if not self.doubt or frame.row < self.key_row + self.stride or self.searches_left < 1 or not self.looks:
            return nothing, 0.0
        self.key_row, self.searches_left, self.calls = frame.row, self.searches_left - 1, self.calls + 1
        areas = [factor * self.looks[-1].area for factor in SIZES]
        best, most = None, 0.0
        for cut in objects(self.segmenter, self.full, self.rows.size, SEARCH_GRID):
            if areas[0] <= cut.mask.mean() <= areas[1]:
                evidence, _ = self._evidence(cut.mask)
                if evidence > most:
                    best, most = cut, evidence
        if best is None or most < SAME_PLACE:
            self.doubt = ""
            return nothing, 0.0
        self.by_colours, self.entering, self.found_score = False, None, 1.0
        return self._accept(frame, best.mask, 1.0, best, SAME)

    def _accept(self, frame: Frame, mask: np.ndarray, confidence: float, cut: Cut, least: float) -> tuple[np.ndarray, float]:
        evidence, _ = self._evidence(mask)
        self.rows.identity[frame.row] = evidence
        if evidence < least:
            self.doubt = NOT_IDENTIFIED if evidence >= least - UNSURE else self.doubt
            return np.zeros_like(mask), 0.0
        self.doubt = ""
        self.cut, self.key_row, self.sure_row = BandCut(self.seed), frame.row, frame.row
        return mask, min(max(confidence, 0.5), self._confidence(evidence, cut))

    def _cut(self, box: np.ndarray, mask: np.ndarray | None = None) -> Cut:
        """The network's mask for a box, and for the innermost point of a followed mask."""
        self.calls += 1
        point = None if mask is None else _deepest(mask)[None] * self.rows.scale[:2]
        return self.segmenter.in_boxes(self.full, box[None], self.rows.size, point)[0]

    def _prompt(self, mask: np.ndarray) -> np.ndarray:
        """The box around a small mask, a little larger, in pixels of the video."""
        box = box_of(mask, self.rows.scale)
        assert box is not None
        grow = PADDING * (box[2:] - box[:2])
        limit = np.tile([self.full.shape[1], self.full.shape[0]], 2)
        return np.concatenate([box[:2] - grow, box[2:] + grow]).clip(0, limit)

    def _look(self, mask: np.ndarray) -> Look | None:
        around = bounds(mask)
        if around is None:
            return None
        x0, y0, x1, y1 = np.rint(np.array(around) * self.rows.scale).astype(int)
        part = mask[around[1] : around[3], around[0] : around[2]].astype(np.uint8)
        part = cv2.resize(part, (int(x1 - x0), int(y1 - y0)), interpolation=cv2.INTER_NEAREST).astype(bool)
        return self.identity.look(self.full[y0:y1, x0:x1], part, float(mask.mean()))

    def _evidence(self, mask: np.ndarray) -> tuple[float, Look | None]:
        """How alike the object under a mask and the stored views are, from 0 to 1."""
        look = self._look(mask)
        if look is None or not self.looks:
            return 0.0, look
        return max(evidence(look, stored) for stored in self.looks), look

    def _confidence(self, likeness: float, cut: Cut) -> float:
        return float(np.clip(likeness / (SAME + 0.2), 0, 1) * np.clip(cut.score, 0, 1))

    def _was_leaving(self) -> bool:
        """Whether the object was at the border when it was last seen. Then it is out of view, and nothing is in doubt."""
        leaving = self._at_border(self.mask)
        self.doubt = "" if leaving else self.doubt
        return leaving


def _deepest(mask: np.ndarray) -> np.ndarray:
    """The point (x, y) of a mask that is farthest from its outline."""
    inside = cv2.copyMakeBorder(mask.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3)[1:-1, 1:-1]
    y, x = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return np.array([x + 0.5, y + 0.5])


def evidence(one: Look, other: Look) -> float:
    """Evidence from 0 to 1 that two looks show the same object."""
    features, colours = alike(one, other)
    return float(np.clip((1 - COLOUR_WEIGHT) * features + COLOUR_WEIGHT * colours, 0, 1))
