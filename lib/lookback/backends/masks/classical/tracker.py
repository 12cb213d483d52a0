"""Following one object through a clip: in view it is carried by flow and cut again, out of view it is looked for.

Memory: the previous frame, two remembered views and at most `LOOK_BACK` small frames of an absence, however long the clip is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np

from lookback.backends.masks.artifact import MaskRows
from lookback.backends.masks.classical.colours import BINS, colour_index, histogram
from lookback.backends.masks.classical.cutting import BandCut, cut_in_box
from lookback.backends.masks.classical.motion import background_motion, carry, from_inside, sources
from lookback.backends.masks.classical.views import Found, View, describe

LOOK_BACK = 64  # frames of an absence that are kept to find out when the object really came back
GONE = 0.05  # of its area when it was last whole: less counts as out of view
MIN_PIXELS = 12
STRANGE = 0.5  # of the first frame's colour agreement: what is followed is no longer the object
DISTRUST = 9  # frames without a search by colours after one that misled
SEARCH_STRIDE = 6  # frames between two searches of the whole picture
ACCEPT = 0.3  # score from which a find counts
CERTAIN = 0.7  # score from which it is beyond doubt


@dataclass
class Frame:
    """A small frame, and how the background came to it from the frame before."""

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
        self.whole: tuple[np.ndarray, np.ndarray] | None = None  # picture and mask of the latest frame with the object whole
        self.whole_place: np.ndarray | None = np.eye(3)
        self.absence: deque[Frame] = deque(maxlen=LOOK_BACK)
        self.usual = 1.0  # how well the first view's colours explain itself
        self.found_score = 1.0
        self.entering: Found | None = None  # while a found object is still cut by the border
        self.elsewhere = np.zeros(int(np.prod(BINS)))  # sum of the colour histograms of frames without the object
        self.n_elsewhere = 0
        self.distrust = 0  # no search by colours before this row
        self.by_colours = False  # the latest find rests on colours alone
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
            if not mask.any():
                self._lose()
        if not mask.any():
            mask, confidence = self._search(frame)
        if mask.any() and self.absence and not self._look_back(frame, mask):
            mask, confidence = np.zeros_like(mask), 0.0
        self.rows.add(index, mask, confidence)
        if mask.any():
            self._keep_whole(frame, mask)
        else:
            self.absence.append(frame)
        self.mask, self.last = mask, frame

    def _begin(self, index: int, frame: Frame) -> None:
        self.mask = cut_in_box(frame.image, self.box, self.seed)
        self.views, self.places = [View(frame.image, self.mask)], [np.eye(3)]
        self.usual = max(1e-3, self.views[0].colours.explains(frame.image, self.mask))
        self.whole, self.last = (frame.image, self.mask), frame
        self.rows.add(index, self.mask, self.trust)

    def _step(self, source: Frame, target: Frame, mask: np.ndarray, motion: np.ndarray | None) -> tuple[np.ndarray, float]:
        """The mask carried from one frame to its neighbour, and how much it still looks like the object; empty when lost."""
        places = sources(source.grey, target.grey, motion)
        carried = carry(mask, places)
        carried &= from_inside(places) | self.views[-1].colours.likely(target.image)  # over the border: if it has the colours
        carried = self.cut(target.image, carried)
        likeness = self._likeness(target.image, carried)
        if carried.sum() < max(MIN_PIXELS, GONE * self._whole_area()) or likeness < STRANGE:
            return np.zeros_like(mask), 0.0
        return carried, self.trust * min(1.0, likeness) * min(1.0, self.found_score)

    def _enter(self, frame: Frame, mask: np.ndarray, confidence: float) -> tuple[np.ndarray, float]:
        """While the object comes in over the border, the remembered view says how it goes on; until it is whole."""
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
        """Whether the border cuts the mask on a side that it did not touch in the first frame."""
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
        """The object is gone: remember how it looked when it was last whole, beside the first view."""
        self.n_lost += 1
        self.entering = None
        if self.whole is not None:
            self.views = [self.views[0], View(*self.whole)]
            self.places = [self.places[0], self.whole_place]

    def _search(self, frame: Frame) -> tuple[np.ndarray, float]:
        """Where it should be by the camera's motion first, then anywhere."""
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
        """Follow a found object backwards through the kept frames, to where it came in.

        False when only its colours were found and it was in view ever since the object left: then it is something else.
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
        """Remember the colours of a frame without the object."""
        self.elsewhere = self.elsewhere + histogram(colour_index(frame.image), np.ones(frame.grey.shape))
        self.n_elsewhere += 1


def _chain(motion: np.ndarray | None, place: np.ndarray | None) -> np.ndarray | None:
    return None if motion is None or place is None else motion @ place


def _best(finds: list[Found | None]) -> Found | None:
    """The best find that counts."""
    return max((find for find in finds if find is not None and find.score >= ACCEPT), key=lambda find: find.score, default=None)
