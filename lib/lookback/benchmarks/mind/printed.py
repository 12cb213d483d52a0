"""MIND's printed tables: only its composition."""

from __future__ import annotations

from lookback.published.printed import Printed, PrintedPaper

PAPER = PrintedPaper(
    "MIND",
    "Only MIND's project page is at hand. It prints no table of results, so MIND takes part in the claims (its composition) and in "
    "no comparison of models.",
    (
        Printed(
            "mind-composition",
            "mind_composition",
            "MIND: videos by perspective and action space",
            labels=("perspective", "action_space"),
        ),
    ),
)
