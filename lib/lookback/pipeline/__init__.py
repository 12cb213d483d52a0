"""The pipeline: a DAG of notebooks that hand each other Parquet."""

from lookback.pipeline.dag import STAGES, Stage, stage_named, upstream
from lookback.pipeline.runner import Pipeline

__all__ = ["STAGES", "Pipeline", "Stage", "stage_named", "upstream"]
