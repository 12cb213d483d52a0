"""LAION's aesthetic heads on CLIP, from folders in the released formats, against a direct forward of the libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, shifting_clip, video_info
from lookback.backends.aesthetic import LaionAesthetic
from lookback.benchmarks.mind.parity_inputs import write_clip
from lookback.errors import BackendUnavailable, NotScorable, Reason
from PIL import Image
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize, ToTensor

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("aesthetic")
    write_clip(place / "clip", side=32, patch=8)
    return place / "clip", tiny_checkpoints.aesthetic_heads(place / "heads")


@pytest.fixture(scope="module")
def backend(folders: tuple[Path, Path]) -> LaionAesthetic:
    return LaionAesthetic(options(path=str(folders[0]), heads_path=str(folders[1])))


def features(folder: Path, pictures: torch.Tensor) -> torch.Tensor:
    from transformers import CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        found = model.visual_projection(model.vision_model(pixel_values=pictures).pooler_output)
    return found / found.norm(dim=-1, keepdim=True)


def test_the_mlp_head_sees_pictures_as_clip_prepares_them(folders, backend: LaionAesthetic, astronaut: np.ndarray):
    """CLIP's own preparation: PIL, bicubic, centre crop; LAION's MLP, whose dropout does nothing and which has no activation."""
    frames = shifting_clip(astronaut, 6, 90, 160, 7)
    prepare = Compose([Resize(32, InterpolationMode.BICUBIC), CenterCrop(32), ToTensor(), Normalize(MEAN, STD)])
    x = features(folders[0], torch.stack([prepare(Image.fromarray(frame)) for frame in frames]))
    state = torch.load(folders[1] / "sac+logos+ava1-l14-linearMSE.pth", weights_only=True)
    for number in (0, 2, 4, 6, 7):
        x = torch.nn.functional.linear(x, state[f"layers.{number}.weight"], state[f"layers.{number}.bias"])
    found = backend.scores(frames, head="mlp", antialias=True)
    assert found.shape == (6,) and found == pytest.approx(x[:, 0].numpy(), abs=1e-5)


def test_the_linear_head_sees_floats_without_an_antialias(folders, backend: LaionAesthetic, astronaut: np.ndarray):
    """torch's bicubic interpolation, which does not clip what it overshoots."""
    frames = shifting_clip(astronaut, 3, 96, 160, 7).astype(np.float32) / 255
    pixels = torch.from_numpy(frames).permute(0, 3, 1, 2)
    small = torch.nn.functional.interpolate(pixels, size=(32, 53), mode="bicubic", align_corners=False, antialias=False)
    x = features(folders[0], Normalize(MEAN, STD)(small[..., 10:42]))
    state = torch.load(folders[1] / "sa_0_4_vit_l_14_linear.pth", weights_only=True)
    expected = (x @ state["weight"].T + state["bias"])[:, 0].numpy()
    found = backend.scores(frames)
    assert found == pytest.approx(expected, abs=1e-5)
    assert backend.scores(np.rint(frames * 255).astype(np.uint8)) == pytest.approx(found, abs=1e-5)
    assert not np.allclose(backend.scores(frames, antialias=True), found, atol=1e-4)


def test_files_that_are_missing_or_of_another_kind_are_named(folders, backend, tmp_path: Path, astronaut: np.ndarray):
    with pytest.raises(BackendUnavailable, match="no checkpoint of CLIP"):
        LaionAesthetic(options(path=str(tmp_path), heads_path=str(folders[1]))).scores(astronaut[None])
    with pytest.raises(BackendUnavailable, match=r"sa_0_4_vit_l_14_linear\.pth: there is no such head"):
        LaionAesthetic(options(path=str(folders[0]), heads_path=str(tmp_path))).scores(astronaut[None])
    torch.save({"scale": torch.ones(1)}, tmp_path / "sa_0_4_vit_l_14_linear.pth")
    with pytest.raises(BackendUnavailable, match="no head of linear layers"):
        LaionAesthetic(options(path=str(folders[0]), heads_path=str(tmp_path))).scores(astronaut[None])
    vision = tiny_checkpoints.dinov2(tmp_path / "dino")
    with pytest.raises(BackendUnavailable):
        LaionAesthetic(options(path=str(vision), heads_path=str(folders[1]))).scores(astronaut[None])


def test_nothing_is_extracted_ahead(backend: LaionAesthetic, astronaut: np.ndarray):
    with pytest.raises(NotScorable) as raised:
        backend.start(clip(), video_info(astronaut[None]), {})
    assert raised.value.reason is Reason.NOT_APPLICABLE
