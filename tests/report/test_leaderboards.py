"""Who is best: duels on the same task, checked by hand; ties, single clips, and judges that are simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.clips import KEYS
from lookback.errors import Reason
from lookback.report.leaderboard import REAL, leaderboard, mean_ranks, no_board, without_simulated
from lookback.tables import empty_table

PSNR, LPIPS, SSIM = "memobench.psnr", "memobench.lpips", "memobench.ssim"  # less is better for lpips alone


def item(model: str, task: int, metric: str, value: float | None, reason: str = "", **more: object) -> dict[str, object]:
    keys = {"benchmark": "memobench", "setting": "real", "model_id": model, "clip_id": f"t{task}", "scene": f"s{task}"}
    told = {"variant": "paper", "phase": "", "detail": "", "backend": "none"}
    return {**keys, **told, "metric": metric, "value": value, "reason": reason, **more}


def board(rows: list[dict[str, object]], **more: object):
    return leaderboard("memobench", "MemoBench", pd.DataFrame(rows), [PSNR, LPIPS, SSIM], resamples=200, **more)


def test_a_duel_goes_to_the_model_that_is_better_on_more_metrics():
    rows = [item("a", 0, PSNR, 30.0), item("a", 0, LPIPS, 0.1), item("a", 0, SSIM, 0.5)]
    rows += [item("b", 0, PSNR, 20.0), item("b", 0, LPIPS, 0.2), item("b", 0, SSIM, 0.9)]
    rows += [item(model, 1, PSNR, 25.0) for model in "ab"]
    found = board(rows).rows.set_index("model")
    assert found["win_ratio"].to_dict() == {"a": 0.75, "b": 0.25}, "one duel won two to one, one drawn"
    assert found["rank"].to_dict() == {"a": 1.0, "b": 2.0} and found["clips"].to_dict() == {"a": 2, "b": 2}


def test_models_are_compared_only_on_tasks_that_both_did():
    """b did only the hard task: its mean is lower, but it wins its only duel."""
    rows = [item("a", 0, PSNR, 40.0), item("a", 1, PSNR, 10.0), item("b", 1, PSNR, 12.0), item("b", 2, PSNR, 1.0)]
    found = board(rows).rows.set_index("model")
    assert found["win_ratio"].to_dict() == {"b": 1.0, "a": 0.0}


def test_a_clip_that_fails_a_metric_loses_it_and_one_that_could_not_be_scored_does_not():
    lost, unknown = str(Reason.NOT_TRIGGERED), str(Reason.BACKEND_UNAVAILABLE)
    rows = [item("a", task, PSNR, 10.0) for task in range(4)]
    rows += [item("b", task, PSNR, None, lost) for task in (0, 1)] + [item("b", 2, PSNR, 99.0), item("b", 3, PSNR, None, unknown)]
    found = board(rows).rows.set_index("model")
    assert found["win_ratio"]["a"] == pytest.approx(2 / 3) and found["clips"].to_dict() == {"a": 4, "b": 3}


def test_the_first_is_marked_only_where_it_is_told_from_the_second():
    rng = np.random.default_rng(0)
    clear = [item(model, task, PSNR, 30.0 * (model == "a") + rng.random()) for model in "ab" for task in range(12)]
    first = board(clear)
    assert first.separated and "told apart" in first.lead and first.table().marks["duels won %"].tolist() == ["best", ""]
    assert "wins 100 % of its duels, 100 points before b (12 and 12 clips)" in first.lead
    close = [item(model, task, PSNR, rng.random()) for model in "ab" for task in range(12)]
    second = board(close)
    assert not second.separated and "nothing separates" in second.lead
    assert set(second.table().marks["duels won %"]) == {""} and second.rows["letters"].tolist() == ["a", "a"]
    few = board(clear[:3] + clear[12:15])
    assert few.lead.endswith("nothing separates the two.")  # three scenes that agree: p 0.25


def test_models_that_win_alike_share_the_first_place():
    rows = [item(model, task, PSNR, value) for task in range(4) for model, value in (("a", 20.0), ("b", 20.0), ("c", 10.0))]
    won = "each wins 75 % of its duels (4 and 4 clips)"
    assert board(rows).lead == f"MemoBench: a and b share the first place; {won}; nothing separates them."
    assert board(rows).first == ["a", "b"]


def test_models_with_values_of_fewer_metrics_are_told():
    rows = [item(model, task, PSNR, 20.0 + (model == "a")) for task in range(2) for model in "ab"]
    rows += [item("a", task, SSIM, 0.5) for task in range(2)] + [item("b", task, SSIM, None, "no_phases") for task in range(2)]
    notes = board(rows).table().notes
    assert "Metrics with a value, of 2: a 2, b 1." in notes
    assert not [note for note in board(rows[:4]).table().notes if "with a value" in note]


def test_what_is_no_merit_decides_no_duel():
    """How far the camera of a plain clip turns is a fact."""
    rows = [item("a", 0, "folder.camera_turn", 90.0), item("b", 0, "folder.camera_turn", 10.0)]
    assert leaderboard("folder", "Your clips", pd.DataFrame(rows), ["folder.camera_turn"]) is None


def test_a_model_with_one_clip_has_no_rank_and_comes_last():
    rows = [item("lucky", 0, PSNR, 99.0)] + [item(model, task, PSNR, 9.0 + (model == "a")) for model in "ab" for task in range(2)]
    found = board(rows)
    assert found.rows["model"].tolist() == ["a", "b", "lucky"] and np.isnan(found.rows["rank"].iloc[2])
    assert found.lead.startswith("MemoBench: a wins") and found.table().frame["rank"].tolist() == ["1", "2", ""]


def test_one_model_is_no_contest():
    assert board([item("a", task, PSNR, 1.0) for task in range(3)]).lead == "MemoBench: one model, so there is nothing to rank."
    assert board([item("a", 0, PSNR, None, str(Reason.NO_DEPTH))]) is None


def test_one_clip_each_is_the_reason_why_nothing_is_ranked():
    rows = [item(model, 0, PSNR, 20.0 + (model == "a")) for model in "abc"]
    lead = board(rows).lead
    assert lead == "MemoBench: fewer than two models have more than one clip, so there is nothing to rank."
    twice = [{**row, "clip_id": f"t{n}"} for row in rows for n in range(2)]
    assert "(1 scene only: a comparison needs 2" in board(twice).lead


def test_a_benchmark_without_a_leaderboard_says_why():
    missing = [item("a", n, PSNR, None, reason) for n, reason in enumerate(("no_phases", "missing_input", "missing_input"))]
    told = no_board("MemoBench", pd.DataFrame(missing))
    assert told == "MemoBench: no score, so there is nothing to rank; the commonest reason: missing input (2 of 3)."
    facts = no_board("Your clips", pd.DataFrame([item("a", 0, "folder.camera_turn", 90.0)]))
    assert facts == "Your clips: none of its scores says which model is better, so there is nothing to rank."


def test_a_model_without_a_score_is_named_with_its_reason():
    """b did the task of a, but has no score of it: that is not the same as one model alone."""
    absent = [item("b", 0, PSNR, None, reason) for reason in ("no_phases", "missing_input", "missing_input")]
    found = board([item("a", 0, PSNR, 20.0), *absent])
    assert found.lead == "MemoBench: only a has scores; b has none (missing_input), so there is nothing to rank."
    assert found.standing() == {
        "a": "No rank (1 clip, 1 scene): only a has scores; b has none (missing_input).",
        "b": "No rank: it has no score (missing_input).",
    }
    three = board([*(item(model, task, PSNR, 20.0) for model in "ac" for task in range(2)), *absent])
    assert "Without a score: b (missing_input)." in three.table().notes and "a and c share" in three.lead
    apart = board([item("a", 0, PSNR, 20.0), item("b", 1, PSNR, 20.0)]).standing()["a"]
    assert apart == "No rank (1 clip, 1 scene): no other model has a score of the same tasks."


def test_the_real_videos_stand_above_and_change_nobodys_rank():
    rows = [item(model, task, PSNR, 10.0 * (model == "a")) for model in "ab" for task in range(2)]
    real = pd.DataFrame([{key: value for key, value in item(REAL, 0, PSNR, 50.0).items() if key != "scene"}])
    without, beside = board(rows), board(rows, real=real)
    pd.testing.assert_frame_equal(without.rows, beside.rows)
    top = beside.table().frame.iloc[0]
    assert (top["model"], top["rank"], top["duels won %"], top["clips"]) == (f"{REAL} (ceiling)", "", 100.0, 1)


def answers(**said: str) -> pd.DataFrame:
    rows = [{"judge": judge, "task": "trigger", "answer": answer} for judge, answer in said.items()]
    keys = dict(zip(KEYS, ("memobench", "real", "a", "t0"), strict=True))
    return pd.DataFrame([{**keys, **row} for row in rows])


def test_nothing_rests_on_a_simulated_judge():
    gated = pd.DataFrame(
        [
            item("a", 0, PSNR, None, str(Reason.NOT_TRIGGERED), detail="trigger judge simulated: no"),
            item("a", 0, "memobench.vqa_physics_adherence", 1.0, backend="simulated"),
        ]
    )
    ungated = pd.DataFrame([item("a", 0, PSNR, 30.0)])
    kept, lost = without_simulated(gated, ungated, answers(simulated="no", geometric="yes"), {"simulated"})
    assert kept[["metric", "value"]].to_numpy().tolist() == [[PSNR, 30.0]] and lost == ["memobench.vqa_physics_adherence"]
    shut, _ = without_simulated(gated, ungated, answers(simulated="yes", geometric="no"), {"simulated"})
    assert shut["reason"].tolist() == [str(Reason.NOT_TRIGGERED)] and shut["value"].isna().all()
    same, none = without_simulated(gated, ungated, empty_table("judgements"), set())
    assert same is gated and none == []


def test_mean_ranks_put_models_of_more_benchmarks_first():
    both = [
        board([item(m, t, PSNR, v) for m, v in values.items() for t in range(2)]) for values in ({"a": 2, "b": 1}, {"a": 1, "c": 2})
    ]
    boards = [both[0], both[1].__class__(**{**vars(both[1]), "title": "Other"})]
    frame = mean_ranks(boards).frame.set_index("model")
    assert list(frame.index) == ["a", "c", "b"] and frame["mean rank"].to_dict() == {"a": 1.5, "c": 1.0, "b": 2.0}
    assert frame["clips"].to_dict() == {"a": 4, "c": 2, "b": 2}
    assert mean_ranks(boards[:1]) is None
