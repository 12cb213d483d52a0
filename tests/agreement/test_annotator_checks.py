"""The checks of each annotator, in every kind of study: who is flagged, what the numbers are, and whom the plan leaves out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import Plan, analyse
from lookback.agreement.importers import read_gold
from lookback.agreement.tables.annotators import annotators_table
from lookback.agreement.validation import check_ratings
from lookback.errors import ContractError, UsageError
from lookback.stats.annotator_checks import PAUSE_S, against_the_others, fewer_right, fisher_z, rank_terms, seconds_taken, share_of
from scipy import stats

MODELS = {"alpha": 1.2, "bravo": 0.8, "charlie": 0.8, "delta": 0.0, "echo": -0.8, "foxtrot": -2.0}
PEOPLE = ("ann", "bob", "cat")
SCALES = {"rating": ["1", "2", "3", "4", "5"], "preference": ["-1", "0", "1"], "trigger": ["no", "yes"]}


def plan(kind: str, **more: object) -> Plan:
    family = {"benchmark": "own", "task": "asked", "kind": kind, "scale": "scale", "dimensions": {"quality": {}}}
    level = "nominal" if kind == "trigger" else "ordinal"
    scales = {"scale": {"categories": SCALES[kind], "level": level}}
    return Plan.model_validate({"resamples": 100, "scales": scales, "families": {"asked": family}, **more})


def study(kind: str, careless: str = "", seed: int = 0, seconds: float = 12.0) -> pd.DataFrame:
    """6 models x 12 scenes x 3 raters; a careless rater answers at random, of two sides rather the first, and in `seconds`."""
    rng, rows = np.random.default_rng(seed), []
    shown = {(m, s): quality + rng.normal(0, 0.5) for m, quality in MODELS.items() for s in range(12)}
    asked = [(a, b, s) for a, b in combinations(MODELS, 2) for s in range(12)] if kind == "preference" else list(shown)
    for who in PEOPLE:
        clock = 0.0
        for place in rng.permutation(len(asked)):
            clock += float(np.exp(rng.normal(np.log(seconds if who == careless else 12), 0.5)))
            *models, scene = asked[place]
            a, b = (*rng.permutation(models), "")[:2]
            row = {
                "task": "asked",
                "benchmark": "own",
                "dimension": "quality",
                "scene": f"s{scene}",
                "annotator": who,
                "time": clock,
            }
            row |= {"model_a": a, "clip_a": f"s{scene}", "model_b": b, "clip_b": f"s{scene}" if b else ""}
            seen = shown[a, scene] - shown.get((b, scene), 0) + rng.normal(0, 0.8)
            label = {"rating": int(np.clip(round(3 + seen), 1, 5)), "preference": int(np.sign(seen)), "trigger": seen > 0}[kind]
            if who == careless:
                label = rng.integers(1, 6) if kind == "rating" else rng.choice([-1, 1], p=[0.35, 0.65])
            rows.append({**row, "label": (("yes" if label > 0 else "no") if kind == "trigger" else str(label))})
    return pd.DataFrame(rows)


def checked(kind: str, votes: pd.DataFrame, gold: pd.DataFrame | None = None) -> pd.DataFrame:
    return annotators_table(check_ratings(votes, plan(kind)), plan(kind), gold).set_index("annotator")


@pytest.mark.parametrize("kind", SCALES)
def test_a_careless_rater_is_flagged_in_every_kind_of_study_and_equal_ones_are_not(kind):
    for seed in (2, 3):
        found = checked(kind, study(kind, "cat", seed))
        assert "agreement" in found.loc["cat", "flags"]
        assert (found.loc[["ann", "bob"], "flags"] == "").all()
        assert (checked(kind, study(kind, seed=seed))["flags"] == "").all()


def test_speed_and_gold_are_checked_too():
    right = {"ann": 10 * [True], "bob": 10 * [True], "cat": 8 * [False] + 2 * [True]}
    gold = pd.DataFrame([(who, each) for who, answers in right.items() for each in answers], columns=["annotator", "right"])
    found = checked("trigger", study("trigger", "cat", seconds=2.0), gold)
    assert found["flags"].to_dict() == {"ann": "", "bob": "", "cat": "agreement, speed, gold"}
    assert found.loc["cat", ["gold_right", "gold_asked"]].tolist() == [2, 10]
    everybody = np.ones(3, dtype=bool)
    assert fewer_right(np.array([10, 10, 2]), np.array([10, 10, 10]), everybody)[2] == pytest.approx(
        stats.hypergeom.cdf(2, 30, 22, 10)
    )


def test_the_numbers_of_a_rater_equal_those_of_scipy():
    votes = check_ratings(study("rating"), plan("rating"))
    wide = votes.assign(label=votes["label"].astype(float)).pivot(index="item", columns="annotator", values="label")
    found = checked("rating", study("rating")).loc["ann"]
    rho = stats.spearmanr(wide["ann"], wide[["bob", "cat"]].mean(axis=1)).statistic
    assert found["rank_agreement"] == pytest.approx(rho, abs=1e-12)
    assert found["top_answer"] == pytest.approx(wide["ann"].value_counts(normalize=True).max())
    times = np.sort(votes.loc[votes["annotator"] == "ann", "time"])
    assert found["seconds"] == pytest.approx(stats.gmean(np.diff(times)))
    given = study("preference")
    first = given[(given["annotator"] == "bob") & (given["label"] != "0")]
    found = checked("preference", given).loc["bob"]
    assert found["first_side"] == pytest.approx((first["label"] == "1").mean())  # as shown, whatever the order of names


def test_differences_from_the_others_equal_a_jackknife_written_out():
    rng = np.random.default_rng(4)
    who, where = np.tile([0, 1, 2], 40), np.repeat(np.arange(8), 15)
    x, y = rng.normal(size=120), rng.normal(size=120)
    terms = rank_terms(x + y, y, who)
    found = against_the_others(terms, who, where, fisher_z)

    def gap(kept: np.ndarray) -> float:
        z = fisher_z(np.array([terms[kept & (who == k)].sum(axis=0) for k in range(3)]))
        return float(z[0] - z[1:].mean())

    left = np.array([gap(where != k) for k in range(8)])
    error = np.sqrt(7 / 8 * ((left - left.mean()) ** 2).sum())
    assert found["p_below"][0] == pytest.approx(stats.t.cdf(gap(where >= 0) / error, 7))
    cases = np.column_stack([np.ones(120), np.ones(120)])
    assert against_the_others(cases, who, where, share_of)["p_below"].isna().all()  # nothing varies: nobody is accused


def test_whoever_is_unlike_all_others_is_flagged_and_not_those_who_differ_from_them():
    sides = study("preference", "cat", 3)
    better = sides["model_a"].map(MODELS) >= sides["model_b"].map(MODELS)
    swap = sides[~better].rename(columns={"model_a": "model_b", "model_b": "model_a"})  # the better model is always shown first
    sides = pd.concat([sides[better], swap.assign(label=(-swap["label"].astype(int)).astype(str))])
    found = checked("preference", sides)
    assert found["flags"].to_dict() == {"ann": "", "bob": "", "cat": "agreement, side"}
    assert found.loc["ann", "first_side"] > found.loc["ann", "first_side_others"] + 0.05


def test_a_screen_is_timed_once_and_breaks_are_not():
    taken = seconds_taken(["a", "a", "a", "b", "a", "a"], [0.0, 10.0, 10.0, 11.0, 10.0 + 2 * PAUSE_S, np.nan])
    np.testing.assert_array_equal(taken, [np.nan, 10, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"exclude": "cat"}, "cat: named in the plan"),
        ({"gold": 0.8}, "cat: 1 of 2 gold items right, 0.8 asked for"),
        ({"flags": "agreement"}, "cat: agrees less with the others"),
    ],
)
def test_the_plan_leaves_annotators_out_and_the_exclusions_count_them(rule, why):
    votes, gold = study("rating", "cat", 1), pd.DataFrame({"annotator": ["ann", "cat", "cat"], "right": [True, True, False]})
    tables = analyse(votes, None, plan("rating", annotators=rule, estimands=["agreement", "annotators"]), gold=gold)
    row = tables["exclusions"].iloc[0]
    assert (row["annotators_left_out"], row["votes_left_out"], row["why_annotators"]) == (1, 72, why)
    assert f"By the plan's rule for annotators 72 votes were left out ({why})" in tables["exclusions"].attrs["reading"]
    assert tables["agreement"]["n_annotators"].item() == 2
    assert "cat" in set(tables["annotators"]["annotator"])  # what was found about them stays
    assert "agreement" in tables["annotators"].set_index("annotator").loc["cat", "flags"]


def test_what_changes_the_main_measure_most_is_named(tmp_path):
    votes = study("rating", "cat", 1)
    declared = plan("rating", estimands=["rating", "annotators"]).model_dump(mode="json")
    declared["families"]["asked"]["dimensions"]["quality"]["metric"] = "score"
    rng = np.random.default_rng(0)
    clips = votes[["benchmark", "model_a", "clip_a"]].drop_duplicates().set_axis(["benchmark", "model_id", "clip_id"], axis=1)
    score = clips["model_id"].map(MODELS) + rng.normal(0, 0.5, len(clips))
    score[clips["clip_id"] == "s3"] *= -1  # one scene where the metric is upside down
    scores = clips.assign(setting="", metric="score", value=score, reason="")
    table = analyse(votes, scores, Plan.model_validate(declared))["influence"]
    found = table.set_index(["left_out", "name"])["without"]
    assert set(table["left_out"]) == {"annotator", "scene", "model"}
    given = votes.assign(label=votes["label"].astype(int))
    given = given.merge(scores, left_on=["model_a", "clip_a"], right_on=["model_id", "clip_id"])

    def rho(kept: pd.Series) -> float:
        means = given[kept].groupby(["model_a", "clip_a"])[["label", "value"]].mean()
        return stats.spearmanr(means["label"], means["value"]).statistic

    before = rho(given["label"] > 0)
    assert table["as_planned"].iloc[0] == pytest.approx(before)
    assert found["scene", "s3"] == pytest.approx(rho(given["scene"] != "s3"))
    assert found["annotator", "cat"] == pytest.approx(rho(given["annotator"] != "cat"))
    model = table.loc[table["left_out"] == "model", "name"].item()
    without = {name: rho(given["model_a"] != name) for name in MODELS}
    assert max(without, key=lambda name: abs(without[name] - before)) == model
    assert found["model", model] == pytest.approx(without[model])
    assert f"Without cat, who is clearly unlike the others: quality (rho of items) from {before:.2f}" in table.attrs["reading"]


def test_a_rule_that_cannot_be_applied_is_an_error():
    with pytest.raises(UsageError, match="there are no gold answers"):
        analyse(study("rating"), None, plan("rating", annotators={"gold": 0.8}))
    with pytest.raises(ContractError, match="leaves out every annotator"):
        analyse(study("rating"), None, plan("rating", annotators={"exclude": list(PEOPLE)}))


def test_gold_answers_are_read_without_practice(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text(
        "annotator,role,item,label,expected,right\nann,gold,1,A,A,True\nann,practice,2,A,B,False\nbob,gold,1,B,A,False\n"
    )
    assert read_gold(path).to_dict("list") == {"annotator": ["ann", "bob"], "right": [True, False]}
    path.write_text("annotator,label,expected\nann,yes,Yes\nann,no,yes\n")
    assert read_gold(path)["right"].tolist() == [True, False]
    path.write_text("annotator,right\nann,perhaps\n")
    with pytest.raises(ContractError, match="'perhaps' in column right is neither"):
        read_gold(path)
