"""What a GPU keeps of a network's own speed when the frames come from video files: DINOv2, SAM 2 video and RAFT.

The networks have the size of the papers' and random weights, so no download is needed. For each of them and each precision:

- bare: the network's forward pass alone, on pictures that already lie on the device;
- ours: files in, artifacts out, through the extraction stage's own code (decoding, resizing, network, copy of the results back),
  with one or more worker processes on the card;
- how far the numbers that scores are made of are from those of fp32.

    PYTHONPATH=lib python3 bench/gpu.py CLIP.mp4 [CLIP.mp4 ...] --json outputs/gpu.json
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SECONDS = 3.0  # of each measurement, at least
PICTURES = 64
EACH = 10  # clips for every worker process
SIZES = {
    "dinov2": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 518, "patch_size": 14},
    "tiny": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 56, "patch_size": 14},
}
MEMORY_GIB = 2**30


@dataclass(frozen=True)
class Model:
    """A network that is measured: its role and backend, its options, and the frames of a batch.

    The last precision is measured with several worker processes, the others with one.
    """

    name: str
    role: str
    backend: str
    precisions: tuple[str, ...]
    workers: tuple[int, ...]
    options: tuple[tuple[str, Any], ...] = ()
    batch: int = 32


ALL_FRAMES = (("sample_fps", 1000.0), ("max_frames", 10000))
MODELS = (
    Model("DINOv2 ViT-B/14, 1,025 tokens", "features", "dinov2", ("fp32", "tf32", "bf16", "fp16"), (1, 2, 4, 8), ALL_FRAMES),
    Model("SAM 2.1 large, video", "masks", "sam2", ("fp32", "bf16"), (1, 2, 4)),
    Model("DINOv3 ViT-B/16, sampled frames of a clip", "features", "dinov3", ("fp32",), (1,)),
    Model("Depth Anything V2 Small, sampled frames of a clip", "depth", "depth-anything-v2", ("fp32",), (1,)),
    Model("RAFT large, 12 updates", "flow", "raft", ("fp32", "fp16", "tf32"), (1, 2, 4)),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--only", default="", help="a role or a backend, such as flow or dinov2")
    parser.add_argument("--vggt-omega", type=Path, help="also time this model, from its released sources in this folder")
    parser.add_argument("--tiny", action="store_true", help="tiny networks, to try the script where there is no GPU")
    given = parser.parse_args(arguments)
    import torch

    if given.device != "cpu" and not torch.cuda.is_available():
        print("torch sees no CUDA device; try --device cpu --tiny with one short clip", file=sys.stderr)
        return 2
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            if given.only in ("", model.role, model.backend):
                checkpoint = make_checkpoint(model.backend, Path(folder) / model.backend, given.tiny)
                rows += measure(model, str(checkpoint), given)
                written(given, rows)
        if given.vggt_omega:
            rows.append(pose_row(given))
            written(given, rows)
    print(table(rows))
    return 0


def written(given: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    from lookback.machine import one_line

    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"machine": one_line(), "rows": rows}, indent=2))


def measure(model: Model, checkpoint: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    import torch

    rows = []
    exact: Any = None
    for precision in model.precisions[: 1 if given.tiny else None]:
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        options = {"path": checkpoint, "precision": precision, **dict(model.options)}
        bare = bare_speed(model, options, given)
        numbers = as_numbers(model, options, str(given.clips[0]), given.device)
        exact = numbers if exact is None else exact
        serves = f"{model.role}={model.backend}"
        row = {
            "model": model.name,
            "serves": serves,
            "precision": precision,
            "bare": bare,
            "difference": far(model, numbers, exact),
        }
        chosen = precision == model.precisions[-1] and not given.tiny
        for workers in model.workers if chosen else model.workers[:1]:
            speed, clips, memory, frames = file_speed(model, options, given, workers)
            key = f"{workers} process{'es' * (workers > 1)}"
            row[key] = {"frames_per_s": speed, "clips_per_s": clips, "share": speed / bare, "gib": memory}
            said = f"{key} {speed:.1f} frames/s ({speed / bare:.0%}), {memory:.1f} GiB, {frames} frames"
            print(f"{model.name} {precision}: bare {bare:.1f}, {said}", flush=True)
        print(f"  difference to fp32: {row['difference']}", flush=True)
        rows.append(row)
        if given.device != "cpu":
            torch.cuda.empty_cache()
    return rows


# ours: files in, artifacts out


@dataclass(frozen=True)
class Task:
    role: str
    backend: str
    options: tuple[tuple[str, Any], ...]
    device: str
    batch: int
    clip: str


def extract(task: Task) -> tuple[int, float]:
    """The frames of the clip's artifact, and the GiB that this process holds on the card."""
    import torch

    made = artifact_of(task)
    memory = torch.cuda.max_memory_reserved() / MEMORY_GIB if task.device != "cpu" else 0.0
    return made.n_frames + (task.role == "flow"), memory


