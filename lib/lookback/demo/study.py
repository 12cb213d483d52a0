"""A simulated study of the size of a real one, whose truth is known (`study.yaml`), and whether the analysis finds it again.

The demo world renders few scenes, whose intervals are wide. Votes cost no rendering: here twelve scenes per subset, six models and
five annotators are made up. The clips do not exist, so no metric can score them; the score and the judge of this study are made up
too, and are named `simulated.score` and `simulated.judge`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import cycle, islice
from typing import Any

import numpy as np
import pandas as pd

from lookback.agreement import Plan, analyse
from lookback.agreement.plan import Family
from lookback.clips import KEYS
from lookback.stats import VoteModel, gwet_ac1, judge_beside_people
from lookback.stats.ratings import Floats
from lookback.stats.simulation import drawn_votes
from lookback.tables import check_table
from lookback.yaml_files import parse_yaml

SETTING = "T"
SCORE, JUDGE = "simulated.score", "simulated.judge"
NOTE = "Simulated study: votes, score and judge are drawn from a known truth. Its clips were not rendered: no metric scored them."
# scenes of the large study from which truths without a formula are read
MANY = 2000
SECONDS_PER_VOTE = 9.0


@dataclass(frozen=True)
class SimulatedStudy:
    """Votes and scores of the study, its plan, and its truth: family, dimension, quantity, model, truth."""

    votes: pd.DataFrame
    scores: pd.DataFrame
    plan: Plan
    truth: pd.DataFrame


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return parse_yaml((resources.files("lookback.demo") / "study.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Preferences:
    """Drawn preferences of one dimension: votes (scenes x pairs x raters) and scores (scenes x models)."""

    votes: np.ndarray
    scores: Floats


def _preferences(dimension: str, scenes: int, rng: np.random.Generator) -> _Preferences:
    made = _document()
    own = made["dimensions"][dimension]
    model = VoteModel(tuple(own["strengths"]), made["tie"], made["agreement"])
    clips = rng.standard_normal((1, scenes, len(own["strengths"])))
    votes = drawn_votes(model, rng, 1, scenes, made["raters"], clips)[0]
    sees = own["score"]
    noise = rng.standard_normal(clips[0].shape)
    return _Preferences(votes, sees["strength"] * np.array(own["strengths"]) + sees["clip"] * clips[0] + sees["noise"] * noise)


@dataclass(frozen=True)
class _Answers:
    """Drawn yes/no answers of one subset: voters and votes (clips x raters), and the judge's answers."""

    voters: np.ndarray
    votes: np.ndarray
    judge: np.ndarray


def _answers(subset: str, scenes: int, rng: np.random.Generator) -> _Answers:
    made = _document()
    asked = made["trigger"]
    n = scenes * len(made["models"])
    truth = rng.random(n) < asked["happens"]
    voters = np.array(list(islice(cycle(range(len(made["annotators"]))), n * made["raters"]))).reshape(n, made["raters"])
    right = rng.random(voters.shape) < np.array(asked["right"])[voters]
    return _Answers(voters, truth[:, None] == right, truth == (rng.random(n) < asked["judge"][subset]))


def simulated_study(seed: int) -> SimulatedStudy:
    """The study drawn with this seed."""
    made, plan = _document(), Plan.model_validate(_document()["plan"])
    rng = np.random.default_rng([seed, 50])
    preference, trigger = plan.families.values()
    rows: list[dict[str, object]] = []
    scores: list[dict[str, object]] = []
    for dimension, own in made["dimensions"].items():
        _write_preferences(dimension, own["subset"], _preferences(dimension, made["scenes"], rng), preference, rows, scores)
    for subset in made["trigger"]["judge"]:
        _write_answers(subset, _answers(subset, made["scenes"], rng), trigger, rows, scores)
    votes = pd.DataFrame(rows).assign(simulated=True)
    votes["time"] = SECONDS_PER_VOTE * (1 + votes.groupby("annotator").cumcount())
    items = pd.DataFrame(scores, columns=[*KEYS, "metric", "value"]).assign(reason="")
    return SimulatedStudy(check_table("ratings", votes), items, plan, _truth(preference.tau))


