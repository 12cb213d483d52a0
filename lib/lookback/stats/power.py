"""Power before data: simulate the planned study many times, analyse each as the real one will be, and count what is found.

The study: in every scene pairs of models are compared, each pair by the same `raters` people. One model is better than the others,
who are equal. A finding says that it is better than another one, by the test that the analysis makes: the difference of their
Davidson log strengths, from every vote (`comparisons.strength_comparisons`), and where these do not exist, that of win ratios of
labels, one label a pair by the plan's rules. Beside it stands the test of win ratios alone. A study without a test finds nothing.

What is assumed: Davidson's chances (see `simulation`), the share of tied votes between equal models, how alike two people vote on
one pair of equal models (`agreement`, the correlation of votes 1, 0, -1), how far each rater's own taste shifts the models, and the
share of votes that are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from lookback.errors import NotScorable, Reason, UsageError
from lookback.stats.batches import LOST, TIED, WON, strength_tests
from lookback.stats.comparisons import difference_p
from lookback.stats.intervals import CHUNK_CELLS, FEWEST_CLUSTERS
from lookback.stats.jackknife import jackknife_covariance, ratios_without
from lookback.stats.ratings import Flags, Floats, Rule
from lookback.stats.simulation import VoteModel, drawn_votes, hidden_correlation, outcome_chances

GRID = (0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.65, 0.68, 0.72, 0.76, 0.8, 0.85, 0.9, 0.95)  # shares of votes
SURE = 0.995  # what is stronger than a share that is found so surely needs no simulation
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class StudyRules:
    """What the plan says about labels and tests; the defaults are the plan's."""

    rule: Rule = "majority"
    min_votes: int = 2
    split: Literal["exclude", "tie"] = "exclude"
    ties: Literal["half", "drop"] = "half"  # in win ratios
    every_vote: bool = False  # every vote is a label
    level: float = 0.05
    holm: bool = True  # else the level of all pairs of models is that of one
    like_these: bool = False  # the annotators are a sample too


@dataclass(frozen=True)
class PlannedStudy:
    """The design, the plan's rules, and what is expected of the votes."""

    models: int
    scenes: int
    raters: int
    pairs_per_scene: int | None = None  # none: every pair of models in every scene
    ties: float = 0.2  # share of ties among votes on two equal models
    agreement: float = 0.4  # correlation of two people's votes (1, 0, -1) on one pair of equal models
    tastes: float = 0.0  # standard deviation of what each rater adds to a model's log strength
    missing: float = 0.0  # share of votes that are missing or excluded
    rules: StudyRules = field(default_factory=StudyRules)
    power: float = 0.8
    studies: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.models < 2 or self.raters < 1 or self.studies < 100:
            raise UsageError("a study needs at least 2 models and 1 rater, and at least 100 simulated studies")
        if self.scenes < FEWEST_CLUSTERS:
            raise UsageError(f"a single scene gives no interval and no test; plan at least {FEWEST_CLUSTERS}")
        if not (0 <= self.ties < 0.95 and 0 <= self.agreement <= 0.99 and 0 < self.rules.level < 1 and 0 < self.power < 1):
            raise UsageError("ties lie in [0, 0.95), agreement in [0, 0.99], level and power in (0, 1)")
        if not (0 <= self.tastes <= 5 and 0 <= self.missing < 1):
            raise UsageError(
                "the raters' own preferences have a standard deviation in [0, 5], the share of missing votes is in [0, 1)"
            )
        if self.pairs_per_scene is not None and not 1 <= self.pairs_per_scene <= self.comparisons:
            raise UsageError(f"{self.models} models have {self.comparisons} pairs a scene; pairs_per_scene is 1 to that")
        if not self.rules.every_vote and self.raters < self.rules.min_votes:
            fewest = self.rules.min_votes
            raise UsageError(
                f"the plan leaves out every pair: a label needs {fewest} votes (majority: min_votes), and each has {self.raters}. "
                "Without labels there are no win ratios and no comparison with a metric, however many scenes. Log strengths count "
                f"single votes too: to plan for them alone, write majority: {{min_votes: {self.raters}}} into the plan (--plan)"
            )

    @property
    def comparisons(self) -> int:
        """Pairs of models."""
        return self.models * (self.models - 1) // 2

    @property
    def pairs(self) -> int:
        """Pairs of clips that people see."""
        return self.scenes * (self.pairs_per_scene or self.comparisons)

    @property
    def votes(self) -> int:
        return round(self.pairs * self.raters * (1 - self.missing))

    @property
    def levels(self) -> tuple[float, float]:
        """Of one planned comparison, and of all pairs of models (Holm's first step)."""
        return self.rules.level, self.rules.level / (self.comparisons if self.rules.holm else 1)

    def truth(self, share: float) -> VoteModel:
        """The model whose first model gets this share of the votes (ties half) against each of the others, who are equal."""
        gaps, weights = np.sqrt(2) * self.tastes * NODES, WEIGHTS / WEIGHTS.sum()

        def chances(strength: float, tie: float) -> Floats:
            """Of all raters together."""
            return np.asarray(weights @ outcome_chances(strength + gaps, tie))

        tie = 0.0 if self.ties == 0 else float(brentq(lambda nu: chances(0.0, nu)[1] - self.ties, 0, 1e6))
        strength = 0.0
        if share != 0.5:
            strength = float(brentq(lambda gap: chances(gap, tie) @ [0.0, 0.5, 1.0] - share, -60, 60))
        return VoteModel((strength, *[0.0] * (self.models - 1)), tie, hidden_correlation(self.agreement, self.ties))


