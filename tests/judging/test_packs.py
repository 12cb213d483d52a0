"""Prompt packs: words of a user's own, in YAML or Markdown, with their hash in every judgement."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import ChatServer, completion
from lookback.benchmark import Benchmark
from lookback.errors import ContractError, ParameterError, UsageError
from lookback.files import sha256_file
from lookback.judging.asking import Budget
from lookback.judging.frames import Encoding
from lookback.judging.packs import pack_names, read_pack, read_packs
from lookback.judging.panel import Panel, Seat
from lookback.judging.prompting import load_catalogue, load_prompt, own_prompt, using
from lookback.judging.recording import Recording
from lookback.judging.run import Session
from lookback.judging.tasks import TASKS, Sampling
from lookback.params.load import validate
from lookback.params.stages import Judging
from lookback.registry import BENCHMARKS

MARKDOWN = """---
source: a lab's own
---
# system
You watch videos.

# user mbench_trigger_human
Captions:
{{captions}}
Did somebody leave and return?

# user mbench_trigger_object
Did {{object}} leave and return?
"""
PROBES = """
source: a lab's own
questions:
  D3_position: Is it in its place?
rubrics:
  visible_spatial: Look at places.
"""


@pytest.fixture
def pack(tmp_path: Path):
    def write(text: str, name: str = "own.md") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_every_task_that_shows_a_prompt_has_a_pack():
    reworded = {prompt for benchmark in BENCHMARKS for names in benchmark.prompt_packs().values() for prompt in names}
    assert reworded == {
        *(f"mbench_trigger_{subset}.v1" for subset in ("human", "object", "environment", "causal")),
        "mbench_state_progress.v1",
        "mbench_progress_correctness.v1",
        *(f"memobench_{step}.v1" for step in ("generate", "filter", "filter_hint", "judge")),
        "wrbench_probe.v1",
        "wrbench_probes.v1",
        "wrbench_judgeability.v1",
        "wrbench_rescue.v1",
    }
    assert pack_names() == ["mbench_ratings", "mbench_trigger", "memobench_vqa", "wrbench_judgeability", "wrbench_probes"]


def test_a_markdown_pack_rewords_the_prompts_it_names_and_shares_the_rest(pack, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="object", object_name="a cup", caption_segments=["One.", "Two."])
    path = pack(MARKDOWN)
    with using(read_packs({"mbench_trigger": path})):
        (asked,) = TASKS.get("trigger").questions(clip, Sampling(n_frames=2))
        causal = load_prompt("mbench_trigger_causal.v1")
    assert (asked.system, asked.text) == ("You watch videos.", "Did a cup leave and return?")
    assert asked.parts[0].text == "Did {{object}} leave and return?"
    assert asked.prompt_version.endswith(f";pack+{sha256_file(Path(path))[:16]}")
    assert causal.system == "You watch videos." and causal.user == own_prompt("mbench_trigger_causal.v1").user
    assert load_prompt("mbench_trigger_object.v1") == own_prompt("mbench_trigger_object.v1"), "only inside `using`"


def test_a_yaml_pack_rewords_questions_and_rubrics_and_keeps_the_others(pack, make_clip):
    clip = make_clip(camera="yaw_RL")
    with using(read_packs({"wrbench_probes": pack(PROBES, "own.yaml")})):
        first, second, *_ = TASKS.get("probe").questions(clip, Sampling())
        ours = load_catalogue("wrbench_probes.v1")
    assert "Question: Is it in its place?" in first.text and "Rubric: Look at places." in first.text
    assert "Do the fixed parts of the scene" in second.text
    assert first.parts[0].polarity == "positive" and len(ours["questions"]) == 16
    assert ";pack+" in first.prompt_version


def test_a_file_in_another_form_is_read_by_the_benchmark(pack):
    class Known(Benchmark):
        name = "known"

        def prompt_packs(self):
            return {"wrbench_probes": ("wrbench_probe.v1", "wrbench_probes.v1")}

        def read_prompt_pack(self, pack, path):
            return {"questions": {"D4_action": path.read_text().strip()}} if path.suffix == ".py" else None

    path = Path(pack("Does it move?", "released.py"))
    found = read_pack(Known(), "wrbench_probes", path)
    assert found.texts["questions"] == {"D4_action": "Does it move?"}
    with pytest.raises(ContractError, match=r"the form of this file is unknown"):
        read_pack(Known(), "wrbench_probes", Path(pack("x", "released.txt")))


def test_a_pack_may_have_a_byte_order_mark_and_headings_in_capitals(tmp_path, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["One.", "Two."])
    path = tmp_path / "own.md"
    path.write_bytes("\ufeff# System\nMine.\n# USER mbench_trigger_human\nCaptions: {{ captions }}".encode())
    with using(read_packs({"mbench_trigger": str(path)})):
        (asked,) = TASKS.get("trigger").questions(clip, Sampling(n_frames=2))
    assert (asked.system, asked.text) == ("Mine.", "Captions: (1) One.\n(2) Two.")


def test_questions_and_rubrics_are_filled_with_the_same_values(pack, make_clip):
    words = "# question D3_position\nIs {{ subject }} in {{clip}} there?\n# rubric visible_spatial\nJudge {{subject}} only."
    with using(read_packs({"wrbench_probes": pack(words)})):
        first, *_ = TASKS.get("probe").questions(make_clip(4, object_name="the cup"), Sampling())
    assert "Question: Is the cup in clip_0004 there?" in first.text and "Rubric: Judge the cup only." in first.text
    assert first.system, "only a question that holds nothing but {{task}} and {{sampling}} is a whole prompt"


@pytest.mark.parametrize("words", ["# question D3_position\nIs {{nonsense}} there?", "# rubric visible_spatial\nThe {{question}}."])
def test_an_unknown_placeholder_of_a_question_or_rubric_is_an_error(words, pack):
    with pytest.raises(ContractError, match=r"there is no placeholder of (questions\.D3_position|rubrics\.visible_spatial) '"):
        read_packs({"wrbench_probes": pack(words)})


WRONG = {
    "'{{cap-tions}}' in mbench_trigger_human.v1 is no placeholder": "# user mbench_trigger_human\n{{cap-tions}}",
    "'{{}}' in mbench_trigger_human.v1 is no placeholder": "# user mbench_trigger_human\n{{}}",
    "the text 'Hello' stands before the first heading": "Hello\n# user mbench_trigger_human\nx",
    "no prompt 'mbench_trigger_humans' in this pack; did you mean 'mbench_trigger_human'": "# user mbench_trigger_humans\nx",
    "no placeholder of mbench_trigger_human.v1 'colour'": "# user mbench_trigger_human\n{{colour}}",
    "stands there twice": "# system\na\n# system\nb",
    "must be a text": "# user\n",
    "names no question": "# question\nWhich?",
    "no question 'D3_position'": "# question D3_position\nWhich?",
    "must hold some of the fields": "hello",
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_wrong_pack_is_one_sentence_with_its_file(problem, pack):
    with pytest.raises(ContractError, match=problem) as error:
        read_packs({"mbench_trigger": pack(WRONG[problem])})
    assert "judging.prompts.mbench_trigger" in str(error.value) and "own.md" in str(error.value)


def test_files_that_are_not_there_or_no_text_and_unknown_packs(pack, tmp_path):
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\x00")
    for name in ("nothing.md", "bytes.md"):
        with pytest.raises(ContractError, match="cannot be read as text"):
            read_packs({"mbench_trigger": str(tmp_path / name)})
    with pytest.raises(ContractError, match=r"docs/judges\.md"):
        read_packs({"mbench_trigger": pack("prompts: [", "own.yaml")})
    with pytest.raises(UsageError, match="no pack 'mbench_triger'; did you mean 'mbench_trigger'"):
        read_packs({"mbench_triger": "x.md"})
    with pytest.raises(ParameterError, match="no prompt pack 'mbench_triger'"):
        validate({"run": "x", "judging": {"prompts": {"mbench_triger": "x.md"}}}, "test")


def test_the_hash_of_the_pack_stands_in_every_judgement_and_recorded_call(pack, tmp_path, make_asker, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["One.", "Two."])
    path = pack(MARKDOWN)
    with ChatServer(lambda body, n: completion('{"trigger": true, "confidence": 0.9}')) as server:
        judge = make_asker(server.url).judge
        params = Judging(judge="openai", model="tiny", tasks=["trigger"], prompts={"mbench_trigger": path})
        recording = Recording(tmp_path / "packed")
        session = Session(params, Panel({"scorer": Seat("scorer", "openai", judge)}), recording, Budget(), Encoding(64, 80), 7)
        rows = session.judge([clip])
    content = sha256_file(Path(path))[:16]
    assert len(rows) == 1 and rows["prompt_version"].str.endswith(f";pack+{content}").all()
    assert [call["prompt_version"].endswith(f";pack+{content}") for call in recording.calls()] == [True]
    assert "Did somebody leave and return?" in server.requests[0]["messages"][1]["content"][0]["text"]
    recording.__exit__()
