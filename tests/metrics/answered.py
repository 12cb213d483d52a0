"""Metrics of pixels without a video: the test itself answers what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lookback.scoring.contract import PixelScoring, Scored


def answered(scoring: PixelScoring, answer: Callable[[Any], Any]) -> Scored:
    """The result of a metric that asks once and receives `answer` of its request."""
    request = next(scoring)
    with pytest.raises(StopIteration) as end:
        scoring.send(answer(request))
    result: Scored = end.value.value
    return result
