"""A plain folder: a camera pans over a photograph and back; what a model may spoil on the way, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import cv2
import made_artifacts
import numpy as np
import pandas as pd
import pytest
import skimage.data
from lookback.artifacts import PoseTrack
from lookback.benchmarks.folder.metrics.motion import lightness_jumps
from lookback.benchmarks.folder.pictures import clip_picture
from lookback.benchmarks.folder.report import MODELS, PLACES, VERDICTS, clip_cards, findings, paper_tables
from lookback.benchmarks.folder.verdict import Answer, Measured, evidence_of, facts_of, sentence
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import Anchor, Clip, clips_to_frame
from lookback.errors import NotScorable, Reason
from lookback.measures import geometry
from lookback.measures.revisits import View, compare_place, find_revisit, local_structure, same_place, view_overlap, view_profile
from lookback.media import encode
from lookback.params import RunParams
from lookback.registry import METRICS
from lookback.report.paper import PaperData
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import ScoringClip

FRAMES, HEIGHT, WIDTH, PAN = 33, 240, 320, 300
DEGREES_PER_PIXEL = 0.14
OUT_AND_BACK = np.concatenate([np.zeros(5), np.linspace(0, PAN, 11), np.full(2, PAN), np.linspace(PAN, 0, 11), np.zeros(4)])
AWAY = np.concatenate([np.zeros(5), np.linspace(0, PAN, 28)])
BACK_AND_AWAY = np.concatenate([np.linspace(0, 200, 9), np.linspace(200, 0, 9), np.zeros(4), np.linspace(0, 360, 11)])
CUT = 16  # first frame of another place
STILL = np.zeros(FRAMES)
CAT = (110, 90, 80, 80)  # x, y, width, height in the first frame
RETURN = 18  # first frame of the way back
MEASURES = [spec for spec in METRICS if spec.benchmark == "folder"]
REVISIT = ("view_again", "place_kept", "place_ssim", "place_lpips", "place_features", "place_lighting")


@cache
def wide_picture(other: bool = False) -> np.ndarray:
    """Two photographs side by side; `other` is another place."""
    names = ("rocket", "astronaut") if other else ("coffee", "astronaut")
    return np.hstack([cv2.resize(getattr(skimage.data, name)(), (360, HEIGHT), interpolation=cv2.INTER_AREA) for name in names])


def with_cat(picture: np.ndarray) -> np.ndarray:
    x, y, w, h = CAT
    picture = picture.copy()
    picture[y : y + h, x : x + w] = cv2.resize(skimage.data.chelsea()[:300, :300], (w, h), interpolation=cv2.INTER_AREA)
    return picture


def film(path: np.ndarray, scene: Callable[[int], np.ndarray]) -> np.ndarray:
    """A window that slides over the picture `scene(frame)`."""
    return np.stack([scene(t)[:, round(x) : round(x) + WIDTH] for t, x in enumerate(path)])


class Colours:
    """Stands in for the encoder: the colours of a picture's quarters."""

    def encode(self, frames: np.ndarray, shaping: object = None) -> SimpleNamespace:
        cells = [cv2.resize(frame, (4, 4), interpolation=cv2.INTER_AREA).astype(float) - 127.5 for frame in frames]
        return SimpleNamespace(cls=np.stack([cell.ravel() for cell in cells]))


class Difference:
    """Stands in for LPIPS."""

    def distance(self, a: np.ndarray, b: np.ndarray, net: str) -> np.ndarray:
        return np.abs(a.astype(float) - b).mean(axis=(1, 2, 3)) / 255


