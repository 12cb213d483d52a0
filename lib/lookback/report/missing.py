"""What is missing: per metric, for which models, why, and the command that mends it."""

from __future__ import annotations

import html
import re

import pandas as pd

from lookback.errors import Reason
from lookback.names import counted
from lookback.report.places import anchor, missing_anchor

JUDGE = "lookback report --run {run} --set judging.judge=openai --set judging.base_url=URL --set judging.model=MODEL"
NO_JUDGE = "no judge is chosen"
SAID = re.compile(
    r"(python -m lookback\.weights [\w.-]+|lookback models install [\w-]+(?: [\w-]+)*|pip install [^()\n]+?)(?=\s*\(|\)|$)"
)
JUDGED = (
    Reason.NEEDS_JUDGE,
    Reason.JUDGE_FAILED,
    Reason.JUDGE_TRUNCATED,
    Reason.JUDGE_UNPARSED,
    Reason.PROBE_MISSING,
    Reason.BUDGET_SPENT,
)
DATA = (
    Reason.MISSING_INPUT,
    Reason.INVALID_INPUT,
    Reason.LENGTH_MISMATCH,
    Reason.SIZE_MISMATCH,
    Reason.NO_POSES,
    Reason.NO_DEPTH,
    Reason.NO_PHASES,
    Reason.DECODE_FAILED,
)
PROGRAM = (Reason.BACKEND_UNAVAILABLE, Reason.BACKEND_FAILED)
NOTHING = "nothing to mend: the video itself does not show what this metric needs"
FEW_MODELS = 3


def remedy(reason: str, detail: str, run: str) -> tuple[str, str]:
    """(words, command): what would give the score. Without a command there is nothing to run."""
    again = f"lookback report --run {run}"
    if said := SAID.search(detail):
        return "install what it needs, then run again", f"{said[1].strip()} && {again}"
    if reason in {str(each) for each in JUDGED} or NO_JUDGE in detail:
        return "ask a judge", JUDGE.format(run=run)
    if reason in {str(each) for each in PROGRAM}:
        return "see what this machine lacks, then run again", f"lookback doctor && {again}"
    if reason == Reason.UNTRUSTED_PATH:
        return "the camera's true path and field of view in the dataset may mend it, then run again", again
    if reason in {str(each) for each in DATA}:
        return "add or correct the file in the dataset, then run again", again
    return NOTHING if reason != Reason.NOT_APPLICABLE else "nothing to mend: it does not apply to these clips", ""


def missing_rows(items: pd.DataFrame, run: str) -> pd.DataFrame:
    """One row per benchmark, metric and reason: models, clips without a score, an example, and the remedy."""
    lacking = items[items["value"].isna()]
    rows = []
    for (benchmark, metric, reason), own in lacking.groupby(["benchmark", "metric", "reason"], sort=True):
        detail = str(own["detail"].mode().iloc[0]) if len(own) else ""
        words, command = remedy(str(reason), detail, run)
        rows.append(
            {
                "benchmark": benchmark, "metric": metric, "reason": reason, "detail": detail, "words": words, "command": command,
                "models": sorted(own["model_id"].unique()), "clips": len(own.drop_duplicates(["setting", "model_id", "clip_id"])),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def missing_html(items: pd.DataFrame, run: str, titles: dict[str, str]) -> list[str]:
    """A table per benchmark: metric by reason, with the models behind it."""
    rows = missing_rows(items, run)
    if rows.empty:
        return []
    fragments = [_overview(rows)]
    asked = items.groupby("metric")["model_id"].nunique()
    for benchmark, own in rows.groupby("benchmark", sort=True):
        seen: set[str] = set()
        body = "".join(_row(row, int(asked[row["metric"]]), seen) for row in own.to_dict("records"))
        head = "".join(f'<th scope="col" class="label">{name}</th>' for name in ("metric", "why", "models", "what mends it"))
        fragments.append(
            f'<h2>{html.escape(titles.get(str(benchmark), str(benchmark)))}</h2><figure class="table prose" '
            f'id="missing-{html.escape(str(benchmark))}"><div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></figure>"
        )
    return fragments


def _overview(rows: pd.DataFrame) -> str:
    """The commands that mend most, first."""
    counts = (
        rows[rows["command"].str.contains("&&|--set")].groupby("command").agg(metrics=("metric", "nunique"), clips=("clips", "sum"))
    )
    lines = "".join(
        f"<li><code>{html.escape(str(command))}</code> {'gives' if SAID.match(str(command).partition(' &&')[0]) else 'may give'} "
        f"{counted(count['metrics'], 'metric')} ({counted(count['clips'], 'score')})</li>"
        for command, count in counts.sort_values("clips", ascending=False).iterrows()
    )
    return f"<h2>What to run</h2><ol>{lines}</ol>" if lines else ""


def _row(row: dict[str, object], asked: int, seen: set[str]) -> str:
    metric, benchmark = str(row["metric"]), str(row["benchmark"])
    place = "" if metric in seen else f' id="{missing_anchor(metric)}"'
    seen.add(metric)
    models = row["models"]
    assert isinstance(models, list)
    named = ", ".join(f'<a href="#{anchor(benchmark, model)}">{html.escape(model)}</a>' for model in models)
    short = f"all {asked}" if len(models) == asked and asked > 1 else f"{len(models)} of {asked}"
    who = named if len(models) <= FEW_MODELS else f"<details><summary>{short} models</summary>{named}</details>"
    command = f"<br><code>{html.escape(str(row['command']))}</code>" if row["command"] else ""
    clips = counted(int(str(row["clips"])), "clip")
    why = html.escape(str(row["detail"]).partition(" (Run:")[0])
    return (
        f'<tr{place}><th scope="row">{html.escape(metric)}</th><td><b>{html.escape(str(row["reason"]).replace("_", " "))}</b> '
        f"({clips})<br>{why}</td><td>{who}</td><td>{html.escape(str(row['words']))}{command}</td></tr>"
    )
