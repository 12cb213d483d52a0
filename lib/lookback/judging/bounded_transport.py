"""Responses of a judge's endpoint, cut off where they grow too large."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import cast

import httpx2

from lookback.judging.endpoint import MAX_BODY, BadBody


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response, unpacked and cut off at MAX_BODY. The limit is on the unpacked size."""

    def __init__(self, stream: httpx2.AsyncByteStream, packed: str):
        self._stream = stream
        self._unpack = zlib.decompressobj(wbits=47) if packed in ("gzip", "x-gzip", "deflate") else None
        self._refusal = "" if self._unpack or packed in ("", "identity") else f"the response is packed as {packed[:40]!r}"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        if self._refusal:
            raise BadBody(self._refusal)
        async for chunk in self._stream:
            chunk = self._unpacked(chunk, MAX_BODY + 1 - size)
            size += len(chunk)
            if size > MAX_BODY:
                raise BadBody(f"the response is larger than {MAX_BODY} bytes")
            yield chunk

    def _unpacked(self, chunk: bytes, most: int) -> bytes:
        if self._unpack is None:
            return chunk
        try:
            return self._unpack.decompress(chunk, most)
        except zlib.error as error:
            raise BadBody(f"the response cannot be unpacked: {error}") from None

    async def aclose(self) -> None:
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Cuts off every response at MAX_BODY, also the body of an error."""

    def __init__(self, connections: int, secure: bool):
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits, verify=secure)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        packed = response.headers.pop("content-encoding", "").strip().lower()
        response.stream = _BoundedStream(cast(httpx2.AsyncByteStream, response.stream), packed)
        response.headers["content-type"] = "application/json"  # a charset from the server could name a codec that unpacks
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