def _place(benchmark: str, subset: str, scene: int) -> dict[str, str]:
    name = f"{subset}-{scene + 1:02d}"
    return {"benchmark": benchmark, "setting": SETTING, "scene": name, "clip_a": f"{name}:not-rendered"}


def _write_preferences(
    dimension: str,
    subset: str,
    drawn: _Preferences,
    family: Family,
    rows: list[dict[str, object]],
    scores: list[dict[str, object]],
) -> None:
    made = _document()
    models, people = made["models"], made["annotators"]
    pairs = list(zip(*np.triu_indices(len(models), 1), strict=True))
    for scene, votes in enumerate(drawn.votes):
        place = _place(family.benchmark, f"{subset}-{dimension}", scene)
        for number, ((a, b), cast) in enumerate(zip(pairs, votes, strict=True)):
            asked = {
                "task": family.task,
                "dimension": dimension,
                "model_a": models[a],
                "model_b": models[b],
                "clip_b": place["clip_a"],
            }
            for turn, vote in enumerate(cast):  # in turn, and another turn in each scene: nobody always sees the same pair
                who = people[(scene + number * len(cast) + turn) % len(people)]
                rows.append({**place, **asked, "clip_b": place["clip_a"], "annotator": who, "label": str(int(vote))})
        for model, value in zip(models, drawn.scores[scene], strict=True):
            scores.append(_score(place, model, SCORE, float(value)))


def _write_answers(
    subset: str, drawn: _Answers, family: Family, rows: list[dict[str, object]], scores: list[dict[str, object]]
) -> None:
    made = _document()
    for clip, (voters, votes, judged) in enumerate(zip(drawn.voters, drawn.votes, drawn.judge, strict=True)):
        scene, model = divmod(clip, len(made["models"]))
        place, name = _place(family.benchmark, subset, scene), made["models"][model]
        about = {"model_a": name, "model_b": "", "clip_b": "", "task": family.task, "dimension": f"trigger_{subset}"}
        for voter, yes in zip(voters, votes, strict=True):
            rows.append({**place, **about, "annotator": made["annotators"][voter], "label": "yes" if yes else "no"})
        scores.append(_score(place, name, JUDGE, float(judged)))


def _score(place: dict[str, str], model: str, metric: str, value: float) -> dict[str, object]:
    keys = {"benchmark": place["benchmark"], "setting": place["setting"], "model_id": model, "clip_id": place["clip_a"]}
    return {**keys, "metric": metric, "value": value}


@lru_cache(maxsize=1)
def _truth(tau: float) -> pd.DataFrame:
    """What the analysis estimates: strengths and win ratios by formula, the rest from a study of very many scenes."""
    made, rng = _document(), np.random.default_rng(0)
    rows = []
    for dimension, own in made["dimensions"].items():
        model = VoteModel(tuple(own["strengths"]), made["tie"], made["agreement"])
        for name, strength, ratio in zip(made["models"], own["strengths"], model.win_ratios(made["raters"]), strict=True):
            rows.append((dimension, "log strength", name, strength - np.mean(own["strengths"])))
            rows.append((dimension, "win ratio", name, ratio))
        rows += [(dimension, quantity, "", value) for quantity, value in _large_preferences(dimension, tau, rng).items()]
    for subset in made["trigger"]["judge"]:
        rows += [(f"trigger_{subset}", quantity, "", value) for quantity, value in _large_answers(subset, rng).items()]
    return pd.DataFrame(rows, columns=["dimension", "quantity", "model", "truth"])


def _large_preferences(dimension: str, tau: float, rng: np.random.Generator) -> dict[str, float]:
    drawn = _preferences(dimension, MANY, rng)
    a, b = np.triu_indices(drawn.scores.shape[1], 1)
    votes, delta = drawn.votes.reshape(-1, drawn.votes.shape[-1]).astype(float), (drawn.scores[:, a] - drawn.scores[:, b]).ravel()
    decision = np.where(np.abs(delta) <= tau, 0, np.sign(delta))
    both = np.concatenate([votes, -votes])
    return {"AC1": gwet_ac1(both, [-1, 0, 1]).value, **_beside(votes, decision, [-1, 0, 1], delta)}


