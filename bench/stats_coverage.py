"""Do nominal 95 % intervals cover the truth in 95 % of studies? Simulated studies whose truth is known.

    python bench/stats_coverage.py [--studies 500] [--resamples 1000]      prints a row per estimator and design
    python bench/stats_coverage.py --record [--studies 400]                the tables of docs/coverage.md

A row has the coverage with its own Monte-Carlo error, the mean width, and the studies without an interval. Rows marked "for
comparison" show an interval that lookback does not report as its own. `--record` writes docs/measured/coverage.json and
docs/coverage.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from lookback.errors import NotScorable
from lookback.files import write_json, write_text
from lookback.machine import one_line
from lookback.paths import project_root
from lookback.provenance import git_revision
from lookback.stats import (
    VoteModel,
    bootstrap_ci,
    gwet_ac1,
    judge_beside_people,
    rank_agreement_pairs,
    spearman,
    strength_comparisons,
    win_ratio_comparisons,
    win_ratio_difference,
)
from lookback.stats.correlations import spearman_rows
from lookback.stats.simulation import drawn_votes, majority_signs
from scipy.stats import norm

Interval = tuple[float | None, float | None]
Found = list[tuple[str, float, Interval]]
# one study: (estimator, truth, interval), where an estimator may come several times
Study = Callable[[np.random.Generator, int], Found]

PREVALENCE = np.array([0.6, 0.25, 0.15])
ACCURACY = 0.8
EASY_HARD = (0.97, 0.55)
HUMAN_TIE, METRIC_TIE = 0.5, 0.1
HUMAN_NOISE, METRIC_NOISE = 1.0, 0.3
SCENE_NOISE = 0.4


def true_ac1(accuracies: tuple[float, ...]) -> float:
    """AC1 of raters who see the true category with these (equally frequent) probabilities and otherwise one of the two others."""
    votes = np.stack([np.full((3, 3), (1 - a) / 2) + np.eye(3) * (a - (1 - a) / 2) for a in accuracies])
    agreement = float((PREVALENCE @ (votes**2).sum(axis=2).T).mean())
    shares = PREVALENCE @ votes.mean(axis=0)
    chance = float((shares * (1 - shares)).sum() / 2)
    return (agreement - chance) / (1 - chance)


def ac1_study(items: int, clustered: bool) -> Study:
    """Three raters, three categories, a tenth of the votes missing; clustered: the items of a scene are easy or hard together."""

    def study(rng: np.random.Generator, _: int) -> Found:
        scenes = np.repeat(np.arange(items // 8), 8) if clustered else np.arange(items)
        accuracies = EASY_HARD if clustered else (ACCURACY,)
        accuracy = rng.choice(accuracies, size=scenes.max() + 1)[scenes]
        truth = rng.choice(3, size=items, p=PREVALENCE)
        wrong = (truth[:, None] + rng.integers(1, 3, (items, 3))) % 3
        votes = np.where(rng.random((items, 3)) < accuracy[:, None], truth[:, None], wrong).astype(float)
        votes[rng.random(votes.shape) < 0.1] = np.nan
        results = [("AC1", gwet_ac1(votes, [0, 1, 2], clusters=scenes))]
        if clustered:
            results.append(("AC1, scenes ignored (for comparison)", gwet_ac1(votes, [0, 1, 2])))
        return [(name, true_ac1(accuracies), (r.low, r.high)) for name, r in results]

    return study


def win_probability(difference: np.ndarray, noise: float, tie: float) -> np.ndarray:
    """Expected points of A when A - B is normal around `difference` and |A - B| < tie counts half."""
    spread = np.sqrt(noise**2 + 2 * SCENE_NOISE**2)
    above = norm.sf((tie - difference) / spread)
    below = norm.cdf((-tie - difference) / spread)
    return np.asarray(above + (1 - above - below) / 2)


def true_win_ratios(strength: np.ndarray, noise: float, tie: float) -> np.ndarray:
    points = win_probability(np.subtract.outer(strength, strength), noise, tie)
    np.fill_diagonal(points, 0)
    return np.asarray(points.sum(axis=1) / (len(strength) - 1))


def pair_table(rng: np.random.Generator, human: np.ndarray, metric: np.ndarray, scenes: int, per_scene: int) -> pd.DataFrame:
    """Random pairs of models in each scene; a model's quality wanders from scene to scene."""
    m = len(human)
    i, j = np.triu_indices(m, 1)
    chosen = rng.integers(0, len(i), scenes * per_scene)
    a, b, scene = i[chosen], j[chosen], np.repeat(np.arange(scenes), per_scene)
    columns = {}
    for name, strength, noise, tie in (("human", human, HUMAN_NOISE, HUMAN_TIE), ("metric", metric, METRIC_NOISE, METRIC_TIE)):
        here = strength + rng.normal(0, SCENE_NOISE, (scenes, m))
        difference = here[scene, a] - here[scene, b] + rng.normal(0, noise, len(a))
        columns[name] = np.where(np.abs(difference) < tie, 0, np.sign(difference)).astype(int)
    models = np.array([f"model {k}" for k in range(m)])
    return pd.DataFrame({"scene": scene, "model_a": models[a], "model_b": models[b], **columns})


