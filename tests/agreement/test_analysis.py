"""The whole analysis on a made-up study: tables in the papers' shape, held to second computations of the same numbers."""

from __future__ import annotations

from contextlib import suppress

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.agreement import analyse, check_ratings, read_scores, save_tables
from lookback.agreement.figures.draw import FIGURES
from lookback.agreement.scores import check_scores
from lookback.agreement.tables.annotators import circular_triads
from lookback.errors import ContractError, NotScorable, UsageError
from scipy import stats as scipy_stats
from sklearn import metrics as sk

PAPER_TABLES = ["mbench_3", "mbench_5", "mbench_6", "wrbench_5", "wrbench_14", "wrbench_15", "wrbench_16", "memobench_agreement"]


def majority(votes: pd.DataFrame) -> pd.Series:
    """Majority of three votes per unordered pair, computed another way: the mode, if two agree."""
    turned = votes["model_a"] > votes["model_b"]
    label = votes["label"].astype(int) * np.where(turned, -1, 1)
    first, second = votes["model_a"].where(~turned, votes["model_b"]), votes["model_b"].where(~turned, votes["model_a"])
    table = pd.DataFrame({"scene": votes["scene"], "a": first, "b": second, "label": label})
    counts = table.groupby(["scene", "a", "b"])["label"].agg(
        lambda v: v.mode().iloc[0] if v.value_counts().iloc[0] >= 2 else np.nan
    )
    return counts.dropna().astype(int)


def joined(study, setting: str, dimension: str, metric: str) -> pd.DataFrame:
    ratings, scores, _ = study
    own = ratings[(ratings["setting"] == setting) & (ratings["dimension"] == dimension) & (ratings["task"] == "pairwise")]
    values = scores[scores["metric"] == metric].set_index(["clip_id", "model_id"])["value"]
    table = majority(own).reset_index()
    table["delta"] = [values[s, a] - values[s, b] for s, a, b in zip(table["scene"], table["a"], table["b"], strict=True)]
    return table.dropna()


def test_all_paper_tables_are_there_with_reading_and_plan_hash(tables, plan):
    for name in [
        *PAPER_TABLES,
        "agreement",
        "ranking",
        "bridge",
        "annotators",
        "correlations",
        "event_factors",
        "mixed_model",
    ]:
        attrs = tables[name].attrs
        assert attrs["plan_hash"] == plan.hash, name
        assert plan.hash[:16] in attrs["footnote"]
        assert len(attrs["reading"]) > 20
        assert "simulated" in attrs["reading"]
    assert set(tables["readings"]["table"]) == set(tables) - {"readings"}


def test_mbench_3_equals_a_second_computation(study, tables):
    table = tables["mbench_3"].set_index("dimension")
    assert len(table) == 12
    for setting, name in (("T", "text"), ("A", "action")):
        metric = f"mbench{setting.lower()}.environment.rendering_lighting"
        pairs = joined(study, setting, "lighting", metric)
        decision = np.where(pairs["delta"] > 0.01, 1, np.where(pairs["delta"] < -0.01, -1, 0))
        ratios = {}
        for side, sign in (("human", pairs["label"]), ("metric", pd.Series(decision, index=pairs.index))):
            points = pd.concat(
                [pd.Series((1 + sign.to_numpy()) / 2, index=pairs["a"]), pd.Series((1 - sign.to_numpy()) / 2, index=pairs["b"])]
            )
            ratios[side] = points.groupby(level=0).mean()
        assert table.loc["lighting", f"{name}_rho"] == pytest.approx(
            scipy_stats.spearmanr(ratios["human"], ratios["metric"]).statistic
        )
        assert table.loc["lighting", f"{name}_tau"] == pytest.approx(
            scipy_stats.kendalltau(ratios["human"], ratios["metric"]).statistic
        )
        assert table.loc["lighting", f"{name}_n_pairs"] == len(pairs)
    assert np.isnan(table.loc["action_interaction", "text_rho"])
    assert table.loc["action_interaction", "text_reason"].startswith("not_applicable")


def test_mbench_5_counts_the_records(study, tables):
    ratings = study[0]
    own = ratings[ratings["benchmark"] == "mbench"]
    table = tables["mbench_5"].set_index(["task", "setting"])
    assert table.loc[("all", "all"), "records"] == len(own)
    assert table.loc[("trigger", "text"), "records"] == len(own[own["task"] == "trigger"])
    assert table.loc[("pairwise", "action"), "models"] == 6
    assert table.loc[("all", "all"), "models"] == 14


