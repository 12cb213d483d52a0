"""How votes and scores join: counts of both sides, the first of each that found no partner, and what was left out and why."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

from lookback.agreement.plan import Plan
from lookback.agreement.scores import KEY, wanted_scores
from lookback.errors import ContractError
from lookback.names import listing

Key = tuple[str, ...]
MEDIA = re.compile(r"\.(mp4|m4v|mov|webm|mkv|avi|gif)$", re.IGNORECASE)
STATUS_WORDS = {"too_few_votes": "with fewer than {} votes (min_votes)", "split": "without a majority (split votes)"}


def _clip(change: Callable[[str], str]) -> Callable[[Key], Key]:
    return lambda key: (*key[:3], change(key[3]), *key[4:])


# spellings that often differ between two files, and what would make them equal
HINTS: dict[str, Callable[[Key], Key]] = {
    "without the ending of the video file (.mp4)": _clip(lambda clip: MEDIA.sub("", clip)),
    "without the folders in front of the clip": _clip(lambda clip: MEDIA.sub("", clip.rsplit("/", 1)[-1])),
    "without regard to the setting": lambda key: (key[0], "", *key[2:]),
    "without regard to upper and lower case": lambda key: tuple(part.lower() for part in key),
}


def join_table(units: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Per family and metric: how many scores the votes ask for and how many are there, and how many of the scores are used.

    `units` are the units after `attach_scores`; a score with a typed reason instead of a value is there.
    """
    rows = []
    for (family, metric), own in units[units["metric"] != ""].groupby(["family", "metric"], sort=True):
        sides = [wanted_scores(own, side)[KEY] for side in ("a", "b")]
        keys = pd.concat(sides).query("clip_id != ''").drop_duplicates()
        wanted = list(keys.itertuples(index=False, name=None))
        same = scores["metric"].str.partition("#")[0] == metric
        offered = scores.loc[same & scores["benchmark"].isin(own["benchmark"].unique()), KEY]
        there = list(offered.itertuples(index=False, name=None))
        lacking, unused = [k for k in wanted if k not in set(there)], [k for k in there if k not in set(wanted)]
        row = {"family": family, "metric": metric, "asked": len(wanted), "found": len(wanted) - len(lacking)}
        row |= {"first_without_score": _named(lacking), "scores": len(there), "used": len(there) - len(unused)}
        rows.append({**row, "first_unused_score": _named(unused), "hint": _hint(lacking, unused)})
    return pd.DataFrame(rows)


def _named(keys: list[Key]) -> str:
    return " / ".join(repr(part) if part == "" else part for part in keys[0]) if keys else ""


def _hint(lacking: list[Key], unused: list[Key]) -> str:
    for words, change in HINTS.items():
        offered = {change(key) for key in unused}
        count = sum(change(key) in offered for key in lacking)
        if count:
            return f"{count} would be found {words}"
    return ""


def check_joins(table: pd.DataFrame, plan: Plan) -> None:
    """An error where the votes ask for scores and none is there, or (unless the plan says `unmatched: report`) some are not."""
    if table.empty or (table["found"] == table["asked"]).all():
        return
    nothing = table["found"].sum() == 0
    if not nothing and plan.unmatched == "report":
        return
    lines = [_sentence(row) for _, row in table[table["found"] < table["asked"]].iterrows()]
    advice = "make the names equal in both files"
    if not nothing:
        advice += ", or set unmatched: report in the plan to leave these votes out and count them"
    raise ContractError("\n".join(["Votes and scores do not join: " + advice, *lines]))


def _sentence(row: pd.Series) -> str:
    text = f"{row['family']}, {row['metric']}: {row['found']} of {row['asked']} scores that the votes ask for are there"
    text += f" (first missing: {row['first_without_score']})"
    if row["scores"] == 0:
        return text + "; no score has this name"
    text += f"; {row['used']} of {row['scores']} scores match a vote"
    text += f" (first that does not: {row['first_unused_score']})" if row["first_unused_score"] else ""
    return text + (f"; {row['hint']}" if row["hint"] else "")


def read_joins(table: pd.DataFrame) -> str:
    whole = table[table["found"] == table["asked"]]
    part = table[table["found"] < table["asked"]]
    text = f"Every score that the votes ask for is there, for {len(whole)} of {len(table)} families and metrics."
    return " ".join([text, *(_sentence(row) + "." for _, row in part.iterrows())])


