"""The subject of the first frame on return: is it still in its place, and if not, is something like it anywhere in view?

The subject is the drawn box (`anchors.csv`), else the foreground object of the first frame. It is looked for only where the camera
left and shows the subject's place again; a tracker is not needed for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.backends.features.geometry import Pad
from lookback.backends.masks.propose import propose_subject
from lookback.benchmarks.folder.metrics.place import comparison
from lookback.benchmarks.folder.metrics.shared import Looking, Seen, folder_metric, seen_again
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.measures.features import cosine
from lookback.measures.revisits import Revisit
from lookback.measures.scores import clip01
from lookback.scoring import Frames, Item, PixelScoring, Scored, ScoringClip, Unit

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in shares of the picture
FIRST_SECOND = 24  # frames in which a proposal looks for motion of its own
PROPOSAL_FRAMES = 5
SEEN_SHARE = 0.6  # of the subject's box that the return must show
SCALES = (0.75, 1.0, 1.33)  # of the windows in which the subject is looked for
STEP = 0.5  # of a window's size from one window to the next
MOST_WINDOWS = 60
CROP = 160  # pixels; windows are compared at this size


@dataclass(frozen=True)
class Subject:
    """A subject of the first frame, and where its box comes from."""

    box: Box
    source: str


def drawn_box(clip: Clip) -> Box | None:
    """The clip's drawn box in shares of the picture."""
    anchor, width, height = clip.object_anchor, clip.width, clip.height
    if anchor is None or not width or not height:
        return None
    x, y, half_w, half_h = anchor.centre_x / width, anchor.centre_y / height, anchor.width / width / 2, anchor.height / height / 2
    return max(0.0, x - half_w), max(0.0, y - half_h), min(1.0, x + half_w), min(1.0, y + half_h)


def subject_of(context: ScoringClip) -> Looking:
    """The clip's subject, found once for all its measures; NO_MASK when nothing stands out.

    A subject that is only named is not guessed: what stands out may be something else.
    """
    drawn, named = drawn_box(context.clip), context.clip.object_name
    if drawn is not None:
        return Subject(drawn, "drawn box")
    if named:
        raise NotScorable(
            Reason.BACKEND_UNAVAILABLE,
            f"to find the subject by its name ('{named}') a text model such as GroundingDINO or SAM 3 is needed, and the embedded "
            "models have none; draw a box in anchors.csv, or leave the name out to take what stands out",
        )
    last = min(FIRST_SECOND, context.need("n_frames") - 1)
    wanted = np.unique(np.linspace(0, last, PROPOSAL_FRAMES).round().astype(np.int64))
    images = yield Frames(wanted)
    if "folder_subject" not in context.shared:
        proposal = propose_subject(np.stack([images[int(frame)] for frame in wanted]))
        context.shared["folder_subject"] = None if proposal is None else Subject(proposal.box, f"proposed, {proposal.score:.2f}")
    if context.shared["folder_subject"] is None:
        raise NotScorable(Reason.NO_MASK, "no object stands out in the first frame; draw a box in anchors.csv")
    return context.shared["folder_subject"]


