"""The clip inspector: a page with the clips of a run or a folder, their curves, overlays, answers and failures."""

from lookback.inspector.links import open_inspector, open_row
from lookback.inspector.run import RunView

__all__ = ["RunView", "open_inspector", "open_row"]
