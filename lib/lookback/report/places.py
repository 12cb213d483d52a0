"""The names of places in the report, and the links to them: models, numbers, clips, missing scores, and the inspector."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

from lookback.files import sha256_json

INSPECTOR = "http://127.0.0.1:8866/"  # where `make inspect` serves
Key = tuple[str, ...]


def words_of(*parts: str) -> str:
    """Names as a part of an HTML id or file name: readable, and no two lists of names share one."""
    words = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    return f"{words}-{sha256_json(list(parts))[:10]}"


def anchor(benchmark: str, model: str) -> str:
    """The HTML id of a model's part, to which table cells link."""
    return f"behind-{words_of(benchmark, model)}"


def number_anchor(benchmark: str, model: str, metric: str, phase: str = "") -> str:
    """The HTML id of the worst clip and frame of a model's number."""
    return f"worst-{words_of(benchmark, model, metric, phase)}"


def clip_anchor(key: Key) -> str:
    return f"clip-{words_of(*key)}"


def model_page(model: str) -> str:
    """The name of a model's page."""
    return f"model-{words_of(model)}"


def inspector_link(run: str, clip: str, frame: int, words: str = "open in the inspector") -> str:
    """A link that opens a clip in the inspector; where that does not run, the page says how to start it."""
    address = f"{INSPECTOR}?run={quote(run)}&clip={quote(clip)}&frame={frame}"
    command = f"make inspect RUN={run}"
    return (
        f'<a class="inspect" href="{html.escape(address)}" data-command="{html.escape(command)}" '
        f'title="needs: {html.escape(command)}">{html.escape(words)}</a>'
    )


def missing_anchor(metric: str) -> str:
    """The HTML id of the place that says why a metric has no score."""
    return f"missing-{words_of(metric)}"
