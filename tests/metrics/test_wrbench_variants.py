"""What WRBench's variants do to a clip: who is scored, which rows the released means drop, and how the gate is read."""

import json
from types import SimpleNamespace

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.wrbench import judging
from lookback.benchmarks.wrbench.metrics.cam_align import alignment, static_hold
from lookback.benchmarks.wrbench.metrics.cam_prec import camera_precision
from lookback.benchmarks.wrbench.metrics.shared import settings_of
from lookback.camera.intent import compile, preset
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.parsing import interpret
from lookback.judging.question import Part, Question, Reply
from lookback.judging.tasks import Sampling
from lookback.judging.verdicts import JudgedClip, Verdict
from lookback.registry import METRICS
from lookback.scoring import ScoringClip
from lookback.scoring.clip import score_clip

CONTROL = {
    "target_role": "benchmark_intended_control", "evidence_level": "benchmark_intent", "control_direction": "yaw_LR",
    "control_profile": "canonical_60deg", "yaw_peak_deg": 60.0, "num_frames": 21, "fps": 16.0, "image_size": [64, 48], "fov": 60.0,
    "trajectory_sampling_rule": "linear",
}  # fmt: skip


def clip(**facts) -> Clip:
    names = {"benchmark": "wrbench", "setting": "s", "model_id": "m", "clip_id": "c", "scene": "s", "video": "video.mp4"}
    return Clip(**(names | {"n_frames": 21, "fps": 16.0, "camera": "yaw_LR"} | facts))


def item(name: str, known: Clip, path: np.ndarray, variant: str):
    spec = METRICS.get(f"wrbench.{name}")
    entry = made_artifacts.poses(path).pack()
    settings = spec.preset(variant, {})
    context = ScoringClip(known, variant, {}, pd.DataFrame(), lambda role: entry, lambda role: None, settings=settings)
    return score_clip([(spec, context)])[0].items[0]


def turned(degrees: float) -> np.ndarray:
    return from_yaw_pitch_roll(np.linspace(0, degrees, 21))


@pytest.mark.parametrize("request_name", ["yaw_RL", "pan_RL"])
def test_a_peak_of_exactly_the_limit_scores_nothing_in_the_release(request_name):
    """_same_sign of d1_camera.py wants more than the limit, where the check for weak motion lets the limit pass."""
    peak, path = (2.0, from_yaw_pitch_roll([0.0, 2.0, 0.0])) if request_name == "yaw_RL" else (1e-4, turned(0)[:3])
    path[1, 0, 3] = 0.0 if request_name == "yaw_RL" else peak
    paper, official = (camera_precision(path, path, request_name, variant=name) for name in ("paper", "official"))
    assert paper["peak"] == official["peak"] == peak
    assert (paper["score"], official["score"]) == (pytest.approx(1.0), 0.0)


def test_a_camera_that_stands_still_is_inverted_as_in_the_release():
    """Whether its released status is `ok` depends on the last bits of the inverse (camera_intent.py)."""
    rng = np.random.default_rng(0)
    rigid = 0
    for _ in range(200):
        pose = from_yaw_pitch_roll(*rng.uniform(-60, 60, 3), position=rng.normal(0, 1, 3))
        path = np.repeat(pose[None], 5, axis=0)
        turned_deg = [np.degrees(np.arccos(min((np.trace(m[:3, :3]) - 1) / 2, 1.0))) for m in np.linalg.inv(pose) @ path]
        held = 1.0 - max(max(turned_deg) / 5.0, np.linalg.norm((np.linalg.inv(pose) @ path)[:, :3, 3], axis=1).max() / 0.1)
        expected = "ok" if held >= 1.0 else "motion_detected"
        assert alignment(path, "static", settings_of("static_hold", "official"))[1] == expected
        rigid += held == static_hold(path)
    assert rigid < 200  # so that the two inverses are told apart


