"""Read a pickle of plain numpy arrays without running anything it might name."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lookback.errors import ContractError

# What numpy's own pickles of arrays refer to, under its old and its new module name.
ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class _ArrayUnpickler(pickle.Unpickler):
    """Resolves the names that arrays need and refuses every other."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no part of an array")
        if name == "_reconstruct":
            return _empty_array
        return getattr(np, name)

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to objects outside the file")


def _empty_array(subtype: type, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """numpy's `_reconstruct` for plain arrays only; the pickle fills it afterwards."""
    if subtype is not np.ndarray:
        raise pickle.UnpicklingError(f"it holds a {subtype.__name__}, not an array")
    return np.ndarray.__new__(np.ndarray, shape, dtype)


def read_array_tree(path: Path) -> dict[str, np.ndarray]:
    """Arrays by their path in the pickled nested dict, such as "AlexNet_0/Conv_0/kernel"."""
    try:
        with path.open("rb") as handle:
            tree = _ArrayUnpickler(handle).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError, TypeError) as error:
        raise ContractError(f"{path} is not a pickle of plain arrays: {error}") from None
    return dict(_flatten(tree, "", path))


def _flatten(tree: Any, prefix: str, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    if not isinstance(tree, dict):
        raise ContractError(f"{path} holds a {type(tree).__name__} at '{prefix}', not a dict of arrays")
    for name, value in tree.items():
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise ContractError(f"{path} holds objects, not numbers, at '{prefix}{name}'")
            yield f"{prefix}{name}", value
        else:
            yield from _flatten(value, f"{prefix}{name}/", path)
