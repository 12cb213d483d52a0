"""Small complete studies to try out or to fill in: one of each kind, with its plan, votes and scores. All votes are made up."""

from __future__ import annotations

from importlib.resources import files


def example(kind: str, part: str) -> str:
    """The text of an example's file: `part` is votes, plan or scores."""
    suffix = "yaml" if part == "plan" else "csv"
    return (files("lookback.agreement") / "templates" / kind / f"{part}.{suffix}").read_text(encoding="utf-8")
