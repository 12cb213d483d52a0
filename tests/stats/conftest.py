"""Data sets whose answers are printed elsewhere; each says where it comes from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

NA = None


@pytest.fixture
def four_raters() -> pd.DataFrame:
    """12 units, 4 raters, 5 categories, missing votes: Krippendorff's data C, also Gwet's Handbook and irrCAC `raw_4raters`."""
    rows = [
        [1, 1, NA, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [NA, 5, 5, 5],
        [NA, NA, 1, 1],
        [NA, NA, 3, NA],
    ]
    return pd.DataFrame(rows, dtype=float)


@pytest.fixture
def paradox_votes() -> np.ndarray:
    """125 items, two raters: 118 (+,+), 5 (+,-), 2 (-,+), 0 (-,-): the table of kappa's paradox discussed by Gwet (2008)."""
    return np.array([[1, 1]] * 118 + [[1, 0]] * 5 + [[0, 1]] * 2)


@pytest.fixture
def abstractors() -> np.ndarray:
    """100 items, two raters, three categories: Gwet's Handbook; irrCAC `cont3x3abstractors`."""
    table = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
    return np.array([[i, j] for i in range(3) for j in range(3) for _ in range(table[i][j])])


@pytest.fixture
def fleiss_cohen_everitt() -> tuple[np.ndarray, np.ndarray]:
    """200 subjects, two raters, three categories: Fleiss, Cohen & Everitt (1969), table 1."""
    table = [[106, 10, 4], [22, 28, 10], [2, 12, 6]]
    pairs = np.array([[i, j] for i in range(3) for j in range(3) for _ in range(table[i][j])])
    return pairs[:, 0], pairs[:, 1]


@pytest.fixture
def binary_votes() -> np.ndarray:
    """40 items, three raters, yes/no: 18 unanimous yes, 11 unanimous no, 4 split 2:1 and 7 split 1:2."""
    return np.array([[1, 1, 1]] * 18 + [[0, 0, 0]] * 11 + [[1, 1, 0]] * 4 + [[1, 0, 0]] * 7)


# Davies & Goldsmith (1972), Statistical Methods in Research and Production; R lme4 data set `Penicillin`: plates a-x by samples A-F
PENICILLIN = """
27 23 26 23 23 21
27 23 26 23 23 21
25 21 25 24 24 20
26 23 25 23 23 20
25 22 26 22 23 20
24 22 25 23 22 19
24 20 23 21 22 19
26 22 26 24 24 21
24 21 24 22 22 20
24 21 24 23 22 19
26 23 26 24 24 21
25 22 26 24 24 20
26 24 26 24 25 22
26 23 26 23 23 20
26 23 25 24 24 22
25 22 25 23 23 20
25 21 24 23 23 20
25 22 24 23 23 19
24 21 23 21 21 19
26 23 26 24 24 21
25 21 24 22 22 18
25 22 25 22 22 20
24 21 24 22 24 19
24 21 24 22 21 18
"""


@pytest.fixture
def penicillin() -> pd.DataFrame:
    """144 inhibition diameters, 24 plates crossed with 6 samples."""
    table = np.array([line.split() for line in PENICILLIN.split("\n") if line], dtype=float)
    plate, sample = np.meshgrid(np.arange(24), np.arange(6), indexing="ij")
    return pd.DataFrame({"diameter": table.ravel(), "plate": plate.ravel(), "sample": sample.ravel()})
