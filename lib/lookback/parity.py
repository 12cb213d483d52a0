"""Our metrics beside the released programs: one row per number that both compute from the same input."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ParityRow:
    """One comparison. `theirs` is None where the released code cannot run; `note` then says why."""

    metric: str
    case: str  # the clip or the made-up input
    ours: float | None
    theirs: float | None
    tolerance: float = 0.0  # the largest difference that still counts as equal
    note: str = ""

    @property
    def difference(self) -> float | None:
        return None if self.ours is None or self.theirs is None else self.ours - self.theirs

    @property
    def verdict(self) -> str:
        """equal, differs, or cannot run. Two missing scores are equal: both programs refuse the input."""
        if self.theirs is None and self.note:
            return "cannot run"
        if self.difference is None:
            return "equal" if self.ours is self.theirs else "differs"
        return "equal" if abs(self.difference) <= self.tolerance else "differs"