def exclusion_table(units: pd.DataFrame, votes: pd.DataFrame, refused: pd.DataFrame, gone: pd.DataFrame) -> pd.DataFrame:
    """Per family, setting and dimension: items, and how many do not enter and why.

    `gone` are the votes of annotators whom the plan leaves out; `no_annotator` counts the items that nobody else judged.
    `one_rater` items have one vote: they enter no agreement among people. `refused` are the votes on items that people called not
    judgeable. `no_score` counts missing scores by their typed reason.
    """
    keys = ["family", "kind", "setting", "dimension"]
    every = pd.concat([votes.assign(gone=False, why=""), refused.assign(gone=True, why=""), gone.assign(gone=True)])
    labelled = dict(iter(units.groupby(keys)))
    rows = []
    for key, own in every.groupby(keys, sort=True):
        found = labelled.get(key, units.head(0))
        per_item = own[~own["gone"]].groupby("item").size()
        row = dict(zip(keys, key, strict=True)) | {
            "items": own["item"].nunique(),
            "not_judgeable": own.loc[own["gone"] & (own["why"] == ""), "item"].nunique(),
        }
        whose = own[own["why"] != ""]
        row["no_annotator"] = len(set(whose["item"]) - set(own.loc[own["why"] == "", "item"]))
        row |= {"annotators_left_out": whose["annotator"].nunique(), "votes_left_out": len(whose)}
        row["why_annotators"] = "; ".join(
            f"{who}: {why}" for who, why in sorted(set(zip(whose["annotator"], whose["why"], strict=True)))
        )
        row |= {"one_rater": int((per_item == 1).sum()), "split_as_tie": int((found["status"] == "split_as_label").sum())}
        row |= {status: int((found["status"] == status).sum()) for status in STATUS_WORDS}
        rows.append({**row, **_without_score(found)})
    return pd.DataFrame(rows)


def _without_score(units: pd.DataFrame) -> dict[str, object]:
    if "decision" not in units:
        return {"no_score": 0, "why_no_score": ""}
    lost = units[units["label"].notna() & units["decision"].isna() & (units["metric"] != "")]
    reasons = lost["missing"].value_counts()
    return {"no_score": len(lost), "why_no_score": ", ".join(f"{reason} {count}" for reason, count in reasons.items())}


def excluded_words(table: pd.DataFrame, plan: Plan, people_alone: bool = False) -> str:
    """The sentence about what was left out, for the readings; `table` is (part of) the exclusion table.

    Agreement among `people_alone` needs neither a label nor a score.
    """
    total = table.select_dtypes("number").sum()
    parts = [(int(total["not_judgeable"]), "that people called not judgeable")]
    parts.append((int(total["no_annotator"]), "whose only annotators were left out"))
    if people_alone:
        parts.append((int(total["one_rater"]), "with one rater"))
    else:
        parts += [(int(total[status]), words.format(plan.majority.min_votes)) for status, words in STATUS_WORDS.items()]
        reasons = "; ".join(why for why in table["why_no_score"] if why)
        parts.append((int(total["no_score"]), f"without a score ({reasons})"))
    left = [f"{count} {words}" for count, words in parts if count]
    text = (
        f"Left out of {int(total['items'])} items: {', '.join(left)}."
        if left
        else f"None of {int(total['items'])} items was left out." * (not people_alone)
    )
    if total["votes_left_out"]:
        people = dict.fromkeys(each for why in table["why_annotators"] if why for each in why.split("; "))
        text += f" By the plan's rule for annotators {int(total['votes_left_out'])} votes were left out ({listing(list(people))})."
    if people_alone:
        return text.strip()
    if total["split_as_tie"]:
        text += f" {int(total['split_as_tie'])} split votes count as ties."
    if total["one_rater"]:
        text += f" Items with one rater, which enter no agreement among people: {int(total['one_rater'])}."
    return text


def dropped_words(dropped: dict[str, int]) -> str:
    """The sentence about votes that were left out before anything was counted; empty where none was."""
    parts = [f"{count} {why}" for why, count in dropped.items() if count]
    return f" Votes left out: {', '.join(parts)}." if parts else ""
