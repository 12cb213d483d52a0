"""The stages, what each reads and writes, and which parameters it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lookback.errors import UsageError, hint
from lookback.params import RunParams
from lookback.registry import BACKENDS, BENCHMARKS, JUDGES, LAYOUTS, METRICS, Registry, parts, plugins


@dataclass(frozen=True)
class Stage:
    """One notebook of the DAG."""

    name: str  # the library function lookback.stages.<name>
    notebook: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    sections: tuple[str, ...]  # parameters it depends on, whole sections or single ones (seed and device always count)
    # what it does not import by itself, so that its code counts: a registry, a package, or a part of all benchmarks
    loads: tuple[Registry[Any] | str, ...] = ()

    def loaded(self) -> list[str]:
        """The modules of `loads`, those of plug-ins among them."""
        return [module for load in self.loads for module in _modules(load)]


def _modules(load: Registry[Any] | str) -> list[str]:
    if isinstance(load, Registry):
        return load.modules()
    return [load, *(point.value for point in plugins(load))] if load.startswith("lookback.") else parts(load)


# which metrics are scored, and which variant counts
CHOSEN = ("profile", "scoring.metrics", "scoring.variant", "scoring.compare_variants")
SCORED = (*CHOSEN, "scoring.constants", "scoring.lpips_frames")

STAGES = (
    Stage(
        "curation",
        "10_curation",
        reads=(),
        writes=("clips", "segments", "rejected", "screen", "truth", "ratings"),
        sections=("curation",),
        loads=(BENCHMARKS, LAYOUTS, "writer", "contents"),
    ),
    Stage(
        "extraction",
        "20_extraction",
        ("clips",),
        ("artifacts",),
        ("profile", "extraction", "scoring.metrics"),
        (BACKENDS, BENCHMARKS, METRICS),
    ),
    Stage(
        "scoring",
        "30_scoring",
        ("clips", "segments", "artifacts"),
        ("units", "items"),
        (*SCORED, "scoring.sweeps", "extraction"),
        (BACKENDS, BENCHMARKS, METRICS, "sweeps"),
    ),
    Stage(
        "judging",
        "40_judging",
        ("clips", "segments", "artifacts", "items", "truth", "ratings"),
        ("judgements", "gated"),
        ("judging", *CHOSEN),
        ("lookback.judging", JUDGES, BENCHMARKS, "judging", "prompts", METRICS),
    ),
    Stage(
        "agreement",
        "50_agreement",
        ("clips", "gated", "judgements", "ratings"),
        (),
        ("agreement", "judging", *CHOSEN),
        (BENCHMARKS, "agreement"),
    ),
    Stage(
        "forensics",
        "60_forensics",
        ("clips", "segments", "artifacts", "units", "gated", "judgements", "ratings", "truth"),
        ("failures",),
        ("forensics", *CHOSEN),
        (BENCHMARKS, "stories"),
    ),
    Stage(
        "audit",
        "70_audit",
        ("clips", "segments", "truth", "gated"),
        (),
        ("audit", "extraction", *SCORED),
        (BACKENDS, BENCHMARKS, METRICS),
    ),
    Stage(
        "report",
        "90_report",
        ("clips", "rejected", "screen", "truth", "ratings", "artifacts", "units", "gated", "judgements", "failures"),
        (),
        ("profile", "report", "description", "scoring", "judging", "audit.enabled"),
        ("lookback.benchmarks",),
    ),
)
BY_NAME = {stage.name: stage for stage in STAGES}


def stage_named(name: str) -> Stage:
    """A stage by its name or its notebook's name."""
    aliases = {**BY_NAME, **{stage.notebook: stage for stage in STAGES}}
    if name not in aliases:
        raise UsageError(f"There is no stage '{name}'; {hint(name, BY_NAME, 'stages')}")
    return aliases[name]


def stages_of(params: RunParams, target: Stage | None = None) -> list[Stage]:
    """The stages needed to bring `target` (default: all) up to date. A run of printed tables has only the report."""
    if params.report.published:
        if target is not None and target.name != "report":
            raise UsageError(f"Run '{params.run}' reports printed tables and has no stage '{target.name}'; leave --stage out")
        return [BY_NAME["report"]]
    return list(STAGES) if target is None else [*upstream(target), target]


def upstream(stage: Stage) -> list[Stage]:
    """The stages whose tables this one reads, directly or through other stages, in order. The report needs all stages."""
    if stage.name == "report":
        return [other for other in STAGES if other.name != "report"]
    writers = {table: writer for writer in STAGES for table in writer.writes}
    needed: set[str] = set()
    waiting = [writers[table] for table in stage.reads]
    while waiting:
        writer = waiting.pop()
        if writer.name not in needed:
            needed.add(writer.name)
            waiting += [writers[table] for table in writer.reads]
    return [other for other in STAGES if other.name in needed]
