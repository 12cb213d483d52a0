"""SAM 3 on a tiny random checkpoint in the hub's format, and on answers whose masks are known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.masks import sam3
from lookback.backends.masks.sam3 import Sam3Masks, Sam3Video
from lookback.clips import Clip, clips_to_frame
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.media import content_hash, encode
from lookback.params import RunParams
from lookback.registry import BACKENDS
from lookback.scoring.run import score_run
from lookback.tables import empty_table


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoints.sam3(tmp_path_factory.mktemp("sam3"))


@pytest.fixture(scope="module")
def frames(astronaut: np.ndarray) -> np.ndarray:
    return shifting_clip(astronaut, 5, 48, 64, 5)


def test_confidence_and_masks_are_those_of_the_released_rule(checkpoint: Path, frames: np.ndarray):
    """sigmoid(logit) * sigmoid(presence); masks: sigmoid, bilinear to the frame, above one half."""
    from transformers import Sam3Model, Sam3Processor

    found = Sam3Masks(options(path=str(checkpoint))).query(frames[0], "a cup", 0.0)
    model, processor = Sam3Model.from_pretrained(checkpoint).eval(), Sam3Processor.from_pretrained(checkpoint)
    with torch.inference_mode():
        out = model(**processor(images=frames[0], text="a cup", return_tensors="pt"))
    scores = (out.pred_logits.sigmoid() * out.presence_logits.sigmoid())[0]
    big = torch.nn.functional.interpolate(out.pred_masks.sigmoid(), size=(48, 64), mode="bilinear", align_corners=False)[0] > 0.5
    np.testing.assert_allclose(found.confidence, scores.numpy(), rtol=1e-5)
    np.testing.assert_allclose(found.coverage, big.float().mean((1, 2)).numpy(), atol=1e-6)
    assert found.masks.shape == (10, 48, 64)
    cut = float(np.sort(found.confidence)[4])
    assert len(Sam3Masks(options(path=str(checkpoint))).query(frames[0], "a cup", cut).confidence) == 5  # strictly above
    other = Sam3Masks(options(path=str(checkpoint))).query(frames[0], "a tree", 0.0)
    assert not np.allclose(other.confidence, found.confidence)


def known_answer(left: float, right: float):
    """A network that finds two masks: one from `left` to `right` of the picture's width, and a less confident one of everything."""
    columns = (torch.arange(28) + 0.5) / 28
    band = torch.where((columns > left) & (columns < right), 20.0, -20.0).expand(28, 28)
    masks = torch.stack([band, torch.full((28, 28), 20.0)])[None]
    logits, boxes = torch.tensor([[4.0, 0.0]]), torch.zeros(1, 2, 4)
    return lambda **_: SimpleNamespace(
        pred_logits=logits, pred_boxes=boxes, pred_masks=masks, presence_logits=torch.tensor([[10.0]])
    )


def test_a_known_mask_lies_where_it_belongs(checkpoint: Path, frames: np.ndarray, monkeypatch: pytest.MonkeyPatch):
    from transformers import Sam3Processor

    processor = Sam3Processor.from_pretrained(checkpoint)
    monkeypatch.setattr(sam3, "_image_model", lambda *_: (known_answer(0.5, 1.0), processor))
    backend = Sam3Masks(options(path=str(checkpoint)))
    found = backend.query(frames[0], "cup", 0.0)
    assert found.coverage == pytest.approx([0.5, 1.0], abs=0.02) and found.confidence[0] == pytest.approx(
        1 / (1 + np.exp(-4)), abs=1e-3
    )
    made = run_job(backend.start(clip(object_name="cup"), video_info(frames), {}), frames)
    assert made.area == pytest.approx(0.5, abs=0.02) and made.boxes[0].tolist() == pytest.approx([32, 0, 64, 48], abs=1.5)
    assert made.facts["query"] == "cup" and made.in_view.all()


def test_what_is_not_above_the_threshold_is_out_of_view(checkpoint: Path, frames: np.ndarray):
    backend = Sam3Masks(options(path=str(checkpoint), threshold=0.999))
    with pytest.raises(NotScorable) as raised:
        run_job(backend.start(clip(object_name="cup"), video_info(frames), {}), frames)
    assert raised.value.reason is Reason.NO_MASK
    with pytest.raises(NotScorable, match="no object_name"):
        backend.start(clip(), video_info(frames), {})
    assert backend.words(clip(object_name="red cup")) == "red cup"
    assert Sam3Masks(options(path=str(checkpoint), phrase="the {first}")).words(clip(object_name="red cup")) == "the red"


def test_the_video_model_follows_one_object(checkpoint: Path, frames: np.ndarray):
    backend = Sam3Video(options(path=str(checkpoint)))
    job = backend.start(clip(object_name="cup"), video_info(frames), {})
    made = run_job(job, frames)
    assert made.frame_index.tolist() == [0, 1, 2, 3, 4] and job.followed is not None
    assert made.in_view[0] and ((made.confidence >= 0) & (made.confidence <= 1)).all()
    again = run_job(backend.start(clip(object_name="cup"), video_info(frames), {}), frames)
    assert np.array_equal(again.packed, made.packed)


def test_a_folder_without_the_model_is_one_sentence(tmp_path: Path, frames: np.ndarray):
    with pytest.raises(BackendUnavailable, match="holds no checkpoint of SAM 3"):
        Sam3Masks(options(path=str(tmp_path))).query(frames[0], "cup", 0.0)
    assert "hf download facebook/sam3" in BACKENDS.get("masks=sam3").available().remedy


def test_the_reappearance_score_asks_sam3_in_every_frame(checkpoint: Path, astronaut: np.ndarray, tmp_path: Path):
    video = encode(tmp_path / "clip.mp4", shifting_clip(astronaut, 10, 48, 64, 5), 8.0)
    facts = {"n_frames": 10, "gt_frames": 10, "fps": 8.0, "d_start": 3, "r_start": 7, "object_name": "cup"}
    made = Clip(
        benchmark="memobench",
        setting="real",
        model_id="m",
        clip_id="c",
        video=str(video),
        content_hash=content_hash(video),
        **facts,
    )
    extraction = {"backends": {"masks": "sam3"}, "options": {"masks": {"path": str(checkpoint)}}}
    scoring = {"metrics": ["memobench.ors"], "variant": "official"}
    params = RunParams(run="r", output=str(tmp_path / "run"), workers=1, device="cpu", extraction=extraction, scoring=scoring)
    units, items, _ = score_run(params, clips_to_frame([made]), empty_table("segments"), empty_table("artifacts"))
    [item] = items.to_dict("records")
    assert item["reason"] == "" and "asked for 'cup'" in item["detail"] and item["backend"] == "masks=sam3"
    assert set(units.loc[units["kind"] == "frame", "frame"]) == {7, 8, 9}
