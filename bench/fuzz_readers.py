"""Every reader of outside files, each with a small valid file of its kind: what `fuzz.py` spoils and has read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from lookback.agreement.frozen import freeze, read_frozen
from lookback.agreement.importers import read_gold, read_ratings
from lookback.agreement.plan import load_plan
from lookback.agreement.scores import read_scores
from lookback.backends.depth import read_depth
from lookback.backends.files import ROLES, read_given
from lookback.backends.pose.formats import FORMATS, read_poses
from lookback.benchmarks.memobench.metrics.vqa import DIMENSIONS
from lookback.benchmarks.memobench.vqa.bank import EVALUATIONS, FINAL, START, read_question_files
from lookback.benchmarks.memobench.vqa.pipeline import read_known_failures
from lookback.camera import compile as compile_request
from lookback.camera import inverse, preset
from lookback.checkpoints import read_curve
from lookback.clips import Clip
from lookback.conditions.build import Line, file_name, read_condition, read_conditions
from lookback.conditions.interface import Interface, read_interface
from lookback.conditions.plans import read_plan
from lookback.conditions.records import RecordFiles
from lookback.curation.contract import validate
from lookback.desk.settings import load_settings
from lookback.errors import ContractError
from lookback.estimate import hours_table, read_measured
from lookback.hashcache import HashCache
from lookback.inspector.anchors import read_rows as anchor_rows
from lookback.judging.packs import read_pack
from lookback.judging.recording import Recording
from lookback.layouts.documents import read_rows
from lookback.measures.requested import load_array
from lookback.media import VideoInfo, encode, open_video
from lookback.media.frames import read_image
from lookback.params import load_run
from lookback.params.stages import Source
from lookback.paths import frozen_file, project_root
from lookback.progress import read_progress, seconds_left
from lookback.published.regenerate import read_tables
from lookback.registry import BENCHMARKS
from lookback.report.stage_tables import read_named
from lookback.selfcheck.recorded import read_recorded, recorded_path
from lookback.store import ArtifactStore, Producer
from lookback.tables import empty_table, read_table, write_table
from lookback.validity.dataset import COLUMNS, read_labels
from lookback.weights.lock import read_lock
from PIL import Image

FRAMES, WIDTH, HEIGHT = 6, 64, 48
RECORDS = {
    "mbench": "mbench_a/sample.json",
    "memobench": "memobench/phases.csv",
    "mind": "mind/action.json",
    "wrbench": "wrbench/variants.jsonl",
}
DOCUMENTS = {".json", ".jsonl", ".yaml", ".csv", ".xlsx", ".txt", ".npy", ".npz"}


@dataclass(frozen=True)
class Reader:
    """A file, and the call that reads it. The call raises only errors with a sentence or a typed reason."""

    name: str
    path: Path
    read: Callable[[], object]


def all_readers(folder: Path, check: Callable[[Source], object] | None = None) -> list[Reader]:
    """Writes the valid files below `folder`. `check` reads the datasets; left out, every clip is looked into as `validate` does."""
    parts = (
        media(folder),
        arrays(folder),
        given(folder),
        poses(folder),
        datasets(folder, check or strict),
        settings(folder),
        conditions(folder),
        votes(folder),
        lists(folder),
        stored(folder),
    )
    return [reader for part in parts for reader in part]


def picture() -> np.ndarray:
    block = np.random.default_rng(0).integers(0, 255, (HEIGHT // 4, WIDTH // 4 + FRAMES, 3), dtype=np.uint8)
    wide = block.repeat(4, 0).repeat(4, 1)
    return np.stack([wide[:, i : i + WIDTH] for i in range(FRAMES)])


def watch(path: Path) -> int:
    """Decode everything."""
    with open_video(path, 8.0) as reader:
        return sum(1 for _ in reader)


def media(folder: Path) -> Iterator[Reader]:
    frames = picture()
    for suffix in (".mp4", ".mkv"):
        path = encode(folder / f"clip{suffix}", frames, 8)
        yield Reader(f"video {suffix[1:]}", path, partial(watch, path))
    images = [Image.fromarray(frame) for frame in frames]
    for suffix, more in ((".gif", {}), (".webp", {"lossless": True})):
        path = folder / f"clip{suffix}"
        images[0].save(path, save_all=True, append_images=images[1:], duration=125, **more)
        yield Reader(f"animation {suffix[1:]}", path, partial(watch, path))
    (folder / "frames").mkdir()
    for suffix in (".png", ".jpg"):
        path = folder / "frames" / f"0{suffix}"
        images[0].save(path)
        yield Reader(f"image {suffix[1:]}", path, partial(read_image, path))


def info(folder: Path) -> VideoInfo:
    return VideoInfo(folder / "clip.mp4", "video", FRAMES, 8.0, WIDTH, HEIGHT, FRAMES / 8, 0, "h264", "yuv420p", False)


def camera_path() -> np.ndarray:
    return compile_request(preset("yaw_LR", FRAMES))


def arrays(folder: Path) -> Iterator[Reader]:
    np.save(folder / "target.npy", camera_path())
    yield Reader("npy target poses", folder / "target.npy", partial(load_array, folder / "target.npy"))
    np.savez(folder / "depth.npz", depth=np.ones((FRAMES, 12, 16), np.float32))
    yield Reader("npz depth", folder / "depth.npz", partial(read_depth, folder / "depth.npz", 320, info(folder)))
    (folder / "maps").mkdir()
    Image.fromarray(np.full((12, 16), 2000, np.uint16)).save(folder / "maps" / "0.png")
    yield Reader("png depth map", folder / "maps" / "0.png", partial(read_depth, folder / "maps", 320, info(folder)))


def given(folder: Path) -> Iterator[Reader]:
    """A file of every role whose arrays may be made elsewhere."""
    rows = np.arange(FRAMES)
    masks = np.zeros((FRAMES, HEIGHT, WIDTH), np.uint8)
    masks[:, 8:24, 8:24] = 1
    vectors = np.eye(FRAMES, 8, dtype=np.float32)
    boxes = np.tile(np.array([8, 8, 24, 24], np.float32), (FRAMES, 1))
    points = np.zeros((FRAMES, 5, 2), np.float32)
    ones = np.ones(FRAMES, np.float32)
    files = {
        "masks": {"masks": masks, "frame_index": rows, "confidence": ones},
        "people": {"masks": masks, "frame_index": rows, "track": rows * 0},
        "faces": {"frame": rows, "box": boxes, "landmarks": points, "score": ones, "embedding": vectors, "track": rows * 0},
        "depth": {"depth": np.ones((FRAMES, 12, 16), np.float32)},
        "clip": {"frame_index": rows, "image": vectors, "segment": rows * 0, "text": vectors[:1]},
        "object_features": {"object_frame": rows, "object": vectors},
        "person_features": {"person_frame": rows, "person": vectors, "person_track": rows * 0},
    }
    for role in ROLES:
        path = folder / f"given.{role}.npz"
        np.savez(path, allow_pickle=False, **files[role])
        yield Reader(f"given {role}", path, partial(read_given, role, path, info(folder)))


def unreal_rows() -> str:
    rows = [f"{i},0,1,0,0,{i / 10},50,50,32,24" for i in range(FRAMES)]
    return "\n".join(["loc_x,loc_y,loc_z,rot_x,rot_y,rot_z,fx,fy,cx,cy", *rows])


def poses(folder: Path) -> Iterator[Reader]:
    c2w, facts = camera_path(), info(folder)
    intrinsics = np.tile(np.array([[50.0, 0, 32], [0, 50, 24], [0, 0, 1]]), (FRAMES, 1, 1))
    w2c = inverse(c2w)
    quaternion = [f"{np.cos(angle / 2)} 0 {np.sin(angle / 2)} 0" for angle in np.linspace(0, 1, FRAMES)]
    files: dict[str, tuple[str, Callable[[Path], object]]] = {
        "da3": ("results.npz", lambda path: np.savez(path, extrinsics=w2c[:, :3], intrinsics=intrinsics)),
        "vggt": ("vggt.npz", lambda path: np.savez(path, extrinsic=w2c[:, :3], intrinsic=intrinsics)),
        "vipe": ("vipe.npz", lambda path: np.savez(path, data=c2w, inds=np.arange(FRAMES))),
        "mapanything": ("mapanything.npz", lambda path: np.savez(path, cam_c2w=c2w, intrinsic=intrinsics)),
        "c2w": ("c2w.npy", lambda path: np.save(path, c2w)),
        "vggt_omega": ("poses.npy", lambda path: np.save(path, c2w)),
        "ue5": ("camera_full1.csv", lambda path: path.write_text(unreal_rows())),
        "kitti": ("kitti.txt", lambda path: np.savetxt(path, c2w[:, :3].reshape(FRAMES, 12))),
        "tum": (
            "tum.txt",
            lambda path: np.savetxt(path, np.c_[np.arange(FRAMES), c2w[:, :3, 3], np.tile([0, 0, 0, 1], (FRAMES, 1))]),
        ),
        "colmap": (
            "images.txt",
            lambda path: path.write_text(
                "".join(f"{i + 1} {q} 0 0 0 1 frame_{i}.png\n1.5 2.5 -1\n" for i, q in enumerate(quaternion))
            ),
        ),
    }
    for name in FORMATS:
        file, write = files[name]
        place = folder / name
        place.mkdir()
        write(place / file)
        if name == "colmap":
            (place / "cameras.txt").write_text(f"1 PINHOLE {WIDTH} {HEIGHT} 50 50 32 24\n")
            read = partial(read_poses, place / file, name, facts)
            yield Reader("poses colmap cameras", place / "cameras.txt", read)
        yield Reader(f"poses {name}", place / file, partial(read_poses, place / file, name, facts))


def datasets(folder: Path, check: Callable[[Source], object]) -> Iterator[Reader]:
    """One clip per benchmark and setting from the demo world; every document of the datasets is spoilt in its place."""
    from lookback.demo.datasets import dataset_sources, write_datasets
    from lookback.demo.plan import PlannedClip, demo_plan

    chosen: dict[tuple[str, str], PlannedClip] = {}
    for clip in demo_plan(width=64, height=64, scale=0.02):
        chosen.setdefault((clip.task.benchmark, clip.task.setting), clip)
    root = folder / "datasets"
    write_datasets(list(chosen.values()), root, workers=1)
    seen: set[tuple[str, str]] = set()
    for source in dataset_sources(root):
        for place in (source.root, source.gt_root or "", source.phases or ""):
            base = Path(place) if place else None
            files = [] if base is None else [base] if base.is_file() else sorted(base.rglob("*"))
            for path in files:
                kind = (str(source.layout), "".join(path.suffixes[-2:]) if len(path.suffixes) > 1 else path.name)
                if path.suffix in DOCUMENTS and kind not in seen and path.is_file():
                    seen.add(kind)
                    yield Reader(f"{source.layout} {path.name[-24:]}", path, partial(check, source))
    (root / "flat").mkdir()
    encode(root / "flat" / "a.mp4", picture(), 8)
    for name, rows in {"models.csv": "file,model,fps\na.mp4,m,8\n", "files.csv": "clip_id,masks\na,a.npz\n"}.items():
        (root / "flat" / name).write_text(rows)
        yield Reader(f"folder {name}", root / "flat" / name, partial(check, Source(root=str(root / "flat"), layout="folder")))
    interface = read_interface("text")
    for name, file in RECORDS.items():
        records, home = BENCHMARKS.get(name).records(), root / file.partition("/")[0]
        path = next(home.rglob(file.rpartition("/")[2]))
        yield Reader(f"records {name}", path, partial(records_read, records, home, interface))


def records_read(records: RecordFiles | None, place: Path, interface: Interface) -> object:
    assert records is not None
    return list(records.read(place, interface, ()))


def strict(source: Source) -> None:
    """Strict validation; violations are its way to refuse."""
    if found := validate(source, workers=1):
        raise ContractError(found[0].line)


def settings(folder: Path) -> Iterator[Reader]:
    parameters: list[tuple[str, Callable[[Path], object]]] = [
        ("demo.yaml", lambda path: load_run(str(path))),
        ("agreement.yaml", load_plan),
        ("weights.lock.yaml", read_lock),
    ]
    for name, read in parameters:
        path = folder / name
        path.write_bytes((project_root() / "params" / name).read_bytes())
        yield Reader(f"parameters {name}", path, partial(read, path))
    freeze(folder / "agreement.yaml")
    frozen = frozen_file(folder / "agreement.yaml")
    yield Reader("frozen plan", frozen, partial(read_frozen, frozen))
    texts: dict[str, tuple[Callable[[Path], object], str]] = {
        "study": (load_settings, "form: mbench_pairwise\nraters: 3\ngold_share: 0.1\ninstructions: [Look well.]\n"),
        "plan": (read_plan, "benchmark: mind\nscenes: [{name: hall, prompt: A hall., camera: 'yaw:left:30@41', mark_time: 30}]\n"),
        "pack": (
            partial(read_pack, BENCHMARKS.get("mbench"), "mbench_ratings"),
            "source: ours\nsystem: You compare.\nuser: Is it so?\n",
        ),
    }
    for name, (read, text) in texts.items():
        (folder / f"{name}.yaml").write_text(text)
        yield Reader(f"settings {name}", folder / f"{name}.yaml", partial(read, folder / f"{name}.yaml"))
    for package in ("lookback.conditions.interfaces/camera-path.yaml", "lookback.benchmarks.mind.published/tables.yaml"):
        module, _, name = package.partition("/")
        path = folder / name
        path.write_bytes((project_root() / "lib" / module.replace(".", "/") / name).read_bytes())
        tables = name == "tables.yaml"
        yield Reader(f"settings {name}", path, partial(published_read, path) if tables else partial(read_interface, str(path)))


def published_read(path: Path) -> object:
    return read_tables(path.read_text(errors="replace"), "x")


def conditions(folder: Path) -> Iterator[Reader]:
    """A folder that `lookback conditions make` wrote."""
    kinds = {"int": 8, "float": 8.0, "list[str]": []}
    row = {name: kinds.get(str(kind), "") for name, kind in Line.__annotations__.items() if name != "fps"} | {"fps": 8.0}
    row |= {"clip_id": "a", "model": "m", "benchmark": "mind", "output": "m/a.mp4", "hash": "0"}
    place = folder / "made"
    record = place / "conditions" / "m" / f"{file_name('', 'a')}.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"interface": {"model": "m", "takes": "text"}, "facts": {}}))
    (place / "conditions.jsonl").write_text(json.dumps(row) + "\n")
    yield Reader("conditions list", place / "conditions.jsonl", partial(read_conditions, place))
    yield Reader("conditions record", record, partial(read_condition, place, row))


def lists(folder: Path) -> Iterator[Reader]:
    """Tables that people write or open in a spreadsheet."""
    clip = Clip(benchmark="mind", setting="", model_id="m", clip_id="a", video="a.mp4")
    measured = "benchmark,part,model,seconds_per_clip,share_of_clips\nmind,scoring,,1.5,1.0\n"
    scores = "benchmark,setting,model_id,clip_id,metric,value,reason\nmind,,m,a,mind.lcm,1.5,\n"
    label = ",".join(COLUMNS) + "\nCup_001_m,,,none,none,yes,no\n"
    files: dict[str, tuple[str, Callable[[Path], object]]] = {
        "measured.csv": (measured, lambda path: hours_table(read_measured(path))),
        "scores.csv": (scores, read_scores),
        "stage.csv": (scores, read_named),
        "scores.jsonl": ('{"clip_id": "a", "metric": "mind.lcm", "value": 1.5}\n', read_scores),
        "gold.csv": ("annotator,label,expected\na,1,0\n", read_gold),
        "labels.csv": (label, lambda path: read_labels(path.parent)),
        "recorded.csv": (recorded_path().read_text(), read_recorded),
        "failures.csv": ("clip_id,model_id,hint\na,m,the cup\n", lambda path: read_known_failures(path, [clip])),
        "boxes.csv": ("clip_id,model,centre_x,centre_y,width,height,name\na,m,0.5,0.5,0.1,0.1,cup\n", anchor_rows),
        "curve.csv": ("checkpoint,step,benchmark,mean,n\na,1,mind,0.5,3\n", lambda path: read_curve(path.parent)),
        "progress.json": (
            '{"what": "scoring", "done": 1, "total": 3, "unit": "clip", "left_s": 5, "note": ""}',
            lambda path: (read_progress(path), seconds_left(path)),
        ),
    }
    for name, (text, read) in files.items():
        (folder / name).write_text(text)
        yield Reader(f"list {name}", folder / name, partial(read, folder / name))


def votes(folder: Path) -> Iterator[Reader]:
    pd.DataFrame({"clip": ["Kitchen_001"], "d_start": [3], "r_start": [5]}).to_excel(folder / "phases.xlsx", index=False)
    yield Reader("sheet xlsx", folder / "phases.xlsx", partial(read_rows, folder / "phases.xlsx"))
    rows = [
        {
            "task": "trigger",
            "benchmark": "mbench",
            "dimension": "d",
            "clip_a": f"c{i}",
            "model_a": "m",
            "annotator": "a",
            "label": "yes",
        }
        for i in range(3)
    ]
    table = pd.DataFrame(rows)
    table.to_csv(folder / "votes.csv", index=False)
    (folder / "votes.json").write_text(json.dumps(rows))
    (folder / "votes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table.to_parquet(folder / "votes.parquet")
    studio = [
        {
            "id": 1,
            "data": rows[0],
            "annotations": [{"completed_by": 1, "result": [{"type": "choices", "value": {"choices": ["yes"]}}]}],
        }
    ]
    (folder / "studio.json").write_text(json.dumps(studio))
    for name in ("votes.csv", "votes.json", "votes.jsonl", "votes.parquet", "studio.json"):
        yield Reader(f"ratings {name}", folder / name, partial(read_ratings, folder / name))
    (folder / "vqa").mkdir()
    path = folder / "vqa" / "Kitchen-1-questions.csv"
    asked = [{"ID": 1, "Dimension": DIMENSIONS[0], "Polarity": "positive", "Question": "Is the cup red?"}]
    row = {
        "scene": "Kitchen",
        "video_id": "1",
        START: json.dumps(asked),
        FINAL: json.dumps(asked),
        **dict.fromkeys(EVALUATIONS, "[]"),
    }
    pd.DataFrame([row]).to_csv(path, index=False)
    yield Reader("vqa questions", path, partial(read_question_files, folder / "vqa"))


def stored(folder: Path) -> Iterator[Reader]:
    """Our own files, damaged: taken for absent or refused, never believed."""
    write_table(folder, "rejected", empty_table("rejected"))
    yield Reader("table parquet", folder / "rejected.parquet", partial(read_table, folder, "rejected"))
    producer = Producer("pose", "classical", "1")
    for suffix in (".json", ".npz"):
        store = ArtifactStore(folder / f"store{suffix}")
        path = store.path(producer, store.save(producer, "input", {"a": np.arange(9)}, {"n": 1}))
        original = {name: path.with_suffix(name).read_bytes() for name in (".json", ".npz")}
        yield Reader(f"store {suffix[1:]}", path.with_suffix(suffix), partial(from_store, store, producer, path, suffix, original))
    hashes = folder / "hashes.json"
    hashes.write_text(json.dumps({str(folder / "clip.mp4"): [1, 2, 3, 4, "x"]}))
    yield Reader("hash cache", hashes, lambda: HashCache(hashes).file(folder / "clip.mp4"))
    with Recording(folder / "recording"):
        pass
    yield Reader("judge recording", folder / "recording" / "replies.sqlite", partial(from_recording, folder / "recording"))


def from_store(store: ArtifactStore, producer: Producer, path: Path, spoilt: str, original: dict[str, bytes]) -> None:
    """A discarded entry takes both files with it: put the unspoilt one back first."""
    for suffix, content in original.items():
        if suffix != spoilt:
            path.with_suffix(suffix).write_bytes(content)
    entry = store.load(producer, "input")
    if entry is None:
        raise ContractError("taken for absent, and made again")
    if entry.record != {"n": 1} or entry.arrays["a"].tolist() != list(range(9)):
        raise AssertionError("a damaged entry was believed")


def from_recording(folder: Path) -> None:
    for extra in ("-wal", "-shm"):
        (folder / f"replies.sqlite{extra}").unlink(missing_ok=True)
    with Recording(folder) as recording:
        recording.get("key")
        recording.judges()
