"""What somebody saw who looked at the clips: is a camera path right, was it right to say nothing, why is a verdict wrong?"""

from __future__ import annotations

from importlib import resources

import pandas as pd

CAMERAS = "cameras.csv"  # clip, turn_deg, judged, why
ABSTENTIONS = "abstentions.csv"  # clip, label, rightly, why
WRONG = "wrong.csv"  # clip, label, why


def seen(name: str) -> list[dict[str, str]]:
    """The rows of one of these files."""
    with resources.files(__name__).joinpath(name).open(encoding="utf-8") as handle:
        rows = pd.read_csv(handle, dtype=str, keep_default_na=False).to_dict("records")
    return [{str(key): str(value) for key, value in row.items()} for row in rows]


def rightly_silent() -> set[tuple[str, str]]:
    """The (clip, label) of which nothing can be said without a judge: a matter of meaning, or the picture does not show it."""
    return {(row["clip"], row["label"]) for row in seen(ABSTENTIONS) if row["rightly"] == "yes"}


def why_wrong() -> dict[tuple[str, str], str]:
    """(clip, label) -> why the verdict is wrong."""
    return {(row["clip"], row["label"]): row["why"] for row in seen(WRONG)}
