"""Artifacts that speak of some frames only: captions of unequal length, lost poses, masks where something was found."""

from typing import Any

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import TextImageFeatures
from lookback.artifacts.base import Artifact
from lookback.benchmarks.mbench.metrics.shared import paired_frames
from lookback.camera import compile, preset
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.media import sample_segments
from lookback.registry import METRICS
from lookback.scoring import Item, ScoringClip
from lookback.scoring.clip import score_clip

COUNT = 81
NAMES = {"model_id": "m", "clip_id": "c", "scene": "s", "content_hash": "0" * 64, "video": "v.mp4", "n_frames": COUNT, "fps": 16.0}


def context(metric: str, artifact: Artifact, **facts: Any) -> ScoringClip:
    spec, entry = METRICS.get(metric), artifact.pack()
    clip = Clip(**{**NAMES, **facts})
    return ScoringClip(
        clip, "paper", {}, pd.DataFrame(), lambda role: entry, lambda role: object(), settings=spec.preset("paper", {})
    )


def scored(metric: str, artifact: Artifact, **facts: Any) -> Item:
    (result,) = score_clip([(METRICS.get(metric), context(metric, artifact, **facts))])
    return result.items[0]


@pytest.mark.parametrize("parts", [sample_segments(77, 5, 8), sample_segments(8, 5, 8), [np.arange(20), np.arange(20, 80)]])
def test_every_frame_is_compared_with_the_caption_that_it_was_sampled_for(parts: list[np.ndarray]) -> None:
    """Each frame's vector is its caption's, so that eq. 15 gives 1."""
    text, segment = np.eye(len(parts), dtype=np.float32), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    features = TextImageFeatures(frame_index=np.concatenate(parts), image=text[segment], segment=segment, text=text)
    facts = {"benchmark": "mbench", "setting": "T", "subset": "causal", "n_frames": int(parts[-1][-1]) + 1}
    found = scored("mbencht.causal.prompt_interaction", features, **facts, caption_segments=[str(part) for part in parts])
    assert found.value == pytest.approx(1.0)


@pytest.mark.parametrize("known", [np.arange(41), np.r_[0:10, 30:81], np.arange(0, 81, 4)])
def test_a_camera_that_obeys_scores_1_also_where_poses_are_lost(known: np.ndarray) -> None:
    path = compile(preset("yaw_LR", COUNT))
    facts = {"benchmark": "mbench", "setting": "A", "subset": "causal", "camera": "left_then_right_5s"}
    found = scored("mbencha.causal.camera_interaction", made_artifacts.poses(path[known], frame_index=known), **facts)
    assert found.value == pytest.approx(1.0)


def test_pairs_of_segments_come_from_their_own_captions_where_poses_are_lost() -> None:
    known = np.r_[0:20, 50:81]  # of four captions: the first, then the last ten frames of the third, and the fourth
    path = made_artifacts.poses(compile(preset("yaw_LR", COUNT))[known], frame_index=known)
    facts = {"benchmark": "mbench", "setting": "T", "subset": "environment"}
    metric = "mbencht.environment.spatial_epipolar"
    with pytest.raises(NotScorable, match="no frame of caption segment 1"):
        paired_frames(context(metric, path, **facts, caption_segments=["a", "b", "c", "d"]))
    pairs = paired_frames(context(metric, path, **facts, caption_segments=["a", "b"])).frames
    assert len(pairs) and (pairs[:, 0] < 40).all() and (pairs[:, 1] >= 40).all()


def test_frames_without_a_mask_row_are_no_sample_of_the_return() -> None:
    """The object is found in 2 of 41 frames: a file that lists the frames where it was found says nothing about the others."""
    shown = np.zeros((COUNT, 24, 32), bool)
    seen = np.r_[0:20, 50, 62]
    shown[seen, 5:12, 5:12] = True
    facts = {"benchmark": "memobench", "setting": "real", "object_name": "cup", "gt_frames": COUNT, "d_start": 20, "r_start": 40}
    found = [
        scored("memobench.ors", made_artifacts.masks(shown[rows], frame_index=rows), **facts)
        for rows in (np.arange(COUNT), seen, np.arange(0, COUNT, 2))
    ]
    assert found[0].value == pytest.approx(2 / 41)
    assert (found[1].value, found[1].reason) == (None, Reason.INVALID_INPUT) and "give every frame a mask" in found[1].detail
    assert found[2].value == pytest.approx(2 / 21)
