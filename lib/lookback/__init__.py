"""lookback: measure the memory of video world models."""

import os

__version__ = "0.1.0"

# switch off the usage reports of these libraries; they read the variables when they are imported
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
