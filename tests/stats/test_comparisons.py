"""Models compared: leave-one-scene-out errors against plain refits, Holm, letters against their definition, the truth recovered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback.errors import NotScorable, UsageError
from lookback.stats import (
    VoteModel,
    bradley_terry,
    ranking_with_ties,
    rating_comparisons,
    strength_comparisons,
    win_ratio_comparisons,
    win_ratio_difference,
    win_ratios,
)
from lookback.stats.comparisons import letters
from lookback.stats.simulation import drawn_votes, majority_signs
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

TRUTH = VoteModel((0.9, 0.3, 0.0, -0.4, -0.8), tie=0.6, agreement=0.4)
NAMES = np.array([f"m{k}" for k in range(5)])


def votes_table(seed: int, scenes: int, raters: int = 3, model: VoteModel = TRUTH) -> pd.DataFrame:
    """One row per vote."""
    votes = drawn_votes(model, np.random.default_rng(seed), 1, scenes, raters)[0]
    scene, pair, _ = np.indices(votes.shape).reshape(3, -1)
    a, b = model.pairs
    table = {"scene": scene, "model_a": NAMES[a[pair]], "model_b": NAMES[b[pair]], "label": votes.ravel().astype(int)}
    return pd.DataFrame(table)


def left_out(table: pd.DataFrame, estimate) -> np.ndarray:
    """Standard errors of all differences by fitting again without each scene."""
    scenes = sorted(table["scene"].unique())
    values = pd.concat([estimate(table[table["scene"] != s]) for s in scenes], axis=1)
    pairs = combinations(values.index, 2)
    differences = np.array([(values.loc[i] - values.loc[j]).to_numpy() for i, j in pairs])
    return np.sqrt((len(scenes) - 1) * differences.var(axis=1))


def by_name(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of comparisons sorted by the two models' names, differences as (smaller name) - (larger name)."""
    turned = table["first"] > table["second"]
    names = table[["first", "second"]].apply(lambda row: "-".join(sorted(row)), axis=1)
    return (
        table.assign(difference=table["difference"].where(~turned, -table["difference"]), names=names)
        .set_index("names")
        .sort_index()
    )


def test_win_ratio_differences_are_those_of_refits_without_each_scene():
    table = votes_table(1, 12).sample(frac=0.6, random_state=1)  # scenes of unequal size
    found = by_name(win_ratio_comparisons(table, "scene"))
    ratios = win_ratios(table).set_index("model")["win_ratio"]
    np.testing.assert_allclose(found["difference"], [ratios[i] - ratios[j] for i, j in combinations(NAMES, 2)])
    errors = left_out(table, lambda part: win_ratios(part).set_index("model")["win_ratio"].loc[NAMES])
    np.testing.assert_allclose(found["se"], errors)
    p = 2 * scipy_stats.t.sf(np.abs(found["difference"]) / found["se"], 11)
    np.testing.assert_allclose(found["p"], p)
    np.testing.assert_allclose(found["p_holm"], multipletests(p, method="holm")[1])


def test_strength_differences_are_near_those_of_refits_without_each_scene():
    table = votes_table(2, 20).sample(frac=0.6, random_state=2)
    found = by_name(strength_comparisons(table, "scene"))
    errors = left_out(table, lambda part: bradley_terry(part).table.set_index("model")["log_strength"].loc[NAMES])
    np.testing.assert_allclose(found["se"], errors, rtol=0.06)  # one Newton step instead of a whole refit


def test_two_scenes_have_intervals_and_one_has_none():
    for compare in (win_ratio_comparisons, strength_comparisons):
        row = compare(votes_table(3, 2), "scene").iloc[0]
        assert row["high"] - row["difference"] == pytest.approx(scipy_stats.t.ppf(0.975, 1) * row["se"])
        table = votes_table(3, 1)
        table = pd.concat([table, table.assign(label=-table["label"])[::4]], ignore_index=True)  # no model wins or loses everything
        found = compare(table, "scene")
        assert found[["low", "high", "p", "p_holm"]].isna().all(axis=None)
        assert found["reason"].eq("1 cluster only: a comparison needs 2, no interval and no test").all()
        ranked = ranking_with_ties(win_ratios(table).set_index("model")["win_ratio"], found)
        assert ranked["letters"].eq("a").all()
        assert ranked["place_low"].eq(1).all() and ranked["place_high"].eq(5).all()


