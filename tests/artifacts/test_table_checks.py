"""The quick check of a table takes nothing that pandera refuses, and gives back the same frame."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from lookback.errors import ContractError
from lookback.tables import SCHEMAS, check_table, empty_table

PLAIN = {"benchmark": "mbench", "reason": "", "value": 0.5, "raw": 0.5, "n_units": 3}


@pytest.fixture
def items() -> pd.DataFrame:
    """Three rows with the schema's own types."""
    rows = [{column: PLAIN.get(column, "x") for column in SCHEMAS["items"].columns} | {"clip_id": f"c{n}"} for n in range(3)]
    return SCHEMAS["items"].validate(pd.DataFrame(rows))


def changed(column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.assign(**{column: [value, *frame[column].iloc[1:]]})


SPOILT = {
    "an empty cell": changed("clip_id", None),
    "an unknown benchmark": changed("benchmark", "nobench"),
    "an unknown reason": lambda frame: changed("reason", "because")(changed("value", np.nan)(frame)),
    "neither value nor reason": changed("value", np.nan),
    "both value and reason": changed("reason", "no_mask"),
    "two rows of one key": lambda frame: frame.assign(clip_id="c"),
    "text for a number": lambda frame: frame.assign(value="high"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_table_is_refused(items: pd.DataFrame, name: str):
    with pytest.raises(ContractError, match="Table 'items'"):
        check_table("items", SPOILT[name](items))


def test_a_right_table_comes_back_as_pandera_gives_it(items: pd.DataFrame):
    for frame in (items, items.astype(object), items.assign(raw=None), items.iloc[::-1], items.head(0)):
        pd.testing.assert_frame_equal(check_table("items", frame), SCHEMAS["items"].validate(frame.reset_index(drop=True)))


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_empty_table_is_right(name: str):
    assert list(check_table(name, empty_table(name)).columns) == list(SCHEMAS[name].columns)
