"""WRBench's records: Natural-25's variants, or a user's own table of scenes and events; and the dataset that the videos become.

The camera in words comes from the suite itself: a variant's prompt for a camera is its prompt without a camera and a clause about
the camera. A pan is spoken of as the turn to the same side, as the released library does. Requests that the suite has no words for
are put into words by `lookback.camera.text`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lookback.benchmarks.wrbench.benchmark import WRBench
from lookback.benchmarks.wrbench.natural25 import FACTORS, FILES, Natural25, Variant, find_natural25, read_natural25
from lookback.benchmarks.wrbench.sidecar import NO_CAMERA, to_sidecar, to_trajectory
from lookback.camera.intent import CameraIntent, Rule
from lookback.camera.requests import path_of
from lookback.camera.text import to_text
from lookback.conditions.build import prompt_for
from lookback.conditions.interface import Interface
from lookback.conditions.records import Record, intent_of
from lookback.errors import ParameterError
from lookback.files import copy_folder, write_text
from lookback.layouts.documents import Document, read_json, read_jsonl, read_rows
from lookback.layouts.reading import Breach
from lookback.layouts.writing import write_array, write_json, write_jsonl

RULE: Rule = WRBench.camera_rule
SPOKEN_AS = {"pan_LR": "yaw_LR", "pan_RL": "yaw_RL"}
TABLE = "scene_events*.csv"
TABLE_CAMERAS = ("none", "static", "yaw_LR", "yaw_RL")
EVENTS = {"T0": "none", "T1": "spatial", "T2_div_a": "state_only", "T2_div_b": "full"}
LAYOUT_WORDS, EVENT_TAILS = "t2v_layout_anchors.jsonl", "t2v_event_tails.jsonl"


def holds(root: Path) -> bool:
    return find_natural25(root) is not None or bool(list(root.glob(TABLE)) if root.is_dir() else root.match(TABLE))


def read(root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
    """One record per variant; with `cameras`, one per variant without a camera and per camera."""
    for camera in cameras:  # a wrong camera is refused once, not for every record
        if camera not in NO_CAMERA:
            intent_of(camera, interface.frames)
    found = find_natural25(root)
    if found is None:
        yield from _read_table(root, interface, cameras)
        return
    suite, words = read_natural25(found), _text_only(found)
    for variant in suite.variants.values():
        if not cameras:
            yield _record(suite, variant, variant.camera, variant.variant_id, interface, found, words)
        elif variant.camera == "none":
            for camera in cameras:
                yield _record(suite, variant, camera, f"{variant.variant_id}__{_plain(camera)}", interface, found, words)


def _plain(camera: str) -> str:
    return camera.replace(":", "-").replace(",", "_").replace("@", "-")


def _record(
    suite: Natural25, variant: Variant, camera: str, clip_id: str, interface: Interface, folder: Path, words: Mapping[str, str]
) -> Record | Breach:
    try:
        intent = None if camera in NO_CAMERA else intent_of(camera, interface.frames)
    except ParameterError as error:
        return Breach(folder / FILES[1], "oov_gap", f"{clip_id}: {error}", "use a preset or the camera grammar")
    bare = _sibling(suite, variant, "none") or variant
    return Record(
        "wrbench",
        clip_id,
        bare.prompt,
        _spoken(suite, variant, bare.prompt, camera, intent),
        intent,
        setting="natural25",
        sample_id=variant.variant_id,
        condition_id=camera,
        scene=variant.family_id,
        image=folder / "first_frames" / f"{variant.family_id}.png",
        text_only=words.get(bare.variant_id, ""),
        facts={"family": suite.families[variant.family_id].record, "variant": variant.record},
    )


def _sibling(suite: Natural25, variant: Variant, camera: str) -> Variant | None:
    """The same event of the same family under another camera."""
    stem = variant.variant_id.rpartition("__")[0]
    return suite.variants.get(f"{stem}__{camera}")


def _spoken(suite: Natural25, variant: Variant, bare: str, camera: str, intent: CameraIntent | None) -> str:
    told = _sibling(suite, variant, SPOKEN_AS.get(camera, camera))
    if told is not None:
        return told.prompt
    return f"{bare} {to_text(intent)}" if intent is not None else bare


def _text_only(folder: Path) -> dict[str, str]:
    """variant_id -> a prompt that describes the scene, for models without a first frame; empty without the suite's files."""
    if not (folder / LAYOUT_WORDS).is_file() or not (folder / EVENT_TAILS).is_file():
        return {}
    scenes = {line.text("family_id"): _scene_words(line) for line in _documents(folder / LAYOUT_WORDS)}
    tails = {line.text("variant_id"): line.text("t2v_event_tail") for line in _documents(folder / EVENT_TAILS)}
    return {name: f"{scenes[name.split('__')[0]]} {tail}" for name, tail in tails.items() if name.split("__")[0] in scenes}


def _documents(path: Path) -> list[Document]:
    return [Document(value, where) for where, value in read_jsonl(path) if not isinstance(value, Breach)]


def _scene_words(line: Document) -> str:
    scene, subject, other, surface = (
        line.text(name).rstrip(".").strip() for name in ("scene", "subject", "interactor", "open_surface")
    )
    anchors = " and ".join(each.strip() for each in line.texts("anchors")[:2])
    return f"In {scene}, {subject}; {other}. The layout includes {surface}. {anchors[:1].upper()}{anchors[1:]}."


