"""Write conditions: for every record, the prompt and the files that one model takes, and a line in `conditions.jsonl`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from lookback.camera.intent import to_grammar
from lookback.camera.requests import path_of
from lookback.camera.text import to_text
from lookback.conditions.interface import CONTINUOUS, Interface, ModelName, first_problem
from lookback.conditions.records import Record, RecordFiles
from lookback.errors import ContractError, ParameterError, UsageError, hint
from lookback.files import make_folder, sha256_file, sha256_json
from lookback.layouts.confine import Root, is_video_file
from lookback.layouts.documents import is_unicode, read_jsonl
from lookback.layouts.reading import Breach
from lookback.layouts.writing import write_array, write_json, write_jsonl
from lookback.names import one_line
from lookback.paths import shown
from lookback.progress import track
from lookback.registry import BENCHMARKS

LIST = "conditions.jsonl"
FOLDER = "conditions"  # of the files that the lines name
# readers skip the first line: in RealEstate10K's files, whose form CameraCtrl took over, it is the link to the video
CAMERACTRL_HEADER = "# frame fx fy cx cy 0 0, then three rows of the world-to-camera matrix"


class Line(BaseModel):
    """One line of the list. It may come from a stranger: `_lines` keeps its paths inside the folder.

    `image` and `source` are files of the benchmark, which may lie anywhere and are only read.
    """

    benchmark: str
    model: ModelName
    setting: str
    clip_id: str
    sample_id: str
    condition_id: str
    scene: str
    prompt: str
    segments: list[str]
    image: str
    camera: str
    takes: str
    path: str
    actions: str
    output: str
    frames: int
    fps: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    width: int
    height: int
    seed: int
    source: str
    hash: str


@dataclass(frozen=True)
class Built:
    """How many conditions were written, and one line for every record that could not be used."""

    folder: Path
    written: int
    refused: list[str]
    missing_images: list[str]  # first frames that the conditions name and that are not there


def record_files(benchmark: str) -> RecordFiles:
    """How a benchmark reads and delivers its records; a UsageError for one that has none."""
    having = [each.name for each in BENCHMARKS if each.records() is not None]
    files = BENCHMARKS.get(benchmark).records()
    if files is None:
        raise UsageError(f"The benchmark '{benchmark}' has no records to make conditions from; {hint(benchmark, having)}")
    return files


def build_conditions(
    benchmark: str, source: Path, interface: Interface, out: Path, cameras: Sequence[str] = (), limit: int = 0, seed: int = 0
) -> Built:
    """Write the conditions of every record below `out`. Nothing that is there already is lost: other models keep their lines."""
    files = record_files(benchmark)
    make_folder(out)
    refused: list[str] = []
    rows: list[dict[str, Any]] = []
    for number, record in enumerate(track(files.read(source, interface, cameras), "conditions", unit="record")):
        if limit and len(rows) >= limit:
            break
        if isinstance(record, Breach):
            refused.append(one_line(str(record)))
            continue
        try:
            rows.append(_condition(files, record, interface, out, source, seed + number))
        except ParameterError as error:
            refused.append(one_line(f"{record.clip_id}: {error}"))
    if not rows and not refused:
        raise ContractError(f"{shown(source)} holds no records of {benchmark}")
    if not rows:  # what was made before stays
        return Built(out, 0, refused, [])
    if twice := next((clip for clip, times in Counter(row["clip_id"] for row in rows).items() if times > 1), None):
        raise ContractError(f"{shown(source)}: the record '{twice}' occurs twice; give every record a name of its own")
    others = [row for row in _lines(out) if row["model"] != interface.model]
    write_jsonl(out / LIST, [*others, *rows])
    images = dict.fromkeys(row["image"] for row in rows if row["image"])
    return Built(out, len(rows), refused, [image for image in images if not Path(image).is_file()])


def read_conditions(folder: Path, model: str = "") -> list[dict[str, Any]]:
    """The lines of a folder that `lookback conditions make` wrote; of one model, if it is named."""
    if not (folder / LIST).is_file():
        raise UsageError(f"{shown(folder)} has no {LIST}; write it with `lookback conditions make`")
    rows = _lines(folder)
    if model and model not in (models := sorted({row["model"] for row in rows})):
        raise UsageError(f"{shown(folder)} has no conditions for the model '{model}'; {hint(model, models)}")
    return [row for row in rows if not model or row["model"] == model]


def _lines(folder: Path) -> list[dict[str, Any]]:
    """The checked lines of the list. Neither their paths nor a link in the folder may lead out of it."""
    rows: list[dict[str, Any]] = []
    if not (folder / LIST).is_file():
        return rows
    root = Root(folder)
    try:
        for place in folder.rglob("*"):
            root.confirm(place, place, "path")
        for where, value in read_jsonl(folder / LIST):
            if isinstance(value, Breach):
                raise value
            row = Line.model_validate(value).model_dump()
            if not is_video_file(root.inside(row["output"], where, "output")):
                raise Breach(
                    where, "output", f"'{row['output']}' is no video file", "write it as make wrote it, such as m/clip.mp4"
                )
            for name in ("path", "actions"):
                if row[name]:
                    root.inside(row[name], where, name)
            if not is_unicode(said := "".join(map(str, row.values()))) or "\0" in said:
                raise Breach(where, "document", "holds a character that no command can take", "make the conditions again")
            rows.append(row)
    except Breach as breach:
        raise ContractError(str(breach)) from None
    except ValidationError as error:
        raise ContractError(f"{where}: {first_problem(error)}; make the conditions again") from None
    return rows


def _condition(files: RecordFiles, record: Record, interface: Interface, out: Path, source: Path, seed: int) -> dict[str, Any]:
    """Write the files of one condition; its line for the list."""
    if interface.wants_image and record.image is None:
        raise ParameterError(f"the model takes a first frame, and {record.clip_id} has none")
    place = f"{FOLDER}/{interface.model}/{file_name(record.setting, record.clip_id)}"
    row = {
        "benchmark": record.benchmark,
        "model": interface.model,
        "setting": record.setting,
        "clip_id": record.clip_id,
        "sample_id": record.sample_id,
        "condition_id": record.condition_id,
        "scene": record.scene,
        "prompt": prompt_for(record, interface),
        "segments": list(record.segments),
        "image": str(record.image.absolute()) if record.image and interface.wants_image else "",
        "camera": to_grammar(record.camera) if record.camera and record.says_how_far else "",
        "takes": interface.takes,
        **_control_files(record, interface, out, place),
        "output": files.video(record, interface.model),
        "frames": interface.frames,
        "fps": interface.fps,
        "width": interface.size[0],
        "height": interface.size[1],
        "seed": seed,
        "source": str(source.absolute()),
    }
    files.beside(out, record, interface)
    line = {**row, "hash": sha256_json([row, interface.model_dump(mode="json")])[:16]}
    write_json(out / f"{place}.json", {**line, "interface": interface.model_dump(mode="json"), "facts": dict(record.facts)})
    return line


def file_name(setting: str, clip_id: str) -> str:
    """A file name for a record."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(filter(None, [setting, clip_id]))).strip("-.")


