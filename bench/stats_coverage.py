"""Do nominal 95 % intervals cover the truth in 95 % of studies? Simulated studies whose truth is known by formula.

    python bench/stats_coverage.py [--studies 500] [--resamples 1000]

Prints one row per estimator and design: coverage with its own Monte-Carlo error, mean width, and studies without an interval.
Rows marked "for comparison" show an interval that lookback does not report as its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from lookback.stats import gwet_ac1, rank_agreement_pairs, spearman, win_ratio_difference
from lookback.stats.correlations import spearman_rows
from scipy.stats import norm

Interval = tuple[float | None, float | None]
# one study: the truth, and (label, interval) of each estimator applied to it
Study = Callable[[np.random.Generator, int], tuple[float, list[tuple[str, Interval]]]]

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

    def study(rng: np.random.Generator, _: int) -> tuple[float, list[tuple[str, Interval]]]:
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
        return true_ac1(accuracies), [(name, (r.low, r.high)) for name, r in results]

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

    def study(rng: np.random.Generator, resamples: int) -> tuple[float, list[tuple[str, Interval]]]:
        human = rng.normal(0, 0.6, 8)
        table = pair_table(rng, human, human, scenes, per_scene)
        truth = true_win_ratios(human, HUMAN_NOISE, HUMAN_TIE)
        result = win_ratio_difference(table, "model 0", "model 1", label="human", cluster="scene", resamples=resamples)
        return float(truth[0] - truth[1]), [("win-ratio difference", (result.low, result.high))]

    return study


def ranking_study(models: int, scenes: int, per_scene: int, spread: float) -> Study:
    """Model-level Spearman of human and metric win ratios, with a latent correlation of 0.8 between the two strengths."""

    def study(rng: np.random.Generator, resamples: int) -> tuple[float, list[tuple[str, Interval]]]:
        human = rng.normal(0, spread, models)
        metric = 0.3 * (0.8 * human + 0.6 * rng.normal(0, spread, models))
        truth = spearman_rows(
            true_win_ratios(human, HUMAN_NOISE, HUMAN_TIE)[None], true_win_ratios(metric, METRIC_NOISE, METRIC_TIE)[None]
        )[0]
        table = pair_table(rng, human, metric, scenes, per_scene)
        result = rank_agreement_pairs(table, cluster="scene", resamples=resamples)
        return float(truth), [
            ("Spearman, models", (result.rho_low, result.rho_high)),
            ("Spearman, models, plain bootstrap (for comparison)", (result.bootstrap_low, result.bootstrap_high)),
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

    def study(rng: np.random.Generator, resamples: int) -> tuple[float, list[tuple[str, Interval]]]:
        scene = np.repeat(np.arange(scenes), per_scene)

        def shared() -> np.ndarray:
            return np.sqrt(0.5) * rng.normal(size=scenes)[scene] + np.sqrt(0.5) * rng.normal(size=len(scene))

        delta = shared()
        latent = strength * delta + shared()
        label = (latent > 0.6).astype(int) - (latent < -0.6).astype(int)
        result = spearman(label, delta, clusters=scene, resamples=resamples)
        naive = spearman(label, delta, resamples=resamples)
        return truth, [
            ("Spearman, pairs", (result.low, result.high)),
            ("Spearman, pairs, scenes ignored (for comparison)", (naive.low, naive.high)),
        ]

    return study


@dataclass(frozen=True)
class Design:
    text: str
    study: Study


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
    """One row per estimator of the design."""
    rng = np.random.default_rng(seed)
    covered: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    without: dict[str, int] = {}
    for _ in range(studies):
        truth, intervals = design.study(rng, resamples)
        for name, (low, high) in intervals:
            if low is None or high is None:
                without[name] = without.get(name, 0) + 1
                continue
            covered.setdefault(name, []).append(low - 1e-9 <= truth <= high + 1e-9)
            widths.setdefault(name, []).append(high - low)
    rows = []
    for name, hits in covered.items():
        share = float(np.mean(hits))
        rows.append(
            {
                "estimator": name,
                "design": design.text,
                "coverage": share,
                "error": np.sqrt(share * (1 - share) / len(hits)),
                "width": float(np.mean(widths[name])),
                "none": without.get(name, 0),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    print(f"{arguments.studies} studies a row, {arguments.resamples} resamples, nominal 95 %")
    print(f"{'estimator':52s} {'design':38s} {'coverage':>9s} {'+/-':>6s} {'width':>6s} {'none':>5s}")
    for design in DESIGNS:
        for row in coverage(design, arguments.studies, arguments.resamples).itertuples():
            print(
                f"{row.estimator:52s} {row.design:38s} {row.coverage:9.3f} {row.error:6.3f} {row.width:6.2f} {row.none:5d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
