"""The examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import lookback
import pytest

PACKAGE = Path(lookback.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried and not failed
