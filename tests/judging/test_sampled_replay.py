"""A server without log-probabilities: a rerun costs nothing and loses nothing, and a replay decides as the live run did."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_server import completion
from lookback.errors import Reason
from lookback.judging.asking import Asker, Budget, Patience
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.judges import openai_judge
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.openai_judge import OpenAIJudge
from lookback.judging.judges.replay_judge import ReplayJudge
from lookback.judging.recording import Recording
from lookback.judging.run import asked_rows, judgements_frame
from lookback.params.stages import Judging

ENCODING = Encoding(64, 80)
WORDS = ("Yes", "No", "Perhaps.")


class StubbedClient:
    """Replaces the HTTP client. The reply depends on the seed and the question; with `down` every call fails."""

    def __init__(self):
        self.posts: list[dict] = []
        self.down = False
        self.answer = lambda body: completion(WORDS[(body["seed"] + len(self.posts)) % 3])

    async def post(self, path, cast_to, body):
        self.posts.append(body)
        if self.down:
            raise RuntimeError("the server is down")
        return SimpleNamespace(text=self.answer(body).body.decode())

    async def close(self):
        return None


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> StubbedClient:
    stub = StubbedClient()
    monkeypatch.setattr(openai_judge, "bounded_client", lambda *arguments: stub)
    return stub


@pytest.fixture
def live(tmp_path: Path, client: StubbedClient):
    """Like a new process: a new judge and asker with the same recording; returns the table."""

    def ask(questions, repeats=1, max_calls=None, max_retries=0):
        settings = Judging(judge="openai", model="tiny", base_url="http://x/v1", samples=5, concurrency=8)
        judge = OpenAIJudge(JudgeContext(settings, "tiny", seed=7, frames=FrameSource(ENCODING)))
        with Recording(tmp_path) as recording:
            asker = Asker(judge, recording, Budget(max_calls), Patience(7, 1, 0.01), encoding=ENCODING, max_retries=max_retries)
            return written(judge, asker.ask_all(questions, repeats))

    return ask


@pytest.fixture
def replayed(tmp_path: Path):
    def ask(questions, repeats=1, max_calls=None):
        settings = Judging(judge="openai", model="tiny", base_url="http://x/v1", samples=5)
        who = OpenAIJudge(JudgeContext(settings, "tiny", seed=7)).identity
        with Recording(tmp_path, read_only=True) as recording:
            judge = ReplayJudge(who, recording, ENCODING)
            asker = Asker(judge, recording, Budget(max_calls), Patience(7, 1), encoding=ENCODING)
            return written(judge, asker.ask_all(questions, repeats))

    return ask


def written(judge, asked) -> str:
    return judgements_frame(asked_rows(judge.identity, asked)).to_csv(index=False)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_rerun_posts_nothing_and_a_replay_is_the_live_table(repeats, live, replayed, client, yes_no):
    questions = [yes_no(n) for n in range(20)]
    first = live(questions, repeats)
    asked = len(client.posts)
    assert 100 * repeats <= asked <= 100 * repeats + 8, (
        "five samples a question; the plain call is skipped once it is known useless"
    )
    assert live(questions, repeats) == first
    client.down = True
    assert live(questions, repeats) == first, "all of it is recorded"
    assert len(client.posts) == asked
    assert replayed(questions, repeats) == first


def test_a_recorded_log_probability_is_used_although_the_server_gives_none_now(live, replayed, client, yes_no):
    client.answer = lambda body: completion("Yes", [[("Yes", -0.1), ("No", -2.5)]])
    live([yes_no(5)])
    client.answer = lambda body: completion("No")
    questions = [
        *(yes_no(n) for n in range(5)),
        *(yes_no(n) for n in range(10, 30)),
        yes_no(5),
    ]  # the last one comes after the news
    table = live(questions)
    assert "logprobs" in table.splitlines()[-1]
    assert replayed(questions) == table


@pytest.mark.parametrize("max_calls", [0, 1, 9, 14, 37])
def test_a_budget_that_ends_among_the_samples_is_replayed_and_resumed(max_calls, live, replayed, client, yes_no):
    questions = [yes_no(n) for n in range(12)]
    spent = live(questions, max_calls=max_calls)
    assert str(Reason.BUDGET_SPENT) in spent
    assert replayed(questions) == spent
    assert replayed(questions, max_calls=1) == spent, "reading a recorded failure is no call"
    whole = live(questions)
    assert str(Reason.BUDGET_SPENT) not in whole
    assert replayed(questions) == whole


def test_a_failure_of_the_samples_is_replayed_although_the_plain_call_failed_before(live, replayed, client, yes_no):
    client.down = True
    live([yes_no(3)])
    client.down = False
    live([yes_no(0)])  # another question
    late = [*(yes_no(n) for n in range(10, 20)), yes_no(3)]
    client.answer = lambda body: completion("No")
    table = live(late, max_calls=50)
    assert "budget_spent" in table.splitlines()[-1]
    assert replayed(late) == table


def test_a_prose_no_is_sampled_and_never_read_from_its_scores(live, client, yes_no):
    prose = [[("There", -0.1)], [(" is", -0.1)], [(" no", -0.01), (" yes", -9.0)], [(" contradiction", -0.1)]]
    client.answer = lambda body: completion("There is no contradiction, so: Yes" if "logprobs" in body else "Yes", prose)
    table = live([yes_no()])
    assert ",yes,1.0," in table and ",sampled," in table
    assert [post["temperature"] for post in client.posts] == [0.0, *[0.7] * 5]
