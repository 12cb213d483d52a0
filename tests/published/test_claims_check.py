"""Sentences against tables. Expected numbers are the papers' own, recomputed here with scipy or by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.errors import UsageError
from lookback.published import load
from lookback.published.claims import AGREES, CANNOT, DISAGREES, Claim, check, check_all, load_claims
from pydantic import ValidationError
from scipy import stats

# every sentence that does not agree with its paper's tables, each read in the paper by a person
KNOWN_DISAGREEMENTS = {
    "mbench-models-introduction",  # "12 models", table 2 has 14
    "mbench-correctness-gated",  # a product with the state, above the state in 11 of 14 rows
    "mbench-state-scale",  # raw/5 starts at 20, Matrix-Game 2.0 has 10
    "memobench-ors-04",  # "no model exceeds 0.4", HunyuanWorldPlay has 0.582
    "memobench-svc-vqa",  # "below-average", instruction following is above
    "memobench-fantasyworld-size",  # 336x592 in the text, 480x832 in table S1
    "memobench-s5-clips",  # "80 clips per model", CogVideoX has 45
    "memobench-s8-clips",  # "all 159 synthetic clips", there are 196
    "memobench-s8-rho",  # -0.355 in the text
    "wrbench-returns-low",  # "3-6 %", the prompt-only rows start at 1.0
    "wrbench-returns-high",  # and end at 12.7
    "wrbench-hydra-precision-rows",  # "of all 23 rows", 16 have CamPrec
}


def test_many_claims_of_all_four_papers_are_checked(verdicts):
    assert len(verdicts) >= 140
    assert {verdict.claim.paper for verdict in verdicts.values()} == {"MBench", "MemoBench", "WRBench", "MIND"}


def test_exactly_the_known_sentences_disagree(verdicts):
    assert {name for name, verdict in verdicts.items() if verdict.status == DISAGREES} == KNOWN_DISAGREEMENTS


def test_disagreements_come_first(verdicts, tables):
    chosen = [verdicts[name].claim for name in ("wrbench-models", "wrbench-verdicts", "memobench-ors-04")]
    assert [verdict.status for verdict in check_all(chosen, tables)] == [DISAGREES, CANNOT, AGREES]


def test_what_cannot_be_recomputed_says_why(verdicts):
    open_ones = [verdict for verdict in verdicts.values() if verdict.status == CANNOT]
    assert open_ones
    assert all(len(verdict.claim.why) > 20 and verdict.recomputed is None for verdict in open_ones)


def test_claims_have_names_of_their_own():
    names = [claim.id for claim in load_claims()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("wrbench-r-visible", "visible_spatial", "visible_state"),
        ("wrbench-r-reobserved", "reobs_spatial", "reobs_state"),
        ("wrbench-r-support-visible", "reobs_support_pct", "visible_spatial"),
        ("wrbench-r-support-integrity", "reobs_support_pct", "visual_integrity"),
        ("wrbench-r-support-state", "reobs_support_pct", "reobs_state"),
    ],
)
def test_correlations_of_wrbench_figure_4_recompute(verdicts, name, x, y):
    table = load("wrbench_table2")
    verdict = verdicts[name]
    assert verdict.recomputed == pytest.approx(stats.pearsonr(table[x], table[y]).statistic, abs=1e-12)
    assert verdict.status == AGREES
    assert verdict.tolerance < 0.013  # rounding explains the third digit, not the second


def test_correlation_between_ate_and_camera_control_is_scipys(verdicts):
    table = load("memobench_tableS8_camera")
    expected = stats.spearmanr(table["ate_rotation_deg_mean"], table["camera_controllability"]).statistic
    assert verdicts["memobench-s8-rho"].recomputed == pytest.approx(expected, abs=1e-12)


def test_wrbench_averages_and_daggers_recompute_in_every_row(verdicts):
    assert (verdicts["wrbench-averages"].recomputed, verdicts["wrbench-daggers"].recomputed) == (23, 23)


def test_an_altered_average_or_dagger_is_found(verdicts, tables):
    tables["wrbench_table2"].loc[3, "avg"] += 0.002
    tables["wrbench_table2"].loc[5, "sparse"] = True
    for name in ("wrbench-averages", "wrbench-daggers"):
        altered = check(verdicts[name].claim, tables)
        assert (altered.status, altered.recomputed) == (DISAGREES, 22)


def test_the_24_drops_of_memobench_s6_recompute(verdicts, tables):
    assert verdicts["memobench-s6-deltas"].recomputed == 24
    table = tables["memobench_tableS6_phase_fidelity"]
    assert np.allclose(table["psnr_v"] - table["psnr_r"], table["psnr_delta"], atol=0.0151)
    table.loc[0, "ssim_delta"] = 0.158
    altered = check(verdicts["memobench-s6-deltas"].claim, tables)
    assert (altered.status, altered.recomputed) == (DISAGREES, 23)


@pytest.mark.parametrize("quoted", ["0.875", "0.877"])
def test_a_quoted_number_one_digit_off_does_not_agree(tables, quoted):
    spec = {"function": "cell", "table": "wrbench_table2", "row": "Lingbot World Cam", "column": "visible_spatial"}
    claim = Claim(id="x", where="", sentence="", quoted=quoted, compute=spec)  # the table has 0.876
    assert check(claim, tables).status == DISAGREES


def test_a_wrong_correlation_does_not_agree(verdicts, tables):
    claim = verdicts["wrbench-r-visible"].claim.model_copy(update={"quoted": "0.95"})
    assert check(claim, tables).status == DISAGREES


def test_rounding_of_a_difference_is_that_of_both_numbers(verdicts):
    # 0.527 - 0.289 = 0.238, printed 0.239: half a digit of the quoted number and of either input
    assert verdicts["memobench-s6-matrix-ssim"].tolerance == pytest.approx(0.0015)
    assert verdicts["memobench-s6-matrix-ssim"].status == AGREES


def test_wrbench_judgeable_outputs_add_up(verdicts):
    table = load("wrbench_table2")
    by_hand = sum(n * share / 100 for n, share in zip(table["n_outputs"], table["reobs_support_pct"], strict=True))
    assert verdicts["wrbench-judgeable"].recomputed == pytest.approx(by_hand)
    assert abs(by_hand - 2073) < 1


def test_a_claim_needs_a_recomputation_or_a_reason():
    with pytest.raises(ValidationError, match="needs either"):
        Claim(id="x", where="", sentence="", quoted="1")


def test_a_row_or_function_that_does_not_exist_is_named(tables):
    claim = Claim(id="x", where="", sentence="", quoted="1", compute={"function": "guess"})
    with pytest.raises(UsageError, match="no recomputation 'guess'"):
        check(claim, tables)
    spec = {"function": "cell", "table": "wrbench_table2", "row": "Sora", "column": "avg"}
    with pytest.raises(UsageError, match="no row with model = 'Sora'"):
        check(claim.model_copy(update={"compute": spec}), tables)
