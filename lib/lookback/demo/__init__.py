"""The demo world: scenes whose truth is known, simulated world models with injected failures, simulated annotators."""

from lookback.demo.annotators import ANNOTATORS, Annotator, simulate_votes
from lookback.demo.clip import RenderedClip, render_clip
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.demo.failures import FAILURES, model_name
from lookback.demo.plan import PlannedClip, Task, demo_plan
from lookback.demo.scenes import SCENES, load_scene
from lookback.demo.sheets import comparison_sheet, failure_sheet, sheet
from lookback.demo.spec import FAITHFUL, ClipSpec

__all__ = [
    "ANNOTATORS",
    "FAILURES",
    "FAITHFUL",
    "SCENES",
    "Annotator",
    "ClipSpec",
    "PlannedClip",
    "RenderedClip",
    "Task",
    "comparison_sheet",
    "dataset_sources",
    "demo_plan",
    "failure_sheet",
    "load_scene",
    "model_name",
    "render_clip",
    "sheet",
    "simulate_votes",
    "write_datasets",
]
