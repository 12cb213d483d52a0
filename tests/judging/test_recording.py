"""Every answer is recorded, nothing is asked twice, a budget stops and resumes cleanly, and waits are bounded and seeded."""

from __future__ import annotations

import multiprocessing
import signal
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import ChatServer, Sent, completion
from lookback.clips import Clip
from lookback.errors import ContractError, LookbackError, Reason
from lookback.judging.asking import Asker, Budget, Patience
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.openai_judge import OpenAIJudge
from lookback.judging.quality.report import cost_per_clip
from lookback.judging.question import Part, Question, Reply
from lookback.judging.recording import FILE_NAME, Identity, Recording, call_key
from lookback.params.stages import Judging
from time_limits import HUNG_S

YES = completion("Yes", [[("Yes", -0.1), ("No", -2.0)]])


def test_a_rerun_asks_nothing(make_asker, yes_no):
    questions = [yes_no(n) for n in range(10)]
    with ChatServer(lambda body, n: YES) as server:
        first = make_asker(server.url).ask_all(questions)
        again = make_asker(server.url).ask_all(questions)
    assert len(server.requests) == 10
    assert [one.answers for one in first] == [one.answers for one in again]


def test_questions_with_the_same_key_share_one_call(make_asker, yes_no):
    with ChatServer(lambda body, n: YES, latency_s=0.05) as server:
        asked = make_asker(server.url, concurrency=8).ask_all([yes_no(3)] * 8)
    assert len(server.requests) == 1
    assert len(asked) == 8


def test_repeats_are_calls_of_their_own(make_asker, yes_no):
    with ChatServer(lambda body, n: YES) as server:
        asked = make_asker(server.url).ask_all([yes_no()], repeats=3)
    assert [one.repeat for one in asked] == [0, 1, 2]
    assert len({request["seed"] for request in server.requests}) == 3


def test_the_key_depends_on_all_that_decides_an_answer(yes_no):
    question, who, encoding = yes_no(), Identity("openai", "openai/a", "a", settings={"temperature": 0.0}), Encoding()
    base = call_key(who, question, encoding, 0, 0)
    others = [
        call_key(Identity("openai", "openai/b", "b", settings={"temperature": 0.0}), question, encoding, 0, 0),
        call_key(Identity("openai", "openai/a", "a", settings={"temperature": 0.5}), question, encoding, 0, 0),
        call_key(who, yes_no(1), encoding, 0, 0),
        call_key(who, yes_no(frames=(0, 8)), encoding, 0, 0),
        call_key(who, yes_no(content_hash="other"), encoding, 0, 0),
        call_key(who, question, Encoding(side=256), 0, 0),
        call_key(who, question, encoding, 1, 0),
        call_key(who, question, encoding, 0, 1),
        call_key(who, replace(question, labels=("Frame 1", "Frame 2", "Frame 3")), encoding, 0, 0),
    ]
    assert len({base, *others}) == 10
    assert base == call_key(Identity("openai", "another label", "a", settings={"temperature": 0.0}), yes_no(), Encoding(), 0, 0)


def test_judges_that_are_shown_no_frames_keep_their_keys(yes_no):
    """The labels of frames are part of the key only for a judge that reads them."""
    relabelled = replace(yes_no(), labels=("a", "b", "c"))
    for who in (Identity("geometric", "geometric"), Identity("simulated", "simulated", simulated=True)):
        assert call_key(who, yes_no(), Encoding(), 0, 0) == call_key(who, relabelled, Encoding(), 0, 0)


def test_a_failed_call_is_asked_again_by_the_next_run(make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b"boom", 500)) as server:
        broken = make_asker(server.url, max_retries=0).ask_all([yes_no()])
        server.answer = lambda body, n: YES
        mended = make_asker(server.url).ask_all([yes_no()])
    assert broken[0].answers[0].reason == Reason.JUDGE_FAILED
    assert mended[0].answers[0].answer == "yes"


def test_an_empty_reply_is_no_answer_and_is_asked_again(make_asker, yes_no):
    with ChatServer(lambda body, n: completion("")) as server:
        first = make_asker(server.url, max_retries=1).ask_all([yes_no()])[0].answers[0]
        assert len(server.requests) == 2
        server.answer = lambda body, n: YES
        again = make_asker(server.url).ask_all([yes_no()])[0].answers[0]
    assert (first.reason, first.verbatim, again.answer) == (Reason.JUDGE_FAILED, "the reply is empty", "yes")


