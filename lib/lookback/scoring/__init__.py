"""Scoring: every metric of a clip from one decode, with per-frame units kept for forensics."""

from lookback.scoring.contract import Frames, Item, Paired, PixelScoring, Scored, ScoringClip, Stream, Unit, mean_item

__all__ = ["Frames", "Item", "Paired", "PixelScoring", "Scored", "ScoringClip", "Stream", "Unit", "mean_item"]
