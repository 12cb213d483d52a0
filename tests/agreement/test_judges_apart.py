"""Judges of different families, benchmarks and settings are never pooled."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from lookback.agreement import analyse
from lookback.agreement.figures import agreement_heatmap
from lookback.agreement.plan import Plan
from lookback.agreement.printed import MOST_COLUMNS, printed

GOOD, BAD = ("mbench", "T", "right"), ("own", "", "wrong")


def family(benchmark: str, judge: str, kind: str, *dimensions: str) -> dict:
    asked = {name: {} for name in dimensions or ("trigger_object",)}
    return {"benchmark": benchmark, "task": "asked", "kind": kind, "scale": "answer", "judge": judge, "dimensions": asked}


def answered(
    places: list[tuple[str, str, str]], families: dict[str, dict], dimensions: tuple[str, ...] = ("trigger_object",)
) -> dict[str, pd.DataFrame]:
    """The analysis of votes on 12 clips per (benchmark, setting, judge), half of them yes. The judge `right` is never wrong."""
    scales, kinds = {"answer": {"categories": ["no", "yes"]}}, sorted({each["kind"] for each in families.values()})
    plan = Plan.model_validate({"resamples": 100, "estimands": kinds, "scales": scales, "families": families})
    votes, scores = [], []
    for benchmark, setting, judge in places:
        about = {"benchmark": benchmark, "setting": setting}
        for k in range(12):
            yes = bool(k % 2)
            value = float(yes == (judge == "right"))
            scores.append({**about, "model_id": "m", "clip_id": f"c{k}", "metric": judge, "value": value})
            vote = {**about, "task": "asked", "scene": f"s{k}", "model_a": "m", "clip_a": f"c{k}", "label": "yes" if yes else "no"}
            votes += [{**vote, "dimension": name, "annotator": who} for name in dimensions for who in ("ann", "bob")]
    return analyse(pd.DataFrame(votes), pd.DataFrame(scores).assign(reason=""), plan)


def values(table: pd.DataFrame, keys: list[str], **chosen: str) -> dict:
    own = table[(table[list(chosen)] == pd.Series(chosen)).all(axis=1)]
    return own.set_index(keys)["agreement" if "agreement" in table else "value"].to_dict()


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("trigger", {"subset": "object", "measure": "accuracy"}),
        ("judgeability", {"dimension": "trigger_object", "measure": "balanced"}),
        ("vqa", {"scene": "all", "dimension": "trigger_object"}),
    ],
)
def test_a_good_and_a_bad_judge_have_a_row_each(kind, chosen):
    families = {"first": family("mbench", "right", kind), "second": family("own", "wrong", kind)}
    table = answered([GOOD, BAD], families)[kind]
    assert values(table, ["family", "setting"], **chosen) == {("first", "T"): 1.0, ("second", ""): 0.0}
    assert "first T: " in table.attrs["reading"] or "first T trigger_object: " in table.attrs["reading"]
    assert len(printed(kind, table).columns) <= MOST_COLUMNS
    # one family in one setting needs no further columns
    alone = answered([GOOD], {"first": families["first"]})[kind]
    assert {"family", "setting"}.isdisjoint(alone.columns)
    shown = table[(table["family"] == "first")].drop(columns=["family", "setting"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(shown, alone, check_dtype=False)


@pytest.mark.parametrize("kind", ["trigger", "judgeability", "vqa"])
def test_settings_of_one_family_have_a_row_each(kind):
    table = answered([("own", "T", "right"), ("own", "A", "right")], {"first": family("own", "right", kind)})[kind]
    assert "family" not in table
    assert table.groupby("setting", sort=False)["n"].max().to_dict() == {"A": 12, "T": 12}


def test_families_without_a_judge_have_no_rows():
    silent = {**family("own", "", "vqa"), "judge": None}
    tables = answered([GOOD, BAD], {"first": family("mbench", "right", "vqa"), "second": silent})
    assert "family" not in tables["vqa"]
    assert tables["vqa"].iloc[-1]["n"] == 12


def test_two_questions_keep_their_names_where_the_short_ones_are_alike():
    both = ("trigger_object", "object")
    table = answered([("own", "", "right")], {"first": family("own", "right", "trigger", *both)}, both)["trigger"]
    assert set(table["subset"]) == {*both, "overall"}


def test_mbenchs_table_holds_mbench_alone():
    families = {"first": family("mbench", "right", "trigger"), "second": family("own", "wrong", "trigger")}
    tables = answered([GOOD, BAD], families)
    for name, value in (("mbench_6", "accuracy"), ("mbench_6_judge", "kappa")):
        assert tables[name].set_index("subset")[["n", value]].to_numpy().tolist() == [[12, 1.0], [12, 1.0]]
        assert "None of 12 items was left out" in tables[name].attrs["reading"]
    assert tables["mbench_6_judge"].set_index("subset").loc["overall", ["true_yes", "false_no"]].tolist() == [6, 0]
    several = answered([GOOD, ("mbench", "A", "right")], {"first": families["first"]})["mbench_6"]
    assert several[["setting", "subset"]].to_numpy().tolist() == [[s, w] for s in "AT" for w in ("object", "overall")]


def test_memobenchs_figure_has_the_scenes_of_each_setting():
    places = [("memobench", "real", "right"), ("memobench", "synthetic", "right"), BAD]
    tables = answered(places, {"first": family("memobench", "right", "vqa"), "second": family("own", "wrong", "vqa")})
    table = tables["memobench_agreement"]
    assert table.groupby("setting")["scene"].last().to_dict() == {"real": "all", "synthetic": "all"}
    assert table.loc[table["scene"] == "all", ["all", "n"]].to_numpy().tolist() == [[1.0, 12], [1.0, 12]]
    assert list(table) == ["setting", "scene", "trigger_object", "all", "n"]
    figure, caption = agreement_heatmap(table)
    assert "overall real 100.0% of 12, synthetic 100.0% of 12 questions" in caption
    plt.close(figure)


def test_wrbenchs_table_has_the_judgeability_of_each_setting(study, plan):
    ratings, scores, _ = study
    chosen = (ratings["benchmark"] == "wrbench") & (ratings["dimension"] == "reobserved_spatial")
    own = pd.concat([ratings[chosen].assign(setting=setting) for setting in ("natural25", "other")])
    wrong = scores.assign(setting="other", value=scores["value"].where(scores["metric"] != "wrbench.support", 1 - scores["value"]))
    known = pd.concat([scores, wrong])[lambda table: table["benchmark"] == "wrbench"]
    quick = plan.model_copy(update={"resamples": 100, "estimands": ("agreement", "bridge", "judgeability")})
    table = analyse(own, known, quick)["wrbench_16"].set_index("setting")
    assert len(table) == 2
    assert table.loc["other", "J"] == pytest.approx(1 - table.loc["natural25", "J"])
