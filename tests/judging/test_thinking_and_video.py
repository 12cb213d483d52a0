"""Models that think before they answer, fields that are passed through, and clips that are sent as video."""

from __future__ import annotations

import base64
import math

import av
import pytest
from chat_server import ChatServer, Sent, completion
from lookback.benchmarks.mbench.judging import rating_questions, trigger_questions
from lookback.errors import ParameterError, Reason
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.question import Reply
from lookback.judging.reply_text import parse_json, parse_rating, parse_yes_no
from lookback.judging.tasks import Sampling
from lookback.params.load import validate


def cut(text: str, **message: str) -> Sent:
    """A completion that ended at the token limit."""
    whole = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": text, **message}, "logprobs": None}
    return completion("", choices=[whole])


def test_template_arguments_and_further_fields_reach_the_server_and_the_recording(make_asker, yes_no):
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]])) as server:
        plain = make_asker(server.url)
        asker = make_asker(server.url, "other", chat_template_kwargs={"enable_thinking": False}, extra_body={"top_k": 1})
        asker.ask_all([yes_no()])
    assert server.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert server.requests[0]["top_k"] == 1
    assert asker.judge.identity.settings["chat_template_kwargs"] == {"enable_thinking": False}
    assert set(asker.judge.identity.settings) - set(plain.judge.identity.settings) == {"chat_template_kwargs", "extra_body"}


@pytest.mark.parametrize("field", ["messages", "model", "stream"])
def test_what_the_judge_sends_itself_cannot_be_replaced(field):
    with pytest.raises(ParameterError, match=f"'{field}' cannot be sent this way"):
        validate({"run": "x", "judging": {"extra_body": {field: "x"}}}, "test")


THOUGHTS = {
    '<think>Score: 2? No.</think>\n{"score": 4}': 4.0,
    'The dish is full. Score: 2?</think>{"score": 4}': 4.0,  # the chat template wrote <think>
    "<think>Score: 2, and then it was cut": None,
    "<think>a</think>Score: 3<think>or rather score: 5": 3.0,
    '```json\n{"score": 4, "reason": "a <think> in words"}\n```': 4.0,
    'Here it is:\n```json\n{"reason": "a </think> in words", "score": 4}\n```': 4.0,
    '<think>```json\n{"score": 2}\n```</think>```json\n{"score": 4}\n```': 4.0,
}


@pytest.mark.parametrize("text", THOUGHTS)
def test_what_is_thought_is_no_answer(text):
    assert parse_rating(text) == THOUGHTS[text]


def test_a_cut_thought_is_neither_yes_nor_json():
    assert parse_yes_no("<think>The answer is yes") is None
    assert parse_json('<think>{"trigger": true}') is None


def test_a_thinking_model_gets_room_for_its_yes_or_no(make_asker, yes_no):
    """The short call is cut off inside the thought. The question is asked again with room, and the next ones have it at once."""
    top = [
        [("<think>", -0.1)],
        [("No", -0.1)],
        [("</think>", -0.1)],
        [("\n\n", 0.0)],
        [("Yes", math.log(0.9)), ("No", math.log(0.1))],
    ]

    def answer(body, n):
        return completion("<think>No</think>\n\nYes", top) if body["max_tokens"] > 16 else cut("<think>Let me")

    with ChatServer(answer) as server:
        asker = make_asker(server.url, concurrency=1, price_per_million_input=1e4)
        asked = asker.ask_all([yes_no(0), yes_no(1)])
    assert [one.answers[0].value for one in asked] == pytest.approx([0.9, 0.9])
    assert {one.answers[0].value_from for one in asked} == {"logprobs"}
    assert [request["max_tokens"] for request in server.requests] == [16, 4096, 4096]
    assert asker.budget.calls == 3
    assert asker.budget.cost == pytest.approx(3 * 100 * 1e4 / 1e6), "the reply that was thrown away costs, too"


def test_a_reasoning_field_counts_as_a_thought(make_asker, yes_no):
    def answer(body, n):
        return completion("No", [[("No", 0.0)]]) if body["max_tokens"] > 16 else cut("", reasoning_content="Let me see")

    with ChatServer(answer) as server:
        assert make_asker(server.url).ask_all([yes_no()])[0].answers[0].answer == "no"


@pytest.mark.parametrize("begun", ["", "Let me describe the frames one by one. In the first"])
def test_a_model_that_hides_its_thoughts_gets_room_too(begun, make_asker, yes_no):
    """No field and no mark says that it thinks: the reply ends at the short limit and has no answer. Later calls have room."""

    def answer(body, n):
        return completion("No") if body["max_tokens"] > 16 else cut(begun)

    with ChatServer(answer) as server:
        asked = make_asker(server.url, samples=2, concurrency=1).ask_all([yes_no(0), yes_no(1)])
    assert [one.answers[0].answer for one in asked] == ["no", "no"]
    assert [request["max_tokens"] for request in server.requests] == [16, *[4096] * 5]


