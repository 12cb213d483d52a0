"""Run one stage's notebook with papermill, in a process of its own.

Called as `python -m lookback.pipeline.execute STAGE OUTPUT RESULT RUN [key=value ...]`.

The executed copy is kept, also after an error. RESULT is a small JSON file: empty after success, else the heading and the error.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import lookback.without_iri_grammar  # noqa: F401

# isort: split
import nbformat
import papermill
import psutil
from papermill.exceptions import PapermillExecutionError

from lookback.files import unwritable, write_json
from lookback.paths import UNATTENDED, project_root, resolve
from lookback.pipeline.dag import stage_named

KERNEL_STARTS_WITHIN_S = 600  # jupyter's own 60 s are too short on a crowded machine


def execute(stage: str, output: Path, run: str, overrides: list[str]) -> dict[str, str]:
    """Execute the notebook; returns {} or the failure as {title, name, message}."""
    source = resolve(f"notebooks/{stage_named(stage).notebook}.ipynb")
    os.environ[UNATTENDED] = "1"
    values = {"run": run, "overrides": overrides}
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        papermill.execute_notebook(
            source,
            output,
            parameters=values,
            kernel_name="python3",
            progress_bar=False,
            start_timeout=KERNEL_STARTS_WITHIN_S,
            cwd=str(project_root()),
        )
        hide_empty_sections(output)
    except PapermillExecutionError as error:
        return {"title": cell_title(output, error.cell_index), "name": error.ename, "message": error.evalue}
    except OSError as error:
        return {"title": "saving the notebook", "name": type(error).__name__, "message": str(unwritable(output, error))}
    return {}


def hide_empty_sections(notebook: Path) -> None:
    """Take the text of sections that show nothing out of the executed copy. Their code stays, folded: later cells may need it."""
    book = nbformat.read(notebook, as_version=4)
    kept: list[nbformat.NotebookNode] = []
    for text, code in _sections(book.cells):
        silent = bool(code) and text is not None and text.source.startswith("## ") and not any(_shows(cell) for cell in code)
        for cell in code if silent else ():
            cell.metadata["jupyter"] = {"source_hidden": True}
        kept += code if silent or text is None else [text, *code]
    book.cells = kept
    nbformat.write(book, notebook)


def _sections(cells: list[nbformat.NotebookNode]) -> Iterator[tuple[nbformat.NotebookNode | None, list[nbformat.NotebookNode]]]:
    """Each piece of text with the code cells below it."""
    text: nbformat.NotebookNode | None = None
    code: list[nbformat.NotebookNode] = []
    for cell in cells:
        if cell.cell_type == "code":
            code.append(cell)
            continue
        if text is not None or code:
            yield text, code
        text, code = cell, []
    yield text, code


def _shows(cell: nbformat.NotebookNode) -> bool:
    """Whether a code cell has an output, or holds the parameters."""
    return bool(cell.get("outputs")) or any("parameters" in tag for tag in cell.metadata.get("tags", []))


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
