"""The base of every parameter section: unknown keys are refused, values are immutable."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
