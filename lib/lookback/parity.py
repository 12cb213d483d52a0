"""Ours beside the released program: the rows that `lookback parity` prints, and the child process that runs the released code.

The released code is never imported here. It runs in a Python process of its own, with its folders on PYTHONPATH and a small driver
that a benchmark's `parity` module writes. Arrays and plain values go in and out as files; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lookback.array_files import MAX_BYTES, read_arrays
from lookback.errors import ContractError
from lookback.names import one_line

EQUAL, DIFFERS, CANNOT_RUN = "equal", "differs", "cannot run"
TIME_LIMIT_S = 1800.0

Value = str | float | bool | None | Sequence["Value"] | Mapping[str, "Value"] | np.ndarray  # what a driver may be given


@dataclass(frozen=True)
class ParityRow:
    """One number of ours beside the released program's. `note` says why a side that gives None could not run.

    None without a note, or NaN, means that the program ran and refuses the input; two of them are equal.
    """

    metric: str
    case: str  # the clip or the made-up input
    ours: float | None
    theirs: float | None
    tolerance: float = 0.0  # the largest difference that still counts as equal
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus theirs; None where one side gives no number."""
        if self.ours is None or self.theirs is None or np.isnan(self.ours) or np.isnan(self.theirs):
            return None
        return 0.0 if self.ours == self.theirs else self.ours - self.theirs

    @property
    def verdict(self) -> str:
        if self.note and (self.ours is None or self.theirs is None):
            return CANNOT_RUN
        if self.difference is None:
            return EQUAL if _refuses(self.ours) and _refuses(self.theirs) else DIFFERS
        return EQUAL if abs(self.difference) <= self.tolerance else DIFFERS


def _refuses(value: float | None) -> bool:
    return value is None or bool(np.isnan(value))


@dataclass(frozen=True)
class Released:
    """What a driver gave back: arrays by name, and a note for every name that it could not give ("" is the note of all others)."""

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def note(self, name: str) -> str:
        """Why there is no value of this name; empty when there is one."""
        if name in self.arrays:
            return ""
        return self.notes.get(name) or self.notes.get("") or f"the driver gave no value '{name}'"

    def number(self, name: str) -> float | None:
        """A single number; None when it could not be computed."""
        return float(self.arrays[name].reshape(())) if name in self.arrays else None

    def row(self, metric: str, case: str, ours: float | None, name: str, tolerance: float = 0.0, note: str = "") -> ParityRow:
        """Our number beside theirs of this name."""
        return ParityRow(metric, case, ours, self.number(name), tolerance, note or self.note(name))


def run_released(
    peer: Path,
    driver: str,
    inputs: Mapping[str, Value] | None = None,
    *,
    folders: Sequence[str] = (".",),
    environment: Mapping[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Released:
    """Run `driver` (Python source) in a child process with `folders` of the released program's checkout on PYTHONPATH.

    The driver finds `inputs` as a dictionary and calls `give(name, value)` for what it computed, or `attempt(name, function)`,
    which gives the function's value and turns an error into the note of that name. None becomes NaN. Whatever fails becomes a note.
    """
    missing = [name for name in folders if not (peer / name).is_dir()]
    if missing:
        return Released(notes={"": f"{peer} has no folder '{missing[0]}'"})
    with TemporaryDirectory(prefix="lookback-parity-") as name:
        folder = Path(name)
        arrays = {key: value for key, value in (inputs or {}).items() if isinstance(value, np.ndarray)}
        np.savez(folder / "inputs.npz", allow_pickle=False, **arrays)
        plain = {key: value for key, value in (inputs or {}).items() if key not in arrays}
        (folder / "inputs.json").write_text(json.dumps(plain), encoding="utf-8")
        (folder / "driver.py").write_text(driver, encoding="utf-8")
        (folder / "child.py").write_text(_CHILD, encoding="utf-8")
        error = _run_child(folder, [str((peer / name).resolve()) for name in folders], environment or {}, time_limit_s)
        return _given(folder, error)


def _run_child(folder: Path, paths: list[str], environment: Mapping[str, str], time_limit_s: float) -> str:
    """Run the child to its end. Returns why it failed; empty when it did not."""
    surroundings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",  # the checkout stays as it is
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        **environment,
    }
    child = subprocess.Popen(
        [sys.executable, "child.py"],
        cwd=folder,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that its own children end with it
    )
    try:
        _, told = child.communicate(timeout=time_limit_s)
    except subprocess.TimeoutExpired:
        return f"the released program did not end within {time_limit_s:g} s"
    finally:
        if child.poll() is None:  # too slow, or the user stopped us: its whole group ends
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    last = [line for line in told.decode(errors="replace").splitlines() if line.strip()][-1:]
    return _short(f"the child process ended with {child.returncode}: {''.join(last)}") if child.returncode else ""


def _short(text: str) -> str:
    return one_line(" ".join(text.split()))[:300]


def _given(folder: Path, error: str) -> Released:
    """What the child wrote, and why it wrote no more."""
    notes = {"": error} if error else {}
    try:
        arrays = read_arrays(folder / "given.npz", MAX_BYTES)
        notes |= {name: _short(text) for name, text in json.loads((folder / "notes.json").read_text("utf-8")).items()}
    except (ContractError, OSError, ValueError):
        return Released(notes=notes or {"": "the driver wrote no result"})
    return Released(arrays, notes)


_CHILD = """
import json
import numpy as np

arrays, notes = {}, {}


def give(name, value):
    array = np.asarray(np.nan if value is None else value)
    arrays[name] = array.astype(float) if array.dtype == object else array


def attempt(name, function):
    try:
        give(name, function())
    except Exception as error:
        notes[name] = f"{type(error).__name__}: {error}"


inputs = json.load(open("inputs.json", encoding="utf-8"))
inputs.update(np.load("inputs.npz"))
try:
    exec(compile(open("driver.py", encoding="utf-8").read(), "driver.py", "exec"), globals())
except BaseException as error:
    notes[""] = f"{type(error).__name__}: {error}"
np.savez("given.npz", **arrays)
json.dump(notes, open("notes.json", "w", encoding="utf-8"))
"""