@pytest.mark.parametrize(
    ("camera", "path", "paper", "official"),
    [
        ("yaw_LR", turned(-16), 0.5, 0.5),
        ("yaw_LR", turned(-1), 0.0, None),
        ("yaw_LR", turned(16), 0.0, None),
        ("static", turned(0), None, 1.0),
        ("static", turned(2.5), None, None),
        ("yaw:left:30@21", turned(-30), 1.0, None),
    ],
)
def test_the_released_mean_of_camalign_drops_rows_that_the_paper_counts(camera, path, paper, official):
    """Spec: scores 0.8, 0.0 and 0.5 with two other statuses give a released mean of 0.8, n = 1 of 3."""
    known = clip(camera=camera, condition_type="prompt-only")
    values = [item("cam_align", known, path, variant) for variant in ("paper", "official")]
    assert [one.value for one in values] == [pytest.approx(paper) if paper is not None else None, official]
    dropped = values[1]
    if official is None and camera != "yaw:left:30@21":
        assert dropped.reason == Reason.UNDEFINED and "the released mean drops" in dropped.detail and dropped.raw is not None


def test_the_released_camalign_is_for_prompt_only_models():
    known = clip(condition_type="source-video")
    assert item("cam_align", known, turned(-16), "paper").value == pytest.approx(0.5)
    assert item("cam_align", known, turned(-16), "official").reason == Reason.NOT_APPLICABLE


def test_a_request_to_turn_past_half_a_turn_keeps_its_direction(tmp_path):
    np.save(tmp_path / "target.npy", turned(190))
    known = clip(camera="around", target_poses=str(tmp_path / "target.npy"))
    assert item("cam_align", known, turned(60), "paper").value == 1.0


def test_static_hold_counts_every_clip_or_only_perfect_ones():
    known = clip(camera="static", condition_type="prompt-only")
    assert item("static_hold", known, turned(2.5), "paper").value == pytest.approx(0.5)
    assert item("static_hold", known, turned(2.5), "official").value is None
    assert item("static_hold", known, turned(0), "official").value == 1.0


@pytest.mark.parametrize("fault", [{}, {"control_profile": "diagnostic_30deg"}, {"fov": None}, {"control_direction": "orbit"}])
def test_the_released_camprec_wants_a_certified_target_of_the_main_table(tmp_path, fault):
    np.save(tmp_path / "target.npy", compile(preset("yaw_LR", 21)))
    known = clip(target_poses=str(tmp_path / "target.npy"), condition_type="source-video", extras=CONTROL | fault)
    path = compile(preset("yaw_LR", 21))
    assert item("cam_prec", known, path, "paper").value == pytest.approx(1.0)
    found = item("cam_prec", known, path, "official")
    if fault:
        assert found.reason == Reason.NOT_APPLICABLE and next(iter(fault)) in found.detail
    else:
        assert found.value == pytest.approx(1.0, abs=1e-6)


def said(**answers: str | None) -> dict[str, Verdict]:
    return {name: verdict(answer) for name, answer in answers.items()}


def verdict(answer: str | None) -> Verdict:
    if answer is None:
        return Verdict("", None, Reason.JUDGE_UNPARSED, "judge", "?")
    return Verdict(answer, float(answer == "yes"), None, "judge", "")


def seconds(text: str) -> dict[str, str | None]:
    return {f"second_{k:03d}": {"y": "yes", "n": "no", "?": None}[letter] for k, letter in enumerate(text)}


PREDICATES = {"D5_hidden": "yes", "D5_returned": "no", "D5_unidentifiable": "no"}
PREDICATES |= {"D6_hidden": "yes", "D6_returned": "yes", "D6_unidentifiable": "no"}
PROBES = {"D5_position": "yes", "D5_contradiction": "no", "D6_endpoint": "yes", "D6_contradiction": "no"}


def scores(tasks: dict[str, dict[str, Verdict]], variant: str, **extras: str) -> list[float | str]:
    judged = JudgedClip(clip(extras=extras), variant, tasks | {"probe": said(**PROBES)})
    found: list[float | str] = []
    for name in ("reobserved_spatial", "reobserved_state", "support"):
        try:
            found.append(METRICS.get(f"wrbench.{name}").score(judged).value)
        except NotScorable as missing:
            found.append(str(missing.reason))
    return found


def test_the_paper_asks_for_predicates_and_the_release_for_the_pattern_alone():
    tasks = {judging.GATE: said(**seconds("yny"), **PREDICATES)}
    assert scores(tasks, "paper") == ["no_return", 1.0, 1.0]
    assert scores(tasks, "official") == [1.0, 1.0, 1.0]


