"""Small datasets written by hand in each layout, as the benchmarks' own documents describe them."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from lookback.benchmarks.wrbench.sidecar import to_sidecar
from lookback.camera import compile as compile_request
from lookback.camera import inverse, preset
from lookback.media import encode

FRAMES, WIDTH, HEIGHT = 12, 64, 48


def frames(n: int = FRAMES, seed: int = 0) -> np.ndarray:
    """A textured picture that slides: no cut, something to see."""
    texture = np.random.default_rng(seed).integers(0, 255, (HEIGHT // 4, WIDTH // 4 + n, 3), dtype=np.uint8)
    big = texture.repeat(4, axis=0).repeat(4, axis=1)
    return np.stack([big[:HEIGHT, i : i + WIDTH] for i in range(n)])


@cache
def encoded(suffix: str, n: int, seed: int, fps: float) -> bytes:
    with TemporaryDirectory() as folder:
        return encode(Path(folder) / f"video{suffix}", frames(n, seed), fps).read_bytes()


def video(path: Path, n: int = FRAMES, seed: int = 0, fps: float = 8) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(path.suffix, n, seed, fps))
    return path


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def write_csv(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


def turn(n: int = FRAMES, degrees: float = 60.0) -> np.ndarray:
    return compile_request(preset("yaw_LR", n, degrees))


def da3(path: Path, c2w: np.ndarray) -> Path:
    """Depth-Anything-3's export: world-to-camera (N,3,4) and intrinsics at the processed resolution."""
    path.parent.mkdir(parents=True, exist_ok=True)
    intrinsics = np.tile(np.array([[20.0, 0, 16], [0, 20.0, 12], [0, 0, 1]]), (len(c2w), 1, 1))
    np.savez(path, depth=np.ones((len(c2w), 24, 32), np.float32), extrinsics=inverse(c2w)[:, :3], intrinsics=intrinsics)
    return path


SAMPLES = {
    "human": {"metadata": {"caption": "A person walks out and back."}},
    "object": {"metadata": {"caption": "A cup.", "object_anchor": {"center": [30, 20], "width": 12, "height": 10}}},
    "environment": {"metadata": {"caption": "A street."}},
    "causal": {"metadata": {"caption": "Ice melts."}, "annotations": {"action": "left_then_right"}},
}
SEGMENTS = ["The ice is whole.", "The camera turns left.", "It holds still.", "The camera turns right.", "The ice has melted."]


def mbench(root: Path, setting: str = "A", models: tuple[str, ...] = ("wan",)) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.yaml").write_text(
        f"dataset_id: mbench{setting.lower()}\nversion: '1.0'\npath_mode: relative_to_dataset_root\n"
    )
    condition = "left_then_right_10s" if setting == "A" else "text"
    for subset, sample in SAMPLES.items():
        content = {"sample_id": f"{subset}_1", "subset": subset, **sample}
        if setting == "T":
            content["metadata"] = {"caption_segments": SEGMENTS, "object_card": {"name": "a cup", "attributes": ["red"]}}
        write_json(root / "samples" / subset / f"{subset}_1" / "sample.json", content)
    for number, model in enumerate(models):
        lines = []
        for subset in SAMPLES:
            inner = f"{subset}/{subset}_1/{condition}"
            video(root / "models" / model / "outputs" / inner / "video.mp4", seed=number)
            da3(root / "models" / model / "artifacts" / inner / "da3" / "results.npz", turn())
            lines.append(
                {
                    "item_id": f"{subset}:{subset}_1:{condition}",
                    "dataset_id": f"mbench{setting.lower()}",
                    "subset": subset,
                    "sample_id": f"{subset}_1",
                    "condition_id": condition,
                    "model_id": model,
                    "media": {"videos": [{"path": f"outputs/{inner}/video.mp4", "role": "generated"}]},
                    "artifacts": {"da3": {"path": f"artifacts/{inner}/da3/results.npz"}},
                }
            )
        write_lines(root / "models" / model / "samples.jsonl", lines)
    return root


