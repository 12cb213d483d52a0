"""Mixed model of clip scores: fixed effects of the design, scene and model as crossed random intercepts.

score = fixed effects + u_scene + u_model + error, fitted by restricted maximum likelihood (statsmodels MixedLM).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from scipy import stats

from lookback.errors import NotScorable, Reason, UsageError

# fewer levels cannot carry a variance
MIN_LEVELS = 5
# residuals this small beside the values are rounding
NO_REST = 1e-9


def mixed_model(
    table: pd.DataFrame,
    *,
    fixed: Sequence[str],
    value: str = "value",
    random: Sequence[str] = ("scene", "model_id"),
    interactions: bool = False,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Tidy rows (term, kind, estimate, se, low, high, p, n, note): fixed effects, then variance components as standard deviations.

    Numeric `fixed` columns enter as they are, others as treatment contrasts; `interactions` adds their products. Too few levels of
    a random effect, too few rows, or a fit that does not converge raise NotScorable. A variance estimated at zero is noted.
    """
    lacking = [c for c in (value, *fixed, *random) if c not in table]
    if lacking:
        raise UsageError(f"the table lacks the column(s) {', '.join(lacking)}")
    names = {column: f"c{i}" for i, column in enumerate([value, *fixed, *random])}
    used = table[list(names)].dropna().rename(columns=names)
    for column in random:
        levels = used[names[column]].nunique()
        if levels < MIN_LEVELS:
            raise NotScorable(Reason.TOO_FEW_VALUES, f"random effect {column} has {levels} level(s); a variance needs {MIN_LEVELS}")
    terms = [names[c] if pd.api.types.is_numeric_dtype(table[c]) else f"C({names[c]})" for c in fixed]
    formula = f"c0 ~ {(' * ' if interactions else ' + ').join(terms) or '1'}"
    used["whole"] = 1
    components = {column: f"0 + C({names[column]})" for column in random}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = smf.mixedlm(formula, used, groups="whole", re_formula="0", vc_formula=components)
            if len(used) <= model.exog.shape[1] + len(random) + 1:
                raise NotScorable(Reason.TOO_FEW_VALUES, f"{len(used)} rows cannot carry {model.exog.shape[1]} fixed effects")
            _check_design(model.exog, used, [names[column] for column in random])
            result = model.fit(reml=True, method=["lbfgs", "powell"])
    except np.linalg.LinAlgError as error:
        raise NotScorable(Reason.UNDEFINED, f"the mixed model cannot be solved on these data ({error})") from error
    settled = result.converged and np.isfinite(result.params).all()
    if not (settled and np.isfinite(result.bse_fe).all() and (result.bse_fe > 0).all()):
        raise NotScorable(Reason.UNDEFINED, "the mixed model did not converge on these data")
    return _tidy(result, {v: k for k, v in names.items()}, list(components), len(used), confidence)


def _check_design(exog: NDArray[np.float64], used: pd.DataFrame, random: list[str]) -> None:
    """Refuse fixed effects that repeat each other, and values that fixed and random effects explain without any rest."""
    if np.linalg.matrix_rank(exog) < exog.shape[1]:
        raise NotScorable(Reason.UNDEFINED, "the design is singular: a fixed effect repeats another or does not vary")
    levels = pd.get_dummies(used[random].astype("category")).to_numpy(dtype=float)
    everything, value = np.hstack([exog, levels]), used["c0"].to_numpy(dtype=float)
    rest = value - everything @ np.linalg.lstsq(everything, value, rcond=None)[0]
    if np.abs(rest).max() <= NO_REST * np.abs(value).max():
        raise NotScorable(Reason.UNDEFINED, "the effects explain the values without any rest: there is no variance to compare with")


def _tidy(result: object, back: dict[str, str], components: list[str], n: int, confidence: float) -> pd.DataFrame:
    half = float(stats.norm.ppf(0.5 + confidence / 2))
    rows = []
    for term in result.fe_params.index:  # type: ignore[attr-defined]
        estimate, se = float(result.fe_params[term]), float(result.bse_fe[term])  # type: ignore[attr-defined]
        p = float(2 * stats.norm.sf(abs(estimate / se)))
        bounds = {"low": estimate - half * se, "high": estimate + half * se}
        rows.append(
            {"term": _named(term, back), "kind": "fixed", "estimate": estimate, "se": se, **bounds, "p": p, "n": n, "note": ""}
        )
    spreads = dict(zip(result.model.exog_vc.names, result.vcomp, strict=True))  # type: ignore[attr-defined]
    spreads = {**{c: float(spreads[c]) for c in components}, "residual": float(result.scale)}  # type: ignore[attr-defined]
    for name, variance in spreads.items():
        note = "estimated at zero: these levels do not differ beyond noise" if variance < 1e-6 * spreads["residual"] else ""
        empty = dict.fromkeys(("se", "low", "high", "p"), np.nan)
        rows.append({"term": name, "kind": "sd", "estimate": float(np.sqrt(variance)), **empty, "n": n, "note": note})
    return pd.DataFrame(rows)


def _named(term: str, back: dict[str, str]) -> str:
    for short, column in sorted(back.items(), key=lambda pair: -len(pair[0])):
        term = (
            term.replace(f"C({short})", column)
            if f"C({short})" in term
            else ":".join(column if part == short else part for part in term.split(":"))
        )
    return term
