"""The plan of an agreement analysis: all choices that must be fixed before the scores are read.

A plan is a YAML file (`params/agreement.yaml`). Its hash is printed under every table, so that a reader can see whether two tables
were made under the same plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from lookback.errors import ContractError, ParameterError, brief
from lookback.params.load import key_hint
from lookback.params.stages import Section
from lookback.paths import expanded
from lookback.stats import preference_sign
from lookback.yaml_files import parse_yaml

Kind = Literal["preference", "rating", "trigger", "judgeability", "vqa"]
Estimand = Literal["agreement", "ranking", "bridge", "rating", "trigger", "judgeability", "vqa", "annotators", "design"]

Check = Literal["agreement", "side", "same_answer", "speed", "gold"]

GROUND_TRUTH = "ground_truth"  # the `model_a` of a vote on a clip's ground-truth video


def _label(value: object) -> str:
    if isinstance(value, bool):
        raise ValueError('write yes/no labels in quotes ("yes"): YAML reads the bare word as true/false')
    return str(value)


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Label = Annotated[str, BeforeValidator(_label)]
Names = Annotated[tuple[str, ...], BeforeValidator(_several)]


class Scale(Section):
    """The answers an annotator could give, in order. All are declared, also those that nobody used.

    `labels` declares other spellings: {A: 1, B: -1} reads "A" as the category 1. Upper and lower case are read alike.
    """

    categories: tuple[Label, ...] = Field(min_length=2)
    level: Literal["nominal", "ordinal", "interval"] = "nominal"
    labels: dict[Label, Label] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _unambiguous(self) -> Scale:
        known = ", ".join(self.categories)
        if len({category.lower() for category in self.categories}) != len(self.categories):
            raise ValueError(f"categories repeat (upper and lower case are read alike): {known}")
        meanings = self.spellings
        for spelling, category in self.labels.items():
            if category not in self.categories:
                raise ValueError(f"labels: {spelling!r} stands for {category!r}, which is no category ({known})")
            if meanings[spelling.lower()] != category:
                raise ValueError(f"labels: {spelling!r} stands for two categories, {meanings[spelling.lower()]!r} and {category!r}")
        return self

    @property
    def spellings(self) -> dict[str, str]:
        """Every declared spelling in lower case, with its category."""
        own = {category.lower(): category for category in self.categories}
        return {spelling.lower(): category for spelling, category in self.labels.items()} | own

    @property
    def values(self) -> list[float]:
        """The categories as numbers: themselves where all are numbers, else their places from 1."""
        try:
            return [float(category) for category in self.categories]
        except ValueError:
            return [float(place) for place in range(1, len(self.categories) + 1)]


class Dimension(Section):
    """One dimension that people judged, the metric compared with it, and the tie band of the score difference."""

    metric: str | dict[str, str] | None = None  # one name, or a name per setting; none: agreement among people only
    higher_is_better: bool = True
    tau: float | None = Field(default=None, ge=0)  # |difference| <= tau is a tie; none: the family's tau
    judgeable: str | None = None  # a judgeability family: items that its majority calls not judgeable are left out

    def metric_of(self, setting: str) -> str | None:
        return self.metric.get(setting) if isinstance(self.metric, dict) else self.metric

    @property
    def metrics(self) -> set[str]:
        """The metric of every setting."""
        return {*self.metric.values()} if isinstance(self.metric, dict) else {self.metric} if self.metric else set()


class Family(Section):
    """An annotation family: the votes of one task of one benchmark (WRBench table 14)."""

    benchmark: str
    task: str  # the `task` column of the ratings
    kind: Kind
    scale: str
    judged: Literal["clip", "pair"] = "clip"  # what a rating is about; a pair's scale runs from "B much better" to "A much better"
    role: Literal["main", "supplementary"] = "main"
    use: str = ""
    tau: float = Field(default=0.0, ge=0)
    judge: str | None = None  # the score that answers the same yes/no question (trigger, judgeability, vqa)
    threshold: float = Field(default=0.5, ge=0, le=1)  # a judge's value at or above it is a yes
    dimensions: dict[str, Dimension]

    @property
    def pairs(self) -> bool | None:
        """Whether a vote is about two clips. None: it may be about one or two."""
        if self.kind == "rating":
            return self.judged == "pair"
        return {"preference": True, "judgeability": None}.get(self.kind, False)

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

    @property
    def units(self) -> Literal["scene", "item"]:
        """What claims about score and people leave out: annotators repeat on every clip what is peculiar to these clips."""
        return "scene" if self.metric == "annotator" else self.metric


class Holdout(Section):
    """Scenes reserved for the hold-out rho of WRBench table 16; chosen by the hash of their names."""

    fraction: float = Field(default=0.3, gt=0, lt=1)
    seed: int = 0

    def holds(self, scene: str) -> bool:
        digest = hashlib.sha256(f"{self.seed}\0{scene}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < self.fraction


class Population(Section):
    """What a claim is about: what was drawn as a sample from more of its kind; everything else is as given.

    claims: metric against people. scenes: within these models, in other scenes; models: between models like these;
    models_and_scenes: both at once. annotators: the differences between models as these annotators see them, or as annotators
    like them would.
    """

    claims: Literal["scenes", "models", "models_and_scenes"] = "scenes"
    annotators: Literal["these", "like_these"] = "these"


class Files(Section):
    """The files of the study, relative to the plan. Freezing the plan records which of them exist already."""

    votes: Names = ()
    scores: Names = ()
    gold: Names = ()  # answers to items with a known answer; default: gold.csv beside the plan, if there is one


class Annotators(Section):
    """Whose votes are left out: people named beforehand, and those who fail a rule that was fixed beforehand."""

    exclude: Names = ()
    gold: float | None = Field(default=None, gt=0, le=1)  # with a smaller share of gold items right: left out of the study
    flags: Annotated[tuple[Check, ...], BeforeValidator(_several)] = ()  # flagged by one of these checks: left out of the family


class Plan(Section):
    title: str = "Agreement of metrics with people"
    files: Files = Files()
    sample_size: str = ""  # why this many items, annotators and votes; printed in the methods
    preregistration: str = ""  # where the plan is registered, if it is
    estimands: tuple[Estimand, ...] = (
        "agreement",
        "ranking",
        "bridge",
        "rating",
        "trigger",
        "judgeability",
        "vqa",
        "annotators",
        "design",
    )
    scales: dict[str, Scale]
    families: dict[str, Family]
    aggregate: Literal["majority", "votes"] = "majority"
    majority: Majority = Majority()
    annotators: Annotators = Annotators()
    orientation: Literal["symmetric", "as_given"] = "symmetric"  # count each pair in both orders, or as the votes name A and B
    win_ratio_ties: Literal["half", "drop"] = "half"
    clusters: Clusters = Clusters()
    population: Population = Population()
    holdout: Holdout = Holdout()
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    looks: int = Field(default=1, ge=1)  # analyses that may make claims; they share alpha
    multiplicity: Literal["holm", "none"] = "holm"
    resamples: int = Field(default=2000, ge=100)
    seed: int = Field(default=7, ge=0)
    power: float = Field(default=0.8, gt=0, lt=1)
    duplicates: Literal["error", "keep_last"] = "error"
    contradictions: Literal["error", "drop"] = "error"
    simulated: Literal["allow", "refuse"] = "allow"

    unmatched: Literal["error", "report"] = "error"  # votes whose clip has no score: an error, or counted in the readings

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        seen: dict[tuple[str, str, str], str] = {}
        for name, family in self.families.items():
            if family.scale not in self.scales:
                raise ValueError(f"family {name}: there is no scale {family.scale!r}; declared: {', '.join(self.scales)}")
            _check_scale(name, family, self.scales[family.scale])
            for dimension, axis in family.dimensions.items():
                key = (family.benchmark, family.task, dimension)
                if key in seen:
                    raise ValueError(f"families {seen[key]} and {name} both claim {' / '.join(key)}")
                seen[key] = name
                if axis.judgeable:
                    self._check_judgeable(f"family {name}, {dimension}", family.benchmark, dimension, axis.judgeable)
        if self.clusters.metric == "annotator" and self.aggregate == "majority":
            raise ValueError("clusters.metric: annotator needs aggregate: votes, since a majority belongs to no single annotator")
        return self

    def _check_judgeable(self, where: str, benchmark: str, dimension: str, named: str) -> None:
        """The family that says what is judgeable must ask about the same dimension of the same benchmark."""
        asked = self.families.get(named)
        if asked is None or asked.kind != "judgeability":
            raise ValueError(f"{where}: {named!r} is no family of kind judgeability")
        if asked.benchmark != benchmark or dimension not in asked.dimensions:
            advice = "declare it there, or leave judgeable out"
            raise ValueError(f"{where}: {named} does not ask about {dimension} of {benchmark}; {advice}")

    @property
    def hash(self) -> str:
        return canonical_hash(self.model_dump(mode="json"))

    @property
    def level(self) -> float:
        """The level of one analysis: alpha shared equally by the planned looks."""
        return self.alpha / self.looks

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
                own |= axis.metrics
        return named

    def turns(self, family: str) -> bool:
        """Whether every pair of this family counts in both orders."""
        return self.families[family].pairs is True and self.orientation == "symmetric"

    def categories(self, family: str) -> list[Any]:
        """The family's declared categories as the analysis uses them: signs for preferences, numbers for ratings, else words.

        Ratings of pairs are centred, so that 0 is "no difference" and turning a pair's sides changes the sign.
        """
        declared = self.families[family]
        scale = self.scales[declared.scale]
        if declared.kind == "preference":
            return preference_sign(scale.categories).tolist()
        if declared.kind == "rating":
            middle = (max(scale.values) + min(scale.values)) / 2 if declared.judged == "pair" else 0.0
            return [int(v) if v.is_integer() else v for v in (value - middle for value in scale.values)]
        return list(scale.categories)


def canonical_hash(values: Mapping[str, Any]) -> str:
    """sha256 of a plan's canonical JSON."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _check_scale(name: str, family: Family, scale: Scale) -> None:
    """A family's scale must fit its kind."""
    if family.judged == "pair" and family.kind != "rating":
        raise ValueError(f"family {name}: judged: pair belongs to kind rating; a {family.kind} needs no such key")
    if family.kind == "preference":
        try:
            preference_sign(scale.categories)
        except ContractError as error:
            raise ValueError(f"family {name}: {error}; a scale of more steps is kind: rating, judged: pair") from None
    elif family.kind == "rating":
        values, found = scale.values, ", ".join(scale.categories)
        if scale.level == "nominal":
            raise ValueError(f"family {name}: a rating needs a scale with level: ordinal or level: interval")
        if sorted(values) != values:
            raise ValueError(f"family {name}: write the categories in rising order, got {found}")
        sums = [low + high for low, high in zip(values, values[::-1], strict=True)]
        if family.judged == "pair" and max(sums) - min(sums) > 1e-9:
            raise ValueError(f"family {name}: a scale for pairs is the same on both sides of its middle, got {found}")
    elif set(scale.categories) != {"yes", "no"}:
        found = ", ".join(scale.categories)
        raise ValueError(f"family {name}: a {family.kind} question is answered yes or no, the scale has {found}; declare labels")


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan; a mistake is a ParameterError that names file, key and problem."""
    source = expanded(path)
    try:
        values = parse_yaml(source.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(
            f"There is no plan {source}; lookback agreement --template KIND --part plan prints one to adapt"
        ) from None
    except OSError as error:
        raise ParameterError(f"{source} cannot be read as a plan ({error.strerror}); name a YAML file") from None
    except ValueError as error:  # also bad UTF-8
        raise ParameterError(f"{source.name} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise ParameterError(f"{source.name}: expected a mapping with scales and families, found {type(values).__name__}")
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        raise ParameterError("\n".join(f"{source.name}: {_sentence(problem)}" for problem in error.errors())) from None
    if unsaid := _unsaid_directions(plan):
        raise ParameterError("\n".join(f"{source.name}: {each}" for each in unsaid))
    return plan


def _unsaid_directions(plan: Plan) -> list[str]:
    """Dimensions that leave `higher_is_better` out, though more of their metric is not better: the default would turn the sign."""
    from lookback.scoring.direction import more_is_better  # here, because the metrics take half a second to import

    words = {False: "less of {} is better", None: "no value of {} is better than another"}
    return [
        f"families.{family}.dimensions.{dimension}: {words[more].format(metric)}; write higher_is_better: false, or true if the "
        "people's answers rise with it"
        for family, declared in plan.families.items()
        for dimension, axis in declared.dimensions.items()
        for metric in sorted(axis.metrics)
        if "higher_is_better" not in axis.model_fields_set and (more := more_is_better(metric)) is not True
    ]


def _sentence(problem: Mapping[str, Any]) -> str:
    place = problem["loc"]
    key, given = ".".join(map(str, place)), _short(problem["input"], place)
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{key}' (value {given}); {key_hint(Plan, place)}"
    return f"{key or 'plan'}: {problem['msg']} (got {given})"


def _short(value: object, place: tuple[int | str, ...]) -> str:
    text = brief(value, ".".join(map(str, place)))
    return text if len(text) <= 60 else text[:57] + "..."
