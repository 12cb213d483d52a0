"""Compare mask backends on real clips with boxes drawn by hand, and on the demo world with its true masks.

    python bench/masks_real.py ../shared/clips [--backends classical mobile-sam] [--only WORD ...] [--demo] [--record]

For each backend: the overlap of the mask's box with the drawn box (a missing mask counts as 0; on the demo: of the mask with the
true one), how often "in view" is right, wrong or not known, whether "it came back" is right for subjects that left, CPU seconds.
`--record` writes docs/measured/masks.json, from which docs/validity.md has its table.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lookback
import numpy as np
from lookback.artifacts import Masks
from lookback.artifacts.masks import OUT, RETURNED
from lookback.backends.base import BackendOptions
from lookback.camera.intent import parse
from lookback.clips import Anchor, Clip
from lookback.demo.clip import render_clip
from lookback.demo.spec import FAITHFUL, ClipSpec
from lookback.errors import NotScorable
from lookback.media import VideoInfo, open_video
from lookback.registry import BACKENDS
from recording import record

TRUTH = Path(lookback.__file__).parent / "validity"
AWAY_AND_BACK = "static@10,yaw:right:60@16,static@10,yaw:left:60@16,static@12"
DEMO = [  # scene, camera, event, failure
    ("playroom", "static@32", "none", FAITHFUL),
    ("garage", AWAY_AND_BACK, "none", FAITHFUL),
    ("kitchen", AWAY_AND_BACK, "state", FAITHFUL),
    ("playroom", AWAY_AND_BACK, "none", FAITHFUL),
    ("playroom", AWAY_AND_BACK, "none", "object_vanishes"),
    ("garage", AWAY_AND_BACK, "none", "object_vanishes"),
    ("playroom", AWAY_AND_BACK, "none", "identity_drift"),
    ("office", AWAY_AND_BACK, "none", "style_shift"),
]
VISIBLE, GONE = 0.5, 0.02  # share of the subject from which the demo's truth counts as in view, and below which as gone


@dataclass
class Tally:
    """What one backend got right."""

    overlaps: list[float] = field(default_factory=list)
    right: int = 0
    wrong: int = 0
    unknown: int = 0
    false_view: int = 0  # said in view, but the subject was not there
    returns: list[tuple[bool, bool]] = field(default_factory=list)  # of subjects that left: came back, said so
    seconds: list[float] = field(default_factory=list)

    def count(self, here: bool, found: bool, known: bool) -> None:
        if not known:
            self.unknown += 1
        elif here == found:
            self.right += 1
        else:
            self.wrong, self.false_view = self.wrong + 1, self.false_view + (found and not here)

    def figures(self) -> dict[str, Any]:
        return {
            "clips": len(self.seconds),
            "overlap": round(float(np.mean(self.overlaps)), 3),
            "overlap_frames": len(self.overlaps),
            "in_view_right": self.right,
            "in_view_wrong": self.wrong,
            "falsely_in_view": self.false_view,
            "not_known": self.unknown,
            "returned_right": sum(truth == said for truth, said in self.returns),
            "falsely_returned": sum(said and not truth for truth, said in self.returns),
            "left": len(self.returns),
            "cpu_s": round(float(np.mean(self.seconds)), 2),
        }

    def line(self, name: str) -> str:
        return f"{name:12} " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.figures().items())


def came_back(masks: Masks | None) -> bool:
    """Whether the masks say that the subject left and came back."""
    if masks is None or not (masks.state == OUT).any():
        return False
    return bool((masks.state[np.flatnonzero(masks.state == OUT)[0] :] == RETURNED).any())


def box_overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union of two boxes."""
    inside = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None).prod()
    return float(inside / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - inside))


def follow(
    backend: str, clip: Clip, info: VideoInfo, batches: Iterator[tuple[np.ndarray, np.ndarray]]
) -> tuple[Masks | None, float]:
    """The masks of a clip, or None when the backend refuses, and the CPU seconds without decoding."""
    job, spent = BACKENDS.get(f"masks={backend}").build(BackendOptions()).start(clip, info, {}), 0.0
    for indices, frames in batches:
        start = time.process_time()
        job.push(indices, frames)
        spent += time.process_time() - start
    try:
        return job.finish(), spent
    except NotScorable:
        return None, spent


def anchored(name: str, video: str, box: np.ndarray) -> Clip:
    centre, size = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
    anchor = Anchor(centre_x=centre[0], centre_y=centre[1], width=size[0], height=size[1])
    return Clip(benchmark="mbench", setting="A", model_id="m", clip_id=name, video=video, object_anchor=anchor)


