"""Nominal 95 % intervals cover the truth: a small version of bench/stats_coverage.py, which prints the full table."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from lookback.paths import project_root
from lookback.stats import gwet_ac1

pytestmark = pytest.mark.long
CLUSTERED = "320 items in 40 scenes x 3 raters"
RANKED = "8 models, 40 scenes x 4 pairs, close"


@pytest.fixture(scope="module")
def benchmark():
    path = project_root() / "bench" / "stats_coverage.py"
    spec = importlib.util.spec_from_file_location("stats_coverage", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["stats_coverage"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def covered(benchmark):
    """Coverage of a design by its name, computed once."""
    designs = {design.text: design for design in benchmark.DESIGNS}

    @cache
    def compute(text: str, studies: int) -> pd.DataFrame:
        return benchmark.coverage(designs[text], studies, resamples=300, seed=1).set_index("estimator")

    return compute


@pytest.mark.parametrize(
    ("design", "estimator", "studies"),
    [
        ("80 items x 3 raters", "AC1", 150),
        (CLUSTERED, "AC1", 150),
        ("230 pairs, 46 scenes, strong", "Spearman, pairs", 100),
        ("8 models, 30 scenes x 4 pairs", "win-ratio difference", 150),
        (RANKED, "Spearman, models", 50),
        ("6 models, 8 scenes x 15 pairs, close", "Spearman, models", 50),
    ],
)
def test_intervals_cover_the_truth(covered, design, estimator, studies):
    own = covered(design, studies).loc[estimator]
    # four standard errors below 95 %: chance cannot break it, an interval that is too narrow does
    assert own["coverage"] > 0.95 - 4 * (0.95 * 0.05 / studies) ** 0.5
    assert own["none"] == 0


def test_ignoring_scenes_or_vote_noise_does_not_cover(covered):
    # the check has teeth: intervals that ignore scenes, or bootstrap noisy win ratios as they are, fail it
    assert covered(CLUSTERED, 150).filter(like="comparison", axis=0)["coverage"].iloc[0] < 0.85
    assert covered(RANKED, 50).filter(like="comparison", axis=0)["coverage"].iloc[0] < 0.75


def test_the_recorded_page_is_what_the_record_gives_and_covers_every_estimate_and_size(benchmark):
    found = json.loads((project_root() / "docs" / "measured" / "coverage.json").read_text(encoding="utf-8"))
    assert benchmark.page(found) == (project_root() / "docs" / "coverage.md").read_text(encoding="utf-8")
    table = pd.DataFrame(found["rows"])
    names = {"AC1", "win-ratio difference", "strength difference", "Spearman, models", *benchmark.BESIDE}
    assert set(table.groupby("estimator")["design"].nunique().items()) == {(name, len(benchmark.SCENES)) for name in names}
    assert table["error"].max() < 0.015
    assert table["coverage"].min() > 0.9


def test_the_studies_truths_are_those_of_their_votes(benchmark):
    # AC1 by formula against a large study; the exactness of the rest is that of the large study itself
    made = benchmark.made_votes(np.random.default_rng(5), 3000)
    both = np.concatenate([made.votes, -made.votes])
    assert gwet_ac1(both, benchmark.SIGNS).value == pytest.approx(benchmark.study_ac1(), abs=0.01)
