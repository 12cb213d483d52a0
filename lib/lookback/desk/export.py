"""What leaves a study: the votes for `lookback agreement`, the same in Label Studio's form, and the organiser's tables."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from lookback.desk.book import SKIPPED, VoteBook
from lookback.desk.study import Study
from lookback.errors import UsageError
from lookback.files import write_text
from lookback.tables import csv_text

ABOUT = ("task", "benchmark", "setting", "dimension", "clip_a", "model_a", "clip_b", "model_b", "scene", "simulated")
VOTES = ("ratings.csv", "labelstudio.json")
FORMATS = (*VOTES, "gold.csv", "comments.csv", "people.csv")


def export_text(study: Study, name: str) -> str:
    """The content of one of the files in `FORMATS`."""
    if name in VOTES:
        return votes_text(study.book.ratings(), Path(name).suffix)
    tables = {"gold.csv": study.book.known, "comments.csv": lambda: comments(study), "people.csv": lambda: people(study)}
    return csv_text(tables[name]())


def check_ending(path: Path) -> None:
    if path.suffix.lower() not in (".csv", ".json"):
        raise UsageError(f"{path.name}: votes are written as .csv or as .json (Label Studio); change the ending")
    if path.name.lower() == "gold.csv":
        raise UsageError("gold.csv holds the answers to gold items; name the file of votes otherwise")


def export_file(book: VoteBook, path: Path) -> int:
    """Write the votes as CSV, or as Label Studio's JSON if the file ends in .json; in one atomic step. Returns their number.

    Answers to gold and practice items, where there are any, go to gold.csv beside it, where `lookback agreement` looks for them.
    """
    check_ending(path)
    ratings, known = book.ratings(), book.known()
    write_text(path, votes_text(ratings, path.suffix.lower()))
    if len(known):
        write_text(path.with_name("gold.csv"), csv_text(known))
    return len(ratings)


def votes_text(ratings: pd.DataFrame, suffix: str) -> str:
    return json.dumps(label_studio(ratings), indent=1, ensure_ascii=False) + "\n" if suffix == ".json" else csv_text(ratings)


def label_studio(ratings: pd.DataFrame) -> list[dict[str, object]]:
    """The votes in the form of Label Studio's raw JSON export: one task per question, one annotation per vote."""
    tasks: list[dict[str, object]] = []
    for number, (about, votes) in enumerate(ratings.groupby(list(ABOUT), sort=True, dropna=False), start=1):
        annotations = [
            {
                "completed_by": {"email": vote.annotator},
                "was_cancelled": False,
                "created_at": datetime.fromtimestamp(vote.time, UTC).isoformat(),
                "result": [{"type": "choices", "from_name": "answer", "to_name": "video", "value": {"choices": [vote.label]}}],
            }
            for vote in votes.itertuples()
        ]
        data = {name: bool(value) if name == "simulated" else str(value) for name, value in zip(ABOUT, about, strict=True)}
        tasks.append({"id": number, "data": data, "annotations": annotations})
    return tasks


def comments(study: Study) -> pd.DataFrame:
    """Comments and skipped items, each with what the item shows."""
    notes = study.book.notes()
    about = [study.by_id.get(item) for item in notes["item"]]
    columns = {
        name: ["" if item is None else getattr(item, name) for item in about]
        for name in ("role", "setting", "scene", "clip_a", "model_a", "model_b")
    }
    return notes.assign(**columns)


def people(study: Study) -> pd.DataFrame:
    """One row per invited person: how far they are, how their gold and practice answers were, and how long an item takes."""
    answered, skipped, assigned = study.book.answered_pairs(), study.book.event_pairs(SKIPPED), study.book.assigned()
    known, times, gone = study.book.known(), study.book.times(), study.book.gone()
    seen, practice = study.book.last_seen(), {item.id for item in study.practice}
    seconds = (times["answered"] - times["opened"]).groupby(times["annotator"]).median()
    rows = []
    for name in study.roster.names:
        own = {item for who, item in assigned if who == name}
        done = {item for who, item in answered if who == name}
        left = own - done - {item for who, item in skipped if who == name}
        row: dict[str, object] = {"annotator": name, "state": _state(study, name, name in gone, practice, bool(left))}
        row |= {
            "assigned": len(own),
            "answered": len(done),
            "skipped": sum(who == name and study.is_proper(item) for who, item in skipped),
        }
        for role in ("gold", "practice"):
            mine = known[(known["annotator"] == name) & (known["role"] == role)]
            row |= {f"{role}_right": int(mine["right"].sum()), f"{role}_asked": len(mine)}
        row |= {"median_seconds": round(float(seconds.get(name, float("nan"))), 1), "last_seen": seen.get(name, float("nan"))}
        rows.append(row)
    columns = [
        "annotator",
        "state",
        "assigned",
        "answered",
        "skipped",
        "gold_right",
        "gold_asked",
        "practice_right",
        "practice_asked",
    ]
    return pd.DataFrame(rows, columns=[*columns, "median_seconds", "last_seen"])


def _state(study: Study, name: str, gone: bool, practice: set[str], left: bool) -> str:
    if gone:
        return "left"
    if not study.has_read(name):
        return "invited"
    if practice - study.book.answered(name):
        return "practice"
    return "working" if left else "finished"


def coverage(study: Study) -> dict[str, object]:
    """How many items have how many raters, and how many votes the present people cannot give."""
    raters = Counter(item for _, item in study.book.answered_pairs())
    counts = Counter(min(raters[item.id], study.raters) for item in study.items)
    assigned, skipped = study.book.assigned(), study.book.event_pairs(SKIPPED)
    planned = Counter(item for _, item in assigned - skipped)
    short = [study.raters - planned[item.id] for item in study.items if planned[item.id] < study.raters]
    return {
        "items": len(study.items),
        "raters": study.raters,
        "with_raters": {str(number): counts[number] for number in range(study.raters + 1)},
        "answered": sum(raters.values()),
        "wanted": study.raters * len(study.items),
        "lacking_items": len(short),
        "lacking_votes": sum(short),
        "skipped_votes": len(assigned & skipped),  # of a block: nobody else gets them
        "left_out": study.frozen.left_out,
    }
