"""What the notebook shows of extraction: tables with known answers, figures that show what the artifacts say."""

from __future__ import annotations

from pathlib import Path

import made_artifacts
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import Masks, PoseTrack
from lookback.camera import from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.demo.accuracy import mask_errors, pose_errors
from lookback.extraction.figures import (
    MOST_ROWS,
    coverage_table,
    mask_strip_figure,
    paths_figure,
    timing_table,
    visibility_figure,
)
from lookback.figures import STATES
from lookback.media import encode
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

CLIP = Clip(benchmark="folder", setting="", model_id="m", clip_id="c", video="v.mp4")


def bars(axes: Axes) -> list[tuple[float, float]]:
    found = [path.get_extents() for collection in axes.collections for path in collection.get_paths()]
    return sorted((bar.x0, bar.x1) for bar in found)


def pose_entry(yaw: np.ndarray, moves: bool = False) -> PoseTrack:
    n = len(yaw)
    c2w = from_yaw_pitch_roll(yaw, position=np.stack([np.arange(n), np.zeros(n), np.zeros(n)], axis=1))
    return made_artifacts.poses(c2w, has_translation=np.full(n, moves))


def mask_entry(masks: np.ndarray, state: list[int]) -> Masks:
    return made_artifacts.masks(masks, state=np.array(state, np.int8))


@pytest.fixture
def masks() -> np.ndarray:
    out = np.zeros((6, 24, 36), bool)
    out[[0, 1, 4, 5], 4:14, 10:20] = True
    return out


def test_pose_errors_are_the_angles_between_the_paths() -> None:
    truth = np.linspace(0, 20, 11)
    errors = pose_errors(pose_entry(truth * 1.1 + 5), from_yaw_pitch_roll(truth))  # the first frame's offset is no error
    assert errors["rotation_error_deg"] == pytest.approx(1.0) and errors["return_error_deg"] == pytest.approx(2.0)


def test_mask_errors_are_overlap_while_visible_and_right_states(masks: np.ndarray) -> None:
    visibility = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    right = mask_errors(mask_entry(masks, [1, 1, 0, 0, 3, 3]), masks, visibility)
    assert right == {"iou": 1.0, "state_accuracy": 1.0}
    shifted = np.roll(masks, 5, axis=2)  # half of each mask remains: 50 / 150
    wrong = mask_errors(mask_entry(shifted, [1, 1, 0, 0, 0, 3]), masks, visibility)
    assert wrong["iou"] == pytest.approx(1 / 3) and wrong["state_accuracy"] == pytest.approx(5 / 6)


def test_coverage_counts_what_is_there_and_why_not() -> None:
    table = pd.DataFrame(
        {
            "role": ["pose", "pose", "masks", "masks"],
            "backend": ["classical", "classical", "classical", ""],
            "stored": ["k1", "k2", "k3", ""],
            "reason": ["", "", "", "backend_unavailable"],
        }
    )
    rows = coverage_table(table).set_index(["role", "backend"])
    assert rows.loc[("pose", "classical"), ["clips", "made", "why"]].tolist() == [2, 2, ""]
    assert rows.loc[("masks", "none"), ["clips", "made", "why"]].tolist() == [1, 0, "backend_unavailable 1"]


def test_timings_add_up() -> None:
    table = timing_table(pd.DataFrame({"role": ["pose", "pose", "decode"], "seconds": [1.0, 2.0, 1.0]}))
    assert table["role"].tolist() == ["pose", "decode"] and table["share"].tolist() == [0.75, 0.25]
    assert timing_table(pd.DataFrame(columns=["role", "seconds"])).empty


def test_paths_show_yaw_over_frames_and_no_position_that_was_not_observed() -> None:
    figure, caption = paths_figure([(CLIP, pose_entry(np.linspace(0, 30, 16))), (CLIP, pose_entry(np.zeros(16), moves=True))])
    yaw, _, top = figure.axes[:3]
    assert yaw.lines[0].get_ydata()[-1] == pytest.approx(30) and "yaw" in yaw.get_ylabel()
    assert np.isnan(top.lines[0].get_xdata()).all() and top.lines[1].get_xdata()[-1] == pytest.approx(15)
    assert "2 clips" in caption and "observed: 1 clip;" in caption
    plt.close(figure)


def test_visibility_is_one_bar_per_run_of_a_state() -> None:
    masks = mask_entry(np.zeros((6, 4, 8), bool), [1, 1, 2, 0, 0, 3])
    figure, caption = visibility_figure([(CLIP, masks)])
    assert bars(figure.axes[0]) == [(0, 2), (2, 3), (3, 5), (5, 6)] and "in 1 clip," in caption
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["folder/m/c"]
    assert "partly in view" in [text.get_text() for text in figure.legends[0].get_texts()], "it need not leave"
    plt.close(figure)
    figure, caption = visibility_figure([(CLIP, masks)] * (MOST_ROWS + 1))
    assert f"the first {MOST_ROWS} of {MOST_ROWS + 1} clips" in caption
    plt.close(figure)


def test_masks_of_some_frames_stand_at_their_frames(masks: np.ndarray, tmp_path: Path) -> None:
    encode(tmp_path / "v.mkv", np.full((51, 24, 36, 3), 90, np.uint8), 8.0, codec="ffv1", crf=None, pix_fmt="bgr0")
    sparse = made_artifacts.masks(masks, state=np.array([1, 1, 0, 0, 3, 3], np.int8), frame_index=np.arange(0, 51, 10))
    wide, _ = visibility_figure([(CLIP, sparse)])
    strip, caption = mask_strip_figure(CLIP.model_copy(update={"video": str(tmp_path / "v.mkv")}), sparse, n=3)
    for axes in (wide.axes[0], strip.axes[-1]):
        assert bars(axes) == [(0, 20), (20, 40), (40, 51)]
    assert strip.axes[-1].get_xlim() == (0, 51) and "out of view in 2 of 6 frames looked at" in caption
    plt.close(wide)
    plt.close(strip)


def test_the_strip_outlines_the_mask_in_the_colour_of_its_state(masks: np.ndarray, tmp_path: Path) -> None:
    encode(tmp_path / "v.mkv", np.full((6, 24, 36, 3), 90, np.uint8), 8.0, codec="ffv1", crf=None, pix_fmt="bgr0")
    clip = Clip(benchmark="folder", setting="", model_id="m", clip_id="c", video=str(tmp_path / "v.mkv"))
    figure, caption = mask_strip_figure(clip, mask_entry(masks, [1, 1, 0, 0, 3, 3]), n=3)
    first, away = (figure.axes[k].images[0].get_array() for k in (0, 1))
    assert np.allclose(first[4, 12], np.round(np.array(to_rgb(STATES[1][1])) * 255)) and (first[0, 0] == 90).all()
    assert (away == 90).all() and "out of view in 2 of 6 frames" in caption
    plt.close(figure)
