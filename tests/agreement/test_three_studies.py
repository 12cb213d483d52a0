"""Three studies from raw CSV files to every table: preferences with ties and missing votes, a trigger judge, ratings 1-5.

The tables are held to scipy, sklearn, statsmodels, pingouin and krippendorff, to loops written out here, and to R where installed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pingouin
import pytest
from lookback.agreement.figures import draw
from lookback.cli.app import app
from lookback.tables import read_csv
from scipy import optimize
from scipy import stats as scipy_stats
from sklearn import metrics as sk
from statsmodels.stats.inter_rater import fleiss_kappa
from time_limits import HUNG_S
from typer.testing import CliRunner

SCENES = [f"s{k}" for k in range(8)]
MODELS = [f"m{k}" for k in range(5)]
PEOPLE = ["ann", "bob", "cyd"]
SCORE = ["benchmark", "setting", "model_id", "clip_id", "metric", "value", "reason"]
PLAN = """
title: a study
files: {{votes: votes.csv, scores: scores.csv}}
resamples: 200
scales:
  answers: {{categories: {categories}, level: {level}, labels: {labels}}}
families:
  asked: {{benchmark: {benchmark}, task: {task}, kind: {kind}, scale: answers, {more}}}
"""


class Done:
    """A study's folder after its analysis."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.votes = pd.read_csv(folder / "votes.csv", keep_default_na=False)
        self.scores = pd.read_csv(folder / "scores.csv")

    def table(self, name: str) -> pd.DataFrame:
        return read_csv(self.folder / "results" / f"{name}.csv")


def analysed(folder: Path, votes: pd.DataFrame, scores: pd.DataFrame, plan: str) -> Done:
    votes.to_csv(folder / "votes.csv", index=False)
    scores.to_csv(folder / "scores.csv", index=False)
    (folder / "plan.yaml").write_text(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "draw_figures", lambda tables, folder: [])  # test_study_docs draws those of all three kinds
        done = CliRunner().invoke(app, ["agreement", "--plan", str(folder / "plan.yaml"), "--output", str(folder / "results")])
    assert done.exit_code == 0, (done.output, done.exception)
    return Done(folder)


@pytest.fixture(scope="module")
def quality() -> Callable[[str, str], float]:
    drawn = np.random.default_rng(0).normal(0, 0.15, (len(MODELS), len(SCENES)))
    return lambda model, scene: 0.15 * MODELS.index(model) + drawn[MODELS.index(model), SCENES.index(scene)]


@pytest.fixture(scope="module")
def preferences(tmp_path_factory, quality) -> Done:
    rng, rows = np.random.default_rng(1), []
    for scene in SCENES:
        for pair in combinations(MODELS, 2):
            for who in PEOPLE:
                if rng.random() < 0.12:
                    continue
                a, b = pair if rng.random() < 0.5 else pair[::-1]
                seen = quality(a, scene) - quality(b, scene) + rng.normal(0, 0.25)
                label = rng.choice(["tie", "Tie"]) if abs(seen) < 0.12 else rng.choice(["A", "a"]) if seen > 0 else "B"
                row = {"task": "pairwise", "benchmark": "own", "dimension": "memory", "scene": scene, "annotator": who}
                rows.append({**row, "model_a": a, "clip_a": scene, "model_b": b, "clip_b": scene, "label": label})
    scores = [["own", "", m, s, "score", quality(m, s) + rng.normal(0, 0.15), ""] for m in MODELS for s in SCENES]
    scores[3][5:] = [np.nan, "no_mask"]
    words = {
        "categories": "[-1, 0, 1]",
        "level": "ordinal",
        "labels": "{A: 1, tie: 0, B: -1}",
        "benchmark": "own",
        "task": "pairwise",
    }
    more = "tau: 0.05, dimensions: {memory: {metric: score}}"
    folder = tmp_path_factory.mktemp("preferences")
    return analysed(
        folder, pd.DataFrame(rows), pd.DataFrame(scores, columns=SCORE), PLAN.format(kind="preference", more=more, **words)
    )


