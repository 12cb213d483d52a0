"""Verdicts: the answers about a clip by task and question, with repeats combined. The gate and judge-based metrics read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import NotScorable, Reason
from lookback.presets import Setting


@dataclass(frozen=True)
class Verdict:
    """The answer to one question over its repeats: the mean value and the majority answer, or the reason why there is none."""

    answer: str
    value: float | None
    reason: Reason | None
    judge: str
    verbatim: str
    question: str = ""


Verdicts = dict[tuple[str, ...], dict[str, dict[str, Verdict]]]  # clip key -> task -> question -> verdict


@dataclass(frozen=True)
class JudgedClip:
    """The input of a judge-based metric: the clip, the chosen variant, and the answers of the judge that counts."""

    clip: Clip
    variant: str
    tasks: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    why_not: Mapping[str, tuple[Reason, str]] = field(default_factory=dict)  # task -> why nobody answered it
    settings: Mapping[str, Setting] = field(default_factory=dict)  # the preset of the variant, with what the run overrides

    def setting(self, name: str) -> Setting:
        """A setting of the metric's preset (presets.yaml)."""
        return self.settings[name]

    def verdicts(self, task: str) -> Mapping[str, Verdict]:
        """All answers of a task; NotScorable when it was not asked."""
        if task not in self.tasks:
            reason, detail = self.why_not.get(task, (Reason.BACKEND_UNAVAILABLE, f"no judge was asked for '{task}'"))
            raise NotScorable(reason, detail)
        return self.tasks[task]

    def value(self, task: str, question_id: str) -> float:
        """The value of one answer; NotScorable with the reason when it is missing."""
        verdict = self.verdicts(task).get(question_id)
        if verdict is None:
            raise NotScorable(Reason.PROBE_MISSING, f"'{question_id}' was not asked")
        if verdict.value is None:
            raise NotScorable(verdict.reason or Reason.JUDGE_UNPARSED, f"'{question_id}': {verdict.verbatim[:200]}")
        return verdict.value

    def gate(self) -> dict[str, tuple[str, Reason | None]]:
        """The answers of the re-observation gate: question -> (answer, reason)."""
        return {name: (verdict.answer, verdict.reason) for name, verdict in self.verdicts("judgeability").items()}

    def judges(self, tasks: Iterable[str]) -> list[str]:
        """The judges that answered these tasks."""
        return sorted({verdict.judge for task in tasks for verdict in self.tasks.get(task, {}).values()})


def clip_verdicts(judgements: pd.DataFrame, counted: Mapping[str, str]) -> Verdicts:
    """The verdicts of all clips. `counted` (task -> judge label) names the judge whose answers count."""
    repeats: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    used = judgements[judgements["judge"] == judgements["task"].map(counted)] if len(judgements) else judgements
    for row in used.sort_values([*KEYS, "task", "question_id", "repeat"]).to_dict("records"):
        repeats.setdefault(tuple(row[name] for name in (*KEYS, "task", "question_id")), []).append(row)
    found: Verdicts = {}
    for (*clip, task, question_id), rows in repeats.items():
        found.setdefault(tuple(clip), {}).setdefault(task, {})[question_id] = _verdict(rows)
    return found


def _verdict(rows: list[dict[str, Any]]) -> Verdict:
    """The repeats combined. Missing answers do not count; the mean value decides a tie."""
    answered = [row for row in rows if row["reason"] == ""]
    first = (answered or rows)[0]
    if not answered:
        return Verdict("", None, Reason(first["reason"]), first["judge"], first["verbatim"], first["question"])
    value = fmean(row["value"] for row in answered)
    counts = Counter(row["answer"] for row in answered).most_common()
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    answer = ("yes" if value >= 0.5 else "no") if tied and {"yes", "no"} >= {name for name, _ in counts} else counts[0][0]
    return Verdict(answer, value, None, first["judge"], first["verbatim"], first["question"])
