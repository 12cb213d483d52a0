"""Profiles: which models measure a benchmark's clips. The papers' own models stand in each benchmark's `profile.yaml`.

    variant: official          # the preset that reproduces the paper's numbers
    judge: Qwen3.5-9B          # who answers its questions, in words
    roles:
      pose: {backend: mapanything, options: {amp_dtype: bf16}}

`profile: embedded` takes the small models that come with the package. `profile: paper` takes the models of this file and nothing
else. `profile: auto` takes the first of them, of the other large models and of the embedded ones that is installed.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lookback.errors import ContractError
from lookback.registry import BENCHMARKS
from lookback.yaml_files import parse_yaml

ProfileName = Literal["embedded", "paper", "auto"]
FILE = "profile.yaml"


class PaperModel(BaseModel):
    """The model that a paper uses for a role, with the settings of its release."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str
    options: dict[str, str | int | float | bool] = {}


class Profile(BaseModel):
    """The models of one paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variant: Literal["paper", "official", "corrected"] | None = None
    judge: str = ""
    roles: dict[str, PaperModel] = {}


@cache
def paper_profile(benchmark: str) -> Profile:
    """The models of a benchmark's paper; an empty profile for a benchmark without a `profile.yaml`."""
    if not benchmark or benchmark not in BENCHMARKS:
        return Profile()
    package = type(BENCHMARKS.get(benchmark)).__module__.rpartition(".")[0]
    file = resources.files(package).joinpath(FILE) if package else None
    if file is None or not file.is_file():
        return Profile()
    try:
        return Profile.model_validate(parse_yaml(file.read_text(encoding="utf-8")))
    except (ValidationError, ValueError) as error:
        raise ContractError(f"{FILE} of {package}: {' '.join(str(error).split())[:300]}; correct it") from None


def paper_model(profile: ProfileName, benchmark: str, role: str) -> PaperModel | None:
    """The paper's model of a role, where the profile of the run asks for it."""
    return None if profile == "embedded" else paper_profile(benchmark).roles.get(role)
