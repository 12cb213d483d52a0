"""Which model made a video of a plain folder: what `models.csv` says, else what the file names say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lookback.layouts.documents import read_rows
from lookback.layouts.reading import Breach, Findings

FILE = "models.csv"
HIGHEST_RATE = 100_000  # frames a second; no camera that films a scene is faster
FEWEST_SCENES = 2  # a name is a model when it stands behind at least this many scenes


@dataclass(frozen=True)
class Named:
    """The scene and the model of one video; the name of its subject and the rate of its frames where they are given."""

    scene: str
    model: str
    subject: str = ""
    fps: float | None = None


def guessed_names(stems: Iterable[str]) -> dict[str, Named]:
    """The videos whose names read as <scene>_<model>: the last part is a model when it stands behind two scenes or more.

    Numbers are takes and not models. Names that cannot be read this way are left out.
    """
    scenes: dict[str, set[str]] = defaultdict(set)
    split = {stem: Named(*stem.rpartition("_")[::2]) for stem in stems if "_" in stem.strip("_")}
    for named in split.values():
        scenes[named.model].add(named.scene)
    models = {model for model, found in scenes.items() if len(found) >= FEWEST_SCENES and not model.isdigit() and model}
    return {stem: named for stem, named in split.items() if named.model in models and named.scene}


def listed_names(root: Path, videos: Iterable[Path], findings: Findings) -> dict[Path, Named]:
    """What `models.csv` says: columns file, model and, if wanted, scene, subject and fps. A wrong row is a violation."""
    path = root / FILE
    if not path.is_file():
        return {}
    by_path = {video.relative_to(root).as_posix(): video for video in videos}
    by_name: dict[str, list[str]] = defaultdict(list)
    for relative, video in by_path.items():
        for name in {relative.removesuffix(video.suffix), video.name, video.stem}:
            by_name[name].append(relative)
    found: dict[Path, Named] = {}
    with findings.guard("model_id"):
        for where, row in read_rows(path):
            with findings.guard("model_id"):
                file, model = row.get("file", ""), row.get("model", "")
                meant = [file] if file in by_path else by_name.get(file, [])
                if not meant or not model:
                    problem = f"names no video of this folder ('{file}')" if model else "names no model"
                    raise Breach(where, "model", problem, "give the columns file, model and, if wanted, scene, subject and fps")
                if len(meant) > 1:
                    remedy = f"write the path of one of them, such as {sorted(meant)[0]}"
                    raise Breach(where, "file", f"'{file}' is the name of {len(meant)} videos", remedy)
                video = by_path[meant[0]]
                if video in found:
                    raise Breach(where, "file", f"'{file}' occurs a second time", "keep one row per video")
                scene = row.get("scene") or video.stem.removesuffix(f"_{model}")
                found[video] = Named(scene, model, row.get("subject") or "")
                with findings.guard("fps"):
                    found[video] = replace(found[video], fps=_rate(row.get("fps", ""), where))
    return found


def _rate(text: str, where: str) -> float | None:
    """Frames a second; None where nothing is written."""
    try:
        rate = float(text) if text else None
    except ValueError:
        rate = math.nan
    if rate is not None and not 0 < rate <= HIGHEST_RATE:
        raise Breach(where, "fps", f"is '{text}'", f"write the frames a second, a number above 0 and up to {HIGHEST_RATE:,}")
    return rate
