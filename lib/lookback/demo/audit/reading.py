"""The results of the audit in words: which metric notices which failure, and what else makes it fall."""

from __future__ import annotations

import pandas as pd

from lookback.demo.audit.sensitivity import FEWEST_CLIPS
from lookback.registry import BENCHMARKS, METRICS

COLUMNS = ["failure", "verdict", "n", "detected_from", "meant_and_best", "meant_correlation", "strongest", "correlation", "reading"]
METRIC_COLUMNS = ["measure", "sees", "misses", "also_reacts_to", "worst_nuisance"]
CAUGHT, SEEN, MISSED, UNMEASURED = "caught by its metric", "seen by its metric", "missed by its metrics", "not measured"


def failure_readings(table: pd.DataFrame) -> pd.DataFrame:
    """Per failure: is it caught by a metric meant for it, is that the strongest of all, and a sentence."""
    rows = [_failure(str(failure), group) for failure, group in table.groupby("failure", sort=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _failure(failure: str, group: pd.DataFrame) -> dict[str, object]:
    measured = group[group["rank_correlation"].notna()]
    best, own = _strongest(measured), _strongest(measured[measured["meant"]])
    row = {
        "failure": failure,
        "strongest": "" if best is None else best["measure"],
        "correlation": float("nan") if best is None else best["rank_correlation"],
        "meant_and_best": "" if own is None else own["measure"],
        "meant_correlation": float("nan") if own is None else own["rank_correlation"],
        "n": 0 if own is None else own["n"],
        "detected_from": float("nan") if own is None else own["detected_from"],
    }
    name = failure.replace("_", " ")
    if own is None or best is None:
        why = _why_not(group)
        reacts = "" if best is None else f" {best['measure']} reacts most ({best['rank_correlation']:.2f})."
        return row | {"verdict": f"{UNMEASURED}: {why}", "reading": f"{name.capitalize()} is not measured: {why}.{reacts}"}
    strongest = own["rank_correlation"] >= best["rank_correlation"] - 1e-9
    verdict = MISSED if not own["seen"] else CAUGHT if strongest else SEEN
    reading = _sentence(name.capitalize(), best, own, strongest) + _blind_spots(failure, measured)
    return row | {"verdict": verdict, "reading": reading}


def _blind_spots(failure: str, measured: pd.DataFrame) -> str:
    """Which metrics miss the failure because their own formula cannot see it."""
    missed: dict[str, list[str]] = {}
    for measure in measured.loc[~measured["seen"].astype(bool), "measure"]:
        name = str(measure).split(" ")[0]
        owner = METRICS.get(name).benchmark if name in METRICS else ""
        why = BENCHMARKS.get(owner).blind_spot(name, failure) if owner else ""
        if why:
            missed.setdefault(why, []).append(str(measure))
    return "".join(f" {', '.join(names)}: {why}." for why, names in missed.items())


def _strongest(rows: pd.DataFrame) -> pd.Series | None:
    """The measure that follows the severity best. Measures that see the failure come first, then those meant for it."""
    return None if rows.empty else rows.sort_values(["seen", "rank_correlation", "meant"], kind="stable").iloc[-1]


def _why_not(group: pd.DataFrame) -> str:
    """Why no metric meant for the failure was measured."""
    meant = group[group["meant"]]
    if (meant["n"] > 0).any():
        return f"fewer than {FEWEST_CLIPS} failing clips"
    reasons = [text for text in (meant if len(meant) else group)["missing"] if text]
    if len(meant) or not (group["n"] > 0).any():
        return reasons[0].split(",")[0].rpartition(" ")[0].replace("_", " ") if reasons else "no scores"
    return "no metric of these clips is meant for it"


def _sentence(failure: str, best: pd.Series, own: pd.Series, strongest: bool) -> str:
    more = "" if strongest else f"; {best['measure']}, not meant for it, reacts more ({best['rank_correlation']:.2f})"
    if not own["seen"]:
        drop = "" if own["mean_drop"] > own["spread"] else ", and falls by less than sound clips differ among themselves"
        return (
            f"{failure} is missed: {own['measure']}, meant for it, follows its severity with "
            f"{own['rank_correlation']:.2f} (n {own['n']}){drop}{more}."
        )
    since = "" if pd.isna(own["detected_from"]) else f" and exceeds what nuisances do from severity {own['detected_from']:g} on"
    return f"{failure} is seen by {own['measure']} ({own['rank_correlation']:.2f}, n {own['n']}){since}{more}."


def metric_readings(table: pd.DataFrame, invariances: pd.DataFrame) -> pd.DataFrame:
    """Per measure: the failures it sees of those it is meant for (with their number of clips), what else it reacts to, and the
    nuisance that moves it most."""
    told = table[table["rank_correlation"].notna()]
    tried = invariances[(invariances["kind"] == "nuisance") & invariances["mean_drop"].notna()]
    rows = []
    for measure in sorted({*told["measure"], *tried["measure"]}):
        group, nuisances = (part[part["measure"] == measure] for part in (told, tried))
        seen, meant = group["seen"].astype(bool), group["meant"].astype(bool)
        worst = nuisances.loc[nuisances["mean_drop"].abs().idxmax()] if len(nuisances) else None
        rows.append(
            {
                "measure": measure,
                "sees": _listed(group[seen & meant]),
                "misses": _listed(group[~seen & meant]),
                "also_reacts_to": _listed(group[seen & ~meant]),
                "worst_nuisance": "not tried"
                if worst is None
                else f"{worst['control']} ({worst['mean_drop']:+.3g}, n {worst['n']})",
            }
        )
    return pd.DataFrame(rows, columns=METRIC_COLUMNS)


def _listed(rows: pd.DataFrame) -> str:
    return ", ".join(f"{failure} ({n})" for failure, n in zip(rows["failure"], rows["n"], strict=True))


def finding(table: pd.DataFrame) -> str:
    """How many injected failures are seen by a metric meant for them, in a sentence (`table`: the failures' readings)."""
    named = table["failure"].str.replace("_", " ")
    missed = ", ".join(named[table["verdict"] == MISSED])
    unmeasured = table["verdict"].str.startswith(UNMEASURED)
    unknown = ", ".join(named[unmeasured] + " (" + table.loc[unmeasured, "verdict"].str.removeprefix(f"{UNMEASURED}: ") + ")")
    caught = int(table["verdict"].isin([CAUGHT, SEEN]).sum())
    text = f"{caught} of {len(table)} injected failures make a metric that is meant for them fall with their severity"
    return text + (f"; missed: {missed}" if missed else "") + (f"; not measured: {unknown}." if unknown else ".")
