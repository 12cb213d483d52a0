"""Prompts are versioned files, name their source, and say what the papers print."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from lookback.benchmarks.wrbench.judging import probes, scoring_probes
from lookback.benchmarks.wrbench.metrics.probes import PROBES
from lookback.errors import ContractError
from lookback.judging.parsing import interpret
from lookback.judging.prompting import Pack, load_catalogue, load_prompt, prompt_names, using
from lookback.judging.question import Reply, Stated
from lookback.judging.tasks import TASKS, Sampling

TRIGGERS = {  # MBench appendix B.2, word for word
    "human": "Does the video actually create a human memory challenge, such as a person appearing, leaving/being occluded across "
    "middle segments, and later reappearing?",
    "object": "Does the video actually create an object memory challenge for the target object, such as appearing, leaving/being "
    "occluded/changing view, and later reappearing?",
    "environment": "Does the video actually create an environment memory challenge, such as moving away from a "
    "scene/view/layout and later revisiting the same place or layout?",
    "causal": "Does the video actually create a causal memory challenge, such as an event or physical process that should continue "
    "while partially hidden or across later segments?",
}
MEMOBENCH = {  # MemoBench appendix A.8, sentences of each printed prompt
    "memobench_generate.v1": ("Generate 24 Yes/No questions.", "Start Frame (Ground Truth) as attached image"),
    "memobench_filter.v1": ("Watch the test video and answer each Yes/No question.",),
    "memobench_filter_hint.v1": ("2. Audit these answers against known failures and remove unstable questions.",),
    "memobench_judge.v1": ("Watch the test video and answer each question with a final Yes/No decision and reasoning.",),
}


def test_every_prompt_names_its_source_and_carries_its_version():
    for name in prompt_names():
        assert name.rpartition(".")[2].startswith("v"), name
        try:
            prompt = load_prompt(name)
        except ContractError:
            assert len(load_catalogue(name)["source"]) > 20, name
        else:
            assert len(prompt.source) > 20, name
            assert prompt.version.startswith(f"{name}+")


@pytest.mark.parametrize("subset", TRIGGERS)
def test_trigger_prompts_are_the_papers_words(subset):
    assert TRIGGERS[subset] in load_prompt(f"mbench_trigger_{subset}.v1").user


@pytest.mark.parametrize("name", MEMOBENCH)
def test_memobench_prompts_are_the_papers_words(name):
    for sentence in MEMOBENCH[name]:
        assert sentence in load_prompt(name).user


def test_a_prompt_refuses_missing_and_unknown_values():
    prompt = load_prompt("mbench_state_progress.v1")
    assert "water" in prompt.render(event="water {{event}} boils")[1]
    with pytest.raises(ContractError, match="event"):
        prompt.render()
    with pytest.raises(ContractError, match="colour"):
        prompt.render(event="x", colour="red")
    with pytest.raises(ContractError, match="no prompt file"):
        load_prompt("mbench_nothing.v1")


def test_there_are_sixteen_probes_with_the_benchmarks_polarities():
    """Counts and polarity from the benchmark (D3, D4: two positive, one negative; D5, D6: one each, and H, U, J each)."""
    assert len(probes()) == 16
    for ours, theirs in (
        ("visible_spatial", "visible_spatial"),
        ("visible_state", "visible_state"),
        ("reobserved_spatial", "reobs_spatial"),
        ("reobserved_state", "reobs_state"),
    ):
        counted = Counter(probe.polarity for probe in scoring_probes(ours))
        assert (counted["positive"], counted["negative"]) == PROBES[theirs]
    gates = Counter((probe.dimension, probe.role) for probe in probes() if probe.role != "score")
    assert gates == {
        (f"reobserved_{kind}", role): 1 for kind in ("spatial", "state") for role in ("hidden", "returned", "unidentifiable")
    }


def test_the_default_question_bank_is_balanced():
    questions = load_catalogue("lookback_vqa.v1")["questions"]
    assert Counter((entry["dimension"], entry["polarity"]) for entry in questions) == dict.fromkeys(
        [
            (name, side)
            for name in ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")
            for side in ("positive", "negative")
        ],
        3,
    )


def test_triggers_show_eight_uniform_frames_and_the_captions(make_clip):
    clip = make_clip(
        benchmark="mbench", setting="T", subset="object", object_name="a red kettle", caption_segments=["One.", "Two."], n_frames=81
    )
    question = TASKS.get("trigger").questions(clip, Sampling())[0]
    assert question.frames == (0, 11, 23, 34, 46, 57, 69, 80)
    assert "(1) One.\n(2) Two." in question.text
    assert "Target object: a red kettle" in question.text
    assert not TASKS.get("trigger").applies(clip.model_copy(update={"setting": "A"})), "MBench-A is never gated"


def test_probes_show_two_frames_per_second(make_clip):
    clip = make_clip(n_frames=81, fps=16.0, camera="yaw_RL", prompt="A cat jumps.", expected_state="The cat is on the bed.")
    asked = TASKS.get("probe").questions(clip, Sampling())
    assert [question.parts[0].question_id for question in asked] == [
        "D3_position", "D3_layout", "D3_contradiction", "D4_action", "D4_progress", "D4_contradiction"
    ]  # fmt: skip
    assert asked[0].frames == (0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80)
    assert "It must end like this: The cat is on the bed." in asked[0].text
    assert "wrbench_probes.v1+" in asked[0].prompt_version


def test_judgeability_asks_about_every_second(make_clip):
    asked = TASKS.get("judgeability").questions(make_clip(n_frames=81, fps=16.0), Sampling())
    assert [part.frame for part in asked[0].parts] == [0, 16, 32, 48, 64, 80]
    assert len(asked) == 1 + 6


RATES = {  # (frames, frames per second) -> what the released prompt says about them
    (48, 24.0): "frames sampled at 2 fps",
    (372, 24.0): "frames sampled at 2 fps",  # 15.5 s: 32 frames, no more than the limit
    (1440, 24.0): "frames sampled at 0.52 fps",  # 60 s: 32 of 121 frames
    (10, 1.0): "frames sampled at 1 fps",
    (40, None): "32 frames, evenly spread",
}


@pytest.mark.parametrize("length", RATES, ids=str)
def test_the_released_words_state_the_rate_that_the_frames_have(length, make_clip):
    n_frames, fps = length
    pack = Pack("0" * 16, texts={"questions": {"D3_position": "{{task}} {{sampling}}"}})
    with using({"wrbench_probes.v1": pack}):
        asked = TASKS.get("probe").questions(make_clip(n_frames=n_frames, fps=fps), Sampling())
    assert asked[0].text == f"A cat jumps. {RATES[length]}"


def test_seconds_without_a_frame_are_named_and_get_no_answer_from_a_judge_that_looks(make_clip):
    """60 s in 32 frames: every other second has none. A judge that measures still answers for all of them."""
    question = TASKS.get("judgeability").questions(make_clip(n_frames=1440, fps=24.0), Sampling())[0]
    assert question.text.endswith(f"leave them out: {', '.join(map(str, question.unseen_seconds))}.")
    assert len(question.parts) == 60 and len(question.unseen_seconds) == 28
    rows = [{"second": second, "judgeable": "yes"} for second in range(60)]
    said = [answer.part.question_id for answer in interpret(question, [Reply(json.dumps({"per_second": rows}))])]
    assert said == [f"second_{second:03d}" for second in range(60) if second not in question.unseen_seconds]
    stated = {part.question_id: Stated("yes", 1.0, 1.0, "geometry", "") for part in question.parts}
    assert len(interpret(question, [Reply("", stated=stated)])) == 60
    short = TASKS.get("judgeability").questions(make_clip(n_frames=384, fps=24.0), Sampling())[0]
    assert (short.unseen_seconds, "No frame is shown" in short.text) == ([], False)


def test_a_clip_without_a_frame_rate_has_no_seconds_but_a_reason(make_clip):
    asked = TASKS.get("judgeability").questions(make_clip(fps=None), Sampling())
    assert (type(asked[0]).__name__, str(asked[0].reason)) == ("Unasked", "missing_input")
    assert TASKS.get("probe").questions(make_clip(fps=None), Sampling())[0].labels[0] == "Frame 1 of 16"


def test_an_unknown_task_is_named_with_its_neighbour():
    with pytest.raises(Exception, match="did you mean 'judgeability'"):
        TASKS.get("judgability")
    of_benchmarks = {"trigger", "state_progress", "progress_correctness", "judgeability", "rescue", "probe", "vqa"}
    assert set(TASKS.names()) == of_benchmarks | {"timeline"}
