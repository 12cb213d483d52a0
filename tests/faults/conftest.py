import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("judging", "layouts")]  # a chat server, and datasets
