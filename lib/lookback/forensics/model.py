"""A small transparent model of one failure: a logistic curve over few features, each of which can only speak for the failure.

    p = 1 / (1 + exp(-(bias + sum_i weight_i * z_i))),  z_i = sign_i * (t_i(value_i) - centre_i) / scale_i,  weight_i >= 0

`sign` says in which direction a feature speaks for the failure, so that the model is monotone by construction; t is the
identity, or log(value + floor) for features whose ratios count. A feature that a clip does not have counts as z = 0: it speaks
neither for nor against. The model abstains where a feature that it cannot do without is missing, and where the evidence is too
close to call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from lookback.errors import Reason

RIDGE = 1.0  # of the weights, in units of standardised features
FAR = 3.0  # a feature beyond this many scales counts as this many, so that one extreme clip decides nothing alone
LARGEST = 6.0  # of a weight
CLOSE = 0.1  # a probability (with both answers equally likely beforehand) within this distance of one half is too close to call


@dataclass(frozen=True)
class Design:
    """Which features a label's model reads: name -> +1 or -1; those without which it abstains; and the floors of logarithms."""

    features: Mapping[str, int]
    needs: tuple[str, ...] = ()
    floors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Abstention:
    """A label that a model does not decide on, and why."""

    reason: Reason
    words: str


@dataclass(frozen=True)
class Model:
    """A fitted model of one label."""

    features: tuple[str, ...]
    signs: tuple[int, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    named_from: float = 0.5  # the failure is named from this probability on
    absent_to: float = 0.5  # and held to be absent up to this one; between the two it is too close to call
    floors: tuple[float, ...] = ()  # per feature; 0 where it is taken as it is
    needs: tuple[str, ...] = ()

    def z(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """The features in standard units, signed towards the failure; 0 where one is missing."""
        raw = np.array([float(values.get(name, np.nan)) for name in self.features])
        raw = _transformed(raw, np.array(self.floors or [0.0] * len(raw)))
        z = np.array(self.signs) * (raw - np.array(self.centres)) / np.array(self.scales)
        return np.asarray(np.clip(np.nan_to_num(z), -FAR, FAR))

    def probability(self, values: Mapping[str, float]) -> float:
        return float(_sigmoid(self.bias + self.z(values) @ np.array(self.weights)))

    def missing(self, values: Mapping[str, float]) -> str | None:
        """The first needed feature that a clip does not have."""
        return next((name for name in self.needs if not np.isfinite(values.get(name, np.nan))), None)

    def says(self, values: Mapping[str, float]) -> bool | None:
        """True: the failure is there. False: it is not. None: too close to call."""
        probability = self.probability(values)
        return True if probability >= self.named_from else False if probability <= self.absent_to else None

    def formula(self) -> str:
        """The model in words: which features speak for the failure, how strongly, and from which probability on it is named."""
        parts = [
            f"{'more' if sign > 0 else 'less'} {name.replace('_', ' ')} (weight {weight:.2f})"
            for name, sign, weight in zip(self.features, self.signs, self.weights, strict=True)
        ]
        return f"{' and '.join(parts)}; named from p = {self.named_from:.2f} on, absent up to {self.absent_to:.2f}"

    def spoke(self, values: Mapping[str, float]) -> list[str]:
        """The features that spoke, at most three, the strongest first."""
        pull = self.z(values) * np.array(self.weights)
        order = [
            int(i) for i in np.argsort(-pull) if np.isfinite(values.get(self.features[int(i)], np.nan)) and self.weights[int(i)] > 0
        ]
        return [self.features[i] for i in order[:3]]


def _transformed(raw: NDArray[np.float64], floors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.where(floors > 0, np.log(np.maximum(raw, 0) + np.maximum(floors, 1e-12)), raw), np.float64)


def _sigmoid(x: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))), np.float64)


def fit(table: pd.DataFrame, positive: Sequence[bool], design: Design, ridge: float = RIDGE) -> Model:
    """The model with the largest penalised likelihood under non-negative weights.

    Both answers have the same total weight, so that a rare failure is not drowned. The failure is named where the evidence makes it
    clearly more likely than it was beforehand; no threshold is searched for.
    """
    names = tuple(design.features)
    signs = np.array([design.features[name] for name in names], float)
    floors = np.array([design.floors.get(name, 0.0) for name in names])
    raw = _transformed(table.reindex(columns=list(names)).to_numpy(float), floors)
    centres = np.nan_to_num(np.array([_median(column) for column in raw.T]))
    scales = np.array([_spread(column) for column in raw.T])
    z = np.clip(np.nan_to_num(signs * (raw - centres) / scales), -FAR, FAR)
    y = np.asarray(positive, float)
    share = np.clip(y.mean(), 1e-3, 1 - 1e-3)
    importance = np.where(y == 1, 0.5 / share, 0.5 / (1 - share))

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        score = x[0] + z @ x[1:]
        p = _sigmoid(score)
        likelihood = importance * (np.logaddexp(0, score) - y * score)
        gradient = importance * (p - y)
        return (
            float(likelihood.sum() + 0.5 * ridge * x[1:] @ x[1:]),
            np.concatenate([[gradient.sum()], z.T @ gradient + ridge * x[1:]]),
        )

    bounds = [(None, None), *[(0.0, LARGEST)] * len(names)]
    found = minimize(loss, np.zeros(len(names) + 1), jac=True, bounds=bounds, method="L-BFGS-B")
    prior = float(np.log(share / (1 - share)))
    close = float(np.log((0.5 + CLOSE) / (0.5 - CLOSE)))
    return Model(
        names,
        tuple(int(sign) for sign in signs),
        tuple(float(value) for value in centres),
        tuple(float(value) for value in scales),
        tuple(float(value) for value in found.x[1:]),
        float(found.x[0]) + prior,
        float(_sigmoid(prior + close)),
        float(_sigmoid(prior - close)),
        tuple(float(value) for value in floors),
        design.needs,
    )


def _median(column: NDArray[np.float64]) -> float:
    return float(np.nanmedian(column)) if np.isfinite(column).any() else 0.0


def _spread(column: NDArray[np.float64]) -> float:
    """Half the distance between the 10th and the 90th percentile; 1 for a constant feature."""
    if not np.isfinite(column).any():
        return 1.0
    low, high = np.nanpercentile(column, [10, 90])
    return float((high - low) / 2) if high - low > 1e-9 else 1.0
