"""How the suite is spread: `make test` runs two processes, and what shares a costly fixture stays in one of them."""

import os

import pytest

TOGETHER = ("run", "browser", "ray")  # folders that share one run, one browser, one cluster

if "PYTEST_XDIST_WORKER" in os.environ:  # each process has one core
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


@pytest.hookimpl(tryfirst=True)  # before the names of the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group(folder if folder in TOGETHER else item.path.stem))
