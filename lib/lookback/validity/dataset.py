"""The labelled real clips as a run of the pipeline, and what is to be seen in each of them.

The clips lie beside the project (`../shared/clips`) and are no part of it. A ground-truth video is also read as a clip of its own,
without itself to compare with: no failure may be named on it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pandas as pd

from lookback.clips import Clip
from lookback.errors import ContractError
from lookback.params import RunParams
from lookback.params.load import validate
from lookback.paths import RunPaths, project_root
from lookback.tables import read_csv

RUN = "validity"
TRUTH = "_gt"  # ending of a ground truth's name
TRUTH_MODEL = "reference"  # its model, where it is read as a clip
DATASETS = ("generated", "truths", "listed")
MANIFEST, ANCHORS, LABELS = "manifest.csv", "anchors.csv", "labels.csv"
COLUMNS = ("clip", "failures_both", "failures_one", "surest_failure", "camera", "subject_leaves_view", "subject_seen_again")


def clips_folder() -> Path:
    """The folder of the labelled clips."""
    return project_root().parent / "shared" / "clips"


def build_datasets(source: Path, target: Path) -> list[Path]:
    """Copies of the clips as three datasets: generated clips with their ground truth, the ground truths, clips of a manifest.

    Files of an earlier call that are not among the clips any more are removed.
    """
    copies = _copies(source, target)
    for known in target.rglob("*"):
        if known.is_file() and known not in copies:
            known.unlink()
    for copy, original in copies.items():
        _copy(original, copy)
    return [folder for folder in (target / name for name in DATASETS) if any(folder.rglob("*.mp4"))]


def _copies(source: Path, target: Path) -> dict[Path, Path]:
    """Copy -> original."""
    generated, truths, listed = (target / name for name in DATASETS)
    manifest = set(pd.read_csv(data_file(MANIFEST))["path"])
    copies = {listed / MANIFEST: data_file(MANIFEST)}
    for video in sorted(source.glob("*/*.mp4")):
        if video.name in manifest:
            copies[listed / video.name] = video
            continue
        copies[generated / video.name] = video
        if video.stem.endswith(TRUTH):
            copies[truths / TRUTH_MODEL / f"{video.stem.removesuffix(TRUTH)}.mp4"] = video
    for sheet in sorted(source.glob("*/*.csv")):
        if any(sheet.parent.glob(f"*{TRUTH}.mp4")):
            copies[generated / sheet.name] = sheet
            if "metadata" in sheet.name:
                copies[truths / sheet.name] = sheet
    return copies


def data_file(name: str) -> Path:
    """A file of this folder."""
    return Path(str(resources.files("lookback.validity").joinpath(name)))


def _copy(source: Path, target: Path) -> None:
    if not target.is_file() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)


def run_params(source: Path, workers: int = 0) -> RunParams:
    """The parameters of the run over the labelled clips; its datasets are written first."""
    roots = build_datasets(source, RunPaths.of(RUN).datasets)
    sections = {
        "curation": {"sources": [{"root": str(root)} for root in roots]},
        "extraction": {"roles": ["pose", "gt_pose", "masks"]},
        "scoring": {"metrics": []},
        "judging": {"judge": "geometric"},
    }
    return validate({"run": RUN, "workers": workers, **sections}, "validity")


@dataclass(frozen=True)
class Label:
    """What two passes saw in one clip."""

    clip: str
    scene: str
    sure: frozenset[str]  # failures that both passes named
    doubtful: frozenset[str]  # failures that one pass named: neither right nor wrong
    surest: str  # the clearest failure; `none` for a faithful clip, `disputed` where the passes differ
    camera: str  # none, slight, clear or disputed
    leaves: str  # yes, no, disputed, unclear
    returns: str  # yes, no, na, disputed, unclear


def read_labels(source: Path) -> dict[str, Label]:
    """The labels by the clip's name."""
    path = source / LABELS
    if not path.is_file():
        raise ContractError(f"{path} is missing; it says what is to be seen in the clips")
    frame = read_csv(path, dtype=str, keep_default_na=False)
    if missing := [name for name in COLUMNS if name not in frame]:
        raise ContractError(f"{path.name} has no column {missing[0]}; give every clip one")
    return {row.clip: _label(row) for row in frame.itertuples()}


def _label(row: object) -> Label:
    values = row._asdict()  # type: ignore[attr-defined]
    clip = values["clip"]
    both, one = (frozenset(filter(None, values[name].split(";"))) for name in ("failures_both", "failures_one"))
    leaves, returns = values["subject_leaves_view"], values["subject_seen_again"]
    return Label(clip, scene_of(clip), both, one, values["surest_failure"], values["camera"], leaves, returns)


def scene_of(name: str) -> str:
    """The scene of a clip's name: `Barnyard_001_wan` and `case_a_yaw_lr` are of the scenes Barnyard_001 and case_a."""
    parts = name.split("_")
    if len(parts) == 1:
        return name
    return "_".join(parts[:2]) if not parts[1].isalpha() or len(parts[1]) == 1 else name.rsplit("_", 1)[0]


def label_name(clip: Clip) -> str:
    """The name under which a clip of the run is labelled."""
    stem = Path(clip.video).stem
    return f"{stem}{TRUTH}" if clip.model_id == TRUTH_MODEL else stem
