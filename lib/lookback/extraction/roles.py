"""Which artifacts a clip needs: those its metrics read, and those that judges and forensics look at."""

from __future__ import annotations

from lookback.clips import Clip
from lookback.params import RunParams
from lookback.registry import METRICS, backends_of


def roles_for(clip: Clip, params: RunParams) -> tuple[str, ...]:
    """The roles to extract for one clip, in a stable order, with the roles they build on."""
    wanted = set(params.extraction.always)
    for spec in METRICS:
        chosen = not params.scoring.metrics or spec.name in params.scoring.metrics
        if chosen and spec.applies_to(clip.benchmark, clip.setting, clip.subset):
            wanted |= set(spec.roles)
    return tuple(sorted(with_requirements(wanted)))


def with_requirements(roles: set[str]) -> set[str]:
    """The roles and those that their backends build on."""
    complete: set[str] = set()
    waiting = list(roles)
    while waiting:
        role = waiting.pop()
        if role not in complete:
            complete.add(role)
            waiting += [need for spec in backends_of(role) for need in getattr(spec.build, "requires", ())]
    return complete
