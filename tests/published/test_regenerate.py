"""The page "can a user make it again": statuses follow from metrics, presets, backends and the weights lock."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from lookback.errors import LookbackError
from lookback.presets import Presets
from lookback.published.regenerate import PAGE, Entry, PaperTables, page, papers, read_tables, row_of
from lookback.registry import METRICS, MetricSpec
from lookback.runners import catalogue
from lookback.weights.lock import read_lock

ROOT = Path(__file__).resolve().parents[2]


def metric(
    name: str, roles: tuple[str, ...] = (), tools: tuple[str, ...] = (), judge: bool = False, **settings: dict
) -> MetricSpec:
    """A made-up metric with one preset per keyword."""
    presets = Presets("paper", settings or {"paper": {}})
    any_metric = next(iter(METRICS))
    return replace(
        any_metric, name=name, roles=roles, tools=tools, judge_tasks=("made_up",) if judge else (), presets=presets,
        variants=tuple(presets.settings), default_variant=next(iter(presets.settings)),
    )  # fmt: skip


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch):
    """Add made-up metrics to the registry."""

    def add(*specs: MetricSpec) -> list[str]:
        METRICS.names()
        for spec in specs:
            monkeypatch.setitem(METRICS._entries, spec.name, spec)
        return [spec.name for spec in specs]

    return add


def status(names: list[str], models: dict[str, str] | None = None, also: list[str] | None = None) -> tuple[str, str, str]:
    entry = Entry(id="table-1", title="Table 1", metrics=names, also=also or [])
    row = row_of(entry, PaperTables(paper="Made up", models=models or {}, tables=[entry]))
    return row.status, row.preset, row.command


def test_what_comes_with_the_project_is_a_yes(declared):
    pixels = metric("x.psnr", paper={}, official={})
    alexnet = metric("x.lpips", tools=("perceptual",), paper={"network": "vgg"}, official={"network": "alex"})
    assert status(declared(pixels, alexnet)) == ("yes", "`official`", "lookback report --run RUN --set scoring.variant=official")


def test_a_network_that_must_be_fetched_is_named_by_its_lock_entry(declared):
    named = metric("x.dino", tools=("features",), paper={"network": "dinov3-vitb16"})
    unnamed = metric("x.integrity", tools=("features",), paper={})
    assert status(declared(named))[0] == "needs `dinov3-vitb16`"
    said, preset, command = status(declared(unnamed))
    assert (said, preset) == ("needs `dinov2-base`", "`paper`")
    assert command.endswith("--set scoring.variant=paper --set profile=paper")


def test_two_presets_of_one_metric_may_need_different_models(declared):
    both = metric("x.lpips", tools=("features",), paper={"network": "dinov2-base"}, official={"network": "dinov3-vitb16"})
    only_paper = metric("x.other", paper={})
    assert status(declared(both))[0] == "needs `dinov3-vitb16`"
    assert status(declared(both, only_paper))[:2] == ("needs `dinov2-base`", "`paper`")


def test_an_estimator_that_runs_elsewhere_is_named_in_words(declared):
    camera = metric("x.camera", roles=("pose", "gt_pose"), paper={})
    assert status(declared(camera), {"pose": "ViPE (poses_format vipe)"})[0] == "needs ViPE (poses_format vipe)"
    assert status(declared(camera))[0] == "needs the paper's model of the role `pose`"  # ours only stands in for it


def test_only_the_named_weights_of_a_backend_are_needed(declared):
    assert status(declared(metric("x.style", roles=("perceptual",), paper={"network": "vgg19"})))[0] == "needs `torchvision-vgg19`"


def test_every_model_that_the_page_names_can_be_installed():
    named = {
        name for line in page().splitlines() if line.startswith("| ") for name in re.findall(r"`([^`]+)`", line.split(" | ")[2])
    }
    assert named <= {*read_lock(), *catalogue(), "pose"}


def test_judges_votes_and_ground_truth_are_said(declared):
    asked = metric("x.state", judge=True, paper={}, official={})
    said, _, command = status(declared(asked), also=["human votes", "ground truth"])
    assert said == "needs a judge; with human votes, ground truth"
    assert "--set judging.judge=openai" in command and "--set agreement.ratings=[votes.csv]" in command
    assert status([], also=["human votes"])[:2] == ("yes; with human votes", "")


def test_presets_that_the_metrics_do_not_share_are_each_metrics_own(declared):
    names = declared(metric("x.a", paper={}), metric("x.b", corrected={}))
    assert status(names) == ("yes", "each metric's own", "lookback report --run RUN")


def test_what_cannot_be_made_says_why():
    paper = read_tables("paper: Made up\ntables:\n- {id: figure-1, title: Figure 1, no: because it is a drawing}", "tables.yaml")
    row = row_of(paper.tables[0], paper)
    assert (row.status, row.preset, row.command) == ("no, because it is a drawing", "", "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("paper: X\ntables: [{id: a, title: A, metrics: [no.such]}]", "There is no metric 'no.such'"),
        ("paper: X\ntables: [{id: a, title: A}, {id: a, title: B}]", "the id 'a' occurs twice"),
        ("paper: X\ntables: [{id: a, title: A, metric: []}]", "Extra inputs are not permitted"),
        ("tables: []", "paper"),
        ("paper: [", "correct it"),
    ],
)
def test_a_wrong_list_of_tables_is_refused_in_a_sentence(text: str, says: str):
    with pytest.raises(LookbackError, match=says):
        read_tables(text, "tables.yaml")


def test_the_page_is_what_the_generator_writes():
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(), "python -m lookback.published.regenerate > docs/regenerate.md"


def test_every_listed_table_has_one_line_with_a_status():
    lines = [line for line in page().splitlines() if line.startswith("| ") and not line.startswith("| table |")]
    assert len(lines) == sum(len(paper.tables) for paper in papers())
    for line in lines:
        assert line.split(" | ")[2].startswith(("yes", "needs ", "no, because"))
