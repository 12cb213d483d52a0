"""Everything that the page shows of one opened clip."""

from __future__ import annotations

import numpy as np

from lookback.clips import Clip
from lookback.errors import ContractError, MediaError, UsageError
from lookback.inspector.anchors import boxes_of
from lookback.inspector.marks import NoteBook
from lookback.inspector.overlays import missing_overlays
from lookback.inspector.paths import camera_paths
from lookback.inspector.pictures import Pictures
from lookback.inspector.run import Curve, RunView
from lookback.inspector.sync import Film, frames_beside
from lookback.media import VideoInfo
from lookback.paths import portable
from lookback.widgets.frames import shown_size
from lookback.widgets.playable import DEFAULT_FPS, browsers_play

MOST_COMPARED, MOST_CURVES = 3, 8  # videos beside the clip; models whose curves are drawn
Json = dict[str, object]


def opened(run: RunView, pictures: Pictures, notes: NoteBook, label: str, compared: list[str], by: str) -> Json:
    """The clip with its ground truth and the compared clips, their matching frames, curves, camera paths and facts."""
    clip = run.clip(label)
    counterparts = run.counterparts(clip)
    known = {other.label: other for other in counterparts}
    beside = [known[label] for label in dict.fromkeys(compared) if label in known][:MOST_COMPARED]
    first = dict.fromkeys(other.label for other in (*beside, *counterparts))  # drawn in their own order, which gives the colours
    drawn = [known[label] for label in sorted(list(first)[:MOST_CURVES], key=list(known).index)]
    films = [Film(clip), *([Film(clip, truth=True)] if clip.ground_truth else []), *(Film(other) for other in beside)]
    slots, problems = _slots(run, pictures, clip, films, by)
    dataset = run.dataset_of(clip)
    try:
        boxes = boxes_of(dataset, clip)
    except ContractError as error:  # a file that somebody wrote; the clip is shown all the same
        boxes, problems = [], [*problems, str(error)]
    count = slots[0]["n_frames"] if slots else None
    return {
        "label": clip.label,
        "model": clip.model_id,
        "clip_id": clip.clip_id,
        "message": " ".join(problems),
        "prompt": clip.prompt,
        "slots": slots,
        "curves": _curves(run, pictures, clip, drawn, by) if count else [],
        "visibility": run.visibility(clip),
        "paths": camera_paths(run, clip.model_copy(update={"n_frames": count}), beside),
        "facts": run.facts(clip),
        "missing": missing_overlays(run, clip),
        "reference": "its ground truth" if clip.ground_truth else "the clip's first frame",
        "counterparts": [{"label": other.label, "model": other.model_id} for other in counterparts],
        "note": notes.read(clip.label),
        "dataset": portable(dataset) if dataset else "",
        "boxes": boxes,
    }


def _slots(run: RunView, pictures: Pictures, clip: Clip, films: list[Film], by: str) -> tuple[list[Json], list[str]]:
    """The videos that can be read, and a sentence for every other one. Without the clip itself there is none."""
    slots: list[Json] = []
    problems: list[str] = []
    count = 0
    for film in films:
        try:
            info = pictures.info(film)
            if not slots:
                count = info.n_frames
                beside = None
            else:
                beside = frames_beside(run, clip, count, film, info.n_frames, by)
            slots.append(_slot(film, info, beside))
        except (MediaError, UsageError) as error:
            problems.append(str(error))
            if not slots:
                break
    return slots, problems


def _slot(film: Film, info: VideoInfo, beside: list[int] | None) -> Json:
    width, height = shown_size(info)
    return {
        "clip": film.clip.label,
        "truth": film.truth,
        "name": "ground truth" if film.truth else film.clip.model_id,
        "n_frames": info.n_frames,
        "fps": info.fps or DEFAULT_FPS,
        "has_rate": info.fps is not None,
        "copied": not browsers_play(film.path, info, even=True),
        "width": width,
        "height": height,
        "size": f"{info.width}x{info.height}",
        "beside": beside,
    }


def _curves(run: RunView, pictures: Pictures, clip: Clip, others: list[Clip], by: str) -> list[Json]:
    """Curves by name, each with one line per model; the lines of other models stand at the frames of the opened clip."""
    named: dict[str, list[Json]] = {}
    count = pictures.info(Film(clip)).n_frames
    for other in (clip, *others):
        found = run.curves(other)
        if not found:
            continue
        places: list[int] | None = None
        if other.key != clip.key:
            try:
                places = frames_beside(run, clip, count, Film(other), pictures.info(Film(other)).n_frames, by)
            except MediaError:
                continue
        for curve in found:
            line: Json = {"model": other.model_id, "frames": _moved(curve, places), "values": curve["values"]}
            named.setdefault(str(curve["name"]), []).append(line)
    return [{"name": name, "lines": lines} for name, lines in named.items()]


def _moved(curve: Curve, places: list[int] | None) -> list[float]:
    """Frames of another clip as frames of the opened one; `places[i]` is the other's frame beside frame i."""
    frames = np.asarray(curve["frames"], float)
    return (frames if places is None else np.round(np.interp(frames, places, np.arange(len(places))), 2)).tolist()
