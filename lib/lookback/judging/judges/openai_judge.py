"""Any OpenAI-compatible endpoint. Frames, or a short video, are sent as data URLs. The key is sent nowhere else."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from lookback.errors import BackendUnavailable, Reason
from lookback.extras import installed, need, remedy
from lookback.judging.endpoint import bounded_client, failure, read_completion, sendable_key
from lookback.judging.frames import data_url
from lookback.judging.judges.base import Judge, JudgeContext, chosen_settings
from lookback.judging.parsing import is_cut_short
from lookback.judging.question import YES_NO_TOKENS, JudgeError, Question, Reply
from lookback.judging.recording import Identity
from lookback.registry import Availability, judge

if TYPE_CHECKING:
    from openai import AsyncOpenAI

URL_VARIABLES = ("LOOKBACK_JUDGE_URL", "MBENCH_VLM_BASE_URL")
MODEL_VARIABLES = ("LOOKBACK_JUDGE_MODEL", "MBENCH_VLM_MODEL")
TOP_LOGPROBS = 20  # the most that the published schema allows
# fields that a server may refuse -> what is sent instead
OPTIONAL_FIELDS = {"top_logprobs": None, "logprobs": None, "seed": None, "max_tokens": "max_completion_tokens", "temperature": None}

Call = tuple[tuple[str, ...], str, str, int, int]  # clip, task, text, sample, repeat


@judge(name="openai", title="any OpenAI-compatible endpoint", looks=True)
class OpenAIJudge(Judge):
    """Asks a chat endpoint. Yes/no questions use log-probabilities where the server gives them, else several samples."""

    costs = True

    def __init__(self, context: JudgeContext):
        params = context.params
        model, self.base_url = endpoint(context.model, params.base_url)
        if not model or not self.base_url:
            field, variables = ("judging.model", MODEL_VARIABLES) if not model else ("judging.base_url", URL_VARIABLES)
            raise BackendUnavailable(f"The openai judge needs {field}", f"Set it, or ${variables[0]}")
        need("openai", "httpx2")
        sendable_key()
        self.params = params
        self.frames = context.frames
        self.seed = context.seed
        settings = {
            "temperature": params.temperature,
            "sampling_temperature": params.sampling_temperature,
            "samples": params.samples,
            "seed": context.seed,
            "max_tokens": params.max_tokens,
            **chosen_settings(params, "video", "chat_template_kwargs", "extra_body"),
        }
        self.identity = Identity("openai", f"openai/{model}", model, settings=settings)
        self.model = model
        self.dropped: set[str] = set()
        self._left_out: dict[Call, set[str]] = {}  # of calls that have got no reply so far
        self._no_logprobs = False
        self._thinks = False  # it thinks before it answers Yes or No, so that a short limit would cut the answer off
        self._client: AsyncOpenAI | None = None

    @staticmethod
    def available() -> Availability:
        if not (installed("openai") and installed("httpx2")):
            return Availability(False, "the package 'openai' is not installed", remedy("openai"))
        if not _environment(URL_VARIABLES):
            return Availability(False, "no endpoint is configured", f"set ${URL_VARIABLES[0]} and ${MODEL_VARIABLES[0]}")
        return Availability(True)

    def samples(self, question: Question, first: Reply | None) -> int:
        if question.expects != "yes_no":
            return 0
        if first is None:
            return self.params.samples if self._no_logprobs else 0
        return 0 if first.logprobs is not None else self.params.samples

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        messages = await asyncio.to_thread(self._messages, question)
        short = self._is_short(question)  # before the call: another one may find out meanwhile that the model thinks
        call = (question.clip.key, question.task, question.text, sample, repeat)
        body = self._body(question, sample, repeat, self.dropped | self._left_out.get(call, set()))
        try:
            reply = await self._post(messages, body, short)
        except JudgeError as error:
            if error.spent:
                self._drop_for_good(call)
            elif not error.retry and error.reason == Reason.JUDGE_FAILED:
                error.changed = self._leave_out(call, body, error)
                if not error.changed and self._is_video(question) and "video" in error.detail:
                    error.fatal = True
                    error.detail += "; if the server takes no video, set judging.video to false"
            raise
        self._drop_for_good(call)
        return reply

    def _leave_out(self, call: Call, body: dict[str, object], error: JudgeError) -> bool:
        """Ask this call again without the optional field that the server named; False where it names none that was sent."""
        refused = next((field for field in OPTIONAL_FIELDS if field in body and field in error.detail), None)
        if refused is None or error.fatal:
            self._left_out.pop(call, None)
            return False
        self._left_out.setdefault(call, set()).update({"logprobs", "top_logprobs"} if "logprobs" in refused else {refused})
        return True

    def _drop_for_good(self, call: Call) -> None:
        """A reply came: the server does refuse the fields that were left out."""
        self.dropped |= self._left_out.pop(call, set())
        self._no_logprobs = self._no_logprobs or "logprobs" in self.dropped

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _post(self, messages: list[dict[str, object]], body: dict[str, object], short: bool) -> Reply:
        import httpx2
        import openai

        if self._client is None:
            self._client = bounded_client(self.base_url, sendable_key() or "none", self.params.timeout_s, self.params.concurrency)
        try:
            # the time-out of the client counts between bytes; this one also stops a server that sends very slowly
            async with asyncio.timeout(self.params.timeout_s):
                # posted as it is: the typed methods of the client walk through every image, which takes longer than sending it
                sent = {"model": self.model, "messages": messages, **body}
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=sent)
        except TimeoutError:
            raise JudgeError(Reason.JUDGE_FAILED, f"no reply within {self.params.timeout_s:g} s", retry=True) from None
        except (openai.OpenAIError, ValueError, RuntimeError) as error:
            raise failure(error) from None
        reply = read_completion(response.text, want_logprobs="logprobs" in body)
        if short and is_cut_short(reply):
            self._thinks = True
            cut = JudgeError(Reason.JUDGE_TRUNCATED, "the model was cut off before it answered")
            cut.changed, cut.spent = True, reply.usage
            raise cut
        if not reply.text.strip() and not reply.truncated:
            empty = JudgeError(Reason.JUDGE_FAILED, "the reply is empty", retry=True)
            empty.spent = reply.usage
            raise empty
        if "logprobs" in body and reply.logprobs is None and not reply.usage.get("has_logprobs"):
            self._no_logprobs = True
        settings: dict[str, object] = {name: body[name] for name in ("seed", "temperature") if name in body}
        return replace(reply, usage={**reply.usage, **settings})

    def _messages(self, question: Question) -> list[dict[str, object]]:
        content: list[dict[str, object]] = [{"type": "text", "text": question.text}]
        messages: list[dict[str, object]] = [{"role": "user", "content": content}]
        if question.system:
            messages.insert(0, {"role": "system", "content": question.system})
        if self._is_video(question):
            mp4 = self.frames.mp4(question.video, question.frames)
            content.append({"type": "video_url", "video_url": {"url": data_url(mp4, "video/mp4")}})
            return messages
        jpegs = self.frames.jpegs(question.video, question.frames)
        for label, jpeg in zip(question.labels, jpegs, strict=True):
            content.append({"type": "text", "text": f"{label}:"})
            content.append({"type": "image_url", "image_url": {"url": data_url(jpeg)}})
        return messages

    def _is_video(self, question: Question) -> bool:
        return self.params.video and question.is_timed

    def _is_short(self, question: Question) -> bool:
        """Whether a few tokens are enough for the answer."""
        return question.expects == "yes_no" and not self._thinks and self.params.max_tokens > YES_NO_TOKENS

    def _body(self, question: Question, sample: int, repeat: int, left_out: set[str]) -> dict[str, object]:
        template = {"chat_template_kwargs": self.params.chat_template_kwargs} if self.params.chat_template_kwargs else {}
        body: dict[str, object] = {
            "temperature": self.params.sampling_temperature if sample else self.params.temperature,
            "seed": self.seed + 1000 * repeat + sample,
            "max_tokens": YES_NO_TOKENS if self._is_short(question) else self.params.max_tokens,
            **template,
            **self.params.extra_body,
        }
        if question.expects == "yes_no" and sample == 0:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        for name in left_out & set(body):
            value, instead = body.pop(name), OPTIONAL_FIELDS[name]
            if instead:
                body[instead] = value
        return body


def endpoint(model: str, base_url: str) -> tuple[str, str]:
    """The model and its address: those of the run, else those of the environment."""
    return model or _environment(MODEL_VARIABLES), base_url or _environment(URL_VARIABLES)


def _environment(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")
