"""M-Score against hand-computed cases of MBench eq. 1-3."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookback.errors import UsageError
from lookback.metrics.functional import m_score, progress_correctness, state_progress, trigger_scores


def test_hand_computed_case() -> None:
    # S = (0.9 + 0.5) / 2 = 0.7, C = 2/4: M = 2 * 0.7 * 0.5 / 1.2
    assert m_score([0.9, 0.5, None, None], [True, True, False, False]) == pytest.approx(0.7 / 1.2, abs=1e-15)


@pytest.mark.parametrize(
    ("scores", "triggered", "expected"),
    [
        ([None, None], [0, 0], 0.0),  # never triggered: S and C are both 0
        ([0.0, 0.0], [1, 1], 0.0),  # always triggered, never right
        ([1.0, 1.0], [1, 1], 1.0),
        ([1.0], [1], 1.0),
        ([0.9, 0.1], [1, 0], 2 * 0.9 * 0.5 / 1.4),  # scores of untriggered samples are not read
    ],
)
def test_edge_cases(scores: list[float | None], triggered: list[int], expected: float) -> None:
    assert m_score(scores, triggered) == pytest.approx(expected)


def test_a_static_model_cannot_win_by_avoiding_the_challenge() -> None:
    avoids = m_score([1.0] + [np.nan] * 9, [1] + [0] * 9)
    tries = m_score([0.6] * 10, [1] * 10)
    assert avoids == pytest.approx(2 * 0.1 / 1.1)
    assert tries > avoids


def test_a_triggered_sample_that_could_not_be_measured_counts_for_coverage_only() -> None:
    parts = trigger_scores([0.4, np.nan, np.nan, 0.8], [1, 1, 0, 1])
    assert parts == pytest.approx({"s_rel": 0.6, "c_trig": 0.75, "m_score": 2 * 0.6 * 0.75 / 1.35})


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_lies_between_reliability_and_coverage(samples: list[tuple[float, bool]]) -> None:
    scores, triggered = zip(*samples, strict=True)
    parts = trigger_scores(scores, triggered)
    low, high = sorted([parts["s_rel"], parts["c_trig"]])
    assert low - 1e-12 <= parts["m_score"] <= high + 1e-12


@pytest.mark.parametrize(("raw", "paper", "official"), [(1, 0.0, 0.2), (3, 0.5, 0.6), (3.7, 0.675, 0.74), (5, 1.0, 1.0)])
def test_ratings(raw: float, paper: float, official: float) -> None:
    """Official: the README's example has score 0.74 for score_raw 3.7."""
    assert state_progress(raw) == pytest.approx(paper)
    assert state_progress(raw, scale="of_five") == pytest.approx(official)


def test_correctness_is_gated_by_progress() -> None:
    assert progress_correctness(1, 5) == 0.0
    assert progress_correctness(5, 4) == pytest.approx(0.75)
    assert progress_correctness(3, 3) == pytest.approx(0.25)


def test_without_the_gate_correctness_may_exceed_the_state_as_in_table_2() -> None:
    """README: 0.74 for a raw 3.7. No product of g and s exceeds g, but 11 of 14 rows of table 2 have correctness above state."""
    assert progress_correctness(1, 3.7, scale="of_five", gated=False) == pytest.approx(0.74)
    assert progress_correctness(2, 4, scale="of_five") < state_progress(2, scale="of_five")
    with pytest.raises(UsageError, match="of_five"):
        state_progress(3, scale="of_six")  # type: ignore[arg-type]
