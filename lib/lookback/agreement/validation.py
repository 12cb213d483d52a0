"""Check whether votes can be analysed under a plan. All problems are reported, each with its rows and what to do.

An annotator may see a pair again with the sides swapped. Consistent answers count once. Contradicting answers are an error, or
are dropped if the plan says so.
"""

from __future__ import annotations

import pandas as pd

from lookback.agreement.importers import tidy
from lookback.agreement.plan import GROUND_TRUTH, Plan
from lookback.errors import ContractError
from lookback.names import listing

ITEM = ["family", "benchmark", "setting", "dimension", "question", "model_a", "clip_a", "model_b", "clip_b"]


def check_ratings(ratings: pd.DataFrame, plan: Plan, clips: pd.DataFrame | None = None) -> pd.DataFrame:
    """The votes the plan analyses, one row each: pairs in one canonical order, labels as `Plan.categories` has them.

    Adds family, kind, role, question and item; `attrs["dropped"]` says how many votes went and why. `clips` (benchmark, setting,
    model_id, clip_id) makes unknown clips an error.
    Raises ContractError with every problem on its own line.
    """
    if ratings.empty:
        raise ContractError("There are no votes to analyse; give a table with one row per vote")
    votes = tidy(ratings, "The ratings")
    split = votes["dimension"].str.partition("#")
    votes["dimension"], votes["question"] = split[0], split[2]
    votes["family"] = _families(votes, plan)
    problems = _problems(votes, plan, clips)
    if problems:
        raise ContractError("\n".join(problems))
    votes["kind"] = votes["family"].map({name: f.kind for name, f in plan.families.items()})
    votes["role"] = votes["family"].map({name: f.role for name, f in plan.families.items()})
    votes = _canonical(votes.assign(label=_labels(votes, plan)), plan)
    votes, dropped, problems = _repeats(votes, plan)
    if problems:
        raise ContractError("\n".join(problems))
    if votes.empty:
        raise ContractError("no vote is left: every annotator contradicts itself when the sides are swapped; check the votes")
    votes["item"] = votes.groupby(ITEM, sort=True, dropna=False).ngroup()
    votes = votes.sort_values(["item", "annotator"], ignore_index=True)
    votes.attrs["dropped"] = dropped
    return votes


def _families(votes: pd.DataFrame, plan: Plan) -> pd.Series:
    where = {(f.benchmark, f.task, d): name for name, f in plan.families.items() for d in f.dimensions}
    keys = pd.MultiIndex.from_frame(votes[["benchmark", "task", "dimension"]])
    return pd.Series([where.get(key, "") for key in keys], index=votes.index, dtype=str)


def _rows(mask: pd.Series) -> str:
    return f"vote{'s' if mask.sum() > 1 else ''} {listing([str(i + 1) for i in mask[mask].index], 3)}"


def _problems(votes: pd.DataFrame, plan: Plan, clips: pd.DataFrame | None) -> list[str]:
    problems = []
    undeclared = votes["family"] == ""
    if undeclared.any():
        first = votes.loc[undeclared, ["benchmark", "task", "dimension"]].drop_duplicates().head(3)
        named = "; ".join(" / ".join(row) for row in first.itertuples(index=False))
        problems.append(f"{_rows(undeclared)}: the plan declares no family for {named}; add it to the plan or remove the votes")
    problems += _label_problems(votes, plan)
    paired = votes["clip_b"] != ""
    preference = votes["family"].map(lambda name: name != "" and plan.families[name].pairs is True)
    single = votes["family"].map(lambda name: name != "" and plan.families[name].pairs is False)
    if (preference & ~paired).any():
        problems.append(f"{_rows(preference & ~paired)}: a preference needs clip_b; fill it or use a single-clip task")
    if (single & paired).any():
        problems.append(f"{_rows(single & paired)}: this task judges one clip, but clip_b is filled; empty it")
    lost = paired & (votes["model_b"] == "")
    if lost.any():
        problems.append(f"{_rows(lost)}: clip_b has no model_b; fill it")
    own = paired & (votes["model_a"] == votes["model_b"])
    alike = own & (votes["clip_a"] == votes["clip_b"])
    if alike.any():
        problems.append(f"{_rows(alike)}: a clip is compared with itself; remove the votes")
    if (own & preference & ~alike).any():
        problems.append(f"{_rows(own & preference & ~alike)}: a model is compared with itself; remove the votes")
    homeless = votes["scene"] == ""
    if homeless.any() and "scene" in (plan.clusters.agreement, plan.clusters.metric):
        problems.append(f"{_rows(homeless)}: no scene, but the plan clusters by scene; fill it or set clusters to item")
    item = _unordered(votes)
    scenes = votes["scene"].mask(homeless)
    torn = scenes.groupby(item).transform("nunique") > 1
    if torn.any():
        first, second = scenes[torn].groupby(item).unique().iloc[0][:2]
        problems.append(f"{_rows(torn)}: one item has two scenes ({first!r} and {second!r}); write one name for its scene")
    if plan.simulated == "refuse" and votes["simulated"].any():
        problems.append(f"{_rows(votes['simulated'])}: simulated, and the plan refuses simulated votes; remove them")
    if clips is not None:
        problems += _unknown_clips(votes, clips)
    return problems