def win_ratio_study(scenes: int, per_scene: int) -> Study:
    """Difference of two of eight models' win ratios."""

    def study(rng: np.random.Generator, resamples: int) -> Found:
        human = rng.normal(0, 0.6, 8)
        table = pair_table(rng, human, human, scenes, per_scene)
        truth = true_win_ratios(human, HUMAN_NOISE, HUMAN_TIE)
        result = win_ratio_difference(table, "model 0", "model 1", label="human", cluster="scene", resamples=resamples)
        return [("win-ratio difference", float(truth[0] - truth[1]), (result.low, result.high))]

    return study


def ranking_study(models: int, scenes: int, per_scene: int, spread: float) -> Study:
    """Model-level Spearman of human and metric win ratios, with a latent correlation of 0.8 between the two strengths."""

    def study(rng: np.random.Generator, resamples: int) -> Found:
        human = rng.normal(0, spread, models)
        metric = 0.3 * (0.8 * human + 0.6 * rng.normal(0, spread, models))
        truth = spearman_rows(
            true_win_ratios(human, HUMAN_NOISE, HUMAN_TIE)[None], true_win_ratios(metric, METRIC_NOISE, METRIC_TIE)[None]
        )[0]
        table = pair_table(rng, human, metric, scenes, per_scene)
        result = rank_agreement_pairs(table, cluster="scene", resamples=resamples)
        plain = (result.bootstrap_low, result.bootstrap_high)
        return [
            ("Spearman, models", float(truth), (result.rho_low, result.rho_high)),
            ("Spearman, models, plain bootstrap (for comparison)", float(truth), plain),
        ]

    return study


def true_pair_spearman(strength: float) -> float:
    """Spearman's rho of a normal score and a three-way label of it with noise, by numeric integration over the label's cuts.

    rho = 3 sum_k p_k E[(2F(x) - 1) | label k] (2 G_k - 1) / sqrt(1 - sum p_k^3), G_k the mid-distribution of the label.
    """
    x = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    cut = 0.6
    above, below = norm.sf(cut - strength * x), norm.cdf(-cut - strength * x)
    shares = np.array([below.mean(), 1 - above.mean() - below.mean(), above.mean()])
    middle = np.cumsum(shares) - shares / 2
    score_rank = 2 * norm.cdf(x) - 1
    covariance = sum((score_rank * p).mean() * (2 * g - 1) for p, g in zip((below, 1 - above - below, above), middle, strict=True))
    return float(covariance * 3 / np.sqrt(1 - (shares**3).sum()))


def pair_spearman_study(scenes: int, per_scene: int, strength: float) -> Study:
    """Pair-level Spearman of a three-way label and a score difference; half of the noise of both is shared within a scene."""
    truth = true_pair_spearman(strength)

    def study(rng: np.random.Generator, resamples: int) -> Found:
        scene = np.repeat(np.arange(scenes), per_scene)

        def shared() -> np.ndarray:
            return np.sqrt(0.5) * rng.normal(size=scenes)[scene] + np.sqrt(0.5) * rng.normal(size=len(scene))

        delta = shared()
        latent = strength * delta + shared()
        label = (latent > 0.6).astype(int) - (latent < -0.6).astype(int)
        result = spearman(label, delta, clusters=scene, resamples=resamples)
        naive = spearman(label, delta, resamples=resamples)
        return [
            ("Spearman, pairs", truth, (result.low, result.high)),
            ("Spearman, pairs, scenes ignored (for comparison)", truth, (naive.low, naive.high)),
        ]

    return study


# the table of docs/coverage.md: one study, analysed as the agreement analysis does it

STUDY_MODEL = VoteModel((0.9, 0.4, 0.1, -0.2, -0.5, -0.7), tie=0.6, agreement=0.4)
RATERS, TAU = 3, 0.25
SIGNS = [-1, 0, 1]
# scenes of the study from which the truths without a formula are read: their error is far below that of the coverage
VERY_MANY = 20_000


