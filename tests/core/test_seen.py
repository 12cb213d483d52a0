"""The notebooks' sentences are counted from their tables, and every notebook tells its story whole."""

import nbformat
import pandas as pd
import pytest
from lookback import seen
from lookback.judging import quality
from lookback.paths import project_root
from lookback.pipeline import STAGES

KEY = {"benchmark": "b", "setting": "", "subset": "s"}


def rows(*each: dict) -> pd.DataFrame:
    return pd.DataFrame([KEY | {"model_id": "m", "clip_id": "c", "scene": "x"} | row for row in each])


def test_curation_counts_clips_memory_tests_and_single_scenes():
    clips = rows({"clip_id": "1"}, {"clip_id": "2", "model_id": "n", "scene": "y"}, {"clip_id": "3", "subset": "t"})
    screen = pd.DataFrame({"departs": [True, True, None], "returns": [True, False, None]})
    told = list(seen.curation(clips, screen, rows()))
    assert told[0] == "3 clips of 2 models from 1 benchmark can be used; no clip rejected."
    assert "known for 2 clips. 1 of them belongs to a task that asks for" in told[1] and told[1].endswith("1 does not.")
    assert told[2].startswith("1 of 2 subsets has a single scene: its means")


def test_rejected_clips_are_counted_apart_from_missing_ground_truths_and_files():
    clips, screen = rows({}), pd.DataFrame({"departs": [None], "returns": [None]})
    truth = {"path": "data", "field": "ground_truth", "reason": "missing_input"}
    broken = pd.DataFrame([
        {**truth, "problem": "no 'a'"}, {**truth, "problem": "no 'b'"},
        {"path": "data/c.mp4", "field": "video", "reason": "decode_failed", "problem": "cannot be opened"},
        {"path": "data/d.npz", "field": "poses", "reason": "invalid_input", "problem": "NaN"},
        {"path": "data/d.npz", "field": "poses", "reason": "invalid_input", "problem": "too few rows"},
    ])  # fmt: skip
    words = "1 clip rejected, 2 tasks without ground truth, 1 file that cannot be used"
    assert next(seen.curation(clips, screen, broken)) == f"1 clip of 1 model from 1 benchmark can be used; {words}."
    assert next(seen.curation(clips, screen, broken[:1])).endswith("can be used; 1 task without ground truth.")


def test_extraction_names_mixed_sources_and_the_most_common_reason():
    made = [{"role": "pose", "backend": name, "reason": ""} for name in ("files", "files", "classical")]
    told = list(seen.extraction(rows(*made, {"role": "masks", "backend": "", "reason": "no_mask"})))
    assert told[0] == "3 of 4 artifacts were made (75%)."
    assert "role pose comes from more than one source: files for 2 clips, classical for 1 clip" in told[1]
    assert told[2] == "1 artifact is missing; the most common reason is no_mask (1)."


