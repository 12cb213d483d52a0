"""The client with a real HTTP server on loopback: log-probabilities, sampling, retries, secrets."""

from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from chat_server import KEY, ChatServer, Sent, completion
from lookback.errors import BackendUnavailable, Reason
from lookback.judging.asking import Budget
from lookback.judging.frames import Encoding
from lookback.judging.panel import Panel, Seat
from lookback.judging.recording import Recording
from lookback.judging.run import Session


def test_yes_probability_comes_from_log_probabilities_in_the_published_schema(make_asker, yes_no):
    """WRBench's reference vector: yes logits {2, 1}, no logits {0, -1} give 0.880797."""
    top = [[("Yes", 2.0), (" yes", 1.0), ("No", 0.0), ("no", -1.0), ("Maybe", 1.5)]]
    with ChatServer(lambda body, n: completion("Yes", top)) as server:
        asked = make_asker(server.url).ask_all([yes_no()])
    answer = asked[0].answers[0]
    assert answer.value == pytest.approx(0.880797, abs=1e-6)
    assert (answer.answer, answer.value_from, answer.reason) == ("yes", "logprobs", None)
    assert server.requests[0]["logprobs"] is True
    assert server.requests[0]["top_logprobs"] == 20


def test_the_answer_token_is_found_behind_white_space(make_asker, yes_no):
    top = [[("\n", -0.1), ("Yes", -3.0)], [(" No", math.log(0.8)), ("Yes", math.log(0.2))]]
    with ChatServer(lambda body, n: completion("\n No", top)) as server:
        answer = make_asker(server.url).ask_all([yes_no()])[0].answers[0]
    assert answer.value == pytest.approx(0.2)
    assert answer.answer == "no"


UNREAD = {
    "There is no contradiction, so: Yes": ["There", " is", " no", " contradiction", ",", " so", ":", " Yes"],
    "**Yes**": ["**Yes", "**"],
    "No-one can tell.": ["No", "-one", " can", " tell", "."],
    "Nobody knows.": ["No", "body", " knows", "."],
    "Yes.": ["Yes."],
}


@pytest.mark.parametrize("text", UNREAD)
def test_scores_are_read_at_the_answer_itself_or_not_at_all(text, make_asker, yes_no):
    """Every token has a likely No among its candidates, but none of the tokens is the answer."""
    top = [[(token, -0.01), ("No", -5.0)] for token in UNREAD[text]]
    with ChatServer(lambda body, n: completion(text, top) if "logprobs" in body else completion("Yes")) as server:
        answer = make_asker(server.url, samples=3).ask_all([yes_no()])[0].answers[0]
    assert (answer.answer, answer.value, answer.value_from) == ("yes", 1.0, "sampled")
    assert len(server.requests) == 1 + 3


@pytest.mark.parametrize("before", [["**"], ['"'], ["\n", "> ", "*"], ["", " ", "“"]])
def test_the_answer_token_is_found_behind_quotes_and_markdown(before, make_asker, yes_no):
    top = [*([(token, -0.1), ("No", -3.0)] for token in before), [("Yes", math.log(0.9)), ("No", math.log(0.1))], [("**", -0.1)]]
    with ChatServer(lambda body, n: completion("".join([*before, "Yes**"]), top)) as server:
        answer = make_asker(server.url).ask_all([yes_no()])[0].answers[0]
    assert (answer.value, answer.value_from) == (pytest.approx(0.9), "logprobs")


def test_scores_without_any_mass_are_no_reading(make_asker, yes_no):
    top = [[("Yes", -math.inf), ("No", -math.inf)]]
    with ChatServer(lambda body, n: completion("Yes", top)) as server:
        answer = make_asker(server.url, samples=2).ask_all([yes_no()])[0].answers[0]
    assert (answer.value, answer.value_from) == (1.0, "sampled")


def test_a_server_without_log_probabilities_is_sampled_and_labelled_so(make_asker, yes_no):
    said = ["yes", "Yes", "No", "Yes.", "no", "no"]  # the plain call, then five samples
    with ChatServer(lambda body, n: completion(said[n])) as server:
        answer = make_asker(server.url, samples=5, concurrency=1).ask_all([yes_no()])[0].answers[0]
    assert (answer.value, answer.value_from) == (2 / 5, "sampled")
    assert [request["temperature"] for request in server.requests] == [0.0, *[0.7] * 5]
    assert len({request["seed"] for request in server.requests}) == 6
    assert answer.verbatim == '["Yes", "No", "Yes.", "no", "no"]'


def test_a_server_that_refuses_log_probabilities_is_asked_without_them_from_then_on(make_asker, yes_no):
    def answer(body, n):
        if "logprobs" in body:
            return Sent(b"{\"detail\": \"Unexpected fields in the request: {'logprobs', 'top_logprobs'}\"}", 422)
        return completion("Yes")

    with ChatServer(answer) as server:
        asked = make_asker(server.url, samples=3, concurrency=1).ask_all([yes_no(0), yes_no(1)])
    assert [one.answers[0].value_from for one in asked] == ["sampled", "sampled"]
    assert sum("logprobs" in request for request in server.requests) == 1
    assert len(server.requests) == 1 + 1 + 3 + 3  # refused, plain, and three samples for each of two questions


