"""A planned study's power in words."""

from __future__ import annotations

from lookback.stats.power import Power

SURE = 0.995  # rows after the first that is found so surely are not printed


def power_lines(found: Power, win_ratio: float) -> list[str]:
    """What the design holds, the power for a few differences, and the answer, each on its line."""
    plan = found.plan
    per_scene = plan.pairs_per_scene or plan.comparisons
    split = plan.pairs - found.decided_pairs
    own = found.table.set_index("win_ratio").loc[win_ratio]
    lines = [
        f"Design: {plan.models} models, {plan.scenes} scenes, {plan.raters} votes a pair",
        f"  pairs          {plan.pairs} ({per_scene} of {plan.comparisons} pairs of models in each scene)",
        f"  votes          {plan.votes}",
        f"  decided pairs  about {found.decided_pairs:.0f}; the other {split:.0f} have no majority and are left out",
        f"  of these tied  about {found.tied_pairs:.0f}",
        "Design effect (votes on one pair and pairs of one scene are alike):",
        f"  {plan.votes} votes are worth {plan.votes / found.vote_effect:.0f} independent ones (effect {found.vote_effect:.2f})",
        f"  {found.decided_pairs:.0f} decided pairs are worth {found.decided_pairs / found.pair_effect:.0f}"
        f" (effect {found.pair_effect:.2f})",
        f"Power at level {plan.alpha:g}, two-sided, {plan.studies} simulated studies a row:",
        f"  win ratio   one comparison   all {plan.comparisons} comparisons (Holm's first step)",
    ]
    open_rows = found.table[(found.table["power_corrected"].shift(fill_value=0) < SURE) | (found.table["win_ratio"] == win_ratio)]
    for row in open_rows.itertuples():
        mark = "  <- asked for" if row.win_ratio == win_ratio else ""
        lines.append(f"  {row.win_ratio:9.2f}   {row.power:14.0%}   {row.power_corrected:.0%}{mark}")
    alone, corrected = (_found(value) for value in (found.smallest, found.smallest_corrected))
    return [
        *lines,
        f"Two equal models are called different in {found.false_alarms:.1%} of the studies.",
        f"Assumed: {plan.ties:.0%} ties between equal models, a correlation of {plan.agreement:g} between two votes on one pair.",
        f"Answer: a win ratio of {win_ratio:g} is found with a power of {own['power']:.0%} in one planned comparison, "
        f"{own['power_corrected']:.0%} when all {plan.comparisons} pairs of models are tested. "
        f"With a power of {plan.power:.0%} this study finds {alone} in one comparison and {corrected} when all are tested.",
    ]


def _found(value: float | None) -> str:
    return "no win ratio up to 0.95" if value is None else f"win ratios from {value:.2f}"
