"""How many calls a run may make and what they may cost. Recorded answers are free; a retry is a call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

ROUNDING = 1 + 1e-9  # ten times 0.1 is 1


@dataclass
class Budget:
    """Counts calls and cost of one run.

    What a call's tokens cost is known when it has ended, so each one under way is taken as dear as the dearest so far; until
    a price is known, one call is made at a time. `max_cost` is exceeded only where calls turn out dearer than all before them.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    price_per_call: float = 0.0
    price_per_million_input: float = 0.0
    price_per_million_output: float = 0.0
    calls: int = 0
    cost: float = 0.0
    _under_way: int = field(default=0, init=False)
    _dearest: float | None = field(default=None, init=False)  # the tokens of one call
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, init=False)

    async def room(self) -> bool:
        """Whether one more call fits; waits for those under way where that depends on what they cost."""
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
        """One call is made: its own price is counted at once, its tokens when it has ended."""
        self.calls += 1
        self.cost += self.price_per_call
        self._under_way += 1

    def charge(self, input_tokens: int, output_tokens: int) -> float:
        """Add what a call's tokens cost; returns the call's whole price."""
        tokens = input_tokens * self.price_per_million_input / 1e6 + output_tokens * self.price_per_million_output / 1e6
        self.cost += tokens
        self._dearest = max(self._dearest or 0.0, tokens)
        return self.price_per_call + tokens

    def ended(self) -> None:
        """A call is over, with a reply or without."""
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
        if self._dearest is None:
            return self._under_way == 0 and self.cost < self.max_cost
        return self.cost + self.price_per_call + (self._under_way + 1) * self._dearest <= most

    @property
    def _tokens_cost(self) -> bool:
        return self.price_per_million_input > 0 or self.price_per_million_output > 0
