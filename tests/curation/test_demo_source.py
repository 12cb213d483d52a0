"""The demo world is rendered when its parameters or its files changed, and only then."""

import pytest
from layout_data import mbench
from lookback.demo.source import demo_sources
from lookback.params.load import validate as make_params


@pytest.fixture
def rendered(monkeypatch):
    """Stands in for the renderer: writes a dataset by hand and notes each call."""
    calls = []

    def write(plan, root, workers):
        calls.append(len(plan))
        mbench(root / "mbench_a")

    monkeypatch.setattr("lookback.demo.source.write_datasets", write)
    return calls


def params(**world):
    return make_params({"run": "demo", "curation": {"world": {"scale": 0.05, **world}}}, "test")


def test_rendered_once_for_the_same_parameters(project, rendered):
    sources = demo_sources(params())
    assert demo_sources(params()) == sources and len(rendered) == 1
    assert [(source.layout, source.root) for source in sources] == [("mbench", "outputs/demo/datasets/mbench_a")]


def test_rendered_again_when_a_parameter_or_a_file_changed(project, rendered):
    demo_sources(params())
    demo_sources(params(width=96))
    assert len(rendered) == 2
    next((project / "outputs/demo/datasets").rglob("video.mp4")).write_bytes(b"altered")
    demo_sources(params(width=96))
    assert len(rendered) == 3


def test_a_run_without_a_world_renders_nothing(project, rendered):
    assert demo_sources(make_params({"run": "mine"}, "test")) == [] and rendered == []
