"""A server that does everything wrong. Every case ends with a value or a typed reason, in limited time, and no key leaks."""

from __future__ import annotations

import gzip
import json
import resource
import sqlite3
import struct
import time
import zlib
from functools import cache, reduce

import pytest
from chat_server import ChatServer, Sent, completion
from lookback.errors import Reason
from lookback.judging.endpoint import LONGEST_TEXT, MAX_BODY, SHOWN
from time_limits import HUNG_S

HTML = b"<html><body><h1>Bad gateway</h1> <p>No, really.</p></body></html>"
GZIP, DEFLATE = 31, 15  # zlib's window bits
GOOD = completion("Yes", [[("Yes", -0.1), ("No", -2.0)]])


@cache
def _bomb(wbits: int, megabytes: int = 1024) -> bytes:
    """So many MB of zeros, packed. After a full flush every packed MB is the same, so that only two are made."""
    packer, zeros = zlib.compressobj(9, wbits=wbits), bytes(1 << 20)
    first, next_one = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    checksum, start = (zlib.crc32, 0) if wbits == GZIP else (zlib.adler32, 1)
    total = reduce(lambda so_far, _: checksum(zeros, so_far), range(megabytes), start)
    end = struct.pack("<II", total, megabytes << 20) if wbits == GZIP else struct.pack(">I", total)
    return first + next_one * (megabytes - 1) + b"\x03\x00" + end  # an empty last block, then the checksum


PACKED, DEFLATED = (("content-encoding", "gzip"),), (("content-encoding", "deflate"),)
ZLIB_TEXT = (("content-type", "text/plain; charset=zlib"),)
CASES = {
    "429 for ever": (lambda n: Sent(b"{}", 429), Reason.JUDGE_FAILED),
    "500 for ever": (lambda n: Sent(b"boom", 500), Reason.JUDGE_FAILED),
    "500 then right": (lambda n: Sent(b"boom", 500) if n < 2 else GOOD, None),
    "400": (lambda n: Sent(b'{"error": "no images please"}', 400), Reason.JUDGE_FAILED),
    "hangs": (lambda n: Sent(b"", drip=True), Reason.JUDGE_FAILED),
    "drips for ever": (lambda n: Sent(b'{"choices": [', drip=True), Reason.JUDGE_FAILED),
    "connection cut": (lambda n: Sent(b'{"choices": [{"mess', cut=True), Reason.JUDGE_FAILED),
    "truncated JSON": (lambda n: Sent(GOOD.body[:60]), Reason.JUDGE_UNPARSED),
    "wrong schema": (lambda n: Sent(b'{"result": "No"}'), Reason.JUDGE_UNPARSED),
    "choices are null": (lambda n: Sent(b'{"choices": null}'), Reason.JUDGE_UNPARSED),
    "a list": (lambda n: Sent(b'["No"]'), Reason.JUDGE_UNPARSED),
    "HTML with status 200": (lambda n: Sent(HTML, headers=(("content-type", "text/html"),)), Reason.JUDGE_UNPARSED),
    "HTML with status 502": (lambda n: Sent(HTML, 502, (("content-type", "text/html"),)), Reason.JUDGE_FAILED),
    "empty body": (lambda n: Sent(b""), Reason.JUDGE_UNPARSED),
    "empty answer": (lambda n: completion(""), Reason.JUDGE_FAILED),
    "null answer": (lambda n: completion(None), Reason.JUDGE_FAILED),  # type: ignore[arg-type]
    "empty, then right": (lambda n: completion(" ") if n < 2 else GOOD, None),
    "chatter": (lambda n: completion("There is no way to tell, yes and no."), Reason.JUDGE_UNPARSED),
    "huge answer": (lambda n: Sent(b'{"choices": "' + b"x" * (MAX_BODY + 1)), Reason.JUDGE_FAILED),
    "huge error": (lambda n: Sent(b"x" * (MAX_BODY + 1), 500), Reason.JUDGE_FAILED),
    "log-probabilities of rubbish": (lambda n: completion("Yes", [[("Yes", float("nan"))]], model=7), None),
    "broken log-probabilities": (lambda n: _broken(), None),
    "endless tokens": (lambda n: _used("1e999"), None),
    "no number of tokens": (lambda n: _used("NaN"), None),
    "fewer tokens than none": (lambda n: _used("-5"), None),
    "more tokens than a float holds": (lambda n: _used("9" * 400), None),
    "tokens in words": (lambda n: _used('"n/a"'), None),
    "usage in words": (lambda n: completion("Yes", [[("Yes", -0.1)]], usage="n/a"), None),
    "deep JSON": (lambda n: Sent(b"[" * 100_000), Reason.JUDGE_UNPARSED),
    "deep JSON in an error": (lambda n: Sent(b'{"error":' * 100_000, 400), Reason.JUDGE_FAILED),
    "deep answer": (lambda n: completion("[" * 100_000), Reason.JUDGE_UNPARSED),
    "half a surrogate": (lambda n: completion("Yes \ud800", model="m\udfff"), Reason.JUDGE_UNPARSED),
    "half a surrogate among the candidates": (lambda n: completion("Yes", [[("Yes", -0.1), ("\ud800", -3.0)]]), None),
    "an answer that divides up in every way": (lambda n: completion("answer is" + " " * 150_000), Reason.JUDGE_UNPARSED),
    "gzip that unpacks to 1 GB": (lambda n: Sent(_bomb(GZIP), headers=PACKED), Reason.JUDGE_FAILED),
    "deflate that unpacks to 1 GB": (
        lambda n: Sent(_bomb(DEFLATE), headers=DEFLATED),
        Reason.JUDGE_FAILED,
    ),
    "an error that unpacks to 1 GB": (lambda n: Sent(_bomb(GZIP), 400, PACKED), Reason.JUDGE_FAILED),
    "a charset that unpacks": (
        lambda n: Sent(_bomb(DEFLATE), 400, ZLIB_TEXT),
        Reason.JUDGE_FAILED,
    ),
    "broken gzip": (lambda n: Sent(b"no gzip", headers=PACKED), Reason.JUDGE_FAILED),
    "packed in another way": (lambda n: Sent(GOOD.body, headers=(("content-encoding", "br"),)), Reason.JUDGE_FAILED),
    "packed twice": (lambda n: Sent(GOOD.body, headers=(("content-encoding", "gzip, gzip"),)), Reason.JUDGE_FAILED),
    "gzip nobody asked for": (lambda n: Sent(gzip.compress(GOOD.body), headers=PACKED), None),
}