@dataclass(frozen=True)
class Votes:
    """Votes (items x raters), the score difference of each item, its scene, and the same votes as tables of models."""

    votes: np.ndarray
    delta: np.ndarray
    scene: np.ndarray
    shape: tuple[int, ...]

    @property
    def decision(self) -> np.ndarray:
        return np.where(np.abs(self.delta) <= TAU, 0.0, np.sign(self.delta))

    def table(self, labels: np.ndarray, kept: np.ndarray) -> pd.DataFrame:
        names = np.array([f"m{k}" for k in range(len(STUDY_MODEL.strengths))])
        scene, pair = (np.broadcast_to(part, labels.shape)[kept] for part in np.indices(self.shape[:2])[:, :, :, None])
        a, b = STUDY_MODEL.pairs
        return pd.DataFrame(
            {"scene": scene, "model_a": names[a[pair]], "model_b": names[b[pair]], "label": labels[kept].astype(int)}
        )


def made_votes(rng: np.random.Generator, scenes: int) -> Votes:
    m = len(STUDY_MODEL.strengths)
    clips = rng.standard_normal((1, scenes, m))
    votes = drawn_votes(STUDY_MODEL, rng, 1, scenes, RATERS, clips)[0]
    score = 0.6 * np.array(STUDY_MODEL.strengths) + 0.5 * clips[0] + 0.8 * rng.standard_normal((scenes, m))
    a, b = STUDY_MODEL.pairs
    delta = (score[:, a] - score[:, b]).ravel()
    return Votes(votes.reshape(-1, RATERS).astype(float), delta, np.repeat(np.arange(scenes), len(a)), votes.shape)


@lru_cache(maxsize=1)
def large_truth() -> dict[str, float]:
    """What has no formula, from a very large study."""
    made = made_votes(np.random.default_rng(0), VERY_MANY)
    one = np.zeros(len(made.votes))  # one cluster: no interval is computed
    table = judge_beside_people(made.votes, made.decision, SIGNS, scores=made.delta, clusters=one, symmetric=True)
    return dict(table.set_index("measure")["value"])


def study_ac1() -> float:
    """AC1 of the votes, both orders counted: two votes agree as often as a majority of two has them agree."""
    agreement = float(STUDY_MODEL.majority_chances(2).sum(axis=1).mean())
    shares = (STUDY_MODEL.chances.mean(axis=0) + STUDY_MODEL.chances.mean(axis=0)[::-1]) / 2
    chance = float((shares * (1 - shares)).sum() / 2)
    return (agreement - chance) / (1 - chance)


def preference_study(scenes: int) -> Study:
    """Six models, all fifteen pairs in every scene, three votes a pair: everything that the analysis says about it."""

    def study(rng: np.random.Generator, resamples: int) -> Found:
        made, truth = made_votes(rng, scenes), large_truth()
        both = np.concatenate([made.votes, -made.votes])
        ac1 = gwet_ac1(both, SIGNS, clusters=np.tile(made.scene, 2))
        beside = judge_beside_people(
            made.votes, made.decision, SIGNS, scores=made.delta, clusters=made.scene, symmetric=True, resamples=resamples
        ).set_index("measure")
        found: Found = [("AC1", study_ac1(), (ac1.low, ac1.high))]
        for name, measure in BESIDE.items():
            low, high = (float(beside.loc[measure, side]) for side in ("low", "high"))
            found.append((name, truth[measure], (low, high) if np.isfinite(low) else (None, None)))
        cube = made.votes.reshape(made.shape)
        signs, decided = majority_signs(cube.astype(np.int8))
        ratios = STUDY_MODEL.win_ratios(RATERS)
        labels = made.table(signs[..., None], decided[..., None])
        return (
            found
            + differences("win-ratio difference", lambda: win_ratio_comparisons(labels, "scene"), ratios)
            + differences(
                "strength difference",
                lambda: strength_comparisons(made.table(cube, np.ones(cube.shape, dtype=bool)), "scene"),
                np.array(STUDY_MODEL.strengths),
            )
        )

    return study


def mean_study(scenes: int, skewed: bool) -> Study:
    """The mean of a metric over three clips a scene, whose scenes differ by a normal or a skewed (exponential) amount."""

    def study(rng: np.random.Generator, resamples: int) -> Found:
        scene = np.repeat(np.arange(scenes), 3)
        level = rng.exponential(size=scenes) - 1 if skewed else rng.normal(size=scenes)
        found = bootstrap_ci(level[scene] + 0.5 * rng.normal(size=len(scene)), clusters=scene, resamples=resamples)
        return [(f"mean of a metric, {'skewed' if skewed else 'normal'} scenes", 0.0, (found.low, found.high))]

    return study


