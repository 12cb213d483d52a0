"""The clip inspector: a page that shows a run's clips with their curves, overlays, answers and failures."""

from lookback.inspector.links import deep_link, open_inspector, open_row
from lookback.inspector.run import RunView

__all__ = ["RunView", "deep_link", "open_inspector", "open_row"]
