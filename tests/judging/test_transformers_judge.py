"""A local vision-language model, tiny and random but in the real format, in this process and with `transformers serve`."""

from __future__ import annotations

import importlib.util
import io
import math
import os
import socket
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from lookback.benchmarks.mbench.judging import trigger_questions
from lookback.errors import BackendUnavailable, Reason
from lookback.judging.asking import Asker, Budget, Patience
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.transformers_judge import TransformersJudge
from lookback.judging.question import Reply
from lookback.judging.recording import Recording, call_key
from lookback.judging.tasks import Sampling
from lookback.params.stages import Judging
from scipy.special import logsumexp
from time_limits import HUNG_S, wait_until
from tiny_vlm import TEMPLATE, save_tiny_qwen3, save_tiny_vlm

YES_AND_NO = (("Yes", "yes", "YES"), ("No", "no", "NO"))
SERVING = ("fastapi", "uvicorn", "accelerate")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_vlm(tmp_path_factory.mktemp("vlm") / "tiny")


def make(model: Path, folder: Path, **settings) -> Asker:
    params = Judging(judge="transformers", **{"max_tokens": 4, **settings})
    encoding = Encoding(64, 80)
    judge = TransformersJudge(JudgeContext(params, str(model), 7, frames=FrameSource(encoding)))
    return Asker(judge, Recording(folder), Budget(), Patience(7, 1), encoding=encoding, concurrency=2)


def test_yes_no_comes_from_the_next_tokens_scores(model, tmp_path, yes_no):
    """Compared with a forward pass of the model: log-sum-exp over the yes tokens and over the no tokens."""
    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    question = yes_no(frames=(0, 15))
    asker = make(model, tmp_path)
    answer = asker.ask_all([question])[0].answers[0]
    processor, network = AutoProcessor.from_pretrained(model), AutoModelForImageTextToText.from_pretrained(model)
    images = [Image.open(io.BytesIO(jpeg)) for jpeg in FrameSource(Encoding(64, 80)).jpegs(question.video, question.frames)]
    said = f"Answer.\n\n{question.text}"
    shown = "".join(f"{label}:<|vision_start|><|image_pad|><|vision_end|>" for label in question.labels)
    prompt = f"<|im_start|>user\n{said}{shown}<|im_end|>\n<|im_start|>assistant\n"
    with torch.inference_mode():
        logits = network(**processor(text=[prompt], images=images, return_tensors="pt")).logits[0, -1].double().numpy()

    def mass(words: list[str]) -> float:
        return float(logsumexp([logits[processor.tokenizer.convert_tokens_to_ids(word)] for word in words]))

    yes, no = mass(["Yes", "yes", "YES", "ĠYes", "Ġyes", "ĠYES"]), mass(["No", "no", "NO", "ĠNo", "Ġno", "ĠNO"])
    expected = 1 / (1 + math.exp(no - yes))
    assert answer.value == pytest.approx(expected, abs=1e-5)
    assert answer.value_from == "logprobs"


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen3_5"])
def test_the_models_that_wrbench_asks_answer_from_frames_and_from_a_video(tmp_path, yes_no, family):
    """Yes and no have the next token's scores; four frames of a video are two steps in time, and none is left out."""
    import torch

    saved = save_tiny_qwen3(tmp_path / family, family)
    question = yes_no(frames=(0, 4, 8, 12))
    values = {}
    for video in (False, True):
        asker = make(saved, tmp_path / f"answers {video}", video=video)
        answer = asker.ask_all([question])[0].answers[0]
        assert (answer.reason, answer.value_from) == (None, "logprobs")
        values[video] = answer.value
        processor, network = asker.judge._load()
        inputs = asker.judge._inputs(processor, question)
        with torch.inference_mode():
            logits = network(**inputs).logits[0, -1].double()
        ids = [
            [processor.tokenizer.convert_tokens_to_ids(mark + word) for mark in ("", "Ġ") for word in words] for words in YES_AND_NO
        ]
        expected = torch.softmax(torch.stack([torch.logsumexp(logits[own], 0) for own in ids]), 0)[0]
        assert answer.value == pytest.approx(float(expected), abs=1e-5)
    assert inputs["video_grid_thw"][:, 0].sum() == 2 and values[False] != values[True]


def test_other_questions_are_answered_by_generation_and_kept_verbatim(model, tmp_path, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["A man leaves.", "He is back."])
    asked = make(model, tmp_path).ask_all(trigger_questions(clip, Sampling(n_frames=2)))
    answer = asked[0].answers[0]
    assert answer.reason == Reason.JUDGE_UNPARSED  # the tiny model answers with one word where JSON is expected
    assert answer.verbatim.lower() in ("yes", "no")


def shown_to(asker: Asker, question) -> tuple[str, dict]:
    """The prompt and the arrays that reach the model."""
    processor, _ = asker.judge._load()
    inputs = asker.judge._inputs(processor, question)
    return processor.tokenizer.decode(inputs["input_ids"][0]), dict(inputs)


