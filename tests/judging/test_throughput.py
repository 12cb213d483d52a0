"""The client uses all its connections: a small run of the speed script that counts calls instead of time."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from judging_throughput import measure


def test_sixteen_calls_are_open_at_every_moment():
    """One question, then 160 to a server that answers in groups of sixteen: with fewer open calls they would wait for ever."""
    result = measure(161, 16, 0.0, together=16)
    assert result["most_at_once"] == 16
    assert result["requests"] == 161, "the second pass must be answered by the recording"
