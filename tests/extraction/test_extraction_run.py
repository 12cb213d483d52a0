"""Extracting a run: finished work is not done again, changed inputs are, and the tables do not depend on who did what."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from extraction_scenes import Scene
from lookback.artifacts import PoseTrack, Quality, RunArtifacts
from lookback.backends.masks.classical.tracker import ClassicalMasks
from lookback.camera import inverse, relative_to_first, rotation_angle_deg
from lookback.clips import Anchor, Clip, clips_to_frame
from lookback.errors import ContractError, Reason, UsageError
from lookback.extraction import run as extraction_run
from lookback.extraction.identity import input_hash
from lookback.media import content_hash, encode
from lookback.params import RunParams
from lookback.params.stages import Extraction
from lookback.paths import resolve
from lookback.registry import METRICS
from lookback.scoring.run import ScoringTask
from lookback.scoring.run import _identity as score_identity
from lookback.stages import extraction
from lookback.store import ArtifactStore, Producer
from lookback.tables import write_table

ROLES = ["pose", "gt_pose", "quality"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "params").mkdir(parents=True)
    (root / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(root))
    return root


@pytest.fixture
def clips(project: Path, yaw_scene: Scene) -> list[Clip]:
    """Two models and their common ground truth; the second model's poses come with it as a DA3 file."""
    encode(project / "data" / "truth.mp4", yaw_scene.frames[:16], 16.0)
    out = []
    for number, model in enumerate(("one", "two")):
        video = project / "data" / f"{model}.mp4"
        encode(video, yaw_scene.frames[number : 16 + number], 16.0)
        poses = {}
        if model == "two":
            np.savez(
                project / "data" / "results.npz",
                extrinsics=inverse(yaw_scene.c2w[1:17])[:, :3],
                intrinsics=yaw_scene.intrinsics[None].repeat(16, 0),
            )
            poses = {"poses": "data/results.npz", "poses_format": "da3"}
        facts = {"n_frames": 16, "fps": 16.0, "width": 320, "height": 192, "fov_deg": 60.0, "content_hash": content_hash(video)}
        out.append(
            Clip(
                benchmark="memobench",
                setting="real",
                model_id=model,
                clip_id="c",
                video=f"data/{model}.mp4",
                ground_truth="data/truth.mp4",
                **facts,
                **poses,
            )
        )
    return out


def make(project: Path, clips: list[Clip], workers: int = 1, run: str = "r", **extraction_params: object) -> RunParams:
    params = RunParams(run=run, workers=workers, device="cpu", extraction={"roles": ROLES, **extraction_params})  # type: ignore[arg-type]
    write_table(params.paths.tables, "clips", clips_to_frame(clips))
    return params


def rows(table: pd.DataFrame, role: str) -> dict[str, dict]:
    return {row["model_id"]: row for row in table[table["role"] == role].to_dict("records")}


def test_every_clip_and_role_has_an_artifact_or_a_reason(project: Path, clips: list[Clip], yaw_scene: Scene) -> None:
    params = make(project, clips)
    tables = extraction(params)
    table = tables["artifacts"]
    assert len(table) == 6 and (table["reason"] == "").all() and (table["n_frames"] > 0).all()
    pose = rows(table, "pose")
    assert pose["one"]["backend"] == "classical" and pose["two"]["backend"] == "files"
    assert json.loads(pose["one"]["summary"])["total_rotation_deg"] == pytest.approx(37.5, abs=1.5)  # 15 steps of 2.5 deg
    found = RunArtifacts(params.paths.artifacts, table).load(clips[1], PoseTrack)
    assert found is not None and np.allclose(found.c2w, yaw_scene.c2w[1:17], atol=1e-6)
    estimated = RunArtifacts(params.paths.artifacts, table).load(clips[0], PoseTrack)
    assert estimated is not None
    errors = rotation_angle_deg(relative_to_first(estimated.c2w), relative_to_first(yaw_scene.c2w[:16]))
    assert errors.max() < 1.0  # also after the encoder's losses
    # the ground truth belongs to both models and is looked at once
    truth = rows(table, "gt_pose")
    assert truth["one"]["stored"] == truth["two"]["stored"] != "" and truth["one"]["backend"] == "classical"
    timings = tables["timings"]
    assert set(timings["role"]) == {"pose", "quality", "decode", "gt_pose", "gt_decode"} and (timings["seconds"] >= 0).all()
    assert len(timings[timings["role"] == "gt_pose"]) == 1
    assert (params.paths.root / "timings" / "extraction.csv").is_file()
    assert "seconds" not in table.columns


