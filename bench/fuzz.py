"""Spoil valid files in many ways and have every reader read them: a sentence or a typed reason, or the same result, nothing else.

    python bench/fuzz.py [--cases 200] [--seed 0] [--only NAME]

Each case has a limit of time and of memory. Prints the inputs tried per reader and what failed; exits with 1 if
anything did.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fuzz_mutations import mutations_of
from fuzz_readers import Reader, all_readers
from lookback.errors import LookbackError, NotScorable
from lookback.layouts import Breach

TYPED = (LookbackError, NotScorable, Breach)
LIMIT_S = 10.0  # of the processor: a crowded machine may stand still for longer
HUNG_S = 900.0  # of the clock, for a reader that waits for ever and computes nothing
LIMIT_BYTES = 1 << 30  # more than this beyond what the process had is unbounded: the files are a few kB


@dataclass
class Outcome:
    """One reader's cases."""

    tried: int = 0
    refused: int = 0  # with a typed error; the others read something
    failures: list[str] = field(default_factory=list)


class TooLong(BaseException):
    """Raised by the clock; no reader may catch it."""


def fuzz(reader: Reader, cases: int, random: np.random.Generator) -> Outcome:
    """`cases` spoilt versions of the reader's file; the file is put back afterwards."""
    valid, outcome = reader.path.read_bytes(), Outcome()
    reader.read()  # the valid file is read without complaint, else the cases say nothing
    choices = mutations_of(reader.path.suffix)
    for _ in range(cases):
        mutate = choices[random.integers(0, len(choices))]
        spoilt = mutate(valid, random)
        reader.path.write_bytes(spoilt)
        problem = attempt(reader, outcome)
        if problem:
            kept = Path(tempfile.gettempdir()) / f"fuzz-{reader.name.replace(' ', '_')}-{outcome.tried}{reader.path.suffix}"
            kept.write_bytes(spoilt)
            outcome.failures.append(f"{reader.name}: {mutate.__name__}: {problem} ({kept})")
    reader.path.write_bytes(valid)
    return outcome


def attempt(reader: Reader, outcome: Outcome) -> str:
    """What went wrong, in words; empty when the reader did its duty."""
    outcome.tried += 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with time_limit():
            reader.read()
    except TYPED:
        outcome.refused += 1
    except TooLong:
        return f"took more than {LIMIT_S:g} s of the processor, or {HUNG_S:g} s of the clock"
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:100]} at {Path(frame.filename).name}:{frame.lineno}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return f"took {grown >> 20} MiB" if grown > LIMIT_BYTES else ""


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooLong

    clocks = [(signal.ITIMER_PROF, signal.SIGPROF, LIMIT_S), (signal.ITIMER_REAL, signal.SIGALRM, HUNG_S)]
    before = [signal.signal(number, ring) for _, number, _ in clocks]
    for timer, _, seconds in clocks:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Warnings of numpy and progress bars are no failures and hide the summary."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200, help="per reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose name contains this")
    arguments = parser.parse_args()
    failures: list[str] = []
    tried = 0
    print(f"{'reader':<40} {'tried':>6} {'refused':>8} {'failures':>9}")
    with tempfile.TemporaryDirectory() as folder, quiet():
        for number, reader in enumerate(all_readers(Path(folder))):
            if arguments.only in reader.name:
                outcome = fuzz(reader, arguments.cases, np.random.default_rng([arguments.seed, number]))
                print(f"{reader.name:<40} {outcome.tried:>6} {outcome.refused:>8} {len(outcome.failures):>9}", flush=True)
                failures += outcome.failures
                tried += outcome.tried
    for failure in failures:
        print(failure)
    print(f"inputs tried {tried}, failures {len(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