def test_scoring_finds_the_metric_that_tells_models_apart():
    def scores(metric: str, *values: float) -> list[dict]:
        return [
            {"metric": metric, "phase": "", "value": value, "reason": "", "model_id": model, "scene": f"s{scene}"}
            for model, own in zip("mn", (values[: len(values) // 2], values[len(values) // 2 :]), strict=True)
            for scene, value in enumerate(own)
        ]

    sharp = [0, 2] * 3 + [8, 10] * 3
    blank = {"metric": "none", "phase": "", "value": None, "reason": "no_poses"}
    told = list(seen.scoring(rows(*scores("sharp", *sharp), *scores("dull", *[0, 2] * 6), blank)))
    assert told[:3] == [
        "24 of 25 scores have a value (96%).", "1 score is missing; the most common reason is no_poses (1).",
        "1 metric gave no value at all: none.",
    ]  # fmt: skip
    # by hand: the means are 1 and 9 around 5, so 4 x 16 of a total of 25 + 9 + 9 + 25, three times
    assert told[3] == f"In b, sharp tells the models apart best: the model explains {64 / 68:.0%} of the variance between clips."
    few = rows(*scores("sharp", *sharp))
    assert len(list(seen.scoring(few[few["scene"] < "s4"]))) == 1, "four scenes tell nobody apart"
    assert len(list(seen.scoring(few.drop(columns="scene")))) == 1, "one task: at most one scene"


def test_one_score_per_model_tells_nobody_apart():
    single = rows(*({"metric": "a", "phase": "", "value": value, "reason": "", "model_id": str(value)} for value in (1, 2)))
    assert list(seen.scoring(single)) == ["2 of 2 scores have a value (100%)."]


def test_judging_says_what_is_simulated_what_the_gate_removed_and_who_is_right():
    answers = rows({"simulated": True}, {"simulated": False})
    gated = rows({"reason": "not_triggered"}, {"reason": "not_triggered"}, {"reason": ""})
    right = pd.DataFrame([{"judge": "j", "decision": "both", "clips": 4, "right": 3, "share": 0.75}])
    assert list(seen.judging(answers, gated, right)) == [
        "2 answers were given, 1 of them by a simulated judge.",
        "The gate removed 2 scores of 1 clip: the memory challenge did not happen there.",
        "The judge j is right in 3 of 4 decisions whose answer is known (75%).",
    ]
    nothing = quality.truth_agreement(pd.DataFrame(columns=["judge", "decision", "said", "true"]))
    assert len(list(seen.judging(answers, gated, nothing))) == 2


def test_forensics_names_the_most_common_and_the_surest_failure():
    found = {"frame_start": 3, "frame_end": 9, "evidence": "it is gone"}
    failures = rows(
        {"label": "hard_cut", "confidence": 0.6, **found}, {"label": "hard_cut", "confidence": 0.5, "clip_id": "d", **found},
        {"label": "object_vanishes", "confidence": 0.9, "clip_id": "e", **found},
    )  # fmt: skip
    told = list(seen.forensics(failures, rows(*({"clip_id": name} for name in "cdef")), rows({"reason": "no_mask"})))
    assert told[0] == "3 failures were found in 3 of 4 clips." and told[1] == "The most common is hard cut, in 2 clips."
    assert "object vanishes in e of m, frames 3 to 9 (probability 0.90): it is gone" in told[2] and "no_mask" in told[3]
    assert list(seen.forensics(failures.head(0), rows({}), rows({"reason": ""}))) == ["0 failures were found in 0 of 1 clip."]


def test_one_is_said_as_one_and_what_is_equally_common_is_named_together():
    failure = {"label": "hard_cut", "confidence": 0.6, "frame_start": 3, "frame_end": 9, "evidence": "it is gone"}
    silent = rows({"reason": "no_mask"}, {"reason": "no_face"})
    told = list(seen.forensics(rows(failure), rows({}), silent))
    assert told[0] == "1 failure was found in 1 of 1 clip."
    assert told[-1] == "2 decisions are missing; the most common reasons are no_face, no_mask (1 each)."
    two = list(seen.forensics(rows(failure, failure | {"label": "object_vanishes"}), rows({}), silent.head(0)))
    assert two[1] == "The most common are hard cut, object vanishes, each in 1 clip."
    made = {"role": "pose", "backend": "files", "reason": ""}
    assert next(seen.extraction(rows(made, made | {"reason": "no_mask"}))) == "1 of 2 artifacts was made (50%)."
    right = pd.DataFrame([{"judge": "j", "decision": "both", "clips": 1, "right": 1, "share": 1.0}])
    judged = list(seen.judging(rows({"simulated": False}), rows({"reason": ""}), right))
    assert judged == [
        "1 answer was given, 0 of them by a simulated judge.",
        "The judge j is right in 1 of 1 decision whose answer is known (100%).",
    ]


def test_the_audit_counts_verdicts_and_warns_of_few_clips():
    frame = pd.DataFrame(
        {"failure": ["hard_cut", "teleport", "duplicate"], "verdict": ["caught", "caught", "missed"], "n": [2, 5, 0]}
    )
    told = list(seen.audit(frame))
    assert told[0] == "2 of 3 injected failures: caught (hard cut, teleport)." and "is 2:" in told[-1]
    assert list(seen.audit(frame.head(0))) == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.notebook)
def test_every_notebook_tells_its_story(stage):
    """Question, what is done, what one sees, what it does not show."""
    cells = nbformat.read(project_root() / "notebooks" / f"{stage.notebook}.ipynb", as_version=4).cells
    first = cells[0].source
    assert "**Question.**" in first and "**What is done.**" in first
    assert any(cell.source.startswith(("## What this does not show", "## Limits")) for cell in cells)
    says = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    if stage.name not in ("agreement", "report"):  # their tables come with a reading each
        assert f"show_sentences(seen.{stage.name}(" in says
