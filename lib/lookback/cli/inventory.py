"""`lookback list-metrics` and `lookback doctor`: what exists, and what works on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lookback.registry import MetricSpec

BETTER = {True: "higher", False: "lower", None: "no value"}
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def register(app: typer.Typer) -> None:
    app.command("list-metrics")(list_metrics)
    app.command()(doctor)


def list_metrics(
    json_: Json = False,
    presets: Annotated[bool, typer.Option("--presets", help="Print the settings of every variant, too.")] = False,
) -> None:
    """List every metric with unit, direction, source and variants."""
    from lookback.registry import METRICS
    from lookback.scoring.direction import more_is_better

    if json_:
        parts = {spec.name: {phase: more_is_better(spec.name, phase) for phase in spec.phases} for spec in METRICS}
        declared = [{name: value for name, value in asdict(spec).items() if name != "score"} for spec in METRICS]
        print(json.dumps([{**fields, "phases": parts[fields["name"]]} for fields in declared], indent=2, ensure_ascii=False))
        return
    width = max(len(spec.name) for spec in METRICS)
    for spec in METRICS:
        print(f"{spec.name:{width}}  {spec.title} [{spec.unit or 'score'}, {better(spec)} is better; {spec.source}]")
        if presets:
            print(*_preset_lines(spec), sep="", end="")
    print(f"{len(METRICS.names())} metrics")


def better(spec: MetricSpec) -> str:
    """Which values of a metric are better, in words; for every part by itself where they differ."""
    from lookback.scoring.direction import more_is_better

    words = {phase: BETTER[more_is_better(spec.name, phase)] for phase in spec.phases}
    alike = len({*words.values()}) == 1
    return ", ".join({*words.values()} if alike else (f"{phase} {word}" for phase, word in words.items()))


def _preset_lines(spec: MetricSpec) -> Iterator[str]:
    """One line per variant of a metric, the default first: its settings."""
    from lookback.scoring.variants import shown_setting

    for variant in spec.variants:
        settings = ", ".join(f"{name} {shown_setting(value)}" for name, value in spec.preset(variant, {}).items())
        yield f"    {variant}{' (default)' * (variant == spec.default_variant)}: {settings or 'no settings'}\n"


def doctor(
    json_: Json = False,
    all_: Annotated[bool, typer.Option("--all", help="Show every backend and package, with why it fails and the remedy.")] = False,
) -> None:
    """Show what works here, what does not, and the next command to run. `--all` shows every backend with its remedy."""
    from lookback.doctor import every_line, report, summary_lines

    frame = report()
    if json_:
        print(json.dumps(frame.to_dict("records"), indent=2, ensure_ascii=False))
        return
    print(*(every_line(frame) if all_ else summary_lines(frame)), sep="\n")
