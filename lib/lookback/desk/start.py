"""Open the study of a run: by a form's name, by a study file, or the first form that has something to ask. One server holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lookback.clips import clips_from_frame
from lookback.desk.forms import all_forms, forms_for
from lookback.desk.settings import Settings, load_settings
from lookback.desk.study import Study
from lookback.errors import UsageError
from lookback.params import RunParams
from lookback.pipeline.lock import Locked, run_lock
from lookback.tables import read_table


def open_study(params: RunParams, form: str = "", file: Path | None = None, begin: bool = True) -> Study:
    """The study, begun or continued; without `begin` it must be there already."""
    if form and file:
        raise UsageError("Give a form or a study file, not both; the file names its form")
    clips = clips_from_frame(read_table(params.paths.tables, "clips"))
    if file is not None:
        return Study.open(params, clips, load_settings(file), begin)
    if not form:
        usable = forms_for(params, clips)
        if not usable:
            raise UsageError(f"No form has anything to ask about the run {params.run}; the forms are {', '.join(all_forms())}")
        form = usable[0].name
        if len(usable) > 1:
            others = ", ".join(other.name for other in usable[1:])
            print(f"the form is {form}; others (form, or --form): {others}", flush=True)
    return Study.open(params, clips, Settings(form=form), begin)


@contextmanager
def held(study: Study) -> Iterator[None]:
    """Only one server at a time: two would deal out the same items twice. A killed server holds nothing."""
    with ExitStack() as lock:
        try:
            lock.enter_context(run_lock(study.folder))
        except Locked as other:
            raise UsageError(
                f"The study {study.folder.name} is served already, by process {other.holder}; use the links that it printed and "
                "invite people on the organiser's page, or stop it (Ctrl-C in its window) and start again"
            ) from None
        yield
