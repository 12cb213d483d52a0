"""Pairs measured on threads come back complete, in order and with their errors."""

from __future__ import annotations

import time
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from lookback.errors import NotScorable, Reason
from lookback.measures.images import PairComparison, PairQueue, map_pairs


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(request.param)
    yield request.param
    cv2.setNumThreads(before)


def test_results_are_complete_and_in_order(threads: int) -> None:
    def slow_when_even(a: np.ndarray, b: np.ndarray) -> int:
        time.sleep(0.004 if int(a) % 2 == 0 else 0.0)
        return int(a + b)

    assert map_pairs(slow_when_even, [(np.array(i), np.array(100)) for i in range(30)]) == [100 + i for i in range(30)]


def test_a_pair_that_cannot_be_measured_says_so(threads: int) -> None:
    def fail(a: np.ndarray, b: np.ndarray) -> int:
        raise NotScorable(Reason.SIZE_MISMATCH, "3 against 4")

    queue: PairQueue[int] = PairQueue()
    with pytest.raises(NotScorable) as caught:
        queue.push(0, fail, np.zeros(3), np.zeros(4))
        queue.finish()
    assert caught.value.reason is Reason.SIZE_MISMATCH


def test_few_pairs_are_in_flight(threads: int) -> None:
    """A decoder that is faster than the measure must wait: memory does not grow with the video."""
    most = 0

    def measure(a: np.ndarray, b: np.ndarray) -> int:
        time.sleep(0.001)
        return 0

    queue: PairQueue[int] = PairQueue()
    for index in range(40):
        queue.push(index, measure, np.zeros(1), np.zeros(1))
        most = max(most, index + 1 - len(queue.found))
    assert most <= 2 * threads
    assert len(queue.finish()) == 40


def test_threads_do_not_share_buffers(threads: int, rng: np.random.Generator) -> None:
    from lookback.benchmarks.mind.metrics.fidelity import frame_measures

    pairs = [tuple(rng.random((2, 40, 50, 3)).astype(np.float32)) for _ in range(24)]
    alone = []
    for a, b in pairs:
        comparison = PairComparison(a.shape)
        comparison.load(a, b)
        alone.append(comparison.ssim(1.0))
    assert [row["ssim"] for row in map_pairs(frame_measures, pairs)] == alone
