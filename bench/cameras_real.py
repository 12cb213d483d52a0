"""The camera verdicts on the labelled real clips (../shared/clips), beside what two passes of eyes saw there.

One line per clip: label and verdict, farthest turn, departure and return, whether the path is trusted, and seconds. At the end the
counts, and the shares that the geometric judge takes as priors. `--sheets FOLDER` draws frames with the asked and the made path.
Third-party clips: nothing of this is written into the project.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from lookback.artifacts import PoseTrack
from lookback.backends.pose.classical.backend import PoseJob
from lookback.backends.pose.classical.views import best_describer
from lookback.camera.intent import CameraIntent, to_grammar
from lookback.camera.poses import pitch_deg, turned_yaw_deg
from lookback.camera.prompts import parse_prompt
from lookback.camera.requests import path_of
from lookback.measures.camera_activity import CameraActivity
from lookback.media import open_video

CLIPS = Path(__file__).parents[2] / "shared" / "clips"
N_SHOWN = 10


@dataclass(frozen=True)
class Result:
    """One clip: its label, its path and what was concluded."""

    name: str
    label: dict[str, str]
    activity: CameraActivity
    pose: PoseTrack
    asked: CameraIntent | None
    cpu_s: float
    shown: np.ndarray  # (N_SHOWN,h,w,3)


def prompts() -> dict[str, str]:
    """Clip without its model: the prompt."""
    found = {}
    for file, start in (("synthetic_metadata.csv", ""), ("real_metadata.csv", "Real")):
        with (CLIPS / "memobench" / file).open(encoding="utf-8") as handle:
            for row in csv.DictReader(handle):
                found[f"{start or row['scene']}_{int(row['video_id']):03d}"] = row["prompt"]
    return found


def results(pattern: str) -> Iterator[Result]:
    recognised_by, describe = best_describer()
    asked = prompts()
    with (CLIPS / "labels.csv").open(encoding="utf-8") as handle:
        labels = {row["clip"]: row for row in csv.DictReader(handle)}
    for path in sorted(CLIPS.glob("*/*.mp4")):
        if path.stem not in labels or pattern not in path.stem:
            continue
        with open_video(path) as reader:
            job, cpu_s, shown = PoseJob(reader.info, None, 0, describe, recognised_by), 0.0, []
            wanted = set(np.linspace(0, (reader.info.n_frames or 1) - 1, N_SHOWN).round().astype(int).tolist())
            for index, frame in reader:
                if index in wanted:
                    shown.append(cv2.resize(frame, (160, 90), interpolation=cv2.INTER_AREA))
                start = time.process_time()
                job.push(np.array([index]), frame[None])
                cpu_s += time.process_time() - start
            start = time.process_time()
            pose = job.finish()
            cpu_s += time.process_time() - start
        prompt = asked.get(path.stem.rpartition("_")[0], "")
        request = parse_prompt(prompt, len(pose.c2w)) if prompt else None
        yield Result(path.stem, labels[path.stem], pose.activity(), pose, request, cpu_s, np.array(shown))


def line(result: Result) -> str:
    seen, label = result.activity, result.label
    mark = " " if label["camera"] in (seen.moves, "disputed") else "#"
    back = "-" if seen.return_frame is None else str(seen.return_frame)
    request = "" if result.asked is None else to_grammar(result.asked)
    return (
        f"{mark} {result.name:38s} label {label['camera']:8s} says {seen.moves:6s} "
        f"(moves {seen.p_moves:.2f}, clear {seen.p_clear:.2f}) "
        f"turn {seen.turn_degrees:4.0f} deg, departs {seen.departs:.2f} (leaves: {label['subject_leaves_view']}), "
        f"returns {seen.returns:.2f} at {back} (seen again: {label['subject_seen_again']}), "
        f"{'trusted' if seen.trusted else 'NOT trusted: ' + seen.why}, {result.cpu_s:.1f} s, asked {request or '?'}"
    )


def counts(found: list[Result]) -> list[str]:
    """The confusion of the camera's label, and the shares behind the geometric judge's priors (one added to each side)."""
    sure = [r for r in found if r.label["camera"] != "disputed"]
    right = sum(r.label["camera"] == r.activity.moves for r in sure)
    out = [f"camera none/slight/clear: {right} of {len(sure)} right, {len(found) - len(sure)} disputed labels"]
    moving = [(r.label["camera"] != "none", r.activity.p_moves >= 0.5) for r in sure]
    out.append(f"moves or not: {sum(a == b for a, b in moving)} of {len(moving)} right")
    for departs in (True, False):
        leaves = [r.label["subject_leaves_view"] for r in found if (r.activity.departs >= 0.5) == departs]
        out.append(_share(f"camera {'leaves' if departs else 'keeps'} the first view: subject gets out of view", leaves))
    for returns in (True, False):
        gone = [r for r in found if r.label["subject_leaves_view"] == "yes" and (r.activity.returns >= 0.5) == returns]
        what = f"camera {'returns' if returns else 'does not return'}: subject seen again"
        out.append(_share(what, [r.label["subject_seen_again"] for r in gone]))
    seconds = [r.cpu_s for r in found]
    out.append(f"CPU seconds a clip: median {np.median(seconds):.1f}, most {max(seconds):.1f}; load {os.getloadavg()[0]:.1f}")
    return out


def _share(what: str, answers: list[str]) -> str:
    yes, no = answers.count("yes"), answers.count("no")
    return f"{what}: {yes} of {yes + no}, prior {(yes + 1) / (yes + no + 2):.2f}"


def draw(found: list[Result], folder: Path) -> None:
    """One picture per scene: frames, and below them the yaw and pitch that were asked for and made."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    scenes: dict[str, list[Result]] = {}
    for result in found:
        scenes.setdefault(result.name.rpartition("_")[0] if result.name[0].isupper() else "wrbench", []).append(result)
    for scene, rows in scenes.items():
        figure = Figure(figsize=(16, 1.35 * len(rows)), dpi=95)
        for number, result in enumerate(rows):
            frames = figure.add_axes((0.0, 1 - (number + 1) / len(rows), 0.78, 0.86 / len(rows)))
            frames.imshow(np.concatenate(list(result.shown), axis=1))
            frames.axis("off")
            trust = "" if result.activity.trusted else "NOT TRUSTED"
            title = f"{result.name}  [{result.label['camera']}] {result.activity.describe()} {trust}"
            frames.set_title(title, fontsize=7, loc="left", pad=1)
            plot = figure.add_axes((0.81, 1 - (number + 0.93) / len(rows), 0.18, 0.75 / len(rows)))
            plot.plot(turned_yaw_deg(result.pose.c2w), "b", label="yaw")
            plot.plot(pitch_deg(result.pose.c2w), "g", label="pitch")
            if result.asked is not None:
                plot.plot(turned_yaw_deg(path_of(result.asked)), "b:", lw=0.8)
            if result.pose.first_view is not None:
                at = np.flatnonzero(np.isfinite(result.pose.first_view))
                plot.plot(at, 100 * result.pose.first_view[at], "r.-", lw=0.5, ms=2)
            plot.tick_params(labelsize=5)
        figure.savefig(folder / f"{scene}.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="clips whose name contains this")
    parser.add_argument("--sheets", type=Path, help="draw contact sheets into this folder")
    given = parser.parse_args()
    if not (CLIPS / "labels.csv").is_file():
        print(f"{CLIPS} is not here: the labelled real clips are third-party data and no part of the project")
        return 0
    cv2.setNumThreads(1)
    found = []
    for result in results(given.only):
        print(line(result), flush=True)
        found.append(result)
    print("\n".join(counts(found)))
    if given.sheets:
        draw(found, given.sheets)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