def test_template_arguments_reach_the_chat_template(model, tmp_path, yes_no):
    question = yes_no(frames=(0, 15))
    plain, _ = shown_to(make(model, tmp_path / "a"), question)
    quiet = make(model, tmp_path / "b", chat_template_kwargs={"enable_thinking": False})
    assert shown_to(quiet, question)[0] == plain + "<think>\n\n</think>\n\n"
    assert quiet.judge.identity.settings["chat_template_kwargs"] == {"enable_thinking": False}
    assert quiet.ask_all([question])[0].answers[0].value_from == "logprobs"


def test_a_timed_question_is_shown_as_a_video_with_every_chosen_frame(model, tmp_path, yes_no, make_clip):
    """The processor of Qwen2-VL joins two frames to one step in time: 4 frames are 2 steps, and none is left out."""
    asker = make(model, tmp_path, video=True)
    question = yes_no(frames=(0, 4, 8, 12))
    prompt, arrays = shown_to(asker, question)
    assert arrays["video_grid_thw"][0, 0] == 2 and "pixel_values" not in arrays
    assert "<|video_pad|>" in prompt and "<|image_pad|>" not in prompt
    answer = asker.ask_all([question])[0].answers[0]
    assert (answer.reason, answer.value_from) == (None, "logprobs")
    assert answer.value != make(model, tmp_path / "frames").ask_all([question])[0].answers[0].value
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["A man leaves.", "He is back."])
    assert "<|image_pad|>" in shown_to(asker, trigger_questions(clip, Sampling(n_frames=2))[0])[0]


def test_a_generation_that_ends_at_its_limit_is_truncated(model, tmp_path, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["A man leaves.", "He is back."])
    (short,) = make(model, tmp_path, max_tokens=1).ask_all(trigger_questions(clip, Sampling(n_frames=2)))
    assert short.answers[0].reason == Reason.JUDGE_TRUNCATED


def think_first(asker: Asker, monkeypatch, written: str) -> None:
    """Let the chat template begin a thought, and let the model write this after it."""
    import torch

    processor, network = asker.judge._load()
    processor.chat_template = TEMPLATE + "<think>\n"
    said = torch.tensor([processor.tokenizer.encode(written, add_special_tokens=False)])
    monkeypatch.setattr(network, "generate", lambda input_ids, **rest: torch.cat([input_ids, said], 1))


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_a_model_that_thinks_is_scored_behind_its_thought(family, model, tmp_path, yes_no, monkeypatch):
    """Compared with a forward pass of the model over the prompt, the thought and what comes before the answer."""
    import torch
    from transformers import AutoModelForImageTextToText

    question = yes_no(frames=(0, 15))
    saved = model if family == "qwen2_vl" else save_tiny_qwen3(tmp_path / family, family)
    asker = make(saved, tmp_path, max_tokens=100)
    think_first(asker, monkeypatch, "No, wait.</think>\n\n**Yes**<|im_end|>")
    answer = asker.ask_all([question])[0].answers[0]
    processor, network = asker.judge._load()[0], AutoModelForImageTextToText.from_pretrained(saved)
    inputs = asker.judge._inputs(processor, question)
    before = torch.tensor([processor.tokenizer.encode("No, wait.</think>\n\n**", add_special_tokens=False)])
    longer = {"input_ids": before, "attention_mask": torch.ones_like(before), "mm_token_type_ids": torch.zeros_like(before)}
    whole = {name: torch.cat([value, longer[name]], 1) if name in longer else value for name, value in inputs.items()}
    with torch.inference_mode():
        logits = network(**whole).logits[0, -1].double()
    ids = [[processor.tokenizer.convert_tokens_to_ids(mark + word) for mark in ("", "Ġ") for word in words] for words in YES_AND_NO]
    expected = torch.softmax(torch.stack([torch.logsumexp(logits[own], 0) for own in ids]), 0)[0]
    assert (answer.value, answer.value_from) == (pytest.approx(float(expected), abs=1e-5), "logprobs")


UNCLEAR = {
    "Yes, the answer is yes. But then": Reason.JUDGE_TRUNCATED,
    "The answer is yes.<|im_end|>": Reason.JUDGE_UNPARSED,
    "</think>No-one<|im_end|>": Reason.JUDGE_UNPARSED,
}


@pytest.mark.parametrize("written", UNCLEAR)
def test_a_thought_that_never_ends_or_unclear_words_have_a_reason_and_no_answer(written, model, tmp_path, yes_no, monkeypatch):
    asker = make(model, tmp_path, max_tokens=10)
    think_first(asker, monkeypatch, written)
    answer = asker.ask_all([yes_no(frames=(0, 15))])[0].answers[0]
    assert (answer.reason, answer.value) == (UNCLEAR[written], None)


def test_a_model_that_writes_before_it_answers_counts_with_its_words(model, tmp_path, yes_no, monkeypatch):
    """Yes and no are unlikely as the next token, and the words behind it say what the model means."""
    asker = make(model, tmp_path, max_tokens=100)
    think_first(asker, monkeypatch, "I see a cat.</think>The answer is no.<|im_end|>")
    monkeypatch.setattr(asker.judge, "_scores", lambda *inputs: Reply("Yes", (("Yes", -9.0), ("No", -12.0))))
    answer = asker.ask_all([yes_no(frames=(0, 15))])[0].answers[0]
    assert (answer.answer, answer.value, answer.value_from) == ("no", 0.0, "stated")


