"""MemoBench appendix A.7.1: ORS by the size of the object and by the turn of the true camera, from a run's stored artifacts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import cv2
import made_artifacts
import numpy as np
import pandas as pd
from lookback.artifacts import TruePoseTrack
from lookback.benchmarks.memobench.strata import strata_figure, strata_tables
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.report.paper import PaperData
from lookback.store import ArtifactStore, Producer

NAMES = {"benchmark": "memobench", "setting": "real", "model_id": "m", "content_hash": "0" * 64, "video": "v.mp4"}


def run(folder: Path, cases: dict[str, tuple[float, float, float]], **extras: str) -> PaperData:
    """A run of one model: clip -> (ORS, share of the first frame that the object covers, true turn at the return in degrees)."""
    store, rows, items, clips = ArtifactStore(folder), [], [], []
    for name, (value, covered, turned) in cases.items():
        clip = Clip(**NAMES, clip_id=name, r_start=5, n_frames=8, gt_frames=8, extras=extras)
        shown = np.zeros((8, 10, 100), bool)
        shown.reshape(8, -1)[:, : int(covered * 1000)] = True
        truth = made_artifacts.poses(from_yaw_pitch_roll(np.array([0, 0, 0, 0, 0, turned, 0, 0]), np.zeros(8), np.zeros(8)))
        for artifact in (made_artifacts.masks(shown), TruePoseTrack.unpack(truth.pack())):
            producer = Producer(artifact.role, "made", "1", "p", "")
            entry = artifact.pack()
            store.save(producer, name, entry.arrays, entry.record)
            keys = dict(zip(KEYS, clip.key, strict=True))
            made = {"backend": "made", "version": "1", "params_hash": "p", "weights": "", "input_hash": name}
            rows.append({**keys, "role": artifact.role, "stored": producer.key(name), **made})
        clips.append(clip)
        score = {"metric": "memobench.ors", "phase": "", "value": value, "reason": "", "variant": "paper", "backend": "masks=made"}
        items.append({**dict(zip(KEYS, clip.key, strict=True)), **score})
    tables = {"clips": clips_to_frame(clips), "artifacts": pd.DataFrame(rows)}
    return PaperData(SimpleNamespace(paths=SimpleNamespace(artifacts=folder)), pd.DataFrame(items), tables)


CASES = {"a": (0.2, 0.01, 20.0), "b": (0.4, 0.05, 130.0), "c": (0.6, 0.05, 20.0), "d": (0.9, 0.3, 90.0)}


def test_scores_stand_in_the_part_of_their_size_and_turn(tmp_path):
    (table,) = strata_tables(run(tmp_path, CASES))
    means = table.frame.set_index("part")["mean"].round(6).to_dict()
    assert means == {"small, under 2 %": 0.2, "medium, 2-10 %": 0.5, "large, over 10 %": 0.9,
                     "under 30°": 0.4, "60-120°": 0.9, "over 120°": 0.4}  # fmt: skip
    assert table.frame["n"].tolist() == [1, 2, 1, 2, 1, 1]
    figure = strata_figure(run(tmp_path / "again", CASES))
    assert figure is not None and "4 clips of 1 models" in figure.caption


def test_the_dataset_s_own_mask_decides_the_size_and_clips_without_one_are_counted(tmp_path):
    mask = np.zeros((10, 10), np.uint8)
    mask[:5] = 255
    cv2.imwrite(str(tmp_path / "mask.png"), mask)
    (table,) = strata_tables(run(tmp_path / "with", {"a": CASES["a"]}, object_mask=str(tmp_path / "mask.png")))
    assert table.frame["part"].tolist() == ["large, over 10 %", "under 30°"]
    (table,) = strata_tables(run(tmp_path / "without", {"a": (0.5, 0.0, 20.0)}))
    assert "Clips without a known object size: 1." in table.notes and table.frame["part"].tolist() == ["under 30°"]