def test_sampled_words_that_cannot_be_read_count_neither_way(make_asker, yes_no):
    said = ["?", "Yes", "The cat.", "Yes", "No", "?"]
    with ChatServer(lambda body, n: completion(said[n])) as server:
        answer = make_asker(server.url, samples=5, concurrency=1).ask_all([yes_no()])[0].answers[0]
    assert answer.value == pytest.approx(2 / 3)


def test_frames_are_sent_as_small_jpegs_with_their_times(make_asker, yes_no):
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]])) as server:
        make_asker(server.url).ask_all([yes_no()])
    content = server.requests[0]["messages"][1]["content"]
    assert [part["text"] for part in content if part["type"] == "text"][1:] == [
        "Frame at 0.00 s:",
        "Frame at 1.00 s:",
        "Frame at 1.88 s:",
    ]
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert len(urls) == 3
    assert all(url.startswith("data:image/jpeg;base64,/9j/") and len(url) < 10_000 for url in urls)


def test_retry_after_is_honoured_and_holds_every_call_back(make_asker, yes_no):
    first = Sent(b"{}", 429, (("retry-after", "0.4"), ("content-type", "application/json")))
    arrivals = []

    def answer(body, n):
        arrivals.append(time.monotonic())
        return first if n == 0 else completion("Yes", [[("Yes", 0.0)]])

    with ChatServer(answer) as server:
        asked = make_asker(server.url, concurrency=1).ask_all([yes_no(0), yes_no(1)])
    assert all(one.answers[0].answer == "yes" for one in asked)
    assert arrivals[1] - arrivals[0] >= 0.4


def test_retry_after_may_be_a_date(make_asker, yes_no):
    def answer(body: object, n: int) -> Sent:
        later = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        return Sent(b"{}", 503, (("retry-after", later),)) if n == 0 else completion("Yes", [[("Yes", 0.0)]])

    with ChatServer(answer) as server:
        started = time.monotonic()
        assert make_asker(server.url).ask_all([yes_no()])[0].answers[0].answer == "yes"
    assert time.monotonic() - started > 0.5


HOPELESS = {
    "a refused key": (Sent(b'{"error": "bad key"}', 401), "check $LOOKBACK_JUDGE_KEY"),
    "an unknown model": (Sent(b'{"error": "The model tiny does not exist"}', 404), "check judging.model"),
    "an hour to wait": (Sent(b"{}", 429, (("retry-after", "3600"),)), "judging.max_wait_s allows 60 s: raise it"),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_what_every_question_would_get_stops_the_asking_after_one_call_and_says_what_to_do(name, make_asker, yes_no):
    sent, advice = HOPELESS[name]
    with ChatServer(lambda body, n: sent) as server:
        asker = make_asker(server.url)
        asked = [*asker.ask_all([yes_no(n) for n in range(20)]), *asker.ask_all([yes_no(20)])]
    assert {one.answers[0].reason for one in asked} == {Reason.JUDGE_FAILED}
    assert all(advice in one.answers[0].verbatim for one in asked)
    assert len(server.requests) == 1


def test_a_judge_that_is_given_up_is_named_once_in_a_warning(make_asker, yes_no, tmp_path):
    with ChatServer(lambda body, n: HOPELESS["a refused key"][0]) as server, Recording(tmp_path) as recording:
        judge = make_asker(server.url).judge
        seat = Seat("scorer", "openai", judge)
        session = Session(judge.params, Panel({"scorer": seat}), recording, Budget(), Encoding(64, 80), 7)
        with pytest.warns(UserWarning, match=r"openai/tiny is asked nothing more: .*401.*check \$LOOKBACK_JUDGE_KEY") as said:
            for number in range(3):
                session.answers(seat, [yes_no(number)], 1)
    assert (len(said), len(server.requests)) == (1, 1)


def test_a_rate_limit_loses_no_answer(make_asker, yes_no):
    """Two calls per 0.2 s, eight at once: a wait that the server asks for is no retry, and the calls do not come back together."""
    allowed: dict[int, int] = {}

    def answer(body, n):
        window = int(time.monotonic() / 0.2)
        allowed[window] = allowed.get(window, 0) + 1
        return completion("Yes", [[("Yes", 0.0)]]) if allowed[window] <= 2 else Sent(b"{}", 429, (("retry-after", "0.2"),))

    with ChatServer(answer) as server:
        asked = make_asker(server.url, max_retries=1).ask_all([yes_no(n) for n in range(24)])
    assert [one.answers[0].reason for one in asked] == [None] * 24
    assert len(server.requests) > 24, "some calls had to wait"


def test_a_server_that_asks_to_wait_for_ever_is_given_up(make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b"{}", 429, (("retry-after", "0.05"),))) as server:
        asked = make_asker(server.url, max_retries=3, max_wait_s=0.1).ask_all([yes_no(n) for n in range(40)])
    assert {one.answers[0].reason for one in asked} == {Reason.JUDGE_FAILED}
    assert "judging.max_retries times max_wait_s allow 0.3 s in all" in asked[0].answers[0].verbatim
    assert len(server.requests) < 8 * 8, "the first questions found it out for all"