def test_an_empty_reply_that_an_older_version_recorded_is_asked_again(make_asker, yes_no):
    with ChatServer(lambda body, n: YES) as server:
        asker = make_asker(server.url)
        asker.recording.put_all([(asker._key(yes_no(), 0, 0), asker.judge.identity, yes_no(), 0, 0, Reply(""))])
        assert asker.ask_all([yes_no()])[0].answers[0].answer == "yes"
    assert len(server.requests) == 1


def test_a_call_budget_stops_cleanly_and_resumes(make_asker, yes_no):
    questions = [yes_no(n) for n in range(10)]
    with ChatServer(lambda body, n: YES) as server:
        first = make_asker(server.url, max_calls=4).ask_all(questions)
        second = make_asker(server.url, max_calls=4).ask_all(questions)
        third = make_asker(server.url, max_calls=4).ask_all(questions)
    answered = [sum(one.answers[0].reason is None for one in run) for run in (first, second, third)]
    assert answered == [4, 8, 10]
    assert {one.answers[0].reason for one in first} == {None, Reason.BUDGET_SPENT}
    assert len(server.requests) == 10


def test_a_cost_budget_counts_retries_and_tokens(make_asker, yes_no):
    with ChatServer(lambda body, n: YES) as server:
        per_call = make_asker(server.url, "a", max_cost=1.0, price_per_call=0.3)
        assert sum(one.answers[0].reason is None for one in per_call.ask_all([yes_no(n) for n in range(9)])) == 3
        assert per_call.budget.cost == pytest.approx(0.9)
        per_token = make_asker(server.url, "b", max_cost=1.0, price_per_million_input=5000.0, concurrency=1)  # 100 tokens cost 0.5
        assert sum(one.answers[0].reason is None for one in per_token.ask_all([yes_no(n) for n in range(9)])) == 2


def test_a_request_sent_again_without_a_refused_field_is_a_call_of_the_budget(make_asker, yes_no):
    """A server that refuses the optional fields one by one: one answer takes five calls, so a budget of one is not enough."""
    refused = ("logprobs", "seed", "max_tokens", "temperature")

    def answer(body, n):
        field = next((name for name in refused if name in body), None)
        return completion("Yes") if field is None else Sent(f'{{"error": "unknown field {field}"}}'.encode(), 400)

    with ChatServer(answer) as server:
        asker = make_asker(server.url, "a", max_calls=1, samples=1, price_per_call=0.5)
        assert asker.ask_all([yes_no()])[0].answers[0].reason == Reason.BUDGET_SPENT
        assert (len(server.requests), asker.budget.calls, asker.budget.cost) == (1, 1, 0.5)
        server.requests.clear()
        asker = make_asker(server.url, "b", samples=1, max_retries=0, price_per_call=0.5)
        assert asker.ask_all([yes_no()])[0].answers[0].answer == "yes"
        assert (len(server.requests), asker.budget.calls, asker.budget.cost) == (6, 6, 3.0)
    assert sum(call["usage"].get("cost", 0) for call in asker.recording.calls()) == 3.0


def test_an_unreadable_page_that_names_a_field_is_no_refusal_of_it(make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b"<html>seed temperature logprobs</html>")) as server:
        asker = make_asker(server.url, samples=1)
        assert asker.ask_all([yes_no()])[0].answers[0].reason == Reason.JUDGE_UNPARSED
        assert (len(server.requests), asker.judge.dropped) == (1, set())


@pytest.mark.parametrize("max_cost", [1.0, 4.0, 6.5])
def test_calls_under_way_count_against_the_cost_budget(max_cost, make_asker, yes_no):
    """Sixteen calls at once, and each costs 1 when it ends."""
    with ChatServer(lambda body, n: YES, latency_s=0.05) as server:
        asker = make_asker(server.url, max_cost=max_cost, price_per_million_input=10_000.0, concurrency=16)
        asked = asker.ask_all([yes_no(n) for n in range(40)])
    assert sum(one.answers[0].reason is None for one in asked) == len(server.requests) == int(max_cost)
    assert asker.budget.cost == pytest.approx(int(max_cost))
    assert {one.answers[0].reason for one in asked} == {None, Reason.BUDGET_SPENT}


