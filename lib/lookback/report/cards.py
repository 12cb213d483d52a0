"""What each clip shows, as HTML: the sentence above its picture."""

from __future__ import annotations

import html
from collections.abc import Sequence

from lookback.benchmark import ClipCard
from lookback.clips import KEYS
from lookback.params import RunParams
from lookback.registry import BENCHMARKS
from lookback.report.paper import PaperData
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.variants import only_chosen
from lookback.strips import jpeg_html
from lookback.tables import read_table

QUALITY = 82  # of the JPEG


def card_html(card: ClipCard) -> str:
    """One clip: its name, the verdict, and the picture behind it."""
    picture = "" if card.picture is None else jpeg_html(card.picture, f"{card.title}: {card.caption}", QUALITY)
    caption = f"<figcaption>{html.escape(card.caption)}</figcaption>" if card.caption else ""
    words = f"<b>{html.escape(card.title)}</b><p>{html.escape(card.words)}</p>"
    return f'<div class="clip">{words}<figure>{picture}{caption}</figure></div>'


def card_fragments(cards: Sequence[ClipCard]) -> list[str]:
    """All clips of a benchmark below one heading; nothing where it has no such cards."""
    return [f"<h3>Clip by clip</h3>{''.join(card_html(card) for card in cards)}"] if cards else []


def show_cards(params: RunParams, most: int) -> None:
    """The first clips in a notebook, in the order of the report. The report of the printed tables has none."""
    if params.report.published:
        return
    from IPython.display import HTML, display

    tables = {name: read_table(params.paths.tables, name) for name in ("clips", "units", "gated", "judgements")}
    for name in sorted(tables["clips"]["benchmark"].unique()):
        clips = tables["clips"]
        first = clips[clips["benchmark"] == name].sort_values(["clip_id", "model_id"]).head(most)[KEYS]
        items = only_chosen(tables["gated"], params).merge(first, on=KEYS)
        data = PaperData(params, with_clip_facts(items, clips), tables)
        for card in BENCHMARKS.get(str(name)).clip_cards(data):
            display(HTML(card_html(card)))
