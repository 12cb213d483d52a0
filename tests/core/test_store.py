"""The artifact store: keys hash all that matters, damage is noticed, a killed writer leaves nothing that looks finished."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from lookback.store import ArtifactStore, Producer

PRODUCER = Producer(role="pose", backend="classical", version="1", params_hash="p", weights="w")
ARRAYS = {"c2w": np.eye(4)[None], "flags": np.array(["cut"])}


def test_an_entry_reads_back(tmp_path):
    store = ArtifactStore(tmp_path)
    store.save(PRODUCER, "input", ARRAYS, {"n": 1})
    entry = store.load(PRODUCER, "input")
    assert entry is not None
    assert entry.record == {"n": 1}
    np.testing.assert_array_equal(entry.arrays["c2w"], ARRAYS["c2w"])


@pytest.mark.parametrize(
    "change", [{"backend": "other"}, {"version": "2"}, {"params_hash": "q"}, {"weights": "x"}, {"role": "masks"}]
)
def test_any_change_of_the_producer_misses_the_cache(tmp_path, change):
    store = ArtifactStore(tmp_path)
    store.save(PRODUCER, "input", ARRAYS, {})
    assert store.load(replace(PRODUCER, **change), "input") is None
    assert store.load(PRODUCER, "other input") is None


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_damaged_entry_is_forgotten(tmp_path, suffix):
    store = ArtifactStore(tmp_path)
    key = store.save(PRODUCER, "input", ARRAYS, {"n": 1})
    path = store.path(PRODUCER, key).with_suffix(suffix)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert store.load(PRODUCER, "input") is None
    assert store.record(PRODUCER, "input") is None


def test_an_array_that_would_need_a_pickle_is_refused(tmp_path):
    store = ArtifactStore(tmp_path)
    with pytest.raises(ValueError, match="allow_pickle"):
        store.save(PRODUCER, "input", {"objects": np.array([{"a": 1}], dtype=object)}, {})
    assert store.load(PRODUCER, "input") is None


WRITER = """
import sys, numpy as np
from pathlib import Path
from lookback.store import ArtifactStore, Producer
store = ArtifactStore(Path(sys.argv[1]))
producer = Producer("pose", "classical", "1")
for number in range(100000):
    store.save(producer, f"clip {number}", {"a": np.full((200, 200), number)}, {"number": number})
    print(number, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_only_whole_entries(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    told = [writer.stdout.readline() for _ in range(8)]
    os.kill(writer.pid, signal.SIGKILL)
    reported = len(told) + len(writer.stdout.read().splitlines())
    writer.wait()
    store = ArtifactStore(tmp_path)
    producer = Producer("pose", "classical", "1")
    assert reported >= 8
    for number in range(reported):
        entry = store.load(producer, f"clip {number}")
        assert entry is not None
        assert entry.record == {"number": number}
        assert (entry.arrays["a"] == number).all()
