"""What a stage wrote the last time, under other parameters perhaps."""

from __future__ import annotations

import shutil

from lookback.params import RunParams


def clear_outputs(stage: str, params: RunParams) -> None:
    """Remove the folders that carry the stage's name, so that the report shows nothing that was switched off since."""
    for folder in (params.paths.tables / stage, params.paths.figures / stage):
        if folder.is_dir():
            shutil.rmtree(folder)
