"""Probe arithmetic and the re-observation gate against the spec's reference vectors, torch's softmax and the published table."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lookback.errors import Reason
from lookback.metrics.functional import (
    dimension_average,
    is_sparse,
    probe_score,
    reobservation_pattern,
    support_rate,
    yes_probability,
)

PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "published" / "wrbench_table2.csv"


def test_yes_probability_reference_vector() -> None:
    assert yes_probability([2.0, 1.0], [0.0, -1.0]) == pytest.approx(0.880797, abs=5e-7)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.lists(st.floats(-50, 50), min_size=1, max_size=6))
def test_yes_probability_is_the_softmax_mass_of_the_yes_tokens(yes: list[float], no: list[float]) -> None:
    mass = torch.softmax(torch.tensor(yes + no, dtype=torch.float64), dim=0)[: len(yes)].sum().item()
    assert yes_probability(yes, no) == pytest.approx(mass, abs=1e-9)


def test_a_token_the_judge_did_not_return_has_no_weight() -> None:
    assert yes_probability([1.0, -np.inf], [1.0]) == pytest.approx(0.5)
    assert yes_probability([-np.inf], [0.0]) == 0.0


def test_probe_scores_reference_vectors() -> None:
    assert probe_score([0.8, 0.8], [0.3]) == pytest.approx(0.766667, abs=5e-7)
    assert probe_score([0.8], [0.3]) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ("yyny", (True, None)),
        ("nnyy", (False, Reason.NO_INITIAL_JUDGEABLE)),
        ("yynn", (False, Reason.NO_RETURN)),
        ("yyyy", (False, Reason.NO_OOV)),
        ("nyny", (True, None)),
        ("nyyn", (False, Reason.NO_RETURN)),
        ("nnnn", (False, Reason.NO_INITIAL_JUDGEABLE)),
        ("yny", (True, None)),
        ("y", (False, Reason.NO_OOV)),
    ],
)
def test_reobservation_sequences(seconds: str, expected: tuple[bool, Reason | None]) -> None:
    assert reobservation_pattern(seconds) == expected
    assert reobservation_pattern([letter == "y" for letter in seconds]) == expected


def test_reasons_are_plain_words() -> None:
    assert reobservation_pattern("nnyy")[1] == "no_initial_judgeable"


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_applicable_exactly_when_the_regular_expression_finds_it(seconds: list[bool]) -> None:
    import re

    text = "".join("y" if second else "n" for second in seconds)
    assert reobservation_pattern(seconds)[0] == bool(re.search("yn+y", text))


@pytest.mark.parametrize(("n", "outputs", "sparse"), [(9, 20, True), (10, 20, False), (39, 400, True), (40, 400, False)])
def test_sparse_rule(n: int, outputs: int, sparse: bool) -> None:
    assert is_sparse(n, outputs) is sparse


def test_support_rate() -> None:
    assert support_rate([True, False, False, True]) == 0.5


def test_average_of_the_published_rows() -> None:
    """WRBench table 2 prints Avg beside its six terms, each rounded to 0.001."""
    if not PUBLISHED.exists():
        pytest.skip("needs the published table in ../shared/published")
    names = {"reobs_spatial": "reobs_spatial", "reobs_state": "reobs_state"}
    checked = 0
    for row in csv.DictReader(PUBLISHED.open()):
        terms = {
            name: row.get(names.get(name, name), "")
            for name in ("cam_align", "visual_integrity", "visible_spatial", "visible_state", "reobs_spatial", "reobs_state")
        }
        if all(terms.values()) and row["avg"]:
            assert dimension_average({name: float(value) for name, value in terms.items()}) == pytest.approx(
                float(row["avg"]), abs=0.00101
            ), row
            checked += 1
    assert checked >= 10
