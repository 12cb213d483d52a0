"""Tables: what breaks the schema is refused with a sentence, and the same content gives the same bytes."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip, clips_from_frame, clips_to_frame
from lookback.errors import ContractError, Reason
from lookback.tables import SCHEMAS, empty_table, read_table, write_table


def clip(**changes) -> Clip:
    return Clip(**{"benchmark": "mbench", "setting": "A", "model_id": "m", "clip_id": "c", "video": "v.mp4", **changes})


def item(**changes) -> dict:
    row = dict.fromkeys(SCHEMAS["items"].columns, "")
    row |= {
        "benchmark": "wrbench",
        "model_id": "m",
        "clip_id": "c",
        "metric": "wrbench.cam_align",
        "value": 0.5,
        "raw": 0.5,
        "n_units": 1,
    }
    return row | changes


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_an_empty_table_survives_the_round_trip(tmp_path, name):
    write_table(tmp_path, name, empty_table(name))
    assert list(read_table(tmp_path, name).columns) == list(SCHEMAS[name].columns)


def test_clips_read_back_exactly_as_they_were_written(tmp_path):
    anchor = {"centre_x": 1.5, "centre_y": 2, "width": 3, "height": 4}
    clips = [
        clip(object_anchor=anchor, n_frames=81, fps=24.0, caption_segments=["a", "b – ü"], extras={"k": [1, {"x": None}]}),
        clip(clip_id="d", prompt='says "hi", twice\n'),
    ]
    write_table(tmp_path, "clips", clips_to_frame(clips))
    assert clips_from_frame(read_table(tmp_path, "clips")) == clips


def test_row_order_does_not_change_the_bytes(tmp_path):
    clips = [clip(clip_id=f"c{number}") for number in range(5)]
    write_table(tmp_path / "a", "clips", clips_to_frame(clips))
    write_table(tmp_path / "b", "clips", clips_to_frame(clips[::-1]))
    assert (tmp_path / "a" / "clips.parquet").read_bytes() == (tmp_path / "b" / "clips.parquet").read_bytes()


@pytest.mark.parametrize("storage", ["pyarrow", "python"])
def test_strings_of_another_program_give_the_same_bytes(tmp_path, storage):
    frame = clips_to_frame([clip()])
    theirs = frame.astype({name: pd.StringDtype(storage, na_value=np.nan) for name in frame if frame[name].dtype == "str"})
    for folder, given in (("a", frame), ("b", theirs)):
        write_table(tmp_path / folder, "clips", given)
    assert (tmp_path / "a" / "clips.parquet").read_bytes() == (tmp_path / "b" / "clips.parquet").read_bytes()


def test_how_pandas_keeps_strings_is_chosen_where_nobody_has_chosen(warm_python):
    script = "import pandas as pd\n{}\nimport lookback.tables; print(pd.get_option('mode.string_storage'))"
    for before, after in (("", "python"), ("pd.set_option('mode.string_storage', 'pyarrow')", "pyarrow")):
        assert subprocess.run([warm_python, "-c", script.format(before)], capture_output=True, text=True).stdout == after + "\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([item(value=np.nan)], "a row has a value or a reason"),
        ([item(reason=Reason.NO_FACE)], "a row has a value or a reason"),
        ([item(value=np.nan, reason="because")], "unknown reason"),
        ([item(benchmark="imagenet")], "imagenet"),
        ([item(), item()], "uniqueness"),
        ([item(value="high")], "value"),
    ],
)
def test_a_broken_row_is_refused_with_its_rule(tmp_path, rows, message):
    with pytest.raises(ContractError, match=message):
        write_table(tmp_path, "items", pd.DataFrame(rows))
    assert not (tmp_path / "items.parquet").exists()


def test_missing_and_unknown_columns_are_named(tmp_path):
    with pytest.raises(ContractError, match=r"lacks value.*unknown valeu"):
        write_table(tmp_path, "items", pd.DataFrame([item()]).rename(columns={"value": "valeu"}))


def test_a_table_that_was_never_written_says_what_to_run(tmp_path):
    with pytest.raises(ContractError, match="run the stage that writes it"):
        read_table(tmp_path, "clips")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "clips.parquet").write_bytes(b"PAR1 no longer")
    with pytest.raises(ContractError, match=r"cannot be read.*run its stage again"):
        read_table(tmp_path, "clips")
