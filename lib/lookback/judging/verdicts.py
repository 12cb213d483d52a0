"""A clip's answers by task and question, repeats put together: what gates and judge-based metrics read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import pandas as pd

from lookback.clips import KEYS, Clip
from lookback.errors import NotScorable, Reason


@dataclass(frozen=True)
class Verdict:
    """One question's answer over its repeats: the mean value and the majority's answer, or the reason there is none."""

    answer: str
    value: float | None
    reason: Reason | None
    judge: str
    verbatim: str
    question: str = ""


@dataclass(frozen=True)
class JudgedClip:
    """What a judge-based metric sees: the clip, the variant in force, and the answers of the judge that counts."""

    clip: Clip
    variant: str
    tasks: Mapping[str, Mapping[str, Verdict]] = field(default_factory=dict)
    why_not: Mapping[str, tuple[Reason, str]] = field(default_factory=dict)  # task -> why nobody answered it

    def verdicts(self, task: str) -> Mapping[str, Verdict]:
        """All answers of a task, or NotScorable when it was not asked."""
        if task not in self.tasks:
            reason, detail = self.why_not.get(task, (Reason.BACKEND_UNAVAILABLE, f"no judge was asked for '{task}'"))
            raise NotScorable(reason, detail)
        return self.tasks[task]

    def value(self, task: str, question_id: str) -> float:
        """One answer's value, or NotScorable with the reason it is missing."""
        verdict = self.verdicts(task).get(question_id)
        if verdict is None:
            raise NotScorable(Reason.PROBE_MISSING, f"'{question_id}' was not asked")
        if verdict.value is None:
            raise NotScorable(verdict.reason or Reason.JUDGE_UNPARSED, f"'{question_id}': {verdict.verbatim[:200]}")
        return verdict.value

    def gate(self) -> dict[str, tuple[str, Reason | None]]:
        """The re-observation gate's answers as `tasks.judgeability` reads them."""
        return {name: (verdict.answer, verdict.reason) for name, verdict in self.verdicts("judgeability").items()}

    def judges(self, tasks: Iterable[str]) -> list[str]:
        """Who answered these tasks."""
        return sorted({verdict.judge for task in tasks for verdict in self.tasks.get(task, {}).values()})


def clip_verdicts(judgements: pd.DataFrame, counted: Mapping[str, str]) -> dict[tuple[str, ...], dict[str, dict[str, Verdict]]]:
    """Per clip key: task -> question -> verdict, of the judge that counts for the task (`counted`: task -> judge label)."""
    repeats: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    used = judgements[judgements["judge"] == judgements["task"].map(counted)] if len(judgements) else judgements
    for row in used.sort_values([*KEYS, "task", "question_id", "repeat"]).to_dict("records"):
        repeats.setdefault(tuple(row[name] for name in (*KEYS, "task", "question_id")), []).append(row)
    found: dict[tuple[str, ...], dict[str, dict[str, Verdict]]] = {}
    for (*clip, task, question_id), rows in repeats.items():
        found.setdefault(tuple(clip), {}).setdefault(task, {})[question_id] = _verdict(rows)
    return found


def _verdict(rows: list[dict[str, Any]]) -> Verdict:
    """Repeats together: missing ones do not count, and a tie goes to the mean value."""
    answered = [row for row in rows if row["reason"] == ""]
    first = (answered or rows)[0]
    if not answered:
        return Verdict("", None, Reason(first["reason"]), first["judge"], first["verbatim"], first["question"])
    value = fmean(row["value"] for row in answered)
    counts = Counter(row["answer"] for row in answered).most_common()
    tied = len(counts) > 1 and counts[0][1] == counts[1][1]
    answer = ("yes" if value >= 0.5 else "no") if tied and {"yes", "no"} >= {name for name, _ in counts} else counts[0][0]
    return Verdict(answer, value, None, first["judge"], first["verbatim"], first["question"])
