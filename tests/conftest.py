"""One thread each: `make test` spreads the files over two processes, and sums of two threads are not the same to the last bit."""

import os

import pytest

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

LONG = ("run", "browser")  # folders with files that take minutes: first, so that no process is left alone with one at the end
SLOW = ("backends", "demo", "extraction", "faults", "forensics", "fuzz", "masks", "plugins", "ray", "run", "selfcheck")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.parent.name not in LONG)
    for item in items:
        if item.path.parent.name in SLOW:
            item.add_marker(pytest.mark.slow)
