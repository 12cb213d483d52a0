"""WRBench: a manifest of generated videos (JSON, JSON lines or CSV) with camera sidecars, joined with the Natural-25 suite.

A manifest row names `path` (or `video_path`), `model`, `video_id`, `variant_id`, `family_id`, `camera_type`, and further fields of
WRBench's generation script. Paths are found as `places.py` says, so that the script's own output is read wherever it lies now. The
script appends a row for every try; of the rows with a `status` about one video the last counts, filled up from those before.

The target poses of a video are named in its row, in `<video>.d1_target.json` or in `<video>.camera.json` (`sidecar.find_target`).

Without a manifest, every video with a `<video>.camera.json` beside it is read, and its folder is the model's name.
"""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from lookback.benchmarks.wrbench.natural25 import FACTORS, Natural25, action_of, find_natural25, read_natural25
from lookback.benchmarks.wrbench.places import in_dataset
from lookback.benchmarks.wrbench.sidecar import (
    CONTROL_FIELDS,
    D1_TARGET,
    SIDECAR,
    camera_request,
    control_of,
    find_target,
    read_sidecar,
    sidecar_facts,
    sidecar_path,
    sidecar_request,
)
from lookback.clips import Clip
from lookback.errors import ContractError, Reason
from lookback.layouts.confine import VIDEO_SUFFIXES, Root, entries, folders, walk
from lookback.layouts.documents import Document, read_json, read_jsonl, read_rows
from lookback.layouts.given import column_files
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading, without_duplicates
from lookback.params.stages import Source
from lookback.paths import portable, resolve
from lookback.registry import layout

CONDITION_TYPES = ("source-video", "geometry-cache", "model-inferred", "prompt-only")
PATH_FIELDS = ("eval_video_path", "path", "video_path", "video")
MANIFEST_SUFFIXES = (".json", ".jsonl", ".csv")
MODEL_SUBFOLDERS = ("videos", "outputs")  # between a model's folder and its videos
EXTRA_FIELDS = (
    "world_state_prompt", "reasoning_tier", "divergence_id", "variant_id", "display_name", "model_input", "input_kind", "oov_gap",
    *CONTROL_FIELDS,
)  # fmt: skip


@layout(
    name="wrbench",
    title="WRBench manifest with camera sidecars",
    looks_like="a manifest (manifest*.json, .jsonl, .csv or videos.json), or <video>.camera.json beside videos",
)
class WRBench:
    """Reads a manifest file, a folder that holds one (or one per model), or videos with sidecars."""

    @staticmethod
    def detect(root: Path) -> str | None:
        if found := manifests(root):
            return f"it holds the manifest {found[0].name}"
        if not root.is_dir() or (root / "dataset.yaml").exists():
            return None
        for folder in (root, *folders(root), *(inner for child in folders(root) for inner in folders(child))):
            if beside := next((path for path in entries(folder) if path.name.endswith(SIDECAR)), None):
                return f"{beside.name} lies beside a video"
        return None

    @staticmethod
    def read(source: Source) -> Reading:
        path = resolve(source.root)
        return _Reader(Root.of(str(path.parent if path.is_file() else path)), manifests(path)).read()


def manifests(root: Path) -> list[Path]:
    """The manifest files: the path itself, or those in the folder, or those one level below (one per model)."""
    if root.is_file():
        return [root] if root.suffix.lower() in MANIFEST_SUFFIXES else []
    for places in ([root], folders(root)):
        found = [path for place in places for path in entries(place) if _is_manifest(path)]
        if found:
            return found
    return []