def _used(tokens: str) -> Sent:
    """A good answer with this number of tokens."""
    return Sent(GOOD.body.replace(b'"prompt_tokens": 100', f'"prompt_tokens": {tokens}'.encode()))


@pytest.mark.parametrize("tokens", ["1e999", "NaN", "-5", "9" * 400, '"n/a"'])
def test_an_impossible_number_of_tokens_costs_nothing_and_keeps_the_answer(tokens, make_asker, yes_no):
    with ChatServer(lambda body, n: _used(tokens)) as server:
        asker = make_asker(server.url, price_per_million_input=1.0, max_cost=1.0)
        answer = asker.ask_all([yes_no()])[0].answers[0]
    assert (answer.answer, asker.budget.cost) == ("yes", 0.0)


def _broken() -> Sent:
    body = json.loads(GOOD.body)
    body["choices"][0]["logprobs"] = {"content": [{"token": "Yes", "logprob": "high", "top_logprobs": 3}]}
    return Sent(json.dumps(body).encode())


@pytest.mark.parametrize("wbits", [GZIP, DEFLATE])
def test_the_bombs_are_whole(wbits):
    assert zlib.decompress(_bomb(wbits, 3), wbits) == bytes(3 << 20)


@pytest.mark.parametrize("name", CASES)
def test_every_hostile_answer_ends_in_a_value_or_a_typed_reason(name, make_asker, yes_no):
    behave, reason = CASES[name]
    limit = 0.5 if name in ("hangs", "drips for ever") else HUNG_S
    for turn in range(3):  # a busy machine may be slow once; code that is slow is slow every time
        with ChatServer(lambda body, n: behave(n)) as server:
            started = time.process_time()
            asker = make_asker(server.url, f"answers of turn {turn}", timeout_s=limit, max_retries=2, samples=2, max_wait_s=1)
            answer = asker.ask_all([yes_no()])[0].answers[0]
            taken = time.process_time() - started
            assert 1 <= len(server.requests) <= 2 * 3, "two samples, each tried once and again twice"
        if taken < 6:
            break
    assert taken < 6
    if reason is None:
        assert answer.value is not None
    else:
        assert (answer.reason, answer.value, answer.answer) == (reason, None, "")


