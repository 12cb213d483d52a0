"""Dataset layouts: how folders and files are read into clips, and which checks they pass. Each benchmark has its own reader."""

from lookback.layouts.detection import detect, read
from lookback.layouts.filters import apply_filters
from lookback.layouts.reading import Breach, ClipRef, Reading, Violation

__all__ = ["Breach", "ClipRef", "Reading", "Violation", "apply_filters", "detect", "read"]