@pytest.mark.parametrize("header", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wait_of_no_time_leaves_the_back_off_alone(header, make_asker, yes_no):
    arrivals = []

    def answer(body, n):
        arrivals.append(time.monotonic())
        return Sent(b"{}", 429, (("retry-after", header),))

    with ChatServer(answer) as server:
        asker = make_asker(server.url, max_retries=2)
        asker.patience.first_wait_s = 0.2
        assert asker.ask_all([yes_no()])[0].answers[0].reason == Reason.JUDGE_FAILED
    assert len(arrivals) == 3
    assert arrivals[1] - arrivals[0] >= 0.1 and arrivals[2] - arrivals[1] >= 0.2


@pytest.mark.parametrize("status", [501, 507, 520, 522, 524])
def test_every_error_of_the_server_is_tried_again(status, make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b"origin", status) if n == 0 else completion("Yes", [[("Yes", 0.0)]])) as server:
        assert make_asker(server.url).ask_all([yes_no()])[0].answers[0].answer == "yes"


def test_a_field_that_an_error_only_mentions_is_sent_with_the_next_question(make_asker, yes_no):
    """One clip is refused, and the message repeats the whole request: leaving the fields out does not help."""

    def answer(body, n):
        sent = {name: value for name, value in body.items() if name != "messages"}
        if "clip 0" in body["messages"][1]["content"][0]["text"]:
            return Sent(json.dumps({"detail": "the image is too large", "input": sent}).encode(), 422)
        return completion("Yes", [[("Yes", -0.1), ("No", -2.0)]] if "logprobs" in body else None)

    with ChatServer(answer) as server:
        asker = make_asker(server.url, concurrency=1)
        bad, good = (one.answers[0] for one in asker.ask_all([yes_no(0), yes_no(1)]))
    assert (bad.reason, good.value_from, asker.judge.dropped) == (Reason.JUDGE_FAILED, "logprobs", set())
    assert {"logprobs", "seed", "temperature", "max_tokens"} <= set(server.requests[-1])


@pytest.mark.parametrize(
    "parts",
    [[{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}], [{"type": "thinking"}, {"type": "text", "text": "Yes"}]],
)
def test_content_in_parts_is_their_text(parts, make_asker, yes_no):
    with ChatServer(lambda body, n: completion(parts)) as server:
        answer = make_asker(server.url, samples=1).ask_all([yes_no()])[0].answers[0]
    assert (answer.answer, answer.verbatim) == ("yes", "Yes")


REFUSALS = {
    "I cannot look at the seed of this video": {
        "message": {"role": "assistant", "content": None, "refusal": "I cannot look at the seed of this video"}
    },
    "content_filter": {"message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"},
}


@pytest.mark.parametrize("words", REFUSALS)
@pytest.mark.parametrize("as_video", [False, True])
def test_a_refusal_is_paid_once_and_says_so(words, as_video, make_asker, yes_no):
    """Its words may name a field or the video; they are no error of the request, and other questions may be answered."""
    refused = completion("", choices=[REFUSALS[words]])
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]]) if n else refused) as server:
        asker = make_asker(server.url, concurrency=1, video=as_video)
        bad, good = (one.answers[0] for one in asker.ask_all([yes_no(0), yes_no(1)]))
    assert (bad.reason, bad.verbatim) == (Reason.JUDGE_FAILED, f"the judge refused to answer: {words}")
    assert (good.answer, len(server.requests)) == ("yes", 2)


def test_white_space_around_the_key_is_not_sent(make_asker, yes_no, monkeypatch):
    monkeypatch.setenv("LOOKBACK_JUDGE_KEY", f" {KEY}\n")
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]])) as server:
        assert make_asker(server.url).ask_all([yes_no()])[0].answers[0].answer == "yes"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["sk-look\nback-test", "sk-look back-test", "sk-lookb\u00e4ck-test"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key, make_asker, monkeypatch):
    monkeypatch.setenv("LOOKBACK_JUDGE_KEY", key)
    with pytest.raises(BackendUnavailable, match="white space or a character that is not ASCII") as error:
        make_asker("http://127.0.0.1:9/v1")
    assert "sk-look" not in str(error.value)


def test_concurrency_is_bounded(make_asker, yes_no):
    with ChatServer(lambda body, n: completion("Yes", [[("Yes", 0.0)]]), together=5) as server:
        asked = make_asker(server.url, concurrency=5, max_retries=0).ask_all([yes_no(n) for n in range(41)])
    assert server.most_at_once == 5
    assert all(one.answers[0].answer == "yes" for one in asked)
