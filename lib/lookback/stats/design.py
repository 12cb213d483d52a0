"""Planned comparisons: Wilcoxon's paired test, Holm's correction, 2x2 event factors, mixed model.

Wilcoxon: up to 50 non-zero differences the p is exact, ties included (the distribution of W+ over all sign flips of the observed
mid-ranks, by convolution); above, scipy's normal approximation. Zero differences are dropped (Wilcoxon's own rule) and counted;
the shift and its interval leave them out too, as R's wilcox.test does.

Event factors (WRBench figure 6, table 8), per model with cell means m_fs (f: first factor, s: second factor):
    first       = ((m_10 - m_00) + (m_11 - m_01)) / 2
    second      = ((m_01 - m_00) + (m_11 - m_10)) / 2
    interaction = (m_11 - m_01) - (m_10 - m_00)

Mixed model: score = fixed effects + u_scene + u_model + error, by restricted maximum likelihood (statsmodels MixedLM).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lookback.errors import ContractError, NotScorable, Reason, UsageError
from lookback.stats.intervals import number
from lookback.stats.ratings import Floats

EXACT_DIFFERENCES = 50
# fewer levels cannot carry a variance
MIN_LEVELS = 5
# residuals this small beside the values are rounding
NO_REST = 1e-9
# differences keep this many digits of the values they come from: the others are rounding
DIGITS = 12


def holm(p_values: pd.Series | ArrayLike, *, family_size: int | None = None) -> pd.Series | Floats:
    """Adjusted p in the order given: max over j <= i of min(1, (m - j + 1) p_(j)). Source: Holm (1979), Scand. J. Stat. 6:65-70.

    `family_size` counts every declared test, also those that could not be computed, so that dropping one never helps the others.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    from pingouin import multicomp  # here, because its import takes a second

    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1:
        raise UsageError(f"p-values must be one list, got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise UsageError("p-values must lie between 0 and 1; leave out tests without a p and count them in family_size")
    m = len(p) if family_size is None else family_size
    if m < len(p):
        raise UsageError(f"family_size {m} is smaller than the {len(p)} p-values given")
    # an untested member of the family counts like a test with p = 1, which comes last and changes no other
    adjusted = multicomp(np.append(p, np.ones(m - len(p))), method="holm")[1][: len(p)] if len(p) else p
    return pd.Series(adjusted, index=p_values.index, name=p_values.name) if isinstance(p_values, pd.Series) else adjusted


def without_rounding(differences: Floats, values: ArrayLike) -> Floats:
    """Differences of `values` (or of their means) to 12 digits of the largest value, so that rounding alone tells none apart.

    Missing values are left out.

    >>> without_rounding(np.array([0.3 - 0.2, 0.2 - 0.1, 0.1 + 0.2 - 0.3]), [0.1, 0.2, 0.3]).tolist()
    [0.1, 0.1, 0.0]
    """
    given = np.abs(np.asarray(values, dtype=float))
    largest = float(given[np.isfinite(given)].max(initial=0.0))
    return np.round(differences, DIGITS - int(np.ceil(np.log10(largest)))) if largest > 0 else differences


@dataclass(frozen=True)
class PairedTest:
    """Signed-rank test of differences x - y.

    `rank_biserial` = (W+ - W-)/(W+ + W-) in [-1, 1] (Kerby 2014). `shift` is the Hodges-Lehmann median of pairwise means with
    the interval that inverts the test; `low`, `high` are None when so few differences cannot give that confidence.
    `smallest_p` is the smallest p that `n` differences could give.
    """

    n: int
    n_zero: int
    w_plus: float
    p: float
    rank_biserial: float
    mean: float
    shift: float
    low: float | None
    high: float | None
    exact: bool
    smallest_p: float
    confidence: float = 0.95

    def as_row(self) -> dict[str, object]:
        """The fields as one table row."""
        return asdict(self)


def paired_wilcoxon(x: ArrayLike, y: ArrayLike | None = None, *, confidence: float = 0.95) -> PairedTest:
    """Two-sided test that the paired differences x - y (or x itself) are symmetric about zero.

    >>> round(paired_wilcoxon([1.83, 0.50, 1.62, 2.48, 1.68], [0.878, 0.647, 0.598, 2.05, 1.06]).p, 4)
    0.125
    """
    first = np.asarray(x, dtype=float)
    differences = first if y is None else first - np.asarray(y, dtype=float)
    if differences.ndim != 1:
        raise UsageError(f"paired differences must be one list, got shape {differences.shape}")
    if not np.isfinite(differences).all():
        raise UsageError("paired differences must be finite; drop incomplete pairs first and report how many there were")
    kept = differences[differences != 0]
    n = len(kept)
    if n == 0:
        raise NotScorable(Reason.UNDEFINED, f"all {len(differences)} paired differences are zero or there are none")
    ranks = stats.rankdata(np.abs(kept))
    w_plus = float(ranks[kept > 0].sum())
    total = float(ranks.sum())
    exact = n <= EXACT_DIFFERENCES
    if exact:
        distribution = _sign_flip_distribution(ranks)
        p = _two_sided(distribution, round(2 * w_plus))
    else:
        p = float(stats.wilcoxon(kept, method="asymptotic").pvalue)
    low, high = _shift_interval(kept, ranks if exact else None, confidence)
    return PairedTest(
        n=len(differences),
        n_zero=len(differences) - n,
        w_plus=w_plus,
        p=p,
        rank_biserial=(2 * w_plus - total) / total,
        mean=float(differences.mean()),
        shift=float(np.median(_walsh(kept))),
        low=low,
        high=high,
        exact=exact,
        smallest_p=2.0 ** (1 - len(differences)),  # those of zero could have been others
        confidence=confidence,
    )


def _sign_flip_distribution(ranks: Floats) -> Floats:
    """P(2 W+ = k) when every mid-rank keeps or loses its sign with probability 1/2 (doubled ranks are whole numbers)."""
    doubled = np.rint(2 * ranks).astype(int)
    probability = np.zeros(int(doubled.sum()) + 1)
    probability[0] = 1.0
    for step in doubled:
        moved = np.zeros_like(probability)
        moved[step:] = probability[: len(probability) - step]
        probability = (probability + moved) / 2
    return probability


def _two_sided(distribution: Floats, observed: int) -> float:
    centre = (len(distribution) - 1) / 2
    distance = np.abs(np.arange(len(distribution)) - centre)
    return float(min(1.0, distribution[distance >= abs(observed - centre) - 1e-9].sum()))


def _walsh(differences: Floats) -> Floats:
    i, j = np.triu_indices(len(differences))
    return (differences[i] + differences[j]) / 2


def _shift_interval(differences: Floats, ranks: Floats | None, confidence: float) -> tuple[float | None, float | None]:
    """Order statistics of the pairwise means cut off where the signed-rank test would reject (Hodges & Lehmann 1963)."""
    n = len(differences)
    walsh = np.sort(_walsh(differences))
    alpha = 1 - confidence
    if ranks is not None:
        cumulative = np.cumsum(_sign_flip_distribution(np.arange(1, n + 1, dtype=float)))[::2]
        cut = int(np.searchsorted(cumulative, alpha / 2, side="right"))
    else:
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        cut = int(np.floor(n * (n + 1) / 4 - stats.norm.ppf(1 - alpha / 2) * spread))
    if cut < 1:
        return None, None
    return float(walsh[cut - 1]), float(walsh[len(walsh) - cut])


def factor_contrasts(
    table: pd.DataFrame,
    *,
    first: str,
    second: str,
    value: str = "value",
    unit: str = "model_id",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per contrast (first, second, interaction): n units, mean, Hodges-Lehmann shift and interval, p, p_holm, effect size.

    `table` has one row per clip; the factor columns hold 0/1 or booleans. Units without all four cells are left out and counted in
    `n_incomplete`. Rows whose value is missing are not used.
    """
    lacking = [c for c in (first, second, value, unit) if c not in table]
    if lacking:
        raise UsageError(f"the table lacks the column(s) {', '.join(lacking)}")
    used = table.loc[table[value].notna(), [first, second, value, unit]]
    for factor in (first, second):
        odd = sorted({repr(v) for v in used[factor].unique() if v not in (0, 1)})
        if odd:
            raise ContractError(f"factor {factor!r} must hold 0/1 or booleans, found {', '.join(odd[:5])}")
    cells = used.astype({first: int, second: int}).groupby([unit, first, second])[value].mean().unstack([first, second])
    cells = cells.reindex(columns=pd.MultiIndex.from_product([[0, 1], [0, 1]]))
    complete = cells.dropna()
    if len(complete) == 0:
        raise NotScorable(Reason.TOO_FEW_VALUES, f"no {unit} has values in all four cells of {first} x {second}")
    m00, m01, m10, m11 = (complete[c].to_numpy() for c in ((0, 0), (0, 1), (1, 0), (1, 1)))
    contrasts = {
        first: ((m10 - m00) + (m11 - m01)) / 2,
        second: ((m01 - m00) + (m11 - m10)) / 2,
        "interaction": (m11 - m01) - (m10 - m00),
    }
    rows = [
        _row(name, without_rounding(values, complete), len(cells) - len(complete), confidence) for name, values in contrasts.items()
    ]
    result = pd.DataFrame(rows)
    tested = result["p"].notna()
    result["p_holm"] = np.nan
    result.loc[tested, "p_holm"] = holm(result.loc[tested, "p"], family_size=len(rows))
    return result


def _row(name: str, values: Floats, incomplete: int, confidence: float) -> dict[str, object]:
    row: dict[str, object] = {"contrast": name, "n": len(values), "n_incomplete": incomplete, "mean": float(values.mean())}
    try:
        test = paired_wilcoxon(values, confidence=confidence)
    except NotScorable as missing:
        empty = dict.fromkeys(("shift", "low", "high", "p", "rank_biserial", "smallest_p"), np.nan)
        return {**row, **empty, "reason": str(missing)}
    bounds = {"low": number(test.low), "high": number(test.high)}
    tested = {"shift": test.shift, **bounds, "p": test.p, "rank_biserial": test.rank_biserial, "smallest_p": test.smallest_p}
    return {**row, **tested, "reason": ""}


def stars(p: float) -> str:
    """WRBench's notation: * p < 0.05, ** p < 0.01, *** p < 0.001, n.s. otherwise."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else "n.s."


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
    import statsmodels.formula.api as smf  # takes as long to import as the rest of this module, and few ask for it

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


def _check_design(exog: Floats, used: pd.DataFrame, random: list[str]) -> None:
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
