"""A study whose truth is known: six models, twelve scenes, three annotators of whom cat answers at random.

People compare every pair of models and rate every clip. The score `good` follows quality; the score `finger` recognises the model
and knows nothing of quality. Drawn by the generators of docs/statistics.md.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from lookback.paths import project_root

sys.path.append(str(project_root() / "bench"))
import study_generators as made

LEVELS = {"alpha": 1.2, "bravo": 0.8, "charlie": 0.8, "delta": 0.0, "echo": -0.8, "foxtrot": -2.0}
SCENES = 12
MODELS, PEOPLE = np.array(list(LEVELS)), np.array(["ann", "bob", "cat"])
METRICS = {"consistency": "good", "realism": "finger"}
TRUTH = made.Truth(6, SCENES, 3, levels=tuple(LEVELS.values()), careless=1, score_spread=0.8)


def votes_and_scores(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The files of the study."""
    rng, votes, scores = np.random.default_rng(seed), [], []
    for dimension, metric in METRICS.items():
        own = made.replace(TRUTH, within=0.8, follows=1.0) if metric == "good" else TRUTH
        drawn = made.drawn_study(own, rng)
        scene = np.array([f"s{k}" for k in range(SCENES)])
        first, second, answers = made.compared(own, drawn, rng)
        stars = made.rated(own, drawn, rng)
        for place, label in np.ndenumerate(answers):
            pair, clip, who = place
            row = {"task": "pairwise", "dimension": dimension, "scene": scene[clip], "annotator": PEOPLE[who]}
            a, b = (second, first) if (pair + clip) % 2 else (first, second)  # every other pair the other way round
            sides = {"model_a": MODELS[a[pair]], "clip_a": scene[clip], "model_b": MODELS[b[pair]], "clip_b": scene[clip]}
            votes.append({**row, **sides, "label": {1: "A", 0: "tie", -1: "B"}[-label if (pair + clip) % 2 else label]})
        for (model, clip, who), label in np.ndenumerate(stars):
            row = {"task": "rating", "dimension": dimension, "scene": scene[clip], "annotator": PEOPLE[who]}
            votes.append({**row, "model_a": MODELS[model], "clip_a": scene[clip], "label": str(label)})
        scores += [["own", "", MODELS[m], scene[s], metric, value, ""] for (m, s), value in np.ndenumerate(drawn.score)]
    columns = ["benchmark", "setting", "model_id", "clip_id", "metric", "value", "reason"]
    return pd.DataFrame(votes).assign(benchmark="own", setting=""), pd.DataFrame(scores, columns=columns)
