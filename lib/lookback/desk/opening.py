"""Open the annotation desk for a run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from IPython.display import HTML, display

from lookback.clips import clips_from_frame
from lookback.desk.roster import visitor
from lookback.desk.tasks import build_tasks
from lookback.desk.votes import VoteBook
from lookback.errors import LookbackError
from lookback.params import load_run
from lookback.tables import read_table


def open_desk(run: str, kinds: Sequence[str], limit: int | None, seed: int) -> None:
    """Show the desk in this cell; votes go to `votes.sqlite` of the run. What is wrong is said in a sentence.

    On a page of `make annotate` the votes are those of the annotator whose link opened it.
    """
    from lookback.desk.widget import AnnotationDesk

    try:
        annotator = visitor()
        params = load_run(run)
        clips = clips_from_frame(read_table(params.paths.tables, "clips"))
        tasks = build_tasks(clips, kinds, limit, seed)
        display(AnnotationDesk(clips, tasks, VoteBook(params.paths.root / "votes.sqlite"), seed, annotator))
    except LookbackError as error:
        display(HTML(f"<p role='alert'>{escape(str(error))}</p>"))
