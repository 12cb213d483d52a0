"""The smallest run that goes through all eight stages: four clips of eight frames, two metrics, a few votes."""

import re
import shutil
from pathlib import Path

from curation_scale import write_dataset
from lookback.params import RunParams
from lookback.params.load import validate

PARAMS = Path(__file__).resolve().parents[2] / "params"
CLIP = "environment:s00000:left_then_right_10s"
HEAD = "task,benchmark,setting,dimension,clip_a,model_a,clip_b,model_b,scene,annotator,label,time,simulated"
ROUND = ((0, 1), (1, 2), (2, 0), (0, 3), (3, 1))  # who wins against whom: nobody is best


def tiny_project(root: Path) -> None:
    (root / "notebooks").mkdir(parents=True)
    (root / "params").mkdir()
    shutil.copy(PARAMS / "weights.lock.yaml", root / "params")
    plan = (PARAMS / "agreement.yaml").read_text()
    (root / "params" / "agreement.yaml").write_text(re.sub(r"(?m)^resamples: \d+", "resamples: 100", plan))
    write_dataset(root / "data", 4, distinct=True)
    votes = [
        f"pairwise,mbench,A,lighting,{CLIP},model{better},{CLIP},model{worse},s00000,{person},1,1,false"
        for better, worse in ROUND
        for person in ("ann", "bob")
    ]
    (root / "votes.csv").write_text("\n".join([HEAD, *votes]) + "\n")


def tiny_params(root: Path, output: Path) -> RunParams:
    metrics = ["mbencha.environment.rendering_lighting", "mbencha.environment.spatial_epipolar"]
    values = {
        "run": "tiny",
        "output": str(output),
        "workers": 1,
        "device": "cpu",
        "curation": {"sources": [{"root": str(root / "data")}]},
        "extraction": {"roles": ["pose", "quality"]},
        "scoring": {"metrics": metrics, "resamples": 100},
        "judging": {"judge": "geometric"},
        "agreement": {"ratings": [str(root / "votes.csv")]},
        "forensics": {"max_cases": 1},
        "audit": {"enabled": True, "clips": 1, "severities": [1.0]},
        "report": {"ceiling": 0, "thumbnails": 2},
    }
    return validate(values, "test")