@pytest.fixture(scope="module")
def trigger(tmp_path_factory) -> Done:
    rng, rows, scores = np.random.default_rng(2), [], []
    for scene in SCENES:
        for model in MODELS:
            truth = rng.random() < 0.6
            for who in PEOPLE:
                said = truth == (rng.random() < 0.85)
                row = {"task": "trigger", "benchmark": "mbench", "setting": "T", "dimension": "trigger_object", "scene": scene}
                rows.append({**row, "model_a": model, "clip_a": scene, "annotator": who, "label": ["No", "Yes"][int(said)]})
            scores.append(["mbench", "T", model, scene, "judge.trigger", 0.9 if truth == (rng.random() < 0.85) else 0.2, ""])
    words = {"categories": '["no", "yes"]', "level": "nominal", "labels": "{}", "benchmark": "mbench", "task": "trigger"}
    more = "judge: judge.trigger, dimensions: {trigger_object: {}}"
    folder = tmp_path_factory.mktemp("trigger")
    return analysed(
        folder, pd.DataFrame(rows), pd.DataFrame(scores, columns=SCORE), PLAN.format(kind="trigger", more=more, **words)
    )


@pytest.fixture(scope="module")
def ratings(tmp_path_factory, quality) -> Done:
    rng, rows, scores = np.random.default_rng(3), [], []
    for scene in SCENES:
        for model in MODELS:
            for who, bias in zip(PEOPLE, (0.0, 0.3, -0.3), strict=True):
                label = int(np.clip(np.round(2 + 4 * quality(model, scene) + bias + rng.normal(0, 0.6)), 1, 5))
                row = {"task": "rating", "benchmark": "own", "dimension": "realism", "scene": scene, "annotator": who}
                rows.append({**row, "model_a": model, "clip_a": scene, "label": label})
            scores.append(["own", "", model, scene, "error", 1 - quality(model, scene) + rng.normal(0, 0.1), ""])
    words = {"categories": "[1, 2, 3, 4, 5]", "level": "ordinal", "labels": "{}", "benchmark": "own", "task": "rating"}
    more = "dimensions: {realism: {metric: error, higher_is_better: false}}"
    folder = tmp_path_factory.mktemp("ratings")
    return analysed(folder, pd.DataFrame(rows), pd.DataFrame(scores, columns=SCORE), PLAN.format(kind="rating", more=more, **words))


def pair_ratings(quality: Callable[[str, str], float], turned: tuple[str, ...] = ()) -> pd.DataFrame:
    """Two clips compared on five steps; in `turned` scenes the sides are exchanged, and the answers with them."""
    rng, rows = np.random.default_rng(4), []
    for scene in SCENES:
        for pair in combinations(MODELS, 2):
            a, b = pair[::-1] if scene in turned else pair
            for who, bias in zip(PEOPLE, (0.0, 0.3, 0.6), strict=True):
                seen = 3 * (quality(pair[0], scene) - quality(pair[1], scene)) + bias + rng.normal(0, 0.6)
                label = int(np.clip(np.round(seen), -2, 2)) * (-1 if scene in turned else 1)
                row = {"task": "rating", "benchmark": "own", "dimension": "realism", "scene": scene, "annotator": who}
                rows.append({**row, "model_a": a, "clip_a": scene, "model_b": b, "clip_b": scene, "label": label})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def compared(tmp_path_factory, quality) -> Done:
    scores = pd.DataFrame([["own", "", m, s, "score", quality(m, s), ""] for m in MODELS for s in SCENES], columns=SCORE)
    words = {"categories": "[-2, -1, 0, 1, 2]", "level": "ordinal", "labels": "{}", "benchmark": "own", "task": "rating"}
    plan = PLAN.format(kind="rating", more="judged: pair, dimensions: {realism: {metric: score}}", **words)
    return analysed(tmp_path_factory.mktemp("compared"), pair_ratings(quality), scores, plan)