def prompt_for(record: Record, interface: Interface) -> str:
    """The text that the model gets: with the camera in words exactly when it has no other input for the camera."""
    if interface.takes == "text" and record.text_only:
        said = record.spoken.removeprefix(record.prompt).strip()
        return " ".join(filter(None, [record.text_only, said or (to_text(record.camera) if record.camera else "")]))
    return record.spoken if interface.says_camera else record.prompt


def _control_files(record: Record, interface: Interface, out: Path, place: str) -> dict[str, str]:
    """The camera path or the actions, in the form that the model takes; `path` and `actions` are relative to the folder."""
    none = {"path": "", "actions": ""}
    if interface.says_camera or (record.camera is None and record.path is None):
        return none
    if not record.says_how_far and interface.takes != "discrete-actions":
        problem = f"the model takes {interface.takes}, and the record says which way the camera goes, not how far"
        raise ParameterError(f"{problem}; use an interface that takes text, text+image or discrete-actions")
    if interface.takes == "camera-path":
        return {**none, "path": _write_path(record, interface, out, place)}
    if record.camera is None:
        raise ParameterError(f"the model takes actions, and {record.clip_id} has a camera path only")
    told = interface.delivered(record.camera)
    if interface.takes == "discrete-actions":
        name = f"{place}.actions.json"
        write_json(out / name, {"actions": interface.tokens(told), "fps": interface.fps})
    else:
        name = f"{place}.actions.npy"
        write_array(out / name, interface.steps(told))
        write_json(out / f"{place}.actions.columns.json", list(CONTINUOUS))
    return {**none, "actions": name}


