"""Decisions held against a truth that is written down in the test."""

import numpy as np
import pandas as pd
from lookback.judging.quality import decisions_against_truth, truth_agreement

KEY = {"benchmark": "mbench", "setting": "T"}


def answer(clip_id: str, task: str, question_id: str, said: str) -> dict:
    named = {"model_id": "m", "clip_id": clip_id, "task": task, "question_id": question_id, "judge": "geometric"}
    return {**KEY, **named, "repeat": 0, "answer": said, "reason": ""}


def turning(path, angles) -> str:
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    cos, sin = np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))
    poses[:, 0, 0], poses[:, 0, 2], poses[:, 2, 0], poses[:, 2, 2] = cos, sin, -sin, cos
    np.savez(path, c2w=poses)
    return str(path)


def test_subjects_by_their_return_environments_by_the_view(tmp_path):
    """Object: the subject came back. Environment: the subject is gone, but the camera turned away and came back."""
    away = turning(tmp_path / "away.npz", [0.0, 40.0, 60.0, 20.0, 0.0])
    stays = turning(tmp_path / "stays.npz", [0.0, 40.0, 60.0, 60.0, 60.0])
    rows = [("object:a", True, away), ("environment:b", False, away), ("environment:c", False, stays)]
    keys = [{**KEY, "model_id": "m", "clip_id": clip} for clip, _, _ in rows]
    truth = pd.DataFrame(
        [{**key, "subset": "object", "returns": back, "record": record} for key, (_, back, record) in zip(keys, rows, strict=True)]
    )
    clips = pd.DataFrame([{**key, "subset": key["clip_id"].split(":")[0]} for key in keys])
    judgements = pd.DataFrame([answer(clip, "trigger", "trigger", "yes") for clip, _, _ in rows])
    decisions = decisions_against_truth(judgements, truth, clips).set_index("clip_id")
    assert decisions["true"].to_dict() == {"object:a": True, "environment:b": True, "environment:c": False}
    table = truth_agreement(decisions.reset_index()).set_index("decision")
    assert (table.loc["trigger", "clips"], table.loc["trigger", "right"]) == (3, 2)


def test_support_is_the_pattern_of_the_seconds(tmp_path):
    """WRBench: judgeable, hidden, judgeable is a return; the truth says the second clip never came back."""
    record = turning(tmp_path / "path.npz", [0.0])
    keys = [{"benchmark": "wrbench", "setting": "demo", "model_id": "m", "clip_id": clip} for clip in ("a", "b")]
    truth = pd.DataFrame([{**key, "subset": "", "returns": key["clip_id"] == "a", "record": record} for key in keys])
    clips = pd.DataFrame([{**key, "subset": ""} for key in keys])
    said = {"a": ["yes", "no", "yes"], "b": ["yes", "no", "no"]}
    judgements = pd.DataFrame(
        [
            {**answer(clip, "judgeability", f"second_{second:03d}", word), "benchmark": "wrbench", "setting": "demo"}
            for clip, words in said.items()
            for second, word in enumerate(words)
        ]
    )
    decisions = decisions_against_truth(judgements, truth, clips)
    assert decisions["said"].tolist() == [True, False]
    assert truth_agreement(decisions)["share"].tolist() == [1.0, 1.0]
