"""Pickles of arrays are read; pickles that name anything else are refused before it is looked up."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from lookback.backends.perceptual.loading import read_array_tree
from lookback.errors import ContractError


class Hostile:
    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nested_arrays_come_back_by_path(tmp_path: Path):
    tree = {"net": {"kernel": np.arange(6.0).reshape(2, 3), "bias": np.ones(2, np.float32)}, "head": np.zeros((1, 2), np.int64)}
    (tmp_path / "a.ckpt").write_bytes(pickle.dumps(tree, protocol=4))
    found = read_array_tree(tmp_path / "a.ckpt")
    assert set(found) == {"net/kernel", "net/bias", "head"}
    assert np.array_equal(found["net/kernel"], tree["net"]["kernel"]) and found["net/bias"].dtype == np.float32


def test_a_call_hidden_in_the_pickle_does_not_run(tmp_path: Path):
    target = tmp_path / "made-by-the-pickle"
    (tmp_path / "evil.ckpt").write_bytes(pickle.dumps({"net": Hostile(str(target))}))
    with pytest.raises(ContractError, match="mkdir"):
        read_array_tree(tmp_path / "evil.ckpt")
    assert not target.exists()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([1, 2], "not a dict"),
        ({"a": 3}, "not a dict of arrays"),
        ({"a": np.array([object()])}, "object"),
        ({"a": np.ma.array([1.0])}, "numpy.ma"),
    ],
)
def test_what_is_no_tree_of_numbers_is_refused(tmp_path: Path, value: object, says: str):
    (tmp_path / "x.ckpt").write_bytes(pickle.dumps(value))
    with pytest.raises(ContractError, match=says):
        read_array_tree(tmp_path / "x.ckpt")


def test_a_truncated_file_is_refused(tmp_path: Path):
    (tmp_path / "cut.ckpt").write_bytes(pickle.dumps({"a": np.ones(100)})[:200])
    with pytest.raises(ContractError, match="not a pickle of plain arrays"):
        read_array_tree(tmp_path / "cut.ckpt")