def gwet(rows: list[list[int]], categories: list[int], ordinal: bool = False) -> float:
    """AC1 or AC2 (ordinal weights), pair of raters by pair of raters."""
    q = len(categories)

    def credit(x: int, y: int) -> float:
        d = abs(categories.index(x) - categories.index(y))
        return 1 - d * (d + 1) / (q * (q - 1)) if ordinal else float(d == 0)

    observed = np.mean([np.mean([credit(x, y) for x, y in combinations(row, 2)]) for row in rows if len(row) > 1])
    shares = [np.mean([row.count(c) / len(row) for row in rows]) for c in categories]
    total = sum(credit(x, y) for x in categories for y in categories)
    chance = total / (q * (q - 1)) * sum(p * (1 - p) for p in shares)
    return float((observed - chance) / (1 - chance))


def signed(done: Done) -> pd.DataFrame:
    """Votes with the smaller model name as A, and its sign."""
    votes = done.votes.copy()
    turned = votes["model_a"] > votes["model_b"]
    sign = votes["label"].str.lower().map({"a": 1, "tie": 0, "b": -1}) * np.where(turned, -1, 1)
    first, second = votes["model_a"].where(~turned, votes["model_b"]), votes["model_b"].where(~turned, votes["model_a"])
    return votes.assign(sign=sign, first=first, second=second)


def labelled(done: Done) -> pd.DataFrame:
    """Items with their votes, majority (NaN: none) and score difference."""
    items = signed(done).groupby(["scene", "first", "second"])["sign"].agg(list).reset_index(name="votes")

    def majority(votes: list[int]) -> float:
        most = max(set(votes), key=votes.count)
        return most if len(votes) >= 2 and votes.count(most) > len(votes) / 2 else np.nan

    value = done.scores.set_index(["model_id", "clip_id"])["value"]
    items["label"] = items["votes"].map(majority)
    items["delta"] = [value[a, s] - value[b, s] for s, a, b in zip(items["scene"], items["first"], items["second"], strict=True)]
    return items.assign(decision=np.select([items["delta"] > 0.05, items["delta"] < -0.05], [1, -1], 0))


def ratios(items: pd.DataFrame, column: str, half: bool = True) -> pd.Series:
    kept = items if half else items[items[column] != 0]
    points = pd.concat([kept.set_index("first")[column] / 2 + 0.5, 0.5 - kept.set_index("second")[column] / 2])
    return points.groupby(level=0).mean()


def test_preferences_agreement_of_people(preferences):
    votes = [list(v) for v in labelled(preferences)["votes"]]
    both = votes + [[-x for x in row] for row in votes]
    row = preferences.table("agreement").iloc[0]
    assert row["ac1"] == pytest.approx(gwet(both, [-1, 0, 1]), abs=1e-10)
    assert row["ac2"] == pytest.approx(gwet(both, [-1, 0, 1], ordinal=True), abs=1e-10)
    wide = pd.DataFrame(both).T.to_numpy(dtype=float)
    assert row["alpha"] == pytest.approx(
        krippendorff.alpha(wide, level_of_measurement="ordinal", value_domain=[-1, 0, 1]), abs=1e-10
    )
    paired = [np.mean([x == y for x, y in combinations(v, 2)]) for v in votes if len(v) > 1]
    assert row["percent"] == pytest.approx(np.mean(paired))
    assert (row["n_items"], row["n_votes"]) == (len(votes), len(preferences.votes))


def test_preferences_ranking_bridge_and_win_ratios(preferences):
    items = labelled(preferences)
    both = items.dropna(subset=["label", "delta"])
    human, metric = ratios(both, "label"), ratios(both, "decision")
    row = preferences.table("ranking").iloc[0]
    assert row["rho"] == pytest.approx(scipy_stats.spearmanr(human, metric).statistic)
    assert row["tau"] == pytest.approx(scipy_stats.kendalltau(human, metric).statistic)
    assert row["n_pairs"] == len(both)
    found = preferences.table("win_ratios").set_index("model")
    np.testing.assert_allclose(found["win_ratio_human"].sort_index(), human.sort_index())
    np.testing.assert_allclose(found["win_ratio_metric"].sort_index(), metric.sort_index())
    label, delta = (np.concatenate([both[c], -both[c]]) for c in ("label", "delta"))
    decision = np.concatenate([both["decision"], -both["decision"]])
    bridge = preferences.table("bridge").iloc[0]
    assert bridge["pooled_rho"] == pytest.approx(scipy_stats.spearmanr(label, delta).statistic)
    assert bridge["decision_kappa"] == pytest.approx(sk.cohen_kappa_score(label, decision))
    assert bridge["exact"] == pytest.approx(sk.accuracy_score(both["label"], both["decision"]))
    assert bridge["reversals"] == int((both["label"] * both["decision"] == -1).sum())
    assert len(preferences.table("disagreements")) == int((both["label"] != both["decision"]).sum())


