"""The five case studies of WRBench's appendix E on a run's own data: each is a table and one sentence about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from lookback.benchmark import Story
from lookback.clips import KEYS
from lookback.forensics.cases import paradoxes, standings
from lookback.forensics.rules import TITLES

Tables = Mapping[str, pd.DataFrame]
NO_DATA = "this run has no clips for this case study"


def _scores(tables: Tables) -> pd.DataFrame:
    """WRBench clips with one column per axis, the task's factors, and the failures found."""
    stands = standings(tables["gated"])
    stands = stands[stands["benchmark"] == "wrbench"]
    wide = stands.pivot_table(index=KEYS, columns="axis", values="value").reset_index()
    facts = tables["clips"][[*KEYS, "scene", "condition_id", "condition_type", "event_level"]]
    found = tables["failures"].groupby(KEYS)["label"].agg(lambda labels: ", ".join(TITLES[label] for label in labels))
    return (
        facts.merge(wide, on=KEYS)
        .merge(found.rename("failures found").reset_index(), on=KEYS, how="left")
        .fillna({"failures found": ""})
    )


def _columns(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    return frame[[name for name in names if name in frame.columns]]


def quality_does_not_certify(tables: Tables) -> Story:
    """E.1: the picture is clean, the camera is right and the subject returns, but its state is wrong."""
    title = "Visual quality does not certify a correct return"
    scores = _scores(tables)
    if not {"reobserved_state", "visual_integrity"} <= set(scores.columns):
        return title, pd.DataFrame(), NO_DATA
    returned = scores.dropna(subset=["reobserved_state"])
    returned = returned[returned["visual_integrity"] >= scores["visual_integrity"].median()].sort_values("reobserved_state")
    shown = _columns(
        returned, ["model_id", "clip_id", "visual_integrity", "cam_prec", "support", "reobserved_state", "failures found"]
    ).head(5)
    if shown.empty:
        return title, shown, NO_DATA
    worst = shown.iloc[0]
    words = (
        f"{worst['model_id']} has visual integrity {worst['visual_integrity']:.2f}, above the run's median, and its subject "
        f"returns, "
        f"yet re-observed state is {worst['reobserved_state']:.2f}."
    )
    return title, shown, words


def in_place_against_relocation(tables: Tables) -> Story:
    """E.2: an event that moves the subject against one that changes it where it stands."""
    title = "In-place change against relocation"
    scores = _scores(tables)
    if "visible_state" not in scores:
        return title, pd.DataFrame(), NO_DATA
    axes = [name for name in ("visible_spatial", "visible_state", "reobserved_spatial", "reobserved_state") if name in scores]
    table = scores.groupby("event_level").agg(clips=("clip_id", "size"), **{name: (name, "mean") for name in axes}).reset_index()
    state, moved = (table[table["event_level"] == name] for name in ("state", "spatial"))
    if state.empty or moved.empty:
        return title, table, NO_DATA
    a, b = float(state["visible_state"].iloc[0]), float(moved["visible_state"].iloc[0])
    words = f"Visible state is {a:.2f} where the event changes the subject in place and {b:.2f} where it moves it."
    return title, table, words


def access_set_by_the_camera(tables: Tables) -> Story:
    """E.3: whether the subject leaves and returns at all depends on the camera asked for."""
    title = "Access is set by the camera channel"
    scores = _scores(tables)
    if "support" not in scores:
        return title, pd.DataFrame(), NO_DATA
    columns = {name: (name, "mean") for name in ("support", "reobserved_spatial", "reobserved_state") if name in scores}
    table = scores.groupby("condition_id").agg(clips=("clip_id", "size"), **columns).reset_index()
    if table["support"].isna().all():
        return title, table, NO_DATA
    most, least = table.loc[table["support"].idxmax()], table.loc[table["support"].idxmin()]
    words = (
        f"Support is {most['support']:.0%} under {most['condition_id']} and {least['support']:.0%} under {least['condition_id']}."
    )
    return title, table, words


def one_event_all_interfaces(tables: Tables) -> Story:
    """E.4: one task through every model: scores and the failure signature of each."""
    title = "One event through all interfaces"
    scores = _scores(tables)
    events = scores[scores["event_level"].isin(["state", "full"]) & (scores["condition_id"] != "static")]
    if events.empty:
        return title, pd.DataFrame(), NO_DATA
    task = events.groupby("clip_id")["model_id"].nunique().idxmax()
    rows = events[events["clip_id"] == task].sort_values("model_id")
    axes = ["condition_type", "model_id", "visual_integrity", "support", "visible_state", "reobserved_state", "failures found"]
    signatures = sorted({text for text in rows["failures found"] if text})
    words = f"{len(rows)} models do {task}; {len(signatures)} different failure signatures: {'; '.join(signatures)}."
    return title, _columns(rows, axes), words


def the_metric_paradox(tables: Tables) -> Story:
    """E.5: top on one axis, bottom on another."""
    title = "High scores, frame-level failures: the metric paradox"
    cases = sorted(paradoxes(standings(tables["gated"])), key=lambda case: (-case["strength"], case["clip_a"], case["model_a"]))[:6]
    if not cases:
        return title, pd.DataFrame(), NO_DATA
    table = pd.DataFrame(cases)[["benchmark", "model_a", "clip_a", "other_axis", "other_a", "axis", "score_a", "words"]]
    table.columns = ["benchmark", "model", "clip", "top axis", "top score", "bottom axis", "bottom score", "standing"]
    return title, table, f"{cases[0]['model_a']} on {cases[0]['clip_a']}: {cases[0]['words']}."


STORIES: tuple[Callable[[Tables], Story], ...] = (
    quality_does_not_certify,
    in_place_against_relocation,
    access_set_by_the_camera,
    one_event_all_interfaces,
    the_metric_paradox,
)


def tell(tables: Tables) -> list[Story]:
    """All five."""
    return [story(tables) for story in STORIES]
