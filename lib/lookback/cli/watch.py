"""`lookback watch`: score the clips of new checkpoints as they appear."""

from __future__ import annotations

from typing import Annotated

import typer

from lookback.cli.evaluate import Backend, Csv, GtRoot, Layout, Pattern, Phases, Workers, run_params
from lookback.paths import RunPaths, expanded, shown


def register(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    folder: Annotated[str, typer.Argument(help="The folder in which every checkpoint has a folder of clips.")],
    run: Annotated[str, typer.Option(help="The name of the run (outputs/NAME of the project), or a folder: a path with a slash.")],
    metrics: Csv = None,
    layout: Layout = "auto",
    gt_root: GtRoot = "",
    phases: Phases = "",
    pattern: Pattern = "",
    workers: Workers = 0,
    backend: Backend = None,
    settle_s: Annotated[float, typer.Option(min=0, help="Seconds without a change until a checkpoint counts as complete.")] = 30.0,
    every_s: Annotated[float, typer.Option(min=0, help="Seconds between looks at the folder.")] = 30.0,
    once: Annotated[bool, typer.Option("--once", help="Score what is there and end.")] = False,
) -> None:
    """Score new checkpoints as they appear. Keeps a curve per metric with intervals. Ctrl-C ends it; nothing is lost."""
    from lookback.checkpoints import CURVE
    from lookback.checkpoints import watch as look

    output = expanded(run) if "/" in run else RunPaths.of(run).root
    params = run_params(str(output), workers, folder, layout, gt_root, phases, pattern, metrics, backend)
    for line in look(expanded(folder), params, settle_s, every_s, once):
        print(line, flush=True)
    print(f"the curve is {shown(output / CURVE)}")
