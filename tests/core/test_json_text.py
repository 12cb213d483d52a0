"""JSON of others: `json.loads` up to a depth, and a ValueError beyond it before the decoder begins."""

import json

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


@given(st.lists(st.text(alphabet='[]{}"\\a', max_size=8), min_size=1, max_size=20))
def test_no_text_inside_quotes_counts(texts):
    texts *= DEEPEST // len(texts) + 1  # a document with fewer brackets is not looked at
    assert loads(json.dumps([[text] for text in texts])) == [[text] for text in texts]


def test_the_decoder_never_sees_what_nests_too_deeply(monkeypatch):
    """At the recursion limit the collector may run other objects' finalizers, which then fail: the decoder must not get there."""
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail(f"{len(text)} characters were decoded"))
    for text in ("[" * (DEEPEST + 1), '{"a":' * 100_000):
        with pytest.raises(TooDeep):
            json_text.loads(text)
