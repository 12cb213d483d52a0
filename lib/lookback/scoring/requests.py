"""How a metric asks for pixels. A metric that needs frames is a generator: it yields a request and receives the answer.

A list of requests is answered by a list, in which NotScorable stands for what could not be served.
All metrics of a clip are advanced to their first request; one decode then serves them all. Requests with the same `key` are
answered by one computation, so that PSNR and SSIM share their resized frames.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lookback.scoring.results import Scored


class Consumer(Protocol):
    """Takes frames in order as they are decoded, and sums them up."""

    def push(self, index: int, frame: np.ndarray, truth: np.ndarray | None) -> None: ...

    def finish(self) -> Any: ...


@dataclass(frozen=True)
class Frames:
    """A bounded set of frames by index: answered with {index: frame}, uint8 RGB."""

    indices: np.ndarray


@dataclass(frozen=True)
class Stream:
    """Every frame (or those in `indices`), in order, to a consumer: answered with what it makes of them."""

    key: str
    make: Callable[[], Consumer]
    indices: np.ndarray | None = None


@dataclass(frozen=True)
class Paired:
    """Generated frames with their ground-truth counterparts: frame `indices[k]` meets truth frame `truth[k]` (both ascending)."""

    key: str
    make: Callable[[], Consumer]
    indices: np.ndarray
    truth: np.ndarray


Request = Frames | Stream | Paired
PixelScoring = Generator[Request | list[Request], Any, Scored]  # what a metric that asks for pixels returns
