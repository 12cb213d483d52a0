"""WRBench beside its released program: numbers, camera paths, prompts, and the folder that its generation script writes."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.backends.pose.formats import read_vggt_omega
from lookback.benchmarks.wrbench import parity, prompt_pack
from lookback.benchmarks.wrbench.metrics.shared import settings_of
from lookback.benchmarks.wrbench.sidecar import main_profile_faults, to_sidecar
from lookback.camera.intent import compile, preset
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import ContractError
from lookback.layouts import read
from lookback.measures.requested import given_poses
from lookback.media import probe
from lookback.media.encode import encode
from lookback.params.stages import Source
from lookback.parity import run_released
from lookback.registry import METRICS
from lookback.scoring import ScoringClip
from lookback.scoring.clip import score_clip

SHARED = Path(__file__).resolve().parents[3] / "shared"
PEER, CLIPS = SHARED / "peers" / "wrbench", SHARED / "clips" / "wrbench"
SCORING = PEER / "src" / "wrbench" / "eval" / "scoring"
pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("warm_released_programs"),
    pytest.mark.skipif(not PEER.is_dir(), reason="the released program (../shared/peers/wrbench) is not here"),
]
ROWS = {"path": 25, "precision": 45, "alignment": 46, "sampler": 9, "probe": 18, "gate": 3}


@pytest.mark.parametrize("part", ROWS)
def test_ours_equals_the_released_program(part):
    rows = list(getattr(parity, f"{part}_rows")(PEER))
    assert len(rows) == ROWS[part]
    assert [(row.case, row.ours, row.theirs, row.note) for row in rows if row.verdict != "equal"] == []


def test_other_settings_than_the_released_ones_show(monkeypatch):
    """The comparison is not blind: the paper's CamPrec does not punish a path for numerical noise."""
    monkeypatch.setattr(parity, "settings_of", lambda name, variant: settings_of(name, "paper"))
    differing = {row.case for row in parity.precision_rows(PEER) if row.verdict == "differs"}
    assert differing >= {"yaw_LR, tiny drift", "yaw_RL, tiny drift"}


@pytest.mark.clips
def test_visual_integrity_of_real_clips_equals_the_released_program(monkeypatch):
    monkeypatch.setattr(parity, "CLIPS", 1)
    rows = list(parity.integrity_rows(PEER, CLIPS))
    assert all("random DINOv2" in row.note for row in rows)  # a reader must see that it is not the released network
    assert len(rows) == (2 if CLIPS.is_dir() else 1)
    assert [row for row in rows if row.verdict != "equal"] == []


PROMPTS = """
import json
from pathlib import Path
from wrbench.eval.scoring import run_qwen35_p25_d3d4_slot_parse_overlay as p25
p25.install_p25_overlay(Path(inputs["peer"]))
from wrbench.eval.scoring import prompts_v2_probe as prompts
from wrbench.eval.scoring import run_local_qwen3vl_video_evidence as evidence
mode, words = p25.P25_PROMPT_MODE, {}
for probe in prompts.active_probe_catalog(mode):
    whole = prompts.build_runtime_v2_probe_prompt(
        world_state_prompt="A cat sits.", video_id="v", probe=probe, task_context=None, fps="2", prompt_mode=mode)
    words[probe.probe_id] = whole if probe.role == "score" else prompts.question_for_probe(probe, mode)
for schema in ("subject_judgeability_v1", "guarded_teacher_gate_v3"):
    words[schema] = evidence.build_judgeability_prompt(world_state_prompt="A cat sits.", video_id="v", prompt_schema=schema)
give("words", np.frombuffer(json.dumps(words).encode(), np.uint8))
"""


def test_the_released_prompts_are_read_as_the_program_writes_them():
    released = run_released(PEER, PROMPTS, {"peer": str(PEER)}, folders=("src",))
    words = json.loads(released.arrays["words"].tobytes())
    ours = prompt_pack.read_released_probes(SCORING / "prompts_v2_probe.py")
    assert len(ours) == 16
    for name, own in prompt_pack.PROBES.items():
        text = ours[own].replace("{{task}}", "A cat sits.").replace("{{sampling}}", "frames sampled at 2 fps")
        assert text == words[name], name
    gate = prompt_pack.read_released_gate(SCORING / "run_local_qwen3vl_video_evidence.py")
    for name, schema in (("wrbench_judgeability", "subject_judgeability_v1"), ("wrbench_rescue", "guarded_teacher_gate_v3")):
        assert gate[name]["user"].replace("{{prompt}}", "A cat sits.").replace("{{clip}}", "v") == words[schema]


