"""How long the rest of a run takes: as its stages took the last time, else as the recorded run of the demo did.

`demo_timings.json` holds the demo's seconds per stage (`make readme` records them). A run of other clips on which nothing was
measured yet is estimated from it by the number of frames, once curation has counted them. What is done so far says how much
faster or slower this machine is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lookback.params import RunParams
from lookback.pipeline.dag import Stage, upstream

RECORDED = Path(__file__).with_name("demo_timings.json")
AT_ONCE = 2  # stages that run at the same time
SLOWER = (0.25, 8.0)  # a finished stage's pace counts within these limits: a stage that found its work in the store is no measure


@dataclass(frozen=True)
class Running:
    """How long a stage has been running, and what its own progress says is left."""

    elapsed: float
    told: float = 0.0

    def left(self, expected: float) -> float:
        """What is left. A stage that takes longer than expected is never said to be almost done."""
        return max(1.0, expected - self.elapsed, self.told, self.elapsed / 10)


NOT_STARTED = Running(0.0)


@dataclass
class TimeLeft:
    """What the stages of a run are expected to take, and what those of this call took."""

    params: RunParams
    wanted: Sequence[Stage]
    expected: dict[str, float] = field(default_factory=dict)
    source: str = ""
    took: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._expect()

    def finished(self, stage: Stage, seconds: float) -> None:
        """Note what a stage took. After curation, clips that were never measured can be estimated by their frames."""
        self.took[stage.name] = seconds
        if not self.expected:
            self._expect()

    def seconds(self, done: set[str], running: Mapping[str, Running]) -> float | None:
        """Seconds until the wanted stages are done. None where it is not known."""
        if not self.expected:
            return None
        pace = self._pace()
        left = {
            stage.name: running.get(stage.name, NOT_STARTED).left(self.expected[stage.name] * pace)
            for stage in self.wanted
            if stage.name not in done
        }
        return schedule_length([stage for stage in self.wanted if stage.name in left], left, set(running))

    def words(self, done: set[str], running: Mapping[str, Running]) -> str:
        """The same as a person says it."""
        if all(stage.name in done for stage in self.wanted):
            return "done"
        left = self.seconds(done, running)
        return "time left not known" if left is None else f"about {duration(left)} left"

    def first_words(self) -> str:
        """What is said before anything runs."""
        left = self.seconds(set(), {})
        if left is None:
            return "how long all of it takes is not known on a first run; an estimate comes when the clips are counted"
        return f"all of it takes about {duration(left)} ({self.source})"

    def _expect(self) -> None:
        """Fill `expected` from the best source there is."""
        recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
        own = {stage.name: seconds for stage in self.wanted if (seconds := self._last_time(stage)) is not None}
        if len(own) == len(self.wanted):
            self.expected, self.source = own, "as the last time"
        elif self.params.curation.world is not None:
            self.expected, self.source = recorded["stages"] | own, f"as the demo took on {recorded['machine']}"
        elif frames := self._frames():
            by_frames = {name: took * frames / recorded["frames"] for name, took in recorded["stages"].items()}
            self.expected, self.source = by_frames | own, "a rough guess by the number of frames"

    def _last_time(self, stage: Stage) -> float | None:
        try:
            return float(json.loads((self.params.paths.stages / f"{stage.name}.json").read_text())["seconds"])
        except (OSError, ValueError, KeyError):
            return None

    def _pace(self) -> float:
        known = [name for name in self.took if name in self.expected]
        expected = sum(self.expected[name] for name in known)
        slow = sum(self.took[name] for name in known) / expected if expected else 1.0
        return min(max(slow, SLOWER[0]), SLOWER[1])

    def _frames(self) -> int:
        """The frames of all clips; 0 before curation has counted them."""
        from pyarrow import parquet  # imported here, because a run with nothing to do does not need it

        clips = self.params.paths.tables / "clips.parquet"
        counted = parquet.read_table(clips, columns=["n_frames"])["n_frames"].to_pylist() if clips.is_file() else []
        return sum(number or 0 for number in counted)


def schedule_length(stages: Sequence[Stage], left: Mapping[str, float], running: set[str]) -> float:
    """How long the stages take when each starts as soon as those it reads are done, at most two at a time."""
    ends: dict[str, float] = {}
    for stage in sorted(stages, key=lambda stage: stage.name not in running):  # what runs already needs no place
        ready = max((ends[other.name] for other in upstream(stage) if other.name in ends), default=0.0)
        busy = sorted((end for end in ends.values() if end > ready), reverse=True)
        begin = ready if stage.name in running or len(busy) < AT_ONCE else busy[AT_ONCE - 1]
        ends[stage.name] = begin + left[stage.name]
    return max(ends.values(), default=0.0)


def duration(seconds: float) -> str:
    """Seconds as a person says them: 40 s, 3 min, 2 h 10 min."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
