"""Small array files that a layout points to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lookback.array_files import read_arrays
from lookback.errors import ContractError, NotScorable, Reason


def load_array(path: Path) -> np.ndarray:
    """A .npy file without pickles, or NotScorable that names it."""
    if not path.is_file():
        raise NotScorable(Reason.MISSING_INPUT, f"{path.name} is not there")
    try:
        arrays = read_arrays(path)
    except ContractError as error:
        raise NotScorable(Reason.INVALID_INPUT, str(error)) from None
    if "array" not in arrays:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} is an archive of arrays, not one array")
    return arrays["array"]