def rarely_seen(rng: np.random.Generator, scenes_of_a: int, scenes: int = 40) -> pd.DataFrame:
    """Five equal models, all pairs in every scene; A is there in the first few scenes only."""
    rows = []
    for scene in range(scenes):
        quality = rng.normal(size=5)
        for i, j in combinations(range(0 if scene < scenes_of_a else 1, 5), 2):
            rows.append((scene, "ABCDE"[i], "ABCDE"[j], int(np.sign(quality[i] - quality[j] + 0.3 * rng.normal()))))
    return pd.DataFrame(rows, columns=["scene", "model_a", "model_b", "label"])


def test_a_model_seen_in_one_of_forty_scenes_has_no_interval_and_no_test():
    table = rarely_seen(np.random.default_rng(3), 1)
    table.loc[table["model_a"] == "A", "label"] = [-1, *[1] * 3]  # one loss, so that its strength is finite
    for compare in (win_ratio_comparisons, strength_comparisons):
        found = compare(table, "scene")
        rare = (found["first"] == "A") | (found["second"] == "A")
        assert found.loc[rare, ["low", "high", "p", "p_holm"]].isna().all(axis=None)
        assert set(found.loc[rare, "reason"]) == {"A is in 1 of 40 clusters: a comparison needs 2, no interval and no test"}
        assert found.loc[~rare, ["low", "high", "p", "p_holm"]].notna().all(axis=None)
        assert (found.loc[rare, "n_clusters"] == 1).all() and (found.loc[~rare, "n_clusters"] == 40).all()
    won = win_ratios(table).set_index("model")["win_ratio"]
    places = ranking_with_ties(won, win_ratio_comparisons(table, "scene")).set_index("model")
    assert won.idxmax() == "A"
    assert places.loc["A", ["place_low", "place_high"]].tolist() == [1, 5]
    without = strength_comparisons(table[table["model_a"] != "A"], "scene")  # its few votes hardly move the other models
    others = by_name(strength_comparisons(table, "scene")).loc[by_name(without).index]
    np.testing.assert_allclose(others["se"], by_name(without)["se"], rtol=0.1)
    difference = win_ratio_difference(table, "A", "B", cluster="scene", resamples=200)
    assert difference.low is None and "one cluster only" in difference.note


def test_the_rarer_model_of_two_gives_the_degrees_of_freedom():
    found = win_ratio_comparisons(rarely_seen(np.random.default_rng(4), 6), "scene")
    for row in found.itertuples():
        df = 5 if "A" in (row.first, row.second) else 39
        assert row.p == pytest.approx(2 * scipy_stats.t.sf(row.difference / row.se, df))
        assert row.high - row.difference == pytest.approx(scipy_stats.t.ppf(0.975, df) * row.se)
    always = rarely_seen(np.random.default_rng(4), 6).assign(label=lambda t: np.where(t["model_a"] == "A", 1, 0))
    found = win_ratio_comparisons(always[always["model_a"] == "A"], "scene")
    assert found.loc[found["first"] == "A", "p"].tolist() == pytest.approx([2 * 0.5**6] * 4)  # six scenes, all on one side


def test_equal_models_are_told_apart_no_more_often_than_the_level_where_one_is_rarely_seen():
    rng, hits = np.random.default_rng(5), []
    for _ in range(300):
        found = win_ratio_comparisons(rarely_seen(rng, 5), "scene")
        hits += (found.loc[(found["first"] == "A") | (found["second"] == "A"), "p"] < 0.05).tolist()
    assert np.mean(hits) < 0.06  # t with 39 degrees of freedom: 0.09


def test_models_named_by_whole_numbers_are_compared_as_those_named_by_words():
    pairs = pd.DataFrame({"scene": range(20), "model_a": 1, "model_b": 2, "label": [0, *[1] * 9] * 2})
    named = pairs.replace({"model_a": {1: "x"}, "model_b": {2: "y"}})
    ranked = [
        ranking_with_ties(win_ratios(table).set_index("model")["win_ratio"], win_ratio_comparisons(table, "scene"))
        for table in (pairs, named)
    ]
    assert ranked[0]["letters"].tolist() == ranked[1]["letters"].tolist() == ["a", "b"]
    with pytest.raises(NotScorable, match="2 won everything"):
        bradley_terry(pairs.assign(label=1))
    with pytest.raises(UsageError, match="involves 3; the pairs hold 1, 2"):
        win_ratio_difference(pairs, 1, 3)


