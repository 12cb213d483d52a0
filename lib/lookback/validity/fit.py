"""Fit the models of the real clips, and the probabilities of the demo's rules: `python -m lookback.validity.fit`.

Every label has few features, chosen by what the failure is, each with the direction in which it speaks. The figures beside each
model are cross-validated by scene: the clips of a scene are judged by a model that never saw that scene. The recorded tables
(lookback/forensics/calibration/real.yaml and demo.yaml) are written anew.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from lookback.clips import KEYS
from lookback.errors import LookbackError, Reason
from lookback.files import write_text
from lookback.forensics.calibration import calibration, data_file, model_record
from lookback.forensics.collect import collect
from lookback.forensics.features import in_words
from lookback.forensics.model import Design, Model, fit
from lookback.forensics.rules import LABELS, find_failures
from lookback.forensics.score import with_truth
from lookback.forensics.verdicts import DRIFT, STILL
from lookback.params import RunParams, load_run
from lookback.tables import read_table
from lookback.validity.dataset import Label, clips_folder, read_labels
from lookback.validity.run import labelled, real_run
from lookback.validity.scores import Said, beats_chance, enough_examples, label_row

MIN_TRAINING = 2  # positives that a model is fitted to
# features whose ratios count are taken as logarithms of the value and this floor
FLOORS: Mapping[str, float] = {"reach": 0.03, "travel": 0.03, "turn": 2.0, "unexplained": 0.005, "resting_motion": 0.003}


def _design(*needs: str, **features: int) -> Design:
    return Design(features, needs, {name: floor for name, floor in FLOORS.items() if name in features})


DESIGNS: Mapping[str, Design] = {
    "camera_inactivity": _design("reach", "asked_motion", reach=-1),
    "camera_drift": _design("off_request", off_request=1),
    "style_shift": _design("lost_in_view", lost_in_view=1, detail_change=1),
    "geometric_melt": _design("unexplained", unexplained=1, reach=-1),
    "background_hallucination": _design("palette_kept", palette_kept=-1, reach=1),
    "object_vanishes": _design("subject_out_late", subject_out_late=1),
    "lighting_shift": _design("light_largest", light_largest=1),
    "event_never_starts": _design("event_asked", "resting_motion", resting_motion=-1, rigid_best=1),
}
# what somebody who understands the scene tells best: questions of the judges, +1 if `yes` speaks for the failure. Their answers
# go before a model's; a label without a model waits for them
QUESTIONS: Mapping[str, Mapping[str, int]] = {
    "event_never_starts": {"D4_action": -1, "D4_progress": -1},
    "state_reset": {"D6_contradiction": 1, "D6_endpoint": -1},
    "identity_drift": {},
}
BY_RULE = "a written rule; its limits were chosen on the demo world, so the figures are in-sample"
NEEDS_JUDGE = "needs a judge: it is about what the scene means, not about how it looks"


def cross_validated(table: pd.DataFrame, labels: Mapping[str, Label], name: str, design: Design) -> list[Said]:
    """What models that never saw a clip's scene say about it."""
    said = []
    for scene in sorted({labels[clip].scene for clip in table.index}):
        inside = [clip for clip in table.index if labels[clip].scene == scene]
        model = fitted(table.drop(index=inside), labels, name, design)
        said += [_say(model, table.loc[clip].to_dict(), clip, name) for clip in inside]
    return said


def fitted(table: pd.DataFrame, labels: Mapping[str, Label], name: str, design: Design) -> Model | None:
    """The model of a label on these clips, doubtful ones left out; None with too few positives."""
    known = [clip for clip in table.index if name not in labels[clip].doubtful]
    positive = [name in labels[clip].sure for clip in known]
    if sum(positive) < MIN_TRAINING or all(positive):
        return None
    return fit(table.loc[known], positive, design)


def _say(model: Model | None, values: Mapping[str, float], clip: str, name: str) -> Said:
    if model is None:
        return Said(clip, name, False, abstained=str(Reason.TOO_FEW_VALUES))
    if model.missing(values) is not None:
        return Said(clip, name, False, abstained=str(Reason.MISSING_INPUT))
    says = model.says(values)
    why = "" if says is not None else str(Reason.TOO_CLOSE)
    return Said(clip, name, bool(says), model.probability(values), why, in_words(model.spoke(values), values))


def all_said(table: pd.DataFrame, labels: Mapping[str, Label]) -> list[Said]:
    """Cross-validated verdicts of every label; labels without a model abstain."""
    said = []
    for name in LABELS:
        if name in DESIGNS and enough_examples(name, labels.values()):
            said += cross_validated(table, labels, name, DESIGNS[name])
        else:
            reason = Reason.NEEDS_JUDGE if name in QUESTIONS else Reason.TOO_FEW_VALUES
            said += [Said(clip, name, False, abstained=str(reason)) for clip in table.index]
    still = {each.clip for each in said if each.label == STILL and each.named}
    unmoved = {clip: Said(clip, DRIFT, False, abstained=str(Reason.NOT_APPLICABLE)) for clip in still}
    return [unmoved.get(each.clip, each) if each.label == DRIFT else each for each in said]