def _large_answers(subset: str, rng: np.random.Generator) -> dict[str, float]:
    drawn = _answers(subset, MANY, rng)
    votes, judge = drawn.votes.astype(float), drawn.judge.astype(float)
    found = _beside(votes, judge, [0, 1], None)
    return {"AC1": gwet_ac1(votes, [0, 1]).value, "judge less people": found["judge less people"]}


def _beside(votes: Floats, answers: Floats, categories: list[int], scores: Floats | None) -> dict[str, float]:
    everything = np.zeros(len(votes))  # one cluster: no interval is computed
    table = judge_beside_people(votes, answers, categories, scores=scores, clusters=everything, symmetric=scores is not None)
    value = table.set_index("measure")["value"]
    return {"judge less people": value["difference"], "rho": value["rho"], "rho ceiling": value["rho_ceiling"]}


@lru_cache(maxsize=2)
def analysed_study(seed: int) -> dict[str, pd.DataFrame]:
    """The study's tables, every one with a note that it is simulated, and the table `recovered`: truth against estimate."""
    study = simulated_study(seed)
    tables = analyse(study.votes, study.scores, study.plan)
    found = recovered(study.truth, tables)
    found.attrs = {
        **tables["models"].attrs,
        "title": "The truth recovered",
        "unit": "quantity",
        "reading": read_recovered(found, study.plan),
    }
    readings = tables.pop("readings")
    tables["recovered"] = found
    for table in tables.values():
        table.attrs["footnote"] = f"{table.attrs['footnote']}. {NOTE}"
    row = {"table": "recovered", **{name: found.attrs[name] for name in ("title", "unit", "reading", "footnote")}}
    everything = pd.concat([readings, pd.DataFrame([row])], ignore_index=True)
    everything["footnote"] = study.plan.footnote + ". " + NOTE
    everything.attrs = readings.attrs
    return {**tables, "readings": everything}


def recovered(truth: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows: quantity, dimension, model, truth, estimate, low, high, inside (whether the interval holds the truth)."""
    models, ceiling = tables["models"], tables["ceiling"]
    strengths = models.rename(columns={"value": "log_strength", "low": "log_strength_low", "high": "log_strength_high"})
    metric = ceiling[ceiling["kind"] == "preference"]
    parts = [
        _taken(strengths, "log_strength", "log strength"),
        _taken(models, "win_ratio", "win ratio"),
        _taken(tables["agreement"].assign(model=""), "ac1", "AC1"),
        _taken(ceiling.assign(model=""), "difference", "judge less people"),
        _taken(metric.assign(model=""), "rho", "rho"),
        _taken(metric.assign(model=""), "rho_ceiling", "rho ceiling"),
    ]
    keys = ["quantity", "dimension", "model"]
    found = truth.merge(pd.concat(parts, ignore_index=True), on=keys, how="left", validate="one_to_one")
    inside = ((found["low"] <= found["truth"]) & (found["truth"] <= found["high"])).astype(object).where(found["low"].notna(), None)
    found = found.assign(inside=inside)[[*keys, "truth", "estimate", "low", "high", "inside"]]
    order = list(truth["quantity"].unique())
    return found.sort_values("quantity", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def _taken(table: pd.DataFrame, column: str, quantity: str) -> pd.DataFrame:
    chosen = table[["dimension", "model", column, f"{column}_low", f"{column}_high"]]
    return chosen.set_axis(["dimension", "model", "estimate", "low", "high"], axis=1).assign(quantity=quantity)


def read_recovered(table: pd.DataFrame, plan: Plan) -> str:
    """How many intervals hold the truth, by quantity, against how many should."""
    known = table[table["low"].notna()]
    parts = [f"{quantity} {int(own['inside'].sum())} of {len(own)}" for quantity, own in known.groupby("quantity", sort=False)]
    total = int(known["inside"].sum())
    return (
        f"{total} of {len(known)} intervals hold the truth ({total / len(known):.0%}; on average {plan.confidence:.0%} should, and "
        f"rows of one dimension share their votes): {', '.join(parts)}. Strengths and win ratios are known by formula, the rest "
        f"from a simulated study of {MANY} scenes."
    )