@pytest.mark.parametrize("name", [name for name in CASES if "unpack" in name or "deep" in name])
def test_a_hostile_answer_takes_no_memory(name, make_asker, yes_no):
    with ChatServer(lambda body, n: CASES[name][0](n)) as server:
        asker = make_asker(server.url, max_retries=0, samples=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        asker.ask_all([yes_no()])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


HOSTILE = [name for name, (_, reason) in CASES.items() if reason == Reason.JUDGE_UNPARSED]


def test_one_bad_reply_costs_no_other_question(make_asker, yes_no):
    """Every bad reply once, each followed by a good one."""
    questions = [yes_no(number) for number in range(2 * len(HOSTILE))]
    wanted = {
        question.text: CASES[HOSTILE[place // 2]][0](0) if place % 2 == 0 else GOOD for place, question in enumerate(questions)
    }
    with ChatServer(lambda body, n: wanted[body["messages"][1]["content"][0]["text"]]) as server:
        asked = make_asker(server.url, max_retries=0, samples=1).ask_all(questions)
    assert [one.answers[0].reason for one in asked] == [Reason.JUDGE_UNPARSED, None] * len(HOSTILE)


def test_packing_is_not_asked_for(make_asker, yes_no):
    with ChatServer(lambda body, n: GOOD) as server:
        make_asker(server.url).ask_all([yes_no()])
    assert server.headers[0]["accept-encoding"] == "identity"


class Defect:
    """A judge that raises an unexpected error for one of its replies."""

    def __init__(self, judge, error):
        self.judge, self.error = judge, error

    def __getattr__(self, name):
        return getattr(self.judge, name)

    async def ask(self, question, sample, repeat):
        if question.parts[0].question_id == "q0":
            raise self.error
        return await self.judge.ask(question, sample, repeat)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OverflowError("too large"), Reason.BACKEND_FAILED),
        (PermissionError(13, "Permission denied", "a.mp4"), Reason.DECODE_FAILED),
    ],
)
def test_an_unexpected_error_is_that_questions_reason(error, reason, make_asker, yes_no):
    with ChatServer(lambda body, n: GOOD) as server:
        asker = make_asker(server.url)
        asker.judge = Defect(asker.judge, error)
        bad, good = (one.answers[0] for one in asker.ask_all([yes_no(0), yes_no(1)]))
    assert (bad.reason, good.reason, good.answer) == (reason, None, "yes")


def test_an_unreadable_answer_keeps_its_words_and_is_never_a_no(make_asker, yes_no):
    with ChatServer(lambda body, n: completion("There is no way to tell.")) as server:
        answer = make_asker(server.url, samples=1).ask_all([yes_no()])[0].answers[0]
    assert answer.reason == Reason.JUDGE_UNPARSED
    assert answer.verbatim == "There is no way to tell."


def test_nobody_at_home_is_a_typed_reason(make_asker, yes_no):
    answer = make_asker("http://127.0.0.1:9/v1", max_retries=1).ask_all([yes_no()])[0].answers[0]
    assert answer.reason == Reason.JUDGE_FAILED
    assert "connection" in answer.verbatim


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_server_that_sends_the_key_back_does_not_get_it_into_any_output(status, make_asker, yes_no, key_in_environment, tmp_path):
    with ChatServer(lambda body, n: Sent(completion(f"Yes, {server.headers[-1]}").body, status)) as server:
        asker = make_asker(server.url, max_retries=1, samples=1)
        asked = asker.ask_all([yes_no()])
        assert any(key_in_environment in value for value in server.headers[0].values()), "the key must reach the server"
    asker.recording.__exit__()
    assert key_in_environment not in repr(asked)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) > 1000
    assert key_in_environment.encode() not in written


CUT = {
    "an error's body": lambda key: Sent(b"x" * (SHOWN - len(key) // 2) + key.encode(), 400),
    "another schema": lambda key: Sent(b"x" * (LONGEST_TEXT - len(key) // 2) + key.encode()),
    "a long answer": lambda key: completion("x" * (LONGEST_TEXT - len(key) // 2) + key),
}


@pytest.mark.parametrize("where", CUT)
def test_a_key_at_the_place_where_a_text_is_cut_leaves_no_half(where, make_asker, yes_no, key_in_environment):
    with ChatServer(lambda body, n: CUT[where](key_in_environment)) as server:
        asker = make_asker(server.url, max_retries=0, samples=1)
        asked = asker.ask_all([yes_no()])
    kept = repr(asked) + repr(sqlite3.connect(asker.recording.path).execute("SELECT body, usage FROM replies").fetchall())
    assert key_in_environment[:8] not in kept
