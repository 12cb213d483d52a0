"""How much of the network's own speed the feature backend keeps: DINOv2 ViT-B/14 with random weights.

Measured twice at the same batch size and precision: the bare forward pass on a batch that already lies on the device, and the
backend's job fed with uint8 frames in the host's memory, through resizing, normalisation, the network and the copy of all tokens
back. Both are frames per second; the share must reach 80 %. Needs torch and transformers, no decoder and no weights:

    PYTHONPATH=lib python3 bench/features_gpu.py --device cuda --precision bf16
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

TARGET = 0.80
PUSHED = 8  # frames a push, as the extraction driver does
VIT_B = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 518, "patch_size": 14}
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 56, "patch_size": 14}
COSINE = {"fp32": 0.9999, "bf16": 0.99, "fp16": 0.999}  # least cosine of a token with the fp32 forward's


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16", choices=sorted(COSINE))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--frames", type=int, default=2048)
    parser.add_argument("--size", default="832x480", help="width x height of the frames")
    parser.add_argument("--max-side", type=int, default=448)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="a tiny network, to try the script where there is no accelerator")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args(arguments)
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"This benchmark needs torch and transformers: {error}", file=sys.stderr)
        return 2
    if given.device.startswith("cuda") and not torch.cuda.is_available():
        print("torch sees no CUDA device; try --device cpu --tiny --frames 16 --batch 4", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        config = transformers.Dinov2Config(**(TINY if given.tiny else VIT_B))
        transformers.Dinov2Model(config).save_pretrained(folder)
        figures = measure(given, folder)
    device = torch.cuda.get_device_name() if given.device.startswith("cuda") else "cpu"
    print(
        f"{device}, torch {torch.__version__}, DINOv2 {'tiny' if given.tiny else 'ViT-B/14'} with random weights, {given.precision}"
    )
    print(
        f"frames {given.size}, {figures['tokens']} tokens each, batch {given.batch}, {given.frames} frames, best of {given.repeats}"
    )
    print(f"bare forward     {figures['bare_fps']:9.1f} frames/s")
    print(f"feature backend  {figures['backend_fps']:9.1f} frames/s   share {figures['share']:.3f} (target {TARGET:.2f})")
    print(f"least cosine of a token with the fp32 forward: {figures['cosine']:.5f} (tolerance {COSINE[given.precision]})")
    if given.json:
        given.json.write_text(
            json.dumps({**figures, "device": device, "precision": given.precision, "batch": given.batch}, indent=2)
        )
    good = figures["share"] >= TARGET and figures["cosine"] >= COSINE[given.precision]
    print("reached" if good else "missed")
    return 0 if good else 1


def measure(given: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Frames per second of both, and how far the tokens are from full precision."""
    width, height = (int(side) for side in given.size.split("x"))
    rng = np.random.default_rng(0)
    pool = rng.integers(0, 256, (max(given.batch, 2 * PUSHED), height, width, 3), np.uint8)
    backend = make_backend(given, folder, given.precision)
    bare = bare_speed(given, backend, pool)
    run_backend(backend, pool, 2 * given.batch)
    speeds = []
    for _ in range(given.repeats):
        started = time.perf_counter()
        run_backend(backend, pool, given.frames)
        speeds.append(given.frames / (time.perf_counter() - started))
    mixed = backend.encode(pool[:PUSHED]).patches.astype(np.float64)
    full = make_backend(given, folder, "fp32").encode(pool[:PUSHED]).patches.astype(np.float64)
    cosine = (mixed * full).sum(-1) / (np.linalg.norm(mixed, axis=-1) * np.linalg.norm(full, axis=-1))
    tokens = int(mixed.shape[1]) + 1
    figures = {"bare_fps": bare, "backend_fps": max(speeds), "cosine": float(cosine.min()), "tokens": tokens}
    return {**figures, "share": figures["backend_fps"] / bare, "backend_fps_all": speeds}


def make_backend(given: argparse.Namespace, folder: str, precision: str) -> Any:
    """The backend itself; the options stand in for BackendOptions, whose module also imports the decoder."""
    from lookback.backends.features.frames import Dinov2Features

    values = {"path": folder, "precision": precision, "max_side": given.max_side}
    options: Any = SimpleNamespace(device=given.device, batch_size=given.batch, seed=0, allow_download=False, values=values)
    return Dinov2Features(options)


def run_backend(backend: Any, pool: np.ndarray, n_frames: int) -> None:
    """One clip of `n_frames` through the job, pushed as the driver does."""
    from lookback.backends.features.frames import FeatureJob
    from lookback.backends.features.geometry import Pad

    shaping = Pad(backend.settings["max_side"], backend.settings["square"])
    job = FeatureJob(backend, np.arange(n_frames), {}, shaping)
    for start in range(0, n_frames, PUSHED):
        stop = min(start + PUSHED, n_frames)
        offset = start % (len(pool) - PUSHED + 1)
        job.push(np.arange(start, stop), pool[offset : offset + stop - start])
    job.batches.finish()


def bare_speed(given: argparse.Namespace, backend: Any, pool: np.ndarray) -> float:
    """Frames per second of the network alone, on one normalised batch that stays on the device."""
    import torch
    from lookback.backends.features.geometry import IMAGENET, Grid, on_grid
    from lookback.backends.runtime import autocast

    grid = Grid.of(pool.shape[1], pool.shape[2], backend.encoder.patch, given.max_side, True)
    batch = on_grid(torch.from_numpy(pool[: given.batch]).to(given.device), grid, IMAGENET)
    rounds = max(2, given.frames // given.batch)
    best = 0.0
    with torch.inference_mode(), autocast(given.device, given.precision):
        for repeat in range(given.repeats + 1):  # the first warms up
            _synchronise(given.device)
            started = time.perf_counter()
            for _ in range(rounds):
                backend.encoder.model(pixel_values=batch)
            _synchronise(given.device)
            if repeat:
                best = max(best, rounds * given.batch / (time.perf_counter() - started))
    return best


def _synchronise(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize()


if __name__ == "__main__":
    raise SystemExit(main())