def test_a_run_asks_the_released_prompts(tmp_path):
    """The whole way: `judging.prompts` names the released files, and the questions carry their words and their hash."""
    from lookback.benchmarks.wrbench.judging import RESCUE, gate_questions, second_question, visible_questions
    from lookback.clips import Clip
    from lookback.judging.packs import read_packs
    from lookback.judging.prompting import using
    from lookback.judging.tasks import Sampling

    named = {"wrbench_probes": "prompts_v2_probe.py", "wrbench_judgeability": "run_local_qwen3vl_video_evidence.py"}
    facts = {"n_frames": 32, "fps": 16.0, "content_hash": "0" * 64, "extras": {"world_state_prompt": "A cat sits."}}
    clip = Clip(benchmark="wrbench", setting="s", model_id="m", clip_id="the-clip", scene="s", video="v.mp4", **facts)
    with using(read_packs({pack: str(SCORING / file) for pack, file in named.items()})):
        probe, gate = visible_questions(clip, Sampling())[0], gate_questions(clip, Sampling())[0]
        again = second_question(clip, Sampling(), RESCUE, "wrbench_rescue.v1", ("d5_applicable", "d6_applicable"))
    for question in (probe, gate, again):
        assert question.system == "" and "A cat sits." in question.text and ";pack+" in question.prompt_version
        assert "{{" not in question.text
    assert "frames sampled at 2 fps" in probe.text and "Video id:\nthe-clip" in gate.text
    assert [part.question_id for part in again.parts] == ["second_000", "second_001", "d5_applicable", "d6_applicable"]


@pytest.mark.parametrize("spoil", ["missing overlay", "no literal", "code", "not python"])
def test_a_spoilt_checkout_is_refused_in_one_sentence_and_nothing_runs(tmp_path, spoil):
    for name in (prompt_pack.CATALOGUE, prompt_pack.VISIBLE, prompt_pack.RETURNED):
        shutil.copyfile(SCORING / name, tmp_path / name)
    catalogue = tmp_path / prompt_pack.CATALOGUE
    if spoil == "missing overlay":
        (tmp_path / prompt_pack.VISIBLE).unlink()
    elif spoil == "no literal":
        catalogue.write_text(catalogue.read_text().replace("P6_QUESTION_OVERRIDES: dict[str, str] = {", "P6: dict[str, str] = {"))
    elif spoil == "code":
        catalogue.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    else:
        catalogue.write_text("def (")
    with pytest.raises(ContractError, match="WRBench's release"):
        prompt_pack.read_released_probes(catalogue)
    assert not (tmp_path / "ran").exists()


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """What WRBench's generation script writes in a dry run, with videos where a model would put them."""

    @cache
    def make(out: str, *cameras: str) -> Path:
        folder = tmp_path_factory.mktemp("generated")
        place = str(folder / "out") if out == "absolute" else "out"
        options = ["--model", "wan22-fun-5b-cam", "--out-dir", place, "--prompt-profile", "ti2v_active", *cameras]
        options += ["--dry-run", "--overwrite-existing", "--continue-on-error", "--limit", "3"]
        script = [sys.executable, "-B", str(PEER / "scripts" / "run_natural25_generation.py"), *options]
        subprocess.run([*script, "--shard-index", "0", "--num-shards", "1"], cwd=folder, check=True, capture_output=True)
        for sidecar in (folder / "out").rglob("*.camera.json"):
            frames = np.random.default_rng(0).integers(0, 255, (81, 32, 48, 3), np.uint8)
            encode(Path(str(sidecar).removesuffix(".camera.json")), frames, 16)
        return folder / "out"

    return make


@pytest.mark.parametrize("out", ["absolute", "relative"])
@pytest.mark.parametrize("moved", ["in place", "copied", "one model", "without the manifest"])
def test_the_folder_of_the_generation_script_is_read(generated, tmp_path, out, moved):
    root = generated(out, "--cameras", "yaw_LR", "static", "pan_RL")
    if moved != "in place":  # the first folder stays, and nothing may be read there
        root = shutil.copytree(root, tmp_path / "copy")
    if moved == "one model":
        root = root / "wan22-fun-5b-cam"
    if moved == "without the manifest":
        next(root.rglob("manifest.*")).unlink()
    reading = read(Source(root=str(root), layout="wrbench"))
    assert [violation.problem for violation in reading.violations] == []
    clips = {clip.camera: clip for clip in reading.clips}
    assert set(clips) == {"yaw_LR", "static", "pan_RL"}
    for name, clip in clips.items():
        assert Path(clip.target_poses).is_relative_to(root) and Path(clip.video).is_relative_to(root)
        if name != "pan_RL":  # this model's adapter scales pans
            np.testing.assert_allclose(np.load(clip.target_poses), compile(preset(name), "released"), atol=2e-6)
        assert clip.condition_type == "model-inferred" and main_profile_faults(clip.extras) == []


