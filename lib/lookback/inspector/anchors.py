"""Write a drawn box into `anchors.csv` beside the dataset (`lookback.layouts.anchors` reads it)."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from lookback.clips import Clip
from lookback.errors import ContractError, UsageError
from lookback.files import locked, write_text
from lookback.layouts.anchors import NAME, NUMBERS

COLUMNS = ("clip_id", "model_id", *NUMBERS, "name")
DIGITS = 5
SMALLEST = 0.005  # of the picture's width and height


@dataclass(frozen=True)
class Box:
    """A box in the first frame; its numbers are shares of the picture. `name` says what the subject is."""

    centre_x: float
    centre_y: float
    width: float
    height: float
    name: str = ""

    def checked(self) -> Box:
        """The box, cut to the picture. A UsageError where nothing is left."""
        sides = [(self.centre_x, self.width), (self.centre_y, self.height)]
        cut = [(max(0.0, at - size / 2), min(1.0, at + size / 2)) for at, size in sides]
        finite = all(math.isfinite(value) for side in sides for value in side)
        if not finite or any(end - start < SMALLEST for start, end in cut):
            raise UsageError("This box is too small or lies outside the picture; draw it around the subject")
        (left, right), (top, bottom) = cut
        return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top, " ".join(self.name.split()))


def read_rows(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and the rows of the file as they are; nothing of them is lost when it is written again."""
    if not path.is_file():
        return list(COLUMNS), []
    try:
        table = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        rows = list(table)
    except (OSError, ValueError, csv.Error) as error:
        raise ContractError(f"{path} cannot be read ({error}); mend or move it before you draw boxes") from None
    columns = list(table.fieldnames or [])
    if "clip_id" not in columns or any(None in row for row in rows):
        raise ContractError(f"{path} has no column clip_id or rows longer than its header; mend it before you draw boxes")
    return columns + [name for name in COLUMNS if name not in columns], rows


def save_box(dataset: Path, clip: Clip, box: Box | None, every_model: bool) -> Path:
    """Write the clip's row; without a box it says that the subject is not in the first frame. Other rows stay as they are."""
    path = dataset / NAME
    model = "" if every_model else clip.model_id
    numbers = [f"{getattr(box, name):.{DIGITS}g}" if box else "" for name in NUMBERS]
    values = [clip.clip_id, model, *numbers, box.name if box else ""]
    row = dict(zip(COLUMNS, values, strict=True))
    with locked(path):
        columns, rows = read_rows(path)
        place = next((at for at, old in enumerate(rows) if _is_of(old, clip.clip_id, model)), None)
        if place is None:
            rows.append(row)
        else:
            rows[place] = {**rows[place], **row}
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(path, text.getvalue())
    return path


def _is_of(row: dict[str, str], clip_id: str, model: str) -> bool:
    return row.get("clip_id") == clip_id and (row.get("model_id") or "") == model


def boxes_of(dataset: Path | None, clip: Clip) -> list[dict[str, str]]:
    """The file's rows about this clip: its own model's first, then the one for every model."""
    if dataset is None:
        return []
    _, rows = read_rows(dataset / NAME)
    return [row for model in (clip.model_id, "") for row in rows if _is_of(row, clip.clip_id, model)]