def test_preferences_strengths_are_the_maximum_of_davidsons_likelihood(preferences):
    votes = signed(preferences)
    first, second = (votes[c].map(MODELS.index).to_numpy() for c in ("first", "second"))
    sign = votes["sign"].to_numpy()

    def loss(x: np.ndarray) -> float:
        strength, tie = np.append(x[:-1], -x[:-1].sum()), x[-1]
        a, b = strength[first], strength[second]
        parts = np.stack([a, b, tie + (a + b) / 2])
        chosen = np.choose(np.where(sign == 1, 0, np.where(sign == -1, 1, 2)), parts)
        return -float((chosen - np.logaddexp.reduce(parts, axis=0)).sum())

    best = optimize.minimize(loss, np.zeros(len(MODELS)), method="BFGS", options={"gtol": 1e-8}).x
    expected = dict(zip(MODELS, np.append(best[:-1], -best[:-1].sum()), strict=True))
    found = preferences.table("models").set_index("model")["value"]
    np.testing.assert_allclose(found.loc[MODELS], [expected[m] for m in MODELS], atol=1e-5)


def test_preferences_exclusions_joins_consensus_distributions_and_sensitivity(preferences):
    items = labelled(preferences)
    row = preferences.table("exclusions").iloc[0]
    votes = items["votes"].map(len)
    split = items["label"].isna() & (votes >= 2)
    assert (row["items"], row["too_few_votes"], row["split"], row["one_rater"]) == (
        len(items),
        int((votes < 2).sum()),
        int(split.sum()),
        int((votes == 1).sum()),
    )
    assert row["no_score"] == int((items["label"].notna() & items["delta"].isna()).sum())
    assert split.any()
    assert (votes == 1).any()
    reading = preferences.table("readings").set_index("table").loc["ranking", "reading"]
    assert f"{int(split.sum())} without a majority (split votes)" in reading
    assert f"{row['no_score']} without a score (no_mask {row['no_score']})" in reading
    assert f"enter no agreement among people: {row['one_rater']}" in reading
    joins = preferences.table("joins").iloc[0]
    assert (joins["asked"], joins["found"], joins["scores"], joins["used"]) == (40, 40, 40, 40)
    consensus = preferences.table("consensus")
    assert consensus["label"].notna().sum() == items["label"].notna().sum()
    counts = preferences.table("distributions").set_index("answer")["votes"]
    said = preferences.votes["label"].str.lower().value_counts()
    assert counts[0] == said["tie"]
    assert counts.sum() == len(preferences.votes)
    both = items.dropna(subset=["label", "delta"])
    rules = preferences.table("sensitivity").iloc[0]
    dropped = pd.DataFrame({c: ratios(both, c, half=False) for c in ("label", "decision")})
    assert rules["ties_drop"] == pytest.approx(scipy_stats.spearmanr(dropped["label"], dropped["decision"]).statistic)
    three = both[both["votes"].map(len) >= 3]
    assert rules["min_votes_3"] == pytest.approx(scipy_stats.spearmanr(ratios(three, "label"), ratios(three, "decision")).statistic)
    tied = items.assign(label=items["label"].where(~split, 0)).dropna(subset=["label", "delta"])
    assert rules["split_tie"] == pytest.approx(scipy_stats.spearmanr(ratios(tied, "label"), ratios(tied, "decision")).statistic)
    every = signed(preferences).merge(items[["scene", "first", "second", "delta", "decision"]]).dropna(subset=["delta"])
    alone = (ratios(every, "sign"), ratios(every, "decision"))
    assert rules["every_vote"] == pytest.approx(scipy_stats.spearmanr(*alone).statistic)


