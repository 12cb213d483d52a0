"""OpenCLIP from a folder in the hub's layout, against a direct forward of the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.clip import OpenClip
from lookback.errors import BackendUnavailable, NotScorable, Reason
from PIL import Image

CAPTIONS = ["a woman in an orange suit", "a space shuttle", "a flag " * 40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoints.open_clip(tmp_path_factory.mktemp("clip"))


def test_features_equal_a_direct_forward(folder: Path, astronaut: np.ndarray):
    import open_clip

    frames = shifting_clip(astronaut, 12, 90, 160, 6)
    backend = OpenClip(options(path=str(folder), frames_per_segment=2))
    entry = run_job(backend.start(clip(setting="T", caption_segments=CAPTIONS), video_info(frames), {}), frames)
    assert entry.frame_index.tolist() == [1, 3, 5, 7, 9, 11] and entry.segment.tolist() == [0, 0, 1, 1, 2, 2]
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    with torch.inference_mode():
        pictures = torch.stack([preprocess(Image.fromarray(frames[index])) for index in entry.frame_index])
        images = model.eval().encode_image(pictures, normalize=True).numpy()
        texts = model.encode_text(tokenizer(CAPTIONS), normalize=True).numpy()
    assert np.allclose(entry.image, images, atol=1e-5) and np.allclose(entry.text, texts, atol=1e-5)
    assert entry.image.shape == (6, 24) and np.allclose(np.linalg.norm(entry.text, axis=1), 1, atol=1e-5)


def test_a_prompt_serves_as_the_one_segment(folder: Path, astronaut: np.ndarray):
    frames = astronaut[None, :64, :64].repeat(3, 0)
    entry = run_job(OpenClip(options(path=str(folder))).start(clip(prompt="a portrait"), video_info(frames), {}), frames)
    assert entry.text.shape == (1, 24) and entry.frame_index.tolist() == [0, 1, 2]


def test_a_clip_without_any_text_has_no_features(folder: Path, astronaut: np.ndarray):
    with pytest.raises(NotScorable) as raised:
        OpenClip(options(path=str(folder))).start(clip(), video_info(astronaut[None]), {})
    assert raised.value.reason is Reason.MISSING_INPUT


def test_a_folder_without_a_checkpoint_is_unavailable(tmp_path: Path):
    with pytest.raises(BackendUnavailable, match="no checkpoint that open_clip can load"):
        OpenClip(options(path=str(tmp_path))).texts(["a"])
