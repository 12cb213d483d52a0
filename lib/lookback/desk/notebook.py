"""The desk in a notebook, for one person on this machine: the same pages, served from the notebook's own process."""

from __future__ import annotations

import getpass
from contextlib import ExitStack
from html import escape
from pathlib import Path
from urllib.parse import quote

import pandas as pd
from IPython.display import HTML, display

from lookback.desk.export import coverage, people
from lookback.desk.server import StudyServer
from lookback.desk.start import held, open_study
from lookback.desk.study import Study
from lookback.errors import LookbackError
from lookback.params import load_run
from lookback.paths import expanded
from lookback.widgets.web import IP, serve_in_thread

PORT = 8870
_servers: dict[Path, StudyServer] = {}  # the studies that this kernel serves, by folder
_held = ExitStack()  # until the kernel ends


def open_desk(run: str, form: str = "", study_file: str = "", name: str = "") -> Study | None:
    """Show the link that opens the desk, or a sentence that says what is wrong. The desk closes with the notebook's kernel."""
    try:
        study = open_study(load_run(run), form, expanded(study_file) if study_file else None)
        if study.folder not in _servers:
            with ExitStack() as lock:
                lock.enter_context(held(study))
                _servers[study.folder] = serve_in_thread(lambda: StudyServer(study, [IP], PORT), "annotation desk")
                _held.push(lock.pop_all())
        server = _servers[study.folder]
        (token,) = study.invite([name or getpass.getuser()]).values()
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))
        return None
    links = {"Open the desk": (server.address, token), "The organiser's page": (server.organiser, server.token)}
    shown = [f"<a target='_blank' rel='noopener' href='{at}?token={quote(key)}'>{text}</a>" for text, (at, key) in links.items()]
    display(HTML(f"<p><b>{escape(study.frozen.title)}</b> ({len(study.items)} items): {', '.join(shown)}</p>"))
    return study


def show_progress(study: Study | None) -> pd.DataFrame | None:
    """How many items have how many raters, in a sentence, and a table of the people."""
    if study is None:
        return None
    part = coverage(study)
    display(HTML(f"<p>{part['answered']} of {part['wanted']} planned answers are given.</p>"))
    table = people(study)
    return table.assign(last_seen=pd.to_datetime(table["last_seen"], unit="s").dt.strftime("%Y-%m-%d %H:%M"))
