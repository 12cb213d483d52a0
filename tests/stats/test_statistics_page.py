"""bench/study_statistics.py: studies whose truth is known, and the page that is made of them."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from types import ModuleType

import numpy as np
import pytest
from lookback.paths import project_root

BENCH = project_root() / "bench"


@pytest.fixture(scope="module")
def bench():
    """A module of the folder bench by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module
    for name in ("study_generators", "study_cells", "study_page", "study_statistics", "recording"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def made(bench) -> ModuleType:
    return bench("study_generators")


def test_the_studies_are_drawn_without_lookback():
    tree = ast.parse((BENCH / "study_generators.py").read_text(encoding="utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in found} == {"__future__", "dataclasses", "functools", "typing", "numpy", "scipy"}


def test_agreement_by_formula_is_that_of_many_votes(made):
    rng = np.random.default_rng(1)
    accuracy = np.array([0.8, 0.9, 0.95])
    votes = made.seen_votes(0.6, accuracy, 200_000, rng)
    pairs = [(votes[:, a] == votes[:, b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    shares = np.array([1 - votes.mean(), votes.mean()])
    assert made.seen_ac1(0.6, accuracy) == pytest.approx(made.ac1_of(float(np.mean(pairs)), shares), abs=0.005)
    same = np.full(2, made.accuracy_for(0.72, 0.6))
    assert made.seen_ac1(0.6, same) == pytest.approx(0.72)
    votes = made.seen_votes(0.6, same, 200_000, rng)
    apart, yes = (votes[:, 0] != votes[:, 1]).mean(), votes.mean()
    assert made.seen_alpha(0.6, same) == pytest.approx(1 - apart / (2 * yes * (1 - yes)), abs=0.005)


def test_what_is_put_into_a_study_is_in_it(made):
    truth = made.Truth(6, 20_000, 3, within=0.5, follows=1.0, score_spread=0.6)
    drawn = made.drawn_study(truth, np.random.default_rng(2))
    inside = [np.corrcoef(drawn.quality[k], drawn.score[k])[0, 1] for k in range(6)]
    assert inside == pytest.approx([0.5] * 6, abs=0.03)
    assert drawn.levels.std() == pytest.approx(0.6)
    assert np.corrcoef(drawn.quality.mean(axis=1), drawn.score.mean(axis=1))[0, 1] > 0.99
    fingerprint = made.rated_truths(made.Truth(score_spread=1.0, spread=1.0))
    assert fingerprint["within"] == pytest.approx(0, abs=0.01)
    strong = made.davidson(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([[0.2, 0.1, 0.3], [0.2] * 3, [0.6, 0.7, 0.5]]))
    assert strong.sum() == pytest.approx(0)
    assert strong[0] > strong[1] > strong[2]


def test_a_run_writes_each_cell_and_goes_on_where_it_stopped(bench, tmp_path, monkeypatch):
    run, page = bench("study_statistics"), bench("study_page")
    output = tmp_path / "found.json"
    first = run.run(output, 12, 3, 1, "normal scenes | 5 scenes")
    (cell,) = first["cells"]
    assert json.loads(output.read_text())["cells"] == first["cells"]
    assert (cell["studies"], cell["rows"][0]["estimate"]) == (12, "mean of a metric")
    both = run.run(output, 12, 3, 1, "normal scenes")
    assert cell in both["cells"]
    assert len(both["cells"]) == 6
    assert f"| normal scenes | 5 scenes | 12 | holds {100 * cell['rows'][0]['coverage']:.1f} ±" in page.page(both)


def test_rates_count_claims_by_their_side(bench):
    run, cells = bench("study_statistics"), bench("study_cells")
    outcome = cells.Outcome
    family = [outcome("d", 0.5, 0.1, 0.9, 0.4, claim=1, side=1), outcome("d", 0.5, -0.1, 1.1, 1.2, claim=0, side=1)]
    wrong = [outcome("d", -0.5, -0.9, -0.1, 0.4, claim=-1, side=1), outcome("d", claim=np.nan, side=0)]
    answers = iter([family, wrong])
    cell = cells.Cell("kind", "situation", "size", lambda rng: next(answers))
    found = [run.one_study(cell, 1, number) for number in range(2)]
    (row,) = run.summary(cell, found, [])["rows"]
    # the first study: one true difference of two found; the second: one claim on the wrong side
    assert (row["false"], row["found"], row["coverage"], row["width"]) == (0.5, 0.25, 0.25, 0.9)


def test_the_page_is_what_the_record_gives_and_has_every_cell(bench):
    found = json.loads((project_root() / "docs" / "measured" / "statistics.json").read_text(encoding="utf-8"))
    assert bench("study_page").page(found) == (project_root() / "docs" / "statistics.md").read_text(encoding="utf-8")
    recorded = [(cell["kind"], cell["situation"], cell["size"]) for cell in found["cells"]]
    assert recorded == [(cell.kind, cell.situation, cell.size) for cell in bench("study_cells").CELLS]
