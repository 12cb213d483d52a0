"""MemoBench's table S4: the object asked for in the paper's five ways, on tiny random checkpoints."""

from pathlib import Path

import pandas as pd
import pytest
import tiny_models
from lookback.backends.masks import prompt
from lookback.benchmarks.memobench.report import prompt_styles
from lookback.benchmarks.memobench.sweeps import STYLES, prompt_sweep
from lookback.clips import clips_to_frame
from lookback.media import content_hash, encode
from lookback.params.load import validate
from lookback.tables import empty_table
from mask_scenes import film


@pytest.fixture
def clips(tmp_path: Path) -> pd.DataFrame:
    filmed = film("playroom", "static@12")
    video = encode(tmp_path / "clip.mp4", filmed.frames, 16)
    facts = {
        "benchmark": "memobench",
        "setting": "real",
        "object_name": "Striped beach ball",
        "scene": "s",
        "n_frames": 12,
        "fps": 16.0,
    }
    facts |= {"width": filmed.frames.shape[2], "height": filmed.frames.shape[1], "d_start": 4, "r_start": 8, "gt_frames": 12}
    return clips_to_frame([filmed.clip.model_copy(update={**facts, "video": str(video), "content_hash": content_hash(video)})])


def parameters(folder: Path, **extraction):
    return validate({"run": "s4", "output": str(folder), "workers": 1, "extraction": extraction}, "test")


@pytest.mark.long
def test_each_style_asks_in_its_own_words(clips, tmp_path, monkeypatch):
    asked = []
    plain = prompt.find_object
    monkeypatch.setattr(prompt, "find_object", lambda *args: asked.append(args[3]) or plain(*args))
    paths = {
        "path": str(tiny_models.sam2_video(tmp_path / "sam2")),
        "detector_path": str(tiny_models.grounding_dino(tmp_path / "dino")),
    }
    params = parameters(tmp_path / "run", backends={"masks": "sam2"}, options={"masks": {**paths, "detector_threshold": 0.0}})
    found = prompt_sweep(params, clips, empty_table("segments"))
    assert asked == [
        "Striped beach ball",
        "the Striped beach ball",
        "detect Striped beach ball in the scene",
        "a photo of Striped beach ball",
        "Striped",
    ]
    assert found["style"].tolist() == list(STYLES) and found["n"].tolist() == [1] * 5
    assert found["mean"].between(0, 1).all()


def test_masks_that_take_no_words_say_so(clips, tmp_path):
    found = prompt_sweep(parameters(tmp_path / "run"), clips, empty_table("segments"))
    assert found["mean"].isna().all() and found["why"].str.startswith("backend_unavailable: masks come from 'classical'").all()
    found.to_csv(tmp_path / "prompts.csv", index=False)
    (table,) = prompt_styles(tmp_path / "prompts.csv")
    assert len(table.frame) == 5 and "words need 'sam2'" in table.notes[0]
