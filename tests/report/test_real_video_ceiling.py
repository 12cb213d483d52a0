"""The ceiling follows the real videos, and is left out with a reason where nothing can be scored; the report goes on."""

from __future__ import annotations

import numpy as np
from lookback.clips import Clip, clips_to_frame
from lookback.media import encode, probe
from lookback.params.load import validate
from lookback.registry import BENCHMARKS
from lookback.report.ceiling import ceiling_of, real_clip


def test_metrics_of_another_benchmark_give_a_reason():
    params = validate({"run": "try", "scoring": {"metrics": ["memobench.psnr"]}}, "try.yaml")
    clip = Clip(
        benchmark="mind", setting="1st_data", model_id="m", clip_id="c", subset="mem_test", video="c.mp4", ground_truth="t.mp4"
    )
    found = ceiling_of(params, BENCHMARKS.get("mind"), clips_to_frame([clip]))
    assert not found.scored and "not_applicable" in found.why and "none of the run's metrics" in found.why


def test_a_real_video_that_was_replaced_is_cut_again(tmp_path):
    params = validate({"run": "try", "output": str(tmp_path / "run")}, "try.yaml")
    truth = tmp_path / "truth.mp4"
    clip = Clip(benchmark="mind", setting="s", model_id="m", clip_id="c", video="c.mp4", ground_truth=str(truth), mark_time=4)
    for count in (12, 9):
        encode(truth, np.zeros((count, 32, 32, 3), np.uint8), 8)
        assert probe(real_clip(clip, params).video).n_frames == count - 4
    assert len(list((tmp_path / "run" / "ceiling").iterdir())) == 1, "the old part is gone"