def test_a_recorded_answer_that_was_scored_at_a_thought_is_asked_again(model, tmp_path, yes_no):
    asker, question = make(model, tmp_path), yes_no(frames=(0, 15))
    old = Reply("Yes", (("Yes", -9.0), ("No", -12.0)))
    asker.recording.put_all([(asker._key(question, 0, 0), asker.judge.identity, question, 0, 0, old)])
    assert asker.ask_all([question])[0].answers[0].value != pytest.approx(1 / (1 + math.exp(-3.0)))


def test_a_hub_model_is_known_by_the_commit_on_disk(tmp_path, monkeypatch):
    """The layout of the hub's cache: refs/main names the commit, snapshots/<commit> holds the files."""
    import huggingface_hub.constants as hub

    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path))

    def version(commit: str) -> str:
        folder = tmp_path / "models--some--vlm"
        for path, text in ((folder / "refs" / "main", commit), (folder / "snapshots" / commit / "config.json", "{}")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return TransformersJudge(JudgeContext(Judging(), "some/vlm")).identity.version

    assert [version("a" * 40), version("b" * 40)] == ["a" * 16, "b" * 16]
    assert TransformersJudge(JudgeContext(Judging(), "some/other")).identity.version == "1"
    assert TransformersJudge(JudgeContext(Judging(), str(tmp_path / "no" / "such" / "folder"))).identity.version == "1"


def test_a_model_that_is_not_there_is_a_sentence(tmp_path, yes_no):
    with pytest.raises(BackendUnavailable, match="cannot be loaded"):
        make(tmp_path / "nothing", tmp_path).ask_all([yes_no()])


def test_a_checkpoint_is_known_by_its_content_and_not_by_its_place(tmp_path, monkeypatch, yes_no):
    def key(model: str) -> str:
        return call_key(TransformersJudge(JudgeContext(Judging(), model)).identity, yes_no(), Encoding(), 0, 0)

    for folder, weights in (("runA", "one"), ("runB", "two"), ("moved", "one")):
        (tmp_path / folder / "final").mkdir(parents=True)
        (tmp_path / folder / "final" / "model.safetensors").write_text(weights)
    monkeypatch.setenv("HOME", str(tmp_path / "moved"))
    first = key(str(tmp_path / "runA" / "final"))
    assert first == key(str(tmp_path / "moved" / "final")) == key("~/final")
    assert first != key(str(tmp_path / "runB" / "final"))
    (tmp_path / "runA" / "final" / "model.safetensors").write_text("one, trained on")
    assert first != key(str(tmp_path / "runA" / "final"))


@pytest.fixture(scope="module")
def served(model: Path, tmp_path_factory: pytest.TempPathFactory, warm_python: str):
    """`transformers serve` on loopback with the tiny model."""
    missing = [name for name in SERVING if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"transformers serve needs {', '.join(missing)}, which are not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        warm_python,
        "-m",
        "transformers.cli.transformers",
        "serve",
        str(model),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("w") as output:
        server = subprocess.Popen([*command, "--device", "cpu"], env=environment, stdout=output, stderr=output)
        try:
            wait_until(lambda: server.poll() is not None or _healthy(port), "transformers serve did not start")
            assert server.poll() is None, log.read_text()[-2000:]
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(HUNG_S)


def _healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=HUNG_S) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def test_transformers_serve_gives_no_log_probabilities_so_its_answers_are_sampled(served, model, make_asker, yes_no):
    asker = make_asker(served, samples=4, concurrency=2, timeout_s=HUNG_S)
    asker.judge.model = str(model)
    asked = asker.ask_all([yes_no(0, frames=(0, 15)), yes_no(1, frames=(0,))])
    for one in asked:
        answer = one.answers[0]
        assert (answer.reason, answer.value_from) == (None, "sampled")
        assert answer.value in (0, 0.25, 0.5, 0.75, 1)
    calls = asker.recording.calls()
    assert all(call["usage"]["input_tokens"] > 50 for call in calls), "the images must have reached the model"


def test_the_device_auto_is_the_gpu_where_torch_sees_one(monkeypatch, tmp_path):
    """As for other models: the stage passes on the device of the run, and `auto` is decided where the model is loaded."""
    import torch
    from lookback import devices

    monkeypatch.setattr(devices, "GPU_FILES", (str(tmp_path),))
    judge = TransformersJudge(JudgeContext(Judging(judge="transformers"), "tiny", device="auto"))
    for seen, device in ((1, "cuda:0"), (0, "cpu")):
        monkeypatch.setattr(torch.cuda, "device_count", lambda seen=seen: seen)
        assert judge._device() == device


def test_a_gpu_that_is_not_there_is_one_sentence(monkeypatch, model, tmp_path, yes_no):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    asker = make(model, tmp_path)
    asker.judge.context = replace(asker.judge.context, device="cuda")
    with pytest.raises(BackendUnavailable, match="Set device: auto"):
        asker.ask_all([yes_no()])