ROWS_OF_D1 = """
import json
from pathlib import Path
from wrbench.eval.d1.d1_camera import score_d1_row
from wrbench.eval.d1.run_vggt_omega_pose import write_pose_outputs

config = dict(
    default_frames=81, require_main_profile=True, cache_root=inputs["cache"], poses_file="poses.npy", predicted_pose_type="c2w",
    predicted_camera_convention="opencv", target_camera_convention="opencv", rot_scale_deg=45.0, trans_scale=1.0,
    yaw_weak_threshold_deg=2.0, pan_weak_threshold=1e-4, static_rot_threshold_deg=2.0, static_trans_threshold=0.05)
for line in Path(inputs["manifest"]).read_text().splitlines():
    row = json.loads(line)
    folder = Path(inputs["cache"]) / "pose" / row["video_id"]
    write_pose_outputs(inputs[row["video_id"]], output_dir=folder, expected_frames=81)
    give(row["video_id"], score_d1_row(row, config)["d1_camera_accuracy"])
"""


def test_camprec_of_the_released_files_from_the_manifest_to_the_score(generated, tmp_path):
    """Its manifest, its sidecars and its VGGT-Omega pose files, through its scorer and through ours."""
    root = generated("absolute", "--cameras", "yaw_LR", "static", "pan_RL")
    clips = read(Source(root=str(root), layout="wrbench")).clips
    rng = np.random.default_rng(4)
    made = {}
    for clip in clips:
        sway = from_yaw_pitch_roll(*rng.normal(0, 0.3, (3, 81)), position=rng.normal(0, 0.003, (81, 3)))
        made[clip.clip_id] = np.linalg.inv(np.load(clip.target_poses).astype(float) @ sway)[:, :3]
    inputs = {"manifest": str(next(root.rglob("manifest.*"))), "cache": str(tmp_path), **made}
    released = run_released(PEER, ROWS_OF_D1, inputs, folders=("src",))
    spec = METRICS.get("wrbench.cam_prec")
    for clip in clips:
        info = probe(Path(clip.video))
        entry = read_vggt_omega(tmp_path / "pose" / clip.clip_id / "poses.npy", info).pack()
        known = clip.model_copy(update={"n_frames": info.n_frames})
        context = ScoringClip(known, "official", {}, pd.DataFrame(), lambda role, entry=entry: entry, lambda role: None)
        context.settings = spec.preset("official", {})
        (item,) = score_clip([(spec, context)])[0].items
        # the files are float32: theirs inverts such a pose as a plain matrix, ours as a rigid motion
        assert item.value == pytest.approx(released.number(clip.clip_id), abs=1e-5), clip.camera
        assert item.value > 0.5


TARGETS = """
import json
from pathlib import Path
from wrbench.eval.d1.d1_camera import build_d1_target

for row in json.loads(Path(inputs["manifest"]).read_text()):
    give(row["video_id"], build_d1_target(row, default_frames=81, require_main_profile=True)["poses_c2w"])
"""
# what the row, <video>.d1_target.json and <video>.camera.json say beside the name of a target of their own; None: no such place
PLACES: dict[str, tuple[dict | None, dict | None, dict | None]] = {
    "all three": ({}, {}, {}),
    "row alone": ({}, None, None),
    "d1 and camera": (None, {}, {}),
    "camera alone": (None, None, {}),
    "further field of the row": ({"target_pose_path": None}, {}, {}),
    "row without axes": ({"target_coordinate_convention": None}, {}, {}),
    "axes under another name": ({"target_coordinate_convention": None, "metric_tier": "opencv_c2w"}, {}, {}),
    "row of a smaller turn": ({"control_profile": "diagnostic_30deg", "yaw_peak_deg": 30.0}, {}, {}),
    "row without field of view, d1 without its file": ({"fov": None}, {"target_pose_path": "/gone.npy"}, {}),
    "row with camera type only": ({"control_direction": None}, None, {}),
    "certified d1 file": (None, {"evidence_level": None, "target_certification_status": "certified"}, {}),
}


