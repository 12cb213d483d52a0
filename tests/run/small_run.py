"""The overrides of a small demo run: one task and two models of every dataset, small pictures, one corrupted clip."""

from pathlib import Path

SMALL = (
    "run=small",
    "workers=1",  # ten small clips: two more processes per stage would import longer than they work
    "curation.world.scale=0.05",
    "curation.world.width=160",  # the smallest in which camera paths are found
    "curation.world.height=96",
    "extraction.options.features.max_side=64",
    "extraction.options.perceptual.max_side=64",
    "scoring.constants.lpips_side=64",
    "scoring.resamples=100",
    "scoring.sweeps=true",
    "forensics.max_cases=1",
    "audit.clips=1",
    "audit.benchmarks=[mind]",  # the shortest clips
    "report.ceiling=1",
    "report.thumbnails=4",
)


def settings(folder: Path, *more: str) -> list[str]:
    return [*SMALL, f"output={folder}", *more]
