"""What the plan declares is what the tables do: family of tests, confidence, level, clusters, and the judge that counts."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.agreement import analyse, check_ratings, judge_scores, load_plan, read_scores
from lookback.agreement.claims import add_claims
from lookback.agreement.comparison import model_tables
from lookback.agreement.figures.draw import FIGURES
from lookback.agreement.reading import read_correlations, read_factors
from lookback.agreement.votes import analysis_units
from lookback.clips import Clip, clips_to_frame
from lookback.errors import ContractError, ParameterError
from lookback.judging.quality import trigger_accuracy
from lookback.judging.recording import Identity, Recording
from lookback.params import RunParams
from lookback.params.stages import Agreement, Judging
from lookback.paths import project_root
from lookback.stages import agreement as agreement_stage
from lookback.tables import SCHEMAS, empty_table, write_table

JUDGED = {"benchmark": "mbench", "setting": "T", "model_id": "m", "clip_id": "c", "task": "trigger", "question_id": "trigger"}
JUDGED |= {"repeat": 0, "question": "", "verbatim": "", "reason": ""}


def judged(answer: str, value: float, **more: object) -> dict:
    return {**JUDGED, "judge": "openai/gpt-x", "backend": "openai", "answer": answer, "value": value, **more}


def test_a_judges_answers_become_scores():
    # an unsure yes is a yes: the judge's decision counts, not whether its stated confidence reaches one half
    rows = [judged("yes", 0.4)]
    assert judge_scores(pd.DataFrame(rows))[["metric", "value", "reason"]].values.tolist() == [["judge.trigger", 1.0, ""]]
    rows += [judged("no", 0.45, repeat=1), judged("no", 0.4, repeat=2)]
    assert judge_scores(pd.DataFrame(rows))["value"].tolist() == [0.0]
    # a tie of repeats goes to the mean value, as the gate has it
    assert judge_scores(pd.DataFrame(rows[:2]))["value"].tolist() == [0.0]
    assert judge_scores(pd.DataFrame([judged("yes", 0.9), rows[1]]))["value"].tolist() == [1.0]


def test_several_judges_and_unread_answers_keep_their_names_and_reasons():
    rows = [judged("yes", 0.9), judged("", np.nan, judge="b", reason="judge_unparsed")]
    rows.append(judged("yes", 1.0, task="vqa", question_id="q7"))
    found = judge_scores(pd.DataFrame(rows)).set_index("metric")
    assert set(found.index) == {"judge.trigger@openai/gpt-x", "judge.trigger@b", "judge.vqa#q7"}
    assert found.loc["judge.trigger@b", "reason"] == "judge_unparsed"


def test_answers_on_ground_truth_videos_belong_to_no_model(plan):
    rows = [judged("no", 0.0, task="vqa_ground_truth", question_id="q7", benchmark="memobench", setting="real")]
    found = judge_scores(pd.DataFrame(rows))
    assert found[["model_id", "metric", "value"]].values.tolist() == [["ground_truth", "judge.vqa_ground_truth#q7", 0.0]]
    assert plan.families["memobench_vqa"].judge == "judge.vqa_ground_truth"


def test_votes_on_ground_truth_videos_are_known_clips(plan):
    vote = {"task": "vqa", "benchmark": "memobench", "setting": "real", "dimension": "physics_adherence#q7", "clip_a": "c"}
    votes = pd.DataFrame([{**vote, "model_a": "ground_truth", "scene": "s", "annotator": "ann", "label": "no"}])
    clips = pd.DataFrame([{"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "c", "ground_truth": "c.mp4"}])
    assert len(check_ratings(votes, plan, clips)) == 1
    with pytest.raises(ContractError, match="not among the clips"):
        check_ratings(votes, plan, clips.assign(ground_truth=""))


ABOUT = {"benchmark": "mbench", "setting": "T", "subset": "human", "video": "v.mp4"}
CLIPS = [Clip(**ABOUT, model_id=model, clip_id=f"human:{k}:text", scene=f"s{k}") for model in "xy" for k in range(6)]
PLAN = project_root() / "params" / "agreement.yaml"


def trigger_run(root) -> pd.DataFrame:
    """A run of a live judge `openai/gpt-x`, with the geometric judge asked for comparison; returns its judgements."""
    tables = root / "outputs" / "trial" / "tables"
    rng = np.random.default_rng(0)
    rows, votes = [], []
    for clip in CLIPS:
        keys = dict(zip(("benchmark", "setting", "model_id", "clip_id"), clip.key, strict=True))
        yes = rng.random() < 0.6
        rows.append(judged("yes" if yes else "no", 0.4 if yes else 0.45, **keys))
        rows.append(judged("no", 0.0, **keys) | {"judge": "geometric", "backend": "geometric"})
        for who in ("ann", "bob", "cyd"):
            said = "yes" if yes == (rng.random() < 0.9) else "no"
            vote = {"task": "trigger", "benchmark": "mbench", "setting": "T", "dimension": "trigger_human", "scene": clip.scene}
            votes.append({**vote, "clip_a": clip.clip_id, "model_a": clip.model_id, "annotator": who, "label": said})
    blank = empty_table("judgements")
    frame = pd.concat([blank, pd.DataFrame(rows)]).astype({"frame": "Int64"})
    texts = [name for name in blank if pd.api.types.is_string_dtype(blank[name].dtype)]
    frame = frame.assign(simulated=False, **{name: frame[name].fillna("") for name in texts})[list(SCHEMAS["judgements"].columns)]
    write_table(tables, "clips", clips_to_frame(CLIPS))
    write_table(tables, "gated", empty_table("gated"))
    write_table(tables, "ratings", empty_table("ratings"))
    write_table(tables, "judgements", frame)
    pd.DataFrame(votes).to_csv(root / "votes.csv", index=False)
    return frame


@pytest.mark.parametrize("judge", ["openai", "replay"])
def test_a_live_judge_and_its_replay_give_the_gates_agreement(tmp_path, monkeypatch, judge):
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    monkeypatch.setattr("lookback.stages._agreement.draw_figures", lambda tables, folder: [])
    judgements = trigger_run(tmp_path)
    with Recording(tmp_path / "recorded") as recording:
        recording.set_judge("scorer", Identity("openai", "openai/gpt-x", "gpt-x"))
        recording.set_judge("also:geometric", Identity("geometric", "geometric"))
    asked = Judging(judge=judge, model="gpt-x", recordings=str(tmp_path / "recorded") if judge == "replay" else "")
    params = RunParams(run="trial", judging=asked, agreement=Agreement(plan=str(PLAN), ratings=[str(tmp_path / "votes.csv")]))
    found = agreement_stage(params)["trigger"].set_index(["subset", "measure"])
    assert found.loc[("overall", "accuracy"), "n"] == len(CLIPS)
    votes = pd.read_csv(tmp_path / "votes.csv")
    expected = trigger_accuracy(judgements, votes, clips_to_frame(CLIPS))
    expected = expected[expected["judge"] == "openai/gpt-x"].set_index(["subset", "measure"])["value"]
    pd.testing.assert_series_equal(found["value"].sort_index(), expected.sort_index())
    assert found.loc[("overall", "recall"), "value"] > 0


def preferences(ratings: pd.DataFrame) -> pd.DataFrame:
    chosen = (ratings["setting"] == "natural25") & (ratings["task"] == "pairwise") & ratings["dimension"].str.startswith("vis")
    return ratings[chosen]


def test_holm_counts_every_declared_dimension_also_one_without_votes(plan):
    table = pd.DataFrame(
        {"family": "wrbench_preference", "setting": "natural25", "dimension": ["camera"], "p": [0.01], "rho": 0.4, "n_clusters": 12}
    )
    found = add_claims(table, plan, p="p", value="rho").iloc[0]
    assert (found["n_tests"], found["p_corrected"]) == (6, pytest.approx(0.06))
    assert found["claim"] == "open"
    text = add_claims(table.assign(family="mbench_preference", setting="T"), plan, p="p", value="rho").iloc[0]
    assert text["n_tests"] == 11  # action_interaction has no metric in the text setting


def test_several_votes_on_one_pair_are_not_independent_strengths(study, plan):
    votes = check_ratings(preferences(study[0]), plan)
    by_item = plan.model_copy(update={"clusters": plan.clusters.model_copy(update={"metric": "item"})})
    once, _ = model_tables(analysis_units(votes, by_item), votes, by_item)
    # the same votes three times over, by nine annotators: no more pairs than before
    copies = [votes.assign(annotator=votes["annotator"] + str(k)) for k in range(3)]
    more = pd.concat(copies, ignore_index=True)
    thrice, _ = model_tables(analysis_units(more, by_item), more, by_item)
    np.testing.assert_allclose(once["low"], thrice["low"], rtol=1e-6)


def test_one_scene_gives_strengths_without_errors_and_the_reading_says_so(study, plan):
    ratings = preferences(study[0]).assign(scene="one", dimension="visible_state")
    ratings = ratings.drop_duplicates(["model_a", "clip_a", "model_b", "clip_b", "annotator"])
    quick = plan.model_copy(
        update={"resamples": 100, "estimands": ("ranking",), "duplicates": "keep_last", "contradictions": "drop"}
    )
    table = analyse(ratings, None, quick)["models"]
    assert table["value"].notna().all() and table["scale"].eq("log strength").all()
    assert table[["low", "high"]].isna().all(axis=None)
    why = "1 scene only: a comparison needs 2, no interval and no test"
    assert table["reason"].eq(why).all() and f"Nothing is told apart for visible_state: {why}." in table.attrs["reading"]


def test_one_scene_is_named_in_the_ranking_and_its_reading(study, plan):
    ratings = preferences(study[0]).assign(scene="one")
    updates = {"resamples": 100, "estimands": ("ranking",), "duplicates": "keep_last", "contradictions": "drop"}
    ranking = analyse(ratings, study[1], plan.model_copy(update=updates))["ranking"]
    known = ranking[ranking["rho"].notna()]
    assert len(known) and (known["claim"] == "not tested").all()
    assert known["note"].str.contains("one cluster only").all()
    assert "No claim for " in ranking.attrs["reading"] and "one cluster only" in ranking.attrs["reading"]


def test_vqa_intervals_resample_what_the_plan_says(study, plan):
    ratings, scores, _ = study
    own = ratings[ratings["task"] == "vqa"]
    quick = plan.model_copy(update={"resamples": 200, "estimands": ("vqa",)})
    table = analyse(own, scores, quick)["vqa"]
    cells, by_scene = table.iloc[0], table.iloc[-1]
    votes = quick.model_copy(update={"aggregate": "votes", "clusters": plan.clusters.model_copy(update={"metric": "item"})})
    by_item = analyse(own, scores, votes)["vqa"].iloc[-1]
    assert (by_scene["n"], by_item["n"]) == (96, 288)
    # three votes on a question are one question: no narrower than a study of as many questions with one vote
    majority = quick.model_copy(update={"clusters": plan.clusters.model_copy(update={"metric": "item"})})
    whole = analyse(own, scores, majority)["vqa"].iloc[-1]
    width = by_item["high"] - by_item["low"]
    p, n = by_item["agreement"], by_item["n"]
    assert width > 2 * 1.96 * np.sqrt(p * (1 - p) / n)
    assert np.isfinite(whole["kappa_low"])
    assert np.isnan(cells["low"])
    assert "one cluster only" in cells["reason"]


def test_answers_of_another_judge_than_the_plans_leave_a_sentence_and_no_number(study, plan):
    ratings, scores, _ = study
    other = scores.assign(metric=scores["metric"].str.replace("judge.vqa_ground_truth", "judge.vqa"))
    quick = plan.model_copy(update={"resamples": 100, "estimands": ("vqa",)})
    own = ratings[ratings["task"] == "vqa"]
    with pytest.raises(ContractError, match=r"0 of 96 scores that the votes ask for.*no score has this name"):
        analyse(own, other, quick)
    table = analyse(own, other, quick, same_run=True)["vqa"]
    assert table.attrs["reading"].startswith("No question has both")


def test_the_plans_confidence_and_level_reach_every_table_figure_and_reading(study, plan):
    ratings, scores, clips = study
    own = pd.concat([preferences(ratings), ratings[ratings["task"] == "vqa"]])
    scores = scores[scores["benchmark"].isin(own["benchmark"])]
    quick = plan.model_copy(
        update={"resamples": 100, "confidence": 0.8, "estimands": ("agreement", "annotators", "ranking", "design")}
    )
    tables = analyse(own, scores, quick, clips)
    wide = analyse(own, scores, quick.model_copy(update={"confidence": 0.99}), clips)
    for name, low, high in (("annotators", "low", "high"), ("mixed_model", "low", "high")):
        narrow, broad = tables[name], wide[name]
        known = narrow[low].notna()
        assert known.any()
        assert (broad[high] - broad[low])[known].gt((narrow[high] - narrow[low])[known]).all(), name
    for name in ("agreement_forest", "ranking_forest"):
        figure, _ = FIGURES[name][1](tables)
        assert "80% interval" in figure.axes[0].get_xlabel()
        plt.close(figure)


def test_readings_use_the_plans_level(plan):
    strict = plan.model_copy(update={"alpha": 0.01})
    pairs = pd.DataFrame({"metric_a": ["a"], "metric_b": ["b"], "r": [0.9], "p_holm": [0.03], "n": [8]})
    assert "a with b" in read_correlations(pairs, plan)
    assert "a with b" not in read_correlations(pairs, strict)
    factors = pd.DataFrame(
        {"metric": ["a"], "contrast": ["spatial"], "mean": [0.1], "p": [0.01], "p_holm": [0.03], "smallest_p": [0.008]}
    )
    assert "spatial on a" in read_factors(factors, plan)
    assert "spatial on a" not in read_factors(factors, strict)


SCORE = "benchmark,setting,model_id,clip_id,metric,value,reason\nwrbench,natural25,m,c,wrbench.cam_align,{},\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.csv", b"", "s.csv is not a readable CSV file: it is empty"),
        ("s.csv", SCORE.format("0.5").replace("wrbench,", "Z\u00fcrich,").encode("latin-1"), "not UTF-8"),
        ("s.jsonl", b'{"value": 1', "s.jsonl, line 1: not JSON"),
        ("s.jsonl", b"[1]", "line 1: expected one score"),
        ("s.parquet", b"not parquet", "s.parquet is not a readable Parquet file"),
        ("s.csv", SCORE.format("high").encode(), "score 1 has the value 'high', which is no number"),
        ("s.csv", SCORE.format("inf").encode(), "score 1 has the value 'inf'"),
    ],
)
def test_broken_scores_are_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ContractError, match=message):
        read_scores(tmp_path / name)


def test_a_folder_is_no_plan_and_no_votes_are_no_study(tmp_path, plan):
    with pytest.raises(ParameterError, match="cannot be read as a plan"):
        load_plan(tmp_path)
    with pytest.raises(ContractError, match="no votes"):
        check_ratings(pd.DataFrame(), plan)
