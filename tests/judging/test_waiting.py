"""Back-off: exponential, bounded, jittered, and the same for the same seed."""

from __future__ import annotations

from lookback.judging.asking import Patience


def test_backoff_doubles_within_its_jitter_and_stops_at_the_limit():
    patience = Patience(seed=7, max_wait_s=8.0, first_wait_s=0.5)
    for attempt, full in enumerate((0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)):
        waits = [patience.backoff(f"call {n}", attempt) for n in range(50)]
        assert all(full / 2 <= wait < full for wait in waits)
        assert len(set(waits)) == 50, "calls that failed together must not come back together"


def test_backoff_depends_on_seed_call_and_attempt_alone():
    one, same, other = Patience(7, 8.0), Patience(7, 8.0), Patience(8, 8.0)
    assert one.backoff("a", 1) == same.backoff("a", 1)
    assert one.backoff("a", 1) != other.backoff("a", 1)
    assert one.backoff("a", 1) != one.backoff("b", 1)
