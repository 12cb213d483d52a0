"""When to try again: what the server asks for, else exponential back-off with seeded jitter."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import numpy as np

from lookback.files import sha256_json

FIRST_WAIT_S = 0.5


@dataclass
class Patience:
    """One judge's waiting: a pause the server asks for holds every call back, a back-off only the failed one."""

    seed: int
    max_wait_s: float
    first_wait_s: float = FIRST_WAIT_S
    _resume_at: float = field(default=0.0, init=False)

    async def pause(self) -> None:
        """Wait until the server's last request to wait has run out."""
        while (left := self._resume_at - time.monotonic()) > 0:
            await asyncio.sleep(left)

    async def after(self, key: str, attempt: int, wait_s: float | None) -> None:
        """Wait before the next try of this call; `wait_s` is the server's own figure."""
        if wait_s is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + wait_s)
            return await self.pause()
        await asyncio.sleep(self.backoff(key, attempt))

    def backoff(self, key: str, attempt: int) -> float:
        """first * 2^attempt, at most max_wait_s, times a jitter in [0.5, 1) that depends on seed, call and attempt alone."""
        jitter = np.random.default_rng(int(sha256_json([self.seed, key, attempt])[:16], 16)).uniform(0.5, 1.0)
        return float(min(self.first_wait_s * 2**attempt, self.max_wait_s) * jitter)