def test_calls_under_way_when_the_model_is_found_to_think_are_asked_again(make_asker, yes_no):
    """The first question is asked alone; the model does not think about it."""
    no = completion("No", [[("No", 0.0)]])
    with ChatServer(lambda body, n: no if n == 0 or body["max_tokens"] > 16 else cut(""), together=4) as server:
        asked = make_asker(server.url, concurrency=4).ask_all([yes_no(n) for n in range(5)])
    assert [one.answers[0].answer for one in asked] == ["no"] * 5
    assert [request["max_tokens"] for request in server.requests] == [16] * 5 + [4096] * 4


@pytest.mark.parametrize("text", ["", "Let me describe the frames"])
def test_a_recorded_reply_of_the_short_limit_is_asked_again_and_a_replay_keeps_it(text, make_asker, yes_no):
    """Recordings of older versions hold them."""
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]])) as server:
        asker = make_asker(server.url)
        usage = {"output_tokens": 16, "finish_reason": "length"}
        old = (asker._key(yes_no(), 0, 0), asker.judge.identity, yes_no(), 0, 0, Reply(text, truncated=True, usage=usage))
        asker.recording.put_all([old])
        asker.recording.read_only = True
        asker.judge.samples = lambda question, first: 0
        assert asker.ask_all([yes_no()])[0].answers[0].reason == Reason.JUDGE_TRUNCATED
        asker.recording.read_only = False
        assert [asker.ask_all([yes_no()])[0].answers[0].answer for _ in range(2)] == ["yes", "yes"]
    assert len(server.requests) == 1


def test_a_reply_of_the_long_limit_is_kept_although_it_has_no_answer(make_asker, yes_no):
    """Asking again would cost as much and end in the same way; a larger max_tokens is another question."""
    usage = {"prompt_tokens": 100, "completion_tokens": 4096}
    whole = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": ""}, "logprobs": None}
    with ChatServer(lambda body, n: completion("", choices=[whole], usage=usage)) as server:
        asker = make_asker(server.url, samples=1)
        answers = [asker.ask_all([yes_no()])[0].answers[0] for _ in range(2)]
    assert {answer.reason for answer in answers} == {Reason.JUDGE_TRUNCATED}
    assert [request["max_tokens"] for request in server.requests] == [16, 4096, 4096]


def test_an_answer_that_was_cut_off_has_that_as_its_reason_also_in_a_replay(make_asker, make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["A man leaves.", "He is back."])
    (question,) = trigger_questions(clip, Sampling(n_frames=2))
    with ChatServer(lambda body, n: cut('{"trigger": true, "confi')) as server:
        asker = make_asker(server.url)
        first, again = (asker.ask_all([question])[0].answers[0] for _ in range(2))
    assert (first.reason, first.verbatim) == (Reason.JUDGE_TRUNCATED, '{"trigger": true, "confi')
    assert again == first and len(server.requests) == 1


def test_an_answer_that_was_complete_before_the_limit_counts(make_asker, make_clip):
    (question,) = rating_questions("state_progress", make_clip(benchmark="mbench", subset="causal"), Sampling(n_frames=2))
    with ChatServer(lambda body, n: cut('{"score": 4} and so on and on')) as server:
        assert make_asker(server.url).ask_all([question])[0].answers[0].value == 4.0


def test_a_timed_question_is_sent_as_one_video_of_the_same_frames(make_asker, yes_no, make_clip, tmp_path):
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]])) as server:
        asker = make_asker(server.url, video=True)
        asker.ask_all([yes_no(frames=(0, 4, 8, 12))])
        clip = make_clip(benchmark="mbench", setting="T", subset="human", caption_segments=["One.", "Two."])
        asker.ask_all(trigger_questions(clip, Sampling(n_frames=2)))
    content = server.requests[0]["messages"][1]["content"]
    assert [part["type"] for part in content] == ["text", "video_url"]
    kind, _, data = content[1]["video_url"]["url"].partition(";base64,")
    assert kind == "data:video/mp4"
    (tmp_path / "sent.mp4").write_bytes(base64.b64decode(data))
    with av.open(str(tmp_path / "sent.mp4")) as sent:  # PyAV: another reader than ours
        stream = sent.streams.video[0]
        assert (float(stream.average_rate), stream.width, stream.height) == (2.0, 64, 38)
        assert len(list(sent.decode(video=0))) == 4
    assert {part["type"] for part in server.requests[1]["messages"][1]["content"]} == {"text", "image_url"}, (
        "8 single frames in MBench"
    )


def test_a_server_that_takes_no_video_is_one_sentence_and_one_call(make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b'{"error": "video_url is not supported by this model"}', 400)) as server:
        asked = make_asker(server.url, video=True, concurrency=1).ask_all([yes_no(n) for n in range(5)])
    assert {one.answers[0].reason for one in asked} == {Reason.JUDGE_FAILED}
    assert "set judging.video to false" in asked[0].answers[0].verbatim
    assert len(server.requests) == 1


def test_the_rate_of_a_sent_video_is_that_of_its_frames(video):
    """16 frames at 8 fps: every fourth frame is half a second apart; frames 0 and 15 are 1.875 s apart."""
    source = FrameSource(Encoding(64, 80))
    assert source.small_video(str(video), (0, 4, 8, 12)).fps == pytest.approx(2.0)
    assert source.small_video(str(video), (0, 15)).fps == pytest.approx(1 / 1.875)
    assert source.mp4(str(video), (0, 4)) == source.mp4(str(video), (0, 4))