def _read_table(root: Path, interface: Interface, cameras: Sequence[str]) -> Iterator[Record | Breach]:
    """A table of scenes with four events each, in the form of Natural-25's scene_events_25x4.csv."""
    files = [root] if root.is_file() else sorted(root.glob(TABLE))
    if not files:
        yield Breach(root, "records", f"holds neither {' and '.join(FILES)} nor {TABLE}", "name the folder of a prompt suite")
        return
    for where, row in read_rows(files[0]):
        for tier, delta in EVENTS.items():
            for camera in cameras or TABLE_CAMERAS:
                try:
                    yield _from_row(files[0].parent, Document(row, where), tier, delta, camera, interface)
                except Breach as breach:
                    yield breach
                except ParameterError as error:
                    yield Breach(where, "camera", str(error), "use a preset or the camera grammar")


def _from_row(folder: Path, row: Document, tier: str, delta: str, camera: str, interface: Interface) -> Record:
    family, event = row.name("family_id"), row.text(f"event_{tier.lower()}")
    opening = row.text("first_frame_summary", "") or f"{row.text('primary_object')} in {row.text('scene')}"
    prompt = f"{opening[:1].upper()}{opening[1:].rstrip('.')}. {event.rstrip('.')}."
    intent = None if camera in NO_CAMERA else intent_of(camera, interface.frames)
    known = row.text(f"event_delta_{tier.lower()}", delta)
    if known not in FACTORS:
        raise Breach(row.where, f"event_delta_{tier.lower()}", f"is '{known}'", f"write one of {', '.join(FACTORS)}")
    variant_id, (short, _, divergence) = f"{family}__{tier}__{_plain(camera)}", tier.partition("_")
    variant = {
        "variant_id": variant_id, "family_id": family, "reasoning_tier": short, "oov_gap": camera, "event_delta": known,
        "divergence_id": divergence or None, "world_state_prompt": event, "expected_state": event, "ti2v_prompt": prompt,
    }  # fmt: skip
    scene = {"family_id": family, "scene": row.text("scene"), "primary_object": {"name": row.text("primary_object")}}
    return Record(
        "wrbench", variant_id, prompt, f"{prompt} {to_text(intent)}" if intent else prompt, intent, setting="natural25",
        sample_id=variant_id, condition_id=camera, scene=family, image=folder / "first_frames" / f"{family}.png",
        facts={"family": scene, "variant": variant},
    )  # fmt: skip


def video(record: Record, model: str) -> str:
    return f"{model}/videos/{record.clip_id}.mp4"


def beside(out: Path, record: Record, interface: Interface) -> None:
    """The sidecar with the requested and the delivered condition, the target poses and the trajectory."""
    if record.camera is None:
        return
    place, (width, height) = out / video(record, interface.model), interface.size
    sidecar = to_sidecar(record.camera, place.name, interface.fps, width, height, interface.fov_deg)
    told = {
        "takes": interface.takes,
        "prompt": prompt_for(record, interface),
        "axes": interface.axes,
        "matrix": interface.matrix,
        "rotation_gain": interface.rotation_gain,
        "translation_gain": interface.translation_gain,
    }
    write_json(place.with_name(f"{place.name}.camera.json"), {**sidecar, "delivered_condition": told})
    write_array(place.with_name(f"{place.name}.target_c2w.npy"), path_of(record.camera, RULE))
    write_text(
        place.with_name(f"{place.name}.camera_trajectory.json"),
        _trajectory(record.camera, interface.size, interface.fov_deg, interface.fps),
    )


@lru_cache(maxsize=64)
def _trajectory(camera: CameraIntent, size: tuple[int, int], fov_deg: float, fps: float) -> str:
    """The trajectory file of a request; hundreds of records share a few requests."""
    width, height = size
    focal = 0.5 * width / np.tan(np.radians(fov_deg) / 2)
    matrix = np.array([[focal, 0.0, width / 2], [0.0, focal, height / 2], [0.0, 0.0, 1.0]])
    return json.dumps(to_trajectory(camera, path_of(camera, RULE), matrix, fps))


def finish(out: Path, source: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    """manifest.json over all models, and the suite's files beside it."""
    model, manifest = conditions[0]["model"], out / "manifest.json"
    known = read_json(manifest)["videos"] if manifest.is_file() else []
    rows = [row for row in known if row["model"] != model] + [_manifest_row(condition) for condition in conditions]
    write_json(manifest, {"setting": "natural25", "videos": sorted(rows, key=lambda row: (row["model"], row["video_id"]))})
    folder = find_natural25(source)
    if folder is None:
        _write_suite(out, conditions)
    elif folder.resolve() != out.resolve():
        for name in FILES:
            shutil.copyfile(folder / name, out / name)
        if (folder / "first_frames").is_dir():
            copy_folder(folder / "first_frames", out / "first_frames")


def _write_suite(out: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    families = {condition["facts"]["family"]["family_id"]: condition["facts"]["family"] for condition in conditions}
    write_jsonl(out / FILES[0], families.values())
    write_jsonl(out / FILES[1], [condition["facts"]["variant"] for condition in conditions])


def _manifest_row(condition: Mapping[str, Any]) -> dict[str, Any]:
    interface = Interface.model_validate(condition["interface"])
    return {
        "video_id": condition["clip_id"],
        "model": condition["model"],
        "path": condition["output"],
        "camera_type": condition["condition_id"],
        "variant_id": condition["facts"]["variant"]["variant_id"],
        "family_id": condition["scene"],
        "viewpoint_condition_type": interface.viewpoint,
        "prompt": condition["prompt"],
    }
