"""The client keeps its connections busy: a small run of the benchmark, held to the same ratio."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from judging_throughput import measure


def test_judgements_at_concurrency_16_take_within_one_and_a_half_of_the_ideal_time():
    """160 questions at 400 ms: ten rounds of sixteen, 4 s ideal. `benchmarks/judging_throughput.py` has the full size."""
    measure(4, 4, 0.0)  # imports and first decode are not what is measured
    for _ in range(3):  # a machine busy with other work may need another try; the client's own speed does not change
        result = measure(160, 16, 0.4)
        if result["ratio"] <= 1.5:
            break
    assert result["most_at_once"] == 16
    assert result["ratio"] <= 1.5, result
    assert result["requests"] == 160, "the second pass must be answered by the recording"
    assert result["recorded_s"] < result["first_s"] / 2
