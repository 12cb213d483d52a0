"""How many frames of a clip LPIPS looks at. On a CPU a pair of frames takes seconds; a run then samples unless told otherwise."""

from __future__ import annotations

from lookback.scoring.contract import ScoringClip


def lpips_step(context: ScoringClip) -> int:
    """LPIPS looks at every n-th frame: `lpips_every`, or as many steps as leave about `lpips_frames` frames of the clip."""
    every, most = int(context.number("lpips_every")), int(context.number("lpips_frames"))
    return every if every > 1 or not most else max(1, -(-context.need("n_frames") // most))


def sampled_words(every: int) -> str:
    """What an item says about it; empty when every frame counts."""
    ending = "th" if every % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(every % 10, "th")
    return f"every {every}{ending} frame" if every > 1 else ""