def test_the_same_result_in_every_scene_is_judged_by_a_sign_test():
    pairs = pd.DataFrame({"scene": range(8), "model_a": "x", "model_b": "y", "label": 1})
    assert win_ratio_comparisons(pairs[:2], "scene")["p"].tolist() == [0.5]  # two scenes that agree are no evidence
    found = win_ratio_comparisons(pairs, "scene")
    row = found.iloc[0]
    assert row["difference"] == 1 and np.isnan(row["low"])
    assert row["p"] == 2 * 0.5**8  # all eight scenes on one side
    assert ranking_with_ties(pd.Series({"x": 1.0, "y": 0.0}), win_ratio_comparisons(pairs, "scene"))["letters"].tolist() == [
        "a",
        "b",
    ]


def judged(seed: int, scenes: int = 5, annotators: int = 4) -> pd.DataFrame:
    """Votes of annotators, who have tastes of their own, on four models, who have good and bad scenes."""
    rng = np.random.default_rng(seed)
    taste, quality, rows = 0.7 * rng.normal(size=(annotators, 4)), rng.normal(size=(scenes, 4)), []
    for scene in range(scenes):
        for who in range(annotators):
            for i, j in combinations(range(4), 2):
                if rng.random() < 0.8:
                    liking = taste[who] + quality[scene]
                    seen = liking[i] - liking[j] + 0.4 * (i - j) + rng.logistic()
                    rows.append((scene, f"w{who}", f"m{i}", f"m{j}", 0 if abs(seen) < 0.4 else int(np.sign(seen))))
    return pd.DataFrame(rows, columns=["scene", "annotator", "model_a", "model_b", "label"])


@pytest.mark.parametrize(("seed", "floor"), [(1, True), (3, False)])
def test_annotators_as_a_sample_add_what_leaving_one_of_them_out_shows(seed, floor):
    """Against the scores and information of statsmodels' logistic regression, by plain loops over what is left out."""
    votes = judged(seed).query("label != 0")
    design = np.zeros((len(votes), 3))
    for k in range(1, 4):
        design[:, k - 1] = (votes["model_a"] == f"m{k}").astype(int) - (votes["model_b"] == f"m{k}").astype(int)
    wins = (votes["label"] == 1).astype(int).to_numpy()
    whole = sm.Logit(wins, design)
    at = whole.fit(disp=0, tol=1e-12).params
    variances = {}
    for name, by in (("scene", ["scene"]), ("annotator", ["annotator"]), ("cell", ["scene", "annotator"])):
        groups = votes.groupby(by).ngroup().to_numpy()
        steps = []
        for g in np.unique(groups):
            rest = sm.Logit(wins[groups != g], design[groups != g])
            steps.append(at - np.linalg.solve(rest.hessian(at), rest.score(at)))
        values = np.array(steps) @ np.array([-1.0, 0.0, 1.0])  # m3 - m1
        variances[name] = (len(values) - 1) * values.var()
    both, larger = variances["scene"] + variances["annotator"] - variances["cell"], max(variances["scene"], variances["annotator"])
    assert (both < larger) == floor
    expected = max(both, larger)
    row = by_name(strength_comparisons(votes, "scene", annotator="annotator")).loc["m1-m3"]
    assert row["se"] == pytest.approx(np.sqrt(expected))
    assert row["p"] == pytest.approx(2 * scipy_stats.t.sf(abs(row["difference"]) / row["se"], 3))  # four annotators, five scenes


def rated(seed: int) -> pd.DataFrame:
    """Ratings of four models' clips, two clips a scene, by five annotators with tastes of their own; a tenth is missing."""
    rng = np.random.default_rng(seed)
    scene, clip, model, who = (part.ravel() for part in np.indices((6, 2, 4, 5)))
    mean = 3 + 0.5 * model + rng.normal(size=6)[scene] + 0.5 * rng.normal(size=(5, 4))[who, model]
    table = {"scene": scene, "item": scene * 8 + clip * 4 + model, "model_a": NAMES[model], "annotator": who}
    votes = pd.DataFrame({**table, "label": np.clip(np.round(mean + rng.normal(size=len(scene))), 1, 7)})
    return votes.sample(frac=0.9, random_state=seed)