def write_lines(path: Path, lines: list[dict]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def memobench(root: Path, models: tuple[str, ...] = ("wan", "svc"), n: int = FRAMES) -> Path:
    """A checkout: data/ with ground truth, metadata and phase sheet; output/{model}/Synthetic and /Real with n of 20 frames."""
    data = root / "data"
    scene = data / "Synthetic_processed" / "Study" / "Study_001"
    frame_folder(scene / "RGB1", 20)
    frame_folder(scene / "Depth1", 20)
    (scene / "1").mkdir()
    np.save(scene / "1" / "poses.npy", turn(20))
    np.save(scene / "1" / "intrinsics.npy", np.tile([40.0, 40.0, 32.0, 24.0], (20, 1)))
    real = data / "Real_Raw" / "007"
    video(real / "007.mp4", n=20)
    frame_folder(real / "FRAMES", 1, suffix=".jpg")
    (real / "raw").mkdir()
    np.savez(real / "raw" / "007_mapanything.npz", cam_c2w=turn(20), intrinsic=np.array([[40.0, 0, 32], [0, 40.0, 24], [0, 0, 1]]))
    write_csv(
        data / "sam3_metadata" / "synthetic_metadata.csv",
        ["scene", "video_id", "subject", "exr_path", "prompt"],
        [["Study", 1, "cup", "x.jpg", "A cup, away and back."]],
    )
    write_csv(
        data / "sam3_metadata" / "real_metadata.csv",
        ["video_id", "subject", "full_image_path", "prompt"],
        [[7, "beaker", "y.jpg", "A beaker fills."]],
    )
    write_csv(data / "phases.csv", ["clip", "n_frames", "d_start", "r_start"], [["Study_001", 20, 6, 14], ["Real_007", 20, 5, 15]])
    for number, model in enumerate(models):
        frame_folder(root / "output" / model / "Synthetic" / "Study" / "Study_001" / "frames", n, seed=number)
        video(root / "output" / model / "Real" / "007" / "video.mp4", n, seed=10 + number)
    return root


def frame_folder(folder: Path, n: int, seed: int = 0, suffix: str = ".png") -> Path:
    import cv2

    folder.mkdir(parents=True)
    for index, image in enumerate(frames(n, seed)):
        cv2.imwrite(str(folder / f"{index:05d}{suffix}"), image[..., ::-1])
    return folder


FAMILY = {
    "family_id": "kitchen_cat_cup_knock",
    "scene": "a kitchen",
    "primary_object": {"id": "a_cat", "name": "a cat"},
    "supporting_objects": [],
}


def variant(level: str, camera: str) -> dict:
    tier = {"none": ("T0", None), "spatial": ("T1", None), "state_only": ("T2", "div_a"), "full": ("T2", "div_b")}[level]
    name = "_".join(part for part in tier if part)
    return {
        "variant_id": f"{FAMILY['family_id']}__{name}__{camera}",
        "family_id": FAMILY["family_id"],
        "reasoning_tier": tier[0],
        "oov_gap": camera,
        "event_delta": level,
        "divergence_id": tier[1],
        "world_state_prompt": "A cat.",
        "expected_state": "The cup lies on the floor.",
        "ti2v_prompt": "A cat knocks a cup over.",
    }


def wrbench(root: Path, models: tuple[str, ...] = ("gen3c",)) -> Path:
    """A manifest of yaw_LR videos at all four event levels, with sidecars and the suite beside it."""
    root.mkdir(parents=True, exist_ok=True)
    variants = [variant(level, "yaw_LR") for level in ("none", "spatial", "state_only", "full")]
    write_lines(root / "families.jsonl", [FAMILY])
    write_lines(root / "variants.jsonl", variants)
    rows = []
    for number, model in enumerate(models):
        for record in variants:
            path = video(root / model / f"{record['variant_id']}.mp4", seed=number)
            request = preset("yaw_LR", FRAMES)
            np.save(f"{path}.target_c2w.npy", compile_request(request))
            write_json(Path(f"{path}.camera.json"), to_sidecar(request, path.name, 8, WIDTH, HEIGHT, 70.0))
            rows.append(
                {
                    "video_id": f"{record['variant_id']}@yaw_LR",
                    "variant_id": record["variant_id"],
                    "model": model,
                    "camera_type": "yaw_LR",
                    "condition_type": "geometry-cache",
                    "path": f"{model}/{path.name}",
                }
            )
    write_json(root / "manifest.json", {"setting": "natural25", "videos": rows})
    return root


def action_json(path: Path, total: int = 20, mark: int = 8, code: bool = True) -> Path:
    """MIND's action.json: turn left, rest, turn right; in the released code's convention or in the README's."""
    rows = []
    for time in range(total):
        left, right = (1, 2) if code else (0, 1)
        turning = left if time < 12 else right if time >= 16 else None
        row: dict[str, object] = {
            "time": time,
            "actor_pos": {"x": 0.0, "y": 0.0, "z": 0.0},
            "actor_rpy": {"x": 0, "y": 0, "z": float(time)},
        }
        if code:
            row |= {"ws": 0, "ad": 0, "ud": 0, "lr": turning or 0}
        elif turning is not None:
            row["lr"] = turning
        rows.append(row)
    return write_json(path, {"mark_time": mark, "total_time": total, "caption": "A hall.", "data": rows})


def mind(root: Path, models: tuple[str, ...] = ("minecraft",)) -> Path:
    """gt_root and test_root side by side."""
    for perspective in ("1st_data", "3rd_data"):
        for kind in ("mem_test", "action_space_test"):
            truth = root / "gt_root" / perspective / "test" / kind / "hall"
            video(truth / "video.mp4", n=20)
            action_json(truth / "action.json")
            for number, model in enumerate(models):
                video(root / "test_root" / model / perspective / kind / "hall" / "video.mp4", seed=number)
        for model in models:
            for path in (1, 2):
                video(root / "test_root" / model / perspective / "mirror_test" / "loop" / f"path-{path}.mp4", seed=path)
    return root


def folder(root: Path) -> Path:
    for model in ("alpha", "beta"):
        for clip in ("one", "two"):
            video(root / model / f"{clip}.mp4", seed=len(model + clip))
    frame_folder(root / "gamma" / "one", 6)
    return root


BUILDERS = {"mbench": mbench, "memobench": memobench, "wrbench": wrbench, "mind": mind, "folder": folder}
