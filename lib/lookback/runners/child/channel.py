"""Messages between lookback and a runner: a JSON header, then the bytes of named arrays.

Both sides read this file. The runner's side lives in an environment of its own, so it uses nothing but Python and numpy.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

import numpy as np

LENGTH = struct.Struct(">I")
LONGEST_HEADER = 1 << 20


class Closed(Exception):
    """The other side has ended."""


def send(stream: IO[bytes], kind: str, arrays: dict[str, np.ndarray] | None = None, **fields: Any) -> None:
    """Write one message."""
    held = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in held.items()]
    header = json.dumps({"kind": kind, "fields": fields, "arrays": shapes}).encode()
    try:
        stream.write(LENGTH.pack(len(header)))
        stream.write(header)
        for array in held.values():
            stream.write(array.reshape(-1).view(np.uint8).data)
        stream.flush()
    except (BrokenPipeError, ValueError):  # ValueError: the stream was closed
        raise Closed from None


def receive(stream: IO[bytes]) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """The next message: its kind, its fields and its arrays."""
    [length] = LENGTH.unpack(_exactly(stream, LENGTH.size))
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes: something else was written to the channel")
    header = json.loads(bytes(_exactly(stream, length)))
    arrays = {}
    for name, code, shape in header["arrays"]:
        dtype = np.dtype(code)
        if dtype.hasobject:
            raise ValueError("arrays of Python objects are not sent")
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(_exactly(stream, count * dtype.itemsize), dtype).reshape(shape)
    return header["kind"], header["fields"], arrays


def _exactly(stream: IO[bytes], count: int) -> bytearray:
    found = bytearray(count)
    view, filled = memoryview(found), 0
    while filled < count:
        read = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not read:
            raise Closed
        filled += read
    return found
