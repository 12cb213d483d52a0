"""The file of times: wherever a kill cut the file, whole lines are kept, and the last measurement of a part counts."""

from pathlib import Path

import pandas as pd
import pytest
from lookback.clips import KEYS
from lookback.tables import read_csv
from lookback.timings import Timings

NAMES = ["plain", "=formula", "with, comma", 'a "quote"', "ünïcode"]


def row(name: str, seconds: float, role: str = "pose") -> dict[str, object]:
    return {**dict.fromkeys(KEYS, "x"), "clip_id": name, "role": role, "seconds": seconds}


def clips(*names: str) -> pd.DataFrame:
    return pd.DataFrame([row(name, 0.0) for name in names])


def read(path: Path) -> dict[str, float]:
    return dict(zip(*(read_csv(path)[name] for name in ("clip_id", "seconds")), strict=True))


def test_the_last_measurement_of_a_clip_of_the_run_counts(tmp_path: Path):
    path = tmp_path / "timings" / "extraction.csv"
    Timings(path, "role").add([row(name, 1.5) for name in NAMES])
    again = Timings(path, "role")
    again.add([row(NAMES[1], 0.25)])
    again.tidy(clips(*NAMES[:4]))
    assert read(path) == {NAMES[0]: 1.5, NAMES[1]: 0.25, NAMES[2]: 1.5, NAMES[3]: 1.5}
    again.tidy(clips("another"))
    assert not path.exists()


@pytest.mark.parametrize("cut", [1, 2, 5, 12, 20, 30])
def test_a_line_cut_short_costs_only_itself(cut: int, tmp_path: Path):
    path = tmp_path / "extraction.csv"
    Timings(path, "role").add([row("first", 1.25), row('a "quote", cut', 12.125)])
    path.write_bytes(path.read_bytes()[:-cut])
    Timings(path, "role").add([row("second", 3.0)])
    assert read(path) == {"first": 1.25, "second": 3.0}