@pytest.mark.parametrize("columns", [4, 3], ids=["4x4", "3x4"])
def test_the_target_is_the_one_that_the_released_program_takes(tmp_path, columns):
    """Its three places in its order, over rows and files that are whole, partly right, or wrong; poses (N,4,4) and (N,3,4)."""
    folder, rows = tmp_path / "wan" / "videos", []
    folder.mkdir(parents=True)
    for name, places in PLACES.items():
        video = folder / f"{name}.mp4"
        encode(video, np.zeros((1, 16, 16, 3), np.uint8), 16)
        rows.append({"path": str(video), "model": "wan", "video_id": name, "camera_type": "yaw_LR"})
        Path(f"{video}.camera_trajectory.json").write_text("{}")
        for number, (place, changes) in enumerate(zip(("row", "d1_target", "camera"), places, strict=True), start=1):
            if changes is None:
                continue
            poses = compile(preset("yaw_LR"), "released")
            poses[:, 0, 3] = number * np.linspace(0, 1, len(poses))  # so that the places' targets differ
            target = f"{video}.of_{place}.npy"
            np.save(target, poses[:, :columns])
            said = to_sidecar(preset("yaw_LR"), str(video), 16, 16, 16, 60.0)
            said |= {"target_pose_path": target, "trajectory_c2w_path": target, **changes}
            if place == "row":
                rows[-1] |= said
            else:
                Path(f"{video}.{place}.json").write_text(json.dumps(said))
    (tmp_path / "manifest.json").write_text(json.dumps(rows))
    released = run_released(PEER, TARGETS, {"manifest": str(tmp_path / "manifest.json")}, folders=("src",))
    clips = read(Source(root=str(tmp_path), layout="wrbench")).clips
    assert {clip.clip_id for clip in clips} == set(PLACES)
    for clip in clips:
        ours = given_poses(ScoringClip(clip, "official", {}, pd.DataFrame(), lambda role: None, lambda role: None))
        theirs = released.arrays[clip.clip_id]
        np.testing.assert_array_equal(ours, theirs, err_msg=clip.clip_id)
        assert main_profile_faults(clip.extras) == [], clip.clip_id


def test_turns_of_other_sizes_are_told_apart_and_stay_out_of_the_main_table(generated):
    scope = PEER / "src/wrbench/data/natural25/camera_scopes/t2v_rotation_stress_30_60.json"
    clips = read(Source(root=str(generated("absolute", "--camera-scope", str(scope))), layout="wrbench")).clips
    turns = {clip.condition_id: clip for clip in clips if clip.camera != "static"}
    assert set(turns) == {"yaw30_LR", "yaw30_RL"}
    assert turns["yaw30_LR"].camera == "yaw_LR" and turns["yaw30_LR"].extras["camera_degrees"] == 30.0
    assert main_profile_faults(turns["yaw30_LR"].extras)[0] == "control_profile is 'diagnostic_30deg'"


def test_of_several_tries_the_last_one_counts(generated, tmp_path):
    root = shutil.copytree(generated("relative", "--cameras", "yaw_LR", "static", "pan_RL"), tmp_path / "out")
    manifest = next(root.rglob("manifest.*"))
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    failed = [{**row, "status": "failed", "error": "out of memory"} for row in rows]
    kept = ("model", "video_id", "path", "camera_type")
    again = [{**{name: row[name] for name in kept}, "status": "skipped_existing"} for row in rows]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in [*failed, *rows, *again]))
    reading = read(Source(root=str(root), layout="wrbench"))
    assert len(reading.clips) == 3 and not reading.violations
    assert {clip.event_level for clip in reading.clips} == {"none"}
    manifest.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *failed]))
    problems = [violation.problem for violation in read(Source(root=str(root), layout="wrbench")).violations]
    assert ["out of memory" in problem for problem in problems] == [True] * 3


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.mp4", "/elsewhere/run/videos/absent.mp4", "C:/run/absent.mp4"])
def test_what_leads_out_of_the_dataset_is_refused(generated, tmp_path, path):
    root = shutil.copytree(generated("relative", "--cameras", "yaw_LR", "static", "pan_RL"), tmp_path / "out")
    manifest = next(root.rglob("manifest.*"))
    (root.parent / "outside.mp4").write_bytes(b"x")
    row = json.loads(manifest.read_text().splitlines()[0])
    manifest.write_text(json.dumps({**row, "path": path}) + "\n")
    reading = read(Source(root=str(root), layout="wrbench"))
    assert reading.clips == []
    assert "dataset" in reading.violations[0].problem
