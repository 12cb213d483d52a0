"""What the report says about a plain folder: models over clips with n and intervals, a verdict per clip, and its pictures."""

from __future__ import annotations

import pandas as pd

from lookback.benchmark import ClipCard
from lookback.benchmarks.folder.pictures import clip_picture
from lookback.benchmarks.folder.verdict import SAME_PLACE, Measured, evidence_of, facts_of, sentence
from lookback.clips import Clip, clips_from_frame
from lookback.registry import METRICS
from lookback.report.model_table import POOLED, Column, backend_note, model_table
from lookback.report.paper import PaperData
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import aggregate

CAMERA = ("folder.camera_turn", "folder.camera_return", "folder.view_left", "folder.view_again")
MEMORY = (
    "folder.place_kept",
    "folder.place_ssim",
    "folder.place_lpips",
    "folder.place_features",
    "folder.place_lighting",
    "folder.subject_kept",
    "folder.subject_again",
)
DIGITS = {"folder.camera_turn": 0, "folder.cuts": 2}
QUESTIONS = ("camera turns", "camera comes back", "same place", "subject again")
VERDICTS, MODELS, PLACES = "folder-verdicts", "folder-models", "folder-memory"


def paper_tables(data: PaperData) -> list[PaperTable]:
    """Verdicts of the clips; then models over clips: memory, and everything that needs no return. No column without a value."""
    if data.items.empty:
        return []
    summary = aggregate(data.items, seed=data.seed, resamples=data.resamples, by=POOLED)
    scored = [name for name in dict.fromkeys(summary["metric"]) if summary.loc[summary["metric"] == name, "n"].sum() > 0]
    other = [name for name in scored if name not in (*CAMERA, *MEMORY)]
    parts = (
        (PLACES, "Models over clips: the camera, and the place it sees again", [*CAMERA, *MEMORY]),
        (MODELS, "Models over clips: motion, light, style and integrity of the whole clip", other),
    )
    tables = [verdict_table(data)]
    for table_id, title, names in parts:
        columns = [_column(name) for name in names if name in scored]
        if columns:
            table = model_table(table_id, title, summary[summary["metric"].isin(names)], columns, intervals=data.intervals)
            table.notes.append(backend_note(data.items[data.items["metric"].isin(names)]))
            table.notes.append("Brackets: 95 % interval over scenes; without one there are fewer than two scenes.")
            tables.append(table)
    return tables


def _column(name: str) -> Column:
    return Column(METRICS.get(name).title, name, digits=DIGITS.get(name, 2))


def clip_facts(data: PaperData) -> list[tuple[Clip, dict[str, Measured]]]:
    """Every clip of the folder with what was measured in it."""
    units = data.tables["units"]
    found = facts_of(data.items, units[units["benchmark"] == "folder"])
    clips = data.tables["clips"]
    return [(clip, found[clip.key]) for clip in clips_from_frame(clips[clips["benchmark"] == "folder"]) if clip.key in found]


def verdict_table(data: PaperData) -> PaperTable:
    """One row per clip: the verdict in words, the answers behind it, and the number of measures that have a value."""
    rows = []
    for clip, facts in clip_facts(data):
        evidence = evidence_of(facts, clip.object_name)
        found = {each.question: each.answer for each in evidence}
        answers = {question: found.get(question, "–") for question in QUESTIONS}
        measured = sum(fact.value is not None for fact in facts.values())
        rows.append({"model": clip.model_id, "clip": clip.clip_id, "verdict": sentence(evidence), **answers, "measures": measured})
    frame = pd.DataFrame(rows).sort_values(["clip", "model"], ignore_index=True)
    labels = [name for name in frame if name != "measures"]
    notes = ["yes, partly, no, not known: the answers that the words are made from; a dash: the question does not arise."]
    return PaperTable(VERDICTS, "What each clip shows", frame, labels, notes=notes)


def findings(items: pd.DataFrame) -> list[tuple[str, str]]:
    """Up to two sentences: how many clips test memory, and how many models keep the place."""
    turned, kept = (
        items[(items["metric"] == f"folder.{name}") & items["value"].notna()] for name in ("camera_return", "place_kept")
    )
    total = items.groupby(["model_id", "clip_id"]).ngroups
    if not total:
        return []
    said = [f"In {len(turned)} of {total} clips the camera turns away, and in {len(kept)} it sees an early view again."]
    if len(kept):
        same = int((kept["value"] >= SAME_PLACE).sum())
        said.append(f"Of these {len(kept)} the place is the same in {same}.")
    return [(" ".join(said), VERDICTS)]


def clip_cards(data: PaperData) -> list[ClipCard]:
    """Per clip the verdict above its pictures: first, away and return frame, and what differs."""
    cards = []
    for clip, facts in sorted(clip_facts(data), key=lambda pair: (pair[0].clip_id, pair[0].model_id)):
        evidence = evidence_of(facts, clip.object_name)
        picture = clip_picture(clip, facts)
        caption = "" if picture is None else picture.caption
        cards.append(
            ClipCard(f"{clip.clip_id}, {clip.model_id}", sentence(evidence), None if picture is None else picture.image, caption)
        )
    return cards
