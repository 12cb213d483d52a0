"""The annotation desk: blind, seeded, crash-safe votes on triggers and pairwise preferences (MBench C.1, WRBench 3.5)."""

from lookback.desk.tasks import DeskTask, build_tasks, order_for
from lookback.desk.votes import VoteBook

__all__ = ["DeskTask", "VoteBook", "build_tasks", "order_for"]