def test_a_cost_budget_that_is_ample_costs_no_concurrency(make_asker, yes_no):
    with ChatServer(lambda body, n: YES, latency_s=0.3) as server:
        asker = make_asker(server.url, max_cost=1000.0, price_per_million_input=10_000.0, concurrency=16)
        asked = asker.ask_all([yes_no(n) for n in range(60)])
    assert all(one.answers[0].reason is None for one in asked)
    assert server.most_at_once == 16


def test_a_refused_key_under_a_cost_budget_stops_after_one_call(make_asker, yes_no):
    with ChatServer(lambda body, n: Sent(b'{"error": "bad key"}', 401), latency_s=0.05) as server:
        asked = make_asker(server.url, max_cost=5.0, price_per_million_input=1.0, concurrency=8).ask_all(
            [yes_no(n) for n in range(20)]
        )
    assert {one.answers[0].reason for one in asked} == {Reason.JUDGE_FAILED}
    assert len(server.requests) == 1


def test_a_damaged_recording_is_a_sentence(tmp_path: Path):
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(ContractError, match="move"):
        Recording(tmp_path)


DAMAGE = {
    "a body that was cut": "body = substr(body, 1, 20)",
    "a body without its fields": """body = '{"text": "Yes"}'""",
    "a body of null": "body = 'null'",
    "a text that is none": """body = replace(body, '"Yes"', '7')""",
    "a score in words": """body = replace(body, '-0.1', '"x"')""",
    "a score that is none": "body = replace(body, '-0.1', 'NaN')",
    "an unknown reason": "reason = 'some_new_reason'",
    "usage that was cut": """usage = '{"a"'""",
    "usage that is a number": "usage = '7'",
}


def _damage(recording: Recording, change: str) -> None:
    with sqlite3.connect(recording.path) as database:
        database.execute(f"UPDATE replies SET {change} WHERE rowid = 1")


@pytest.mark.parametrize("change", DAMAGE)
def test_a_damaged_entry_is_asked_again_and_mended(change, make_asker, yes_no):
    questions = [yes_no(0), yes_no(1)]
    with ChatServer(lambda body, n: YES) as server:
        first = make_asker(server.url, concurrency=1).ask_all(questions)
        asker = make_asker(server.url)
        _damage(asker.recording, DAMAGE[change])
        again = [asker.ask_all(questions) for _ in range(2)]
    assert [[one.answers for one in run] for run in again] == [[one.answers for one in first]] * 2
    assert len(server.requests) == 3
    assert len(asker.recording.calls()) == 2


@pytest.mark.parametrize("change", DAMAGE)
def test_a_damaged_entry_ends_a_replay_with_a_sentence(change, make_asker, yes_no):
    with ChatServer(lambda body, n: YES) as server:
        asker = make_asker(server.url)
        asker.ask_all([yes_no()])
        _damage(asker.recording, DAMAGE[change])
        asker.recording.read_only = True
        with pytest.raises(LookbackError, match=r"replies\.sqlite cannot be used \(a damaged entry.*move the file away"):
            asker.ask_all([yes_no()])


def test_a_damaged_judge_and_damaged_usage_are_sentences(tmp_path: Path, make_asker, yes_no):
    with ChatServer(lambda body, n: YES) as server:
        asker = make_asker(server.url)
        asker.ask_all([yes_no()])
    asker.recording.set_judge("scorer", asker.judge.identity)
    _damage(asker.recording, "usage = '{'")
    with sqlite3.connect(asker.recording.path) as database:
        database.execute("UPDATE judges SET identity = '{'")
    for read in (asker.recording.judges, asker.recording.calls):
        with pytest.raises(LookbackError, match="a damaged entry"):
            read()


SPENT = {
    "answered at once": lambda n: YES,
    "empty, then answered": lambda n: YES if n % 2 else completion(""),
    "always empty": lambda n: completion(""),
    "refused": lambda n: completion("", choices=[{"message": {"content": None, "refusal": "no"}}]),
    "errors": lambda n: Sent(b"boom", 500),
    "without scores": lambda n: completion("Yes"),
    "failing among the samples": lambda n: completion("Yes") if n < 3 else completion(""),
}


