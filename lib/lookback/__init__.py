"""lookback: measure the memory of video world models."""

__version__ = "0.1.0"
