"""The declared schema of every table. Checked when written and when read.

Rules for all tables: keys come first; a score row has either a value or a `reason`; every row that a model or
an estimator made says which backend, version, weights, parameters and input made it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.pandas as pa

from lookback.clips import FLOAT_FIELDS, INT_FIELDS, KEYS, Clip
from lookback.errors import Reason
from lookback.registry import BENCHMARKS

PROVENANCE = ["backend", "version", "weights", "params_hash", "input_hash"]


def _text(nullable: bool = False, **kwargs: Any) -> pa.Column:
    return pa.Column(str, nullable=nullable, coerce=True, **kwargs)


def _number(nullable: bool = True, **kwargs: Any) -> pa.Column:
    return pa.Column("float64", nullable=nullable, coerce=True, **kwargs)


def _integer(nullable: bool = True, **kwargs: Any) -> pa.Column:
    return pa.Column("Int64", nullable=nullable, coerce=True, **kwargs)


def _flag() -> pa.Column:
    return pa.Column(bool, nullable=False, coerce=True)


def _reason() -> pa.Column:
    return _text(checks=pa.Check.isin(["", *Reason], error="unknown reason"))


def _keys() -> dict[str, pa.Column]:
    known = pa.Check(lambda names: names.isin(BENCHMARKS.names()), error="is a registered benchmark")
    return {"benchmark": _text(checks=known), "setting": _text(), "model_id": _text(), "clip_id": _text()}


def _provenance() -> dict[str, pa.Column]:
    return {name: _text() for name in PROVENANCE}


def _value_or_reason(frame: pd.DataFrame) -> pd.Series:
    return frame["value"].isna() == (frame["reason"] != "")


VALUE_OR_REASON = pa.Check(_value_or_reason, error="a row has a value or a reason, never both and never neither")


def _schema(columns: dict[str, pa.Column], unique: list[str], checks: list[pa.Check] | None = None) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(columns, unique=unique, checks=checks, strict=True, ordered=True)


def _clips() -> pa.DataFrameSchema:
    columns = {}
    required = {
        *KEYS,
        "subset",
        "sample_id",
        "condition_id",
        "scene",
        "condition_type",
        "video",
        "content_hash",
        "prompt",
        "camera",
    }
    required |= {"object_name", "event_level", "event_action", "expected_state", "caption_segments", "extras", "files", "shortfall"}
    for name in Clip.model_fields:
        if name in INT_FIELDS:
            columns[name] = _integer(checks=pa.Check.ge(0))
        elif name in FLOAT_FIELDS:
            columns[name] = _number(checks=pa.Check.gt(0))
        else:
            columns[name] = _text(nullable=name not in required)
    columns["benchmark"] = _keys()["benchmark"]
    return _schema(columns, KEYS)


SCHEMAS: dict[str, pa.DataFrameSchema] = {
    "clips": _clips(),
    # spans of time: caption segments, phases V/D/R, actions, shots; [start, end) in frames of the generated video
    "segments": _schema(
        {
            **_keys(),
            "kind": _text(),
            "segment_id": _text(),
            "start": _integer(nullable=False),
            "end": _integer(nullable=False),
            "text": _text(),
        },
        [*KEYS, "kind", "segment_id"],
    ),
    # items that could not be read, each with one line that says why
    "rejected": _schema(
        {"layout": _text(), "path": _text(), "field": _text(), "reason": _reason(), "problem": _text(), "remedy": _text()},
        ["path", "field", "problem"],
    ),
    # what curation noticed about a clip: probed facts, challenge screen, mismatches
    "screen": _schema(
        {
            **_keys(),
            "duration_s": _number(),
            "n_cuts": _integer(),
            "total_rotation_deg": _number(),
            "peak_yaw_deg": _number(),
            "trajectory": _text(),
            "departs": pa.Column("boolean", nullable=True, coerce=True),
            "returns": pa.Column("boolean", nullable=True, coerce=True),
            "gap_frames": _integer(),
            "source": _text(),
            "mismatch": _text(),
            "duplicate_of": _text(),
        },
        KEYS,
    ),
    "artifacts": _schema(
        {
            **_keys(),
            "role": _text(),
            "stored": _text(),  # key in the store, empty when missing
            "reason": _reason(),
            "detail": _text(),
            "n_frames": _integer(),
            "summary": _text(),  # JSON: small facts for tables (total rotation, coverage, confidence)
            **_provenance(),
        },
        [*KEYS, "role"],
    ),
    "units": _schema(
        {
            **_keys(),
            "metric": _text(),
            "variant": _text(),
            "unit_id": _text(),
            "kind": _text(),  # frame, pair, track, segment, phase, probe
            "frame": _integer(),  # the frame, or the first of a pair
            "frame_other": _integer(),
            "phase": _text(),
            "value": _number(),
            "raw": _number(),
            "reason": _reason(),
            "detail": _text(),
        },
        [*KEYS, "metric", "variant", "unit_id"],
        [VALUE_OR_REASON],
    ),
    "items": _schema(
        {
            **_keys(),
            "metric": _text(),
            "variant": _text(),
            "phase": _text(),  # V, D, R or empty for the whole clip
            "value": _number(),
            "raw": _number(),
            "reason": _reason(),
            "detail": _text(),
            "n_units": _integer(nullable=False),
            **_provenance(),
        },
        [*KEYS, "metric", "variant", "phase"],
        [VALUE_OR_REASON],
    ),
    "judgements": _schema(
        {
            **_keys(),
            "task": _text(),  # trigger, judgeability, probe, vqa, state_progress, progress_correctness
            "question_id": _text(),
            "judge": _text(),
            "repeat": _integer(nullable=False),
            "frame": _integer(),  # where one second or frame is asked about
            "question": _text(),
            "answer": _text(),  # yes, no, 1..5, or empty
            "value": _number(),  # probability of yes, or the rating
            "confidence": _number(),
            "value_from": _text(),  # logprobs, sampled, stated, geometry, simulated
            "reason": _reason(),
            "verbatim": _text(),
            "prompt_version": _text(),
            "simulated": _flag(),
            **_provenance(),
        },
        [*KEYS, "task", "question_id", "judge", "repeat"],
        [VALUE_OR_REASON],
    ),
    "ratings": _schema(
        {
            "task": _text(),  # trigger, pairwise, judgeability
            "benchmark": _keys()["benchmark"],
            "setting": _text(),
            "dimension": _text(),
            "clip_a": _text(),
            "model_a": _text(),
            "clip_b": _text(),
            "model_b": _text(),
            "scene": _text(),
            "annotator": _text(),
            "label": _text(),
            "time": _number(),
            "simulated": _flag(),
        },
        ["task", "benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b", "annotator"],
    ),
    "failures": _schema(
        {
            **_keys(),
            "label": _text(),
            "confidence": _number(nullable=False, checks=pa.Check.in_range(0, 1)),
            "frame_start": _integer(),
            "frame_end": _integer(),
            "rule": _text(),
            "evidence": _text(),
        },
        [*KEYS, "label"],
    ),
    # the demo world's truth
    "truth": _schema(
        {
            **_keys(),
            "scene": _text(),
            "subset": _text(),
            "event": _text(),
            "event_action": _text(),
            "failure": _text(),
            "severity": _number(nullable=False, checks=pa.Check.in_range(0, 1)),
            "expected_state": _text(),
            "shown_state": _text(),
            "d_start": _integer(),
            "r_start": _integer(),
            "returns": _flag(),
            "record": _text(),  # the npz with poses, intrinsics, masks, visibility
        },
        KEYS,
    ),
}
SCHEMAS["gated"] = SCHEMAS["items"]  # items after the trigger gate, with the judge-based metrics added