def test_mbench_6_equals_sklearn(study, tables):
    ratings, scores, _ = study
    own = ratings[(ratings["task"] == "trigger")].assign(yes=lambda d: d["label"] == "yes")
    human = own.groupby(["dimension", "model_a", "clip_a"])["yes"].sum() >= 2
    judge = scores[scores["metric"] == "judge.trigger"].set_index(["model_id", "clip_id"])["value"] >= 0.5
    answers = [judge[m, c] for _, m, c in human.index]
    row = tables["mbench_6"].set_index("subset").loc["overall"]
    assert row["recall"] == pytest.approx(sk.recall_score(human, answers))
    assert row["f1"] == pytest.approx(sk.f1_score(human, answers))
    assert tables["mbench_6"]["subset"].tolist() == ["human", "object", "overall"]


def test_wrbench_16_equals_scipy_and_sklearn_on_both_orders(study, tables):
    pairs = joined(study, "natural25", "visible_state", "wrbench.visible_state")
    label = np.concatenate([pairs["label"], -pairs["label"]])
    delta = np.concatenate([pairs["delta"], -pairs["delta"]])
    decision = np.where(delta > 0.05, 1, np.where(delta < -0.05, -1, 0))
    row = tables["wrbench_16"].set_index("dimension").loc["visible_state"]
    assert row["n"] == len(pairs)
    assert row["rho"] == pytest.approx(scipy_stats.spearmanr(label, delta).statistic)
    assert row["decision_kappa"] == pytest.approx(sk.cohen_kappa_score(label, decision))
    snapshot = tables["wrbench_5"].set_index("dimension").loc["visible_state"]
    assert snapshot["reversals"] == int((label * decision == -1).sum()) // 2
    assert snapshot["bridge_n"] == len(pairs)


def test_wrbench_16_reports_judgeability_only_where_people_were_asked(tables):
    table = tables["wrbench_16"].set_index("dimension")
    assert table.loc["reobserved_spatial", ["J", "NJ", "balanced"]].notna().all()
    assert table.loc["visible_state", ["J", "NJ", "balanced"]].isna().all()
    assert table.loc["visible_state", "judgeability_reason"].startswith("not_applicable")


def test_wrbench_14_and_15_separate_main_and_supplementary(tables):
    registry = tables["wrbench_14"].set_index("role")
    assert set(registry.index) == {"main", "supplementary"}
    coefficients = tables["wrbench_15"].set_index("dimension")
    assert coefficients.loc["visible_spatial", "supplementary_n_items"] > 0
    assert coefficients.loc["visible_state", "supplementary_reason"].startswith("not_applicable")
    assert tables["wrbench_15"]["dimension"].tolist() == [
        "visible_spatial",
        "visible_state",
        "reobserved_spatial",
        "reobserved_state",
    ]


def test_memobench_agreement_equals_the_share_and_kappa(study, tables):
    ratings, scores, _ = study
    own = ratings[ratings["task"] == "vqa"].assign(yes=lambda d: d["label"] == "yes")
    human = own.groupby(["dimension", "clip_a"])["yes"].sum() >= 2
    judge = scores[scores["metric"].str.startswith("judge.vqa_ground_truth")].set_index(["metric", "clip_id"])["value"] >= 0.5
    answers = [judge["judge.vqa_ground_truth#" + d.split("#")[1], c] for d, c in human.index]
    overall = tables["vqa"].iloc[-1]
    assert overall["agreement"] == pytest.approx(sk.accuracy_score(human, answers))
    assert overall["kappa"] == pytest.approx(sk.cohen_kappa_score(human, answers))
    assert tables["memobench_agreement"].iloc[-1]["n"] == 96


def turned(votes: pd.DataFrame, rows: pd.Series) -> pd.DataFrame:
    """Some votes with A and B exchanged."""
    other = votes.copy()
    for a, b in (("model_a", "model_b"), ("clip_a", "clip_b")):
        other[a], other[b] = votes[a].where(~rows, votes[b]), votes[b].where(~rows, votes[a])
    return other.assign(label=votes["label"].where(~rows, votes["label"].map({"1": "-1", "0": "0", "-1": "1"})))


