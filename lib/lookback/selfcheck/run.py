"""The whole self-check: measure, then compare with the recorded values or record new ones."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from lookback.backends.choose import availability
from lookback.machine import described, gpu, machine
from lookback.registry import BACKENDS, METRICS, BackendSpec, backends_of
from lookback.selfcheck.clips import write_samples
from lookback.selfcheck.measure import Measured, measure
from lookback.selfcheck.recorded import Outcome, compare, read_recorded, recorded_path, with_tolerances, write_recorded
from lookback.selfcheck.sensitivity import disturbed_rows

STATES = ("ok", "differs", "not usable", "not recorded")


@dataclass(frozen=True)
class Report:
    """The machine, and the result of every check on it."""

    machine: dict[str, str]
    outcomes: list[Outcome]

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(outcome.state for outcome in self.outcomes)
        return {state: found[state] for state in STATES}

    @property
    def sound(self) -> bool:
        return not self.counts["differs"]


def selfcheck(named: Mapping[str, str] | None = None, recorded: Path | None = None, spoilt: bool = False) -> Report:
    """Score the sample clips on this machine and compare. With `spoilt` the clips have errors, and the results must differ."""
    rows = measured(named or {}, spoilt)
    outcomes = compare(rows, read_recorded(recorded or recorded_path()))
    for outcome in outcomes:
        if outcome.state == "not usable":
            outcome.remedy = _remedy(outcome)
    return Report(machine(), outcomes + _without_clip(outcomes) + _unusable())


def record(named: Mapping[str, str] | None = None, recorded: Path | None = None) -> int:
    """Measure with and without disturbances and write new recorded values; returns their number.

    Rows of backends that are not usable here stay.
    """
    path = recorded or recorded_path()
    say = lambda what: print(f"lookback: measuring under: {what}", file=sys.stderr)  # noqa: E731
    rows = measured(named or {})
    made = with_tolerances(rows, disturbed_rows(named or {}, say), f"{described()}; {date.today().isoformat()}")
    kept = [row for row in read_recorded(path).values() if not _usable_here(row.backend)]
    write_recorded(path, {row.key: row for row in [*kept, *made]}.values())
    return len(made)


def measured(named: Mapping[str, str], spoilt: bool = False) -> list[Measured]:
    """Every number of this machine; with a CUDA device also the numbers of the networks on it."""
    devices: Sequence[str] = ("cpu", "cuda") if gpu() else ("cpu",)
    with tempfile.TemporaryDirectory(prefix="lookback-selfcheck-") as scratch:
        samples = write_samples(Path(scratch) / "clips", spoilt)
        return measure(samples, named, Path(scratch), devices)


def _usable_here(backend: str) -> bool:
    specs = [BACKENDS.get(name) for name in backend.split(",") if name in BACKENDS]
    return all(availability(spec).usable for spec in specs)


def _without_clip(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The metrics that no sample clip is for: nothing is known about them here."""
    checked = {outcome.check for outcome in outcomes}
    why = "the self-check makes no clip that this metric is for"
    return [Outcome(spec.name, "", "cpu", "not recorded", why=why) for spec in METRICS if spec.name not in checked]


def _unusable() -> list[Outcome]:
    """Every backend that is not usable here, with the reason and the remedy."""
    found = []
    for spec in BACKENDS:
        state = availability(spec)
        if not state.usable:
            found.append(Outcome(spec.key, spec.key, "cpu", "not usable", why=state.why, remedy=state.remedy))
    return found


def _remedy(outcome: Outcome) -> str:
    """What would make the missing backend of a metric usable; the models of the papers come first."""
    spec = METRICS.get(outcome.check) if outcome.check in METRICS else None
    roles = (*spec.roles, *spec.tools) if spec else (outcome.check.partition("=")[0],)
    candidates: list[BackendSpec] = [each for role in roles for each in backends_of(role)]
    remedies = [availability(each).remedy for each in candidates if not availability(each).usable]
    return next(filter(None, remedies), "run lookback doctor to see what is missing")
