"""One call to a chat endpoint: a client that limits the size of responses, failures with typed reasons, and reading the response.

The response is read as raw text, so that a person can look at HTML, broken JSON or another schema that came instead.
"""

from __future__ import annotations

import math
import re
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any

from lookback import json_text
from lookback.errors import BackendUnavailable, Reason
from lookback.extras import need
from lookback.hiding import hide, judge_key
from lookback.judging.parsing import NO_TOKENS, YES_TOKENS, p_yes
from lookback.judging.question import JudgeError, Reply
from lookback.judging.reply_text import DECORATION, THOUGHT, whole_characters

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_BODY = 4_000_000  # bytes of one response; 24 answered questions with reasons take about 10,000
LONGEST_TEXT = 200_000  # characters of a reply that are kept
SHOWN = 500  # characters of an error body in a message
MOST_TOKENS = 1_000_000_000  # a larger count for one call is an error of the server
TRANSIENT = {408, 409, 425, 429}  # and every status from 500 on
# answers that every other question would get, too -> what to do
HOPELESS = {401: "check $LOOKBACK_JUDGE_KEY", 403: "check $LOOKBACK_JUDGE_KEY", 404: "check judging.model and judging.base_url"}
BEFORE_ANSWER = re.compile(DECORATION)
SAME_WORD = re.compile(r"[\w'’-]")  # a next token that continues the word: No|body, No|-one


SENDABLE = re.compile(r"[!-~]*")  # what a header can carry of a key


class BadBody(RuntimeError):
    """A response that is not read: too large, or packed in an unknown way."""


def bounded_client(base_url: str, key: str, timeout_s: float, connections: int) -> AsyncOpenAI:
    """The openai client with bounded responses and without its own retries (ours are seeded and respect the budget)."""
    need("openai", "httpx2")
    import httpx2  # the HTTP library the openai package itself uses
    from openai import AsyncOpenAI

    from lookback.judging.bounded_transport import BoundedTransport

    secure = not base_url.lower().startswith("http://")  # plain HTTP needs no certificates, and loading them is slow
    http = httpx2.AsyncClient(transport=BoundedTransport(connections, secure), timeout=timeout_s)
    return AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=timeout_s, http_client=http)


def sendable_key() -> str:
    """The judge's key without white space around it; empty when none is set."""
    key = judge_key().strip()
    if not SENDABLE.fullmatch(key):
        raise BackendUnavailable(
            "The judge's key contains white space or a character that is not ASCII", "Set $LOOKBACK_JUDGE_KEY again, as one word"
        )
    return key


def failure(error: Exception) -> JudgeError:
    """The error as a JudgeError: what went wrong, whether another try may help, and how long the server asks to wait."""
    import openai

    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        detail = f"the server answered {status}: {hide(error.response.text)[:SHOWN]}"
        wait = _retry_after(error.response.headers.get("retry-after"))
        if status in HOPELESS:
            return JudgeError(Reason.JUDGE_FAILED, f"{detail}; {HOPELESS[status]}", fatal=True)
        return JudgeError(Reason.JUDGE_FAILED, detail, retry=status in TRANSIENT or status >= 500, wait_s=wait)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BadBody):
            return JudgeError(Reason.JUDGE_FAILED, str(cause))
        cause = cause.__cause__
    if isinstance(error, openai.APITimeoutError):
        return JudgeError(Reason.JUDGE_FAILED, "the server did not answer in time", retry=True)
    if isinstance(error, openai.APIConnectionError):
        return JudgeError(Reason.JUDGE_FAILED, hide(f"no connection: {error.__cause__ or error}"), retry=True)
    return JudgeError(Reason.JUDGE_FAILED, f"{type(error).__name__}: {hide(str(error))[:SHOWN]}", retry=True)


def read_completion(body: str, want_logprobs: bool) -> Reply:
    """Read a chat completion in the published schema. Any other body is no answer and is kept unchanged in the error."""
    try:
        completion = json_text.loads(body)
        choice = completion["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason", "")
        refusal = message.get("refusal") or ""
        text = _joined(message.get("content") if refusal else message["content"])
        said, model, ended, why = (
            whole_characters(hide(str(value))) for value in (text, completion.get("model", ""), finish, refusal)
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise JudgeError(Reason.JUDGE_UNPARSED, f"not a chat completion: {hide(body)[:LONGEST_TEXT]}") from None
    tokens = (choice.get("logprobs") or {}).get("content") if isinstance(choice.get("logprobs"), dict) else None
    logprobs = _answer_token(tokens) if want_logprobs and isinstance(tokens, list) else None
    served = {"served_model": model[:SHOWN], "finish_reason": ended[:SHOWN]}
    usage = {**_tokens(completion.get("usage")), **served, "has_logprobs": tokens is not None}
    if not said.strip() and (why or ended == "content_filter"):
        refused = JudgeError(Reason.JUDGE_FAILED, f"the judge refused to answer: {why[:SHOWN] or 'content_filter'}")
        refused.spent = usage
        raise refused
    return Reply(said[:LONGEST_TEXT], logprobs, truncated=ended == "length", usage=usage)


def _joined(content: Any) -> Any:
    """The content of a message; where it is a list of parts, the texts among them."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return content or ""


def _tokens(usage: Any) -> dict[str, int]:
    stated = usage if isinstance(usage, dict) else {}
    return {"input_tokens": _count(stated.get("prompt_tokens")), "output_tokens": _count(stated.get("completion_tokens"))}


def _count(tokens: Any) -> int:
    """A number of tokens. An impossible number counts as 0: it would use up the budget or make it negative."""
    try:
        count = float(tokens or 0)
    except (ValueError, TypeError, OverflowError):
        return 0
    return int(count) if 0 <= count <= MOST_TOKENS else 0


def _answer_token(tokens: list[Any]) -> tuple[tuple[str, float], ...] | None:
    """The candidates of the answer token: an allowed token with only white space, quotes or markdown before it.

    A "no" inside a sentence is not an answer, and neither is a token that is only the start of a longer word. What a model thinks
    before its answer is left out.
    """
    thought = [place for place, token in enumerate(tokens) if isinstance(token, dict) and token.get("token") == THOUGHT]
    tokens = tokens[thought[-1] + 1 :] if thought else tokens
    for place, token in enumerate(tokens):
        try:
            said = str(token["token"])
            scored = [token, *(token.get("top_logprobs") or [])]
            candidates = {whole_characters(str(one["token"])): float(one["logprob"]) for one in scored}
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            return None
        if not all(score <= 0 or math.isfinite(score) for score in candidates.values()):  # no NaN, no +inf; -inf is p = 0
            return None
        if said in YES_TOKENS or said in NO_TOKENS:
            scores = tuple(sorted(candidates.items()))
            return None if p_yes(scores) is None or _word_goes_on(tokens[place + 1 :]) else scores
        if not BEFORE_ANSWER.fullmatch(said):
            return None
    return None


def _word_goes_on(rest: list[Any]) -> bool:
    following = rest[0].get("token", "") if rest and isinstance(rest[0], dict) else ""
    return bool(SAME_WORD.match(str(following)))


def _retry_after(header: str | None) -> float | None:
    """The seconds to wait from a Retry-After header, which holds a number or a date."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time())
    except (ValueError, TypeError, OverflowError, OSError):
        return None