def yes(done: Done) -> tuple[pd.Series, np.ndarray]:
    """People's majority and the judge's answer per clip."""
    own = done.votes.assign(yes=done.votes["label"] == "Yes").groupby(["model_a", "clip_a"])["yes"].sum() >= 2
    judge = done.scores.set_index(["model_id", "clip_id"])["value"] >= 0.5
    return own, judge.loc[own.index].to_numpy()


def test_trigger_measures_equal_sklearn(trigger):
    people, judge = yes(trigger)
    found = trigger.table("trigger")
    value = found[found["subset"] == "overall"].set_index("measure")["value"]
    for name, score in (("accuracy", sk.accuracy_score), ("precision", sk.precision_score), ("recall", sk.recall_score)):
        assert value[name] == pytest.approx(score(people, judge)), name
    assert value["f1"] == pytest.approx(sk.f1_score(people, judge))
    assert value["specificity"] == pytest.approx(sk.recall_score(people, judge, pos_label=False))
    assert value["kappa"] == pytest.approx(sk.cohen_kappa_score(people, judge))
    assert value["ac1"] == pytest.approx(gwet([[int(a), int(b)] for a, b in zip(people, judge, strict=True)], [0, 1]))
    no_no, no_yes, yes_no, yes_yes = sk.confusion_matrix(people, judge).ravel()
    assert value[["true_yes", "false_yes", "false_no", "true_no"]].tolist() == [yes_yes, no_yes, yes_no, no_no]
    beside = trigger.table("mbench_6_judge").set_index("subset").loc["overall"]
    assert beside[["true_yes", "false_yes", "false_no", "true_no"]].tolist() == [yes_yes, no_yes, yes_no, no_no]
    assert beside[["kappa", "ac1", "specificity"]].tolist() == pytest.approx(value[["kappa", "ac1", "specificity"]].tolist())
    assert (beside["kappa_low"], beside["kappa_high"]) != (None, None)
    paper = trigger.table("mbench_6").set_index("subset").loc["overall"]
    assert paper["recall"] == pytest.approx(value["recall"])
    assert trigger.table("mbench_5").iloc[-1]["records"] == len(trigger.votes)


def test_trigger_agreement_of_people_and_main_table(trigger):
    wide = trigger.votes.assign(yes=(trigger.votes["label"] == "Yes").astype(int))
    wide = wide.pivot(index=["model_a", "clip_a"], columns="annotator", values="yes")
    row = trigger.table("agreement").iloc[0]
    assert row["alpha"] == pytest.approx(krippendorff.alpha(wide.T.to_numpy(dtype=float), level_of_measurement="nominal"))
    counts = np.stack([(wide == k).sum(axis=1) for k in (0, 1)], axis=1)
    assert row["kappa"] == pytest.approx(fleiss_kappa(counts))
    assert row["ac1"] == pytest.approx(gwet(wide.to_numpy().tolist(), [0, 1]))
    people, judge = yes(trigger)
    main = trigger.table("main").iloc[0]
    assert (main["value"], main["n"]) == (pytest.approx(sk.accuracy_score(people, judge)), len(people))
    assert main["low"] < main["value"] < main["high"]
    consensus = trigger.table("consensus").set_index(["model_a", "clip_a"])["label"]
    assert (consensus.loc[people.index] == np.where(people, "yes", "no")).all()
    joins = trigger.table("joins").iloc[0]
    assert (joins["asked"], joins["found"]) == (40, 40)
    # one vote is wrong more often than a majority: the table of rules shows it
    rules = trigger.table("sensitivity").iloc[0]
    each = wide.to_numpy(dtype=bool)
    assert rules["every_vote"] == pytest.approx(np.mean(each == np.asarray(judge)[:, None]))


