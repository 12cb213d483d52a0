"""Finished runs written by hand: clips and scores without videos, so that every number is known."""

import pandas as pd
from lookback.api import run_params
from lookback.clips import Clip, clips_to_frame
from lookback.params import RunParams
from lookback.provenance import write_provenance
from lookback.tables import SCHEMAS, empty_table, write_table

METRIC = "wrbench.visual_integrity"


def made_run(folder, values, metric=METRIC, benchmark="wrbench", phase="") -> RunParams:
    """A run with one clip per (model, scene) of `values`: a number, or the reason why there is none."""
    params = run_params(str(folder), 1, {"scoring": {"resamples": 100}})
    clips, items = [], []
    for (model, scene), value in values.items():
        keys = {"benchmark": benchmark, "setting": "s", "model_id": model, "clip_id": scene}
        clips.append(
            Clip(**keys, scene=scene, sample_id=scene, video=f"{model}/{scene}.mp4", content_hash="0" * 8, n_frames=9, fps=8)
        )
        missing = isinstance(value, str)
        items.append(
            {**keys, "metric": metric, "variant": "paper", "phase": phase, "value": None if missing else value, "raw": None}
            | {"reason": value if missing else "", "detail": "", "n_units": 1, "backend": "features=efficientnet-lite0"}
        )
    frame = pd.DataFrame(items)
    columns = list(SCHEMAS["gated"].columns)
    frame = frame.assign(**{name: "" for name in columns if name not in frame})[columns]
    tables = params.paths.tables
    write_table(tables, "clips", clips_to_frame(clips))
    for name in ("items", "gated"):
        write_table(tables, name, frame)
    for name in ("rejected", "units", "artifacts", "segments", "judgements", "screen", "ratings", "truth"):
        write_table(tables, name, empty_table(name))
    write_provenance(params, {})
    return params
