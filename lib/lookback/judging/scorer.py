"""Which judge's answers count, and where the recorded ones lie."""

from __future__ import annotations

from pathlib import Path

from lookback.judging.recording import Recording
from lookback.params import RunParams
from lookback.paths import resolve

CACHE = "judge_cache"


def recordings_folder(params: RunParams) -> Path:
    """The run's own recording, or the one that a replay reads."""
    named = params.judging.recordings if params.judging.judge == "replay" else ""
    return resolve(named) if named else params.paths.root / CACHE


def scorer(params: RunParams) -> str:
    """The judge whose answers count (`backend` of its rows); a replay stands for the scorer that made the recording."""
    if params.judging.judge != "replay":
        return params.judging.judge
    with Recording(recordings_folder(params), read_only=True) as recording:
        return recording.judges()["scorer"].name
