"""lookback: measure the memory of video world models.

    import lookback

    result = lookback.evaluate("data/clips", metrics=["wrbench.visual_integrity"])
    print(result.table())

`lookback.metrics.functional` holds every metric as a function of arrays. What a name needs is imported when it is first used.
"""

import getpass
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookback.evaluation import Result, evaluate

__version__ = "0.1.0"
__all__ = ["Result", "__version__", "evaluate"]

# switch off the usage reports of these libraries; they read the variables when they are imported
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

# Threads of torch that wait for work sleep. Otherwise they spin, and two runs on one machine take the cores from each other:
# three self-checks at once on 16 cores took more than ten minutes instead of 36 s (24 s alone).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:  # torch asks for the user's name and fails for a number without a name, as containers and clusters give one
    getpass.getuser()
except (KeyError, OSError):  # the second from Python 3.13 on
    os.environ["USER"] = f"user{os.getuid()}"


def __getattr__(name: str) -> Any:
    if name in ("Result", "evaluate"):
        return getattr(import_module("lookback.evaluation"), name)
    raise AttributeError(f"module 'lookback' has no attribute '{name}'")
