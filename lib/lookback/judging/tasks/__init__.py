"""The judging tasks, one file each: which clips they ask about, with which prompt and which frames."""

from lookback.judging.tasks.base import TASKS, Sampling, Task, task_named

__all__ = ["TASKS", "Sampling", "Task", "task_named"]
