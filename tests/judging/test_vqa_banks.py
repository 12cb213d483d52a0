"""Banks of the released question maker: its spelling of scenes, and polarities that only a dimension's name states."""

import json
from pathlib import Path

import pytest
from lookback.benchmarks.memobench.metrics.vqa import vqa_pass_rate
from lookback.benchmarks.memobench.vqa.bank import DIMENSIONS, STAGES, BankQuestion, from_part_id, parse_bank, read_question_files
from lookback.benchmarks.memobench.vqa.pipeline import read_banks
from lookback.errors import NotScorable, Reason
from lookback.judging.verdicts import JudgedClip, Verdict
from lookback.registry import METRICS

# how the released question maker names the dimensions; it keeps no column "Dimension Polarity"
NAMED = [f"{name} ({side} Polarity)" for name, side in zip(DIMENSIONS, ("Positive", "Negative") * 2, strict=True)]


def question_file(folder: Path, scene: str, number: int, dimensions=NAMED) -> None:
    rows = [{"ID": k, "Dimension": name, "Question": f"Q{k}?"} for k, name in enumerate(dimensions, 1)]
    cells = [scene, str(number), *(json.dumps(rows if "uestions" in stage else []).replace('"', '""') for stage in STAGES)]
    text = ",".join(["scene", "video_id", *STAGES]) + "\n" + ",".join(f'"{cell}"' for cell in cells) + "\n"
    (folder / f"{scene}-{number}-questions.csv").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "scene", "clip_id"),
    [
        ("Zen_Garden", "ZenGarden", "ZenGarden_009"),
        ("ZenGarden", "Zen_Garden", "Zen_Garden_009"),
        ("NYC-East", "NYC_East", "NYC_East_009"),
        ("Real", "a clear glass of water", "real_009"),
    ],
)
def test_a_bank_finds_its_clip_however_the_scene_is_spelt(tmp_path, make_clip, written, scene, clip_id):
    question_file(tmp_path, written, 9)
    question_file(tmp_path, written, 10)
    clip = make_clip(benchmark="memobench", setting="synthetic", scene=scene, clip_id=clip_id)
    bank = read_banks([clip], read_question_files(tmp_path))[("synthetic", clip_id)]
    assert (bank.reason, len(bank.questions)) == (None, 4)
    other = make_clip(benchmark="memobench", setting="synthetic", scene=scene + "2", clip_id=clip_id.replace("_", "2_"))
    missing = read_banks([other], read_question_files(tmp_path))[("synthetic", other.clip_id)]
    assert missing.reason == Reason.MISSING_INPUT


def test_a_polarity_in_the_dimension_s_name_survives_tables_and_records():
    question = parse_bank(json.dumps([{"ID": 4, "Dimension": NAMED[1], "Question": "Does it change?"}]), complete=False)[0]
    assert question == BankQuestion("4", "Object and Background", "named_negative", "Does it change?")
    assert from_part_id(question.part_id, question.text) == question and question.side == "negative"
    assert question.record() == {"ID": "4", "Dimension": NAMED[1], "Question": "Does it change?"}
    assert question.passes("no") and not question.passes("yes")


def test_the_switch_of_polarity_official_takes_all_for_positive_corrected_reads_the_name():
    """The released scorer looks up a key that its question maker does not keep (llm-vqa.py:277-298)."""
    questions = [{"ID": k, "Dimension": name, "Question": "?"} for k, name in enumerate(NAMED)]
    answers = [{"ID": k, "Answer": "No"} for k in range(4)]
    assert vqa_pass_rate(answers, questions, variant="official") == dict.fromkeys(DIMENSIONS, 0.0)
    assert vqa_pass_rate(answers, questions, variant="corrected") == dict(zip(DIMENSIONS, (0.0, 1.0) * 2, strict=True))
    with pytest.raises(NotScorable, match="polarity"):
        vqa_pass_rate(answers, questions, variant="paper")


def test_the_switch_reaches_the_metric(make_clip):
    clip = make_clip(benchmark="memobench")
    asked = [BankQuestion(str(k), "Physics Adherence", "named_negative", "?") for k in range(2)]
    verdicts = {question.part_id: Verdict("no", 1.0, None, "judge", "no") for question in asked}
    spec = METRICS.get("memobench.vqa_physics_adherence")
    values = {variant: spec.score(JudgedClip(clip, variant, {"vqa": verdicts})).value for variant in ("official", "corrected")}
    assert values == {"official": 0.0, "corrected": 1.0}
