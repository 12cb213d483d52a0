"""A page made of everything that shows text from outside, each given text that wants to be more than text."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from lookback import notebook
from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.figures import save_figure
from lookback.judging.cards import reply_cards
from lookback.judging.tasks import Sampling
from lookback.report.behind import Behind
from lookback.report.failures import failures_html
from lookback.report.figures.drawn import DrawnFigure
from lookback.report.missing import missing_html
from lookback.report.page import Section, write_page
from lookback.report.sheets import sheet_html
from lookback.report.table import PaperTable
from lookback.tables import empty_table
from plotly import graph_objects as go

IMAGE = '<img src="nowhere:x" onerror="window.ran = 1">'
SCRIPT = "</script></style><script>window.ran = 1</script>"
LINK = '<a href="https://evil.example" class="bait">x</a>'
MARKDOWN = "a|b\n\n| c | [d](javascript:alert(1)) ![e](https://evil.example/f.png) `g` \\"
WORDS = [IMAGE, SCRIPT, LINK, MARKDOWN, "\" autofocus onfocus='window.ran = 1' x=\"", '=HYPERLINK("https://evil.example")']
ALL = " ".join(WORDS)


class Shown(list):
    """What notebooks' show functions display, as HTML."""

    def __call__(self, *objects: object) -> None:
        self.extend(getattr(part, "_repr_html_", str)() or "" for part in objects)


def shown_in_notebooks(folder: Path, patch: pytest.MonkeyPatch) -> str:
    """The HTML of every show function, with hostile cells, headers, captions and words."""
    shown = Shown()
    patch.setattr(notebook, "display", shown)
    frame = pd.DataFrame({"text": WORDS, ALL: 1.5, "lists": [[word] for word in WORDS], "kinds": pd.Categorical(WORDS)})
    notebook.show_table(frame, rows=len(WORDS) - 1, caption=ALL)
    notebook.show_table(frame.set_index("text", drop=False).astype({"text": object}))
    notebook.show((plt.figure(), ALL))
    notebook.show_saved(save_figure(plt.figure(), folder, "saved", ALL))
    notebook.show_heading(ALL)
    notebook.show_words(ALL, ALL)
    return "".join(shown)


def report_fragments(folder: Path) -> list[str]:
    """Tables, figures, contact sheets and cards of the report."""
    plain = {"id": "hostile", "title": ALL, "labels": ["words"], "notes": [ALL], "conclusion": ALL, "headers": {"value": ALL}}
    frame = pd.DataFrame({"words": WORDS, "value": float("nan"), "said": WORDS})
    missing = pd.DataFrame({"value": WORDS})
    table = PaperTable(frame=frame, missing=missing, suffixes=missing, links=missing, **plain)
    interactive = go.Figure().update_layout(height=300, title=ALL)
    for word in WORDS:
        interactive.add_bar(x=[1.0], y=[word], name=word, text=[word], customdata=[word], orientation="h")
    drawn = DrawnFigure("drawn", ALL, plt.figure(), interactive)
    clips = [clip(word) for word in WORDS]
    rows = [row(each) for each in clips]
    kinds = [pd.DataFrame(rows, columns=list(empty_table(name).columns)) for name in ("gated", "units", "judgements", "failures")]
    failures = kinds[-1].assign(confidence=0.5, frame_start=0, frame_end=1, label=WORDS, evidence=WORDS)
    return [
        table.to_html(),
        save_figure(plt.figure(), folder, "still", ALL).to_html(),
        drawn.save(folder),
        *(page.body for page in Behind(clips, *kinds[:3], failures, run="demo", moments=2).pages({})),
        *failures_html(failures, {each.key: each for each in clips}, "demo", folder / "page" / "excerpts"),
        *missing_html(kinds[0].assign(value=float("nan")), "demo", {}),
        *(sheet_html(word, [("faithful", clip(word))]) for word in WORDS),
    ]


def cards() -> str:
    """The judging notebook's cards."""
    clips = clips_to_frame([clip(word) for word in WORDS])
    return reply_cards(clips, pd.DataFrame([row(clip(word)) for word in WORDS]), Sampling())._repr_html_()


def clip(word: str) -> Clip:
    names = {"setting": "T", "model_id": word, "clip_id": word, "scene": word, "subset": word, "prompt": word}
    return Clip(benchmark="mbench", video=f"{word}.mp4", **names)


def row(one: Clip) -> dict[str, object]:
    """A score, a unit and an answer of a clip in one."""
    word = one.model_id
    texts = ("metric", "variant", "phase", "unit_id", "kind", "reason", "detail", "question_id", "judge", "question", "answer")
    values = {"value": 0.5, "raw": None, "frame": 0, "frame_other": 0, "repeat": 0, "simulated": False, "value_from": word}
    told = {"verbatim": word, "task": "trigger", "backend": word}
    return dict(zip(KEYS, one.key, strict=True)) | dict.fromkeys(texts, word) | values | told


def write_hostile_pages(folder: Path, patch: pytest.MonkeyPatch) -> list[Path]:
    sections = [
        Section("notebooks", ALL, ALL, [shown_in_notebooks(folder, patch), cards()]),
        Section("report", ALL, ALL, report_fragments(folder)),
    ]
    write_page(folder / "page.html", ALL, ALL, sections, ALL)
    return [folder / "page.html", folder / "page" / "report.html"]
