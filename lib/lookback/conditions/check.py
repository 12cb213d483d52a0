"""Compare delivered videos with what was asked, before anything is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.array_files import read_arrays
from lookback.conditions.build import read_conditions
from lookback.conditions.generate import outdated, write_documents
from lookback.errors import ContractError, MediaError
from lookback.media import open_video
from lookback.names import one_line
from lookback.progress import track

FPS_TOLERANCE = 0.01  # containers store rates as fractions
OUTDATED = "was made under another condition than the one that is asked now; run `lookback generate`"


@dataclass(frozen=True)
class Checked:
    """How many videos were asked for and are there, and one line per problem."""

    asked: int
    there: int
    problems: list[str]


def check_delivery(folder: Path, model: str = "") -> Checked:
    """Every condition of the folder: is its video there, and has it the frames, rate and size that were asked?

    Writes the dataset's documents over the videos that are there, so that `lookback eval` finds them.
    """
    rows = read_conditions(folder, model)
    write_documents(folder, rows)  # also for videos that were not made by `lookback generate`
    old = outdated(folder, rows)
    found = [
        (row, [OUTDATED] if (row["model"], row["clip_id"]) in old else problems(folder, row))
        for row in track(rows, "checking", unit="video")
    ]
    lines = [one_line(f"{row['model']}/{row['clip_id']}: {problem}") for row, wrong in found for problem in wrong]
    there = sum((folder / row["output"]).is_file() for row in rows)
    return Checked(len(rows), there, lines)


def problems(folder: Path, row: Mapping[str, Any]) -> list[str]:
    """What is wrong with one delivered video, in a sentence each."""
    video = folder / row["output"]
    if not video.is_file():
        return [f"{row['output']} is missing; run `lookback generate`"]
    try:
        with open_video(video) as reader:
            info = reader.info
    except MediaError as error:
        return [f"{row['output']} cannot be read ({error.reason})"]
    wrong = []
    if info.n_frames != row["frames"]:
        wrong.append(f"has {info.n_frames} frames, {row['frames']} were asked for")
    if info.fps is not None and abs(info.fps - row["fps"]) > FPS_TOLERANCE * row["fps"]:
        wrong.append(f"has {info.fps:g} frames a second, {row['fps']:g} were asked for")
    if (info.width, info.height) != (row["width"], row["height"]):
        wrong.append(f"is {info.width}x{info.height}, {row['width']}x{row['height']} was asked for")
    return wrong + _control_problems(folder, row)


def _control_problems(folder: Path, row: Mapping[str, Any]) -> list[str]:
    """The files that told the model what to do must still be there and fit the number of frames."""
    wrong = []
    for name in ("path", "actions"):
        if not row[name]:
            continue
        file = folder / row[name]
        if not file.is_file():
            wrong.append(f"{row[name]} is gone; make the conditions again")
        elif file.suffix == ".npy":
            try:
                rows = len(read_arrays(file)["array"])
            except ContractError as error:
                wrong.append(str(error))
                continue
            if rows != row["frames"]:
                wrong.append(f"{row[name]} has {rows} rows for {row['frames']} frames")
    return wrong
