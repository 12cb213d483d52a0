"""Compare runs: paired differences with intervals and tests, rank changes, and changes in parameters, backends and code.

Every pair of runs is compared clip by clip. The test is Wilcoxon's, on the mean difference of each scene, and Holm's correction
counts every test of the comparison. Runs of one model each (checkpoints, say) are compared task by task, whatever their names.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.clips import KEYS
from lookback.errors import NotScorable, UsageError
from lookback.files import write_text
from lookback.names import last_number, listing
from lookback.params import RunParams
from lookback.params.load import RESULTS
from lookback.report.figures.curve import CURVE_BY, draw_curve
from lookback.report.page import Section, write_page
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate, excluded_note, with_clip_facts, without_short
from lookback.scoring.direction import more_is_better
from lookback.scoring.variants import only_chosen
from lookback.stats import bootstrap_ci, holm, paired_wilcoxon
from lookback.stats.design import without_rounding
from lookback.tables import csv_text, read_table

PAIR = [*KEYS, "metric", "phase"]
DIFFERENCES = [
    "metric",
    "phase",
    "model",
    "first",
    "second",
    "difference",
    "ci_low",
    "ci_high",
    "pairs",
    "only_first",
    "only_second",
    "scenes",
    "p",
    "smallest_p",
    "rank_biserial",
]
RUNS = ["run", "other run"]
ALPHA = 0.05
UNLIKE = "the interval of the difference holds 0 or the difference points the other way"
ANY_MODEL = "(one model a run)"
RANKS = ["metric", "phase", "model", "rank_first", "rank_second", "change"]
CHANGES = ["what", "name", "first", "second"]


def compare_runs(*runs: RunParams, folder: Path) -> list[PaperTable]:
    """Write the tables and the page of the comparison of two or more runs to `folder`."""
    if len(runs) < 2:
        raise UsageError("A comparison needs two or more runs; name them one after the other")
    runs = told_apart(runs)
    found = [without_short(part) for part in _common_models([_items(run) for run in runs])]
    items = [part for part, _ in found]
    short = {run.run: sum(cut.values()) for run, (_, cut) in zip(runs, found, strict=True) if cut}
    differences = all_differences(items, runs)
    first, last, labels = runs[0], runs[-1], ["metric", "phase", "model"]
    names = {"first": first.run, "second": last.run} if len(runs) == 2 else {}
    own_labels = labels if len(runs) == 2 else [*RUNS, *labels]
    tables = [
        PaperTable(
            "differences",
            f"{last.run} minus {first.run}, clip by clip" if len(runs) == 2 else "Other run minus run, clip by clip",
            differences[[*own_labels, *(name for name in differences if name not in (*RUNS, *labels))]],
            own_labels,
            dict.fromkeys(("first", "second", "difference", "ci_low", "ci_high", "p", "smallest_p", "rank_biserial", "p_holm"), 4),
            notes=[
                "Means over the clips that both runs scored; 95 % bootstrap that draws whole scenes (t under ten of them). No "
                "interval with one scene, or where every scene changes by the same.",
                "p: Wilcoxon's paired test on the scenes' mean differences; smallest_p: what so many scenes could give at best; "
                "p_holm: corrected by Holm's method for all tests of this table, also those without a p.",
                f"A difference holds where p_holm is below {ALPHA}, the interval leaves out 0, and the test points the same way "
                "(rank_biserial, -1 to 1): the difference counts clips, the test scenes.",
            ],
            headers=names,
            conclusion=" ".join([conclusion(differences), *measured_otherwise(items), *([excluded_note(short)] if short else [])]),
        ),
        PaperTable("ranks", "Models whose rank changed", _all_rank_changes(differences, len(runs)), own_labels),
        PaperTable("changes", "What changed", _all_changes(runs), ["what", "name", "first", "second"], headers=names),
    ]
    for table in tables:
        table.save(folder)
    fragments = [table.to_html() if len(table.frame) else f"<h2>{table.title}</h2><p>Nothing.</p>" for table in tables]
    if len(runs) > 2:
        curve = run_curve(runs, items)
        write_text(folder / "curve.csv", csv_text(curve))
        fragments.insert(0, f"<h2>Runs in order</h2>{draw_curve(curve, folder)}{_not_drawn(curve, items)}")
    title = f"{first.run} and {last.run}" if len(runs) == 2 else f"{len(runs)} runs: {', '.join(run.run for run in runs)}"
    words = f"{'Two' if len(runs) == 2 else len(runs)} runs compared."
    write_page(folder / "report.html", title, words, [Section("comparison", "Comparison", "", fragments)], "")
    return tables


def told_apart(runs: Sequence[RunParams]) -> tuple[RunParams, ...]:
    """The runs, each with a name of its own: those that share one are called by the ends of their folders' paths."""
    folders = [run.paths.root.resolve().parts for run in runs]
    if len({run.run for run in runs}) == len(runs) or (len(runs) == 2 and folders[0] == folders[1]):
        return tuple(runs)
    if len(set(folders)) < len(runs):
        raise UsageError("Two of these runs have the same name and the same folder; name each run once")
    often = Counter(run.run for run in runs)
    named = (
        [run.run if often[run.run] == 1 else "/".join(parts[-depth:]) for run, parts in zip(runs, folders, strict=True)]
        for depth in range(1, max(map(len, folders)) + 1)
    )
    names = next(each for each in named if len(set(each)) == len(runs))
    return tuple(run.model_copy(update={"run": name, "output": str(run.paths.root)}) for run, name in zip(runs, names, strict=True))


