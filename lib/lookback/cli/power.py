"""`lookback study power`: what a planned study could show, before anybody votes."""

from __future__ import annotations

from typing import Annotated

import typer


def register(study: typer.Typer) -> None:
    study.command()(power)


def power(
    models: Annotated[int, typer.Option(help="Number of models that are compared.")],
    scenes: Annotated[int, typer.Option(help="Number of scenes (prompts). All pairs of a scene count as one cluster.")],
    raters: Annotated[int, typer.Option(help="Votes on each pair; the same people see every pair.")] = 3,
    plan: Annotated[
        str,
        typer.Option(help="The plan (YAML): its level, looks, majority, ties, annotators and power; default: a plan's defaults."),
    ] = "",
    pairs_per_scene: Annotated[int, typer.Option(help="Pairs of models shown in each scene; 0: all of them.")] = 0,
    share: Annotated[float, typer.Option(help="What to look for: the better model's share of votes, ties half.")] = 0.6,
    ties: Annotated[float, typer.Option(help="Expected share of ties among votes on two equally good models.")] = 0.2,
    agreement: Annotated[float, typer.Option(help="Expected correlation of two people's votes on the same pair.")] = 0.4,
    rater_preferences: Annotated[
        float, typer.Option(help="How far each rater's own taste shifts the models: a standard deviation of log strengths.")
    ] = 0.0,
    missing: Annotated[float, typer.Option(help="Expected share of votes that are missing or excluded.")] = 0.0,
    studies: Annotated[int, typer.Option(help="How many studies are simulated for each number.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
) -> None:
    """Simulate a planned pairwise study and analyse it by its plan: votes, labels, power, the smallest difference it finds.

    The test is that of the analysis: the difference of two models' log strengths. Win ratios of labels are secondary.
    """
    from lookback.agreement.plan import Plan, load_plan
    from lookback.agreement.power import power_lines, rules_of
    from lookback.stats.power import PlannedStudy, study_power

    read = load_plan(plan) if plan else Plan.model_construct()
    design = PlannedStudy(
        models,
        scenes,
        raters,
        pairs_per_scene or None,
        ties=ties,
        agreement=agreement,
        tastes=rater_preferences,
        missing=missing,
        rules=rules_of(read, raters),
        power=read.power,
        studies=studies,
        seed=seed,
    )
    print("\n".join(power_lines(study_power(design, share), share, read)))
