"""Dataset layouts: one reader per benchmark, one set of checks for strict validation and lenient loading."""

from lookback.layouts.detection import detect, read
from lookback.layouts.filters import apply_filters
from lookback.layouts.reading import Breach, Item, Reading, Violation

__all__ = ["Breach", "Item", "Reading", "Violation", "apply_filters", "detect", "read"]