BESIDE = {
    "rho of score and mean vote": "rho",
    "noise ceiling of rho": "rho_ceiling",
    "judge less people": "difference",
    "rho of judge less people": "rho_difference",
}


def differences(name: str, compare: Callable[[], pd.DataFrame], truth: np.ndarray) -> Found:
    """Every pair of models, or one row without an interval where the fit does not exist."""
    try:
        table = compare()
    except NotScorable:
        return [(name, 0.0, (None, None))]
    value = {f"m{k}": float(v) for k, v in enumerate(truth)}
    bounds = [(None, None) if np.isnan(low) else (low, high) for low, high in zip(table["low"], table["high"], strict=True)]
    return [(name, value[a] - value[b], ends) for a, b, ends in zip(table["first"], table["second"], bounds, strict=True)]


@dataclass(frozen=True)
class Design:
    text: str
    study: Study


SCENES = (5, 8, 15, 40)
RECORDED = tuple(
    Design(f"{scenes} scenes", study)
    for scenes in SCENES
    for study in (preference_study(scenes), ranking_study(6, scenes, 15, 0.6))
)
MEAN_SCENES = (5, 6, 8, 12)
MEANS = tuple(Design(f"{scenes} scenes", mean_study(scenes, skewed)) for skewed in (False, True) for scenes in MEAN_SCENES)
MEANS_MORE = 5  # times as many studies: a mean is cheap
DESIGNS = (
    Design("80 items x 3 raters", ac1_study(80, clustered=False)),
    Design("320 items in 40 scenes x 3 raters", ac1_study(320, clustered=True)),
    Design("230 pairs, 46 scenes, weak", pair_spearman_study(46, 5, 0.4)),
    Design("230 pairs, 46 scenes, strong", pair_spearman_study(46, 5, 1.5)),
    Design("8 models, 30 scenes x 4 pairs", win_ratio_study(30, 4)),
    Design("8 models, 60 scenes x 8 pairs", win_ratio_study(60, 8)),
    Design("6 models, 40 scenes x 3 pairs, close", ranking_study(6, 40, 3, 0.3)),
    Design("8 models, 40 scenes x 4 pairs, close", ranking_study(8, 40, 4, 0.3)),
    Design("8 models, 40 scenes x 4 pairs, apart", ranking_study(8, 40, 4, 0.8)),
    Design("8 models, 5 scenes x 28 pairs, apart", ranking_study(8, 5, 28, 0.8)),
    Design("8 models, 8 scenes x 28 pairs, apart", ranking_study(8, 8, 28, 0.8)),
    Design("8 models, 12 scenes x 28 pairs, apart", ranking_study(8, 12, 28, 0.8)),
    Design("6 models, 8 scenes x 15 pairs, close", ranking_study(6, 8, 15, 0.3)),
    Design("8 models, 12 scenes x 8 pairs, close", ranking_study(8, 12, 8, 0.3)),
)


