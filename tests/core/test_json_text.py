"""JSON of others: `json.loads` up to a depth, a ValueError beyond it, and no finalizer that fails at the recursion limit."""

import gc
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lookback import json_text
from lookback.json_text import DEEPEST, TooDeep, loads

LEVELS = {"lists": ("[", "]"), "mappings": ('{"a":', "}"), "a bracket in quotes closes nothing": ('["]",', "]")}


def nested(opening, closing, levels):
    return opening * levels + "0" + closing * levels


@pytest.mark.parametrize("opening, closing", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("kind", [str, str.encode], ids=["text", "bytes"])
def test_the_depth_counts_and_nothing_else(opening, closing, kind):
    assert loads(kind(nested(opening, closing, DEEPEST))) == json.loads(nested(opening, closing, DEEPEST))
    for text in (nested(opening, closing, DEEPEST + 1), opening * 100_000):
        with pytest.raises(TooDeep, match=f"more than {DEEPEST} levels"):
            loads(kind(text))


def test_wide_documents_and_brackets_in_quotes_are_read():
    for value in ([[1]] * 5000, {"a": "[" * 5000, 'b"': ['{\\"' * 500]}, "[{" * 500, "\\"):
        assert loads(json.dumps(value)) == value


@given(st.lists(st.text(alphabet='[]{}"\\a', max_size=8), min_size=DEEPEST, max_size=DEEPEST + 60))
def test_no_text_inside_quotes_counts(texts):
    assert loads(json.dumps([[text] for text in texts])) == [[text] for text in texts]


def test_no_finalizer_runs_at_the_recursion_limit(monkeypatch):
    """The collector may run while the decoder is at its deepest; a finalizer there must still have room for its calls."""
    failed = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)

    class Finalized:
        def __init__(self):
            self.self = self

        def __del__(self):
            json.dumps({"a": [1]})

    before = gc.get_threshold()
    try:
        for deep in range(100, 1100, 5):  # the collector runs about so many lists deep
            Finalized()
            gc.set_threshold(deep)
            with pytest.raises(TooDeep):
                json_text.loads("[" * 100_000)
            gc.set_threshold(*before)
            gc.collect()
    finally:
        gc.set_threshold(*before)
    assert not failed
