"""`lookback list-metrics` and `lookback doctor`: what exists, and what works on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lookback.registry import MetricSpec

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

    declared = [{name: value for name, value in asdict(spec).items() if name != "score"} for spec in METRICS]
    if json_:
        print(json.dumps(declared, indent=2, ensure_ascii=False))
        return
    width = max(len(fields["name"]) for fields in declared)
    for fields in declared:
        arrow = "higher is better" if fields["higher_is_better"] else "lower is better"
        print(f"{fields['name']:{width}}  {fields['title']} [{fields['unit'] or 'score'}, {arrow}; {fields['source']}]")
        if presets:
            print(*_preset_lines(METRICS.get(fields["name"])), sep="", end="")
    print(f"{len(declared)} metrics")


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
