"""The released programs start at once, too: they import torch, and each of them is called many times."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def warm_released_programs(warm_python: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", warm_python)
        yield
