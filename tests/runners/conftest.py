"""Runners in a child process: made-up scripts in this environment, and the released models in environments of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lookback.runners import Launch, Runner

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture
def runner():
    """A runner of the made-up script; ended after the test."""
    started = []

    def start(**changes) -> Runner:
        launch = Launch(name="made-up", python=Path(sys.executable), script=SCRIPTS / "made_up.py")
        started.append(Runner(Launch(**{**launch.__dict__, **changes})))
        return started[-1]

    yield start
    for each in started:
        each.close()
