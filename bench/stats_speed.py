"""How long do 100,000 votes with 2,000 resamples take?

    python bench/stats_speed.py [--votes 100000] [--resamples 2000]

Times each statistic and the whole analysis (all tables), and compares the vectorised cluster bootstrap with a plain loop over
resamples (timed on a few of them and scaled up).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lookback.agreement import Plan, analyse
from lookback.stats import bootstrap_ci, bridge, gwet_ac1, krippendorff_alpha, rank_agreement_pairs, spearman, win_ratios
from lookback.stats.correlations import spearman_rows

DIMENSIONS = [f"dimension_{k}" for k in range(6)]
MODELS = [f"model_{k}" for k in range(8)]
SCENES = 400
LOOPED = 20


def made_up(n_votes: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Votes of 30 annotators, three on each pair, over six dimensions, and a score for every clip."""
    rng = np.random.default_rng(seed)
    n_pairs = n_votes // 3
    first = rng.integers(0, 8, n_pairs)
    second = (first + rng.integers(1, 8, n_pairs)) % 8
    scene, dimension = rng.integers(0, SCENES, n_pairs), rng.integers(0, 6, n_pairs)
    scenes = np.array([f"scene_{k}" for k in range(SCENES)])
    names = np.array(MODELS)
    pairs = pd.DataFrame({"dimension": np.array(DIMENSIONS)[dimension], "scene": scenes[scene]})
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = pairs.assign(
        model_a=names[low], model_b=names[high], difference=0.15 * (low - high), variant=np.arange(n_pairs) // 1000
    )
    votes = pairs.loc[np.repeat(np.arange(n_pairs), 3)].reset_index(drop=True)
    seen = votes["difference"] + rng.normal(0, 0.6, len(votes))
    start = np.repeat(rng.integers(0, 30, n_pairs), 3)
    clip = votes["scene"] + "-" + votes["variant"].astype(str)
    table = votes[["dimension", "scene", "model_a", "model_b"]].assign(
        task="pairwise",
        benchmark="wrbench",
        setting="",
        clip_a=clip,
        clip_b=clip,
        annotator=[f"annotator_{k}" for k in (start + np.tile([0, 7, 13], n_pairs)) % 30],
        label=np.where(np.abs(seen) < 0.3, 0, np.sign(seen)).astype(int).astype(str),
        time=np.arange(len(votes), dtype=float),
        simulated=True,
    )
    sides = [table[[f"model_{side}", f"clip_{side}"]].set_axis(["model_id", "clip_id"], axis=1) for side in ("a", "b")]
    clips = pd.concat(sides).drop_duplicates()
    parts = []
    for name in DIMENSIONS:
        value = 0.15 * clips["model_id"].str[-1].astype(int) + rng.normal(0, 0.3, len(clips))
        parts.append(clips.assign(benchmark="wrbench", setting="", metric=f"metric.{name}", value=value, reason=""))
    return table.drop_duplicates(["dimension", "clip_a", "model_a", "model_b", "annotator"]), pd.concat(parts, ignore_index=True)


def declared(resamples: int) -> Plan:
    dimensions = {name: {"metric": f"metric.{name}"} for name in DIMENSIONS}
    family = {"benchmark": "wrbench", "task": "pairwise", "kind": "preference", "scale": "preference", "tau": 0.05}
    return Plan.model_validate(
        {
            "scales": {"preference": {"categories": [-1, 0, 1], "level": "ordinal"}},
            "families": {"speed": {**family, "dimensions": dimensions}},
            "resamples": resamples,
        }
    )


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def single_statistics(n_pairs: int, resamples: int) -> list[tuple[str, float, float | None]]:
    """(statistic, seconds, seconds of a plain loop) on one dimension that holds all the pairs."""
    rng = np.random.default_rng(1)
    scene = rng.integers(0, SCENES, n_pairs)
    a = rng.integers(0, 8, n_pairs)
    b = (a + rng.integers(1, 8, n_pairs)) % 8
    delta = 0.1 * (a - b) + rng.normal(0, 0.5, n_pairs)
    latent = delta[:, None] + rng.normal(0, 0.4, (n_pairs, 3))
    votes = np.where(np.abs(latent) < 0.2, 0, np.sign(latent))
    label = np.sign(votes.sum(axis=1)).astype(int)
    names = np.array(MODELS)
    pairs = pd.DataFrame({"model_a": names[a], "model_b": names[b], "scene": scene, "label": label})
    pairs = pairs.assign(human=label, metric=np.sign(delta).astype(int))
    members = [np.flatnonzero(scene == s) for s in range(SCENES)]
    options: dict[str, Any] = {"resamples": resamples}

    def loop(statistic: Callable[[np.ndarray], Any]) -> float:
        def work() -> None:
            for _ in range(LOOPED):
                statistic(np.concatenate([members[s] for s in rng.integers(0, SCENES, SCENES)]))

        return timed(work) * resamples / LOOPED

    def ratios(rows: np.ndarray) -> np.ndarray:
        part = pairs.iloc[rows]
        won, lost = (1 + part["label"].to_numpy()) / 2, (1 - part["label"].to_numpy()) / 2
        points = pd.concat([pd.Series(won, part["model_a"]), pd.Series(lost, part["model_b"])])
        return points.groupby(level=0).mean().to_numpy()

    return [
        ("AC1, clustered", timed(lambda: gwet_ac1(votes, [-1, 0, 1], clusters=scene)), None),
        (
            "alpha, bootstrap",
            timed(lambda: krippendorff_alpha(votes, [-1, 0, 1], level="ordinal", clusters=scene, **options)),
            None,
        ),
        ("mean, bootstrap", timed(lambda: bootstrap_ci(delta, clusters=scene, **options)), loop(lambda rows: delta[rows].mean())),
        ("win ratios, bootstrap", timed(lambda: win_ratios(pairs, cluster="scene", **options)), loop(ratios)),
        ("rank agreement", timed(lambda: rank_agreement_pairs(pairs, cluster="scene", **options)), None),
        (
            "pair Spearman, bootstrap",
            timed(lambda: spearman(label, delta, clusters=scene, **options)),
            loop(lambda rows: spearman_rows(label[rows][None].astype(float), delta[rows][None])),
        ),
        ("bridge", timed(lambda: bridge(label, delta, 0.05, clusters=scene, symmetric=True, **options)), None),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--votes", type=int, default=100_000)
    parser.add_argument("--resamples", type=int, default=2000)
    arguments = parser.parse_args()
    print(f"{arguments.votes} votes ({arguments.votes // 3} pairs, {SCENES} scenes), {arguments.resamples} resamples")
    for name, seconds, looped in single_statistics(arguments.votes // 3, arguments.resamples):
        compared = "" if looped is None else f"   plain loop {looped:8.1f} s, {looped / seconds:6.0f} x"
        print(f"{name:28s} {seconds:8.2f} s{compared}", flush=True)
    ratings, scores = made_up(arguments.votes)
    start, cpu = time.perf_counter(), time.process_time()
    tables = analyse(ratings, scores, declared(arguments.resamples))
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    print(f"whole analysis, {len(tables)} tables: {wall:.1f} s ({used:.1f} s of processor time)")


if __name__ == "__main__":
    main()