def pixel_box(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box in pixels of a picture (height, width), at least one pixel large."""
    height, width = size
    x0, y0 = int(box[0] * width), int(box[1] * height)
    return x0, y0, max(x0 + 1, round(box[2] * width)), max(y0 + 1, round(box[3] * height))


def first_revisit(seen: Seen) -> Revisit:
    """The revisit of the first frame, whose subject is known."""
    for revisit in seen.require_revisits():
        if revisit.pair.first == 0:
            return revisit
    raise NotScorable(Reason.NO_RETURN, "an early view is seen again, but not that of the first frame")


def windows(size: tuple[int, int], box: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Windows of about the box's size over a whole picture, at most `MOST_WINDOWS`, evenly thinned."""
    found = []
    for scale in SCALES:
        w, h = (min(limit, max(8, round(scale * side))) for side, limit in ((box[2] - box[0], size[1]), (box[3] - box[1], size[0])))
        xs = np.unique(np.linspace(0, size[1] - w, max(1, round((size[1] - w) / (STEP * w)) + 1)).astype(int))
        ys = np.unique(np.linspace(0, size[0] - h, max(1, round((size[0] - h) / (STEP * h)) + 1)).astype(int))
        found += [(int(x), int(y), int(x) + w, int(y) + h) for y in ys for x in xs]
    return [found[place] for place in np.unique(np.linspace(0, len(found) - 1, min(MOST_WINDOWS, len(found))).astype(int))]


def crops(picture: NDArray[np.uint8], boxes: list[tuple[int, int, int, int]]) -> NDArray[np.uint8]:
    """The boxes of a picture, all at one size."""
    cut = [cv2.resize(picture[y0:y1, x0:x1], (CROP, CROP), interpolation=cv2.INTER_AREA) for x0, y0, x1, y1 in boxes]
    return np.stack([np.asarray(each, np.uint8) for each in cut])


@folder_metric(
    "subject_kept",
    title="Subject in its place",
    unit="share of the box",
    roles=("pose",),
    equation="share of the subject's box whose local structure correlates by 0.5 or more on return",
    source="this project; the return warped into the first view",
)
def score_kept(context: ScoringClip) -> PixelScoring:
    """The raw value is the share of the rest of the overlap that is kept: a subject is gone only where its surroundings are not."""
    seen: Seen = yield from seen_again(context)
    revisit = first_revisit(seen)
    subject: Subject = yield from subject_of(context)
    place = comparison(seen, revisit)
    x0, y0, x1, y1 = pixel_box(subject.box, place.valid.shape)
    area = np.zeros(place.valid.shape, bool)
    area[y0:y1, x0:x1] = True
    if place.valid[area].mean() < SEEN_SHARE:
        raise NotScorable(Reason.NO_RETURN, f"the return shows {place.valid[area].mean():.0%} of the subject's place")
    pair, value = revisit.pair, place.kept(area)
    unit = Unit(f"f0_f{pair.second}", "pair", value, place.kept(~area), 0, pair.second, detail=_where(subject))
    return Scored([Item(value, place.kept(~area), detail=subject.source, n_units=1)], [unit])


def _where(subject: Subject) -> str:
    """The source of the box, and the box in shares of the picture."""
    return f"{subject.source}; box " + " ".join(f"{value:.3f}" for value in subject.box)


@folder_metric(
    "subject_again",
    title="Subject seen again",
    unit="cosine",
    roles=("pose",),
    tools=("features",),
    equation="max over windows w of the return frame of cos(f(subject), f(w))",
    source="as MBench eq. 5, of the subject in the first frame and the most similar window on return",
)
def score_again(context: ScoringClip) -> PixelScoring:
    """The raw value is the same in the frame in which the view was away: what any part of the scene reaches without the subject."""
    seen: Seen = yield from seen_again(context)
    revisit = first_revisit(seen)
    subject: Subject = yield from subject_of(context)
    encoder = context.backend("features")
    first, small = seen.views[0].picture, Pad(CROP, square=True)
    box = pixel_box(subject.box, seen.views[0].size)
    wanted = encoder.encode(crops(first, [box]), small).cls[0]
    best = {}
    for name, frame in (("back", revisit.pair.second), ("away", revisit.away)):
        view = seen.views[frame]
        places = windows(view.size, box)
        best[name] = float(cosine(encoder.encode(crops(view.picture, places), small).cls, wanted).max())
    value = clip01(best["back"])
    unit = Unit(f"f0_f{revisit.pair.second}", "pair", value, best["away"], 0, revisit.pair.second, detail=_where(subject))
    return Scored([Item(value, best["away"], detail=subject.source, n_units=1)], [unit])
