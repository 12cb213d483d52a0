"""The published report, built once for all tests of this folder."""

from __future__ import annotations

import pytest
from lookback.params import load_run
from lookback.published.claims import check_all, printed_tables
from lookback.stages._report import report


@pytest.fixture(scope="session")
def verdicts():
    return {verdict.claim.id: verdict for verdict in check_all()}


@pytest.fixture
def tables():
    return printed_tables()


@pytest.fixture(scope="session")
def built(tmp_path_factory, verdicts):
    """(params, tables): the report of the run `published`, written to a folder of its own; the claims are those checked above."""
    folder = tmp_path_factory.mktemp("published")
    params = load_run("published", [f"output={folder}"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lookback.report.published.build.check_all", lambda: list(verdicts.values()))
        return params, report(params)
