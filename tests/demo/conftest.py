"""Small clips of the demo world that several tests look at."""

import pytest
from lookback.camera.intent import preset
from lookback.demo.clip import render_clip
from lookback.demo.spec import ClipSpec

SIZE = (160, 96)


def small(scene="playroom", camera="yaw_LR", event="none", failure="none", severity=0.0, frames=24, seed=7):
    return ClipSpec(scene, preset(camera, frames=frames), event, failure, severity, *SIZE, seed=seed)


@pytest.fixture(scope="session")
def spec():
    return small


@pytest.fixture(scope="session")
def faithful():
    """The playroom's ball, filmed faithfully while the camera turns left and back."""
    return render_clip(small())
