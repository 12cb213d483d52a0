"""State evolution: how far the unseen process went on, as a judge rates it from 1 to 5 (MBench section 4.4.1)."""

from __future__ import annotations

from lookback.errors import NotScorable, Reason
from lookback.measures.checks import Variant, require_variant

LOWEST, HIGHEST = 1, 5


def rating_score(raw: float, *, variant: Variant = "paper") -> float:
    """(raw - 1) / 4 (paper), raw / 5 (official: the README's examples fit it) of a rating from 1 to 5."""
    require_variant(variant, ("paper", "official"))
    if not LOWEST <= raw <= HIGHEST:
        raise NotScorable(Reason.JUDGE_UNPARSED, f"a rating must lie between {LOWEST} and {HIGHEST}, not {raw}")
    return raw / HIGHEST if variant == "official" else (raw - LOWEST) / (HIGHEST - LOWEST)


def state_progress(raw: float, *, variant: Variant = "paper") -> float:
    """The gating weight g in [0,1]: 0 when nothing happened, 1 when the process is fully realised."""
    return rating_score(raw, variant=variant)
