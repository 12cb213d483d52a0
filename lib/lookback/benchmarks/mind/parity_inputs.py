"""What the comparison with the released program is made on: a small dataset in MIND's layout, and small random networks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookback.benchmarks.mind.writer import colmap_images
from lookback.layouts.writing import write_json, write_video

HEIGHT, WIDTH, FPS = 64, 96, 24  # the made-up videos are compared at their own size
MARK = 5
LENGTHS = (81, 100, 101)  # frames after mark_time
MIRRORS = {"path-1": 12, "path-2": 5, "path-3": 22}  # scored, odd, and halves of 11: a last batch of one frame
ROWS = 97  # poses in a released images.txt
STEP = {"forward": {"ws": 1}, "rest": {}, "look": {"lr": 2}, "both": {"ws": 2, "lr": 1}, "side": {"ad": 2}, "up": {"ud": 1}}
PERSPECTIVE, TEST, MIRROR = "1st_data", "mem_test", "mirror_test"


@dataclass(frozen=True)
class Inputs:
    """The folders of the dataset and of the networks."""

    gt_root: Path
    test_root: Path
    dino: Path
    clip: Path
    heads: Path

    def generated(self, length: int) -> Path:
        return self.test_root / PERSPECTIVE / TEST / name_of(length)


def name_of(length: int) -> str:
    return f"walk_{length}"


def write_inputs(folder: Path, seed: int = 0) -> Inputs:
    """The dataset and the networks below a folder."""
    draws = np.random.default_rng(seed)
    inputs = Inputs(*(folder / name for name in ("gt_root", "test_root", "dino", "clip", "heads")))
    for length in LENGTHS:
        _write_walk(inputs, length, draws)
    for number, (name, count) in enumerate(MIRRORS.items()):
        place = inputs.test_root / PERSPECTIVE / MIRROR / f"loop_{number}"  # one failure would cost the others of its folder
        write_video(place / f"{name}.mp4", _pictures(count, draws), FPS)
    write_dino(inputs.dino)
    write_clip(inputs.clip)
    write_heads(inputs.heads)
    return inputs


def _write_walk(inputs: Inputs, length: int, draws: np.random.Generator) -> None:
    truth = inputs.gt_root / PERSPECTIVE / "test" / TEST / name_of(length)
    generated = inputs.generated(length)
    frames = _pictures(MARK + length, draws)
    write_video(truth / "video.mp4", frames, FPS)
    noisy = 0.8 * frames[MARK:] + draws.normal(20, 8, frames[MARK:].shape)
    write_video(generated / "video.mp4", np.clip(noisy, 0, 255).astype(np.uint8), FPS)
    axes = dict.fromkeys(("ws", "ad", "ud", "lr"), 0)
    steps = list(STEP.values())
    rows = [{"time": time, **axes, **steps[time // 7 % len(steps)]} for time in range(MARK + length)]
    write_json(truth / "action.json", {"mark_time": MARK, "total_time": MARK + length, "caption": "", "data": rows})
    path = wandering(min(length, ROWS), draws)
    (truth / "images.txt").write_text(colmap_images(path), encoding="utf-8")
    (generated / "images.txt").write_text(colmap_images(disturbed(path, draws)), encoding="utf-8")


def _pictures(count: int, draws: np.random.Generator) -> NDArray[np.uint8]:
    """A scene of soft blobs that moves by two pixels a frame."""
    import cv2

    wide = cv2.GaussianBlur(draws.uniform(0, 255, (HEIGHT, WIDTH + 2 * count, 3)), (0, 0), 3.0)
    wide = np.clip(127 + 6 * (wide - 127), 0, 255)
    return np.stack([wide[:, 2 * frame : 2 * frame + WIDTH] for frame in range(count)]).astype(np.uint8)


def wandering(count: int, draws: np.random.Generator) -> NDArray[np.float64]:
    """(count,4,4) camera-to-world poses of a camera that walks and turns."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.cumsum(draws.normal(0, 0.03, (count, 3)), axis=0)).as_matrix()
    poses[:, :3, 3] = np.cumsum(draws.normal(0, 0.1, (count, 3)), axis=0)
    return poses


def disturbed(poses: NDArray[np.float64], draws: np.random.Generator) -> NDArray[np.float64]:
    """The path in another frame and scale, as an estimator gives it, with noise."""
    found, turn = poses.copy(), Rotation.from_rotvec([0.4, -0.7, 0.2]).as_matrix()
    noise = Rotation.from_rotvec(draws.normal(0, 0.01, (len(poses), 3))).as_matrix()
    found[:, :3, :3] = turn @ poses[:, :3, :3] @ noise
    found[:, :3, 3] = 2.3 * poses[:, :3, 3] @ turn.T + draws.normal(0, 0.05, (len(poses), 3)) + [1.0, -2.0, 0.5]
    return found


# -- networks: the released classes with few layers and random weights -------------------------------------------------------------
def write_dino(folder: Path) -> None:
    """DINOv3 as the hub has it, with the processor of the published checkpoints (224x224: 196 patch tokens)."""
    import torch
    from transformers import DINOv3ViTConfig, DINOv3ViTImageProcessor, DINOv3ViTModel

    torch.manual_seed(2)
    shape: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    DINOv3ViTModel(DINOv3ViTConfig(**shape, num_register_tokens=4, image_size=224, patch_size=16)).save_pretrained(folder)
    DINOv3ViTImageProcessor().save_pretrained(folder)


def write_clip(folder: Path, side: int = 224, patch: int = 32) -> None:
    """CLIP as the hub has it, both halves, for pictures of the released size. Its features are 24 numbers."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(3)
    half = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "projection_dim": 24}
    text = {**half, "vocab_size": 99, "max_position_embeddings": 16, "bos_token_id": 0, "eos_token_id": 1}
    config = CLIPConfig(text_config=text, vision_config={**half, "image_size": side, "patch_size": patch}, projection_dim=24)
    CLIPModel(config).save_pretrained(folder)


def write_heads(folder: Path) -> None:
    """LAION's linear head for CLIP's 24 features."""
    import torch

    torch.manual_seed(4)
    folder.mkdir(parents=True)
    torch.save(torch.nn.Linear(24, 1).state_dict(), folder / "sa_0_4_vit_l_14_linear.pth")


class QualityNetwork:
    """In place of MUSIQ, whose package is optional: one random convolution, tanh, mean. A backend of the role `quality`."""

    def __init__(self, seed: int = 5) -> None:
        draws = np.random.default_rng(seed)
        self.kernel = draws.normal(0, 0.1, (1, 3, 9, 9)).astype(np.float32)

    def require(self, *names: str) -> None:
        """It gives whatever it is asked for."""

    def measure(self, frames: NDArray[np.float32], names: tuple[str, ...]) -> dict[str, NDArray[np.float32]]:
        import torch

        pictures = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2)
        found = torch.nn.functional.conv2d(pictures, torch.from_numpy(self.kernel), stride=8).tanh().mean(dim=(1, 2, 3))
        return dict.fromkeys(names, found.numpy())
