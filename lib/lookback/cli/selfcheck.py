"""`lookback selfcheck`: does this machine compute the recorded numbers?"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lookback.cli.evaluate import name_value_pairs
from lookback.cli.inventory import Json
from lookback.paths import expanded

if TYPE_CHECKING:
    from lookback.selfcheck import Report


def register(app: typer.Typer) -> None:
    app.command()(selfcheck)


def selfcheck(
    json_: Json = False,
    record: Annotated[bool, typer.Option("--record", help="Measure again and write new recorded values.")] = False,
    backend: Annotated[list[str] | None, typer.Option(help="role=name, e.g. pose=files. May be repeated.")] = None,
    recorded: Annotated[str, typer.Option(help="A file of recorded values; the file of the package when left out.")] = "",
) -> None:
    """Score made-up clips and compare with recorded values. Every metric and usable backend takes part; exit 1 if one differs."""
    from lookback import selfcheck as checks

    named, file = dict(name_value_pairs(backend, "backend")), expanded(recorded) if recorded else None
    if record:
        print(f"{checks.record(named, file)} values recorded")
        return
    report = checks.selfcheck(named, file)
    print(_as_json(report) if json_ else _as_text(report))
    if not report.sound:
        raise typer.Exit(1)


def _as_json(report: Report) -> str:
    checks = [asdict(outcome) for outcome in report.outcomes]
    for check in checks:
        check["worst"] = check["worst"] if math.isfinite(check["worst"]) else None
    return json.dumps({"machine": report.machine, "counts": report.counts, "checks": checks}, indent=2, ensure_ascii=False)


def _as_text(report: Report) -> str:
    lines = [f"{name:13}{value}" for name, value in report.machine.items()] + [""]
    width = max(len(outcome.check) for outcome in report.outcomes)
    for outcome in report.outcomes:
        device = "" if outcome.device == "cpu" else f" on {outcome.device}"
        made_by = "" if outcome.backend in (outcome.check, "none") else outcome.backend
        lines.append(f"{outcome.state:13}{outcome.check:{width}}  {made_by}{device}  {_numbers(outcome)}".rstrip())
        lines += [f"{'':13}{line}" for line in outcome.differences]
        lines += [f"{'':13}{outcome.why}"] * bool(outcome.why) + [f"{'':13}-> {outcome.remedy}"] * bool(outcome.remedy)
    return "\n".join([*lines, "", ", ".join(f"{count} {state}" for state, count in report.counts.items())])


def _numbers(outcome: object) -> str:
    numbers, worst = getattr(outcome, "numbers", 0), getattr(outcome, "worst", 0.0)
    if not numbers:
        return ""
    return f"{numbers} number{'s' * (numbers > 1)}, largest difference {100 * worst:.0f} % of its tolerance"
