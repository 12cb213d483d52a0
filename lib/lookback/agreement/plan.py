"""The plan of an agreement analysis: all choices that must be fixed before the scores are read.

A plan is a YAML file (`params/agreement.yaml`). Its hash is printed under every table, so that a reader can see whether two tables
were made under the same plan.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from lookback.errors import ContractError, ParameterError, brief
from lookback.params.stages import Section
from lookback.stats import preference_sign
from lookback.yaml_files import parse_yaml

Kind = Literal["preference", "trigger", "judgeability", "vqa"]
Estimand = Literal["agreement", "ranking", "bridge", "trigger", "judgeability", "vqa", "annotators", "power", "design"]

GROUND_TRUTH = "ground_truth"  # the `model_a` of a vote on a clip's ground-truth video


def _label(value: object) -> str:
    if isinstance(value, bool):
        raise ValueError('write yes/no labels in quotes ("yes"): YAML reads the bare word as true/false')
    return str(value)


Label = Annotated[str, BeforeValidator(_label)]


class Scale(Section):
    """The answers an annotator could give, in order. All are declared, also those that nobody used."""

    categories: tuple[Label, ...] = Field(min_length=2)
    level: Literal["nominal", "ordinal", "interval"] = "nominal"

    @model_validator(mode="after")
    def _distinct(self) -> Scale:
        if len(set(self.categories)) != len(self.categories):
            raise ValueError(f"categories repeat: {', '.join(self.categories)}")
        return self


class Dimension(Section):
    """One dimension that people judged, the metric compared with it, and the tie band of the score difference."""

    metric: str | dict[str, str] | None = None  # one name, or a name per setting; none: agreement among people only
    higher_is_better: bool = True
    tau: float | None = Field(default=None, ge=0)  # |difference| <= tau is a tie; none: the family's tau

    def metric_of(self, setting: str) -> str | None:
        return self.metric.get(setting) if isinstance(self.metric, dict) else self.metric


class Family(Section):
    """An annotation family: the votes of one task of one benchmark (WRBench table 14)."""

    benchmark: str
    task: str  # the `task` column of the ratings
    kind: Kind
    scale: str
    role: Literal["main", "supplementary"] = "main"
    use: str = ""
    tau: float = Field(default=0.0, ge=0)
    judge: str | None = None  # the score that answers the same yes/no question (trigger, judgeability, vqa)
    threshold: float = Field(default=0.5, ge=0, le=1)  # a judge's value at or above it is a yes
    dimensions: dict[str, Dimension]

    def tau_of(self, dimension: str) -> float:
        own = self.dimensions[dimension].tau
        return self.tau if own is None else own


class Majority(Section):
    rule: Literal["majority", "plurality"] = "majority"
    min_votes: int = Field(default=2, ge=1)
    split: Literal["exclude", "tie"] = "exclude"  # a split vote is left out, or counts as a tie


class Clusters(Section):
    agreement: Literal["scene", "item"] = "scene"
    metric: Literal["scene", "item", "annotator"] = "scene"


class Holdout(Section):
    """Scenes reserved for the hold-out rho of WRBench table 16; chosen by the hash of their names."""

    fraction: float = Field(default=0.3, gt=0, lt=1)
    seed: int = 0

    def holds(self, scene: str) -> bool:
        digest = hashlib.sha256(f"{self.seed}\0{scene}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < self.fraction


class Plan(Section):
    title: str = "Agreement of metrics with people"
    estimands: tuple[Estimand, ...] = (
        "agreement",
        "ranking",
        "bridge",
        "trigger",
        "judgeability",
        "vqa",
        "annotators",
        "power",
        "design",
    )
    scales: dict[str, Scale]
    families: dict[str, Family]
    aggregate: Literal["majority", "votes"] = "majority"
    majority: Majority = Majority()
    orientation: Literal["symmetric", "as_given"] = "symmetric"  # count each pair in both orders, or as the votes name A and B
    win_ratio_ties: Literal["half", "drop"] = "half"
    clusters: Clusters = Clusters()
    holdout: Holdout = Holdout()
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    multiplicity: Literal["holm", "none"] = "holm"
    resamples: int = Field(default=2000, ge=100)
    seed: int = Field(default=7, ge=0)
    power: float = Field(default=0.8, gt=0, lt=1)
    duplicates: Literal["error", "keep_last"] = "error"
    contradictions: Literal["error", "drop"] = "error"
    simulated: Literal["allow", "refuse"] = "allow"

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        seen: dict[tuple[str, str, str], str] = {}
        for name, family in self.families.items():
            if family.scale not in self.scales:
                raise ValueError(f"family {name}: there is no scale {family.scale!r}; declared: {', '.join(self.scales)}")
            categories = self.scales[family.scale].categories
            if family.kind == "preference":
                try:
                    preference_sign(categories)
                except ContractError as error:
                    raise ValueError(f"family {name}: {error}") from None
            elif set(categories) != {"yes", "no"}:
                raise ValueError(
                    f"family {name}: a {family.kind} question is answered yes or no, the scale has {', '.join(categories)}"
                )
            for dimension in family.dimensions:
                key = (family.benchmark, family.task, dimension)
                if key in seen:
                    raise ValueError(f"families {seen[key]} and {name} both claim {' / '.join(key)}")
                seen[key] = name
        if self.clusters.metric == "annotator" and self.aggregate == "majority":
            raise ValueError("clusters.metric: annotator needs aggregate: votes, since a majority belongs to no single annotator")
        return self

    @property
    def hash(self) -> str:
        """sha256 of the plan's canonical JSON."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def footnote(self) -> str:
        """The line under every table."""
        drawn = f"{self.resamples} resamples by {self.clusters.metric}, seed {self.seed}"
        return f"plan {self.hash[:16]}; {self.confidence:.0%} intervals; {drawn}"

    @property
    def drawn(self) -> dict[str, Any]:
        """The settings of the bootstrap, as keyword arguments of the statistics."""
        return {"resamples": self.resamples, "confidence": self.confidence, "seed": self.seed}

    @property
    def metrics(self) -> dict[str, set[str]]:
        """The scores the plan names, per benchmark."""
        named: dict[str, set[str]] = {}
        for family in self.families.values():
            own = named.setdefault(family.benchmark, set())
            own |= {family.judge} if family.judge else set()
            for axis in family.dimensions.values():
                own |= set(axis.metric.values()) if isinstance(axis.metric, dict) else {axis.metric} if axis.metric else set()
        return named

    def categories(self, family: str) -> list[Any]:
        """The family's declared categories as the analysis uses them: signs for preferences, words otherwise."""
        declared = self.families[family]
        labels = self.scales[declared.scale].categories
        return preference_sign(labels).tolist() if declared.kind == "preference" else list(labels)


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan; a mistake is a ParameterError that names file, key and problem."""
    source = Path(path)
    try:
        values = parse_yaml(source.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(f"There is no plan {source}; copy params/agreement.yaml and adapt it") from None
    except OSError as error:
        raise ParameterError(f"{source} cannot be read as a plan ({error.strerror}); name a YAML file") from None
    except ValueError as error:  # also bad UTF-8
        raise ParameterError(f"{source.name} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise ParameterError(f"{source.name}: expected a mapping with scales and families, found {type(values).__name__}")
    try:
        return Plan.model_validate(values)
    except ValidationError as error:
        lines = [
            f"{source.name}: {'.'.join(map(str, p['loc'])) or 'plan'}: {p['msg']} (got {_short(p['input'], p['loc'])})"
            for p in error.errors()
        ]
        raise ParameterError("\n".join(lines)) from None


def _short(value: object, place: tuple[int | str, ...]) -> str:
    text = brief(value, ".".join(map(str, place)))
    return text if len(text) <= 60 else text[:57] + "..."
