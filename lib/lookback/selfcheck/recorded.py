"""The recorded values: one row per number, with its tolerance, the reason for the tolerance, and the machine of the recording."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path

from lookback.errors import ContractError, Reason
from lookback.files import write_text
from lookback.registry import BACKENDS
from lookback.selfcheck.measure import Measured

FILE = "recorded.csv"
FACTOR = 4.0  # a tolerance is this many times the largest change under a disturbance
EXACT = 1e-6  # share of the number: float64 sums in another order, and exp, log and sqrt of another library
NETWORK = 1e-4  # share of the number: float32 sums of a network in another order (x86_64, ARM)
# Share of the number on a GPU: cuDNN multiplies in TF32 (10 bits of mantissa). Feature maps, Gram matrices and LPIPS distances of
# such networks changed by up to 4.7e-4 on an H200 (torch 2.11), and by 1.4e-6 without TF32. This is four times the first number.
CUDA = 2e-3
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Recorded:
    """A value that every machine must give within a tolerance, or the reason why there is none."""

    check: str
    clip: str
    part: str
    backend: str
    value: float | None
    reason: str
    tolerance: float
    cuda_tolerance: float  # on a CUDA device
    why: str
    machine: str

    @property
    def key(self) -> Key:
        return (self.check, self.clip, self.part, self.backend)


@dataclass
class Outcome:
    """The result of one check with one set of backends."""

    check: str
    backend: str
    device: str
    state: str  # ok, differs, not usable, not recorded
    numbers: int = 0
    worst: float = 0.0  # the largest difference as a share of its tolerance
    why: str = ""
    remedy: str = ""
    differences: list[str] = field(default_factory=list)


def recorded_path() -> Path:
    return Path(str(resources.files("lookback.selfcheck") / FILE))


def read_recorded(path: Path) -> dict[Key, Recorded]:
    """The rows of a file of recorded values; empty when there is no file yet."""
    if not path.is_file():
        return {}
    try:
        rows = [_row(line) for line in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))]
    except (KeyError, TypeError, ValueError) as error:
        raise ContractError(
            f"{path}: is not a table of recorded values ({error}); write it again with lookback selfcheck --record"
        ) from None
    return {row.key: row for row in rows}


def _row(line: Mapping[str, str]) -> Recorded:
    texts = {name: line[name] for name in ("check", "clip", "part", "backend", "reason", "why", "machine")}
    value = float(line["value"]) if line["value"] else None
    return Recorded(**texts, value=value, tolerance=float(line["tolerance"]), cuda_tolerance=float(line["cuda_tolerance"]))


def write_recorded(path: Path, rows: Iterable[Recorded]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(Recorded)], lineterminator="\n")
    writer.writeheader()
    for row in sorted(rows, key=lambda row: row.key):
        tolerances = {name: f"{getattr(row, name):.3g}" for name in ("tolerance", "cuda_tolerance")}
        writer.writerow({**asdict(row), "value": "" if row.value is None else repr(row.value), **tolerances})
    write_text(path, text.getvalue())


def with_tolerances(rows: Sequence[Measured], disturbed: Mapping[str, Sequence[Measured]], machine: str) -> list[Recorded]:
    """The measured rows as recorded ones. A tolerance depends on how far the number changed under the disturbances."""
    moved = {name: {row.key: row for row in changed if row.device == "cpu"} for name, changed in disturbed.items()}
    spread = {replace(row, part=row.part.removesuffix(" spread")).key: row.value for row in rows if row.part.endswith(" spread")}
    found = []
    for row in rows:
        if row.device != "cpu" or row.reason == Reason.BACKEND_UNAVAILABLE:
            continue
        if row.value is None:
            found.append(Recorded(*row.key, None, row.reason, 0.0, 0.0, "the reason itself is compared", machine))
            continue
        size = max(abs(row.value), spread.get(replace(row, part=row.part.rpartition(" ")[0]).key) or 0.0, 1e-6)
        tolerance, why = _tolerance(row, {name: changed.get(row.key) for name, changed in moved.items()}, size)
        on_cuda = max(tolerance, CUDA * size) if _has_network(row.backend) else tolerance
        found.append(Recorded(*row.key, row.value, "", tolerance, on_cuda, why, machine))
    return found


def _tolerance(row: Measured, changed: Mapping[str, Measured | None], size: float) -> tuple[float, str]:
    """(tolerance, why): a share of the size of the number, or more where a disturbance changed it further."""
    assert row.value is not None
    share, floor_why = (NETWORK, "float32 sums of a network") if _has_network(row.backend) else (EXACT, "float64 sums")
    floor = share * size
    moves = {name: abs(other.value - row.value) for name, other in changed.items() if other is not None and other.value is not None}
    worst = max(moves, key=lambda name: moves[name], default="")
    if worst and FACTOR * moves[worst] > floor:
        return FACTOR * moves[worst], f"{FACTOR:g} x {moves[worst]:.2g}, seen with {worst}"
    return floor, f"{share:g} of the number: {floor_why} in another order; disturbances moved it less"


def _has_network(backend: str) -> bool:
    return any(name in BACKENDS and BACKENDS.get(name).weights for name in backend.split(","))


def difference(row: Measured, known: Recorded) -> float:
    """The difference from the recorded value as a share of the tolerance. More than 1 means that the row differs."""
    if (row.value is None) != (known.value is None):
        return math.inf
    if row.value is None or known.value is None:
        return 0.0 if row.reason == known.reason else math.inf
    tolerance = known.tolerance if row.device == "cpu" else known.cuda_tolerance
    apart = abs(row.value - known.value)
    if not apart <= tolerance:  # also when the difference is NaN
        return apart / tolerance if tolerance > 0 and math.isfinite(apart) else math.inf
    return apart / tolerance if tolerance else 0.0


def compare(rows: Sequence[Measured], recorded: Mapping[Key, Recorded]) -> list[Outcome]:
    """One outcome per check, set of backends and device."""
    groups: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    for row in rows:
        groups[row.check, row.backend, row.device].append(row)
    return [_outcome(Outcome(*key, "ok"), members, recorded) for key, members in groups.items()]


def _outcome(outcome: Outcome, rows: Sequence[Measured], recorded: Mapping[Key, Recorded]) -> Outcome:
    missing = [row for row in rows if row.reason == Reason.BACKEND_UNAVAILABLE]
    if missing:
        outcome.state, outcome.why = "not usable", missing[0].detail
        return outcome
    known = [(row, recorded[row.key]) for row in rows if row.key in recorded]
    outcome.numbers = len(known)
    if not known:
        outcome.state, outcome.why = "not recorded", f"no value was recorded for {outcome.backend}"
        outcome.remedy = "lookback selfcheck --record on a machine that you trust writes one"
        return outcome
    shares = {row.key: difference(row, value) for row, value in known}
    outcome.worst = max(shares.values())
    new = [row for row in rows if row.key not in recorded]
    outcome.differences = [_sentence(row, value) for row, value in known if shares[row.key] > 1]
    outcome.differences += [f"{row.clip} {row.part}: {_shown(row)} here, nothing recorded" for row in new]
    if outcome.differences:
        outcome.state = "differs"
    return outcome


def _sentence(row: Measured, known: Recorded) -> str:
    tolerance = f"tolerance {known.tolerance:.2g} ({known.why})"
    return f"{row.clip} {row.part}: {_shown(row)} here, {_shown(known)} recorded, {tolerance}; recorded on {known.machine}"


def _shown(row: Measured | Recorded) -> str:
    return row.reason if row.value is None else f"{row.value:.8g}"
