"""A judge who answers like one more person comes out equal to people; the ceiling estimates what a perfect metric reaches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lookback.errors import NotScorable
from lookback.stats import VoteModel, judge_beside_people, majority_vote, noise_ceiling, rater_vs_majority
from lookback.stats.simulation import drawn_votes
from scipy.stats import norm, spearmanr

TRUTH = VoteModel((0.9, 0.4, 0.1, -0.2, -0.5, -0.7), tie=0.6, agreement=0.4)
SCALE = [-1, 0, 1]


def one_more_person(seed: int, scenes: int = 15) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Votes of three people, the answers of a fourth who is called the judge, and the scenes."""
    votes = drawn_votes(TRUTH, np.random.default_rng(seed), 1, scenes, 4)[0].reshape(-1, 4).astype(float)
    return votes[:, :3], votes[:, 3], np.repeat(np.arange(scenes), 15)


@pytest.fixture(scope="module")
def exchangeable() -> pd.DataFrame:
    """The table of a judge who is one more person, in 60 studies."""
    parts = []
    for seed in range(60):
        votes, judge, scene = one_more_person(seed)
        parts.append(judge_beside_people(votes, judge, SCALE, clusters=scene, symmetric=True, resamples=100).assign(study=seed))
    return pd.concat(parts)


def test_a_judge_who_is_one_more_person_comes_out_equal(exchangeable):
    for measure in ("difference", "rho_difference"):
        own = exchangeable[exchangeable["measure"] == measure]
        error = own["value"].std() / np.sqrt(len(own))
        assert abs(own["value"].mean()) < 3 * error < 0.025
        covered = ((own["low"] <= 0) & (own["high"] >= 0)).mean()
        assert covered > 0.87  # 95 % less four standard errors of 60 studies is 84 %


def test_against_the_majority_of_all_votes_the_same_judge_would_fall_short():
    # the check has teeth: people against the others, the judge against everybody, is what must not be compared
    gaps = []
    for seed in range(60):
        votes, judge, _ = one_more_person(seed)
        label = majority_vote(votes, SCALE)["label"]
        decided = label.notna().to_numpy()
        people = rater_vs_majority(votes, SCALE).value
        gaps.append((label[decided].astype(float).to_numpy() == judge[decided]).mean() - people)
    assert -0.08 < np.mean(gaps) < -0.04


def test_a_better_and_a_worse_judge_are_told_from_people():
    votes, _, scene = one_more_person(1, scenes=40)
    rng = np.random.default_rng(0)
    good, bad = np.median(votes, axis=1), rng.choice(SCALE, len(votes))
    for judge, sign in ((good, 1), (bad, -1)):
        row = judge_beside_people(votes, judge, SCALE, clusters=scene, resamples=100).set_index("measure").loc["difference"]
        assert sign * row["value"] > 0 and min(sign * row["low"], sign * row["high"]) > 0


def test_leave_one_out_is_what_a_loop_over_votes_counts():
    votes, judge, scene = one_more_person(2, scenes=6)
    votes[np.random.default_rng(3).random(votes.shape) < 0.2] = np.nan
    people, machine = [], []
    for row, answer in zip(votes, judge, strict=True):
        for k in np.flatnonzero(np.isfinite(row)):
            others = [v for j, v in enumerate(row) if j != k and np.isfinite(v)]
            counts = {c: others.count(c) for c in SCALE}
            best = max(counts, key=counts.get)
            if others and counts[best] > len(others) / 2:
                people.append(row[k] == best)
                machine.append(answer == best)
    found = judge_beside_people(votes, judge, SCALE, clusters=scene, resamples=100).set_index("measure")["value"]
    assert found["people"] == pytest.approx(np.mean(people))
    assert found["judge"] == pytest.approx(np.mean(machine))


@pytest.mark.parametrize(("agreement", "raters"), [(0.2, 3), (0.5, 5), (0.8, 3)])
def test_the_noise_ceiling_is_the_rho_of_the_true_preference(agreement, raters):
    # known by construction: the perfect metric is the expected vote given the two clips
    model = VoteModel(TRUTH.strengths, 0.6, agreement)
    rng = np.random.default_rng(4)
    a, b = model.pairs
    clips = rng.standard_normal((600, 6))
    shared = np.sqrt(agreement / 2) * (clips[:, a] - clips[:, b])
    hidden = shared[..., None] + np.sqrt(1 - agreement) * rng.standard_normal((*shared.shape, raters))
    low, high = model.cuts
    votes = ((hidden > high[:, None]).astype(float) - (hidden < low[:, None])).reshape(-1, raters)
    own = np.sqrt(1 - agreement)
    perfect = (norm.sf((high - shared) / own) - norm.cdf((low - shared) / own)).ravel()
    both = np.concatenate([votes, -votes])
    reached = spearmanr(np.concatenate([perfect, -perfect]), both.mean(axis=1)).statistic
    assert noise_ceiling(both, SCALE).value == pytest.approx(reached, abs=0.015)


def test_one_scene_has_no_interval_and_noise_has_no_ceiling():
    votes, judge, scene = one_more_person(5, scenes=1)
    table = judge_beside_people(votes, judge, SCALE, clusters=scene, resamples=100)
    assert table["low"].isna().all() and table["reason"].str.contains("cluster").all()
    with pytest.raises(NotScorable, match="the votes show no signal"):
        noise_ceiling([[1, -1], [-1, 1], [1, -1]], SCALE)
    with pytest.raises(NotScorable, match="the votes show no signal"):
        noise_ceiling([[1, 1], [1, -1], [-1, 1], [1, -1]], SCALE)


def test_people_have_their_rank_correlation_whatever_the_judge_says():
    votes, judge, scene = one_more_person(6)
    varied, constant = (
        judge_beside_people(votes, answers, SCALE, clusters=scene, resamples=100).set_index("measure")
        for answers in (judge, np.ones(len(judge)))
    )
    pd.testing.assert_series_equal(varied.loc["rho_people"], constant.loc["rho_people"])
    for measure in ("rho_judge", "rho_difference", "rho"):
        assert np.isnan(constant.loc[measure, "value"]) and "answers that vary" in constant.loc[measure, "reason"]


def test_a_judge_who_left_answers_out_may_be_a_list():
    votes = [["yes", "yes", "no"], ["no", "no", "no"]] * 5
    judge = ["yes", "no"] * 4 + ["yes", np.nan]
    found = judge_beside_people(votes, judge, ["no", "yes"], resamples=20).set_index("measure")
    assert found.loc["judge", "n"] == 9
