"""Small array files that a layout points to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lookback.errors import NotScorable, Reason


def load_array(path: Path) -> np.ndarray:
    """A .npy file without pickles, or NotScorable that names it."""
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise NotScorable(Reason.MISSING_INPUT, f"{path.name} is not there") from None
    except (OSError, ValueError, EOFError) as error:
        raise NotScorable(Reason.INVALID_INPUT, f"{path.name} cannot be read: {error}") from None
