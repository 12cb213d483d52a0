"""Named values of each sampled frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lookback.artifacts import FrameRows, Quality

Measure = Callable[[np.ndarray], dict[str, np.ndarray]]


class QualityJob:
    """`measure` takes frames uint8 (n,H,W,3), at most `batch_size`, and gives values (n,) by the names of `made`'s fields."""

    def __init__(
        self, measure: Measure, batch_size: int, wants: np.ndarray, facts: dict[str, Any], made: Callable[..., FrameRows] = Quality
    ):
        self.measure, self.batch_size, self.wants, self.facts, self.made = measure, batch_size, wants, facts, made
        self.indices: list[np.ndarray] = []
        self.values: dict[str, list[np.ndarray]] = {}

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.indices.append(np.asarray(indices, np.int64))
        for start in range(0, len(frames), self.batch_size):
            for name, values in self.measure(frames[start : start + self.batch_size]).items():
                self.values.setdefault(name, []).append(np.asarray(values, np.float32).reshape(-1))

    def finish(self) -> FrameRows:
        measures = {name: np.concatenate(parts) for name, parts in self.values.items()}
        means = {name: round(float(values.mean()), 4) for name, values in measures.items()}
        return self.made(frame_index=np.concatenate(self.indices), **measures, facts={**self.facts, "means": means})
