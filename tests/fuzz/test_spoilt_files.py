"""Spoilt files of every kind: each reader answers with a sentence or a typed reason, in bounded time and memory."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lookback.errors import LookbackError
from lookback.params.load import apply_overrides, validate

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import fuzz as fuzzing
from fuzz import Outcome, attempt, fuzz, quiet
from fuzz_readers import Reader, all_readers

CASES = 6  # per reader; `bench/fuzz.py --cases` does more


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory):
    with quiet():
        return all_readers(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.long
def test_no_reader_falls_over_spoilt_bytes_and_documents(readers):
    failures, tried, refused = [], 0, 0
    with quiet():
        for number, reader in enumerate(readers):
            outcome = fuzz(reader, CASES, np.random.default_rng([11, number]))
            failures += outcome.failures
            tried += outcome.tried
            refused += outcome.refused
    assert failures == []
    assert tried == CASES * len(readers) >= 250
    assert refused > tried / 3, "most cases must be spoilt enough to be noticed"


def compute() -> None:
    while True:
        pass


@pytest.mark.parametrize(("clock", "read"), [("LIMIT_S", compute), ("HUNG_S", lambda: time.sleep(60))])
def test_a_reader_that_computes_or_waits_for_ever_is_found(clock, read, monkeypatch):
    monkeypatch.setattr(fuzzing, clock, 0.2)
    assert attempt(Reader("endless", Path("none"), read), Outcome()).startswith("took more than")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["seed", "workers", "curation", "curation.world.width", "extraction.options", "judging.max_calls", "report.title", "run"]


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KEYS), values)
def test_any_value_of_a_parameter_is_taken_or_refused_in_a_sentence(key: str, value: object):
    inner: object = value
    for part in reversed(key.split(".")):
        inner = {part: inner}
    try:
        validate({"run": "r", **inner}, "test")  # type: ignore[dict-item]
    except LookbackError as error:
        assert str(error) and len(str(error)) < 20_000


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=40) | st.builds("{}={}".format, st.sampled_from([*KEYS, "", ".", "a..b"]), st.text(max_size=30)))
def test_any_override_is_taken_or_refused_in_a_sentence(override: str):
    try:
        validate(apply_overrides({"run": "r"}, [override]), "test")
    except LookbackError as error:
        assert str(error)
