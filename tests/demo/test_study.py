"""The simulated study is of a real one's size, says that it is simulated, and its truth is found again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.agreement.figures import judge_and_people, model_ranking, recovered_truth
from lookback.agreement.show import COLUMNS, SHOWN, StudyView, shown
from lookback.demo.study import NOTE, analysed_study, simulated_study


@pytest.fixture(scope="module")
def study():
    return simulated_study(7)


@pytest.fixture(scope="module")
def tables():
    return analysed_study(7)


def test_it_has_the_size_of_a_real_study_and_every_vote_is_simulated(study):
    votes = study.votes
    subsets = votes["scene"].str.rsplit("-", n=1).str[0]
    assert votes.groupby(subsets)["scene"].nunique().min() >= 12
    assert len(set(votes["model_a"]) | set(votes["model_b"]) - {""}) == 6
    assert votes["annotator"].nunique() == 5
    assert votes["simulated"].all()
    assert votes["clip_a"].str.endswith("not-rendered").all()
    assert study.scores["metric"].str.startswith("simulated.").all()


def test_nobody_always_sees_the_same_pair(study):
    pairs = study.votes[study.votes["task"] == "pairwise"]
    assert (pairs.groupby(["dimension", "model_a", "model_b"])["annotator"].nunique() == 5).all()
    loads = pairs["annotator"].value_counts()
    assert loads.max() - loads.min() <= 12


def test_the_same_seed_gives_the_same_study_and_another_seed_another(study):
    pd.testing.assert_frame_equal(study.votes, simulated_study(7).votes)
    assert not study.votes["label"].equals(simulated_study(8).votes["label"])


def test_every_row_has_an_interval_and_the_truth_is_found_again(tables):
    found = tables["recovered"]
    assert found[["truth", "estimate", "low", "high"]].notna().all(axis=None)
    assert (found["inside"] == ((found["low"] <= found["truth"]) & (found["truth"] <= found["high"]))).all()
    assert 0.85 < found["inside"].mean() <= 1
    strengths = found[found["quantity"] == "log strength"]
    assert np.corrcoef(strengths["truth"], strengths["estimate"])[0, 1] > 0.8
    assert tables["agreement"]["ac1_low"].notna().all()


def test_what_the_truth_says_is_what_the_tables_say(tables):
    models = tables["models"]
    # lighting hardly differs between the models, in state_evolution one model is far ahead
    assert models.loc[models["dimension"] == "lighting", "letters"].eq("a").all()
    assert models.loc[models["dimension"] == "state_evolution", "model"].iloc[0] == "sim-model-a"
    verdicts = tables["ceiling"].set_index("dimension")["verdict"]
    assert verdicts["trigger_environment"] == "below people" and verdicts["state_evolution"] == "below people"
    assert "sim-annotator-5 (" in tables["annotators"].attrs["reading"]


def test_every_table_says_that_the_study_is_simulated(tables):
    for name, table in tables.items():
        if name != "readings":
            assert table.attrs["footnote"].endswith(NOTE), name
    assert (tables["study_design"]["simulated"] == tables["study_design"]["votes"]).all()
    assert "recovered" in set(tables["readings"]["table"])


def test_a_page_shows_at_most_eight_tables_of_at_most_eight_columns(tables, tmp_path, monkeypatch):
    assert len(SHOWN) <= 8
    for name in SHOWN:
        assert shown(name, tables[name]).shape[1] <= COLUMNS, name
    first = shown("models", tables["models"]).iloc[0]
    assert first["win ratio"].startswith(f"{tables['models'].loc[0, 'win_ratio']:.2f} (") and first["value"].endswith(")")
    view = StudyView({"agreement": tables["agreement"], **{f"study/{k}": v for k, v in tables.items()}}, tmp_path)
    assert view.simulated and view.tables["models"] is tables["models"]
    assert not StudyView(tables, tmp_path).simulated


def test_figures_show_letters_people_and_every_quantity(tables):
    figure, caption = model_ranking(tables["models"])
    words = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert words == set(tables["models"]["letters"])
    assert "not told apart" in caption
    figure, caption = judge_and_people(tables["ceiling"])
    assert len(figure.axes[0].get_yticklabels()) == len(tables["ceiling"])
    assert "trigger_environment" in caption
    figure, caption = recovered_truth(tables["recovered"])
    assert len([axes for axes in figure.axes if axes.get_visible()]) == tables["recovered"]["quantity"].nunique()
    assert f"{int(tables['recovered']['inside'].sum())} of {len(tables['recovered'])}" in caption
