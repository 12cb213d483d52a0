"""A study as a notebook shows it: few tables of few columns, each with its reading. All columns and tables are in the CSV files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lookback.agreement.comparison import BESIDE
from lookback.agreement.reading import interval, number, span
from lookback.figures import saved_figures

STUDY = "study"  # tables of a study beside the run's own votes are named study/<table>
ROWS, COLUMNS = 24, 8


def _between(value: str, low: str, high: str, digits: int = 2) -> Callable[[pd.DataFrame], list[str]]:
    """A column of "0.34 (0.20 to 0.48)"."""

    def words(table: pd.DataFrame) -> list[str]:
        bounds = zip(table[value].astype(float), table[low].astype(float), table[high].astype(float), strict=True)
        return [f"{number(v, digits)} ({interval(a, b)})" for v, a, b in bounds]

    return words


def _probability(column: str) -> Callable[[pd.DataFrame], list[str]]:
    def words(table: pd.DataFrame) -> list[str]:
        return ["none" if pd.isna(p) else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in table[column].astype(float)]

    return words


def _yes_no(column: str) -> Callable[[pd.DataFrame], list[str]]:
    def words(table: pd.DataFrame) -> list[str]:
        return ["no interval" if pd.isna(value) else "yes" if value else "no" for value in table[column]]

    return words


def _places(table: pd.DataFrame) -> list[str]:
    return [span(low, high).replace(" to ", "-") for low, high in zip(table["place_low"], table["place_high"], strict=True)]


Column = str | Callable[[pd.DataFrame], list[str]]
# table -> heading of a column -> column of the table, or words made from it; "group" stands for dimension and setting
SHOWN: dict[str, dict[str, Column]] = {
    "study_design": {
        "family": "family",
        "models": "models",
        "scenes": "scenes",
        "items": "items",
        "votes": "votes",
        "of these simulated": "simulated",
        "annotators": "annotators",
        "without majority": "no_majority",
    },
    "agreement": {
        "group": "group",
        "items": "n_items",
        "votes": "n_votes",
        "AC1": _between("ac1", "ac1_low", "ac1_high"),
        "Krippendorff's alpha": _between("alpha", "alpha_low", "alpha_high"),
        "more than by chance": "claim",
        "most frequent answer": "prevalence",
        "agreement": _between("percent", "percent_low", "percent_high"),
    },
    "annotators": {
        "family": "family",
        "annotator": "annotator",
        "votes": "n_votes",
        "equals the others": _between("agreement", "low", "high"),
        "most used answer": "top_answer",
        "AC1 changes without": "ac1_change",
        "Dawid-Skene accuracy": "dawid_skene",
        "flags": "flags",
    },
    "ceiling": {
        "group": "group",
        "judge or metric": "metric",
        "items": "n_items",
        "one person": "people",
        "judge": "judge",
        "judge less person": _between("difference", "difference_low", "difference_high"),
        "verdict": "verdict",
        "estimated ceiling of rho": _between("rho_ceiling", "rho_ceiling_low", "rho_ceiling_high"),
    },
    "models": {
        "group": "group",
        "scale": "scale",
        "model": "model",
        "value": _between("value", "low", "high"),
        "places": _places,
        "letters": "letters",
        "win ratio": _between("win_ratio", "win_ratio_low", "win_ratio_high"),
    },
    "comparisons": {
        "group": "group",
        "first": "first",
        "second": "second",
        "scale": "scale",
        "difference": _between("difference", "low", "high"),
        "p, corrected": _probability("p_holm"),
        "verdict": "verdict",
        "annotators": "annotators",
    },
    "bridge": {
        "group": "group",
        "metric": "metric",
        "pairs": "n",
        "rho within models": _between("within_rho", "within_rho_low", "within_rho_high"),
        "rho between models": _between("between_rho", "between_rho_low", "between_rho_high"),
        "pooled rho": _between("pooled_rho", "pooled_rho_low", "pooled_rho_high"),
        "p, corrected": _probability("p_corrected"),
        "claim": "claim",
    },
    "recovered": {
        "quantity": "quantity",
        "dimension": "dimension",
        "model": "model",
        "truth": "truth",
        "estimate": _between("estimate", "low", "high"),
        "interval holds the truth": _yes_no("inside"),
    },
}


def shown(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The columns of a table that a reader needs first, at most eight; intervals stand beside their values."""
    if name == "comparisons":  # the clearest first, on the scale that makes the verdicts
        table = table[table["verdict"] != BESIDE].sort_values("p", kind="stable", ignore_index=True)
    named = table
    if "dimension" in table and "setting" in table:
        several = table["setting"].nunique() > 1
        setting = table["setting"].astype(str).map(lambda s: f" [{s}]" if s and several else "")
        named = table.assign(group=table["dimension"].astype(str) + setting)
    made = {
        ("dimension" if heading == "group" else heading): named[column].to_numpy() if isinstance(column, str) else column(named)
        for heading, column in SHOWN[name].items()
    }
    return pd.DataFrame(made)


class StudyView:
    """The tables and figures of a study, shown in a notebook one by one; a table that the study does not have says so."""

    def __init__(self, tables: dict[str, pd.DataFrame], figures: Path):
        own = {name.removeprefix(f"{STUDY}/"): table for name, table in tables.items() if name.startswith(f"{STUDY}/")}
        self.tables = own or tables
        self.simulated = bool(own)
        self.figures = {figure.png.stem: figure for figure in saved_figures(figures)} if figures.is_dir() else {}

    def table(self, name: str, rows: int = ROWS) -> None:
        """Heading, table, reading and footnote."""
        from lookback.notebook import show_heading, show_table, show_words

        if name not in self.tables:
            if self.tables:  # a run without votes has nothing to say
                show_words(f"This study has no table '{name}'.")
            return
        table = self.tables[name]
        show_heading(table.attrs["title"])
        show_table(shown(name, table), rows=rows)
        show_words(table.attrs["reading"], table.attrs["footnote"])

    def figure(self, name: str) -> None:
        """A saved figure with its caption, if the study has it."""
        from lookback.notebook import show_saved

        found = self.figures.get(f"{STUDY}_{name}" if self.simulated else name)
        if found is not None:
            show_saved(found)
