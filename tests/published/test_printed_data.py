"""The transcribed tables: their register, their source, their digits."""

from __future__ import annotations

import re
from importlib import resources

import pandas as pd
import pytest
from lookback.paths import project_root
from lookback.published import _read as printed
from lookback.published import half_digits, load, names

SHARED = project_root().parent / "shared" / "published"
PAPERS = project_root().parent / "shared" / "seeds"
# table: the columns that stand in one line of the paper's text, in this order (marks, units and citations stand between them)
LINES = {
    "wrbench_table2": "model cam_prec cam_align visual_integrity reobs_support_pct visible_spatial visible_state "
    "reobs_spatial reobs_state avg",
    "memobench_table2_3": "model visual_quality motion_smoothness object_consistency geo3d_consistency ors psnr ssim lpips "
    "camera_controllability image_reward",
    "memobench_tableS1_configurations": "model type ability fps length_s frames",
    "memobench_tableS2_trajectories": "n_clips rotation_deg gap_frames",
    "memobench_tableS3_coverage": "cov_min_pct cov_max_pct lingbot_mean lingbot_sd svc_mean svc_sd",
    "memobench_tableS4_prompts": "lingbot_mean lingbot_sd svc_mean svc_sd",
    "memobench_tableS5_motion_gated": "model n camera_controllability ors psnr ssim object_consistency geo3d_consistency",
    "memobench_tableS6_phase_fidelity": "model psnr_v psnr_r psnr_delta ssim_v ssim_r ssim_delta lpips_v lpips_r lpips_delta",
    "memobench_tableS7_sensitivity": "kendall_tau",
    "memobench_tableS8_camera": "model n ate_rotation_deg_mean ate_rotation_deg_sd camera_controllability gt_rotation_deg",
    "memobench_tableS9_conditioning": "variant psnr lpips ors object_consistency motion_smoothness geo3d_consistency",
    "memobench_tableS10_failures": "object_vanish identity_drift state_reset teleport background_hallucination camera_drift",
}

# files that are not tables of results: the registers, and the cells that a paper underlines
REGISTERS = ("dimensions", "memobench_underlined", "models")


def test_the_register_names_every_table_and_no_other():
    readme = (resources.files("lookback.published") / "data" / "README.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)\.csv`", readme, flags=re.MULTILINE))
    assert listed == set(names()) - {"dimensions", "models"}
    assert set(REGISTERS) <= set(names())


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.csv")), ids=lambda path: path.stem)
def test_shipped_tables_are_the_reference_transcription(path):
    pd.testing.assert_frame_equal(load(path.stem), pd.read_csv(path))


def test_reference_transcriptions_are_there():
    if not SHARED.is_dir():
        pytest.skip("no ../shared/published beside this checkout: the shipped tables cannot be compared with it")
    assert {path.stem for path in SHARED.glob("*.csv")} <= set(names())


@pytest.mark.parametrize("name", LINES)
def test_every_row_stands_in_the_papers_text(name):
    paper = PAPERS / f"{name.partition('_')[0]}_paper.txt"
    if not paper.is_file():
        pytest.skip(
            f"no ../shared/seeds/{paper.name} beside this checkout: the transcription cannot be compared with the paper's text"
        )
    lines = paper.read_text().splitlines()
    rows = printed(name, str)[LINES[name].split()]
    for row in rows.itertuples(index=False):
        pattern = r"(?!\d).*?(?<![\d.])".join(re.escape(value) for value in row if not pd.isna(value)) + r"(?!\d)"
        assert any(re.search(pattern, line) for line in lines), f"{name}: no line of {paper.name} has {row}"


def test_half_a_digit_follows_the_print():
    assert half_digits("wrbench_table2").loc[0, "avg"] == 0.0005
    assert half_digits("wrbench_table2").loc[0, "reobs_support_pct"] == 0.05
    assert half_digits("wrbench_table2")["n_outputs"].eq(0).all()  # a count is exact
    assert (
        half_digits("memobench_tableS2_trajectories").loc[0, "rotation_deg"] == 0.5
    )  # a measurement printed without digits is not
    # table S9 prints 8.70 and 12.9 in one column
    assert half_digits("memobench_tableS9_conditioning")["psnr"].tolist() == [0.005, 0.05, 0.005, 0.05]


def test_a_missing_score_has_no_rounding():
    prompt_only = load("wrbench_table2")["cam_prec"].isna()
    assert half_digits("wrbench_table2").loc[prompt_only, "cam_prec"].eq(0).all()


def test_a_loaded_table_can_be_changed_without_changing_the_next():
    table = load("wrbench_table2")
    table.loc[0, "avg"] = 9.0
    assert load("wrbench_table2").loc[0, "avg"] == 0.667
