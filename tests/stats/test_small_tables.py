"""Any small table of votes gives a value or a typed reason from every public statistic: never another kind of exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from itertools import product
from typing import Any

import lookback.stats
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lookback import stats
from lookback.errors import NotScorable, Reason
from scipy.optimize import linprog

pytestmark = pytest.mark.long

QUICK = settings(max_examples=25)
DRAWN: dict[str, Any] = {"resamples": 20, "seed": 1}
SCALE = [-1, 0, 1]


@st.composite
def votes(draw: st.DrawFn) -> pd.DataFrame:
    """Pairs with two columns of signs, two of scores and a scene; many are one-sided, tied, constant or in separate groups."""
    n = draw(st.integers(1, 14))
    models, scenes = draw(st.integers(2, 5)), draw(st.sampled_from([1, 2, 6]))
    a = draw(st.lists(st.integers(0, models - 1), min_size=n, max_size=n))
    step = draw(st.lists(st.integers(1, models - 1), min_size=n, max_size=n))
    used = draw(st.sampled_from([(0,), (1,), (0, 1), (-1, 1), (-1, 0, 1)]))
    signs = [draw(st.lists(st.sampled_from(used), min_size=n, max_size=n)) for _ in range(2)]
    values = st.sampled_from([(0.0,), (0.1, 0.2), (0.1, 0.2, 0.3, 0.30000000000000004, 5.0)])
    scores = [draw(st.lists(st.sampled_from(draw(values)), min_size=n, max_size=n)) for _ in range(2)]
    apart = draw(st.booleans())
    b = [(x + s) % models for x, s in zip(a, step, strict=True)]
    names = [(f"m{x}", f"m{y}") for x, y in zip(a, b, strict=True)]
    if apart:
        names = [(f"{x} of group {k % 2}", f"{y} of group {k % 2}") for k, (x, y) in enumerate(names)]
    return pd.DataFrame(
        {
            "model_a": [x for x, _ in names],
            "model_b": [y for _, y in names],
            "label": signs[0],
            "human": signs[0],
            "metric": signs[1],
            "scene": [f"s{k % scenes}" for k in range(n)],
            "x": scores[0],
            "y": scores[1],
            "spatial": [k % 2 for k in range(n)],
            "state": [k // 2 % 2 for k in range(n)],
        }
    )


def ratings(table: pd.DataFrame) -> pd.DataFrame:
    """The same votes as items x raters, with a missing vote where there is room."""
    matrix = pd.DataFrame({"ann": table["human"], "bob": table["metric"]}, dtype=float)
    matrix.loc[matrix.index % 3 == 2, "bob"] = np.nan
    return matrix


def yes(column: pd.Series) -> list[bool]:
    return (column > 0).tolist()


CALLS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "agreement_weights": lambda t: stats.agreement_weights(SCALE, "quadratic"),
    "bootstrap_ci": lambda t: [stats.bootstrap_ci(t["x"], s, clusters=t["scene"], **DRAWN) for s in ("mean", "median")],
    "bradley_terry": lambda t: stats.bradley_terry(t, cluster="scene"),
    "bridge": lambda t: stats.bridge(t["human"], t["x"] - t["y"], 0.05, clusters=t["scene"], symmetric=True, **DRAWN),
    "cohen_kappa": lambda t: stats.cohen_kappa(t["human"], t["metric"], SCALE, clusters=t["scene"], weights="linear", **DRAWN),
    "correlation_structure": lambda t: stats.correlation_structure(t[["x", "y", "human"]]),
    "dawid_skene": lambda t: stats.dawid_skene(ratings(t), SCALE, smoothing=0.0),
    "factor_contrasts": lambda t: stats.factor_contrasts(t, first="spatial", second="state", value="x", unit="model_a"),
    "fleiss_kappa": lambda t: stats.fleiss_kappa(ratings(t), SCALE, clusters=t["scene"]),
    "gwet_ac1": lambda t: stats.gwet_ac1(ratings(t), SCALE, clusters=t["scene"]),
    "gwet_ac2": lambda t: stats.gwet_ac2(ratings(t), SCALE, clusters=t["scene"]),
    "gwet_other_raters": lambda t: stats.gwet_other_raters(pd.concat([ratings(t)] * 3, axis=1), SCALE, clusters=t["scene"]),
    "holm": lambda t: stats.holm(np.abs(t["human"]) * t["x"].clip(upper=1)),
    "judge_beside_people": lambda t: stats.judge_beside_people(
        ratings(t), t["metric"], SCALE, scores=t["x"] - t["y"], clusters=t["scene"], symmetric=True, **DRAWN
    ),
    "judgeability_agreement": lambda t: stats.judgeability_agreement(
        yes(t["human"]), yes(t["metric"]), clusters=t["scene"], **DRAWN
    ),
    "krippendorff_alpha": lambda t: stats.krippendorff_alpha(ratings(t), SCALE, level="ordinal", clusters=t["scene"], **DRAWN),
    "leave_one_annotator_out": lambda t: stats.leave_one_annotator_out(ratings(t), SCALE),
    "majority_vote": lambda t: stats.majority_vote(ratings(t), SCALE),
    "mixed_model": lambda t: stats.mixed_model(
        t, fixed=["spatial", "state"], value="x", random=("scene", "model_a"), interactions=True
    ),
    "model_ceiling": lambda t: stats.model_ceiling(ratings(t).to_numpy(dtype=object), t["model_a"], t["model_b"], splits=5),
    "noise_ceiling": lambda t: stats.noise_ceiling(ratings(t), SCALE, clusters=t["scene"]),
    "paired_wilcoxon": lambda t: stats.paired_wilcoxon(t["x"], t["y"]),
    "percent_agreement": lambda t: stats.percent_agreement(ratings(t), SCALE, clusters=t["scene"]),
    "preference_sign": lambda t: stats.preference_sign(t["label"]),
    "proportion": lambda t: stats.proportion("share", sum(yes(t["human"])), len(t)),
    "rank_agreement": lambda t: stats.rank_agreement(t["x"].to_numpy()[:7], t["y"].to_numpy()[:7]),
    "rank_agreement_pairs": lambda t: stats.rank_agreement_pairs(t, cluster="scene", ties="drop", **DRAWN),
    "rank_intervals": lambda t: stats.rank_intervals(t["x"], t["y"] + 0.1),
    "rater_vs_majority": lambda t: stats.rater_vs_majority(ratings(t), SCALE, clusters=t["scene"]),
    "rating_comparisons": lambda t: stats.rating_comparisons(t.assign(item=np.arange(len(t))), "scene"),
    "ranking_with_ties": lambda t: stats.ranking_with_ties(
        stats.win_ratios(t).set_index("model")["win_ratio"], stats.win_ratio_comparisons(t, "scene")
    ),
    "shuffled_alphas": lambda t: stats.shuffled_alphas(ratings(t), SCALE, level="ordinal", draws=5),
    "smallest_attainable_p": lambda t: stats.smallest_attainable_p(t["model_a"].nunique()),
    "spearman": lambda t: stats.spearman(t["human"], t["x"], clusters=t["scene"], **DRAWN),
    "stars": lambda t: stats.stars(float(t["x"].min())),
    "strength_comparisons": lambda t: stats.strength_comparisons(t, "scene"),
    "study_power": lambda t: stats.study_power(
        stats.PlannedStudy(t["model_a"].nunique() + 1, scenes=5, raters=2, ties=float((t["label"] == 0).mean()) / 2, studies=100)
    ),
    "threshold_decision": lambda t: stats.threshold_decision(t["x"] - t["y"], 0.05),
    "tie_ceiling": lambda t: stats.tie_ceiling(t["x"]),
    "trigger_validation": lambda t: stats.trigger_validation(
        yes(t["human"]), yes(t["metric"]), t["model_a"], clusters=t["scene"], **DRAWN
    ),
    "win_ratio_comparisons": lambda t: stats.win_ratio_comparisons(t, "scene", ties="drop"),
    "win_ratio_difference": lambda t: stats.win_ratio_difference(
        t, t["model_a"].iloc[0], t["model_b"].iloc[0], ties="drop", cluster="scene", **DRAWN
    ),
    "win_ratios": lambda t: stats.win_ratios(t, ties="drop", cluster="scene", **DRAWN),
}


def test_every_public_function_is_called_here():
    public = {name for name in lookback.stats.__all__ if not is_dataclass(getattr(stats, name))}
    assert public == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
@QUICK
@given(votes())
def test_a_small_table_gives_a_value_or_a_typed_reason(name, table):
    try:
        result = CALLS[name](table)
    except NotScorable as missing:
        assert isinstance(missing.reason, Reason)
        assert len(missing.detail) > 20
        return
    for estimate in result if isinstance(result, list) else [result]:
        if isinstance(estimate, stats.Estimate):
            assert np.isfinite(estimate.value)
    if isinstance(result, pd.DataFrame) and "reason" in result:
        value = next(c for c in ("value", "win_ratio", "r", "p", "agreement") if c in result)
        assert (result.loc[result[value].isna(), "reason"] != "").all()


@st.composite
def designed(draw: st.DrawFn) -> pd.DataFrame:
    """Scores of six models in six scenes under the 2x2 design, whose values may be constant, or follow one factor alone."""
    rows = [
        {"model_id": f"m{m}", "scene": f"s{s}", "spatial": f, "state": g}
        for m, s, f, g in product(range(6), range(6), (0, 1), (0, 1))
    ]
    table = pd.DataFrame(rows)
    noise = np.random.default_rng(draw(st.integers(0, 99))).normal(size=len(table)) * draw(st.sampled_from([0.0, 1e-14, 1e-6, 1.0]))
    parts = {name: draw(st.sampled_from([0.0, 1.0])) for name in ("model_id", "scene", "spatial", "state")}
    codes = table.apply(lambda c: pd.factorize(c)[0])
    table["value"] = noise + sum(weight * codes[name] for name, weight in parts.items())
    if draw(st.booleans()):
        table["state"] = draw(st.sampled_from([table["spatial"], pd.Series(0, index=table.index)]))
    return table


@settings(max_examples=25)
@given(designed())
def test_mixed_models_of_degenerate_designs_give_estimates_or_a_reason(table):
    try:
        rows = stats.mixed_model(table, fixed=["spatial", "state"], interactions=True)
    except NotScorable as missing:
        assert missing.reason in (Reason.UNDEFINED, Reason.TOO_FEW_VALUES)
        return
    assert np.isfinite(rows["estimate"]).all()
    assert np.isfinite(rows.loc[rows["kind"] == "fixed", ["se", "low", "high", "p"]]).all(axis=None)


def likelihood_has_a_maximum(table: pd.DataFrame) -> bool:
    """By linear programming: does no direction raise or keep the chance of every result (the definition of separation)?"""
    models = sorted({*table["model_a"], *table["model_b"]})
    tied = bool((table["label"] == 0).any())
    rows = []
    for a, b, label in table[["model_a", "model_b", "label"]].itertuples(index=False):
        win = {side: np.eye(len(models) + 1)[models.index(m)] for side, m in ((1, a), (-1, b))}
        outcomes = {**win, 0: (win[1] + win[-1]) / 2 + np.eye(len(models) + 1)[-1]} if tied else win
        rows += [outcomes[label] - other for name, other in outcomes.items() if name != label]
    gains = np.array(rows)[:, 1 : len(models) + tied]
    best = linprog(-gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1))
    return bool(-best.fun < 1e-9 and np.linalg.matrix_rank(gains) == gains.shape[1])


@settings(max_examples=150)
@given(votes())
def test_strengths_exist_exactly_where_linear_programming_finds_no_separation(table):
    try:
        fit = stats.bradley_terry(table)
    except NotScorable as missing:
        assert missing.reason in (Reason.SEPARATED, Reason.DISCONNECTED, Reason.UNDEFINED)
        assert not likelihood_has_a_maximum(table) or (table["label"] == 0).all()
        return
    assert likelihood_has_a_maximum(table)
    assert np.isfinite(fit.table[["log_strength", "se", "low", "high"]]).all(axis=None)


@pytest.mark.parametrize(
    ("results", "reason", "words"),
    [
        # a win and a tie fit P(win) = P(tie) = 1/2 best, which only an infinite strength reaches
        ([("x", "y", "a"), ("x", "y", "tie")], Reason.SEPARATED, "x above y"),
        ([("x", "y", "a"), ("x", "y", "tie"), ("y", "z", "tie")], Reason.SEPARATED, "order x, z above y"),
        ([("x", "y", "a"), ("x", "y", "b"), ("u", "v", "a"), ("v", "u", "a")], Reason.DISCONNECTED, "u, v never met"),
        ([("x", "y", "a"), ("y", "z", "a"), ("z", "y", "a")], Reason.SEPARATED, "x won everything"),
    ],
)
def test_strengths_that_do_not_exist_name_the_models(results, reason, words):
    table = pd.DataFrame(results, columns=["model_a", "model_b", "label"])
    with pytest.raises(NotScorable, match=words) as missing:
        stats.bradley_terry(table)
    assert missing.value.reason == reason