def real_record(table: pd.DataFrame, labels: Mapping[str, Label]) -> dict[str, Any]:
    """The recorded table of the real clips."""
    said = all_said(table, labels)
    scenes = len({labels[clip].scene for clip in table.index})
    return {
        "domain": "real",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "source": f"{len(table)} labelled real clips of {scenes} scenes; figures cross-validated by scene",
        "labels": {name: _label_record(name, table, labels, said) for name in LABELS},
    }


def _label_record(name: str, table: pd.DataFrame, labels: Mapping[str, Label], said: Sequence[Said]) -> dict[str, Any]:
    positives = sum(name in labels[clip].sure for clip in table.index)
    if name in QUESTIONS and name not in DESIGNS:
        return {"by": "judge", "why": NEEDS_JUDGE, "positives": positives, "questions": dict(QUESTIONS[name])}
    if name not in DESIGNS or not enough_examples(name, labels.values()):
        why = f"{positives} labelled clips show it: too few to learn it in one scene and try it in another"
        return {"by": "nothing", "experimental": True, "why": why, "positives": positives}
    row = label_row(name, said, labels)
    figures = {key: _plain(row[key]) for key in FIGURES}
    good = beats_chance(row)
    why = "fitted on labelled real clips" if good else "experimental: not seen to beat chance on scenes that it was not fitted on"
    model = fitted(table, labels, name, DESIGNS[name])
    assert model is not None  # enough_examples
    return {
        "by": "model",
        "experimental": not good,
        "why": why,
        "positives": positives,
        "figures": figures,
        "model": model_record(model),
        **({"questions": dict(QUESTIONS[name])} if name in QUESTIONS else {}),
    }


FIGURES = (
    "n", "positives", "named", "right", "precision", "precision_low", "precision_high", "recall", "recall_low", "recall_high", "F1",
    "abstained", "base_rate",
)  # fmt: skip


def _plain(value: object) -> object:
    number = float(value)  # type: ignore[arg-type]
    return None if np.isnan(number) else int(number) if number.is_integer() else round(number, 4)


def demo_record(params: RunParams) -> dict[str, Any]:
    """The rules on the demo world: their figures, and how often a finding is right by its own confidence (one curve for all).

    The rules are asked again: the run's table holds what the last curve made of their confidence.
    """
    tables = {name: read_table(params.paths.tables, name) for name in ("clips", "artifacts", "segments", "judgements", "truth")}
    failures = pd.DataFrame(
        [
            {**dict(zip(KEYS, seen.clip.key, strict=True)), "label": finding.label, "confidence": finding.confidence}
            for seen in collect(params, tables, over_time=False)
            for _, finding in find_failures(seen)
        ]
    )
    clips = with_truth(failures, tables["truth"])
    injected = clips.set_index(KEYS)["injected"].to_dict()
    rows = failures[[tuple(key) in injected for key in failures[KEYS].itertuples(index=False)]]
    right = [injected[tuple(row[name] for name in KEYS)] == row["label"] for row in rows.to_dict("records")]
    model = model_record(fit(rows[["confidence"]], right, Design({"confidence": 1})))
    return {
        "domain": "demo",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "source": f"{len(clips)} clips of the demo world with injected failures, {len(rows)} findings, {sum(right)} of them right",
        "labels": {name: {"by": "rule", "why": BY_RULE, "figures": _demo_figures(name, clips), "model": model} for name in LABELS},
    }


def _demo_figures(name: str, clips: pd.DataFrame) -> dict[str, Any]:
    truth = {
        str(key): Label(str(key), "", frozenset({injected}), frozenset(), injected, "", "", "")
        for key, injected in clips["injected"].items()
    }
    said = [Said(str(key), name, name in found) for key, found in clips["found"].items()]
    row = label_row(name, said, truth)
    return {key: _plain(row[key]) for key in FIGURES}


class _Plain(yaml.SafeDumper):
    """Writes equal parts out instead of pointing at the first of them."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def write_record(record: Mapping[str, Any]) -> Path:
    """Write the recorded table of a domain."""
    path = Path(str(data_file(f"{record['domain']}.yaml")))
    head = "# Written by `python -m lookback.validity.fit`.\n"
    write_text(path, head + yaml.dump(dict(record), Dumper=_Plain, sort_keys=False, width=130))
    calibration.cache_clear()
    return path


def main() -> int:
    source, demo = clips_folder(), load_run("demo")
    if (demo.paths.tables / "failures.parquet").is_file():
        print(write_record(demo_record(demo)))
    else:
        print("outputs/demo holds no finished run; demo.yaml stays as it is")
    if source.is_dir():
        labels = read_labels(source)
        print(write_record(real_record(labelled(real_run(source), labels).features, labels)))
    else:
        print(f"{source} is absent; real.yaml stays as it is")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LookbackError as error:
        sys.exit(str(error))