def test_ratings_reliability_equals_pingouin_and_krippendorff(ratings):
    wide = ratings.votes.pivot(index=["model_a", "clip_a"], columns="annotator", values="label").astype(int)
    long = ratings.votes.assign(item=ratings.votes["model_a"] + ratings.votes["clip_a"], label=ratings.votes["label"].astype(float))
    expected = pingouin.intraclass_corr(long, "item", "annotator", "label").set_index("Type")["ICC"]
    row = ratings.table("reliability").iloc[0]
    single = expected["ICC2"] if "ICC2" in expected else expected["ICC(A,1)"]
    average = expected["ICC2k"] if "ICC2k" in expected else expected["ICC(A,k)"]
    assert (row["icc_1"], row["icc_k"]) == pytest.approx((single, average), abs=1e-10)
    assert row["icc_1_low"] < row["icc_1"] < row["icc_1_high"]
    assert "ICC(2,1), two-way random, absolute agreement" in row["form"]
    people = ratings.table("agreement").iloc[0]
    domain = [1, 2, 3, 4, 5]
    alpha = krippendorff.alpha(wide.T.to_numpy(dtype=float), level_of_measurement="ordinal", value_domain=domain)
    assert people["alpha"] == pytest.approx(alpha)
    assert people["ac2"] == pytest.approx(gwet(wide.to_numpy().tolist(), domain, ordinal=True))
    assert people["ac1"] == pytest.approx(gwet(wide.to_numpy().tolist(), domain))


def test_rated_pairs_are_as_reliable_whichever_clip_is_called_a(compared, quality, tmp_path):
    votes = compared.votes.assign(item=compared.votes["model_a"] + compared.votes["model_b"] + compared.votes["scene"])
    both = pd.concat([votes, votes.assign(item=votes["item"] + " turned", label=-votes["label"])]).astype({"label": float})
    expected = pingouin.intraclass_corr(both, "item", "annotator", "label").set_index("Type")["ICC"]
    row = compared.table("reliability").iloc[0]
    single = expected["ICC2"] if "ICC2" in expected else expected["ICC(A,1)"]
    assert (row["icc_1"], row["n_items"]) == (pytest.approx(single, abs=1e-10), len(votes) / len(PEOPLE))
    plan = (compared.folder / "plan.yaml").read_text() + "estimands: [rating]\n"
    for name, lost in (("whole", []), ("part", [0, 7])):  # mean squares, and the likelihood where votes are missing
        sides = [pair_ratings(quality, turned).drop(lost) for turned in ((), ("s1", "s2", "s5"))]
        folders = [tmp_path / f"{name}{k}" for k in range(2)]
        for folder in folders:
            folder.mkdir()
        one, two = (analysed(*place, compared.scores, plan).table("reliability") for place in zip(folders, sides, strict=True))
        pd.testing.assert_frame_equal(one, two, rtol=1e-6)
        assert one["icc_1_low"].iloc[0] < one["icc_1"].iloc[0] < one["icc_1_high"].iloc[0]


def test_ratings_metric_and_models_equal_scipy(ratings):
    means = ratings.votes.assign(label=ratings.votes["label"].astype(float)).groupby(["model_a", "clip_a"])["label"].mean()
    score = -ratings.scores.set_index(["model_id", "clip_id"])["value"].loc[means.index]
    row = ratings.table("rating_metric").iloc[0]
    assert row["pooled_rho"] == pytest.approx(scipy_stats.spearmanr(means, score).statistic)
    assert row["tau"] == pytest.approx(scipy_stats.kendalltau(means, score).statistic)
    assert row["within_rho_low"] < row["within_rho"] < row["within_rho_high"]
    assert row["tau_low"] < row["tau"] < row["tau_high"]
    # the score follows the models; within them its interval holds 0, and that is the plan's population
    assert row["within_rho_low"] < 0 < row["pooled_rho_low"]
    assert (row["primary"], row["claim"]) == ("within", "open")
    by_model = means.groupby(level=0).mean()
    assert row["between_rho"] == pytest.approx(scipy_stats.spearmanr(by_model, score.groupby(level=0).mean()).statistic)
    table = ratings.table("models").set_index("model")
    np.testing.assert_allclose(table["value"].loc[by_model.index], by_model)
    assert (table["low"] < table["value"]).all()
    consensus = ratings.table("consensus").set_index(["model_a", "clip_a"])["label"]
    np.testing.assert_allclose(consensus.loc[means.index].astype(float), means)
    counts = ratings.table("distributions").set_index("answer")["votes"]
    assert counts.to_dict() == ratings.votes["label"].value_counts().reindex(range(1, 6), fill_value=0).to_dict()
    assert ratings.table("main").iloc[0]["value"] == pytest.approx(row["pooled_rho"])


