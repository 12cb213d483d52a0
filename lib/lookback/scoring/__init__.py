"""Scoring: every metric of a clip from one decode, with per-frame units kept for forensics."""

from lookback.scoring.context import ScoringClip
from lookback.scoring.requests import Frames, Paired, PixelScoring, Stream
from lookback.scoring.results import Item, Scored, Unit, mean_item

__all__ = ["Frames", "Item", "Paired", "PixelScoring", "Scored", "ScoringClip", "Stream", "Unit", "mean_item"]