def real(folder: Path, backend: str, only: list[str]) -> Tally:
    """The tally over the drawn boxes."""
    with (TRUTH / "boxes.csv").open(encoding="utf-8") as handle:
        drawn = list(csv.DictReader(handle))
    with (TRUTH / "anchors.csv").open(encoding="utf-8") as handle:
        anchors = {row["clip_id"]: row for row in csv.DictReader(handle)}
    videos = {path.stem: path for path in sorted(folder.rglob("*.mp4"))}
    with (folder / "labels.csv").open(encoding="utf-8") as handle:
        labels = {row["clip"]: row for row in csv.DictReader(handle)}
    tally = Tally()
    for name in sorted({row["clip"] for row in drawn}):
        if not anchors[name]["width"] or (only and not any(word in name for word in only)):
            continue
        with open_video(videos[name]) as reader:
            info = reader.info
            size = np.tile([info.width, info.height], 2)
            x, y, w, h = (float(anchors[name][key]) for key in ("centre_x", "centre_y", "width", "height"))
            box = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2]) * size
            frames = reader.read(np.arange(info.n_frames))
            batches = (
                (np.arange(start, min(start + 16, len(frames))), frames[start : start + 16]) for start in range(0, len(frames), 16)
            )
            masks, spent = follow(backend, anchored(name, str(videos[name]), box), info, batches)
        tally.seconds.append(spent)
        if labels[name]["subject_leaves_view"] == "yes" and labels[name]["subject_seen_again"] in ("yes", "no"):
            tally.returns.append((labels[name]["subject_seen_again"] == "yes", came_back(masks)))
        said = []
        for row in (row for row in drawn if row["clip"] == name):
            frame, here = int(row["frame"]), bool(row["x0"])
            found = masks is not None and bool(masks.in_view[frame])
            tally.count(here, found, masks is not None and bool(masks.known[frame]))
            share = 0.0
            if here and found and masks is not None:
                share = box_overlap(masks.boxes[frame] / size, np.array([float(row[key]) for key in ("x0", "y0", "x1", "y1")]))
            if here:
                tally.overlaps.append(share)
            state = "none" if masks is None else str(int(masks.state[frame]))
            confidence = 0.0 if masks is None else float(masks.confidence[frame])
            said.append(f"{frame}:{'here' if here else 'away'}/{state}/{share:.2f}/{confidence:.2f}")
        print(f"  {backend} {name}: {' '.join(said)}  {spent:.1f} s", flush=True)
    return tally


def demo(backend: str) -> Tally:
    """The tally over clips of the demo world, with masks instead of boxes."""
    tally = Tally()
    for scene, camera, event, failure in DEMO:
        made = render_clip(ClipSpec(scene, parse(camera), event, failure, 0.0 if failure == FAITHFUL else 1.0, 416, 240))
        truth, count = made.parts == 1, len(made.frames)
        rows, columns = np.flatnonzero(truth[0].any(1)), np.flatnonzero(truth[0].any(0))
        box = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)
        info = VideoInfo(Path("clip.mp4"), "video", count, 16.0, 416, 240, count / 16, 0, "h264", "yuv420p", False)
        masks, spent = follow(backend, anchored(scene, "clip.mp4", box), info, iter([(np.arange(count), made.frames)]))
        tally.seconds.append(spent)
        shares = []
        gone = np.flatnonzero(made.visibility < GONE)
        if len(gone):
            tally.returns.append((bool((made.visibility[gone[0] :] >= VISIBLE).any()), came_back(masks)))
        for row in range(count if masks is not None else 0):
            assert masks is not None
            here = bool(made.visibility[row] >= VISIBLE)
            tally.count(here, bool(masks.in_view[row]), bool(masks.known[row]))
            if here:
                found = masks.resized(row, (240, 416))
                shares.append(float((found & truth[row]).sum() / max(1, (found | truth[row]).sum())))
        tally.overlaps += shares
        print(f"  {backend} {scene} {camera} {failure}: overlap {np.mean(shares):.3f}, {spent:.1f} s", flush=True)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the real clips")
    parser.add_argument("--backends", nargs="+", default=["classical", "mobile-sam"])
    parser.add_argument("--only", nargs="*", default=[], help="only clips whose name holds one of these words")
    parser.add_argument("--demo", action="store_true", help="the demo world, too")
    parser.add_argument("--record", action="store_true", help="keep the figures; takes the demo, too")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        raise SystemExit(f"{arguments.folder}: there is no such folder; name the folder of the real clips")
    tallies: dict[str, dict[str, Tally]] = {"real": {}, "demo": {}}
    for backend in arguments.backends:
        tallies["real"][backend] = real(arguments.folder, backend, arguments.only)
        if arguments.demo or arguments.record:
            tallies["demo"][backend] = demo(backend)
    for domain, backends in tallies.items():
        for backend, tally in backends.items():
            print(domain, tally.line(backend))
    if arguments.record:
        found = {domain: {name: tally.figures() for name, tally in backends.items()} for domain, backends in tallies.items()}
        record("masks", "python bench/masks_real.py --record", found)


if __name__ == "__main__":
    main()
