"""What the trial says in words: who catches what, and what else makes a metric fall."""

from __future__ import annotations

import pandas as pd

NOTICES = 0.5  # rank correlation of drop and severity from which a measure counts as seeing a failure
COLUMNS = ["failure", "verdict", "strongest", "correlation", "meant_and_best", "meant_correlation", "reading"]


def failure_readings(table: pd.DataFrame) -> pd.DataFrame:
    """Per failure: is it caught by a metric meant for it, is that the strongest of all, and a sentence."""
    rows = []
    for failure, group in table.groupby("failure", sort=True):
        best = group.loc[group["rank_correlation"].idxmax()]
        meant = group[group["meant"]]
        own = meant.loc[meant["rank_correlation"].idxmax()] if len(meant) else None
        caught = own is not None and own["rank_correlation"] >= NOTICES
        strongest = caught and own is not None and own["rank_correlation"] >= best["rank_correlation"] - 1e-9
        rows.append(
            {
                "failure": failure,
                "verdict": "caught by its metric" if strongest else "seen by its metric" if caught else "missed by its metrics",
                "strongest": best["measure"],
                "correlation": best["rank_correlation"],
                "meant_and_best": "" if own is None else own["measure"],
                "meant_correlation": float("nan") if own is None else own["rank_correlation"],
                "reading": _failure_sentence(str(failure).replace("_", " "), best, own, caught, strongest),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _failure_sentence(failure: str, best: pd.Series, own: pd.Series | None, caught: bool, strongest: bool) -> str:
    if own is None:
        return f"No metric of these clips is meant for {failure}; {best['measure']} reacts most ({best['rank_correlation']:.2f})."
    if not caught:
        return (
            f"{failure.capitalize()} is missed: {own['measure']}, meant for it, follows its severity with only "
            f"{own['rank_correlation']:.2f}; {best['measure']} reacts most ({best['rank_correlation']:.2f})."
        )
    since = "" if pd.isna(own["detected_from"]) else f" and exceeds what nuisances do from severity {own['detected_from']:g} on"
    text = f"{failure.capitalize()} is seen by {own['measure']} ({own['rank_correlation']:.2f}){since}"
    return text + ("." if strongest else f"; {best['measure']}, not meant for it, reacts more ({best['rank_correlation']:.2f}).")


def metric_readings(table: pd.DataFrame, invariances: pd.DataFrame) -> pd.DataFrame:
    """Per measure: the failures it sees of those it is meant for, what else it reacts to, and the nuisance that moves it most."""
    rows = []
    for measure, group in table.groupby("measure", sort=True):
        seen = group[group["rank_correlation"] >= NOTICES]
        nuisances = invariances[(invariances["measure"] == measure) & (invariances["kind"] == "nuisance")]
        worst = nuisances.loc[nuisances["mean_drop"].abs().idxmax()] if len(nuisances) else None
        rows.append(
            {
                "measure": measure,
                "sees": ", ".join(seen.loc[seen["meant"], "failure"]),
                "misses": ", ".join(group.loc[group["meant"] & (group["rank_correlation"] < NOTICES), "failure"]),
                "also_reacts_to": ", ".join(seen.loc[~seen["meant"], "failure"]),
                "worst_nuisance": "" if worst is None else f"{worst['control']} ({worst['mean_drop']:+.3g})",
            }
        )
    return pd.DataFrame(rows, columns=["measure", "sees", "misses", "also_reacts_to", "worst_nuisance"])
