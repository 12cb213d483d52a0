"""What runs in the child process beside WRBench's released program (see `lookback.parity`): it is called there, never copied."""

PATHS = """
from wrbench import presets
from wrbench.builder import build_camera_trajectory

for name in presets.PRESETS:
    for frames in inputs["lengths"]:
        give(f"{name}@{frames}", build_camera_trajectory(presets.build_preset(name, frames=frames), width=832, height=480).c2w)
attempt("scripts", lambda: np.concatenate([build_camera_trajectory(s, width=832, height=480).c2w for s in inputs["scripts"]]))
"""

PRECISION = """
from wrbench.eval.d1.d1_camera import score_d1_trajectory

names = ("rot_scale_deg", "trans_scale", "yaw_weak_threshold_deg", "pan_weak_threshold", "static_rot_threshold_deg",
         "static_trans_threshold")
settings = {name: inputs[name] for name in names}
axes = dict(predicted_pose_type="c2w", predicted_camera_convention="opencv", target_camera_convention="opencv")
for place, camera in enumerate(inputs["requests"]):
    found = score_d1_trajectory(inputs[f"target{place}"], inputs[f"made{place}"], camera_type=camera, **axes, **settings)
    give(f"score{place}", found.get("d1_camera_accuracy"))
"""

ALIGNMENT = """
from wrbench.eval.d1.camera_intent import score_camera_intent

for place, camera in enumerate(inputs["requests"]):
    give(f"score{place}", score_camera_intent(inputs[f"made{place}"], intent=camera)["d1_camalign_score"])
"""

TABLE = """
from wrbench.eval.aggregate.build_wrbench_vnext_main_table import build_table

MODEL = "hailuo-2.3"
runtime, alignment, quality = [], [], []
for place, row in enumerate(inputs["rows"]):
    names = {"video_id": f"v{place}", "model": MODEL, "camera_type": row["request"]}
    d3, d4, d5, d6 = row["probes"]
    gate = row["gate"]
    runtime.append({**names, "vlm_spatial_fidelity": d3, "vlm_state_fidelity": d4,
                    "vlm_spatial_reasoning": d5 if gate else None, "vlm_state_reasoning": d6 if gate else None,
                    "runtime_v2_evidence_shared_oov_applicable": gate})
    alignment.append({**names, "d1_camalign_score": row["score"], "d1_camalign_status": row["status"]})
    quality.append({**names, "d2_selected_visual_integrity_score": 0.5})
(table,), _ = build_table(runtime_records=runtime, d1_records=[], d2_records=quality, d1_camalign_records=alignment)
for name in ("D1_camalign", "D3_spatial_in", "D4_state_in", "D5_spatial_oov", "D6_state_oov", "reobservation_support"):
    give(name, table[name])
"""

SAMPLER = """
from wrbench.eval.d2.extract_d2_dinov2_consistency_features import _frame_indices_for_sampling

for place, (frames, fps) in enumerate(inputs["cases"]):
    give(f"frames{place}", np.array(_frame_indices_for_sampling(
        source_frame_count=frames, source_fps=fps, sample_policy="time_fps", sample_fps=inputs["fps"],
        min_frames=inputs["fewest"], max_frames=inputs["most"]), dtype=float))
"""

PROBES = """
from wrbench.eval.scoring import prompts_v2_probe as prompts
from wrbench.eval.scoring import run_local_qwen35_probe_logprob_scorer as scorer

for place, row in enumerate(inputs["logits"]):
    give(f"p{place}", scorer.binary_probability_from_logits(row, yes_token_ids={0, 1, 2, 3}, no_token_ids={4, 5, 6, 7}))
scoring = [probe.probe_id for probe in prompts.active_probe_catalog() if probe.role == "score"]
names = {"D3": "d3_spatial_in_view_score", "D4": "d4_state_in_view_score", "D5": "d5_spatial_oov_score", "D6": "d6_state_oov_score"}
for place, row in enumerate(inputs["answers"]):
    results = {name: {"p_yes": float(p)} for k, (name, p) in enumerate(zip(scoring, row)) if not (place == 2 and k == 4)}
    found = scorer.aggregate_probe_results(results, video_id="v", sampling_fps="2", frames_used=8)
    for name, field in names.items():
        give(f"{name}_{place}", found[field])
"""

GATE = """
from wrbench.eval.scoring import build_qwen3vl_binary_na_rescue_manifest as rescue
from wrbench.eval.scoring import export_runtime_v2_evidence_first as export
from wrbench.eval.scoring import merge_qwen3vl_rescue_evidence as merge
from wrbench.eval.scoring import run_local_qwen3vl_video_evidence as evidence


def seconds(text):
    return [{"sec": k, "judgeable": "yes" if letter == "y" else "no", "note": ""} for k, letter in enumerate(text)]


found = {"reobserved_spatial": [], "reobserved_state": [], "support": []}
for first, second, (d5, d6), planned in inputs["cases"]:
    manifest = [{"video_id": "v"}]
    baseline = [evidence.add_evidence_first_fields({"video_id": "v", "per_second": seconds(first)})]
    asked_again, _ = rescue.build_rescue_manifest(manifest=manifest, evidence_rows=baseline)
    again = []
    if second and asked_again:
        said = {"video_id": "v", "per_second": seconds(second), "gate": {"d5_applicable": d5, "d6_applicable": d6}}
        again = [evidence.add_guarded_teacher_gate_fields(said)]
    (row,), _ = merge.overlay_evidence(manifest=manifest, baseline_rows=baseline, rescue_rows=again)
    scores = {"video_id": "v", "oov_gap": "yaw_LR" if planned else "none"}
    scores.update(runtime_v2_d5_raw_score=0.5, runtime_v2_d6_raw_score=0.5)
    out = export.attach_evidence(scores, row, policy=export.EVIDENCE_GATE_MASKED_POLICY)
    found["reobserved_spatial"].append(out["runtime_v2_evidence_d5_applicable"])
    found["reobserved_state"].append(out["runtime_v2_evidence_d6_applicable"])
    found["support"].append(out["runtime_v2_evidence_shared_oov_applicable"])
for name, flags in found.items():
    give(name, np.array(flags, dtype=float))
"""

INTEGRITY = """
import time
from transformers import AutoImageProcessor, AutoModel
from wrbench.eval.d2 import extract_d2_dinov2_local_global_candidate as d2

processor = AutoImageProcessor.from_pretrained(inputs["model"], local_files_only=True)
model = AutoModel.from_pretrained(inputs["model"], local_files_only=True).eval()
for place, video in enumerate(inputs["videos"]):
    started = time.perf_counter(), time.process_time()
    attempt(f"score{place}", lambda: d2._extract_one(
        {"video_id": "v", "video_path": video}, processor, model, "cpu", "time_fps", 2.0, 4, 16, 8, None,
    )["d2_selected_visual_integrity_score"])
give("clock", [time.perf_counter() - started[0], time.process_time() - started[1]])  # of the last video, for bench/race.py
"""
