"""Where the self-check scores its clips as WRBench's, and the answers to the probes and the gate it takes for given."""

from __future__ import annotations

from lookback.benchmarks.wrbench.judging import probes
from lookback.judging.question import SECOND

PLACES = (("natural25", ""),)
GATE = {"hidden": "yes", "returned": "yes", "unidentifiable": "no"}


def answers(spoilt: bool) -> dict[str, dict[str, str | float]]:
    """Task -> question -> answer (a probability for probes that score); `spoilt` changes some."""
    shares = {probe.id: (3 * place % 11 + 1) / 12 for place, probe in enumerate(probes()) if probe.role == "score"}
    gate: dict[str, str | float] = {probe.id: GATE[probe.role] for probe in probes() if probe.role != "score"}
    gate |= {f"{SECOND}{second:03d}": said for second, said in enumerate(("yes", "yes" if spoilt else "no", "yes"))}
    return {"judgeability": gate, "probe": {name: 1 - share if spoilt else share for name, share in shares.items()}}
