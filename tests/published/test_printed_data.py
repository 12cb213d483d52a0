"""The transcribed tables: their register, their source, their digits."""

from __future__ import annotations

import re
from importlib import resources

import pandas as pd
import pytest
from lookback.paths import project_root
from lookback.published import REGISTERS, half_digits, load, names

SHARED = project_root().parent / "shared" / "published"


def test_the_register_names_every_table_and_no_other():
    readme = (resources.files("lookback.published") / "data" / "README.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)\.csv`", readme, flags=re.MULTILINE))
    assert listed == set(names()) - {"dimensions", "models"}
    assert set(REGISTERS) <= set(names())


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.csv")), ids=lambda path: path.stem)
def test_shipped_tables_are_the_reference_transcription(path):
    pd.testing.assert_frame_equal(load(path.stem), pd.read_csv(path))


def test_reference_transcriptions_are_there():
    if not SHARED.is_dir():
        pytest.skip("no ../shared/published beside this checkout: the shipped tables cannot be compared with it")
    assert {path.stem for path in SHARED.glob("*.csv")} <= set(names())


def test_half_a_digit_follows_the_print():
    assert half_digits("wrbench_table2").loc[0, "avg"] == 0.0005
    assert half_digits("wrbench_table2").loc[0, "reobs_support_pct"] == 0.05
    assert half_digits("wrbench_table2")["n_outputs"].eq(0).all()  # a count is exact
    assert (
        half_digits("memobench_tableS2_trajectories").loc[0, "rotation_deg"] == 0.5
    )  # a measurement printed without digits is not
    # table S9 prints 8.70 and 12.9 in one column
    assert half_digits("memobench_tableS9_conditioning")["psnr"].tolist() == [0.005, 0.05, 0.005, 0.05]


def test_a_missing_score_has_no_rounding():
    prompt_only = load("wrbench_table2")["cam_prec"].isna()
    assert half_digits("wrbench_table2").loc[prompt_only, "cam_prec"].eq(0).all()


def test_a_loaded_table_can_be_changed_without_changing_the_next():
    table = load("wrbench_table2")
    table.loc[0, "avg"] = 9.0
    assert load("wrbench_table2").loc[0, "avg"] == 0.667
