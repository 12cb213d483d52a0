"""What works on this machine: every backend and judge, why one does not work, and what would make it work."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from lookback.errors import LookbackError
from lookback.extras import remedy
from lookback.limits import cores
from lookback.machine import package_version
from lookback.paths import find_project
from lookback.registry import BACKENDS, JUDGES, Availability, backends_of
from lookback.weights import cache_folder, read_lock

COLUMNS = ["role", "backend", "embedded", "usable", "why", "remedy", "title", "weights"]
WIDTH = 100  # of the short page
ENVIRONMENT, JUDGE = "environment", "judge"
PACKAGES = {  # the name of the package -> its module
    "torch": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "onnxruntime": "onnxruntime",
    "dlib-bin": "dlib",
    "insightface": "insightface",
    "lpips": "lpips",
    "open_clip_torch": "open_clip",
    "sam2": "sam2",
    "papermill": "papermill",
    "openai": "openai",
    "ray": "ray",
}


def report() -> pd.DataFrame:
    """One row per fact about the environment, per backend (the papers' models first) and per judge."""
    rows = _environment_rows()
    for role in sorted({spec.role for spec in BACKENDS}):
        for spec in backends_of(role):
            rows.append(_row(role, spec.name, spec.embedded, _ask(spec.available), spec.title, _pins(spec.weights)))
    for judge in JUDGES:
        rows.append(_row(JUDGE, judge.name, not judge.looks, _ask(judge.available), judge.title, ""))
    return pd.DataFrame(rows, columns=COLUMNS)


def every_line(frame: pd.DataFrame) -> Iterator[str]:
    """All rows of the report, by role, each with why it is not usable and the remedy."""
    for role, rows in frame.groupby("role", sort=False):
        yield str(role)
        for row in rows.to_dict("records"):
            state = "usable" if row["usable"] else "not usable"
            yield f"  {row['backend']:22} {state:11} ({_kind(row)}) {row['why']}".rstrip()
            if not row["usable"] and row["remedy"]:
                yield f"  {'':22} -> {row['remedy']}"


def _kind(row: Mapping[Hashable, Any]) -> str:
    if row["embedded"]:
        return "embedded"
    return "looks at frames" if row["role"] == JUDGE else "made elsewhere" if row["backend"] == "files" else "paper's model"


def summary_lines(frame: pd.DataFrame) -> Iterator[str]:
    """The report on half a page: what works, what does not, and the next command to run."""
    facts = frame[frame["role"] == ENVIRONMENT].set_index("backend")
    backends = frame[~frame["role"].isin([ENVIRONMENT, JUDGE])]
    judges = frame[frame["role"] == JUDGE]
    here = facts["why"]
    yield f"Machine: Python {here['python']}, {here['cpu cores']} cores, {here['device']}"
    yield ""
    yield "Works"
    yield from _group("embedded models", _by_role(backends[backends["embedded"] & backends["usable"]]))
    yield from _group("papers' models", _by_role(backends[~backends["embedded"] & backends["usable"]]))
    yield from _group("judges", list(judges[judges["usable"]]["backend"]))
    yield ""
    yield "Does not work"
    yield from _group("packages", list(facts[~facts["usable"]].index))
    yield from _group("embedded models", _by_role(backends[backends["embedded"] & ~backends["usable"]]))
    yield from _group("papers' models", _by_role(backends[~backends["embedded"] & ~backends["usable"]]))
    yield from _group("judges", list(judges[~judges["usable"]]["backend"]))
    yield ""
    yield "Why, and what to do about it: lookback doctor --all"
    yield f"Next: {next_command(frame)}"


def _by_role(rows: pd.DataFrame) -> list[str]:
    """The backends as `role: name, name`. Files made elsewhere are no model and always work."""
    rows = rows[rows["backend"] != "files"]
    return [f"{role} ({', '.join(names['backend'])})" for role, names in rows.groupby("role", sort=True)]


def _group(title: str, names: list[str]) -> Iterator[str]:
    """The names behind the title, as many to a line as fit; a name is never broken."""
    if names:
        line = f"  {title + ':':18}"
        for name in names[:-1]:
            line = yield from _next_word(line, f"{name}, ")
        line = yield from _next_word(line, names[-1])
        yield line


def _next_word(line: str, word: str) -> Generator[str, None, str]:
    if len(line) + len(word) > WIDTH:
        yield line.rstrip()
        line = " " * 20
    return line + word


def next_command(frame: pd.DataFrame) -> str:
    """What to run now: set up what is missing, else make a report, else look at the one that is there."""
    broken = frame[(frame["role"] != JUDGE) & frame["embedded"] & ~frame["usable"]]
    if len(broken):
        return str(broken.iloc[0]["remedy"]).removeprefix("Run: ")
    project = find_project()
    if project is None:
        return "lookback init study && cd study && make report"
    made = sorted((project / "outputs").glob("*/report.html"), key=lambda page: page.stat().st_mtime)
    if not made:
        return "make report (renders the demo and writes outputs/demo/report.html)"
    return f"lookback inspect --run {made[-1].parent.name} (or open outputs/{made[-1].parent.name}/report.html)"


def _facts() -> dict[str, str]:
    """The versions of Python and of the libraries, the device, and the folder of the weights."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu cores": str(cores()),
        "av (FFmpeg)": _ffmpeg(),
        "opencv-python": package_version("opencv-python"),
        "device": _device(),
        "weights cache": str(cache_folder()),
        **{name: package_version(name) for name in PACKAGES},
    }


def _environment_rows() -> list[dict[str, object]]:
    rows = []
    for name, value in _facts().items():
        missing = value == ""
        state = Availability(not missing, value or "not installed", remedy(PACKAGES[name]) if missing else "")
        rows.append(_row(ENVIRONMENT, name, True, state, "", ""))
    return rows


def _row(role: str, name: str, embedded: bool, state: Availability, title: str, weights: str) -> dict[str, object]:
    values = (role, name, embedded, state.usable, state.why, state.remedy, title, weights)
    return dict(zip(COLUMNS, values, strict=True))


def _ask(available: Callable[[], Availability]) -> Availability:
    """Ask a backend whether it works. One that raises an error is not usable; the others are still reported."""
    try:
        return available()
    except LookbackError as error:
        return Availability(False, str(error), getattr(error, "remedy", ""))
    except Exception as error:
        return Availability(False, f"asking it raised {type(error).__name__}: {error}")


def _pins(names: tuple[str, ...]) -> str:
    lock = read_lock()
    return ", ".join(
        f"{name}@{lock[name].revision or 'unversioned'}" if name in lock else f"{name} (not in the lock)" for name in names
    )


def _ffmpeg() -> str:
    if importlib.util.find_spec("av") is None:
        return ""
    import av

    libraries = ", ".join(f"{name} {'.'.join(map(str, number))}" for name, number in sorted(av.library_versions.items()))
    return f"{av.__version__} ({libraries})"


def _device() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu (torch is not installed)"
    import torch

    if not torch.cuda.is_available():
        return "cpu (torch sees no CUDA device)"
    free, total = torch.cuda.mem_get_info()
    return f"cuda: {torch.cuda.get_device_name()}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free"
