"""Scenes known by construction: a perfect return scores at the top, and an injected failure lowers its metric with its severity.

The demo world renders the clips, writes them in the benchmarks' layouts, and the stages read, extract and score them with the
embedded backends: nothing between the failure's severity and the score is known to the metric.
"""

from pathlib import Path

import pandas as pd
import pytest
from lookback import stages
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.demo.plan import PlannedClip, full_plan
from lookback.params.load import validate
from lookback.scoring.variants import only_chosen

pytestmark = pytest.mark.long
SEVERITIES = (0.5, 1.0)
CONSTANTS = {"lpips": 0, "height": 360, "width": 640}  # MIND's measures without LPIPS, at less than its size: clips have 112 rows
CAMERA = ("wrong_direction", "camera_drift", "camera_inactivity")  # failures of the camera's path; the others are of the picture
# clip, failure, metric, part or phase, which way it goes, how far the worst clip must be from the faithful one
TRIALS = [
    ("environment:courtyard_001:forward_then_backward_2s", "lighting_shift", "mbencha.environment.rendering_lighting", "", -1, 0.3),
    (
        "environment:courtyard_001:forward_then_backward_2s",
        "geometric_melt",
        "mbencha.environment.spatial_reprojection",
        "",
        -1,
        0.2,
    ),
    ("environment:plaza_001:text", "style_shift", "mbencht.environment.rendering_style", "", -1, 0.1),
    (
        "object:playroom_001:right_then_wait_then_left_2s",
        "geometric_melt",
        "mbencha.entity.object_geometry_consistency",
        "",
        -1,
        0.1,
    ),
    ("causal:dining_001:left_then_wait_then_right_2s", "camera_drift", "mbencha.causal.camera_interaction", "", -1, 0.0),
    ("real_001", "background_hallucination", "memobench.ssim", "R", -1, 0.2),
    ("real_001", "background_hallucination", "memobench.object_identity", "", -1, 0.05),
    ("real_001", "background_hallucination", "memobench.psnr", "R", -1, 5.0),
    ("real_001", "object_vanishes", "memobench.ors", "", -1, 0.1),
    ("real_001", "camera_inactivity", "memobench.camera_controllability", "", -1, 0.3),
    ("real_001", "camera_inactivity", "memobench.camera_activity", "", -1, 0.5),
    ("office_officer_counter_sit__T2_div_b__yaw_RL", "wrong_direction", "wrbench.cam_align", "", -1, 0.5),
    ("office_officer_counter_sit__T2_div_b__yaw_RL", "camera_drift", "wrbench.cam_prec", "", -1, 0.1),
    ("office_officer_counter_sit__T2_div_b__yaw_RL", "camera_inactivity", "wrbench.cam_prec", "", -1, 0.5),
    ("1st_data/mem_test/gallery_001", "ghosting", "mind.lcm", "ssim", -1, 0.05),
    ("1st_data/mem_test/gallery_001", "camera_drift", "mind.action", "__overall__:rot", +1, 0.05),
]
AT_THE_TOP = {  # what a perfect return scores at least
    "mbencha.environment.rendering_lighting": 0.95,
    "mbencha.entity.object_geometry_consistency": 0.75,
    "memobench.ssim": 0.95,
    "memobench.camera_controllability": 0.9,
    "memobench.camera_activity": 0.9,
    "wrbench.cam_align": 0.95,
    "wrbench.cam_prec": 0.9,
}


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The items of every trial's clips, with the injected failure and severity."""
    folder = tmp_path_factory.mktemp("failures")
    tasks = {task.clip_id: task for task, _ in full_plan()}
    plan = []
    for clip in dict.fromkeys(trial[0] for trial in TRIALS):
        wanted = dict.fromkeys(trial[1] for trial in TRIALS if trial[0] == clip)
        models = [("none", 0.0), *((failure, severity) for failure in wanted for severity in SEVERITIES)]
        plan += [PlannedClip(tasks[clip], tasks[clip].spec(model, 192, 112, 7)) for model in models]
    write_datasets(plan, folder / "datasets", workers=1)
    tables = [scored(folder, plan, [trial for trial in TRIALS if (trial[1] in CAMERA) == asked]) for asked in (True, False)]
    items = pd.concat(tables, ignore_index=True)
    truth = {(planned.task.clip_id, planned.model_id): (planned.spec.failure, planned.spec.severity) for planned in plan}
    known = [truth[row["clip_id"], row["model_id"]] for row in items.to_dict("records")]
    return items.assign(failure=[failure for failure, _ in known], severity=[severity for _, severity in known])


def scored(folder: Path, plan: list[PlannedClip], trials: list[tuple]) -> pd.DataFrame:
    """The items of the clips with the failures of these trials, and of the faithful ones, by the metrics of these trials."""
    failures = {"none", *(trial[1] for trial in trials)}
    values = {
        "run": "failures",
        "output": str(folder / "run"),
        "workers": 1,
        "curation": {
            "sources": [source.model_dump() for source in dataset_sources(folder / "datasets")],
            "filters": {"models": sorted({planned.model_id for planned in plan if planned.spec.failure in failures})},
        },
        "extraction": {"always": []},  # nothing but what the metrics need
        "scoring": {"metrics": sorted({trial[2] for trial in trials}), "constants": CONSTANTS},
    }
    params = validate(values, "test")
    for stage in (stages.curation, stages.extraction, stages.scoring):
        tables = stage(params)
    return only_chosen(tables["items"], params)


def values_of(scores: pd.DataFrame, clip: str, failure: str, metric: str, part: str) -> list[float]:
    """The metric at severity 0, 0.5 and 1."""
    own = scores[(scores["clip_id"] == clip) & (scores["metric"] == metric) & (scores["phase"] == part)]
    own = own[own["failure"].isin([failure, "none"])].set_index("severity")["value"]
    return [float(own[severity]) for severity in (0.0, *SEVERITIES)]


@pytest.mark.parametrize(("clip", "failure", "metric", "part", "way", "least"), TRIALS, ids=lambda value: str(value).split(":")[0])
def test_a_failure_moves_its_metric_with_its_severity(scores, clip, failure, metric, part, way, least):
    right, half, full = (way * value for value in values_of(scores, clip, failure, metric, part))
    assert half > right - 1e-9, "half the failure does not look better than none"
    assert full >= half - 0.02 * abs(full), "more of the failure does not look better than half"
    assert full > right + least


@pytest.mark.parametrize("metric", sorted(AT_THE_TOP))
def test_a_perfect_return_scores_at_the_top(scores, metric):
    faithful = scores[(scores["metric"] == metric) & (scores["failure"] == "none") & (scores["phase"] == "")]
    assert faithful["value"].notna().all()
    assert (faithful["value"] >= AT_THE_TOP[metric]).all(), faithful[["clip_id", "value"]]