def test_which_clip_is_called_a_changes_no_number(study, plan):
    ratings, scores, _ = study
    own = ratings[
        (ratings["setting"] == "natural25") & (ratings["task"] == "pairwise") & ratings["dimension"].str.startswith("vis")
    ]
    other = turned(own, own["scene"].isin(np.random.default_rng(0).choice(own["scene"].unique(), 10, replace=False)))
    quick = plan.model_copy(update={"resamples": 100, "estimands": ("agreement", "ranking", "bridge")})
    one, two = analyse(own, scores, quick), analyse(other, scores, quick)
    for name, columns in {
        "agreement": ["ac1", "kappa", "alpha", "ac1_low"],
        "ranking": ["rho", "rho_low"],
        "bridge": ["within_rho", "pooled_rho", "pooled_rho_low", "decision_kappa"],
    }.items():
        np.testing.assert_allclose(one[name][columns].astype(float), two[name][columns].astype(float), err_msg=name)
    assert one["bridge"]["reversals"].tolist() == two["bridge"]["reversals"].tolist()


def test_missing_scores_are_counted_by_reason(tables):
    excluded = tables["ranking"]["n_excluded"].str.cat(sep=";")
    assert "no_mask" in excluded
    assert "split" in excluded


def test_too_few_models_cannot_support_a_claim(study, plan):
    ratings, scores, _ = study
    few = {"world-0", "world-2", "world-4", "world-5"}
    own = ratings[(ratings["benchmark"] == "wrbench") & (ratings["task"] == "pairwise")]
    own = own[own["model_a"].isin(few) & own["model_b"].isin(few)]
    tables = analyse(own, scores, plan.model_copy(update={"estimands": ("ranking",), "resamples": 100}))
    assert (tables["ranking"]["claim"] == "cannot be decided by this sample").all()
    assert "smallest attainable p is 0.083" in tables["ranking"].attrs["reading"]
    assert "Cannot be decided by this sample for " in tables["ranking"].attrs["reading"]


def test_votes_without_scores_still_give_agreement_and_say_what_is_missing(study, plan):
    ratings, scores, _ = study
    own = ratings[(ratings["benchmark"] == "wrbench") & (ratings["task"] == "pairwise")]
    quick = plan.model_copy(update={"resamples": 100, "estimands": ("agreement", "ranking", "bridge")})
    tables = analyse(own, scores[scores["benchmark"] == "mbench"], quick, same_run=True)
    assert tables["agreement"]["ac1"].notna().all()
    assert tables["ranking"]["rho"].isna().all()
    assert tables["ranking"]["n_excluded"].str.contains("missing_input").all()
    assert (tables["bridge"]["reason"] != "").all()


def test_every_vote_by_itself_clustered_by_annotator(study, plan):
    ratings, scores, _ = study
    own = ratings[
        (ratings["setting"] == "natural25") & (ratings["task"] == "pairwise") & ratings["dimension"].str.startswith("vis")
    ]
    update = {"aggregate": "votes", "clusters": plan.clusters.model_copy(update={"metric": "annotator"}), "resamples": 100}
    update |= {"estimands": ("ranking",)}
    table = analyse(own, scores, plan.model_copy(update=update))["ranking"]
    assert (table["n_clusters"] == 3).all()
    assert (table["n_pairs"] > 150).all()


def test_scores_must_be_typed_and_unique(study, plan):
    ratings, scores, _ = study
    ratings = ratings.head(100)
    with pytest.raises(ContractError, match="Two scores for"):
        analyse(ratings, pd.concat([scores, scores.head(1)]), plan)
    with pytest.raises(ContractError, match="neither value nor reason"):
        analyse(ratings, scores.assign(reason=""), plan)
    with pytest.raises(ContractError, match="lack the column"):
        analyse(ratings, scores.drop(columns="metric"), plan)