def test_ratings_are_judged_by_ac2_and_icc_and_other_votes_by_ac1(ratings, trigger):
    main, people = ratings.table("main").iloc[0], ratings.table("agreement").iloc[0]
    assert (main["coefficient"], main["people"], main["people_low"]) == ("AC2", people["ac2"], people["ac2_low"])
    assert main["icc_1"] == ratings.table("reliability").iloc[0]["icc_1"]
    read = ratings.table("readings").set_index("table")["reading"]
    methods = (ratings.folder / "results" / "methods.md").read_text()
    assert f"AC2 {people['ac2']:.2f}" in read["main"]
    assert f"AC2 {people['ac2']:.2f}" in read["agreement"]
    assert "Gwet's AC2 (ordinal weights, for ratings)" in methods
    assert not any("AC1" in text for text in (read["main"], read["agreement"], methods))
    judged = trigger.table("main").iloc[0]
    assert (judged["coefficient"], judged["people"]) == ("AC1", trigger.table("agreement").iloc[0]["ac1"])
    assert "AC2" not in (trigger.folder / "results" / "methods.md").read_text()


@pytest.mark.parametrize("cut", ["missing votes", "one vote an item", "two items"])
def test_r_recomputes_ratings_of_which_some_are_missing(ratings, tmp_path, cut):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed here; apt install r-base-core")
    votes, rng = ratings.votes, np.random.default_rng(3)
    kept = {
        "missing votes": rng.random(len(votes)) < 0.7,
        "one vote an item": ~votes.duplicated(["model_a", "clip_a"]),
        "two items": votes["scene"].eq(SCENES[0]) & votes["model_a"].isin(MODELS[1:3]),
    }[cut]
    done = analysed(tmp_path, votes[kept], ratings.scores, (ratings.folder / "plan.yaml").read_text())
    ran = subprocess.run(
        ["Rscript", "recompute.R"], cwd=done.folder / "results", capture_output=True, text=True, timeout=HUNG_S, check=False
    )
    assert (ran.returncode, "The main table is the same." in ran.stdout) == (0, True), ran.stdout + ran.stderr
    icc = next(line for line in ran.stdout.splitlines() if "icc_1" in line)
    assert ("NA" in icc) == (cut == "one vote an item")


@pytest.mark.parametrize("name", ["preferences", "trigger", "ratings", "compared"])
def test_r_recomputes_the_main_table(name, request):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed here; apt install r-base-core")
    folder = request.getfixturevalue(name).folder / "results"
    done = subprocess.run(["Rscript", "recompute.R"], cwd=folder, capture_output=True, text=True, timeout=HUNG_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The main table is the same." in done.stdout
    table = pd.read_csv(folder / "main.csv")
    column = "icc_1" if "icc_1" in table else "people"
    table.assign(**{column: table[column] + 1e-4}).to_csv(folder / "main.csv", index=False)
    try:
        again = subprocess.run(["Rscript", "recompute.R"], cwd=folder, capture_output=True, text=True, timeout=HUNG_S, check=False)
    finally:
        table.to_csv(folder / "main.csv", index=False)
    assert (again.returncode, "DIFFERENT" in again.stdout) == (1, True)


@pytest.mark.parametrize("name", ["preferences", "trigger", "ratings"])
def test_pages_and_latex_have_at_most_eight_columns(name, request):
    folder = request.getfixturevalue(name).folder / "results"
    rows = [line for line in (folder / "agreement.md").read_text().splitlines() if line.startswith("|---")]
    assert len(rows) > 8
    assert max(row.count("---") for row in rows) <= 8
    latex = (folder / "tables.tex").read_text()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") >= len(rows)
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert max(line.replace(r"\&", "").count("&") for line in body) <= 7
    methods = (folder / "methods.md").read_text()
    for part in ("## Methods", "## Sample size", "## Checklist", "to be stated by the authors", "The plan was not frozen"):
        assert part in methods
