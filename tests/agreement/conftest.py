"""A made-up study whose truth is known: models with fixed qualities, seen by annotators and by metrics through noise."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from lookback.agreement import Plan, analyse, load_plan
from lookback.paths import project_root

MODELS = {
    "T": [f"text-{k}" for k in range(8)],
    "A": [f"action-{k}" for k in range(6)],
    "natural25": [f"world-{k}" for k in range(6)],
}
MBENCH = {"T": ["object_geometry", "lighting"], "A": ["object_geometry", "lighting", "action_interaction"]}
WRBENCH = ["visible_spatial", "visible_state", "reobserved_spatial", "reobserved_state"]
VQA = ["instruction_following", "object_background", "continuity_of_memory", "physics_adherence"]
ANNOTATORS = ["ann", "bob", "cyd"]
EVENTS = ["none", "spatial", "state", "full"]


@pytest.fixture(scope="session")
def plan() -> Plan:
    return load_plan(project_root() / "params" / "agreement.yaml").model_copy(update={"resamples": 200})


def quality(model: str) -> float:
    """The true quality of a model: its number."""
    return 0.08 * int(model.rsplit("-", 1)[1])


class Study:
    """Collects votes and scores."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.votes: list[dict] = []
        self.scores: list[dict] = []

    def vote(
        self, task: str, benchmark: str, setting: str, dimension: str, scene: str, a: tuple, b: tuple, who: str, label: object
    ) -> None:
        row = {"task": task, "benchmark": benchmark, "setting": setting, "dimension": dimension, "scene": scene}
        row |= {"model_a": a[0], "clip_a": a[1], "model_b": b[0], "clip_b": b[1], "annotator": who, "label": str(label)}
        self.votes.append({**row, "time": float(len(self.votes)), "simulated": True})

    def score(self, benchmark: str, setting: str, model: str, clip: str, metric: str, value: float, reason: str = "") -> None:
        row = {"benchmark": benchmark, "setting": setting, "model_id": model, "clip_id": clip, "metric": metric}
        self.scores.append({**row, "value": np.nan if reason else value, "reason": reason})

    def pairs(self, benchmark: str, setting: str, dimension: str, metric: str, scenes: list[str], task: str = "pairwise") -> None:
        """Every scene asks four pairs of models; people tie within 0.15, the metric sees quality with noise."""
        models = MODELS[setting]
        for scene in scenes:
            shown = {m: quality(m) + self.rng.normal(0, 0.05) for m in models}
            for m in models:
                known = not (scene == scenes[0] and m == models[0])
                reason = "" if known else "no_mask"
                if task == "pairwise":
                    self.score(benchmark, setting, m, scene, metric, shown[m] + self.rng.normal(0, 0.05), reason)
            for _ in range(4):
                a, b = self.rng.choice(models, 2, replace=False)
                for who in ANNOTATORS:
                    seen = shown[a] - shown[b] + self.rng.normal(0, 0.15)
                    label = 0 if abs(seen) < 0.1 else int(np.sign(seen))
                    if not any(
                        v["annotator"] == who and {v["model_a"], v["model_b"]} == {a, b}
                        for v in self._of(task, setting, dimension, scene)
                    ):
                        self.vote(task, benchmark, setting, dimension, scene, (a, scene), (b, scene), who, label)

    def _of(self, task: str, setting: str, dimension: str, scene: str) -> list[dict]:
        keys = {"task": task, "setting": setting, "dimension": dimension, "scene": scene}
        return [v for v in self.votes[-40:] if all(v[k] == x for k, x in keys.items())]

    def yes_no(
        self, task: str, benchmark: str, setting: str, dimension: str, metric: str, clips: list[tuple], truth: float, good: float
    ) -> None:
        """People answer right in 90 %, the judge in `good` of the cases; `truth` is the share of yes."""
        for model, clip, scene in clips:
            answer = self.rng.random() < truth
            name, question = metric.partition("#")[0], dimension.partition("#")[2]
            judged = answer if self.rng.random() < good else not answer
            self.score(benchmark, setting, model, clip, name + (f"#{question}" if question else ""), 0.9 if judged else 0.1)
            for who in ANNOTATORS:
                said = answer if self.rng.random() < 0.9 else not answer
                self.vote(task, benchmark, setting, dimension, scene, (model, clip), ("", ""), who, "yes" if said else "no")


@pytest.fixture(scope="session")
def study(plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(ratings, scores, clips) over three benchmarks."""
    made = Study(5)
    scenes = [f"scene{k:02d}" for k in range(20)]
    for setting, dimensions in MBENCH.items():
        for dimension in dimensions:
            metric = plan.families["mbench_preference"].dimensions[dimension].metric_of(setting)
            made.pairs("mbench", setting, dimension, metric, [f"{dimension}-{s}" for s in scenes])
    for subset in ("human", "object"):
        clips = [(m, f"{subset}-{s}", s) for s in scenes[:10] for m in MODELS["T"][:4]]
        made.yes_no("trigger", "mbench", "T", f"trigger_{subset}", "judge.trigger", clips, 0.7, 0.85)
    for dimension in WRBENCH:
        metric = plan.families["wrbench_preference"].dimensions[dimension].metric_of("natural25")
        made.pairs("wrbench", "natural25", dimension, metric, scenes)
    made.pairs("wrbench", "natural25", "visible_spatial", "", scenes[:8], task="pairwise_supplementary")
    clips = [(m, s, s) for s in scenes for m in MODELS["natural25"]]
    made.yes_no("judgeability", "wrbench", "natural25", "reobserved_spatial", "wrbench.support", clips, 0.6, 0.9)
    for dimension in VQA:
        for question in range(2):
            truth = [("ground_truth", s, s) for s in scenes[:12]]
            made.yes_no(
                "vqa", "memobench", "real", f"{dimension}#{dimension[:2]}{question}", "judge.vqa_ground_truth", truth, 0.5, 0.95
            )
    ratings, scores = pd.DataFrame(made.votes), pd.DataFrame(made.scores)
    keys = scores[["benchmark", "setting", "model_id", "clip_id"]].drop_duplicates()
    levels = {s: EVENTS[k % 4] for k, s in enumerate(scenes)}
    level = keys["clip_id"].map(levels).where(keys["benchmark"] == "wrbench", "").fillna("")
    families = keys["clip_id"].map({s: f"family{k // 4}" for k, s in enumerate(scenes)}).fillna(keys["clip_id"])
    return ratings, scores, keys.assign(event_level=level, scene=families).reset_index(drop=True)


@pytest.fixture(scope="session")
def tables(study, plan, tmp_path_factory) -> dict[str, pd.DataFrame]:
    """Its analysis, computed once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    kept = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "analysed_study.pickle"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            ratings, scores, clips = study
            kept.write_bytes(pickle.dumps(analyse(ratings, scores, plan, clips)))
    return pickle.loads(kept.read_bytes())  # noqa: S301 - what one of these processes wrote
