"""MBench's records: dataset.yaml and samples/{subset}/{sample_id}/sample.json, without any model's videos yet."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lookback.benchmarks.mbench.benchmark import SUBSETS
from lookback.benchmarks.mbench.layout import SETTINGS
from lookback.benchmarks.mbench.sample import Sample, read_sample
from lookback.camera.intent import CameraIntent
from lookback.camera.text import parse_action_sequence, parse_captions, to_text
from lookback.conditions.interface import Interface
from lookback.conditions.records import Record, intent_of, spread
from lookback.errors import ParameterError, Reason
from lookback.files import copy_folder
from lookback.layouts.confine import Root, folders
from lookback.layouts.documents import Document, read_yaml
from lookback.layouts.reading import Breach
from lookback.layouts.writing import write_jsonl
from lookback.paths import resolve


def holds(root: Path) -> bool:
    return (root / "dataset.yaml").is_file() and (root / "samples").is_dir()


def read(root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
    """One record per sample (MBench-T), or per sample and action (MBench-A; `cameras` are the actions, else the sample's own)."""
    try:
        place = Root.of(str(root.absolute()))
        setting = _setting(root)
    except Breach as breach:
        yield breach
        return
    for subset in SUBSETS:
        for folder in folders(root / "samples" / subset):
            try:
                sample = read_sample(place, subset, folder.name)
                for problem in [*sample.problems.values(), *(breach for _, breach in sample.required(setting))]:
                    raise problem
                for condition, camera in _conditions(sample, setting, cameras, interface):
                    yield _record(sample, setting, subset, folder.name, condition, camera)
            except Breach as breach:
                yield breach
            except ParameterError as error:
                yield Breach(folder / "sample.json", "action", str(error), "use an action such as left_then_right")


def _setting(root: Path) -> str:
    path = root / "dataset.yaml"
    if not path.is_file():
        raise Breach(path, "dataset.yaml", "is missing", "name the folder with dataset.yaml and samples/", Reason.MISSING_INPUT)
    name = Document(read_yaml(path), path).text("dataset_id").lower()
    if name not in SETTINGS:
        raise Breach(path, "dataset_id", f"is '{name}'", f"write one of {', '.join(SETTINGS)}")
    return SETTINGS[name]


def _conditions(
    sample: Sample, setting: str, cameras: Sequence[str], interface: Interface
) -> list[tuple[str, CameraIntent | None]]:
    """The conditions by name: `text`, or an action (`actions` for one word per frame) with the length of the video in seconds."""
    frames, length = interface.frames, f"_{interface.frames / interface.fps:g}s"
    if setting == "T":
        return [("text", _asked_in_captions(sample, interface))]
    own = sample.values.get("extras", {}).get("action")
    if not cameras and isinstance(own, list):
        return [(f"actions{length}", spread(parse_action_sequence(own), frames))]
    wanted = list(cameras) or ([own] if own else [])
    if not wanted:
        problem = "names no action such as left_then_right"
        raise Breach(sample.path, "annotations.action", problem, "add it, or name actions with --cameras", Reason.MISSING_INPUT)
    names = [action if re.search(r"_\d+(\.\d+)?s$", action) else action + length for action in wanted]
    return [(name, intent_of(name, frames)) for name in names]


def _asked_in_captions(sample: Sample, interface: Interface) -> CameraIntent | None:
    """The camera of the captions; None where they do not say which way it goes and the model reads them itself."""
    try:
        return parse_captions(sample.values.get("caption_segments") or (), interface.frames)
    except ParameterError as error:
        if interface.says_camera:
            return None
        raise Breach(sample.path, "captions", str(error), "use an interface that takes text or text+image") from None


def _record(sample: Sample, setting: str, subset: str, sample_id: str, condition: str, camera: CameraIntent | None) -> Record:
    values = sample.values
    segments = tuple(values.get("caption_segments") or ())
    prompt = str(values.get("prompt") or "")
    spoken = " ".join(segments) if camera is None or setting == "T" else f"{prompt} {to_text(camera)}"
    image = values.get("reference_image")
    return Record(
        "mbench",
        f"{subset}:{sample_id}:{condition}",
        prompt,
        spoken,
        camera,
        setting=setting,
        subset=subset,
        sample_id=sample_id,
        condition_id=condition,
        scene=str(values.get("scene") or sample_id),
        image=resolve(str(image)) if image else None,
        segments=segments,
        facts={"subset": subset},
    )


def video(record: Record, model: str) -> str:
    return f"models/{model}/outputs/{record.subset}/{record.sample_id}/{record.condition_id}/video.mp4"


def beside(out: Path, record: Record, interface: Interface) -> None:
    """Nothing: MBench's scoring reads the request from the condition's name and the sample."""


def finish(out: Path, source: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    """dataset.yaml, the samples, and the model's samples.jsonl."""
    if source.resolve() != out.resolve():
        out.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / "dataset.yaml", out / "dataset.yaml")
        copy_folder(source / "samples", out / "samples")
    dataset_id = Document(read_yaml(out / "dataset.yaml"), out / "dataset.yaml").text("dataset_id")
    model = conditions[0]["model"]
    rows = [
        {
            "item_id": condition["clip_id"],
            "dataset_id": dataset_id,
            "subset": condition["facts"]["subset"],
            "sample_id": condition["sample_id"],
            "condition_id": condition["condition_id"],
            "model_id": model,
            "media": {"videos": [{"path": condition["output"].removeprefix(f"models/{model}/"), "role": "generated"}]},
        }
        for condition in conditions
    ]
    write_jsonl(out / "models" / model / "samples.jsonl", rows)