def test_the_next_call_keeps_the_times_that_a_stopped_one_measured(
    project: Path, clips: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    params = make(project, clips)
    file = params.paths.root / "timings" / "extraction.csv"

    def second_is_interrupted(task: extraction_run.ExtractionTask) -> extraction_run.Extracted:
        if task.clip.key == clips[1].key:
            raise KeyboardInterrupt
        return extract(task)

    extract = extraction_run.extract_task
    monkeypatch.setattr(extraction_run, "extract_task", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        extraction(params)
    first = file.read_text()
    file.write_text(f"{first}memobench,real,tw")  # a kill cut this line short
    monkeypatch.setattr(extraction_run, "extract_task", extract)
    extraction(params)
    assert file.read_text().startswith(first) and set(pd.read_csv(file)["model_id"]) == {"one", "two"}
    extraction(params)
    assert file.read_text().startswith(first), "nothing was measured, nothing is forgotten"
    write_table(params.paths.tables, "clips", clips_to_frame(clips[1:]))
    extraction(params)
    assert set(pd.read_csv(file)["model_id"]) == {"two"}


def test_finished_work_is_not_done_again(project: Path, clips: list[Clip], monkeypatch: pytest.MonkeyPatch) -> None:
    params = make(project, clips)
    first = extraction(params)["artifacts"]

    def refuse(*_: object) -> None:
        raise AssertionError("a finished clip needs no backend and no decode")

    monkeypatch.setattr(extraction_run, "extract_clip", refuse)
    monkeypatch.setattr(extraction_run, "built", refuse)
    assert extraction(params)["artifacts"].equals(first)


def test_a_killed_run_resumes_with_what_is_missing(project: Path, clips: list[Clip], monkeypatch: pytest.MonkeyPatch) -> None:
    params = make(project, clips)
    first = extraction(params)["artifacts"]
    store = ArtifactStore(params.paths.artifacts)
    lost = next(store.root.glob("quality/*/*/*.json"))
    lost.unlink()  # written last: without it the entry was never finished
    damaged = next(store.root.glob("pose/classical/*/*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    asked: list[set[str]] = []
    original = extraction_run.extract_clip

    def watch(clip: Clip, backends: dict, *rest: dict) -> object:
        asked.append(set(backends))
        return original(clip, backends, *rest)

    monkeypatch.setattr(extraction_run, "extract_clip", watch)
    assert extraction(params)["artifacts"].equals(first)
    assert sorted(role for roles in asked for role in roles) == ["pose", "quality"]


@pytest.mark.long
def test_two_workers_write_the_same_bytes_as_one(project: Path, clips: list[Clip]) -> None:
    alone, shared = make(project, clips, workers=1, run="alone"), make(project, clips, workers=2, run="shared")
    extraction(alone), extraction(shared)
    assert (alone.paths.tables / "artifacts.parquet").read_bytes() == (shared.paths.tables / "artifacts.parquet").read_bytes()
    payloads = [
        sorted((path.name, path.read_bytes()) for path in params.paths.artifacts.rglob("*.npz")) for params in (alone, shared)
    ]
    assert payloads[0] == payloads[1] and payloads[0]


def test_a_named_backend_is_used_or_its_absence_is_the_reason(project: Path, clips: list[Clip]) -> None:
    table = extraction(make(project, clips, backends={"pose": "files"}))["artifacts"]
    pose = rows(table, "pose")
    assert pose["one"]["reason"] == Reason.NO_POSES and pose["one"]["stored"] == "" and pose["two"]["reason"] == ""
    table = extraction(make(project, clips, backends={"pose": "classical"}))["artifacts"]
    assert {row["backend"] for row in rows(table, "pose").values()} == {"classical"}


def test_what_builds_on_an_unavailable_model_is_unavailable_too(
    project: Path, clips: list[Clip], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without weights for faces nobody knows whether the clip shows one: `no_face` would be a finding about the model.

    One who installs the weights and runs the cell again has them: nothing is remembered from before.
    """
    chosen = {"roles": ["faces", "people"], "backends": {"faces": "scrfd-dlib", "people": "face-grabcut"}}

    def faces_and_people() -> list[dict[str, Any]]:
        table = extraction(make(project, clips[:1], **chosen))["artifacts"]
        return [rows(table, role)["one"] for role in ("faces", "people")]

    with monkeypatch.context() as patched:
        patched.setenv("LOOKBACK_WEIGHTS", str(tmp_path))
        faces, people = faces_and_people()
    assert Reason.BACKEND_UNAVAILABLE not in {row["reason"] for row in faces_and_people()}
    assert faces["reason"] == people["reason"] == Reason.BACKEND_UNAVAILABLE
    assert people["detail"] == f"it builds on the role 'faces': {faces['detail']}"


def test_a_failure_of_the_masks_is_no_finding_about_the_object_and_passes(
    project: Path, clips: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`no_mask` counts as 0 in MBench: a full memory must not become one, and must not stay in the store."""
    clips = [clips[0].model_copy(update={"object_anchor": Anchor(centre_x=160, centre_y=96, width=80, height=60)})]
    params = make(project, clips, roles=["masks", "object_features"], backends={"masks": "classical"})

    def reasons() -> list[str]:
        return extraction(params)["artifacts"].sort_values("role")["reason"].tolist()

    with monkeypatch.context() as patched:
        patched.setattr(ClassicalMasks, "start", full_memory)
        assert reasons() == [Reason.BACKEND_FAILED] * 2
    assert reasons() == ["", ""]


def full_memory(*_: object) -> None:
    raise MemoryError("full")


def test_a_wrong_backend_name_is_one_sentence_before_any_work(project: Path, clips: list[Clip]) -> None:
    with pytest.raises(UsageError, match="did you mean 'pose=classical'"):
        extraction(make(project, clips, backends={"pose": "clasical"}))


def test_a_clip_without_ground_truth_says_so(project: Path, clips: list[Clip]) -> None:
    alone = clips[0].model_copy(update={"ground_truth": None})
    row = rows(extraction(make(project, [alone]))["artifacts"], "gt_pose")["one"]
    assert row["reason"] == Reason.MISSING_INPUT and "ground truth" in row["detail"]


def test_a_broken_pose_file_and_a_missing_video_are_typed(project: Path, clips: list[Clip]) -> None:
    (project / "data" / "results.npz").write_bytes(b"nothing")
    (project / "data" / "one.mp4").unlink()
    table = extraction(make(project, clips))["artifacts"]
    pose, quality = rows(table, "pose"), rows(table, "quality")
    assert pose["two"]["reason"] == Reason.INVALID_INPUT and "results.npz" in pose["two"]["detail"]
    assert pose["one"]["reason"] == quality["one"]["reason"] == Reason.MISSING_INPUT and quality["two"]["reason"] == ""


def test_a_key_follows_everything_the_artifact_depends_on(project: Path, clips: list[Clip]) -> None:
    clip = clips[1]
    known = {input_hash(clip, {})}
    anchor = Anchor(centre_x=10, centre_y=10, width=5, height=5)
    for change in (
        {"content_hash": "other"},
        {"fov_deg": 61.0},
        {"object_anchor": anchor},
        {"object_name": "cup"},
        {"poses": None},
    ):
        known.add(input_hash(clip.model_copy(update=change), {}))
    known.add(input_hash(clip, {"masks": "key of one mask"}))
    known.add(input_hash(clip, {"masks": "key of another"}))
    assert len(known) == 8
    assert input_hash(clip.model_copy(update={"model_id": "three"}), {}) == input_hash(clip, {})  # the same file under another name


def test_a_ground_truth_that_was_replaced_within_the_session_is_looked_at_again(
    project: Path, clips: list[Clip], yaw_scene: Scene
) -> None:
    """As in a notebook: the cell is run, the video is made anew under the same name, the cell is run again."""
    params = make(project, clips[:1], roles=["gt_pose"])
    before = rows(extraction(params)["artifacts"], "gt_pose")["one"]
    encode(project / "data" / "truth.mp4", yaw_scene.frames[:16:2], 16.0)
    after = rows(extraction(params)["artifacts"], "gt_pose")["one"]
    assert (before["n_frames"], after["n_frames"]) == (16, 8)


@pytest.mark.parametrize("section", ["roles", "always", "options"])
def test_a_wrong_role_is_one_sentence_before_any_work(project: Path, clips: list[Clip], section: str) -> None:
    value = {"poze": {"a": 1}} if section == "options" else ["poze"]
    with pytest.raises(UsageError, match=rf"extraction.{section} names the role 'poze', which does not exist; did you mean 'pose'"):
        extraction_run.extract_run(RunParams(run="test", extraction=Extraction(**{section: value})), clips_to_frame(clips))


def test_a_video_that_was_away_is_extracted_when_it_is_back(project: Path, clips: list[Clip]) -> None:
    video = resolve(clips[0].video)
    params, table = RunParams(run="away", extraction=Extraction(roles=["quality"])), clips_to_frame(clips[:1])
    away = video.rename(video.with_suffix(".away"))
    try:
        absent, _ = extraction_run.extract_run(params, table)
    finally:
        away.rename(video)
    present, _ = extraction_run.extract_run(params, table)
    assert absent["reason"].tolist() == ["missing_input"]
    assert present["reason"].tolist() == [""]


def test_a_score_made_by_another_tool_has_another_key(project: Path, clips: list[Clip]) -> None:
    """MIND's dino calls the feature model itself: its options are part of what the score depends on."""
    shutil.copy(Path(__file__).parents[2] / "params" / "weights.lock.yaml", project / "params")
    spec = METRICS.get("mind.dino")

    def key(**options: int) -> str:
        params = RunParams(run="test", extraction=Extraction(options={"features": options} if options else {}))
        producer, inputs = score_identity(spec, "corrected", ScoringTask(clips[0], (), (), (), params))
        return producer.key(inputs)

    assert key() == key()
    assert key() != key(max_side=64)


def test_a_score_follows_the_depth_that_was_made_elsewhere(project: Path, clips: list[Clip]) -> None:
    """Geo3D reads the file itself, so no artifact of an earlier stage carries its content."""
    shutil.copy(Path(__file__).parents[2] / "params" / "weights.lock.yaml", project / "params")
    clip = clips[0].model_copy(update={"files": {"depth": "data/depth.npy"}})
    task, keys = ScoringTask(clip, (), (), (), RunParams(run="test")), set()
    for depth in (1.0, 1.0, 2.0):
        np.save(project / "data" / "depth.npy", np.full((16, 12, 20), depth, np.float32))
        producer, inputs = score_identity(METRICS.get("memobench.geo3d"), "official", task)
        keys.add(producer.key(inputs))
    assert len(keys) == 2


def test_a_key_follows_the_files_beside_a_path(project: Path, clips: list[Clip], tmp_path: Path) -> None:
    """COLMAP keeps its focal length in cameras.txt."""
    (tmp_path / "images.txt").write_text("1 1 0 0 0 0 0 0 1 a.png")
    clip = clips[0].model_copy(update={"poses": str(tmp_path / "images.txt"), "poses_format": "colmap"})
    before = input_hash(clip, {})
    (tmp_path / "cameras.txt").write_text("1 PINHOLE 64 48 50 50 32 24")
    assert input_hash(clip, {}) != before


def test_an_entry_that_its_role_does_not_know_is_made_again(project: Path, clips: list[Clip]) -> None:
    params = make(project, clips, roles=["quality"])
    first = extraction(params)["artifacts"]
    row = rows(first, "quality")["one"]
    producer = Producer("quality", row["backend"], row["version"], row["params_hash"], row["weights"])
    ArtifactStore(params.paths.artifacts).save(producer, row["input_hash"], {"frame_index": np.arange(3), "other": np.ones(3)}, {})
    with pytest.raises(ContractError, match="'other' that this role does not know"):
        RunArtifacts(params.paths.artifacts, first).load(clips[0], Quality)
    assert extraction(params)["artifacts"].equals(first)
    made = RunArtifacts(params.paths.artifacts, first).load(clips[0], Quality)
    assert made is not None and made.sharpness is not None and len(made.sharpness) == row["n_frames"]