def coverage(design: Design, studies: int, resamples: int, seed: int = 0) -> pd.DataFrame:
    """One row per estimator of the design; several intervals of one study count as one, by their mean."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(studies):
        for name, truth, (low, high) in design.study(rng, resamples):
            if low is None or high is None:
                rows.append({"study": number, "estimator": name, "hit": np.nan, "width": np.nan})
            else:
                rows.append({"study": number, "estimator": name, "hit": low - 1e-9 <= truth <= high + 1e-9, "width": high - low})
    table = pd.DataFrame(rows).astype({"hit": float})
    each = table.groupby(["estimator", "study"], sort=False)[["hit", "width"]].mean()
    found = []
    for name, own in each.groupby(level="estimator", sort=False):
        known = own.dropna()
        row = {"coverage": float(known["hit"].mean()), "error": float(known["hit"].std(ddof=1) / np.sqrt(len(known)))}
        width, missing = float(known["width"].mean()), int(own["hit"].isna().sum())
        found.append({"estimator": name, "design": design.text, **row, "width": width, "none": missing})
    return pd.DataFrame(found)


# the record


def record(studies: int, resamples: int) -> dict[str, Any]:
    origin = {"command": "`python bench/stats_coverage.py --record`", "machine": one_line(), "commit": git_revision()}
    counts = {"studies": studies, "resamples": resamples}
    rows = {"rows": measured(RECORDED, studies, resamples), "means": measured(MEANS, MEANS_MORE * studies, resamples)}
    return {**origin, "date": datetime.now(UTC).date().isoformat(), **counts, **rows}


def measured(designs: tuple[Design, ...], studies: int, resamples: int) -> list[dict[str, Any]]:
    """The rows of these designs, without those for comparison."""
    parts = []
    for design in designs:
        parts.append(coverage(design, studies, resamples))
        print(parts[-1].to_string(index=False), flush=True)
    table = pd.concat(parts, ignore_index=True)
    table = table[~table["estimator"].str.contains("for comparison")]
    return table.round({"coverage": 4, "error": 4, "width": 3}).to_dict("records")


def cells(table: pd.DataFrame, scenes: tuple[int, ...]) -> str:
    """A row for each estimate, a column for each number of scenes."""
    designs = [f"{count} scenes" for count in scenes]
    lines = [f"| estimate | {' | '.join(designs)} |", "|---" * (len(designs) + 1) + "|"]
    for name, own in table.groupby("estimator", sort=False):
        found = own.set_index("design").loc[designs]
        lines.append(f"| {name} | " + " | ".join(f"{100 * r.coverage:.1f} % ({r.width:.2f})" for r in found.itertuples()) + " |")
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    """docs/coverage.md from the record."""
    votes, means = (pd.DataFrame(found[name]) for name in ("rows", "means"))
    table = pd.concat([votes, means], ignore_index=True)
    none = table[table["none"] > 0]
    without = "; ".join(f"{r.estimator} at {r.design}: {r.none}" for r in none.itertuples()) or "none"
    low = table[table["coverage"] + 2 * table["error"] < 0.95]
    short = [
        f"{name} at " + ", ".join(f"{r.design} ({100 * r.coverage:.1f} %)" for r in own.itertuples())
        for name, own in low.groupby("estimator", sort=False)
    ]
    verdict = f"Below 95 % by more than two standard errors: {'; '.join(short) or 'nothing'}."
    return PAGE.format(
        ties=float(STUDY_MODEL.chances[:, 1].mean()),
        table=cells(votes, SCENES), error=100 * float(votes["error"].max()), studies=found["studies"],
        means=cells(means, MEAN_SCENES), mean_error=100 * float(means["error"].max()), mean_studies=MEANS_MORE * found["studies"],
        without=without, verdict=verdict,
        machine=found["machine"], date=found["date"], commit=found["commit"][:7], command=found["command"],
    )  # fmt: skip


PAGE = """# How often do the intervals hold the truth?

Simulated studies whose truth is known: six models, all fifteen pairs of them in every scene, three votes on each pair,
{ties:.0%} ties, hidden values of two votes on one pair that correlate by 0.4. Each study is analysed as `lookback agreement`
does it. A 95 % interval should hold the truth in 95 % of the studies.

Cells: coverage, and the mean width of the interval in brackets.

{table}

{studies} studies a cell; the standard error of a coverage is at most {error:.1f} points.

The mean of a metric as the reports have it: three clips a scene, whole scenes resampled. Scenes differ by a normal amount, or by a
skewed one (exponential).

{means}

{mean_studies} studies a cell; the standard error of a coverage is at most {mean_error:.1f} points.

{verdict}
Studies without an interval: {without}.

- Win-ratio and strength differences: all fifteen pairs of models, single intervals (Holm's correction is for the verdicts).
- Noise ceiling: what a perfect metric could reach against the mean vote. Judge less people: leave one out, on the same items.
- Spearman, models: rank agreement of people's and metric's win ratios, for models drawn anew in each study.
- Mean of a metric: the interval of so few scenes is too narrow, most where scenes are skewed. Resamples do not mend it (at least
  five are drawn beyond each end); more scenes do.
- Below five scenes no interval is given.

Measured by {command} on {machine}, {date}, commit {commit}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=0, help="studies a row (default: 500, with --record 400)")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--record", action="store_true", help="write docs/measured/coverage.json and docs/coverage.md")
    arguments = parser.parse_args()
    if arguments.record:
        found = record(arguments.studies or 400, arguments.resamples)
        write_json(project_root() / "docs" / "measured" / "coverage.json", found)
        write_text(project_root() / "docs" / "coverage.md", page(found))
        return
    studies = arguments.studies or 500
    print(f"{studies} studies a row, {arguments.resamples} resamples, nominal 95 %")
    print(f"{'estimator':52s} {'design':38s} {'coverage':>9s} {'+/-':>6s} {'width':>6s} {'none':>5s}")
    for design in (*DESIGNS, *RECORDED, *MEANS):
        for row in coverage(design, studies, arguments.resamples).itertuples():
            print(
                f"{row.estimator:52s} {row.design:38s} {row.coverage:9.3f} {row.error:6.3f} {row.width:6.2f} {row.none:5d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
