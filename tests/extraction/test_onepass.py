"""One clip, one decode: what every job receives, and what happens when one of them fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lookback.artifacts import Artifact, FrameRows
from lookback.clips import Clip
from lookback.errors import BackendUnavailable, LookbackError, NotScorable, Reason
from lookback.extraction import onepass
from lookback.extraction.onepass import extract_clip
from lookback.media import VideoInfo, encode, open_video

N = 21


class Recorder:
    """A backend that keeps what it was given."""

    def __init__(
        self, wants: np.ndarray | None = None, requires: tuple[str, ...] = (), fail: Exception | None = None, where: str = "finish"
    ):
        self.wants, self.requires, self.fail, self.where = wants, requires, fail, where
        self.indices: list[int] = []
        self.frames: list[np.ndarray] = []
        self.saw: dict[str, Artifact] = {}

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> Recorder:
        self._maybe_fail("start")
        self.saw = dict(artifacts)
        return self

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self._maybe_fail("push")
        self.indices += indices.tolist()
        self.frames += list(frames)

    def finish(self) -> Artifact:
        self._maybe_fail("finish")
        return FrameRows(frame_index=np.array(self.indices, np.int64))

    def _maybe_fail(self, where: str) -> None:
        if self.fail is not None and self.where == where:
            raise self.fail


@pytest.fixture
def clip(tmp_path: Path) -> Clip:
    frames = np.random.default_rng(0).integers(0, 255, (N, 48, 64, 3)).astype(np.uint8)
    encode(tmp_path / "clip.mp4", frames, 16.0)
    return Clip(benchmark="folder", setting="", model_id="m", clip_id="c", video=str(tmp_path / "clip.mp4"))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts passes over the clip and frames fetched apart from them."""
    counts = {"passes": 0, "reads": 0}

    def counting(path: Path) -> Any:
        reader = open_video(path)
        batches, read = reader.batches, reader.read

        def count_batches(size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            counts["passes"] += 1
            return batches(size)

        def count_read(indices: np.ndarray) -> np.ndarray:
            counts["reads"] += len(indices)
            return read(indices)

        monkeypatch.setattr(reader, "batches", count_batches)
        monkeypatch.setattr(reader, "read", count_read)
        return reader

    monkeypatch.setattr(onepass, "open_video", counting)
    return counts


def run(clip: Clip, backends: dict[str, Recorder], known: Mapping[str, Artifact] | None = None) -> dict[str, onepass.Made]:
    return extract_clip(clip, backends, known or {})[0]  # type: ignore[arg-type]


def test_all_jobs_are_served_by_one_pass(clip: Clip, decoded: dict[str, int]) -> None:
    every, some = Recorder(), Recorder(np.array([0, 7, 20]))
    later, last = Recorder(np.array([3, 20]), ("every",)), Recorder(None, ("later", "some"))
    made = run(clip, {"last": last, "later": later, "every": every, "some": some})
    assert decoded == {"passes": 1, "reads": 0}
    assert every.indices == list(range(N)) == last.indices and some.indices == [0, 7, 20] and later.indices == [3, 20]
    with open_video(clip.video) as reader:
        truth = reader.read(np.arange(N))
    for recorder in (every, some, later, last):
        assert np.array_equal(np.stack(recorder.frames), truth[recorder.indices])
    assert set(later.saw) == {"every", "some"} and set(last.saw) == {"every", "some", "later"}
    assert all(made[role].reason == "" for role in made)


def test_a_clip_too_large_to_keep_is_read_again_only_where_wanted(
    clip: Clip, decoded: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onepass, "FRAME_CACHE_BYTES", 1000)
    later = Recorder(np.array([3, 20]), ("every",))
    run(clip, {"every": Recorder(), "later": later})
    assert decoded == {"passes": 1, "reads": 2} and later.indices == [3, 20]


def test_nothing_is_decoded_for_jobs_that_want_no_frame(clip: Clip, decoded: dict[str, int]) -> None:
    made = run(clip, {"files": Recorder(np.empty(0, np.int64))})
    assert decoded == {"passes": 0, "reads": 0} and made["files"].artifact is not None


@pytest.mark.parametrize("where", ["start", "push", "finish"])
@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (NotScorable(Reason.LOW_TEXTURE, "blank"), Reason.LOW_TEXTURE, "blank"),
        (BackendUnavailable("no weights", "fetch them"), Reason.BACKEND_UNAVAILABLE, "no weights. fetch them"),
        (LookbackError("a bad file"), Reason.INVALID_INPUT, "a bad file"),
        (ZeroDivisionError("oops"), Reason.BACKEND_FAILED, "ZeroDivisionError: oops"),
    ],
)
def test_a_role_that_fails_costs_only_itself(where: str, error: Exception, reason: Reason, detail: str, clip: Clip) -> None:
    good, bad, beside = Recorder(), Recorder(fail=error, where=where), Recorder(np.array([1]), ("good",))
    made = run(clip, {"bad": bad, "good": good, "beside": beside})
    assert (made["bad"].artifact, made["bad"].reason, made["bad"].detail) == (None, reason, detail)
    assert made["good"].artifact is not None and good.indices == list(range(N))
    assert made["beside"].artifact is not None and beside.saw.keys() == {"good"}


def test_what_builds_on_a_role_without_artifact_has_its_reason(clip: Clip) -> None:
    """A mask that ran out of memory is not "no object": a metric may count that as 0."""
    failing = {"bad": Recorder(fail=MemoryError("full")), "next": Recorder(requires=("bad",)), "last": Recorder(requires=("next",))}
    made = run(clip, failing)
    assert {made[role].reason for role in made} == {Reason.BACKEND_FAILED}
    assert made["last"].detail == "it builds on the role 'next': it builds on the role 'bad': MemoryError: full"
    absent = {"masks": onepass.Made(None, "backend_unavailable", "no weights")}
    made = extract_clip(clip, {"crops": Recorder(requires=("masks",))}, {}, absent)[0]  # type: ignore[dict-item]
    assert (made["crops"].reason, made["crops"].detail) == ("backend_unavailable", "it builds on the role 'masks': no weights")


def test_artifacts_from_the_store_are_handed_on(clip: Clip, decoded: dict[str, int]) -> None:
    later = Recorder(np.array([2]), ("masks",))
    run(clip, {"later": later}, {"masks": Artifact(facts={"from": "store"})})
    assert later.saw["masks"].record == {"from": "store"}
    assert decoded == {"passes": 0, "reads": 1}


def test_a_broken_video_gives_every_role_its_reason(clip: Clip) -> None:
    path = Path(clip.video)
    path.write_bytes(path.read_bytes()[:200])
    made = run(clip, {"one": Recorder(), "two": Recorder(np.array([1]), ("one",))})
    assert {made[role].reason for role in made} == {Reason.DECODE_FAILED} and all(str(path) in made[role].detail for role in made)


def test_roles_in_a_circle_are_refused(clip: Clip) -> None:
    with pytest.raises(LookbackError, match="in a circle: a, b"):
        run(clip, {"a": Recorder(requires=("b",)), "b": Recorder(requires=("a",))})
