"""Score against people within models and pooled: the textbook formulas, loops over leave-outs, and a score that knows the model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from lookback.errors import NotScorable
from lookback.stats.association import association_units, pooled_models, within_models
from scipy import stats


def clips(rng: np.random.Generator, models: int = 5, scenes: int = 7, rho: float = 0.5) -> pd.DataFrame:
    """Ratings with ties and gaps: model levels, scene levels, and a score that follows a clip's own quality with `rho`."""
    model, scene = (axis.ravel() for axis in np.meshgrid(np.arange(models), np.arange(scenes), indexing="ij"))
    own = rng.normal(size=len(model))
    rating = 3 + rng.normal(0, 0.8, models)[model] + rng.normal(0, 0.5, scenes)[scene] + 0.6 * own + rng.normal(0, 0.4, len(model))
    score = rng.normal(0, 1, models)[model] + rho * own + np.sqrt(1 - rho**2) * rng.normal(size=len(model))
    table = pd.DataFrame({"model": model, "scene": scene, "rating": np.clip(rating.round(), 1, 5), "score": score})
    return table.sample(frac=0.9, random_state=1).reset_index(drop=True)


def pairs(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Every two clips of a scene, with an arbitrary side for each."""
    rows = []
    for scene, own in table.groupby("scene"):
        for one, two in combinations(own.itertuples(), 2):
            a, b = (one, two) if rng.random() < 0.5 else (two, one)
            label = int(np.sign(a.rating - b.rating))
            rows.append({"a": a.model, "b": b.model, "scene": scene, "label": label, "delta": a.score - b.score})
    return pd.DataFrame(rows)


def ranked_residuals(table: pd.DataFrame) -> float:
    """Ranks regressed on the models by statsmodels, and the residuals' correlation."""
    ranks = table.assign(x=stats.rankdata(table["score"]), y=stats.rankdata(table["rating"]))
    left = [smf.ols(f"{name} ~ C(model)", ranks).fit().resid for name in "xy"]
    return float(np.corrcoef(*left)[0, 1])


def jackknife(values: list[float]) -> float:
    found = np.array(values)
    return float((len(found) - 1) / len(found) * ((found - found.mean()) ** 2).sum())


def errs_once(scenes: int = 30) -> pd.DataFrame:
    """A score that puts six models' clips in people's order in every scene, but for two clips of the first."""
    rating = np.random.default_rng(0).normal(size=6 * scenes)
    score = rating.copy()
    score[[3, 4]] = score[[4, 3]]
    model, scene = np.tile(np.arange(6), scenes), np.repeat(np.arange(scenes), 6)
    return pd.DataFrame({"model": model, "scene": scene, "rating": rating, "score": score})


def test_within_models_equals_a_regression_on_the_models_and_a_loop_over_scenes():
    table = clips(np.random.default_rng(2))
    found = within_models(association_units(table["score"], table["rating"], table["model"], clusters=table["scene"]))
    value = ranked_residuals(table)
    error = np.sqrt(jackknife([ranked_residuals(table[table["scene"] != s]) for s in table["scene"].unique()])) / (1 - value**2)
    z, freedom = np.arctanh(value), table["scene"].nunique() - 1
    assert found.value == pytest.approx(value)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(z) / error, freedom))
    assert (found.low, found.high) == pytest.approx(
        tuple(np.tanh(z + side * stats.t.ppf(0.975, freedom) * error) for side in (-1, 1))
    )


def test_pooled_is_spearman_with_errors_clustered_two_ways():
    table = clips(np.random.default_rng(3))
    found = pooled_models(association_units(table["score"], table["rating"], table["model"], clusters=table["scene"]))

    def spread(of: pd.Series) -> float:
        kept = [table[of != name] for name in of.unique()]
        return jackknife([stats.spearmanr(own["score"], own["rating"]).statistic for own in kept])

    models, scenes = spread(table["model"]), spread(table["scene"])
    cells = spread(table["model"].astype(str) + " " + table["scene"].astype(str))
    value = stats.spearmanr(table["score"], table["rating"]).statistic
    z, error = np.arctanh(value), np.sqrt(max(models, scenes, models + scenes - cells)) / (1 - value**2)
    assert found.value == pytest.approx(value)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(z) / error, 4))
    assert (found.low, found.high) == pytest.approx(tuple(np.tanh(z + side * stats.t.ppf(0.975, 4) * error) for side in (-1, 1)))