def _write_path(record: Record, interface: Interface, out: Path, place: str) -> str:
    if record.path is not None:
        c2w = interface.delivered_path(record.path)
    else:
        assert record.camera is not None
        c2w = path_of(interface.delivered(record.camera), BENCHMARKS.get(record.benchmark).camera_rule)
    width, height = interface.size
    focal = 0.5 / np.tan(np.radians(interface.fov_deg) / 2)  # in picture widths
    if interface.file == "cameractrl":
        w2c = np.linalg.inv(c2w)
        rows = [
            f"{index} {focal:.9g} {focal * width / height:.9g} 0.5 0.5 0 0 "
            + " ".join(f"{value:.9g}" for value in pose[:3].ravel())
            for index, pose in enumerate(w2c)
        ]
        name = f"{place}.path.txt"
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("\n".join([CAMERACTRL_HEADER, *rows]) + "\n", encoding="utf-8")
        return name
    poses = interface.converted(c2w)
    if interface.file == "npy":
        name = f"{place}.path.npy"
        write_array(out / name, poses)
        return name
    name = f"{place}.path.json"
    facts: Mapping[str, Any] = {
        "axes": interface.axes,
        "matrix": interface.matrix,
        "fps": interface.fps,
        "fov_deg": interface.fov_deg,
    }
    write_json(out / name, {**facts, "poses": poses.tolist()})
    return name


def read_condition(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the list with the `interface` it was made for and the `facts` of its record."""
    path = _record_path(folder, row)
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        raise ContractError(f"{shown(path)} is gone or damaged; make the conditions again") from None
    return {**found, **row}


def condition_hash(folder: Path, row: Mapping[str, Any]) -> str:
    """What a video is made from: the line of the list, and what the files that it names hold now."""
    files = [folder / row[name] for name in ("path", "actions", "image") if row[name]]
    return sha256_json([row["hash"], *(sha256_file(file) if file.is_file() else "" for file in files)])[:16]


def _record_path(folder: Path, row: Mapping[str, Any]) -> Path:
    return folder / FOLDER / row["model"] / f"{file_name(row['setting'], row['clip_id'])}.json"


def command_values(folder: Path, row: Mapping[str, Any], output: Path) -> dict[str, str]:
    """What the placeholders of a generator command stand for."""
    files = {name: str((folder / row[name]).absolute()) if row[name] else "" for name in ("path", "actions")}
    names = ("prompt", "image", "camera", "frames", "fps", "width", "height", "seed", "clip_id")
    plain = {name: _word(row[name]) for name in names}
    return {**plain, **files, "record": str(_record_path(folder, row).absolute()), "output": str(output)}


def _word(value: object) -> str:
    """A value as a command takes it: 16 frames a second and not 16.0, which many programs refuse."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


PLACEHOLDERS = (
    "prompt",
    "image",
    "camera",
    "frames",
    "fps",
    "width",
    "height",
    "seed",
    "clip_id",
    "path",
    "actions",
    "record",
    "output",
)


def filled(template: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The command with its placeholders filled in; an unknown placeholder is a UsageError."""
    command = []
    for part in template:
        for name in re.findall(r"\{(\w*)\}", part):
            if name not in values:
                raise UsageError(f"The command has the placeholder '{{{name}}}'; {hint(name, PLACEHOLDERS, 'placeholders')}")
        command.append(re.sub(r"\{(\w+)\}", lambda found: values[found[1]], part))
    return command
