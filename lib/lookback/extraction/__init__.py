"""Extraction: every artifact of a clip from one decode, kept in the store."""

from lookback.extraction.onepass import Made, extract_clip
from lookback.extraction.run import extract_run

__all__ = ["Made", "extract_clip", "extract_run"]
