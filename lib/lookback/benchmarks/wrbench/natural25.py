"""WRBench's Natural-25 prompt suite: families.jsonl, variants.jsonl, and the 2x2 event factors of each variant."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.errors import ContractError
from lookback.layouts.documents import Document, read_jsonl
from lookback.layouts.reading import Breach

# event_delta in the files -> (level, spatial displacement, state change): the 2x2 of WRBench section 4
FACTORS: dict[str, tuple[str, bool, bool]] = {
    "none": ("none", False, False),
    "spatial": ("spatial", True, False),
    "state_only": ("state", False, True),
    "state": ("state", False, True),
    "full": ("full", True, True),
}
LEVELS = ("none", "spatial", "state", "full")
ACTIONS = ("sit", "place", "tip", "jump", "fold", "knock")
FILES = ("families.jsonl", "variants.jsonl")
PLACES = ("", "natural25", "data/natural25", "src/wrbench/data/natural25")


@dataclass(frozen=True)
class Family:
    """A scene family."""

    family_id: str
    scene: str
    action: str
    primary_object: str
    record: dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One event level of a family under one camera gap."""

    variant_id: str
    family_id: str
    camera: str  # oov_gap: none, static, yaw_LR, yaw_RL
    level: str
    spatial: bool
    state: bool
    action: str
    prompt: str
    expected_state: str
    record: dict[str, Any]


@dataclass(frozen=True)
class Natural25:
    """The suite; `families` and `variants` by id."""

    families: dict[str, Family]
    variants: dict[str, Variant]


def find_natural25(folder: Path) -> Path | None:
    """The folder with the suite's files: this one, or where a WRBench checkout keeps them."""
    return next((folder / place for place in PLACES if all((folder / place / name).is_file() for name in FILES)), None)


def action_of(family_id: str) -> str:
    """The event's action: the last word of a family id, when it is one of the suite's."""
    word = family_id.rsplit("_", 1)[-1]
    return word if word in ACTIONS else ""


def read_natural25(folder: str | Path) -> Natural25:
    """Families, variants and factors, or a ContractError that names file, line and field."""
    found = find_natural25(Path(folder))
    if found is None:
        raise ContractError(
            f"{folder} holds no Natural-25 suite; looked for {' and '.join(FILES)} there and in a checkout's data folder"
        )
    try:
        families = {family.family_id: family for family in map(_family, _lines(found / FILES[0]))}
        variants: dict[str, Variant] = {}
        for line in _lines(found / FILES[1]):
            variant = _variant(line, families)
            if variant.variant_id in variants:
                raise Breach(line.where, "variant_id", f"'{variant.variant_id}' occurs a second time", "remove one of the lines")
            variants[variant.variant_id] = variant
    except Breach as breach:
        raise ContractError(str(breach)) from None
    return Natural25(families, variants)


def _lines(path: Path) -> list[Document]:
    lines = []
    for where, value in read_jsonl(path):
        if isinstance(value, Breach):
            raise value
        lines.append(Document(value, where))
    return lines


def _family(line: Document) -> Family:
    family_id = line.name("family_id")
    return Family(family_id, line.text("scene"), action_of(family_id), line.text("primary_object.name"), line.value)


def _variant(line: Document, families: dict[str, Family]) -> Variant:
    family_id = line.name("family_id")
    if family_id not in families:
        raise Breach(line.where, "family_id", f"'{family_id}' is not in families.jsonl", "add the family or correct the id")
    delta = line.text("event_delta")
    if delta not in FACTORS:
        raise Breach(line.where, "event_delta", f"is '{delta}'", f"write one of {', '.join(FACTORS)}")
    level, spatial, state = FACTORS[delta]
    return Variant(
        line.name("variant_id"),
        family_id,
        line.text("oov_gap"),
        level,
        spatial,
        state,
        families[family_id].action,
        line.text("ti2v_prompt", ""),
        line.text("expected_state", ""),
        line.value,
    )
