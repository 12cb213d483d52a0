"""Quality of judges: compared with themselves, each other, their own confidence, people, and a known truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.errors import ContractError, NotScorable
from lookback.judging.quality import (
    calibration,
    calibration_table,
    cost_per_clip,
    decisions_against_truth,
    disagreements,
    gate_funnel,
    human_triggers,
    judge_agreement,
    polarity_bias,
    position_bias,
    served_models,
    trigger_accuracy,
    truth_agreement,
)
from lookback.judging.quality import test_retest as retest
from lookback.judging.quality.report import calibration_figure, funnel_figure, warn_of_mixed_models
from lookback.tables import SCHEMAS, check_table
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, cohen_kappa_score

PHYSICS = "physics_adherence"
KEYS = {"benchmark": "mbench", "setting": "T", "model_id": "m"}


def rows(answers, task="trigger", judge="a", repeat=0, question_id="trigger", value=None, **keys):
    """Judgements of clips 0, 1, ... from a string of y, n and ? (unparsed)."""
    words = {"y": "yes", "n": "no", "?": ""}
    made = []
    for number, letter in enumerate(answers):
        answer = words.get(letter, letter)
        p = None if letter == "?" else (value[number] if value is not None else float(letter == "y"))
        made.append(
            {
                **KEYS, "clip_id": f"c{number:03d}", **keys, "task": task, "question_id": question_id, "judge": judge,
                "repeat": repeat, "frame": None, "question": "?", "answer": answer, "value": p, "confidence": None,
                "value_from": "stated",
                "reason": "judge_unparsed" if letter == "?" else "", "verbatim": letter, "prompt_version": "v", "simulated": False,
                "backend": "", "version": "", "weights": "", "params_hash": "", "input_hash": "",
            }
        )  # fmt: skip
    return made


def table(*parts):
    return check_table("judgements", pd.DataFrame([row for part in parts for row in part]))


def test_test_retest_counts_repeats_that_agree():
    judged = table(rows("yynny?"), rows("ynnny?", repeat=1))
    found = retest(judged).set_index("measure")
    assert found.loc["agreement", "value"] == pytest.approx(4 / 5)
    assert found.loc["agreement", "n"] == 5
    assert retest(table(rows("yyn"))).empty, "one answer per question says nothing"


def test_the_spread_of_repeats_leaves_out_questions_with_one_answer():
    judged = table(rows("yyyy", value=[0.9, 0.8, 0.7, 0.6]), rows("y???", repeat=1, value=[0.5, 0, 0, 0]))
    spread = retest(judged).set_index("measure").loc["spread of value"]
    assert (spread["value"], spread["n"]) == (pytest.approx(0.2), 1)
    nothing = retest(table(rows("y?"), rows("?y", repeat=1))).set_index("measure").loc["spread of value"]
    assert (nothing["n"], nothing["reason"]) == (0, "too_few_values")


def test_intervals_of_agreement_are_over_clips():
    """Eight clips with one question each, or with three questions that always get the same answer: the interval is the same."""
    questions = [f"D3_{n}" for n in range(3)]
    first, second = "yynynnyy", "yynnnnyn"
    once = judge_agreement(table(rows(first, "probe"), rows(second, "probe", judge="b"))).set_index("measure")
    many = [rows(said, "probe", judge, question_id=name) for judge, said in (("a", first), ("b", second)) for name in questions]
    thrice = judge_agreement(table(*many)).set_index("measure")
    assert (once.loc["agreement", "n"], thrice.loc["agreement", "n"]) == (8, 24)
    for bound in ("low", "high"):
        assert thrice.loc["agreement", bound] == pytest.approx(once.loc["agreement", bound])


def test_agreement_between_judges_is_that_of_a_second_library():
    first, second = "yynynnyyynynnyyn", "yynnnnyyyyynnyny"
    found = judge_agreement(table(rows(first), rows(second, judge="b"))).set_index("measure")
    equal = np.mean([x == y for x, y in zip(first, second, strict=True)])
    assert found.loc["agreement", "value"] == pytest.approx(equal)
    assert found.loc["kappa", "value"] == pytest.approx(cohen_kappa_score(list(first), list(second)))


def test_disagreements_come_widest_first_with_both_replies():
    judged = table(rows("yyy", value=[0.9, 0.6, 0.8]), rows("nyn", judge="b", value=[0.4, 0.7, 0.1]))
    found = disagreements(judged)
    assert found["clip_id"].tolist() == ["c002", "c000"]
    assert found["gap"].tolist() == pytest.approx([0.7, 0.5])
    assert found.loc[0, ["judge_a", "answer_a", "judge_b", "answer_b"]].tolist() == ["a", "yes", "b", "no"]


def test_a_judge_that_always_says_yes_has_a_yes_bias_of_one():
    yes_man = table(
        rows("yyyy", "vqa", question_id=f"{PHYSICS}.positive.1"), rows("yyyy", "vqa", question_id=f"{PHYSICS}.negative.2")
    )
    found = polarity_bias(yes_man).set_index("measure")["value"]
    assert (found["yes bias"], found["yes rate, negative"], found["pass rate, negative"]) == (1.0, 1.0, 0.0)
    fair = table(rows("yyyn", "vqa", question_id=f"{PHYSICS}.positive.1"), rows("nnny", "vqa", question_id=f"{PHYSICS}.negative.2"))
    assert polarity_bias(fair).set_index("measure").loc["yes bias", "value"] == 0


def test_neither_repeats_nor_questions_that_go_together_make_a_rate_more_certain():
    """Twelve clips: the interval does not shrink when a clip is asked the same thing three times, as repeats or as questions."""
    sides = {"positive": "yyynyyyynyyn", "negative": "nnnynnnnnynn"}

    def judged(questions, repeats):
        ids = [(side, f"{PHYSICS}.{side}.{n}") for side in sides for n in range(questions)]
        return table(*(rows(sides[side], "vqa", repeat=k, question_id=name) for side, name in ids for k in range(repeats)))

    single, asked, repeated = (polarity_bias(judged(*how)).set_index("measure") for how in ((1, 1), (3, 1), (1, 3)))
    for found, n in ((asked, 36), (repeated, 12)):
        assert found.loc["pass rate, positive", "n"] == n
        for measure in ("yes rate, positive", "pass rate, negative", "yes bias"):
            assert found.loc[measure, ["value", "low", "high"]].tolist() == pytest.approx(
                single.loc[measure, ["value", "low", "high"]].tolist()
            ), measure


def test_a_unanimous_rate_has_the_interval_of_its_clips():
    ids = [f"{PHYSICS}.positive.{n}" for n in range(6)]
    found = polarity_bias(table(*(rows("yyyy", "vqa", question_id=name) for name in ids))).set_index("measure")
    row = found.loc["yes rate, positive"]
    assert (row["value"], row["n"]) == (1.0, 24)
    assert row["low"] == pytest.approx(4 / (4 + 1.959964**2)), "Wilson at 4 of 4"
    assert found.loc["yes bias", "reason"] == "undefined"


def test_probe_polarity_is_known_from_the_catalogue():
    judged = table(rows("yyn", "probe", question_id="D3_position"), rows("nny", "probe", question_id="D3_contradiction"))
    assert polarity_bias(judged).set_index("measure").loc["pass rate, negative", "value"] == pytest.approx(2 / 3)


def test_position_bias_is_the_rank_correlation_with_the_place_in_the_list():
    judged = table(*(rows("y" if n < 12 else "n", "vqa", question_id=f"physics_adherence.positive.{n}") for n in range(1, 25)))
    assert position_bias(judged)["value"].iat[0] < -0.8


def test_a_hard_dimension_at_the_end_of_the_bank_is_no_position_bias():
    """The ids are sorted by dimension. One dimension passes and another fails; within each, the place has no effect."""
    answers = {"instruction_following": "yyyyny", PHYSICS: "nnnnyn", "continuity_of_memory": "nnnnnn"}
    starts = {"instruction_following": 1, PHYSICS: 7, "continuity_of_memory": 13}
    judged = [
        rows(letter * 5, "vqa", question_id=f"{name}.positive.{starts[name] + k}", repeat=repeat)
        for name, letters in answers.items()
        for k, letter in enumerate(letters)
        for repeat in range(2)
    ]
    found = position_bias(table(*judged)).iloc[0]
    assert found["n"] == 10, "five clips, two dimensions with both outcomes, one repeat"
    assert found["value"] == pytest.approx(0, abs=1e-12)


def test_calibration_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    p = np.clip(0.5 + 0.3 * (truth - 0.5) + rng.normal(0, 0.2, 400), 0.001, 0.999)
    found = calibration_table(p, truth, bins=10)
    share, mean = calibration_curve(truth, p, n_bins=10)
    assert found["share_yes"].to_numpy() == pytest.approx(share)
    assert found["mean_p_yes"].to_numpy() == pytest.approx(mean)
    numbers = calibration(p, truth)
    assert numbers["brier"] == pytest.approx(brier_score_loss(truth, p))
    assert numbers["calibration_error"] == pytest.approx(float((found["n"] / 400 * np.abs(share - mean)).sum()))
    with pytest.raises(NotScorable):
        calibration([], [])
    with pytest.raises(NotScorable):
        calibration([0.5, 1.5], [0, 1])


def ratings(votes):
    about = {"task": "trigger", "benchmark": "mbench", "setting": "T", "dimension": "trigger_human", "model_a": "m"}
    about |= {"clip_b": "", "model_b": "", "scene": "s", "time": 1.0, "simulated": True}
    labels = {"y": "yes", "n": "no"}
    made = [
        {**about, "clip_a": f"c{n:03d}", "annotator": f"p{k}", "label": labels[vote]}
        for n, item in enumerate(votes)
        for k, vote in enumerate(item)
    ]
    return check_table("ratings", pd.DataFrame(made)[list(SCHEMAS["ratings"].columns)])


def test_the_judge_is_held_to_the_human_majority_and_splits_are_left_out():
    votes = ratings(["yyn", "nny", "yyy", "yn", "nnn", "yyy"])
    assert human_triggers(votes)["clip_id"].tolist() == ["c000", "c001", "c002", "c004", "c005"]
    clips = pd.DataFrame([{**KEYS, "clip_id": f"c{n:03d}", "subset": "human"} for n in range(6)])
    found = trigger_accuracy(table(rows("ynnyy?")), votes, clips)
    overall = found[found["subset"] == "overall"].set_index("measure")["value"]
    # people: yes no yes no; judge: yes no no yes. One of two Yes is found, and one of two Yes is right
    assert overall[["accuracy", "precision", "recall"]].tolist() == [0.5, 0.5, 0.5]


def test_spellings_of_yes_and_no_are_one_answer_and_other_words_are_refused():
    votes = ratings(["yyn", "nny"])
    for yes, no in ((" Yes", "NOT_TRIGGERED"), ("1", "0"), ("True", "false")):
        spelled = votes.assign(label=votes["label"].replace({"yes": yes, "no": no}))
        pd.testing.assert_frame_equal(human_triggers(spelled), human_triggers(votes))
    with pytest.raises(ContractError, match="trigger votes are yes or no, found 'maybe'"):
        human_triggers(votes.assign(label=["maybe", *votes["label"][1:]]))
    assert human_triggers(votes.assign(task="pairwise", label="1")).empty


def test_cost_and_latency_are_counted_per_clip():
    usage = {"latency_s": 0.2, "attempts": 2, "input_tokens": 100, "output_tokens": 10, "cost": 0.5}
    calls = [{"judge": "j", "task": "probe", "clip": clip, "usage": usage} for clip in ("a", "a", "b")]
    found = cost_per_clip([*calls, {"judge": "j", "task": "probe", "clip": "c", "usage": {}}]).iloc[0]
    assert found[["clips", "calls", "retries", "input_tokens", "output_tokens"]].tolist() == [2, 3, 3, 300, 30]
    assert found[["seconds_per_clip", "cost", "cost_per_clip"]].tolist() == pytest.approx([0.3, 1.5, 0.75])


def test_the_models_behind_a_name_are_listed_and_two_are_a_warning(recwarn):
    def called(judge, model):
        return {"judge": judge, "task": "probe", "clip": "a", "usage": {"served_model": model} if model else {}}

    calls = [called("openai/vlm", "vlm-2026-01"), called("openai/vlm", "vlm-2026-01"), called("geometric", ""), called("o", "x")]
    served = served_models(calls)
    assert served.to_numpy().tolist() == [["o", "x", 1], ["openai/vlm", "vlm-2026-01", 2]]
    warn_of_mixed_models(served)
    assert not recwarn
    with pytest.warns(UserWarning, match=r"openai/vlm come from several models: vlm-2026-01 \(2 calls\), vlm-2026-09 \(1 calls\)"):
        warn_of_mixed_models(served_models([*calls, called("openai/vlm", "vlm-2026-09")]))
    assert served_models([]).empty


def test_the_funnel_counts_only_clips_that_passed_every_step_before():
    said = {"camera_departed": "yyyn", "subject_hidden": "yy?y", "subject_returned": "ynyy", "return_judgeable": "yyyy"}
    judged = table(*(rows(answers, "timeline", "geometric", question_id=name) for name, answers in said.items()))
    funnel = gate_funnel(judged, "geometric").iloc[0]
    assert funnel[["all", "departed", "hidden", "returned", "judgeable", "unknown"]].tolist() == [4, 3, 2, 1, 1, 1]
    figure, caption = funnel_figure(gate_funnel(judged, "geometric"), "geometric")
    assert "4 clips, 1 judgeable, 1 undecided" in caption
    assert figure.axes[0].get_xlabel() == "clips"
    assert gate_funnel(judged, "somebody else").empty


def test_the_calibration_figure_shows_every_judge_with_its_n():
    tables = {"openai/x": calibration_table([0.1, 0.8, 0.9, 0.4], [0, 1, 1, 1])}
    figure, caption = calibration_figure(tables, "the human majority")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["perfect", "openai/x (n = 4)"]
    assert "the human majority" in caption


KEY = {"benchmark": "mbench", "setting": "T"}
WRBENCH = {"benchmark": "wrbench", "setting": "caption"}


def answer(clip_id: str, task: str, question_id: str, said: str, key: dict = KEY) -> dict:
    named = {"model_id": "m", "clip_id": clip_id, "task": task, "question_id": question_id, "judge": "geometric"}
    return {**key, **named, "repeat": 0, "answer": said, "reason": ""}


def turning(path, angles) -> str:
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    cos, sin = np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))
    poses[:, 0, 0], poses[:, 0, 2], poses[:, 2, 0], poses[:, 2, 2] = cos, sin, -sin, cos
    np.savez(path, c2w=poses)
    return str(path)


def test_subjects_by_their_return_environments_by_the_view(tmp_path):
    """Object: the subject comes back. Environment: the subject is gone, but the camera turns away and comes back."""
    away = turning(tmp_path / "away.npz", [0.0, 40.0, 60.0, 20.0, 0.0])
    stays = turning(tmp_path / "stays.npz", [0.0, 40.0, 60.0, 60.0, 60.0])
    rows = [("object:a", True, away), ("environment:b", False, away), ("environment:c", False, stays)]
    keys = [{**KEY, "model_id": "m", "clip_id": clip} for clip, _, _ in rows]
    truth = pd.DataFrame(
        [{**key, "subset": "object", "returns": back, "record": record} for key, (_, back, record) in zip(keys, rows, strict=True)]
    )
    clips = pd.DataFrame([{**key, "subset": key["clip_id"].split(":")[0]} for key in keys])
    judgements = pd.DataFrame([answer(clip, "trigger", "trigger", "yes") for clip, _, _ in rows])
    decisions = decisions_against_truth(judgements, truth, clips).set_index("clip_id")
    assert decisions["true"].to_dict() == {"object:a": True, "environment:b": True, "environment:c": False}
    table = truth_agreement(decisions.reset_index()).set_index("decision")
    assert (table.loc["trigger", "clips"], table.loc["trigger", "right"]) == (3, 2)


def test_support_is_the_pattern_of_the_seconds(tmp_path):
    """WRBench: judgeable, hidden, judgeable is a return. In the truth, the second clip never comes back."""
    record = turning(tmp_path / "path.npz", [0.0])
    keys = [{**WRBENCH, "model_id": "m", "clip_id": clip} for clip in ("a", "b")]
    truth = pd.DataFrame([{**key, "subset": "", "returns": key["clip_id"] == "a", "record": record} for key in keys])
    clips = pd.DataFrame([{**key, "subset": ""} for key in keys])
    said = {"a": ["yes", "no", "yes"], "b": ["yes", "no", "no"]}
    judgements = pd.DataFrame(
        [
            answer(clip, "judgeability", f"second_{second:03d}", word, WRBENCH)
            for clip, words in said.items()
            for second, word in enumerate(words)
        ]
    )
    decisions = decisions_against_truth(judgements, truth, clips)
    assert decisions["said"].tolist() == [True, False]
    assert truth_agreement(decisions)["share"].tolist() == [1.0, 1.0]
