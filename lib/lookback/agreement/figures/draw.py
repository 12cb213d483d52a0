"""Every figure that a run's agreement tables allow, saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lookback.agreement.figures.comparison import judge_and_people, model_ranking, recovered_truth
from lookback.agreement.figures.factors import event_factor_boxes
from lookback.agreement.figures.forest import agreement_forest, association_forest, ranking_forest
from lookback.agreement.figures.matrices import agreement_heatmap, correlation_matrix
from lookback.agreement.figures.scatter import win_ratio_scatter
from lookback.errors import NotScorable
from lookback.figures import SavedFigure, save_figure

Tables = dict[str, pd.DataFrame]
Draw = Callable[[Tables], tuple[Figure, str]]


def _agreement(tables: Tables) -> tuple[Figure, str]:
    return agreement_forest(tables["agreement"], confidence=tables["agreement"].attrs["confidence"])


def _ranking(tables: Tables) -> tuple[Figure, str]:
    return ranking_forest(tables["ranking"], confidence=tables["ranking"].attrs["confidence"])


def _associations(name: str) -> tuple[tuple[str, ...], Draw]:
    return (name,), lambda tables: association_forest(tables[name], confidence=tables[name].attrs["confidence"])


def _correlations(tables: Tables) -> tuple[Figure, str]:
    return correlation_matrix(tables["correlations"], alpha=tables["correlations"].attrs["alpha"])


FIGURES: dict[str, tuple[tuple[str, ...], Draw]] = {
    "agreement_forest": (("agreement",), _agreement),
    "model_ranking": (("models",), lambda tables: model_ranking(tables["models"])),
    "judge_and_people": (("ceiling",), lambda tables: judge_and_people(tables["ceiling"])),
    "ranking_forest": (("ranking",), _ranking),
    "bridge_forest": _associations("bridge"),
    "rating_forest": _associations("rating_metric"),
    "win_ratios": (("win_ratios", "ranking"), lambda tables: win_ratio_scatter(tables["win_ratios"], tables["ranking"])),
    "correlations": (("correlations",), _correlations),
    "event_factors": (
        ("event_cells", "event_factors"),
        lambda tables: event_factor_boxes(tables["event_cells"], tables["event_factors"]),
    ),
    "vqa_agreement": (("memobench_agreement",), lambda tables: agreement_heatmap(tables["memobench_agreement"])),
    "recovered_truth": (("recovered",), lambda tables: recovered_truth(tables["recovered"])),
}


def draw_figures(tables: Tables, folder: Path, prefix: str = "") -> list[SavedFigure]:
    """The figures whose tables are there; `prefix` begins their file names."""
    saved = []
    for name, (needs, draw) in FIGURES.items():
        if all(need in tables and len(tables[need]) for need in needs):
            try:
                figure, caption = draw(tables)
            except NotScorable:  # too few models or clips for this picture; its table says so
                continue
            saved.append(save_figure(figure, folder, prefix + name, caption))
    return saved