class Still:
    """Stands in for the optical flow: nothing moves."""

    def flow(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.zeros((*a.shape[:2], 2), np.float32)


TOOLS = {"features": Colours(), "perceptual": Difference(), "flow": Still()}


def scored(folder: Path, video: np.ndarray, path: np.ndarray | None, name: str = "clip", anchor: bool = True, **more: str):
    """(clip, items, units) of all measures, from a video file and a camera path."""
    encode(folder / f"{name}.mp4", video, 16)
    x, y, w, h = CAT
    clip = Clip(
        benchmark="folder", setting="", model_id="m", clip_id=name, scene=name, video=str(folder / f"{name}.mp4"),
        n_frames=len(video), fps=16.0, width=WIDTH, height=HEIGHT, object_name=more.get("subject", "cat" if anchor else ""),
        content_hash="0" * 64,
        object_anchor=Anchor(centre_x=x + w / 2, centre_y=y + h / 2, width=w, height=h) if anchor else None,
    )  # fmt: skip

    def load(role: str):
        if path is None:
            raise NotScorable(Reason.NO_POSES, "no path")
        count = len(path)
        return PoseTrack(
            frame_index=np.arange(count), c2w=from_yaw_pitch_roll(path * DEGREES_PER_PIXEL),
            intrinsics=np.tile(np.eye(3), (count, 1, 1)),
            confidence=np.where(name == "cut", np.arange(count) < CUT, 1).astype(np.float32),
            has_translation=np.zeros(count, bool), focal_source=more.get("lens", ""),
            flags={"cut": [[CUT, CUT + 1]]} if name == "cut" else {},
        ).pack()  # fmt: skip

    shared: dict = {}
    contexts = [ScoringClip(clip, "paper", {}, pd.DataFrame(), load, TOOLS.__getitem__, shared) for _ in MEASURES]
    results = score_clip(list(zip(MEASURES, contexts, strict=True)))
    keys = {"benchmark": "folder", "setting": "", "model_id": "m", "clip_id": name}
    rows = [
        [
            {**keys, "metric": spec.name, "variant": "paper", **asdict(row)}
            for spec, result in zip(MEASURES, results, strict=True)
            for row in part(result)
        ]
        for part in (lambda result: result.items, lambda result: result.units)
    ]
    return clip, pd.DataFrame(rows[0]), pd.DataFrame(rows[1])


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """name -> (clip, items, units) of films whose answer is known by construction."""
    folder = tmp_path_factory.mktemp("films")
    whole, bare, other = with_cat(wide_picture()), wide_picture(), wide_picture(other=True)
    films = {
        "same": (OUT_AND_BACK, lambda t: whole),
        "gone": (OUT_AND_BACK, lambda t: whole if t < RETURN else bare),
        "darker": (OUT_AND_BACK, lambda t: whole if t < RETURN else (whole * 0.75).astype(np.uint8)),
        "other": (OUT_AND_BACK, lambda t: whole if t < RETURN else np.vstack([other[:140], whole[140:]])),
        "away": (AWAY, lambda t: whole),
        "still": (STILL, lambda t: whole),
        "back and away": (BACK_AND_AWAY, lambda t: whole),
        "cut": (STILL, lambda t: whole if t < CUT else other),
    }
    return {name: scored(folder, film(path, scene), path, name) for name, (path, scene) in films.items()}


def value(found, measure: str) -> float:
    items = found[1]
    return float(items.loc[items["metric"] == f"folder.{measure}", "value"].iloc[0])


def reason(found, measure: str) -> str:
    items = found[1]
    return str(items.loc[items["metric"] == f"folder.{measure}", "reason"].iloc[0])


def verdict(found) -> str:
    clip, items, units = found
    return sentence(evidence_of(facts_of(items, units)[clip.key], clip.object_name))


def test_a_return_to_the_same_place_has_every_measure_and_is_called_the_same(clips):
    same = clips["same"]
    assert same[1]["value"].notna().all() and len(same[1]) >= 8
    assert value(same, "camera_turn") == pytest.approx(PAN * DEGREES_PER_PIXEL, abs=0.5)
    assert value(same, "camera_return") > 0.99 and value(same, "view_left") == pytest.approx(PAN / WIDTH, abs=0.15)
    assert value(same, "place_kept") > 0.95 and value(same, "place_ssim") > 0.85 and value(same, "place_lpips") < 0.03
    assert (
        verdict(same) == "The camera turns 42 degrees to the right and comes back; the place is the same; the cat is still there."
    )


def test_the_pairs_are_found_by_matching_and_their_frames_show_one_view(clips):
    _, _, units = clips["same"]
    pairs = units[units["metric"] == "folder.view_again"]
    assert len(pairs) == 3
    for first, second, away in zip(pairs["frame"], pairs["frame_other"], pairs["raw"], strict=True):
        assert abs(OUT_AND_BACK[int(first)] - OUT_AND_BACK[int(second)]) <= 30  # every second frame is compared: 60 px apart
        assert OUT_AND_BACK[int(away)] == PAN


def test_a_subject_that_does_not_come_back_is_called_gone_and_its_surroundings_the_same(clips):
    gone = clips["gone"]
    assert value(gone, "subject_kept") < 0.35 and value(clips["same"], "subject_kept") > 0.95
    assert "the place is the same" in verdict(gone) and "the cat is gone" in verdict(gone)


def test_another_place_on_return_is_told_from_the_same_place_in_other_light(clips):
    darker, other = clips["darker"], clips["other"]
    assert value(darker, "place_kept") > 0.9 and value(darker, "place_lighting") < 0.6 < value(clips["same"], "place_lighting")
    assert value(other, "place_kept") < 0.7
    assert "the place is the same" in verdict(darker) and "the place has changed in part" in verdict(other)


def test_without_a_return_the_measures_of_the_place_abstain_with_a_reason(clips):
    assert {reason(clips["away"], name) for name in REVISIT} == {str(Reason.NO_RETURN)}
    assert {reason(clips["still"], name) for name in REVISIT} == {str(Reason.NOT_TRIGGERED)}
    assert verdict(clips["away"]) == "The camera turns 42 degrees to the right and does not come back."
    assert verdict(clips["still"]) == "The camera stays on its first view."


def test_a_camera_that_comes_back_and_then_turns_farther_away_did_come_back(clips):
    found = clips["back and away"]
    assert value(found, "camera_return") > 0.95 and value(found, "camera_turn") == pytest.approx(360 * DEGREES_PER_PIXEL, abs=0.5)
    assert "turns 50 degrees to the right and comes back; the place is the same" in verdict(found)


def test_behind_a_cut_to_another_place_the_camera_is_not_known_and_the_first_view_is_gone(clips):
    assert reason(clips["cut"], "camera_turn") == Reason.UNTRUSTED_PATH
    assert value(clips["cut"], "view_left") > 0.9 and value(clips["cut"], "cuts") == 1
    assert verdict(clips["cut"]) == "How the camera moves is not known; there is a hard cut at frame 16."


def test_a_subject_that_is_only_named_is_not_guessed_and_an_unknown_lens_makes_the_turn_rough(tmp_path):
    picture, lens = with_cat(wide_picture()), "assumed: 60.0 deg horizontally"
    found = scored(tmp_path, film(OUT_AND_BACK, lambda t: picture), OUT_AND_BACK, anchor=False, subject="cat", lens=lens)
    items = found[1].set_index("metric")
    assert items.loc["folder.subject_kept", "reason"] == Reason.BACKEND_UNAVAILABLE
    assert "'cat'" in items.loc["folder.subject_kept", "detail"] and "GroundingDINO" in items.loc["folder.subject_kept", "detail"]
    assert "The camera turns about 42 degrees to the right and comes back" in verdict(found)


def test_without_a_camera_path_the_verdict_says_that_it_does_not_know(tmp_path):
    found = scored(tmp_path, film(STILL, lambda t: wide_picture()), None)
    assert reason(found, "camera_turn") == Reason.NO_POSES
    assert verdict(found) == "How the camera moves is not known."


def test_a_return_by_the_path_that_no_frame_confirms_is_not_known(tmp_path):
    other = wide_picture(other=True)
    found = scored(tmp_path, film(OUT_AND_BACK, lambda t: with_cat(wide_picture()) if t < 12 else np.flip(other, 1)), OUT_AND_BACK)
    assert {reason(found, name) for name in REVISIT} == {str(Reason.TOO_FEW_MATCHES)}
    assert "whether it is the same place is not known" in verdict(found)


@pytest.mark.parametrize(
    ("kept", "around", "again", "away", "answer"),
    [
        (0.9, 0.9, 0.9, 0.5, Answer.YES),
        (0.2, 0.9, 0.5, 0.5, Answer.NO),
        (0.2, 0.9, 0.8, 0.5, Answer.PARTLY),
        (0.2, 0.3, 0.5, 0.5, Answer.NOT_KNOWN),  # the surroundings are lost, too: nothing can be said about the subject
        (0.5, 0.9, 0.55, 0.5, Answer.NOT_KNOWN),
    ],
)
def test_what_is_said_about_a_subject_follows_from_its_evidence(kept, around, again, away, answer):
    facts = {"folder.subject_kept": Measured(kept, around, ""), "folder.subject_again": Measured(again, away, "")}
    found = {each.question: each for each in evidence_of(facts, "cup")}["subject again"]
    assert found.answer == answer and "the cup" in found.words


def paper_data(clips) -> PaperData:
    parts = [clips[name] for name in ("same", "gone", "still")]
    items, units = (pd.concat([part[place] for part in parts], ignore_index=True) for place in (1, 2))
    table = clips_to_frame([part[0] for part in parts])
    items = with_clip_facts(items.assign(backend="none"), table)
    return PaperData(RunParams(run="x"), items, {"clips": table, "units": units, "judgements": pd.DataFrame({"task": []})})


def test_the_tables_have_a_row_per_clip_and_model_and_no_column_without_a_value(clips):
    tables = {table.id: table for table in paper_tables(paper_data(clips))}
    assert set(tables) == {VERDICTS, PLACES, MODELS}
    verdicts = tables[VERDICTS].frame.set_index("clip")
    assert verdicts.loc["gone", "verdict"].endswith("the cat is gone.") and verdicts.loc["same", "measures"] >= 8
    for name in (PLACES, MODELS):
        assert tables[name].frame[tables[name].numbers].notna().any().all()
    assert any("n 3 of 3" in note for note in tables[MODELS].notes)
    facts = [METRICS.get(f"folder.{name}").title for name in ("camera_turn", "camera_return", "view_left", "view_again")]
    assert set(facts) <= set(tables[PLACES].numbers) - set(tables[PLACES].better)  # a wide turn is no merit
    assert all(tables[PLACES].header(name) == name for name in facts), "no arrow"


def test_the_first_page_says_how_many_clips_test_memory(clips):
    [(text, place)] = findings(paper_data(clips).items)
    assert (
        text
        == "In 2 of 3 clips the camera turns away, and in 2 it sees an early view again. Of these 2 the place is the same in 2."
    )
    assert place == VERDICTS


def test_every_clip_has_a_card_whose_picture_marks_what_differs(clips):
    cards = {card.title: card for card in clip_cards(paper_data(clips))}
    assert len(cards) == 3 and "differs" in cards["gone, m"].caption and "differs" not in cards["still, m"].caption
    clip, items, units = clips["gone"]
    picture = clip_picture(clip, facts_of(items, units)[clip.key])
    assert picture is not None
    drawn = picture.image[:, -picture.image.shape[1] // 4 :].astype(int)
    scale = drawn.shape[0] / HEIGHT
    x, y, w, h = (round(part * scale) for part in CAT)
    red = drawn[..., 0] - drawn[..., 1] > 80
    assert red[y : y + h, x : x + w].mean() > 0.4 > 5 * red[:y].mean()


def test_a_known_shift_gives_its_overlap_and_flat_or_mirrored_views_give_none():
    shift = np.array([[1.0, 0, 80], [0, 1, 0], [0, 0, 1]])
    assert view_overlap(shift, (HEIGHT, WIDTH), (HEIGHT, WIDTH)) == pytest.approx(0.75)
    assert view_overlap(np.diag([-1.0, 1, 1]), (HEIGHT, WIDTH), (HEIGHT, WIDTH)) == 0.0
    picture = wide_picture()
    pair = same_place(View.of(0, picture[:, :WIDTH]), View.of(1, picture[:, 80 : 80 + WIDTH]))
    assert pair.overlap == pytest.approx(0.75, abs=0.01) and pair.matrix is not None
    np.testing.assert_allclose(pair.matrix / pair.matrix[2, 2], shift, atol=1.5)
    assert not same_place(View.of(0, picture[:, :WIDTH]), View.of(1, np.full((HEIGHT, WIDTH, 3), 90, np.uint8))).found


def test_soft_pictures_without_features_are_matched_by_their_aligned_detail():
    nothing = (np.zeros((0, 2)), np.zeros((0, 128), np.float32))
    soft = [View(x, cv2.GaussianBlur(wide_picture()[:, x : x + WIDTH], (0, 0), 3), nothing) for x in (0, 12)]
    pair = same_place(*soft)
    assert pair.correlation is not None and pair.correlation > 0.7
    assert pair.overlap == pytest.approx(1 - 12 / WIDTH, abs=0.03)


def test_a_view_that_is_never_left_is_no_revisit():
    views = [View.of(t, wide_picture()[:, x : x + WIDTH]) for t, x in enumerate((0, 10, 20, 10, 0))]
    assert find_revisit(view_profile(views, 0)) is None


def test_structure_is_one_for_equal_pictures_in_any_light_and_minus_one_for_negatives():
    picture = np.repeat(np.random.default_rng(0).integers(60, 180, (60, 80, 1), np.uint8), 3, axis=2)
    assert local_structure(picture, picture + np.uint8(40)).min() > 0.99
    assert local_structure(picture, 255 - picture).mean() < -0.9
    assert compare_place(picture, picture, np.eye(3)).kept() == 1.0


def test_jumps_of_light_are_the_second_differences():
    np.testing.assert_allclose(lightness_jumps([50, 52, 50, 50]), [2.0, 1.0])  # |50 - 104 + 50| / 2, |52 - 100 + 50| / 2
    np.testing.assert_allclose(lightness_jumps(np.linspace(20, 80, 9)), 0.0, atol=1e-12)


def test_nearest_descriptors_are_those_of_opencv():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 180, (n, 128)).astype(np.float32) for n in (60, 90))
    b[:20] = np.clip(a[:20] + rng.integers(-9, 9, (20, 128)), 0, 255)
    expected = np.full(len(a), -1)
    for near, next_one in cv2.BFMatcher(cv2.NORM_L2).knnMatch(a, b, k=2):
        if near.distance < 0.8 * next_one.distance:
            expected[near.queryIdx] = near.trainIdx
    np.testing.assert_array_equal(geometry._best_matches(a, b, 0.8), expected)
    assert (expected >= 0).sum() == 20


def test_a_turn_past_180_degrees_is_said_as_far_as_it_goes():
    """Two views are at most 180 degrees apart; the camera turns on to 225."""
    yaw = np.concatenate([np.linspace(0, 225, 20), np.linspace(225, 0, 20)])
    path = made_artifacts.poses(from_yaw_pitch_roll(yaw))
    spec = METRICS.get("folder.camera_turn")
    clip = Clip(benchmark="folder", setting="", model_id="m", clip_id="c", scene="s", video="v.mp4", n_frames=len(yaw))
    context = ScoringClip(clip, "paper", {}, pd.DataFrame(), lambda role: path.pack(), lambda role: None, settings={})
    item = spec.score(context).items[0]
    assert item.value <= 180 and item.raw == pytest.approx(225, abs=12)
    said = sentence(evidence_of({"folder.camera_turn": Measured(item.value, item.raw, "")}))
    assert f"turns {item.raw:.0f} degrees to the right" in said