@dataclass(frozen=True)
class Power:
    """`table`: share of votes, win_ratio (of labels, the mean of the studies), and simulated powers.

    power, power_corrected: of log strengths (else win ratios), in one comparison and at the first step of Holm over all pairs of
    models. label_power, label_power_corrected: of win ratios alone. `smallest`, `smallest_corrected`: the share of votes found with
    the wanted power; None where not even 0.95 is. `vote_effect`: the variance of the difference of two vote shares over that
    of as many independent votes.
    """

    plan: PlannedStudy
    labels: float
    tied_labels: float
    vote_effect: float
    false_alarms: float
    table: pd.DataFrame
    smallest: float | None
    smallest_corrected: float | None


def study_power(plan: PlannedStudy, share: float | None = None) -> Power:
    """Simulated power over a grid of shares of votes (and the given one), the smallest that is found, and the design effect.

    >>> found = study_power(PlannedStudy(models=3, scenes=12, raters=3, studies=200))
    >>> found.plan.pairs, found.plan.votes, found.labels < found.plan.pairs
    (36, 108, True)
    """
    if share is not None and not 0.5 < share < 1:
        raise UsageError(f"the better model's share of votes lies between 0.5 and 1, got {share}")
    equal = _simulated(plan, 0.5)
    rows: list[dict[str, float]] = []
    for each in sorted({*GRID, *([] if share is None else [share])}):
        if not rows or rows[-1]["power_corrected"] < SURE or each == share:
            rows.append(_row(plan, each))
    table = pd.DataFrame(rows)
    return Power(
        plan,
        float(equal.labels.mean()),
        float(equal.tied.mean()),
        _effect(equal.vote_difference, plan),
        float((equal.p < plan.levels[0]).mean()),
        table,
        _smallest(table["share"], table["power"], plan.power),
        _smallest(table["share"], table["power_corrected"], plan.power),
    )


def _row(plan: PlannedStudy, share: float) -> dict[str, float]:
    found = _simulated(plan, share)
    row = {"share": share, "win_ratio": float(np.nanmean(found.win_ratio))}
    for name, difference, p in (("power", found.difference, found.p), ("label_power", found.label_difference, found.label_p)):
        for suffix, level in zip(("", "_corrected"), plan.levels, strict=True):
            row[name + suffix] = float(((p < level) & (difference > 0)).mean())
    return row


@dataclass(frozen=True)
class Findings:
    """One value per simulated study; differences are those of the first two models."""

    difference: Floats  # of log strengths, of win ratios where these do not exist
    p: Floats
    win_ratio: Floats  # of the first model's labels
    label_difference: Floats
    label_p: Floats
    vote_difference: Floats
    labels: Floats
    tied: Floats


def _simulated(plan: PlannedStudy, share: float) -> Findings:
    rng, model = np.random.default_rng(plan.seed), plan.truth(share)
    cells = plan.scenes * (plan.raters if plan.rules.like_these else 1) * max(3 * plan.comparisons * plan.raters, plan.models**2)
    chunk = max(1, CHUNK_CELLS // cells)
    sizes = [min(chunk, plan.studies - start) for start in range(0, plan.studies, chunk)]
    parts = [analysed(plan, model, drawn_counts(plan, model, rng, size)) for size in sizes]
    return Findings(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Findings)))


