"""The overrides of a small demo run: one task and two models of every dataset, small pictures, one corrupted clip."""

from pathlib import Path

SMALL = (
    "run=small",
    "workers=1",  # ten small clips: two more processes per stage would import longer than they work
    "curation.world.scale=0.05",
    "curation.world.width=160",
    "curation.world.height=96",
    "scoring.resamples=200",
    "scoring.sweeps=true",
    "audit.clips=1",
    "audit.benchmarks=[wrbench]",
)


def settings(folder: Path, *more: str) -> list[str]:
    return [*SMALL, f"output={folder}", *more]
