"""Presets: what the files may say, and that the code reads what they say."""

import re
from pathlib import Path

import lookback
import pytest
from lookback.errors import UsageError
from lookback.presets import _presets
from lookback.registry import BENCHMARKS, METRICS

PACKAGE = Path(lookback.__file__).parent / "benchmarks"
READ = re.compile(r'(?:context\.(?:setting|number)\(|settings\[)\s*"(\w+)"')


def test_variants_share_what_they_share_and_the_default_comes_first():
    entry = {"default": "corrected", "shared": {"every": 4}, "official": {"network": "alex"}, "corrected": {"every": 1}}
    presets = _presets("x", entry)
    assert presets.settings == {"corrected": {"every": 1}, "official": {"every": 4, "network": "alex"}}
    assert list(presets.settings) == ["corrected", "official"] and presets.numbers == ("every",)
    assert presets.differing() == {"every": {"corrected": 1, "official": 4}, "network": {"corrected": None, "official": "alex"}}


@pytest.mark.parametrize("entry", [{"papr": {}}, {"default": "official", "paper": {}}])
def test_a_wrong_entry_is_one_sentence(entry):
    with pytest.raises(UsageError, match="lpips"):
        _presets("presets.yaml, lpips", entry)


@pytest.mark.parametrize("benchmark", sorted(BENCHMARKS.names()))
def test_the_code_reads_every_setting_that_differs(benchmark):
    read = {name for file in (PACKAGE / benchmark).rglob("*.py") for name in READ.findall(file.read_text())}
    read |= set(READ.findall((PACKAGE.parent / "scoring" / "sampling.py").read_text()))  # of LPIPS, in two benchmarks
    read.add("missing")  # of unmeasurable clips, which lookback.scoring.aggregate counts or leaves out
    for spec in METRICS:
        if spec.benchmark == benchmark and spec.presets is not None:
            assert set(spec.presets.differing()) <= read, spec.name
            assert set(spec.presets.numbers) <= read, spec.name
