"""Run one stage's notebook with papermill, in a process of its own.

Called as `python -m lookback.pipeline.execute STAGE OUTPUT RESULT RUN [key=value ...]`.

OUTPUT is replaced when the notebook has run to its end. After an error the copy with the error lies beside it, as
`<name>.failed.ipynb`. RESULT is a small JSON file: empty after success, else the heading and the error.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lookback.without_iri_grammar  # noqa: F401

# isort: split
import nbformat
import papermill
import psutil
from nbformat import from_dict
from papermill.exceptions import PapermillExecutionError

from lookback.files import unwritable, write_json
from lookback.hiding import hide, hide_all
from lookback.paths import UNATTENDED, project_root, resolve, shown
from lookback.pipeline.dag import stage_named
from lookback.scratch import part_file

Cells = list[nbformat.NotebookNode]
KERNEL_STARTS_WITHIN_S = 600  # jupyter's own 60 s are too short on a crowded machine


def execute(stage: str, output: Path, run: str, overrides: list[str]) -> dict[str, str]:
    """Execute the notebook; returns {} or the failure as {title, name, message}."""
    source = resolve(f"notebooks/{stage_named(stage).notebook}.ipynb")
    os.environ[UNATTENDED] = "1"
    values = {"run": run, "overrides": overrides}
    failed = output.with_suffix(".failed.ipynb")
    try:
        with part_file(output, output.suffix) as copy:
            copy.chmod(0o644)
            try:
                papermill.execute_notebook(
                    source,
                    copy,
                    parameters=values,
                    kernel_name="python3",
                    progress_bar=False,
                    start_timeout=KERNEL_STARTS_WITHIN_S,
                    cwd=str(project_root()),
                )
            except (PapermillExecutionError, RuntimeError):  # a cell failed, or the kernel died
                hide_secrets(copy)
                copy.replace(failed)
                raise
            hide_secrets(copy)
            hide_empty_sections(copy)
            copy.replace(output)
        failed.unlink(missing_ok=True)
    except PapermillExecutionError as error:
        title = cell_title(failed, error.cell_index)
        return {"title": title, "name": error.ename, "message": f"{error.evalue} (see {shown(failed)})"}
    except OSError as error:
        return {"title": "saving the notebook", "name": type(error).__name__, "message": str(unwritable(output, error))}
    return {}


def hide_secrets(notebook: Path) -> None:
    """Take secrets out of the parameters and of what the cells show; pictures stay as they are."""
    book = nbformat.read(notebook, as_version=4)
    for cell in book.cells:
        cell.source = hide(cell.source)
        for output in cell.get("outputs", []):
            said = output.get("data", output)  # what is displayed; or the text of a stream or an error
            said.update({name: from_dict(hide_all(each, by_name=False)) for name, each in said.items() if "image/" not in name})
    nbformat.write(book, notebook)


def hide_empty_sections(notebook: Path) -> None:
    """Take the text that leads to nothing out of the executed copy. Its code stays, folded: later cells may need it.

    A section goes from a heading to the next. Where none of it shows anything, all its text goes; where a part of it does, the
    heading stays.
    """
    book = nbformat.read(notebook, as_version=4)
    kept: list[nbformat.NotebookNode] = []
    for section in _split(book.cells, _is_heading):
        empty = _silent(section)
        for part in _split(section, lambda cell: cell.cell_type == "markdown"):
            silent = empty or (_silent(part) and not _is_heading(part[0]))
            code = [cell for cell in part if cell.cell_type == "code"]
            for cell in code if silent else ():
                cell.metadata["jupyter"] = {"source_hidden": True}
            kept += code if silent else part
    book.cells = kept
    nbformat.write(book, notebook)


def _is_heading(cell: nbformat.NotebookNode) -> bool:
    return bool(cell.cell_type == "markdown" and cell.source.startswith("#"))


def _split(cells: Cells, begins: Callable[[nbformat.NotebookNode], bool]) -> Iterator[Cells]:
    """The cells in groups; a cell that `begins` a group is its first."""
    group: Cells = []
    for cell in cells:
        if begins(cell) and group:
            yield group
            group = []
        group.append(cell)
    yield group


def _silent(cells: Cells) -> bool:
    """Whether there is code among the cells of which none has an output or holds the parameters."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    return bool(code) and not any(
        cell.get("outputs") or any("parameters" in tag for tag in cell.metadata.get("tags", [])) for cell in code
    )


def cell_title(notebook: Path, index: int) -> str:
    """The heading above a code cell."""
    cells = nbformat.read(notebook, as_version=4).cells
    for cell in reversed(cells[: index + 1]):
        if (
            cell.cell_type == "markdown"
            and "papermill-error-cell-tag" not in cell.metadata.get("tags", [])
            and not cell.source.startswith("<span")
        ):
            return cell.source.strip().splitlines()[0].lstrip("# ").strip()
    return f"cell {index}"


def end_with(parent: int) -> None:
    """When the runner is killed, end this process and its kernel. That also frees the run's lock."""
    while os.getppid() == parent:
        time.sleep(0.5)
    for child in psutil.Process().children(recursive=True):
        child.kill()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    stage_name, target, result, run_name, *settings = sys.argv[1:]
    write_json(Path(result), execute(stage_name, Path(target), run_name, settings))
