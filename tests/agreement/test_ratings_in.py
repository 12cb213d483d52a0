"""Votes from files: tidy CSV and JSON lines, Label Studio exports, the annotation desk's CSV."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from lookback.agreement import read_ratings
from lookback.agreement.importers import COLUMNS, tidy
from lookback.errors import ContractError, UsageError
from lookback.tables import check_table

VOTE = {
    "task": "pairwise",
    "benchmark": "wrbench",
    "setting": "natural25",
    "dimension": "visible_state",
    "clip_a": "c1",
    "model_a": "x",
}
VOTE |= {"clip_b": "c1", "model_b": "y", "scene": "s1", "annotator": "ann", "label": "-1", "time": 12.5, "simulated": False}


def test_csv_and_json_lines_give_the_same_table(tmp_path):
    second = {**VOTE, "annotator": "bob", "label": "1"}
    pd.DataFrame([VOTE, second]).to_csv(tmp_path / "votes.csv", index=False)
    (tmp_path / "votes.jsonl").write_text("\n".join(json.dumps(v) for v in (VOTE, second)) + "\n")
    (tmp_path / "votes.json").write_text(json.dumps([VOTE, second]))
    first = read_ratings(tmp_path / "votes.csv")
    assert list(first.columns) == COLUMNS
    pd.testing.assert_frame_equal(first, read_ratings(tmp_path / "votes.jsonl"))
    pd.testing.assert_frame_equal(first, read_ratings(tmp_path / "votes.json"))
    assert first["label"].tolist() == ["-1", "1"]
    check_table("ratings", first)


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_spreadsheets_own_separator_is_named(tmp_path, mark, name):
    pd.DataFrame([{**VOTE, "label": "3,0"}]).to_csv(tmp_path / "votes.csv", index=False, sep=mark)
    with pytest.raises(ContractError, match=f"votes.csv: its columns are separated by {name}; save it with commas"):
        read_ratings(tmp_path / "votes.csv")


def test_a_whole_number_is_the_same_label_in_every_kind_of_file(tmp_path):
    """pandas writes 3.0 for a column of whole numbers that has a gap."""
    votes = pd.DataFrame([{**VOTE, "label": label, "annotator": name} for label, name in ((3.0, "ann"), (-1.0, "bob"))])
    votes.to_csv(tmp_path / "votes.csv", index=False)
    votes.to_parquet(tmp_path / "votes.parquet")
    assert [read_ratings(tmp_path / f"votes.{kind}")["label"].tolist() for kind in ("csv", "parquet")] == [["3", "-1"]] * 2


def test_numeric_labels_and_missing_optional_columns(tmp_path):
    vote = {k: v for k, v in VOTE.items() if k not in ("scene", "time", "simulated", "setting")} | {"label": 1.0}
    (tmp_path / "votes.jsonl").write_text(json.dumps(vote))
    row = read_ratings(tmp_path / "votes.jsonl").iloc[0]
    assert (row["label"], row["scene"], row["simulated"]) == ("1", "", False)
    assert pd.isna(row["time"])


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("12.5", 12.5),
        ("1970-01-01T00:01:00", 60),
        ("1970-01-01 00:01:00+00:00", 60),
        ("1970-01-01T02:01:00.5+02:00", 60.5),
        ("1970-01-02", 86400),
        (pd.Timestamp("1970-01-01T00:01:00Z"), 60),
        (None, None),
        (" ", None),
        ("NaN", None),
    ],
)
def test_times_are_seconds_or_dates(written, seconds):
    time = tidy(pd.DataFrame([{**VOTE, "time": written}]), "votes")["time"].iloc[0]
    assert pd.isna(time) if seconds is None else time == seconds


def test_a_vote_written_by_a_spreadsheet_keeps_its_leading_zeros(tmp_path):
    (tmp_path / "votes.csv").write_text(
        "\ufeff" + "task,benchmark,dimension,clip_a,model_a,annotator,label\npairwise,mbench,style,0012,m,007,a\n"
    )
    row = read_ratings(tmp_path / "votes.csv").iloc[0]
    assert (row["clip_a"], row["annotator"]) == ("0012", "007")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.csv", "task,label\npairwise,1\n", "lacks benchmark"),
        ("v.csv", ",".join([*VOTE, "mood"]) + "\n" + ",".join([*map(str, VOTE.values()), "good"]) + "\n", "unknown mood"),
        ("v.csv", "", "not a readable CSV"),
        ("v.csv", ",".join(VOTE) + "\n", "v.csv holds no votes"),
        ("v.jsonl", "{broken", "line 1: not JSON"),
        ("v.jsonl", "[1]", "line 1: expected one vote"),
        ("v.json", "{}", "neither a Label Studio export"),
        ("v.jsonl", json.dumps({**VOTE, "annotator": ""}), "vote 1 has no annotator"),
        ("v.jsonl", json.dumps({**VOTE, "simulated": "perhaps"}), "true or false"),
        ("v.jsonl", json.dumps({**VOTE, "time": "yesterday"}), "the time 'yesterday' is neither .* nor a date"),
        ("v.jsonl", json.dumps({**VOTE, "time": "inf"}), "the time 'inf' is neither"),
    ],
)
def test_broken_files_say_what_and_where(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ContractError, match=message):
        read_ratings(tmp_path / name)


def test_unknown_kinds_and_missing_files_are_wrong_calls(tmp_path):
    with pytest.raises(UsageError, match="no ratings file"):
        read_ratings(tmp_path / "none.csv")
    (tmp_path / "votes.txt").write_text("x")
    with pytest.raises(UsageError, match="unknown kind"):
        read_ratings(tmp_path / "votes.txt")


def label_studio_task(results: list[dict], **annotation) -> list[dict]:
    """A task as Label Studio's raw JSON export writes it."""
    data = {k: VOTE[k] for k in ("task", "benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b", "scene")}
    entry = {"id": 9, "was_cancelled": False, "created_at": "2026-03-01T10:00:00.000000Z", "result": results, **annotation}
    return [
        {"id": 41, "data": data | {"video_a": "a.mp4"}, "annotations": [{"completed_by": {"id": 3, "email": "ann@x.org"}, **entry}]}
    ]


