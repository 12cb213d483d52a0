"""What a run needs before it starts: the model of every role, which of them are missing, and the command that brings each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO
from shutil import get_terminal_size

import pandas as pd

from lookback import runners
from lookback.backends.choose import availability, candidates, obtainable, whole
from lookback.clips import Clip
from lookback.errors import BackendUnavailable
from lookback.extraction.identity import GT_ROLES
from lookback.extraction.run import backend_for, extracted_roles
from lookback.extras import EXTRA_OF, installed, remedy
from lookback.layouts import apply_filters, read
from lookback.params import RunParams
from lookback.registry import BENCHMARKS, METRICS, BackendSpec
from lookback.weights import present, read_lock
from lookback.weights.cache import remedy as weight_remedy

MEGABYTES_PER_SECOND = 12.5  # of a line of 100 Mbit/s, for the expected time of a download
COLUMNS = ["role", "model", "needed by", "size", "licence", "install with", "time at 100 Mbit/s"]


@dataclass
class Need:
    """A model that clips of a run need, and the metrics that ask for it."""

    role: str
    spec: BackendSpec
    missing: bool
    users: dict[str, set[str]] = field(default_factory=dict)  # benchmark -> metrics; none: judges and rules read it

    @property
    def used_by(self) -> str:
        parts = []
        for benchmark, metrics in sorted(self.users.items()):
            short = sorted(name.removeprefix(f"{benchmark}.") for name in metrics)
            parts.append(f"{BENCHMARKS.get(benchmark).title}: {', '.join(short) or 'judges and rules'}")
        return "; ".join(parts)


class ModelsMissing(BackendUnavailable):
    """Models of the profile are not installed. The message is a table of them."""


def clips_of(params: RunParams) -> list[Clip]:
    """The clips that the sources of a run list, as their readers see them: no video is opened."""
    readings = apply_filters([read(source) for source in params.curation.sources], params.curation.filters)
    return [clip for reading in readings for clip in reading.clips]


def needs(params: RunParams, clips: Iterable[Clip]) -> list[Need]:
    """One entry per role and model, in the order of the roles."""
    found: dict[tuple[str, str], Need] = {}
    for clip in clips:
        for role, metrics in _asked(clip, params).items():
            spec, missing = _chosen(role, clip, params)
            need = found.setdefault((role, spec.name), Need(role, spec, missing))
            need.missing = need.missing or missing
            need.users.setdefault(clip.benchmark, set()).update(metrics)
    return [found[key] for key in sorted(found)]


def _asked(clip: Clip, params: RunParams) -> dict[str, set[str]]:
    """Every role of a clip (the camera path of the ground truth counts as `pose`), and the metrics that read it."""
    asked: dict[str, set[str]] = {GT_ROLES.get(role, role): set() for role in extracted_roles(clip, params)}
    for metric in METRICS:
        wanted = not params.scoring.metrics or metric.name in params.scoring.metrics
        if wanted and metric.applies_to(clip.benchmark, clip.setting, clip.subset):
            for role in (*metric.roles, *metric.tools):
                asked.setdefault(GT_ROLES.get(role, role), set()).add(metric.name)
    return asked


def _chosen(role: str, clip: Clip, params: RunParams) -> tuple[BackendSpec, bool]:
    """The model that serves a role of a clip, and whether it is missing here."""
    try:
        spec = backend_for(role, clip, params)
    except BackendUnavailable:
        return candidates(role, params, clip.benchmark)[0], True
    return spec, params.profile == "paper" and not obtainable(spec, params, clip.benchmark) and not whole(spec)


def missing_table(found: Iterable[Need]) -> pd.DataFrame:
    """One row per missing model: who needs it, its size and licence, the command that installs it, and how long that takes."""
    rows = []
    for need in found:
        if need.missing:
            size, spec = download_mb(need.spec), need.spec
            time = f"{max(1, round(size / MEGABYTES_PER_SECOND / 60))} min" if size else "unknown"
            rows.append([need.role, spec.name, need.used_by, shown_size(size), _licence(spec), _command(spec), time])
    return pd.DataFrame(rows, columns=COLUMNS)


def shown_size(megabytes: float) -> str:
    if not megabytes:
        return "unknown"
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def download_mb(spec: BackendSpec) -> float:
    """Megabytes that have to be fetched for a model, about."""
    if (model := own_model(spec)) is not None:
        return 0.0 if runners.installed(model) else 1000 * model.download_gb
    lock = read_lock()
    return sum(lock[name].size_mb for name in spec.weights if name in lock and not present(name))


def own_model(spec: BackendSpec) -> runners.Model | None:
    """The entry of the catalogue, for a model with an environment of its own."""
    model = getattr(spec.build, "model", None)
    return model if isinstance(model, runners.Model) else None


def _licence(spec: BackendSpec) -> str:
    if (model := own_model(spec)) is not None:
        return model.licence.weights
    lock = read_lock()
    return "; ".join(dict.fromkeys(lock[name].licence for name in spec.weights if name in lock and lock[name].licence))


def _command(spec: BackendSpec) -> str:
    """What installs a model: its package, and its weights."""
    if (model := own_model(spec)) is not None:
        return f"lookback models install {model.name}"
    modules = getattr(spec.build, "modules", ())
    steps = [remedy(name) for name in modules if name in EXTRA_OF and not installed(name)]
    lost = [read_lock()[name] for name in spec.weights if not present(name)]
    if fetched := [entry.name for entry in lost if entry.downloads]:
        steps.append(f"lookback models install {' '.join(fetched)}")
    steps += [weight_remedy(entry) for entry in lost if not entry.downloads]
    return "; ".join(dict.fromkeys(steps)) or availability(spec).remedy


def check_models(params: RunParams, clips: Iterable[Clip] | None = None) -> None:
    """With `profile: paper`, stop before any work when a model is missing. The error is the table of what to install."""
    if params.profile != "paper":
        return
    table = missing_table(needs(params, clips_of(params) if clips is None else clips))
    if table.empty:
        return
    every = " ".join(dict.fromkeys(name for command in table["install with"] for name in _installs(command)))
    at_once = f"All that can be fetched, in one command: lookback models install --yes {every}\n" if every else ""
    raise ModelsMissing(
        f"`profile: paper` needs {len(table)} model(s) that are not installed here. Nothing was run.\n"
        f"{as_text(table, lines=True)}{at_once}"
        "`profile: auto` takes the best that is installed, and every score names its model."
    )


def _installs(command: str) -> list[str]:
    return [name for step in command.split("; ") if step.startswith("lookback models install ") for name in step.split()[3:]]


def as_text(table: pd.DataFrame, lines: bool = False) -> str:
    """A table whose cells are wrapped to the width of the terminal; `lines` puts space between its rows."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, show_lines=lines, pad_edge=False)
    for column in table.columns:
        shown.add_column(str(column), overflow="fold")
    for row in table.astype(str).itertuples(index=False, name=None):
        shown.add_row(*row)
    out = StringIO()
    Console(file=out, width=max(120, get_terminal_size((140, 0)).columns), color_system=None, markup=False).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