def analysed(plan: PlannedStudy, model: VoteModel, counts: Floats) -> Findings:
    """What the analysis of each of these studies (`drawn_counts`) says of the first two models."""
    difference, p = strength_tests(counts, model.pairs, annotators=plan.rules.like_these)
    given = counts.sum(axis=2)
    labels = label_counts(given, plan.rules)
    counted = labels * np.array([1.0, 1.0, float(plan.rules.ties == "half")])
    points, played = _totals(model, counted)
    first, second = _totals(model, given)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios, by_vote = points.sum(axis=1) / played.sum(axis=1), first.sum(axis=1) / second.sum(axis=1)
        variance = jackknife_covariance((ratios_without(points, played) @ np.array([1.0, -1.0]))[..., None])[:, 0, 0]
    label_difference = ratios[:, 0] - ratios[:, 1]
    label_p = difference_p(label_difference, variance, (played > 0).sum(axis=1).min(axis=-1))
    unfitted = np.isnan(difference)
    difference, p = np.where(unfitted, label_difference, difference), np.where(unfitted, label_p, p)
    number, tied = labels.sum(axis=(1, 2, 3)), labels[..., TIED].sum(axis=(1, 2))
    return Findings(difference, p, ratios[:, 0], label_difference, label_p, by_vote[:, 0] - by_vote[:, 1], number, tied)


def drawn_counts(plan: PlannedStudy, model: VoteModel, rng: np.random.Generator, studies: int) -> Floats:
    """The votes of simulated studies as counts: studies x scenes x raters x pairs of models x outcomes (won, lost, tied).

    All raters are counted together where the plan takes them as given.
    """
    votes = drawn_votes(model, rng, studies, plan.scenes, plan.raters, tastes=plan.tastes)
    cast: Flags = np.ones((1, 1, 1, 1), dtype=bool)
    if plan.pairs_per_scene is not None:
        drawn = rng.random(votes.shape[:3])
        cast = (np.argsort(np.argsort(drawn, axis=-1), axis=-1) < plan.pairs_per_scene)[..., None]
    if plan.missing:
        cast = cast & (rng.random(votes.shape) >= plan.missing)
    counts = np.zeros((studies, plan.scenes, plan.raters if plan.rules.like_these else 1, plan.comparisons, 3))
    for k in range(plan.raters):
        given = cast[..., min(k, cast.shape[-1] - 1)]
        for place, sign in ((WON, 1), (LOST, -1), (TIED, 0)):
            counts[:, :, k if plan.rules.like_these else 0, :, place] += (votes[..., k] == sign) & given
    return counts


def label_counts(given: Floats, rules: StudyRules) -> Floats:
    """The labels (..., won / lost / tied) that the plan's rules make of the votes on each pair, as counts; all 0 without one."""
    if rules.every_vote:
        return given
    won, lost, tied = (given[..., place] for place in (WON, LOST, TIED))
    number, most = won + lost + tied, np.maximum(np.maximum(won, lost), tied)
    alone = (given == most[..., None]) & (number > 0)[..., None]
    clear = most > number / 2 if rules.rule == "majority" else alone[..., 0].astype(int) + alone[..., 1] + alone[..., 2] == 1
    enough = number >= max(1, rules.min_votes)
    labels = (alone & (clear & enough)[..., None]).astype(float)
    if rules.split == "tie":
        labels[..., TIED] += enough & ~clear
    return np.asarray(labels)


def _totals(model: VoteModel, counts: Floats) -> tuple[Floats, Floats]:
    """Points and comparisons of the first two models per scene (studies x scenes x 2)."""
    a, b = (np.eye(len(model.strengths))[side][:, :2] for side in model.pairs)
    won, lost, tied = (counts[..., place] for place in (WON, LOST, TIED))
    return np.asarray((won + tied / 2) @ a + (lost + tied / 2) @ b), np.asarray((won + lost + tied) @ (a + b))


def _effect(difference: Floats, plan: PlannedStudy) -> float:
    """Variance of the difference over that of as many independent votes: v (2 n + 2 n_ab) / n^2, n per model, n_ab head to head."""
    own, shared = 2 * plan.votes / plan.models, plan.votes / plan.comparisons
    independent = (1 - plan.ties) / 4 * (2 * own + 2 * shared) / own**2
    known = difference[np.isfinite(difference)]
    if len(known) < 2:
        raise NotScorable(Reason.TOO_FEW_VALUES, "hardly any simulated study compares both models; plan more pairs or scenes")
    return float(known.var(ddof=1) / independent)


def _smallest(shares: pd.Series, power: pd.Series, wanted: float) -> float | None:
    """Where the simulated power reaches `wanted`, between two points of the grid."""
    rising = np.maximum.accumulate(power.to_numpy())
    if rising[-1] < wanted:
        return None
    where = int(np.searchsorted(rising, wanted))
    if where == 0:
        return float(shares.iloc[0])
    step = (wanted - rising[where - 1]) / (rising[where] - rising[where - 1])
    return float(shares.iloc[where - 1] + step * (shares.iloc[where] - shares.iloc[where - 1]))
