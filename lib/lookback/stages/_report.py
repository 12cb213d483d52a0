"""Stage 90: paper tables, figures and the report, a small site that opens from one HTML file."""

from __future__ import annotations

import shutil

import lookback
from lookback.exports.results import write_results
from lookback.params import RunParams
from lookback.provenance import git_revision
from lookback.report.build import ReportBuilder
from lookback.report.page import site_folder, write_page
from lookback.report.published import PublishedReport
from lookback.report.table import PaperTable


def report(params: RunParams) -> dict[str, PaperTable]:
    """Write `report.html` with its folder, `results.json`, and every table as CSV, LaTeX and HTML; returns the tables."""
    shutil.rmtree(site_folder(params.paths.report), ignore_errors=True)  # pages of models that are gone
    builder = PublishedReport(params) if params.report.published else ReportBuilder(params)
    sections = builder.sections()
    for table in builder.written.values():
        table.save(params.paths.tables / "report")
    footer = f"lookback {lookback.__version__}, revision {git_revision() or 'unknown'}, run '{params.run}', seed {params.seed}."
    if not params.report.published:
        write_results(params)
    write_page(params.paths.report, params.report.title, params.description, sections, footer)
    return builder.written