@pytest.mark.parametrize("case", SPENT)
def test_the_table_of_costs_is_what_the_budget_spent(case, make_asker, yes_no):
    with ChatServer(lambda body, n: SPENT[case](n)) as server:
        prices = {"price_per_call": 0.5, "price_per_million_input": 1e4}
        asker = make_asker(server.url, samples=2, concurrency=1, max_retries=1, **prices)
        asker.ask_all([yes_no(n) for n in range(3)])
    costs = cost_per_clip(asker.recording.calls())
    answered = 0 if case == "errors" else len(server.requests)
    assert int((costs["calls"] + costs["retries"]).sum()) == asker.budget.calls == len(server.requests)
    assert int(costs["input_tokens"].sum()) == 100 * answered
    assert costs["cost"].sum() == pytest.approx(asker.budget.cost) == pytest.approx(0.5 * len(server.requests) + answered)


@pytest.fixture
def interruptible():
    """Set SIGINT as in a notebook, because a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_asking_at_once(make_asker, yes_no):
    """After a notebook cell is stopped, no thread may go on asking."""
    with ChatServer(lambda body, n: YES, latency_s=0.05) as server:
        asker = make_asker(server.url, concurrency=4)

        def interrupt() -> None:
            while len(server.requests) < 12:
                time.sleep(0.005)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            asker.ask_all([yes_no(n) for n in range(400)])
        sent = len(server.requests)
        time.sleep(0.8)
        asked = len(server.requests)
        assert 12 <= sent <= asked <= sent + 4 < 400, "only the four calls that were under way arrive"
        recorded = len(asker.recording.calls())
        assert recorded >= asked - 4, "what was answered is kept"


def _ask_in_child(url: str, folder: Path, video: Path, results) -> None:
    params = Judging(judge="openai", model="tiny", base_url=url, concurrency=8)
    encoding = Encoding(64, 80)
    judge = OpenAIJudge(JudgeContext(params, "tiny", 7, frames=FrameSource(encoding)))
    questions = []
    for n in range(120):
        clip = Clip(benchmark="wrbench", setting="s", model_id="m", clip_id=str(n), video=str(video))
        part = Part("q", f"Question {n}?")
        questions.append(Question(clip, "probe", "yes_no", "", part.text, "v", (part,), clip.video, "hash", (0,), ("Frame",)))
    asked = Asker(judge, Recording(folder), Budget(), Patience(7, 5), encoding=encoding, concurrency=8).ask_all(questions)
    results.put(sum(one.answers[0].answer == "yes" for one in asked))


def test_killed_half_way_and_restarted_no_question_is_asked_twice(tmp_path: Path, video: Path):
    """SIGKILL during calls: answered questions are kept, the others are asked once more."""
    fork = multiprocessing.get_context("fork")  # a new interpreter would need seconds for imports
    results, half_way, killed = fork.Queue(), threading.Event(), threading.Event()

    def answer(body, n: int) -> Sent:
        if n == 60:
            half_way.set()
            killed.wait(HUNG_S)
        return YES

    with ChatServer(answer) as server:
        arguments = (server.url, tmp_path / "cache", video, results)
        process = fork.Process(target=_ask_in_child, args=arguments)
        process.start()
        assert half_way.wait(HUNG_S)
        process.kill()
        process.join()
        killed.set()
        restarted = fork.Process(target=_ask_in_child, args=arguments)
        restarted.start()
        assert results.get(timeout=HUNG_S) == 120
        restarted.join()
        asked = [request["messages"][-1]["content"][0]["text"] for request in server.requests]
    assert set(asked) == {f"Question {n}?" for n in range(120)}
    # up to eight calls were under way when the process was killed; their replies are lost
    assert len(asked) - 120 <= 8


def test_backoff_doubles_within_its_jitter_and_stops_at_the_limit():
    patience = Patience(seed=7, max_wait_s=8.0, first_wait_s=0.5)
    for attempt, full in enumerate((0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)):
        waits = [patience.backoff(f"call {n}", attempt) for n in range(50)]
        assert all(full / 2 <= wait < full for wait in waits)
        assert len(set(waits)) == 50, "calls that failed together must not come back together"


def test_backoff_depends_on_seed_call_and_attempt_alone():
    one, same, other = Patience(7, 8.0), Patience(7, 8.0), Patience(8, 8.0)
    assert one.backoff("a", 1) == same.backoff("a", 1)
    assert one.backoff("a", 1) != other.backoff("a", 1)
    assert one.backoff("a", 1) != one.backoff("b", 1)