_built: dict[str, Any] = {}


def artifact_of(task: Task) -> Any:
    import torch
    from lookback.clips import Anchor, Clip
    from lookback.extraction.onepass import extract_clip
    from lookback.media import probe

    torch.backends.cudnn.allow_tf32 = dict(task.options)["precision"] == "tf32"
    info = probe(task.clip)
    anchor = Anchor(centre_x=info.width / 2, centre_y=info.height / 2, width=info.width / 4, height=info.height / 4)
    clip = Clip(
        benchmark="memobench",
        setting="synthetic",
        clip_id=Path(task.clip).stem,
        model_id="random",
        video=task.clip,
        object_anchor=anchor,
    )
    backend = backend_of(task.role, task.backend, dict(task.options), task.device, task.batch)
    made, _ = extract_clip(clip, {task.role: backend}, {})
    if made[task.role].artifact is None:
        raise RuntimeError(f"{task.clip}: {made[task.role].reason} {made[task.role].detail}")
    return made[task.role].artifact


def backend_of(role: str, name: str, options: dict[str, Any], device: str, batch: int) -> Any:
    from lookback.backends.base import BackendOptions
    from lookback.registry import BACKENDS

    key = repr((role, name, options, device, batch))
    if key not in _built:
        _built.clear()
        _built[key] = BACKENDS.get(f"{role}={name}").build(BackendOptions(device=device, batch_size=batch, values=options))
    return _built[key]


