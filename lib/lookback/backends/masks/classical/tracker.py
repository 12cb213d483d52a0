"""The backend `classical` of the role `masks`: it follows one object through a clip.

While the object is in view, optical flow carries its mask to the next frame, and GrabCut corrects the outline. While it is out of
view, the tracker searches for it. Memory holds the previous frame, two stored views and at most `LOOK_BACK` small frames of an
absence, for any length of the clip.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np

from lookback.artifacts import Artifact, Masks
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.classical.colours import BINS, colour_index, histogram
from lookback.backends.masks.classical.cutting import BandCut, cut_in_box
from lookback.backends.masks.classical.motion import background_motion, carry, from_inside, sources
from lookback.backends.masks.classical.views import Found, View, describe
from lookback.backends.masks.prompt import anchor_box
from lookback.backends.runtime import ConfiguredBackend
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import VideoInfo
from lookback.registry import backend

LOOK_BACK = 64  # frames of an absence that are kept, to find the frame in which the object really came back
GONE = 0.05  # share of the area when it was last whole; with less it counts as out of view
MIN_PIXELS = 12
STRANGE = 0.5  # share of the colour agreement in the first frame; with less the followed region is not the object
DISTRUST = 9  # frames without a search by colours after such a search found something else
SEARCH_STRIDE = 6  # frames between two searches of the whole picture
ACCEPT = 0.3  # minimum score of a find
CERTAIN = 0.7  # score from which a find is certain

METHOD = "GrabCut from the prompt, dense inverse search on a homography, re-detection by place and SIFT"


@backend(
    role="masks",
    name="classical",
    title="GrabCut, flow propagation and feature re-detection (in place of SAM 2)",
    embedded=True,
)
class ClassicalMasks(ConfiguredBackend):
    """Works on small frames, on one core. The prompt is the object anchor of the clip."""

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _ClassicalJob:
        box = anchor_box(clip, info)
        if box is None:
            raise NotScorable(Reason.MISSING_INPUT, "the clip has no object_anchor, so the object to follow is not known")
        return _ClassicalJob(info, box, self.options.seed)


class _ClassicalJob:
    wants: np.ndarray | None = None

    def __init__(self, info: VideoInfo, box: np.ndarray, seed: int):
        self.rows = MaskRows(info)
        self.tracker = ObjectTracker(self.rows, box / self.rows.scale, seed)

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        height, width = self.rows.size
        for index, frame in zip(indices, frames, strict=True):
            self.tracker.push(int(index), cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA))

    def finish(self) -> Masks:
        notes = {"lost": self.tracker.n_lost, "found_again": self.tracker.n_found, "frames_without_motion": self.tracker.blind}
        return self.rows.finish({"prompt": "object anchor", "method": METHOD, **notes})


@dataclass
class Frame:
    """A small frame, and the motion of the background since the frame before."""

    row: int
    image: np.ndarray
    grey: np.ndarray
    motion: np.ndarray | None


class ObjectTracker:
    """Takes the small frames of one clip in order and writes one row for each."""

    def __init__(self, rows: MaskRows, box: np.ndarray, seed: int, trust: float = 1.0):
        self.rows, self.box, self.seed, self.trust = rows, box, seed, trust
        self.last: Frame | None = None
        self.cut = BandCut(seed)
        self.mask = np.zeros(rows.size, bool)
        self.views: list[View] = []
        self.places: list[np.ndarray | None] = []  # the background's motion from each view's frame to the last one
        self.whole: tuple[np.ndarray, np.ndarray] | None = None  # picture and mask of the latest frame that shows the whole object
        self.whole_place: np.ndarray | None = np.eye(3)
        self.absence: deque[Frame] = deque(maxlen=LOOK_BACK)
        self.usual = 1.0  # how well the colours of the first view explain the first view
        self.found_score = 1.0
        self.entering: Found | None = None  # set while the border still cuts a found object
        self.elsewhere = np.zeros(int(np.prod(BINS)))  # sum of the colour histograms of frames without the object
        self.n_elsewhere = 0
        self.distrust = 0  # no search by colours before this row
        self.by_colours = False  # the latest find is based on colours alone
        self.n_lost = self.n_found = self.blind = 0

    def push(self, index: int, image: np.ndarray) -> None:
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        if self.last is None:
            self._begin(index, Frame(0, image, grey, None))
            return
        motion = background_motion(self.last.grey, grey, self.mask)
        self.blind += motion is None
        frame = Frame(len(self.rows), image, grey, motion)
        self.places = [_chain(motion, place) for place in self.places]
        self.whole_place = _chain(motion, self.whole_place)
        mask, confidence = np.zeros_like(self.mask), 0.0
        if self.mask.any():
            mask, confidence = self._step(self.last, frame, self.mask, motion)
            if self.entering is not None:
                mask, confidence = self._enter(frame, mask, confidence)
            mask, confidence = self.checked(frame, mask, confidence)
            if not mask.any():
                self._lose()
        if not mask.any():
            mask, confidence = self.confirmed(frame, *self._search(frame))
        if mask.any() and self.absence and not self._look_back(frame, mask):
            mask, confidence = np.zeros_like(mask), 0.0
        self.rows.add(index, mask, confidence)
        if mask.any():
            self._keep_whole(frame, mask)
        else:
            self.absence.append(frame)
        self.mask, self.last = mask, frame

    def first_mask(self, frame: Frame) -> np.ndarray:
        """The object's mask in the first frame."""
        return cut_in_box(frame.image, self.box, self.seed)

    def checked(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """A followed mask after a look at the frame itself; an empty mask when it is not the object. Here nothing is checked."""
        return mask, confidence

    def confirmed(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """A found mask, or an empty one when it is not the object. Here every find counts."""
        return mask, confidence

    def _begin(self, index: int, frame: Frame) -> None:
        self.mask = self.first_mask(frame)
        self.views, self.places = [View(frame.image, self.mask)], [np.eye(3)]
        self.usual = max(1e-3, self.views[0].colours.explains(frame.image, self.mask))
        self.whole, self.last = (frame.image, self.mask), frame
        self.rows.add(index, self.mask, self.trust)

    def _step(self, source: Frame, target: Frame, mask: np.ndarray, motion: np.ndarray | None) -> tuple[np.ndarray, float]:
        """The mask carried from one frame to its neighbour, and a confidence. The mask is empty when the object is lost."""
        places = sources(source.grey, target.grey, motion)
        carried = carry(mask, places)
        # pixels that come from beyond the border must have the colours of the object
        carried &= from_inside(places) | self.views[-1].colours.likely(target.image)
        carried = self.cut(target.image, carried)
        likeness = self._likeness(target.image, carried)
        if carried.sum() < max(MIN_PIXELS, GONE * self._whole_area()) or likeness < STRANGE:
            return np.zeros_like(mask), 0.0
        return carried, self.trust * min(1.0, likeness) * min(1.0, self.found_score)

    def _enter(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """While the object enters over the border, a stored view predicts the rest of it, until it is whole."""
        assert self.entering is not None
        known = [(self.entering.view, _chain(frame.motion, self.entering.pose)), *zip(self.views, self.places, strict=True)]
        finds = [view.by_place(frame.image, place, seen=0.2, search=0.1) for view, place in known if place is not None]
        best = _best(finds)
        if best is None:
            self.entering = None
            return mask, confidence
        mask = self.cut(frame.image, best.mask)
        self.found_score = max(self.found_score, min(1.0, best.score / CERTAIN))
        self.entering = best if self._at_border(mask) else None
        return mask, self.trust * self.found_score * min(1.0, self._likeness(frame.image, mask))

    def _at_border(self, mask: np.ndarray) -> bool:
        """Whether the border cuts the mask, on a side that the mask did not touch in the first frame."""
        sides = np.array([mask[:, 0].any(), mask[0].any(), mask[:, -1].any(), mask[-1].any()])
        return bool((sides & ~self.rows.sides[0]).any())

    def _likeness(self, image: np.ndarray, mask: np.ndarray) -> float:
        return max(view.colours.explains(image, mask) for view in self.views) / self.usual

    def _whole_area(self) -> float:
        return float(self.whole[1].sum()) if self.whole is not None else float(self.views[0].area)

    def _keep_whole(self, frame: Frame, mask: np.ndarray) -> None:
        if not self._at_border(mask) and mask.sum() > 0.5 * self._whole_area():
            self.whole, self.whole_place = (frame.image, mask), np.eye(3)

    def _lose(self) -> None:
        """The object left: store how it looked when it was last whole, in addition to the first view."""
        self.n_lost += 1
        self.entering = None
        if self.whole is not None:
            self.views = [self.views[0], View(*self.whole)]
            self.places = [self.places[0], self.whole_place]

    def _search(self, frame: Frame) -> tuple[np.ndarray, float]:
        """Search where the camera's motion predicts the object, then in the whole picture."""
        known = zip(self.views, self.places, strict=True)
        best = _best([view.by_place(frame.image, place) for view, place in known if place is not None])
        if best is None and frame.row % SEARCH_STRIDE == 0:
            points, descriptors = describe(frame.grey)
            best = _best([view.by_features(frame.image, points, descriptors) for view in self.views])
            if best is None and self.n_elsewhere and frame.row >= self.distrust:
                best = _best([view.by_colours(frame.image, self.elsewhere / self.n_elsewhere) for view in self.views])
            if best is None:
                self._note_elsewhere(frame)
        if best is None:
            return np.zeros_like(self.mask), 0.0
        self.by_colours = best.pose is None
        self.cut = BandCut(self.seed)
        self.found_score = min(1.0, best.score / CERTAIN)
        self.entering = best if best.pose is not None else None
        mask = self.cut(frame.image, best.mask)
        return mask, self.trust * self.found_score * min(1.0, self._likeness(frame.image, mask))

    def _look_back(self, frame: Frame, mask: np.ndarray) -> bool:
        """Follow a found object backwards through the kept frames, to the frame in which it came in.

        Returns False when it was found by colours alone and was in view since the object left: then it is something else.
        """
        later, came = frame, []
        for earlier in reversed(self.absence):
            motion = None if later.motion is None else np.linalg.inv(later.motion)
            mask, confidence = self._step(later, earlier, mask, motion)
            if not mask.any():
                break
            came.append((earlier.row, mask, confidence))
            later = earlier
        if self.by_colours and len(came) == len(self.absence):
            self._note_elsewhere(frame)
            self.distrust = frame.row + DISTRUST
            return False
        for row, earlier_mask, confidence in came:
            self.rows.replace(row, earlier_mask, confidence)
        self.absence.clear()
        self.n_found += 1
        return True

    def _note_elsewhere(self, frame: Frame) -> None:
        """Store the colours of a frame without the object."""
        self.elsewhere = self.elsewhere + histogram(colour_index(frame.image), np.ones(frame.grey.shape))
        self.n_elsewhere += 1


def _chain(motion: np.ndarray | None, place: np.ndarray | None) -> np.ndarray | None:
    return None if motion is None or place is None else motion @ place


def _best(finds: list[Found | None]) -> Found | None:
    """The find with the best score; None when no score reaches ACCEPT."""
    return max((find for find in finds if find is not None and find.score >= ACCEPT), key=lambda find: find.score, default=None)
