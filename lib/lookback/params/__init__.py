"""Run parameters: one YAML per run, validated, immutable."""

from lookback.params.load import RunParams, apply_overrides, load_run

__all__ = ["RunParams", "apply_overrides", "load_run"]
