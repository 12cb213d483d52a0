"""The page of `make validity`: the tables, the summary, and a contact sheet of every wrong verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import pandas as pd

from lookback.errors import MediaError
from lookback.files import write_text
from lookback.forensics.rules import TITLES
from lookback.strips import jpeg_html, read_strip
from lookback.validity.dataset import Label
from lookback.validity.scores import Said

FRAMES, WIDTH = 8, 150
STYLE = (
    "<style>body{font:15px/1.45 system-ui,sans-serif;max-width:1280px;margin:2em auto;padding:0 1em;color:#1b1f24}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%;display:block}figure{margin:1.2em 0}</style>"
)


def wrong_verdicts(said: Sequence[Said], labels: Mapping[str, Label]) -> list[tuple[Said, str]]:
    """Verdicts that both passes contradict, with a word on what is wrong; abstentions and doubtful labels are not wrong."""
    found = []
    for one in said:
        label = labels[one.clip]
        if one.abstained or one.label in label.doubtful or one.named == (one.label in label.sure):
            continue
        found.append((one, "false alarm" if one.named else "missed"))
    return sorted(found, key=lambda pair: (pair[0].label, pair[1], pair[0].clip))


def sheets(wrong: Sequence[tuple[Said, str]], videos: Mapping[str, Path], why: Mapping[tuple[str, str], str]) -> str:
    """A strip of frames per wrong verdict, with what somebody who looked at it says about it."""
    parts = []
    for one, kind in wrong:
        what = TITLES.get(one.label) or one.label.replace("_", " ")
        words = "; ".join(filter(None, [f"p = {one.probability:.2f}", one.words, why.get((one.clip, one.label), "")]))
        title = f"{what}: {kind} in {one.clip} ({words})"
        try:
            strip = read_strip(videos[one.clip], FRAMES).resized(WIDTH).numbered()
            picture = jpeg_html(strip.joined(gap=2), title, 80)
        except MediaError as error:
            picture = f"<p>{escape(str(error))}</p>"
        parts.append(f"<figure><figcaption>{escape(title)}</figcaption>{picture}</figure>")
    return "\n".join(parts) or "<p>No verdict is wrong.</p>"


def write_page(path: Path, words: Sequence[str], tables: Mapping[str, pd.DataFrame], pictures: str) -> Path:
    """Write the page: sentences, tables with titles, and the contact sheets."""
    sentences = "".join(f"<p>{escape(line)}</p>" for line in words)
    shown = "".join(f"<h2>{escape(title)}</h2>{table.to_html(index=False, border=0, na_rep='')}" for title, table in tables.items())
    body = f"<h1>Verdicts against labelled clips</h1>{sentences}{shown}<h2>Every wrong verdict on a real clip</h2>{pictures}"
    write_text(
        path, f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Validity</title>{STYLE}<body>{body}</body></html>\n"
    )
    return path