def test_a_pair_leaves_with_either_of_its_models():
    rng = np.random.default_rng(8)
    table = pairs(clips(rng), rng)
    turned = table.assign(a=table["b"], b=table["a"], label=-table["label"], delta=-table["delta"])
    both = pd.concat([table, turned])
    found = pooled_models(
        association_units(table["delta"], table["label"], table["a"], table["b"], clusters=table["scene"], symmetric=True)
    )

    def rho(own: pd.DataFrame) -> float:
        return float(stats.spearmanr(own["delta"], own["label"]).statistic)

    models = jackknife([rho(both[(both["a"] != m) & (both["b"] != m)]) for m in range(5)])
    scenes = jackknife([rho(both[both["scene"] != s]) for s in both["scene"].unique()])
    error = np.sqrt(models + scenes) / (1 - found.value**2)  # both orders are no second sample
    assert found.p == pytest.approx(2 * stats.t.sf(abs(np.arctanh(found.value)) / error, 4))


def test_pairs_count_in_both_orders_and_no_side_matters():
    rng = np.random.default_rng(4)
    table = pairs(clips(rng), rng)
    turned = table.assign(a=table["b"], b=table["a"], label=-table["label"], delta=-table["delta"])
    some = rng.random(len(table)) < 0.5
    mixed = pd.concat([table[~some], turned[some]])
    both = pd.concat([table, turned])
    found = {}
    for name, own in (("as given", table), ("mixed", mixed)):
        units = association_units(own["delta"], own["label"], own["a"], own["b"], clusters=own["scene"], symmetric=True)
        found[name] = within_models(units), pooled_models(units)
    for one, other in zip(*found.values(), strict=True):
        assert (one.value, one.low, one.p) == pytest.approx((other.value, other.low, other.p))
    within, pooled = found["as given"]
    assert pooled.value == pytest.approx(stats.spearmanr(both["delta"], both["label"]).statistic)
    ranks = both.assign(x=stats.rankdata(both["delta"]), y=stats.rankdata(both["label"]))
    means = ranks.groupby(["a", "b"])[["x", "y"]].transform("mean")
    assert within.value == pytest.approx(np.corrcoef(ranks["x"] - means["x"], ranks["y"] - means["y"])[0, 1])


def test_a_score_that_only_recognises_the_model_is_found_within_models_no_more_often_than_the_level():
    rng = np.random.default_rng(5)
    studies, found, naive = 150, 0, 0
    for _ in range(studies):
        table = clips(rng, models=6, scenes=12, rho=0.0)
        table["score"] = rng.normal(size=6)[table["model"]] + rng.normal(0, 0.3, len(table))
        found += within_models(association_units(table["score"], table["rating"], table["model"], clusters=table["scene"])).p < 0.05
        naive += stats.spearmanr(table["score"], table["rating"]).pvalue < 0.05
    assert found / studies <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies)
    assert naive / studies > 0.3


@pytest.mark.parametrize("estimate", [within_models, pooled_models])
def test_a_score_that_errs_once_is_nearly_sure(estimate):
    table = errs_once()
    found = estimate(association_units(table["score"], table["rating"], table["model"], clusters=table["scene"]))
    assert found.value > 0.99 and found.low > 0.9 and found.p < 0.01


def test_turning_the_score_turns_the_interval():
    table = clips(np.random.default_rng(6))
    for estimate in (within_models, pooled_models):
        one, other = (
            estimate(association_units(sign * table["score"], table["rating"], table["model"], clusters=table["scene"]))
            for sign in (1, -1)
        )
        assert (one.value, one.low, one.high, one.p) == pytest.approx((-other.value, -other.high, -other.low, other.p))


def test_what_cannot_be_said_has_a_reason():
    table = clips(np.random.default_rng(7))
    with pytest.raises(NotScorable, match="within the models"):
        within_models(association_units(table["model"], table["rating"], table["model"], clusters=table["scene"]))
    one_scene = association_units(table["score"], table["rating"], table["model"], clusters=np.zeros(len(table)))
    assert within_models(one_scene).p is None and "one cluster only" in within_models(one_scene).note
    one_model = association_units(table["score"], table["rating"], np.zeros(len(table)), clusters=table["scene"])
    assert pooled_models(one_model).p is None and "one model only" in pooled_models(one_model).note
    assert within_models(one_model).value == pytest.approx(stats.spearmanr(table["score"], table["rating"]).statistic)
