"""The table of preset differences, and the settings that `list-metrics --presets` prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from lookback.cli.app import app
from lookback.presets import Presets
from lookback.registry import METRICS
from lookback.scoring.variants import preset_differences
from typer.testing import CliRunner

SETTINGS = {
    "paper": {"network": "vgg", "every": 1, "sizes": [640, 0.5], "crop": None},
    "official": {"network": "alex", "every": 1, "sizes": [640], "crop": True},
}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> str:
    presets = Presets("paper", SETTINGS, {"network": "fidelity.py:9; section 3.4"})
    spec = replace(next(iter(METRICS)), name="x.lpips", presets=presets, variants=("paper", "official"), default_variant="paper")
    monkeypatch.setitem(METRICS._entries, "x.lpips", spec)
    return "x.lpips"


def test_only_differing_settings_are_listed_with_their_source(made_up: str):
    table = preset_differences([made_up])
    assert list(table) == ["metric", "setting", "paper", "official", "corrected", "source"]
    assert table.to_numpy().tolist() == [
        ["x.lpips", "network", "vgg", "alex", "", "fidelity.py:9; section 3.4"],
        ["x.lpips", "sizes", "640, 0.5", "640", "", ""],
        ["x.lpips", "crop", "none", "yes", "", ""],
    ]


def test_every_difference_of_every_declared_preset_is_listed():
    listed = {(row.metric, row.setting) for row in preset_differences(METRICS.names()).itertuples()}
    declared = {(spec.name, setting) for spec in METRICS if spec.presets for setting in spec.presets.differing()}
    assert listed == declared


def test_list_metrics_says_which_values_are_better_for_every_part_of_a_metric():
    told = dict(line.split(maxsplit=1) for line in CliRunner().invoke(app, ["list-metrics"]).output.splitlines())
    for name in ("mind.gsc", "mind.lcm"):
        assert "mse lower, psnr higher, ssim higher, lpips lower is better" in told[name]
    assert ", higher is better;" in told["memobench.psnr"] and ", lower is better;" in told["mind.dino"]
    declared = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["list-metrics", "--json"]).output)}
    assert declared["mind.gsc"]["phases"] == {"mse": False, "lpips": False, "psnr": True, "ssim": True}


def test_list_metrics_prints_the_settings_of_every_variant(made_up: str):
    told = CliRunner().invoke(app, ["list-metrics", "--presets"]).output
    assert "    paper (default): network vgg, every 1, sizes 640, 0.5, crop none\n" in told
    assert "    official: network alex, every 1, sizes 640, crop yes\n" in told
    assert "official: network" not in CliRunner().invoke(app, ["list-metrics"]).output