def _label_problems(votes: pd.DataFrame, plan: Plan) -> list[str]:
    problems = []
    for name, family in plan.families.items():
        scale = plan.scales[family.scale]
        bad = (votes["family"] == name) & ~votes["label"].str.lower().isin(scale.spellings)
        if bad.any():
            found = ", ".join(repr(v) for v in votes.loc[bad, "label"].unique()[:3])
            declared = ", ".join([*scale.categories, *scale.labels])
            problems.append(
                f"{_rows(bad)}: label {found} is outside the scale of {name} ({declared}); "
                f"correct it, or declare the spelling under scales: {family.scale}: labels"
            )
    return problems


def _labels(votes: pd.DataFrame, plan: Plan) -> pd.Series:
    """Every spelling as the category that the analysis uses."""
    labels = votes["label"].astype(object)
    for name, family in plan.families.items():
        scale, own = plan.scales[family.scale], votes["family"] == name
        used = dict(zip(scale.categories, plan.categories(name), strict=True))
        labels[own] = votes.loc[own, "label"].map(lambda label, scale=scale, used=used: used[scale.spellings[label.lower()]])
    return labels


def _unknown_clips(votes: pd.DataFrame, clips: pd.DataFrame) -> list[str]:
    keys = ["benchmark", "setting", "model_id", "clip_id"]
    known = set(clips[keys].itertuples(index=False, name=None))
    if "ground_truth" in clips:
        filmed = clips[clips["ground_truth"].fillna("") != ""].assign(model_id=GROUND_TRUTH)
        known |= set(filmed[keys].itertuples(index=False, name=None))
    problems = []
    for side in ("a", "b"):
        used = votes[["benchmark", "setting", f"model_{side}", f"clip_{side}"]].itertuples(index=False, name=None)
        unknown = pd.Series([row[3] != "" and row not in known for row in used], index=votes.index)
        if unknown.any():
            row = votes[unknown].iloc[0]
            name = f"{row['benchmark']}/{row['setting']}, model {row[f'model_{side}']!r}, clip {row[f'clip_{side}']!r}"
            problems.append(f"{_rows(unknown)}: clip_{side} is not among the clips ({name}); check its spelling or curate it first")
    return problems


def _sides(votes: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    return votes["model_a"] + "\0" + votes["clip_a"], votes["model_b"] + "\0" + votes["clip_b"]


def _unordered(votes: pd.DataFrame) -> list[pd.Series]:
    """What an item is, whichever of its clips is called A; to group votes by."""
    first, second = _sides(votes)
    keys = [votes[c] for c in ("family", "benchmark", "setting", "dimension", "question")]
    return [*keys, first.where(first < second, second), second.where(first < second, first)]


def _canonical(votes: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Every pair in one order, its label turned with it: by name, or `as_given` as most of its votes have it."""
    votes = votes.copy()
    first, second = _sides(votes)
    by_name = (votes["clip_b"] == "") | (first < second)
    votes["swapped"] = ~by_name
    if plan.orientation == "as_given":
        votes["swapped"] = by_name != (by_name.groupby(_unordered(votes)).transform("mean") >= 0.5)
    signed = votes["family"].map({name: family.pairs is True for name, family in plan.families.items()}).astype(bool)
    turned = votes["swapped"] & signed
    votes.loc[turned, "label"] = 0 - votes.loc[turned, "label"]
    for a, b in (("model_a", "model_b"), ("clip_a", "clip_b")):
        votes[a], votes[b] = votes[a].where(~votes["swapped"], votes[b]), votes[b].where(~votes["swapped"], votes[a])
    return votes


def _repeats(votes: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, dict[str, int], list[str]]:
    """(votes that stay, how many went and why, problems)."""
    problems, given = [], len(votes)
    key = [*ITEM, "annotator"]
    doubled = votes.duplicated([*key, "swapped"], keep=False)
    if doubled.any() and plan.duplicates == "error":
        row = votes[doubled].iloc[0]
        what = f"{row['annotator']} voted more than once on {row['dimension']}, {row['model_a']}/{row['clip_a']}"
        problems.append(f"{_rows(doubled)}: duplicate votes ({what}); remove them or set duplicates: keep_last")
    votes = (
        votes.sort_values("time", kind="stable", na_position="first").drop_duplicates([*key, "swapped"], keep="last").sort_index()
    )
    once = len(votes)
    labels = votes.groupby(key, dropna=False)["label"].transform("nunique")
    torn = labels > 1
    if torn.any() and plan.contradictions == "error":
        who = votes.loc[torn, "annotator"].value_counts()
        names = ", ".join(f"{name} ({count // 2} pairs)" for name, count in who.head(3).items())
        advice = "check these annotators, or set contradictions: drop"
        problems.append(f"{_rows(torn)}: annotators contradict themselves when the sides are swapped: {names}; {advice}")
    kept = votes[~torn].drop_duplicates(key).copy()
    contradicting = int(torn.sum())
    dropped = {
        "replaced by the same person's later vote (duplicates)": given - once,
        "contradicting the same person's vote on the swapped pair (contradictions)": contradicting,
        "repeating the same person's vote on the swapped pair": once - contradicting - len(kept),
    }
    return kept, dropped, problems
