"""A small OpenAI-compatible chat server on loopback. The test chooses the reply to each call."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from time_limits import HUNG_S

KEY = "sk-lookback-test-5f2c9e"  # not a real key; the tests search everything that is written for it


@dataclass(frozen=True)
class Sent:
    """What the server sends: status, headers and body. `cut` announces more bytes than it sends; `drip` never ends."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    cut: bool = False
    drip: bool = False


def completion(text: str, top: list[list[tuple[str, float]]] | None = None, **extra: Any) -> Sent:
    """A chat completion in the published schema. `top` gives the candidates of each token; the first is the chosen one."""
    logprobs = None
    if top is not None:
        tokens = [
            {
                "token": row[0][0],
                "logprob": row[0][1],
                "bytes": None,
                "top_logprobs": [{"token": t, "logprob": p, "bytes": None} for t, p in row],
            }
            for row in top
        ]
        logprobs = {"content": tokens, "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": logprobs}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "served", "choices": [choice], "usage": usage, **extra}
    return Sent(json.dumps(body).encode())


@dataclass
class ChatServer:
    """Runs in its own thread. `requests` keeps every request body, in the order of arrival."""

    answer: Callable[[dict[str, Any], int], Sent]
    latency_s: float = 0.0
    together: int = 1  # replies after the first are sent in groups of this size; fewer open calls would wait for ever
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    port: int = 0  # any free one

    def __enter__(self) -> ChatServer:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(HUNG_S)
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(HUNG_S)

    async def _serve(self) -> None:
        self._loop, self._stop, self._now = asyncio.get_running_loop(), asyncio.Event(), 0
        self._round = asyncio.Barrier(self.together)
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                pairs = (line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                headers = {name.lower(): value for name, value in pairs}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                number = len(self.requests)
                self.requests.append(body)
                self.headers.append(headers)
                self._now += 1
                self.most_at_once = max(self.most_at_once, self._now)
                await asyncio.sleep(self.latency_s)
                if number:
                    await self._round.wait()
                self._now -= 1
                if not await self._send(writer, self.answer(body, number)):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, sent: Sent) -> bool:
        length = len(sent.body) + (1000 if sent.cut or sent.drip else 0)
        lines = [f"HTTP/1.1 {sent.status} X", f"content-length: {length}", *(f"{name}: {value}" for name, value in sent.headers)]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + sent.body)
        await writer.drain()
        while sent.drip:
            await asyncio.sleep(0.05)
            writer.write(b" ")
            await writer.drain()
        return not sent.cut
