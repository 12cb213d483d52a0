"""One sentence of a paper that says something its tables can confirm."""

from __future__ import annotations

from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from lookback.registry import benchmark_packages
from lookback.yaml_files import parse_yaml


class Claim(BaseModel):
    """What is quoted, and how to recompute it: `compute` names a registered function and its arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    paper: str = ""
    where: str  # section of the paper
    sentence: str  # the words that say it, shortened
    quoted: str  # as printed, so that its digits count
    relation: Literal["equals", "at most", "at least", "above"] = "equals"
    implied: bool = False  # the sentence says it without printing the number
    compute: dict[str, Any] | None = None
    why: str = ""  # why it cannot be recomputed
    note: str = ""  # what a reader should know about the comparison

    @model_validator(mode="after")
    def _computed_or_explained(self) -> Claim:
        if (self.compute is None) == (self.why == ""):
            raise ValueError(f"claim '{self.id}' needs either `compute` or the reason `why` it cannot be recomputed")
        return self


def load_claims() -> list[Claim]:
    """Every claim, paper by paper, in the order of the papers' text."""
    claims = []
    for package in benchmark_packages():
        path = resources.files(package) / "published" / "claims.yaml"
        if not path.is_file():
            continue
        content = parse_yaml(path.read_text(encoding="utf-8"))
        claims += [Claim(**{"paper": content["paper"], **entry}) for entry in content["claims"]]
    return claims
