"""Checkpoints of the hub's layout that are damaged, incomplete or of another model are refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
from clips_in_memory import options
from lookback.backends.depth import DepthAnythingV2
from lookback.backends.features.frames import Dinov2Features, Dinov3Features
from lookback.backends.masks import sam2
from lookback.errors import BackendUnavailable
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def drop_tensors(folder: Path) -> None:
    held = load_file(folder / WEIGHTS)
    save_file({name: value for name, value in held.items() if "layer.1." not in name}, folder / WEIGHTS, {"format": "pt"})


def rename_tensors(folder: Path) -> None:
    held = load_file(folder / WEIGHTS)
    save_file({f"other_{name}": value for name, value in held.items()}, folder / WEIGHTS, {"format": "pt"})


def cut_off(folder: Path) -> None:
    held = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(held[: len(held) // 2])


def another_width(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (drop_tensors, "no whole checkpoint of DINOv2: it lacks 18 tensors"),
        (rename_tensors, "no whole checkpoint of DINOv2"),
        (cut_off, "no checkpoint of DINOv2 that transformers can load"),
        (another_width, "no checkpoint of DINOv2 that transformers can load"),
    ],
)
def test_a_damaged_checkpoint_is_never_filled_with_random_numbers(
    damage: Callable[[Path], None], says: str, tmp_path: Path, astronaut: np.ndarray
):
    folder = tiny_checkpoints.dinov2(tmp_path / "dino")
    damage(folder)
    with pytest.raises(BackendUnavailable, match=says) as refusal:
        Dinov2Features(options(path=str(folder))).encode(astronaut[None, :56, :56])
    assert str(folder) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path, astronaut: np.ndarray):
    dino = tiny_checkpoints.dinov2(tmp_path / "dino")
    with pytest.raises(BackendUnavailable, match="of the type 'dinov2', not of DINOv3"):
        Dinov3Features(options(path=str(dino))).encode(astronaut[None, :56, :56])
    with pytest.raises(BackendUnavailable, match="no checkpoint of Depth Anything V2"):
        DepthAnythingV2(options(path=str(dino))).maps(astronaut[None, :56, :56])
    with pytest.raises(BackendUnavailable, match="no whole checkpoint of SAM 2"):  # the network of pictures has no memory
        sam2._model(tiny_checkpoints.sam2(tmp_path / "sam2"), "cpu")