def model_means(votes: pd.DataFrame) -> pd.Series:
    return votes.groupby(["model_a", "item"])["label"].mean().groupby("model_a").mean()


def test_mean_ratings_are_compared_by_leaving_out_scenes_and_annotators():
    votes = rated(1)
    values = model_means(votes)
    variances = []
    for by in (["scene"], ["annotator"], ["scene", "annotator"]):
        groups = votes.groupby(by).ngroup()
        without = [model_means(votes[groups != g]) for g in sorted(groups.unique())]
        difference = np.array([v["m3"] - v["m0"] for v in without])
        variances.append((len(difference) - 1) * difference.var())
    scenes, annotators, cells = variances
    for annotator, variance, df in ((None, scenes, 5), ("annotator", scenes + annotators - cells, 4)):
        row = by_name(rating_comparisons(votes, "scene", annotator=annotator)).loc["m0-m3"]
        assert row["difference"] == pytest.approx(values["m0"] - values["m3"])
        assert row["se"] == pytest.approx(np.sqrt(max(variance, scenes, annotators if annotator else 0)))
        assert (row["high"] - row["low"]) / 2 == pytest.approx(scipy_stats.t.ppf(0.975, df) * row["se"])


def test_of_complete_ratings_the_test_is_the_paired_t_test_over_scenes():
    votes = rated(2)
    complete = (
        votes.drop_duplicates(["scene", "model_a", "annotator"]).groupby(["scene", "model_a"], as_index=False)["label"].mean()
    )
    found = by_name(rating_comparisons(complete.assign(item=complete.index), "scene"))
    wide = complete.pivot(index="scene", columns="model_a", values="label")
    for i, j in combinations(wide.columns, 2):
        expected = scipy_stats.ttest_rel(wide[i], wide[j])
        assert found.loc[f"{i}-{j}", "p"] == pytest.approx(expected.pvalue)
    np.testing.assert_allclose(found["p_holm"], multipletests(found["p"], method="holm")[1])


@settings(max_examples=150)
@given(st.integers(2, 7), st.data())
def test_models_share_a_letter_exactly_when_they_are_not_told_apart(m, data):
    models = [f"m{k}" for k in range(m)]
    pairs = [frozenset(pair) for pair in combinations(models, 2)]
    separated = {pair for pair in pairs if data.draw(st.booleans())}
    words = dict(zip(models, letters(models, separated), strict=True))
    for pair in pairs:
        first, second = sorted(pair)
        assert bool(set(words[first]) & set(words[second])) == (pair not in separated)
    assert all(words.values())


def test_the_simulated_votes_have_davidsons_chances_and_the_declared_agreement():
    votes = drawn_votes(TRUTH, np.random.default_rng(0), 1, 20_000, 3)[0]
    shares = np.stack([(votes == k).mean(axis=(0, 2)) for k in (-1, 0, 1)], axis=1)
    np.testing.assert_allclose(shares, TRUTH.chances, atol=0.012)
    signs, decided = majority_signs(votes)
    found = np.stack([((signs == k) & decided).mean(axis=0) for k in (-1, 0, 1)], axis=1)
    np.testing.assert_allclose(found, TRUTH.majority_chances(3), atol=0.012)
    without_ties = VoteModel((0.0, 0.0), 0.0, 0.4)
    pair = drawn_votes(without_ties, np.random.default_rng(1), 1, 200_000, 2)[0, :, 0]
    # two cut normals with correlation r have a correlation of 2 asin(r) / pi (Sheppard 1899)
    assert np.corrcoef(pair.T)[0, 1] == pytest.approx(2 * np.arcsin(0.4) / np.pi, abs=0.01)


def test_the_true_strengths_lie_in_their_intervals():
    hits = []
    for seed in range(40):
        found = by_name(strength_comparisons(votes_table(seed, 12), "scene"))
        truth = [TRUTH.strengths[i] - TRUTH.strengths[j] for i, j in combinations(range(5), 2)]
        hits.append(np.abs(found["difference"] - truth) <= (found["high"] - found["low"]) / 2)
    assert 0.90 < np.mean(hits) < 0.99
