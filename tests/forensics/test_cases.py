"""Case mining on tables whose cases are known because they were put there; pictures that show what they claim."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forensics_evidence import N, make_clip, make_path, out_and_back, returned
from lookback.benchmarks.wrbench.stories import STORIES
from lookback.clips import KEYS, clips_to_frame
from lookback.figures import save_figure
from lookback.forensics.cases import direction_cases, disagreements, hardest, matched_contrasts, paradoxes, standings
from lookback.forensics.collect import real_answers
from lookback.forensics.drawing import chosen_failures, frame_curves
from lookback.forensics.evidence import Evidence
from lookback.forensics.pictures import (
    Card,
    Side,
    Span,
    Timeline,
    card_figure,
    chosen_frames,
    outlined,
    phases,
    timeline_figure,
    trail,
)
from lookback.media import encode
from lookback.strips import HIGHLIGHT
from matplotlib.colors import to_rgba

AXES = ("visual_integrity", "visible_state", "reobserved_state", "cam_prec")


def gated(scores: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    """(model, clip) -> scores on AXES."""
    rows = []
    for (model, clip), values in scores.items():
        for axis, value in zip(AXES, values, strict=True):
            variant = "corrected" if axis == "cam_prec" else "paper"
            row = dict(zip(KEYS, ("wrbench", "demo", model, clip), strict=True))
            rows.append({**row, "metric": f"wrbench.{axis}", "variant": variant, "phase": "", "value": value})
            rows.append({**rows[-1], "variant": "paper" if variant == "corrected" else "corrected", "value": 0.0})
    return pd.DataFrame(rows)


SCORES = {
    ("good", "t1"): [0.8, 0.8, 0.80, 0.80],
    ("twin", "t1"): [0.81, 0.79, 0.10, 0.81],  # like `good`, but for one axis
    ("vain", "t1"): [0.99, 0.5, 0.02, 0.70],  # best picture, worst return
    ("weak", "t2"): [0.1, 0.1, 0.12, 0.1],
    ("good", "t2"): [0.2, 0.2, 0.20, 0.2],
    ("good", "t3"): [0.75, 0.7, 0.70, 0.75],
}


@pytest.fixture(scope="module")
def stands() -> pd.DataFrame:
    return standings(gated(SCORES))


def strongest(cases: list[dict]) -> dict:
    return max(cases, key=lambda case: case["strength"])


def test_standing_runs_from_worst_to_best_and_uses_the_default_variant(stands):
    own = stands[stands["axis"] == "visual_integrity"].set_index(["model_id", "clip_id"])["standing"]
    assert own["vain", "t1"] == 1.0
    assert own["weak", "t2"] == 0.0
    assert not (stands["value"] == 0.0).any()


def test_an_axis_on_which_all_score_the_same_gives_no_standing():
    flat = gated({key: [0.9, *values[1:]] for key, values in SCORES.items()})
    assert "visual_integrity" not in set(standings(flat)["axis"])


def test_the_matched_contrast_is_the_pair_that_differs_on_one_axis(stands):
    case = strongest(matched_contrasts(stands))
    assert (case["axis"], case["model_a"], case["model_b"]) == ("reobserved_state", "twin", "good")
    assert (case["score_a"], case["score_b"]) == (0.10, 0.80)
    assert case["words"].endswith("reobserved_state: standings apart by 0.80 (0 worst, 1 best)")


def test_the_paradox_is_top_on_one_axis_and_bottom_on_another(stands):
    case = strongest(paradoxes(stands))
    assert (case["model_a"], case["axis"], case["other_axis"]) == ("vain", "reobserved_state", "visual_integrity")
    assert case["strength"] == 1.0


def test_the_hardest_task_is_the_one_nobody_does_well(stands):
    case = strongest(hardest(stands))
    assert (case["clip_a"], case["model_a"], case["model_b"]) == ("t2", "weak", "good")


def test_opposite_directions_of_one_model_and_scene(stands):
    facts = [("t1", "yaw_LR"), ("t2", "yaw_RL"), ("t3", "yaw_RL")]
    clips = clips_to_frame(
        [make_clip(model_id="good", clip_id=c, condition_id=d, scene="s", event_level="state") for c, d in facts]
    )
    case = strongest(direction_cases(stands, clips))
    assert {case["clip_a"], case["clip_b"]} == {"t1", "t2"}


def test_people_against_the_metric(stands):
    vote = {
        "task": "pairwise",
        "benchmark": "wrbench",
        "setting": "demo",
        "dimension": "reobserved_state",
        "clip_a": "t1",
        "clip_b": "t1",
        "simulated": True,
    }
    ballots = [{**vote, "model_a": "twin", "model_b": "good", "annotator": str(k), "label": "1"} for k in range(3)]
    ballots += [{**vote, "model_a": "good", "model_b": "vain", "annotator": str(k), "label": "1"} for k in range(3)]
    cases = disagreements(stands, pd.DataFrame(ballots), "params/agreement.yaml")
    assert [(case["model_a"], case["model_b"]) for case in cases] == [("twin", "good")]
    assert cases[0]["words"].startswith("3 simulated people prefer the first")
    real = disagreements(stands, pd.DataFrame(ballots).assign(simulated=False), "params/agreement.yaml")
    assert real[0]["words"].startswith("3 people prefer")


def test_simulated_answers_are_no_evidence():
    row = dict(zip(KEYS, ("wrbench", "demo", "m", "c"), strict=True))
    judged = [{**row, "question_id": "D6_endpoint", "value": v, "simulated": s, "value_from": f} for v, s, f in
              ((0.2, False, "logprobs"), (0.4, False, "stated"), (1.0, True, "simulated"), (1.0, False, "geometry"))]  # fmt: skip
    assert real_answers(pd.DataFrame(judged)) == {tuple(row.values()): {"D6_endpoint": pytest.approx(0.3)}}


def test_stories_say_so_when_a_run_cannot_tell_them():
    empty = {
        "gated": gated(SCORES).iloc[:0],
        "clips": clips_to_frame([make_clip()]),
        "failures": pd.DataFrame(columns=[*KEYS, "label"]),
    }
    for story in STORIES:
        title, table, words = story(empty)
        assert title
        assert table.empty
        assert "no clip" in words


def test_stories_are_told_from_the_scores():
    clips = clips_to_frame([make_clip(model_id=m, clip_id=c, event_level="state", condition_id="yaw_RL") for m, c in SCORES])
    failures = pd.DataFrame([["wrbench", "demo", "vain", "t1", "state_reset"]], columns=[*KEYS, "label"])
    told = {
        title: (table, words)
        for title, table, words in (story({"gated": gated(SCORES), "clips": clips, "failures": failures}) for story in STORIES)
    }
    table, words = told["Visual quality does not certify a correct return"]
    assert table.iloc[0]["model_id"] == "vain"
    assert "0.02" in words
    assert "state reset" in told["One event through all interfaces"][1]


def test_one_finding_per_label_comes_first_and_no_clip_twice():
    rows = [("a", "1", "teleport", 0.9), ("a", "2", "teleport", 0.8), ("b", "1", "duplicate", 0.6), ("a", "1", "duplicate", 0.9)]
    frame = pd.DataFrame(
        [("wrbench", "demo", m, c, label, sure) for m, c, label, sure in rows], columns=[*KEYS, "label", "confidence"]
    )
    assert [(row["model_id"], row["clip_id"], row["label"]) for row in chosen_failures(frame, 3)] == [
        ("a", "1", "teleport"), ("b", "1", "duplicate"), ("a", "2", "teleport")]  # fmt: skip


def test_phases_follow_the_subject():
    state = np.array([1] * 10 + [2] * 3 + [0] * 12 + [2] * 3 + [3] * 12)
    seen = Evidence(make_clip(), frames=np.arange(N), state=state)
    assert phases(seen) == [("V", 0, 13), ("D", 13, 25), ("R", 25, 40)]


def test_mask_and_track_are_drawn_where_they_are():
    picture, mask = np.zeros((96, 160, 3), np.uint8), np.zeros((48, 80), bool)
    mask[10:30, 20:40] = True
    boxes = np.array([[k, 40.0, k + 20, 60.0] for k in range(0, 120, 10)])
    track = trail(boxes, 11, 320)
    assert track[-1] == pytest.approx([120 / 320, 50 / 320])
    assert len(track) == 9
    drawn = outlined(picture, mask, track).any(axis=2)
    assert drawn[20:60, 40:42].all()  # the outline's left side, at the picture's size
    assert drawn[25, 60]  # the track's last point


def test_a_short_failure_is_always_among_the_frames():
    assert 23 in chosen_frames(N, 5, [Span(23, 23, "cut")])
    assert len(chosen_frames(N, 5, [])) == 5


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory):
    video = tmp_path_factory.mktemp("video") / "clip.mp4"
    ramp = np.linspace(0, 200, N).astype(np.uint8)
    encode(video, np.broadcast_to(ramp[:, None, None, None], (N, 96, 160, 3)), fps=16)
    return make_clip(video=str(video), fps=16.0, width=160, height=96)


def test_pictures_are_written_in_three_formats_with_the_failing_frame_framed(clip, tmp_path: Path):
    state = np.array([1] * 10 + [0] * 15 + [3] * 15)
    seen = Evidence(clip, make_path(out_and_back()), make_path(out_and_back()), np.arange(N), state, pairs=returned())
    curves = pd.DataFrame({"metric": "wrbench.cam_prec", "frame": np.arange(N), "value": np.linspace(0, 1, N)})
    what = Timeline(seen, None, [Span(30, 39, "teleport")], curves, "heading", "caption")
    drawn = timeline_figure(what, 6)
    edges = [patch.get_edgecolor() for axes in drawn.axes for patch in axes.patches if patch.get_linewidth() == 3.0]
    assert edges == [to_rgba(HIGHLIGHT)] * 2  # of frames 0, 8, .. 39 two lie in 30 to 39
    saved = save_figure(drawn, tmp_path, "timeline", "caption")
    side = Side(clip, "m on c: cam_prec 0.5", [Span(20, 20, "cut")])
    save_figure(card_figure(Card("title", (side, side), "caption"), 5), tmp_path, "card", "caption")
    assert saved.png.stat().st_size > 10_000
    assert {path.suffix for path in tmp_path.glob("card.*")} == {".png", ".svg", ".pdf", ".txt"}


def test_curves_take_default_variants_per_frame():
    row = {**dict(zip(KEYS, ("wrbench", "demo", "m", "c"), strict=True)), "kind": "frame", "metric": "wrbench.cam_prec"}
    units = [
        {**row, "variant": variant, "frame": k, "value": value}
        for variant, value in (("corrected", 0.5), ("paper", 0.9))
        for k in range(4)
    ]
    curve = frame_curves(pd.DataFrame(units))["wrbench", "demo", "m", "c"]
    assert len(curve) == 4
    assert curve["value"].nunique() == 1
