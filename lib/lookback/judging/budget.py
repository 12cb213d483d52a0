"""How many calls a run may make and what they may cost. Recorded answers are free; a retry is a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Budget:
    """Counts calls and cost of one run; `take` says whether one more fits."""

    max_calls: int | None = None
    max_cost: float | None = None
    price_per_call: float = 0.0
    price_per_million_input: float = 0.0
    price_per_million_output: float = 0.0
    calls: int = 0
    cost: float = 0.0

    def take(self) -> bool:
        """Reserve one call. The call's own price is reserved before it is made; its tokens are charged when they are known."""
        if self.max_calls is not None and self.calls + 1 > self.max_calls:
            return False
        if self.max_cost is not None and self.cost + self.price_per_call > self.max_cost:
            return False
        if self.max_cost is not None and self._tokens_cost and self.cost >= self.max_cost:
            return False
        self.calls += 1
        self.cost += self.price_per_call
        return True

    @property
    def _tokens_cost(self) -> bool:
        return self.price_per_million_input > 0 or self.price_per_million_output > 0

    def charge(self, input_tokens: int, output_tokens: int) -> float:
        """Add what a call's tokens cost; returns the call's whole price."""
        tokens = input_tokens * self.price_per_million_input / 1e6 + output_tokens * self.price_per_million_output / 1e6
        self.cost += tokens
        return self.price_per_call + tokens
