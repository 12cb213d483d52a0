"""Where the self-check scores its clips as MBench's, and the ratings it takes for given."""

from __future__ import annotations

PLACES = tuple((setting, subset) for setting in "AT" for subset in ("environment", "object", "causal"))
FACES = (("A", "human"), ("T", "human"))


def answers(spoilt: bool) -> dict[str, dict[str, str | float]]:
    """Task -> question -> answer; `spoilt` changes some."""
    return {"state_progress": {"state_progress": 2.0 if spoilt else 4.0}, "progress_correctness": {"progress_correctness": 3.0}}