@pytest.mark.long
def test_two_runs_give_the_same_bytes_whatever_the_order_of_the_rows(study, plan, tmp_path):
    ratings, scores, clips = study
    own = ratings[(ratings["benchmark"] == "wrbench") & ratings["dimension"].isin(["visible_state", "reobserved_spatial"])]
    scores = scores[scores["metric"].isin(["wrbench.visible_state", "wrbench.reobserved_spatial", "wrbench.support"])]
    own = turned(own, (own["annotator"] == "bob") & (own["task"] == "pairwise"))  # sides differ between people
    quick = plan.model_copy(update={"resamples": 100})
    one = analyse(own, scores, quick, clips)
    save_tables(one, tmp_path / "one")
    shuffled = (own.sample(frac=1, random_state=1, ignore_index=True), scores.sample(frac=1, random_state=1))
    save_tables(analyse(*shuffled, quick, clips), tmp_path / "two")
    names = sorted(p.name for p in (tmp_path / "one").iterdir())
    assert names == sorted(p.name for p in (tmp_path / "two").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    page = (tmp_path / "one" / "agreement.md").read_text()
    assert page.count(quick.hash[:16]) == len(one) - 1


def test_without_scores_people_are_still_analysed(study, plan):
    ratings = study[0]
    own = ratings[(ratings["benchmark"] == "wrbench") & (ratings["dimension"] == "visible_state")]
    tables = analyse(own, None, plan.model_copy(update={"resamples": 100}))
    assert {"agreement", "annotators", "models", "wrbench_5", "wrbench_14", "wrbench_15"} <= set(tables)
    assert "ranking" not in tables
    assert (tables["wrbench_5"]["bridge_n"] == 0).all()
    empty = study[1].head(0)
    assert set(analyse(own, empty, plan.model_copy(update={"resamples": 100}))) == set(tables)


def test_scores_are_read_from_csv_json_lines_and_parquet(study, tmp_path):
    scores = study[1].head(50).assign(clip_id=lambda d: "00" + d["clip_id"])
    scores.to_csv(tmp_path / "s.csv", index=False)
    scores.to_json(tmp_path / "s.jsonl", orient="records", lines=True)
    scores.to_parquet(tmp_path / "s.parquet")
    expected = check_scores(scores)
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        pd.testing.assert_frame_equal(check_scores(read_scores(tmp_path / name)), expected, check_dtype=False)
    with pytest.raises(UsageError, match="no scores file"):
        read_scores(tmp_path / "none.csv")


def test_disagreements_lead_to_the_clips(tables):
    table = tables["disagreements"]
    first = table.iloc[0]
    assert first["reversal"]
    assert first["clip_a"] and first["clip_b"]
    assert (table["label"] != table["decision"]).all()


def test_a_circle_of_preferences_is_counted(plan):
    base = {
        "task": "pairwise",
        "benchmark": "wrbench",
        "setting": "natural25",
        "dimension": "visible_state",
        "scene": "s",
        "time": 0.0,
    }
    rows = [
        {**base, "model_a": a, "clip_a": "c", "model_b": b, "clip_b": "c", "annotator": "ann", "label": "1", "simulated": False}
        for a, b in ("xy", "yz", "zx")
    ]
    votes = check_ratings(pd.DataFrame(rows), plan)
    assert circular_triads(votes).to_dict() == {"ann": 1}
    rows[2]["label"] = "-1"
    assert circular_triads(check_ratings(pd.DataFrame(rows), plan)).empty


def cut(ratings: pd.DataFrame, how: str) -> pd.DataFrame:
    few = ["visible_state", "reobserved_spatial", "trigger_human", "physics_adherence#ph0", "action_interaction"]
    ratings = ratings[ratings["dimension"].isin(few)]
    by_task = ratings.groupby(["benchmark", "task", "dimension"], group_keys=False)
    if how == "one vote each":
        return by_task.head(1)
    if how == "one item each":
        return by_task.head(3)
    if how == "one annotator":
        return ratings[ratings["annotator"] == "ann"]
    if how == "one scene":
        return ratings[ratings["scene"].str.endswith("scene03")]
    if how == "all ties":
        return ratings[ratings["task"] == "pairwise"].assign(label="0")
    return ratings[~ratings["label"].isin(["1", "0"])]


@pytest.mark.parametrize("how", ["one vote each", "one item each", "one annotator", "one scene", "all ties", "one answer only"])
def test_degenerate_studies_give_reasons_and_no_traceback(study, plan, how, tmp_path):
    ratings, scores, clips = study
    quick = plan.model_copy(update={"resamples": 100, "estimands": tuple(e for e in plan.estimands if e != "design")})
    tables = analyse(cut(ratings, how), scores, quick, clips)
    values = {"agreement": "ac1", "ranking": "rho", "models": "value", "annotators": "agreement"}
    for name, value in values.items():
        if name in tables:
            table = tables[name]
            assert (table.loc[table[value].isna(), "reason"] != "").all(), name
    for name in ("within", "between", "pooled") if "bridge" in tables else ():
        bridge = tables["bridge"]
        assert (bridge.loc[bridge[f"{name}_rho_low"].isna(), f"{name}_reason"] != "").all()
    save_tables(tables, tmp_path)
    for needs, draw in FIGURES.values():
        with suppress(NotScorable):  # too few models for this picture
            if all(need in tables for need in needs):
                plt.close(draw(tables)[0])