CHOICE = {"from_name": "preference", "to_name": "video", "type": "choices", "value": {"choices": ["-1"]}}


def test_label_studio_choices_pairwise_and_ratings(tmp_path):
    cases = [
        (CHOICE, "-1"),
        ({"from_name": "p", "type": "pairwise", "value": {"selected": "left"}}, "1"),
        ({"from_name": "p", "type": "rating", "value": {"rating": 4}}, "4"),
    ]
    for result, label in cases:
        (tmp_path / "export.json").write_text(json.dumps(label_studio_task([result])))
        row = read_ratings(tmp_path / "export.json").iloc[0]
        assert (row["annotator"], row["label"], row["model_b"]) == ("ann@x.org", label, "y")
        assert row["time"] == pd.Timestamp("2026-03-01T10:00:00Z").timestamp()


def test_label_studio_controls_named_after_dimensions(tmp_path):
    export = label_studio_task([{**CHOICE, "from_name": "style"}, {**CHOICE, "from_name": "lighting"}], completed_by=7)
    del export[0]["data"]["dimension"]
    (tmp_path / "export.json").write_text(json.dumps(export))
    table = read_ratings(tmp_path / "export.json")
    assert table["dimension"].tolist() == ["style", "lighting"]
    assert table["annotator"].tolist() == ["7", "7"]


def test_label_studio_skipped_tasks_are_left_out_and_empty_ones_named(tmp_path):
    (tmp_path / "export.json").write_text(json.dumps(label_studio_task([], was_cancelled=True)))
    with pytest.raises(ContractError, match="no completed annotation"):
        read_ratings(tmp_path / "export.json")
    (tmp_path / "export.json").write_text(json.dumps(label_studio_task([])))
    with pytest.raises(ContractError, match=r"task 41.*no choice"):
        read_ratings(tmp_path / "export.json")
    (tmp_path / "export.json").write_text(json.dumps(label_studio_task([{**CHOICE, "value": {"choices": ["1", "0"]}}])))
    with pytest.raises(ContractError, match="expected one choice"):
        read_ratings(tmp_path / "export.json")


def test_a_parquet_file_with_damaged_metadata_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "votes.parquet"
    table = arrow.Table.from_pandas(pd.DataFrame({"task": ["trigger"], "label": ["yes"]}))
    spoilt = table.schema.metadata[b"pandas"].replace(b"numpy_type", b"numpy_tyqe")
    parquet.write_table(table.replace_schema_metadata({b"pandas": spoilt}), path)
    with pytest.raises(ContractError, match="is not a readable Parquet file"):
        read_ratings(path)
