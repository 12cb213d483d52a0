"""MemoBench's printed tables, and the uncertainty of the ranks in its table S8."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.published import load
from lookback.published.printed import Printed, PrintedPaper, RankGroup
from lookback.report.table import PaperTable
from lookback.stats.rankings import rank_intervals

MAIN = (
    "visual_quality motion_smoothness object_consistency geo3d_consistency ors psnr ssim lpips camera_controllability image_reward"
)
SHOWN = "VisQual MotSmooth ObjConsist 3DConsist ORS PSNR SSIM LPIPS CamCtrl ImgReward"  # the same columns in a run's table
OWN = dict(zip(MAIN.split(), SHOWN.split(), strict=True))
VQA = "vqa_instruction_following vqa_object_background vqa_continuity_of_memory vqa_physics_adherence"
PHASES = {
    f"{name}_{part}": f"{name.upper()} {'drop' if part == 'delta' else part.upper()}"
    for name in ("psnr", "ssim", "lpips")
    for part in ("v", "r", "delta")
}
TABLES = (
    Printed(
        "memobench-2",
        "memobench_table2_3",
        "MemoBench table 2: automated metrics",
        labels=("category", "model"),
        columns=tuple(MAIN.split()),
        marked=True,
        conclusion="LTX-Video leads three quality columns because it hardly moves the camera. HunyuanWorldPlay both moves and "
        "brings the "
        "object back most often.",
        notes=("Best and second best over all ten models, as the paper marks them. LPIPS: less is better.",),
        own_columns=OWN,
    ),
    Printed(
        "memobench-3",
        "memobench_table2_3",
        "MemoBench table 3: VQA pass rate by dimension",
        labels=("category", "model"),
        columns=tuple(VQA.split()),
        marked=True,
        conclusion="Consistency answers favour models that stand still; instruction following reverses the order.",
        notes=("Best and second best over all ten models.",),
        own_columns={
            "vqa_instruction_following": "Instruction following",
            "vqa_object_background": "Object and background",
            "vqa_continuity_of_memory": "Continuity of memory",
            "vqa_physics_adherence": "Physics adherence",
        },
    ),
    Printed(
        "memobench-s1",
        "memobench_tableS1_configurations",
        "MemoBench table S1: model configurations",
        labels=("model", "type", "ability", "resolution", "camera"),
    ),
    Printed(
        "memobench-s2",
        "memobench_tableS2_trajectories",
        "MemoBench table S2: camera trajectories",
        labels=("subset", "trajectory"),
    ),
    Printed(
        "memobench-s3",
        "memobench_tableS3_coverage",
        "MemoBench table S3: ORS by mask-coverage range, mean and sd over 30 clips",
        labels=(),
        conclusion="The sd over clips is as large as the mean; with 30 clips the standard error is several times the range "
        "between settings.",
    ),
    Printed(
        "memobench-s4",
        "memobench_tableS4_prompts",
        "MemoBench table S4: ORS by prompt style, mean and sd over 30 clips",
        labels=("prompt_style",),
    ),
    Printed(
        "memobench-s5",
        "memobench_tableS5_motion_gated",
        "MemoBench table S5: clips with at least 90 degrees of rotation",
        marked=True,
        own_columns={**OWN, "n": "n"},
        notes=("Best and second best are marked by us.",),
    ),
    Printed(
        "memobench-s6",
        "memobench_tableS6_phase_fidelity",
        "MemoBench table S6: fidelity while visible (V), after the return (R), and the drop",
        marked=True,
        lower=("psnr_delta", "ssim_delta", "lpips_v", "lpips_r", "lpips_delta"),
        headers=PHASES,
        own_columns=PHASES,
        conclusion="Every model loses fidelity between V and R, and every printed drop recomputes from its two columns within "
        "rounding.",
        notes=("Best and second best are marked by us.",),
    ),
    Printed(
        "memobench-s7",
        "memobench_tableS7_sensitivity",
        "MemoBench table S7: Kendall's tau of hyper-parameter variants",
        labels=("metric", "variant", "default"),
    ),
    Printed(
        "memobench-s8",
        "memobench_tableS8_camera",
        "MemoBench table S8: camera pose validation",
        marked=True,
        lower=("ate_rotation_deg_mean", "ate_rotation_deg_sd"),
        headers={
            "ate_rotation_deg_mean": "ATE rotation (deg), mean",
            "ate_rotation_deg_sd": "ATE rotation (deg), sd",
            "gt_rotation_deg": "true rotation (deg)",
        },
        own_columns={
            "n": "n",
            "ate_rotation_deg_mean": "ATE rot. mean (deg)",
            "ate_rotation_deg_sd": "ATE rot. sd (deg)",
            "camera_controllability": "CamCtrl",
            "gt_rotation_deg": "GT rotation (deg)",
        },
        conclusion="Over these rows rotation error and camera controllability go together far more closely than the text says; "
        "see the claims.",
        notes=("Best and second best are marked by us.",),
    ),
    Printed(
        "memobench-s9",
        "memobench_tableS9_conditioning",
        "MemoBench table S9: Wan2.2 with and without the first frame",
        labels=("variant", "backbone", "v_frame"),
        notes=("The paper prints PSNR with one or two digits; the missing digit is shown as 0.",),
    ),
    Printed(
        "memobench-s10",
        "memobench_tableS10_failures",
        "MemoBench table S10: failures of LingBot-World, non-exclusive",
        labels=("split",),
    ),
)


def pose_table() -> PaperTable:
    """MemoBench S8: rotation error with its standard error and the interval of its place."""
    table = load("memobench_tableS8_camera")
    error = table["ate_rotation_deg_sd"] / np.sqrt(table["n"])
    places = rank_intervals(-table["ate_rotation_deg_mean"], error)
    frame = pd.DataFrame(
        {
            "model": table["model"],
            "clips": table["n"],
            "rotation error (deg)": table["ate_rotation_deg_mean"],
            "standard error": error,
            "place": table["ate_rotation_deg_mean"].rank(method="min").astype(int),
            "place from": places["low"],
            "place to": places["high"],
        }
    )
    return PaperTable(
        "ranks-memobench-s8",
        "MemoBench table S8: rotation error, its standard error, and the 95 % interval of the place",
        frame,
        ["model"],
        {"rotation error (deg)": 1, "standard error": 1},
        notes=[
            "Places that hold for all models at once (Mogstad et al. 2024), from sd / sqrt(n), models independent. The models "
            "share their clips, so paired differences would be sharper."
        ],
        conclusion="The four camera-conditioned models are told apart; the last four places are open.",
    )


PAPER = PrintedPaper(
    "MemoBench",
    "Ten models in the main tables, eight in most supplementary ones. Every table of results is here.",
    TABLES,
    (RankGroup("memobench", "MemoBench"),),
    sampled=lambda: [pose_table()],
)
