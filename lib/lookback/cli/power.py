"""`lookback study power`: what a planned study could show, before anybody votes."""

from __future__ import annotations

from typing import Annotated

import typer


def register(study: typer.Typer) -> None:
    study.command()(power)


def power(
    models: Annotated[int, typer.Option(help="Number of models that are compared.")],
    scenes: Annotated[int, typer.Option(help="Number of scenes (prompts). All pairs of a scene count as one cluster.")],
    raters: Annotated[int, typer.Option(help="Votes on each pair.")] = 3,
    pairs_per_scene: Annotated[int, typer.Option(help="Pairs of models shown in each scene; 0: all of them.")] = 0,
    win_ratio: Annotated[float, typer.Option(help="What to look for: share of votes for the better model, ties half.")] = 0.6,
    ties: Annotated[float, typer.Option(help="Expected share of ties among votes on two equally good models.")] = 0.2,
    agreement: Annotated[float, typer.Option(help="Expected correlation of two people's votes on the same pair.")] = 0.4,
    alpha: Annotated[float, typer.Option(help="Level of the two-sided test.")] = 0.05,
    wanted: Annotated[float, typer.Option("--power", help="The power that is wanted.")] = 0.8,
    studies: Annotated[int, typer.Option(help="How many studies are simulated for each number.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
) -> None:
    """Simulate a planned pairwise study: its pairs and votes, its design effect, its power, the smallest difference it finds."""
    from lookback.agreement.power import power_lines
    from lookback.stats.power import PlannedStudy, study_power

    plan = PlannedStudy(models, scenes, raters, pairs_per_scene or None, ties, agreement, alpha, wanted, studies, seed)
    print("\n".join(power_lines(study_power(plan, win_ratio), win_ratio)))
