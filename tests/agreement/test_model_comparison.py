"""Letters and verdicts for preferences and ratings: which scale makes them, and for whom they hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from lookback.agreement import Plan, analyse
from lookback.agreement.figures.comparison import model_ranking
from lookback.stats import rating_comparisons, strength_comparisons

TRUTH = {"alpha": 1.2, "bravo": 0.8, "charlie": 0.8, "delta": 0.0}
PLAN = {
    "scales": {"ab": {"categories": [1, 0, -1]}, "stars": {"categories": [1, 2, 3, 4, 5], "level": "ordinal"}},
    "families": {
        "pairs": {"benchmark": "own", "task": "pairwise", "kind": "preference", "scale": "ab", "dimensions": {"consistency": {}}},
        "stars": {"benchmark": "own", "task": "rating", "kind": "rating", "scale": "stars", "dimensions": {"realism": {}}},
    },
    "resamples": 200,
    "estimands": ["ranking", "rating"],
}


def plan(**more: object) -> Plan:
    return Plan.model_validate(PLAN | more)


def study(scenes: int, annotators: int, *, taste: float = 0.0, alpha_wins: bool = False, seed: int = 0) -> pd.DataFrame:
    """Every pair of models compared and every clip rated by everybody, who have tastes of their own."""
    rng, rows = np.random.default_rng(seed), []
    likes = {f"w{r}": {m: taste * rng.normal() for m in TRUTH} for r in range(annotators)}
    for scene in range(scenes):
        quality = {m: value + 0.5 * rng.normal() for m, value in TRUTH.items()}
        for who, own in likes.items():
            seen = {m: quality[m] + own[m] for m in TRUTH}
            base = {"benchmark": "own", "setting": "", "scene": f"s{scene}", "annotator": who}
            for a, b in combinations(TRUTH, 2):
                d = seen[a] - seen[b] + rng.logistic()
                label = 1 if alpha_wins and a == "alpha" else 0 if abs(d) < 0.3 else int(np.sign(d))
                sides = {"model_a": a, "clip_a": f"s{scene}", "model_b": b, "clip_b": f"s{scene}"}
                rows.append({**base, **sides, "task": "pairwise", "dimension": "consistency", "label": str(label)})
            for m in TRUTH:
                stars = int(np.clip(round(3 + 0.7 * seen[m] + 0.7 * rng.normal()), 1, 5))
                sides = {"model_a": m, "clip_a": f"s{scene}", "model_b": "", "clip_b": ""}
                rows.append({**base, **sides, "task": "rating", "dimension": "realism", "label": str(stars)})
    return pd.DataFrame(rows).assign(time=0.0, simulated=False)


def test_ratings_are_compared_like_preferences_each_on_its_scale():
    votes = study(16, 3, seed=1)
    tables = analyse(votes, None, plan())
    models = tables["models"].set_index(["dimension", "model"])
    rated = votes[votes["task"] == "rating"].astype({"label": float})
    means = rated.groupby("model_a")["label"].mean()
    np.testing.assert_allclose(models.loc["realism", "value"].loc[means.index], means)
    assert models.loc["realism", "scale"].eq("mean rating").all() and models.loc["realism", "n"].eq(16).all()
    for dimension in ("consistency", "realism"):  # the best and the worst are told apart
        assert not set(models.loc[(dimension, "alpha"), "letters"]) & set(models.loc[(dimension, "delta"), "letters"])
    own = tables["comparisons"].set_index("dimension").loc["realism"]
    expected = rating_comparisons(rated.assign(item=rated["scene"] + rated["model_a"]), "scene")
    np.testing.assert_allclose(own["p_holm"], expected["p_holm"])
    reading = tables["models"].attrs["reading"]
    assert "Told apart by log strength, in scenes like these, as these annotators see them: consistency (" in reading
    assert "Told apart by mean rating, in scenes like these, as these annotators see them: realism (" in reading
    figure, _ = model_ranking(tables["models"])
    assert [axes.get_xlabel() for axes in figure.axes] == ["log strength (0: average model)", "mean rating"]


def test_enough_annotators_speak_for_others_where_the_plan_asks():
    votes, others = study(8, 6, taste=0.8), {"population": {"annotators": "like_these"}}
    these, like = (analyse(votes, None, chosen)["comparisons"] for chosen in (plan(), plan(**others)))
    pairs = votes[votes["task"] == "pairwise"].astype({"label": int})
    expected = strength_comparisons(pairs, "scene", annotator="annotator")
    primary = like[like["scale"] == "log strength"]
    np.testing.assert_allclose(primary["se"], expected["se"])
    assert (primary["se"].to_numpy() > 1.1 * these.loc[these["scale"] == "log strength", "se"].to_numpy()).mean() > 0.8
    assert like.groupby("scale")["annotators"].first().to_dict() == {
        "log strength": "like these",
        "mean rating": "like these",
        "win ratio": "these",
    }
    assert "as annotators like these would see them" in like.attrs["reading"]
    few = analyse(votes[votes["annotator"] < "w4"], None, plan(**others))["models"]
    assert few["annotators"].eq("these").all() and "fewer than 5 cannot speak for others" in few.attrs["reading"]


def test_where_strengths_do_not_exist_win_ratios_decide_and_the_reading_says_so():
    tables = analyse(study(10, 3, alpha_wins=True), None, plan())
    models = tables["models"].query("dimension == 'consistency'")
    assert models["scale"].eq("win ratio").all() and models["value"].tolist() == models["win_ratio"].tolist()
    assert models["letters"].iloc[0] == "a" and not models["letters"].iloc[1:].str.contains("a").any()
    assert (
        "No strengths, so letters by win ratio: consistency (separated: alpha won everything" in tables["models"].attrs["reading"]
    )
    assert tables["comparisons"].query("scale == 'win ratio'")["verdict"].isin(["first is better", "not told apart"]).all()


def test_one_vote_a_pair_has_strengths_and_no_labels():
    """Strengths count every vote; the plan's fewest votes are about labels and mean ratings."""
    models = analyse(study(10, 1), None, plan())["models"].set_index("dimension")
    assert models.loc["consistency", "value"].notna().all() and models.loc["consistency", "win_ratio"].isna().all()
    assert models.loc["realism", "value"].isna().all() and models.loc["realism", "reason"].str.contains("no ratings").all()


@pytest.mark.parametrize("scenes", [1, 2])
def test_intervals_exist_from_two_scenes_on(scenes):
    models = analyse(study(scenes, 4), None, plan())["models"]
    assert models["low"].notna().any() == (scenes == 2)
    assert ("1 scene only: a comparison needs 2" in models.attrs["reading"]) == (scenes == 1)