def file_speed(model: Model, options: dict[str, Any], given: argparse.Namespace, workers: int) -> tuple[float, float, float, int]:
    """Frames and clips per second of all workers, GiB on the card, and the number of frames. A first round warms them up."""
    from lookback.workers import run_tasks, workers_kept

    def tasks(rounds: int) -> list[Task]:
        one = [
            Task(model.role, model.backend, tuple(options.items()), given.device, model.batch, str(clip)) for clip in given.clips
        ]
        return one * rounds

    def spent(work: list[Task]) -> tuple[float, list[Any]]:
        started = time.perf_counter()
        done = [result for _, result in run_tasks(extract, work, workers)]
        return time.perf_counter() - started, done

    with workers_kept():
        spent(tasks(max(1, -(-2 * workers // len(given.clips)))))
        rounds = 1 if given.tiny else -(-EACH * workers // len(given.clips))  # many, so that no worker waits long for the last
        seconds, done = spent(tasks(rounds))
    frames = sum(count for count, _ in done)
    return frames / seconds, len(done) / seconds, max(memory for _, memory in done) * workers, frames


# bare: the forward pass alone


def bare_speed(model: Model, options: dict[str, Any], given: argparse.Namespace) -> float:
    """Frames per second of the forward pass, with everything on the device."""
    import torch
    from lookback.media import open_video

    backend = backend_of(model.role, model.backend, options, given.device, model.batch)
    with open_video(given.clips[0]) as reader:
        frames = reader.read(np.arange(min(8 if given.tiny else PICTURES, reader.info.n_frames)))
    run = {"features": _bare_features, "masks": _bare_masks, "flow": _bare_flow, "depth": _bare_depth}[model.role](
        backend, frames, model.batch
    )
    with torch.inference_mode(), backend.autocast() if model.role != "features" or backend.precision == "tf32" else nullcontext():
        run()
        _wait(given.device)
        started, count = time.perf_counter(), 0
        while time.perf_counter() - started < (0.1 if given.tiny else SECONDS):
            count += run()
            _wait(given.device)
        return count / (time.perf_counter() - started)


def _bare_features(backend: Any, frames: np.ndarray, batch: int) -> Callable[[], int]:
    import torch
    from lookback.backends.features.geometry import Pad
    from lookback.backends.runtime import dtype_of

    model = backend.encoder
    images, _ = Pad().shape(torch.from_numpy(frames[:batch]).to(backend.device), model.patch, model.normalisation)
    images = images.to(dtype_of(backend.precision))

    def run() -> int:
        for _ in range(4):
            model.model(pixel_values=images)
        return 4 * len(images)

    return run


def _bare_depth(backend: Any, frames: np.ndarray, batch: int) -> Callable[[], int]:
    import torch

    images = torch.from_numpy(frames[:batch]).to(backend.device)

    def run() -> int:
        backend.predict(images)
        return len(images)

    return run


def _bare_flow(backend: Any, frames: np.ndarray, batch: int) -> Callable[[], int]:
    from lookback.backends.flow import _raft_network

    images = backend._tensor(frames[:9], "signed")
    network = _raft_network(backend.path, backend.weights[0], backend.device)

    def run() -> int:
        network(images[:-1], images[1:], num_flow_updates=backend.settings["updates"])
        return len(images) - 1

    return run


def _bare_masks(backend: Any, frames: np.ndarray, batch: int) -> Callable[[], int]:
    """The model's own loop over a video whose prepared pictures lie on the device."""
    import torch
    from lookback.backends.masks.sam2 import OBJECT, _model

    model, processor = _model(backend.path, backend.device)
    images = list(torch.from_numpy(frames).to(backend.device).permute(0, 3, 1, 2))
    pixels = processor.image_processor(images=images, return_tensors="pt").pixel_values

    def run() -> int:
        session = processor.init_video_session(inference_device=backend.device)
        box = [[[100.0, 100.0, 300.0, 300.0]]]
        processor.add_inputs_to_inference_session(
            session, frame_idx=0, obj_ids=OBJECT, original_size=frames.shape[1:3], input_boxes=box
        )
        for picture in pixels:
            model(session, frame=picture)
        return len(pixels)

    return run


def _wait(device: str) -> None:
    import torch

    if device != "cpu":
        torch.cuda.synchronize()


def pose_row(given: argparse.Namespace) -> dict[str, Any]:
    """VGGT-Omega with random weights through its runner's own code, in this process: all frames of a clip in one forward pass."""
    import lookback.runners.child as child
    import torch
    from lookback.media import open_video

    folder = Path(child.__path__[0])
    sys.path[:0] = [str(given.vggt_omega), str(folder)]
    spec = importlib.util.spec_from_file_location("vggt_omega_script", folder / "scripts" / "vggt_omega.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    from vggt_omega.models import VGGTOmega

    network = VGGTOmega().eval().requires_grad_(False).to(given.device)
    run = script.runner(network, given.device, {"mode": "balanced", "image_resolution": 512})
    seconds, count = [], 0
    for path in given.clips[:3]:
        with open_video(path) as reader:
            frames = reader.read(np.arange(reader.info.n_frames))
        started = time.perf_counter()
        run(SimpleNamespace(frames=frames))
        seconds.append(time.perf_counter() - started)
        count += len(frames)
    rest = seconds[1:] or seconds  # the first clip warms up
    speed = count / len(seconds) * len(rest) / sum(rest)
    held = {"frames_per_s": speed, "clips_per_s": len(rest) / sum(rest), "gib": torch.cuda.max_memory_reserved() / MEMORY_GIB}
    known = {"model": "VGGT-Omega 1B, 512 px", "serves": "pose=vggt-omega"}
    return {**known, "precision": "as released", "bare": None, "difference": "", "1 process": held}


# how far a precision is from fp32


def as_numbers(model: Model, options: dict[str, Any], clip: str, device: str) -> np.ndarray:
    made = artifact_of(Task(model.role, model.backend, tuple(options.items()), device, model.batch, clip))
    if model.role == "depth":
        return made.depth
    if model.role == "features":
        unit = made.cls / np.linalg.norm(made.cls, axis=1, keepdims=True)
        return unit @ unit.T
    return made.magnitude if model.role == "flow" else made.all()


def far(model: Model, numbers: np.ndarray, exact: np.ndarray) -> str:
    if model.role == "depth":
        return f"depth differs by at most {np.abs(numbers - exact).max() / np.abs(exact).max():.1e} of the largest"
    if model.role == "features":
        return f"cosines of frames differ by at most {np.abs(numbers - exact).max():.1e}"
    if model.role == "flow":
        return f"mean flow differs by at most {(np.abs(numbers - exact) / np.maximum(exact, 1e-6)).max():.1e} of itself"
    union = (numbers | exact).sum((1, 2))
    overlap = (numbers & exact).sum((1, 2)) / np.maximum(union, 1)
    return f"masks overlap by {np.where(union == 0, 1, overlap).mean():.4f} on average"


def make_checkpoint(name: str, path: Path, tiny: bool) -> Path:
    """A checkpoint with random weights, in the real format."""
    import torch
    import transformers

    torch.manual_seed(0)
    if name == "dinov2":
        transformers.Dinov2Model(transformers.Dinov2Config(**SIZES["tiny" if tiny else "dinov2"])).save_pretrained(path)
    elif name == "dinov3":
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2} if tiny else {"hidden_size": 768}
        if not tiny:
            sizes |= {"num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
        transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(patch_size=16, num_register_tokens=4, **sizes)).save_pretrained(
            path
        )
    elif name == "depth-anything-v2":
        backbone = transformers.Dinov2Config(  # type: ignore[call-arg]
            hidden_size=384, num_hidden_layers=12, num_attention_heads=6, image_size=518, patch_size=14,
            out_indices=[3, 6, 9, 12], apply_layernorm=True, reshape_hidden_states=False,
        )  # fmt: skip
        sizes = {"reassemble_hidden_size": 384, "neck_hidden_sizes": [48, 96, 192, 384], "fusion_hidden_size": 64}
        config = transformers.DepthAnythingConfig(backbone_config=backbone, **sizes)
        transformers.DepthAnythingForDepthEstimation(config).save_pretrained(path)
        transformers.DPTImageProcessor(
            size={"height": 518, "width": 518}, keep_aspect_ratio=True, ensure_multiple_of=14, resample=3
        ).save_pretrained(path)
    elif name == "raft":
        from torchvision.models.optical_flow import raft_large

        torch.save(raft_large(weights=None).state_dict(), path)
    else:
        from transformers.models.sam2.image_processing_sam2 import Sam2ImageProcessor

        side = 128 if tiny else 1024
        hiera = transformers.Sam2HieraDetConfig(
            hidden_size=144, num_attention_heads=2, image_size=[side, side],
            blocks_per_stage=[1, 2, 2, 1] if tiny else [2, 6, 36, 4],
            embed_dim_per_stage=[144, 288, 576, 1152], num_attention_heads_per_stage=[2, 4, 8, 16],
            window_size_per_stage=[8, 4, 4, 2] if tiny else [8, 4, 16, 8], global_attention_blocks=[4] if tiny else [23, 33, 43],
        )  # fmt: skip
        pyramid = [[side // 4] * 2, [side // 8] * 2, [side // 16] * 2]
        vision = transformers.Sam2VisionConfig(
            backbone_config=hiera, backbone_channel_list=[1152, 576, 288, 144], backbone_feature_sizes=pyramid
        )
        extra = {"image_size": side, "memory_attention_rope_feat_sizes": pyramid[2]}
        video = transformers.Sam2VideoConfig(
            vision_config=vision, prompt_encoder_config={"image_size": side, "patch_size": 16}, **extra
        )
        network = transformers.Sam2VideoModel(video)
        torch.nn.init.constant_(network.mask_decoder.pred_obj_score_head.proj_out.bias, 10.0)  # "the object is there"
        network.save_pretrained(path)
        Sam2ImageProcessor(size={"height": side, "width": side}).save_pretrained(path)
    return path


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as Markdown."""
    head = ["network", "precision", "bare, frames/s", "from files, frames/s (share, processes, GPU memory)", "difference to fp32"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        runs = {key: value for key, value in row.items() if isinstance(value, dict)}
        said = []
        for key, run in runs.items():
            share = f"{run['share']:.0%}, " if "share" in run else ""
            said.append(f"{run['frames_per_s']:.0f} ({share}{key}, {run['gib']:.1f} GiB)")
        bare = "" if row["bare"] is None else f"{row['bare']:.0f}"
        lines.append(f"| {row['model']} | {row['precision']} | {bare} | {'; '.join(said)} | {row['difference']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
