"""The recorded tables behind every verdict: the fitted models of each domain.

`python -m lookback.validity.fit` writes demo.yaml and real.yaml. Nothing in the code repeats their numbers. The demo world and real
clips are separate domains: what was learned on one says nothing about the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import pandas as pd

from lookback.forensics.model import Model
from lookback.yaml_files import parse_yaml

Domain = Literal["demo", "real"]
By = Literal["rule", "model", "judge", "nothing"]


def data_file(name: str) -> Any:
    """A file of this folder."""
    return resources.files("lookback.forensics.calibration").joinpath(name)


@dataclass(frozen=True)
class LabelCalibration:
    """How one label is decided in a domain, and how well that was seen to work."""

    label: str
    by: By
    model: Model | None
    experimental: bool
    why: str  # in words: what the label is decided by, or why it is not
    figures: Mapping[str, float]  # n, precision, recall and their intervals, as measured
    questions: Mapping[str, int]  # a judge's questions: +1 if `yes` speaks for the failure, -1 if `no` does


@dataclass(frozen=True)
class Calibration:
    """The recorded table of one domain."""

    domain: Domain
    source: str
    date: str
    labels: Mapping[str, LabelCalibration]


@lru_cache
def calibration(domain: Domain) -> Calibration:
    """The recorded table of a domain."""
    return from_record(parse_yaml(data_file(f"{domain}.yaml").read_text(encoding="utf-8")))


def figures() -> pd.DataFrame:
    """How well each label was seen to work, on the demo world and on real clips; no figures where it was not measured."""
    demo, real = calibration("demo"), calibration("real")
    return pd.DataFrame(
        [
            {"label": name, **_said("demo", demo.labels[name]), **_said("real", own), "real_state": _state(own)}
            for name, own in real.labels.items()
        ]
    )


def _said(domain: str, label: LabelCalibration) -> dict[str, object]:
    found = label.figures
    if not found:
        return {f"{domain}_n": 0, f"{domain}_precision": "", f"{domain}_recall": ""}
    return {f"{domain}_n": int(found["n"]), **{f"{domain}_{name}": _interval(found, name) for name in ("precision", "recall")}}


def _interval(found: Mapping[str, float], name: str) -> str:
    if found.get(name) is None:
        return ""
    return f"{found[name]:.2f} [{found[f'{name}_low']:.2f}, {found[f'{name}_high']:.2f}]"


def _state(label: LabelCalibration) -> str:
    if label.by == "judge":
        return "needs a judge"
    return "experimental, off" if label.experimental else "on"


def from_record(record: Mapping[str, Any]) -> Calibration:
    labels = {name: _label(name, values) for name, values in record["labels"].items()}
    return Calibration(record["domain"], record["source"], str(record["date"]), labels)


def _label(name: str, values: Mapping[str, Any]) -> LabelCalibration:
    return LabelCalibration(
        name,
        values["by"],
        model_from_record(values["model"]) if values.get("model") else None,
        bool(values.get("experimental", False)),
        values.get("why", ""),
        values.get("figures", {}),
        values.get("questions", {}),
    )


def model_from_record(values: Mapping[str, Any]) -> Model:
    features = values["features"]
    columns = {key: tuple(part[key] for part in features.values()) for key in ("sign", "centre", "scale", "weight")}
    return Model(
        tuple(features),
        columns["sign"],
        columns["centre"],
        columns["scale"],
        columns["weight"],
        float(values["bias"]),
        float(values["named_from"]),
        float(values["absent_to"]),
        tuple(float(part.get("log_floor", 0.0)) for part in features.values()),
        tuple(values.get("needs", ())),
    )


def model_record(model: Model) -> dict[str, Any]:
    """The model as plain values, rounded to what the table shows."""
    columns = (model.features, model.signs, model.centres, model.scales, model.weights, model.floors)
    features = {
        name: {"sign": sign, "centre": round(centre, 5), "scale": round(scale, 5), "weight": round(weight, 4)}
        | ({"log_floor": floor} if floor else {})
        for name, sign, centre, scale, weight, floor in zip(*columns, strict=True)
    }
    values: dict[str, Any] = {"features": features, "bias": round(model.bias, 4)}
    values |= {"named_from": round(model.named_from, 4), "absent_to": round(model.absent_to, 4)}
    return values | ({"needs": list(model.needs)} if model.needs else {})