def test_a_second_answer_counts_in_the_release_only():
    first = {judging.GATE: said(**seconds("ynn"), **PREDICATES)}
    again = said(**seconds("yny"), d5_applicable="yes", d6_applicable="no")
    assert scores(first, "official") == ["no_return", "no_return", 0.0]
    assert scores({**first, judging.RESCUE: again}, "official") == [1.0, "no_return", 0.0]
    assert scores({**first, judging.RESCUE: again}, "paper") == ["no_return", "no_return", 0.0]


def test_a_second_answer_that_cannot_be_read_leaves_the_first_one_standing():
    """As merge_qwen3vl_rescue_evidence.py does: the clip stays in the denominator."""
    first = {judging.GATE: said(**seconds("ynn"))}
    flags = {"d5_applicable": "yes", "d6_applicable": "yes"}
    for again in (seconds("???") | flags, seconds("yny") | flags | {"d6_applicable": None}, seconds("yn?") | flags):
        assert scores({**first, judging.RESCUE: said(**again)}, "official") == ["no_return", "no_return", 0.0]
    unread = {judging.GATE: said(**seconds("y?y")), judging.RESCUE: said(**seconds("???"), **flags)}
    assert scores(unread, "official") == ["judge_unparsed", "judge_unparsed", 0.0]


def test_the_pattern_is_found_in_the_rows_that_the_judge_wrote():
    """81 frames at 16 fps last six seconds; a judge that lists five, or several rows of one second, has answered."""
    for names in (("000", "001", "004"), ("000", "000.02", "000.03"), ("998", "999", "1000")):
        answers = dict(zip((f"second_{name}" for name in names), ("yes", "no", "yes"), strict=True))
        for variant in ("paper", "official"):
            assert scores({judging.GATE: said(**answers, **PREDICATES)}, variant)[2] == 1.0


def test_a_task_without_a_planned_gap_never_applies_in_the_release():
    tasks = {judging.GATE: said(**seconds("yny"), **(PREDICATES | {"D5_returned": "yes"}))}
    assert scores(tasks, "official", oov_gap="none") == ["no_oov", "no_oov", 0.0]
    assert scores(tasks, "paper", oov_gap="none") == [1.0, 1.0, 1.0]


def test_an_answer_that_cannot_be_read_is_missing_or_not_applicable():
    tasks = {judging.GATE: said(**seconds("yn?"), **PREDICATES)}
    assert scores(tasks, "paper") == ["judge_unparsed"] * 3
    assert scores(tasks, "official") == ["judge_unparsed", "judge_unparsed", 0.0]


def test_the_flags_of_the_second_answer_are_read_from_its_gate():
    parts = tuple(Part(name, "?") for name in ("second_000", "second_001", "d5_applicable", "d6_applicable"))
    question = Question(clip(), judging.RESCUE, "per_second", "", "", "v", parts, "v.mp4", "", (), ())
    rows = [{"sec": 0, "judgeable": "yes"}, {"sec": 1, "judgeable": "no"}]
    reply = {"per_second": rows, "gate": {"d5_applicable": True, "d6_applicable": "unclear", "na_reason": None}}
    read = {answer.part.question_id: answer.answer or answer.reason for answer in interpret(question, [Reply(json.dumps(reply))])}
    expected = {"second_000": "yes", "second_001": "no", "d5_applicable": "yes", "d6_applicable": Reason.JUDGE_UNPARSED}
    assert read == expected


def test_only_clips_without_a_return_are_asked_again_by_the_gates_judge(monkeypatch):
    known = {name: clip(clip_id=name, content_hash="0" * 64) for name in ("returns", "stays", "unread")}
    answers = {"returns": "yny", "stays": "yyy", "unread": "y?y"}
    judged = [JudgedClip(known[name], "paper", {judging.GATE: said(**seconds(text))}) for name, text in answers.items()]
    monkeypatch.setattr(judging, "_judged", lambda session, clips: judged)
    asked: list[tuple[str, Question]] = []
    session = SimpleNamespace(
        panel=SimpleNamespace(judge=lambda role: f"the {role}"),
        counted={judging.GATE: "gate"},
        sampling=Sampling(),
        ask=lambda seat, questions: asked.extend((seat, question) for question in questions),
    )
    judging.ask_again(session, list(known.values()))
    assert [(seat, question.clip.clip_id, question.task) for seat, question in asked] == [
        ("the gate", "stays", "rescue"),
        ("the gate", "unread", "rescue"),
    ]
    assert [part.question_id for part in asked[0][1].parts][-2:] == ["d5_applicable", "d6_applicable"]
