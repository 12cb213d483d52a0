"""How long a judge is waited for, and what its calls may cost."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import numpy as np

from lookback.files import sha256_json
from lookback.judging.question import JudgeError

FIRST_WAIT_S = 0.5
ROUNDING = 1 + 1e-9  # so that ten times 0.1 does not exceed 1


@dataclass
class Patience:
    """When to try again. A pause that the server asks for holds back every call; exponential back-off only the failed one.

    After a pause the calls come back one after another, and those that waited most often come first.
    """

    seed: int
    max_wait_s: float
    first_wait_s: float = FIRST_WAIT_S
    given_up: JudgeError | None = field(default=None, init=False)  # why no other question can succeed
    tried: bool = field(default=False, init=False)  # whether a first call has ended
    replies: int = field(default=0, init=False)
    _resume_at: float = field(default=0.0, init=False)
    _spread_s: float = field(default=0.0, init=False)  # how far apart the calls come back after the pause

    def heed(self, error: JudgeError) -> None:
        """Give up where no other question can succeed, or where the server asks for a longer wait than the run allows."""
        if error.retry and (error.wait_s or 0) > self.max_wait_s:
            error.fatal = True
            error.detail += (
                f"; it asks for a wait of {error.wait_s:.0f} s, and judging.max_wait_s allows {self.max_wait_s:g} s: "
                "raise it, or run again later"
            )
        if error.fatal:
            self.given_up = error

    async def pause(self, key: str, waits: int) -> None:
        """Wait until the pause that the server asked for is over, and then for this call's turn."""
        while self._resume_at and (left := self._resume_at + self._turn(key, waits) - time.monotonic()) > 0:
            await asyncio.sleep(left)

    def wait_s(self, key: str, attempt: int, asked_s: float | None) -> float:
        """How long this call waits before it is tried again: the back-off, or longer if the server asks for it, as all do then."""
        if asked_s:
            self._resume_at = max(self._resume_at, time.monotonic() + asked_s)
            self._spread_s = asked_s / 2
        return max(asked_s or 0.0, self.backoff(key, attempt))

    def backoff(self, key: str, attempt: int) -> float:
        """first * 2^attempt, at most max_wait_s, times a jitter in [0.5, 1) that depends only on seed, call and attempt."""
        return min(self.first_wait_s * 2**attempt, self.max_wait_s) * (0.5 + 0.5 * self._random(key, attempt))

    def _turn(self, key: str, waits: int) -> float:
        """The seconds between the end of a pause and this call."""
        return self._spread_s * self._random(key, "turn", waits) / (1 + waits)

    def _random(self, *of: object) -> float:
        """A number in [0, 1) that depends only on the seed and on these values."""
        return float(np.random.default_rng(int(sha256_json([self.seed, *of])[:16], 16)).uniform())


@dataclass
class Budget:
    """How many calls a run may make and what they may cost. Recorded answers are free; a retry is a call.

    The price of a call's tokens is known only when the call has ended. A call under way is therefore taken to cost as much as the
    most expensive one so far, and until a price is known, only one call is made at a time. `max_cost` is exceeded only where a
    call costs more than all before it.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    price_per_call: float = 0.0
    price_per_million_input: float = 0.0
    price_per_million_output: float = 0.0
    calls: int = 0
    cost: float = 0.0
    _under_way: int = field(default=0, init=False)
    _highest: float | None = field(default=None, init=False)  # the highest price of one call's tokens so far
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, init=False)

    async def room(self) -> bool:
        """Whether one more call fits; waits for calls under way where the answer depends on what they cost."""
        while self.max_calls is None or self.calls < self.max_calls:
            if self._fits():
                return True
            if self._under_way == 0:
                return False
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        return False

    def take(self) -> None:
        """Count one call and its fixed price; its tokens are counted when it has ended."""
        self.calls += 1
        self.cost += self.price_per_call
        self._under_way += 1

    def charge(self, input_tokens: int, output_tokens: int) -> float:
        """Add the price of a call's tokens; returns it."""
        tokens = input_tokens * self.price_per_million_input / 1e6 + output_tokens * self.price_per_million_output / 1e6
        self.cost += tokens
        self._highest = max(self._highest or 0.0, tokens)
        return tokens

    def ended(self) -> None:
        """A call has ended, with a reply or without."""
        self._under_way -= 1
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def _fits(self) -> bool:
        if self.max_cost is None:
            return True
        most = self.max_cost * ROUNDING
        if self.cost + self.price_per_call > most:
            return False
        if not self._tokens_cost:
            return True
        if self._highest is None:
            return self._under_way == 0 and self.cost < self.max_cost
        return self.cost + self.price_per_call + (self._under_way + 1) * self._highest <= most

    @property
    def _tokens_cost(self) -> bool:
        return self.price_per_million_input > 0 or self.price_per_million_output > 0
