"""Estimates with parts of the study left out, and the variances that follow: clusters (scenes) alone, or annotators as well.

Clusters as the sample (the annotators are these): with d_g the estimate without cluster g of G,
    V = (G - 1)/G sum_g (d_g - mean d)^2.
That is less narrow than linearised errors when clusters are few (Bell & McCaffrey 2002, Survey Methodology 28:169-181).

Clusters and annotators as samples: an annotator's taste repeats in every scene, so that more scenes do not average it out. With
the variances from leaving out a cluster, an annotator, and a cell (what one annotator said of one cluster),
    V = V_clusters + V_annotators - V_cells,
and never less than V_clusters or V_annotators (Cameron, Gelbach & Miller 2011, J. Bus. Econ. Stat. 29:238-249, whose sums over
groups are here left-out estimates). t has one degree of freedom less than there are clusters or annotators, whichever are fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from lookback.stats.intervals import FEWEST_CLUSTERS, UNVARIED
from lookback.stats.ratings import Codes, Floats

# fewer annotators cannot speak for others like them
FEWEST_ANNOTATORS = 5


def jackknife_covariance(without: Floats) -> Floats:
    """Covariance of estimates from their values without each cluster (..., clusters x k)."""
    groups = without.shape[-2]
    centred = without - without.mean(axis=-2, keepdims=True)
    return np.asarray((groups - 1) / groups * np.swapaxes(centred, -1, -2) @ centred)


def jackknife_variance(without: Floats) -> Floats:
    """Variances of estimates from their values without each cluster (clusters x ...); NaN where one of these is undefined."""
    return np.asarray((len(without) - 1) * without.var(axis=0))


def ratios_without(points: Floats, played: Floats) -> Floats:
    """Ratios of totals (..., clusters x models) with each cluster left out in turn; NaN where nothing remains."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((points.sum(axis=-2, keepdims=True) - points) / (played.sum(axis=-2, keepdims=True) - played))


def cell_codes(clusters: Codes, annotators: Codes) -> Codes:
    """The pairs of a cluster and an annotator that occur, numbered from 0."""
    return np.asarray(np.unique(clusters * (annotators.max() + 1) + annotators, return_inverse=True)[1]).ravel()


@dataclass(frozen=True)
class Estimates:
    """Values of models on one scale, and what they are with parts of the study left out.

    `without`: (clusters x models), or three such tables: without each cluster, annotator and cell. `seen`: how many clusters show
    each model, or how many annotators saw it where these are fewer; `groups`: how many of them there are.
    """

    models: list[str]
    values: Floats
    without: tuple[Floats, ...]
    seen: Codes
    groups: int

    def variances(self, of: Callable[[Floats], Floats]) -> Floats:
        """The variances of functions of the values (..., models) -> (..., k)."""
        parts = [jackknife_variance(np.asarray(of(table))) for table in self.without]
        if len(parts) == 1:
            return parts[0]
        clusters, annotators, cells = parts
        return np.asarray(np.maximum(clusters + annotators - cells, np.maximum(clusters, annotators)))

    def table(self, confidence: float) -> pd.DataFrame:
        """Model, value, se, low, high; without an interval where one cluster shows the model, or where nothing varies."""
        se = np.where(self.seen >= FEWEST_CLUSTERS, np.sqrt(self.variances(lambda values: values)), np.nan)
        half = special.stdtrit(np.maximum(self.seen - 1, 1), 0.5 + confidence / 2) * np.where(se > UNVARIED, se, np.nan)
        bounds = {"low": self.values - half, "high": self.values + half}
        return pd.DataFrame({"model": self.models, "value": self.values, "se": se, **bounds})
