"""docs/statistics.md from the record of study_statistics.py."""

from __future__ import annotations

from typing import Any

import pandas as pd

ALPHA, CONFIDENCE, POWER = 0.05, 0.95, 0.8
LARGEST = "10 models x 40 scenes x 5 raters"

ABOUT = {
    "metric against people, rated clips": "A metric's score against the mean rating of every clip. *The metric only recognises the "
    "model*: people and metric both have levels for the models, which have nothing to do with each other. Where the metric is true "
    "it correlates by 0.5 with quality inside a model. The plan's `population.claims` says which reading is the claim.",
    "metric against people, compared pairs": "The same scores, against the majority of votes on every pair of models in a scene. "
    "The claim of the model-level ranking is the reading between models.",
    "models, compared pairs": "All differences between models, corrected by Holm. *False*: a study with any false difference. "
    "*Found*: the share of true differences that are told. Verdicts are those of the log strengths; "
    "win ratios are reported with an interval and make no claim.",
    "models, rated clips": "The same for mean ratings.",
    "agreement among people": "*False* and *found* are about the claim that people agree more than by chance, which is made by "
    "Krippendorff's alpha alone.",
    "ceiling of ratings": "*False*: a perfect metric lies above the upper end of the estimated ceiling's interval.",
    "annotators, rated clips": "*False*: anyone flagged who votes like the others. *Found*: the one who answers "
    "at random is flagged.",
    "annotators, compared pairs": "The same for votes on pairs.",
    "judge beside people": "A judge's agreement with the majority of the other votes, less a person's.",
    "mean of a metric": "Three clips a scene, whole scenes resampled; scenes differ by a normal or a skewed (exponential) amount.",
}


def flat(found: dict[str, Any]) -> pd.DataFrame:
    """One row for every estimate of every cell."""
    rows = []
    for cell in found["cells"]:
        place = {name: cell[name] for name in ("kind", "situation", "size", "studies")}
        rows += [{**place, **row} for row in cell["rows"]]
    table = pd.DataFrame(rows)
    numbers = [f"{name}{end}" for name in ("false", "found", "coverage", "width") for end in ("", "_error")]
    return table.astype(dict.fromkeys(numbers, float))


def percent(row: Any, measure: str) -> str:
    value, error = (100 * getattr(row, name) for name in (measure, f"{measure}_error"))
    return f"{value:.1f} ± {error:.1f} %"


def described(row: Any) -> str:
    """What a cell of a table says about one estimate."""
    parts = []
    if row.false == row.false:
        parts.append(f"false {percent(row, 'false')}")
    if row.found == row.found:
        parts.append(f"found {percent(row, 'found')}")
    if row.coverage == row.coverage:
        parts.append(f"holds {percent(row, 'coverage')}")
    if row.width == row.width:
        parts.append(f"width {row.width:.2f}")
    if row.without:
        parts.append(f"none in {row.without}")
    return "; ".join(parts) or "no interval, no test"


def section(kind: str, table: pd.DataFrame) -> str:
    """A table with a row for each situation and size, and a column for each estimate."""
    names = table["estimate"].unique().tolist()
    lines = [f"| situation | size | studies | {' | '.join(names)} |", "|---" * (len(names) + 3) + "|"]
    for (situation, size), own in table.groupby(["situation", "size"], sort=False):
        told = {row.estimate: described(row) for row in own.itertuples()}
        cells = " | ".join(told.get(name, "") for name in names)
        lines.append(f"| {situation} | {size} | {own['studies'].iloc[0]} | {cells} |")
    return f"## {kind[0].upper()}{kind[1:]}\n\n{ABOUT[kind]}\n\n" + "\n".join(lines) + "\n"


def named(rows: pd.DataFrame, measure: str) -> str:
    said = [f"- {r.kind}, {r.situation}, {r.size}: {r.estimate} {percent(r, measure)}" for r in rows.itertuples()]
    return "\n".join(said) or "- nothing"


def weak(table: pd.DataFrame) -> str:
    """What misses its promise by more than two Monte Carlo errors, and where a true metric is found."""
    false = table[table["false"] - 2 * table["false_error"] > ALPHA]
    narrow = table[table["coverage"] + 2 * table["coverage_error"] < CONFIDENCE]
    wanted = table[table["situation"].eq("true metric") & table["estimate"].str.startswith("within")]
    missed = wanted[wanted["found"] < POWER]
    figures = int(table["false"].notna().sum() + table["coverage"].notna().sum())
    return (
        f"Of the {figures} figures below, one in forty lies two errors on the bad side by chance alone. Run again with another "
        "--seed and a chance finding goes away.\n\n"
        f"False in more than {ALPHA:.0%} of studies, by more than two errors:\n\n{named(false, 'false')}\n\n"
        f"Intervals that hold the truth in fewer than {CONFIDENCE:.0%}, by more than two errors:\n\n{named(narrow, 'coverage')}\n\n"
        f"A true metric found within models in fewer than {POWER:.0%}:\n\n{named(missed, 'found')}\n"
    )


HEADLINES = (
    ("A metric that only recognises the model is claimed within models in", "recognises the model", "within", "false"),
    ("A true metric entered the wrong way round is called supported in", "wrong direction", "within", "false"),
    (f"A true metric is found within models, with {LARGEST}, in", "true metric", "within", "found"),
    ("Where all models are equal, one is called better by its log strength in", "models equal", "log strength", "false"),
    ("Votes that say nothing about the items are called agreement in", "independent votes", "alpha", "false"),
    ("A perfect metric lies above its estimated ceiling's interval in", "bias sd", "estimated ceiling", "false"),
)


def headlines(table: pd.DataFrame) -> str:
    """The smallest and the largest rate over the rows of each kind of situation."""
    lines = []
    for words, situation, estimate, measure in HEADLINES:
        own = table[table["situation"].str.contains(situation) & table["estimate"].str.startswith(estimate)]
        if measure == "found":
            own = own[own["situation"].eq(situation) & own["size"].eq(LARGEST)]
        values = 100 * own[measure].dropna()
        if len(values):
            ends = dict.fromkeys(f"{value:.1f}" for value in (values.min(), values.max()))
            lines.append(f"- {words} {' to '.join(ends)} % of studies.")
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    table = flat(found)
    sections = "\n".join(section(str(kind), own) for kind, own in table.groupby("kind", sort=False))
    return PAGE.format(
        sections=sections,
        headlines=headlines(table),
        weak=weak(table),
        failed=sum(cell.get("failed", 0) for cell in found["cells"]),
        machine=found["machine"],
        date=found["date"],
        commit=found["commit"][:7],
        command=found["command"],
    )


PAGE = """# How far to trust a conclusion

Studies whose truth is known, drawn by a program that shares no code with lookback, and analysed by the functions
behind `lookback agreement`, with its plan.

- **false**: how often a claim is made that is not true (*supported* or *contradicted* without a relation, or on the wrong side;
  a model called better that is not). At most 5 % is promised, for the population that the claim names.
- **found**: how often a true claim is made: the power.
- **holds**: how often the 95 % interval holds the truth. **width**: its mean width. **none in**: studies without an interval.
- The number after ± is the Monte Carlo error: two of them are what chance may do.

A clip's quality has a scene's and a clip's own part (standard deviations 0.5 and 0.6); a vote adds noise (0.7). Models, where they
are not equal, have levels with standard deviation 0.6, unless a row says otherwise.

## In short

{headlines}

## What is weak

{weak}
Analyses that stopped with an error: {failed}.

{sections}
Measured by {command} on {machine}, {date}, commit {commit}.
"""
