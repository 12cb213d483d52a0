"""The pipeline: a DAG of notebooks. Each reads and writes Parquet tables."""

from lookback.pipeline.dag import STAGES, Stage, stage_named, upstream
from lookback.pipeline.runner import Pipeline

__all__ = ["STAGES", "Pipeline", "Stage", "stage_named", "upstream"]