def _is_manifest(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in MANIFEST_SUFFIXES and path.stem.split(".")[0] in ("manifest", "videos")


class _Reader:
    def __init__(self, root: Root, files: list[Path]):
        self.root, self.files = root, files
        self.findings = Findings()
        self.where: dict[int, Path | str] = {}
        self.suite: Natural25 | None = None
        self.suite_folder: Path | None = None

    def read(self) -> Reading:
        reading = Reading("wrbench", violations=self.findings.violations)
        self._load_suite(reading)
        clips = []
        for base, row in self._rows():
            if (clip := self._clip(base, row)) is not None:
                self.where[id(clip)] = row.where
                clips.append(clip)
        reading.clips = without_duplicates(clips, self.findings, self.where)
        source = ", ".join(path.name for path in self.files) or "the sidecars"
        reading.notes.append(f"WRBench: {len(reading.clips)} clips from {source}")
        return reading

    def _load_suite(self, reading: Reading) -> None:
        self.suite_folder = find_natural25(self.root.path)
        if self.suite_folder is None:
            return
        try:
            self.suite = read_natural25(self.suite_folder)
        except ContractError as error:
            self.findings.add(Breach(self.suite_folder, "natural25", str(error), "take the suite's files from WRBench again"))
            return
        reading.notes.append(f"Natural-25: {len(self.suite.families)} families, {len(self.suite.variants)} variants")

    def _rows(self) -> list[tuple[Path, Document]]:
        rows: list[tuple[Path, Document]] = []
        for path in self.files:
            with self.findings.guard():
                self.root.confirm(path, path, "path")
                for where, value in _manifest_rows(path):
                    with self.findings.guard():
                        if isinstance(value, Breach):
                            raise value
                        rows.append((path.parent, Document(value, where)))
        return _last_tries(rows) if self.files else self._rows_from_sidecars()

    def _rows_from_sidecars(self) -> list[tuple[Path, Document]]:
        rows = []
        for folder, files in walk(self.root, self.findings):
            for video in files:
                if video.suffix.lower() in VIDEO_SUFFIXES and sidecar_path(video).exists():
                    model = folder.parent if folder.name in MODEL_SUBFOLDERS else folder
                    row = {"path": video.name, "model": model.name, "video_id": video.stem, **self._variant_in(video.stem)}
                    rows.append((folder, Document(row, video)))
        return rows

    def _variant_in(self, stem: str) -> dict[str, str]:
        """The Natural-25 variant with which a file name begins."""
        found = [name for name in (self.suite.variants if self.suite else ()) if stem.startswith(name)]
        return {"variant_id": max(found, key=len)} if found else {}

    def _clip(self, base: Path, row: Document) -> Clip | None:
        item = ClipRef()
        try:
            model = row.text(row.first("model", "model_id"))
            item = ClipRef(model_id=model)
            if str(row.get("status") or "ok") in ("failed", "error"):
                problem = f"the generation failed ({row.get('error') or 'no message'})"
                raise Breach(row.where, "status", problem, "generate the video again", Reason.MISSING_INPUT)
            values = self._task(row)
            item = ClipRef(model, "", values["condition_id"], values["sample_id"])
            field = row.first("path", *PATH_FIELDS)
            video = self.root.video(in_dataset(self.root, row.text(field), row.where, field, base), row.where, field)
        except Breach as breach:
            self.findings.add(breach, item=item)
            return None
        for name in ("condition_type", "camera"):
            with self.findings.guard(name, item):
                values |= getattr(self, f"_{name}")(row, values)
        values |= self._camera_files(base, row, video, item, values) | column_files(self.root, row, base, self.findings, item)
        setting = row.text(row.first("setting", "dataset", "suite"), "natural25")
        clip_id = row.text(row.first("clip_id", "video_id"), "") or f"{values['sample_id']}:{values['condition_id']}"
        return Clip(benchmark="wrbench", setting=setting, model_id=model, clip_id=clip_id, video=portable(video), **values)

    def _task(self, row: Document) -> dict[str, Any]:
        """The task of the clip: from the row, completed from the suite."""
        variant = self.suite.variants.get(str(row.get("variant_id"))) if self.suite else None
        known: dict[str, Any] = variant.record if variant else {}
        merged = Document({**known, **{key: value for key, value in row.value.items() if value not in (None, "")}}, row.where)
        family = merged.text("family_id", "") or merged.text("scene", "")
        delta = merged.text(merged.first("event_level", "event_delta"), "")
        if delta and delta not in FACTORS:
            raise Breach(
                row.where, merged.first("event_level", "event_delta"), f"is '{delta}'", f"write one of {', '.join(FACTORS)}"
            )
        suite_family = self.suite.families.get(family) if self.suite else None
        return {
            "sample_id": merged.text("variant_id", "") or family or merged.text(merged.first("clip_id", "video_id")),
            "condition_id": _condition(merged),
            "scene": family,
            "prompt": merged.text(merged.first("prompt", "ti2v_prompt"), ""),
            "object_name": merged.text("object_name", "") or (suite_family.primary_object if suite_family else ""),
            "event_level": FACTORS[delta][0] if delta else "",
            "event_action": merged.text("event_action", "") or action_of(family),
            "expected_state": merged.text("expected_state", ""),
            "reference_image": self._first_frame(family),
            "extras": {name: merged.get(name) for name in EXTRA_FIELDS if merged.get(name) not in (None, "")},
        }

    def _first_frame(self, family: str) -> str | None:
        if not family or self.suite_folder is None:
            return None
        path = self.suite_folder / "first_frames" / f"{family}.png"
        return portable(path) if path.is_file() else None

    def _condition_type(self, row: Document, values: dict[str, Any]) -> dict[str, Any]:
        field = row.first("condition_type", "viewpoint_condition_type")
        text = row.text(field, "").replace("_", "-").replace(" ", "-").lower()
        text = text or condition_type_of(row.text(row.first("model", "model_id")))
        if text and text not in CONDITION_TYPES:
            raise Breach(row.where, field, f"is '{text}'", f"write one of {', '.join(CONDITION_TYPES)}")
        return {"condition_type": text}

    def _camera(self, row: Document, values: dict[str, Any]) -> dict[str, Any]:
        camera, extras = camera_request(values["condition_id"], row.where, row.first("camera_type", "camera", "oov_gap"))
        return {"camera": camera, "extras": {**values["extras"], **extras}}

    def _camera_files(self, base: Path, row: Document, video: Path, item: ClipRef, values: dict[str, Any]) -> dict[str, Any]:
        """Target poses, field of view and details of the request, from the row and the files beside the video."""
        found: dict[str, Any] = {}
        given, sidecar = (self._beside(video, suffix, item) for suffix in (D1_TARGET, SIDECAR))
        if sidecar is not None:
            found["extras"] = {**values["extras"], **control_of(sidecar)}
            if not values.get("camera"):
                with self.findings.guard("camera", item):
                    found["camera"], _ = camera_request(*sidecar_request(sidecar))
            with self.findings.guard("fov_deg", item):
                found |= sidecar_facts(sidecar)
        target, faults = find_target(self.root, video, base, row, given, sidecar)
        for breach in faults:
            self.findings.add(breach, "target_poses", item, kept=target is not None)
        if target is not None:
            found |= {"target_poses": target.file, "extras": {**found.get("extras", values["extras"]), **target.control}}
        return found

    def _beside(self, video: Path, suffix: str, item: ClipRef) -> Document | None:
        """A document beside the video, if it is there and can be read."""
        document, path = None, sidecar_path(video, suffix)
        with self.findings.guard("target_poses", item):
            self.root.confirm(path, path, "path")
            document = read_sidecar(path)
        return document


def _condition(row: Document) -> str:
    """The camera's name. Turns of several sizes have one camera type; their label (yaw30_LR) tells them apart."""
    name = row.text(row.first("camera_type", "camera", "oov_gap"), "")
    return row.text("camera", name) if row.get("stress_yaw_deg") is not None else name


@cache
def _condition_types() -> dict[str, str]:
    text = resources.files("lookback.benchmarks.wrbench").joinpath("released_models.csv").read_text(encoding="utf-8")
    return {row["key"]: row["condition_type"] for row in csv.DictReader(io.StringIO(text))}


def condition_type_of(model: str) -> str:
    """The viewpoint condition type of a model that WRBench names, by the key of its registry; empty for other models."""
    return _condition_types().get(re.sub(r"[_.]", "-", model.lower()), "")


def _last_tries(rows: list[tuple[Path, Document]]) -> list[tuple[Path, Document]]:
    """The rows with one row per video that the generation script tried several times."""
    tried: dict[tuple[str, str], int] = {}
    kept: list[tuple[Path, Document]] = []
    for base, row in rows:
        video = (str(row.get("model")), str(row.get("video_id")))
        if row.get("status") and row.get("video_id") and video in tried:
            before = kept[tried[video]][1].value
            again = {name: value for name, value in row.value.items() if value not in (None, "") or name not in before}
            again["error"] = row.get("error")
            kept[tried[video]] = (base, Document({**before, **again}, row.where))
            continue
        if row.get("status"):
            tried[video] = len(kept)
        kept.append((base, row))
    return kept


def _manifest_rows(path: Path) -> list[tuple[Path | str, Any]]:
    """Rows of a manifest: a JSON list (or a mapping with one under videos, rows or items), JSON lines, or CSV."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return [(where, {key: value or None for key, value in row.items()}) for where, row in read_rows(path)]
    if suffix == ".jsonl":
        return list(read_jsonl(path))
    value = read_json(path)
    shared: dict[str, Any] = {}
    if isinstance(value, dict):
        shared = {key: value[key] for key in ("setting", "dataset", "suite") if isinstance(value.get(key), str)}
        value = next((value[key] for key in ("videos", "rows", "items") if isinstance(value.get(key), list)), None)
    if not isinstance(value, list):
        raise Breach(path, "videos", "holds no list of videos", 'write a list of rows, or {"videos": [...]}')
    name = portable(path)
    return [(f"{name}[{index}]", {**shared, **row} if isinstance(row, dict) else row) for index, row in enumerate(value)]