def all_differences(items: Sequence[pd.DataFrame], runs: Sequence[RunParams]) -> pd.DataFrame:
    """The paired differences of every pair of runs, with Holm's correction over all of them."""
    seed, resamples = runs[0].seed, runs[0].scoring.resamples
    named = [(run.run, part) for run, part in zip(runs, items, strict=True)]
    parts = [
        paired_differences(one, other, seed=seed, resamples=resamples).assign(**dict(zip(RUNS, (name, other_name), strict=True)))
        for (name, one), (other_name, other) in combinations(named, 2)
    ]
    return corrected(pd.concat(parts, ignore_index=True))


def corrected(differences: pd.DataFrame) -> pd.DataFrame:
    """Add Holm's p. The family is every row with two scenes or more, so that a test without a p still counts."""
    family = int((differences["scenes"] > 1).sum())
    known = differences["p"].notna()
    adjusted = pd.Series(np.nan, differences.index)
    if known.any():
        adjusted[known] = holm(differences.loc[known, "p"], family_size=max(family, int(known.sum())))
    return differences.assign(p_holm=adjusted)


def run_curve(runs: Sequence[RunParams], items: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The mean of every metric in each run with its interval, over the clips and models of which every run has a score of it.

    In the order given, or by the number in the runs' names.
    """
    numbers = [last_number(run.run) for run in runs]
    stepped = None not in numbers and len({*numbers}) == len(runs)
    parts = []
    for place, (run, part) in enumerate(zip(runs, in_every_run(items), strict=True)):
        found = aggregate(part, by=CURVE_BY, seed=run.seed, resamples=run.scoring.resamples)
        parts.append(found.assign(run=run.run, step=numbers[place] if stepped else place + 1))
    return pd.concat(parts, ignore_index=True).sort_values([*CURVE_BY, "step"], ignore_index=True)


def in_every_run(items: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The scores of each run that all the others have as well: the same model, clip, metric, phase and variant."""
    scored = [part[part["value"].notna()].set_index([*PAIR, "variant"], drop=False) for part in items]
    common = scored[0].index
    for part in scored[1:]:
        common = common.intersection(part.index)
    return [part[part.index.isin(common)].reset_index(drop=True) for part in scored]


def _not_drawn(curve: pd.DataFrame, items: Sequence[pd.DataFrame]) -> str:
    """A sentence about the metrics that have scores, but no clip with one of the same variant in every run; empty where all are
    drawn."""
    scored = set().union(*(part.loc[part["value"].notna(), "metric"] for part in items))
    if not scored:
        return "<p>Nothing has a value.</p>"
    left = html.escape(listing(sorted(scored - set(curve["metric"]))))
    return f"<p>Not drawn, because no clip has a score of the same variant in every run: {left}.</p>" if left else ""


def _common_models(items: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """The scores under one model name if every run has one model and no two runs share it; else as they are."""
    models = [set(part["model_id"]) for part in items]
    if all(len(own) == 1 for own in models) and len(set.union(*models)) == len(items):
        return [part.assign(model_id=ANY_MODEL) for part in items]
    return items


def measured_otherwise(items: Sequence[pd.DataFrame]) -> list[str]:
    """A sentence about the metrics of which a clip's scores have other variants or backends in two of the runs; none where all are
    alike."""
    unlike: set[str] = set()
    for one, other in combinations(items, 2):
        paired = one.merge(other, on=PAIR, suffixes=("_first", "_second")).dropna(subset=["value_first", "value_second"])
        apart = (paired["variant_first"] != paired["variant_second"]) | (paired["backend_first"] != paired["backend_second"])
        unlike |= set(paired.loc[apart, "metric"])
    named = listing(sorted(unlike), 3)
    return [f"Not measured alike in all runs (variant or backend), so not of the videos alone: {named}."] if unlike else []


def paired_differences(first: pd.DataFrame, second: pd.DataFrame, *, seed: int, resamples: int) -> pd.DataFrame:
    """For every metric and model: both means over the clips that both runs scored, their difference with interval, and the number
    of clips that only one run scored."""
    joined = first.merge(second, on=PAIR, how="outer", suffixes=("_first", "_second"))
    rows = []
    for (metric, phase, model), group in joined.groupby(["metric", "phase", "model_id"], sort=True):
        has_first, has_second = group["value_first"].notna(), group["value_second"].notna()
        paired = group[has_first & has_second]
        change = (paired["value_second"] - paired["value_first"]).to_numpy(float)
        scenes = paired["scene_first"].to_numpy()
        low = high = np.nan
        test = _test(change, scenes, paired[["value_first", "value_second"]])
        if len(change) and len(set(scenes)) > 1:
            found = bootstrap_ci(change, "mean", clusters=scenes, resamples=resamples, seed=seed)
            low, high = (np.nan if bound is None else bound for bound in (found.low, found.high))
        means = [paired[name].mean() if len(paired) else np.nan for name in ("value_first", "value_second")]
        unpaired = int((has_first & ~has_second).sum()), int((has_second & ~has_first).sum())
        difference = change.mean() if len(change) else np.nan
        rows.append([metric, phase, model, *means, difference, low, high, len(paired), *unpaired, len(set(scenes)), *test])
    return pd.DataFrame(rows, columns=DIFFERENCES)


def _test(change: NDArray[np.float64], scenes: NDArray[Any], values: pd.DataFrame) -> tuple[float, float, float]:
    """Wilcoxon's p on the mean difference of each scene (clips of one scene are not independent), the smallest that so many scenes
    could give, and the rank-biserial correlation, whose sign says which run the scenes favour."""
    means = pd.Series(change).groupby(scenes).mean().to_numpy()
    if len(means) < 2:
        return np.nan, np.nan, np.nan
    try:
        found = paired_wilcoxon(without_rounding(means, values))
    except NotScorable:  # all differences are zero: nothing speaks for a difference
        return 1.0, 2.0 ** (1 - len(means)), 0.0
    return found.p, found.smallest_p, found.rank_biserial


def rank_changes(differences: pd.DataFrame) -> pd.DataFrame:
    """Models whose rank (1 = best, over the clips that both runs scored) differs between the runs."""
    parts = []
    for (metric, phase), group in differences.dropna(subset=["first", "second"]).groupby(["metric", "phase"], sort=True):
        more = more_is_better(str(metric), str(phase))
        if more is None:
            continue
        ranks = {name: _ranks(group[name], more) for name in ("first", "second")}
        parts.append(group.assign(rank_first=ranks["first"], rank_second=ranks["second"], change=ranks["first"] - ranks["second"]))
    if not parts:
        return pd.DataFrame(columns=RANKS)
    table = pd.concat(parts)
    return table.loc[table["change"] != 0, RANKS].reset_index(drop=True)


def _ranks(means: pd.Series, more: bool) -> pd.Series:
    """1 = best. Means that only rounding tells apart share a rank."""
    shown = pd.Series(without_rounding(means.to_numpy(float), means), means.index)
    return shown.rank(ascending=not more, method="min").astype(int)


def _all_rank_changes(differences: pd.DataFrame, count: int) -> pd.DataFrame:
    """The rank changes of every pair of runs."""
    if count == 2:
        return rank_changes(differences)
    parts = [rank_changes(own).assign(**dict(zip(RUNS, pair, strict=True))) for pair, own in differences.groupby(RUNS, sort=False)]
    return pd.concat(parts, ignore_index=True)[[*RUNS, *RANKS]]


def _all_changes(runs: Sequence[RunParams]) -> pd.DataFrame:
    """What changed from each run to the next."""
    if len(runs) == 2:
        return what_changed(*runs)
    parts = [what_changed(one, other).assign(between=f"{one.run} to {other.run}") for one, other in pairwise(runs)]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(what=table["what"] + ", " + table["between"]).drop(columns="between")


def what_changed(first: RunParams, second: RunParams) -> pd.DataFrame:
    """Parameters, backends, packages and code that differ between the two runs."""
    before, after = (_provenance(run) for run in (first, second))
    rows: list[list[str]] = []
    for what, one, other in (
        ("parameter", dict(_flat(before["parameters"])), dict(_flat(after["parameters"]))),
        ("backend", _backends(before), _backends(after)),
        ("package", before["packages"], after["packages"]),
        ("code", {"revision": before["git"]}, {"revision": after["git"]}),
    ):
        names = sorted({*one, *other})
        rows += [
            [what, name, str(one.get(name, "")), str(other.get(name, ""))] for name in names if one.get(name) != other.get(name)
        ]
    return pd.DataFrame(rows, columns=CHANGES)


def _items(run: RunParams) -> pd.DataFrame:
    if not (run.paths.tables / "gated.parquet").is_file():
        raise UsageError(f"The run '{run.run}' has no scores; run `make report RUN={run.run}` first")
    items = only_chosen(read_table(run.paths.tables, "gated"), run)
    return with_clip_facts(items, read_table(run.paths.tables, "clips"), ["scene", "shortfall"])[
        [*PAIR, "variant", "value", "reason", "backend", "scene", "shortfall"]
    ]


def _provenance(run: RunParams) -> dict[str, Any]:
    if run.paths.provenance.is_file():
        return json.loads(run.paths.provenance.read_text())
    if (results := run.paths.root / RESULTS).is_file():
        return json.loads(results.read_text(encoding="utf-8"))["provenance"]
    raise UsageError(f"The run '{run.run}' has no provenance.json; run `make report RUN={run.run}` first")


def _backends(provenance: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for row in provenance["backends"]:
        found.setdefault(row["role"], []).append(f"{row['backend']} {row['version']} {row['weights']}".strip())
    return {role: "; ".join(sorted(names)) for role, names in found.items()}


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _flat(value, f"{prefix}.{name}" if prefix else name)
    else:
        yield prefix, values


def conclusion(differences: pd.DataFrame) -> str:
    """Which differences these scenes support after correction; says so when nothing separates the runs."""
    family = int((differences["scenes"] > 1).sum())
    passed = differences["p_holm"] < ALPHA
    sure = differences[passed & _borne_out(differences)]
    if family == 0:
        return "No difference can be tested: no metric has pairs in two scenes or more."
    if sure.empty and passed.any():
        return f"No difference holds: {int(passed.sum())} of {family} tests have p_holm below {ALPHA}, but {UNLIKE}."
    if sure.empty:
        least = differences["smallest_p"].min()
        enough = (
            "" if pd.isna(least) or least * family < ALPHA else " These are too few scenes: not even the clearest result could."
        )
        return f"Nothing separates these runs: of {family} tests none has p_holm below {ALPHA}.{enough}"
    named = "; ".join(_in_words(row) for row in sure.sort_values("p_holm").head(3).to_dict("records"))
    text = f"{len(sure)} of {family} differences hold after Holm's correction (p_holm below {ALPHA}); the clearest: {named}."
    unlike = int(passed.sum()) - len(sure)
    return text + (f" {unlike} more have such a p_holm, but {UNLIKE}." if unlike else "")


def _in_words(row: Mapping[Hashable, Any]) -> str:
    """ "wrbench.support of model-a, run2 minus run1: +0.12"."""
    model = "" if row["model"] == ANY_MODEL else f" of {row['model']}"
    metric = f"{row['metric']} {row['phase']}".strip()
    return f"{metric}{model}, {row['other run']} minus {row['run']}: {row['difference']:+.4g}"


def _borne_out(differences: pd.DataFrame) -> pd.Series:
    """Whether the difference over clips says what the test over scenes says: the same sign, and no interval around 0."""
    around = (differences["ci_low"] <= 0) & (differences["ci_high"] >= 0)
    return ~around & (differences["difference"] * differences["rank_biserial"] > 0)
