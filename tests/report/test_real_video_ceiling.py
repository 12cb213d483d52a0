"""The ceiling is left out with a reason where nothing can be scored; the report goes on."""

from __future__ import annotations

from lookback.clips import Clip, clips_to_frame
from lookback.params.load import validate
from lookback.registry import BENCHMARKS
from lookback.report.ceiling import ceiling_of


def test_metrics_of_another_benchmark_give_a_reason():
    params = validate({"run": "try", "scoring": {"metrics": ["memobench.psnr"]}}, "try.yaml")
    clip = Clip(
        benchmark="mind", setting="1st_data", model_id="m", clip_id="c", subset="mem_test", video="c.mp4", ground_truth="t.mp4"
    )
    found = ceiling_of(params, BENCHMARKS.get("mind"), clips_to_frame([clip]))
    assert not found.scored and "not_applicable" in found.why and "none of the run's metrics" in found.why
