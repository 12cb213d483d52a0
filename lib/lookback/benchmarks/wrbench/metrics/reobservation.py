"""Re-observation support: did the subject leave and come back in a form that can be judged (WRBench dimension v, eq. 7 and 9)?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lookback.benchmarks.wrbench.metrics.shared import settings_of, wrbench_metric
from lookback.errors import NotScorable, Reason
from lookback.scoring.contract import Item

if TYPE_CHECKING:
    from lookback.judging.verdicts import JudgedClip

SPARSE_COUNT = 10
SPARSE_SHARE = 0.10
AVERAGED = ("cam_align", "visual_integrity", "visible_spatial", "visible_state", "reobs_spatial", "reobs_state")


def reobservation_pattern(judgeable: Iterable[bool | str]) -> tuple[bool, Reason | None]:
    """Whether judgeable -> not judgeable -> judgeable occurs in the per-second sequence, and why not.

    `no_oov`: never hidden; `no_return`: hidden and never judgeable again; `no_initial_judgeable`: never judgeable before it was
    hidden. Entries are true/false or "y"/"n".
    """
    seconds = [_flag(value) for value in judgeable]
    if not seconds:
        raise NotScorable(Reason.TOO_SHORT, "no second was judged")
    if all(seconds):
        return False, Reason.NO_OOV
    first_judgeable = seconds.index(True) if any(seconds) else len(seconds)
    hidden = next((index for index in range(first_judgeable, len(seconds)) if not seconds[index]), None)
    if hidden is None:
        return False, Reason.NO_INITIAL_JUDGEABLE
    return (True, None) if any(seconds[hidden:]) else (False, Reason.NO_RETURN)


def support_rate(applicable: Iterable[bool]) -> float:
    """Share of all generated outputs with judgeable hidden-and-returned evidence (WRBench eq. 9)."""
    flags = list(applicable)
    if not flags:
        raise NotScorable(Reason.TOO_FEW_VALUES, "no output")
    return float(np.mean(flags))


def is_sparse(n_judgeable: int, n_outputs: int) -> bool:
    """A row gets a dagger when n(D5) < 10 or n(D5) / n_outputs < 0.10."""
    return n_judgeable < SPARSE_COUNT or n_judgeable < SPARSE_SHARE * n_outputs


def dimension_average(values: dict[str, float]) -> float:
    """Avg = mean(CamAlign, D2, D3, D4, D5, D6); support is left out. All six must be there."""
    missing = [name for name in AVERAGED if name not in values or np.isnan(values[name])]
    if missing:
        raise NotScorable(Reason.MISSING_INPUT, f"Avg needs {', '.join(missing)}")
    return float(np.mean([values[name] for name in AVERAGED]))


def _flag(value: bool | str) -> bool:
    if isinstance(value, str):
        if value.lower() not in {"y", "n", "yes", "no"}:
            raise NotScorable(Reason.JUDGE_UNPARSED, f"'{value}' is neither y nor n")
        return value.lower().startswith("y")
    return bool(value)


@wrbench_metric(
    "support",
    title="Re-observation support",
    unit="share of outputs",
    needs=("video",),
    roles=(),
    equation="1 if judgeable -> not judgeable -> judgeable occurs second by second",
    source="WRBench section 3.4, dimension (v), eq. 7 and 9",
    judge_tasks=("judgeability",),
)
def score(judged: JudgedClip) -> Item:
    """The per-second pattern of the gate judge; `official` counts a clip where both re-observed dimensions apply."""
    from lookback.benchmarks.wrbench.judging import REOBSERVED, reobservable, support
    from lookback.judging.question import SECOND

    context, answers = settings_of("support", judged.variant), judged.gate()
    seconds = sum(name.startswith(SECOND) for name in answers)
    if context.setting("counts") == "pattern":
        supported, why = support(answers)
        return Item(float(supported), detail="" if why is None else str(why), n_units=seconds)
    gates = [reobservable(judged, dimension, settings_of(dimension, judged.variant)) for dimension in REOBSERVED]
    reasons = ", ".join(dict.fromkeys(str(reason) for _, reason, _ in gates if reason is not None))
    return Item(float(all(is_open for is_open, _, _ in gates)), detail=reasons, n_units=seconds)
