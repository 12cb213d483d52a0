"""From a benchmark's records to what a model takes: prompts, first frames, camera paths and actions, and the videos that come back.

A record is one task of a benchmark, before any model has seen it. An interface (YAML) says what a model takes. Together they give
conditions: one line of `conditions.jsonl` per video to make, with the files that it names. `generate` runs a user's command for
every line, and `check` compares what came back with what was asked.
"""

from lookback.conditions.build import build_conditions, read_conditions
from lookback.conditions.interface import Interface, read_interface
from lookback.conditions.records import Record, RecordFiles

__all__ = ["Interface", "Record", "RecordFiles", "build_conditions", "read_conditions", "read_interface"]
