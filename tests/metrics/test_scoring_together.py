"""Clips that share a ground truth: scored in one pass over it, with the same numbers, in bounded memory, safe against a kill."""

import dataclasses
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import cv2
import lookback.measures.shrinking as shrinking
import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip, clips_to_frame
from lookback.media import SharedFrame, content_hash, derived, encode
from lookback.params.load import validate
from lookback.registry import METRICS
from lookback.scoring import clip as clip_module
from lookback.scoring import decode
from lookback.scoring import run as run_module
from lookback.scoring.clip import score_clip, score_clips
from lookback.scoring.contract import ScoringClip
from lookback.scoring.run import ScoringTask, grouped, score_run
from lookback.tables import empty_table

FRAMES = 24
SIZES = {"a": (48, 80, 24), "b": (48, 80, 24), "c": (64, 96, 17), "d": (32, 64, 11)}  # model: height, width, frames


def noise(height: int, width: int, frames: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (frames, height, width, 3), np.uint8)


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> list[Clip]:
    """Four models with two sizes more than one and three lengths, and one clip of another truth."""
    folder = tmp_path_factory.mktemp("together")
    for number, name in enumerate(("truth", "other")):
        encode(folder / f"{name}.mp4", noise(96, 160, FRAMES, 90 + number), 16)
    found = []
    for number, (model, truth) in enumerate([*((model, "truth") for model in SIZES), ("a", "other")]):
        height, width, frames = SIZES[model]
        video = encode(folder / f"{model}_{truth}.mp4", noise(height, width, frames, number), 16)
        names = {"benchmark": "memobench", "setting": "real", "model_id": model, "clip_id": truth, "scene": truth}
        facts = {"n_frames": frames, "fps": 16.0, "width": width, "height": height, "gt_frames": FRAMES}
        marks = {"d_start": 8, "r_start": 16, "content_hash": content_hash(video)}
        found.append(Clip(**names, **facts, **marks, video=str(video), ground_truth=str(folder / f"{truth}.mp4")))
    return found


def asked(clip: Clip, names=("psnr", "ssim"), tool=None):
    specs = [METRICS.get(f"memobench.{name}") for name in names]
    given = (pd.DataFrame(), lambda role: None, lambda role: tool)
    return [
        (spec, ScoringClip(clip, variant, {}, *given, settings=spec.preset(variant, {})))
        for spec in specs
        for variant in ("paper", "official")
    ]


def together(clips: list[Clip]):
    return score_clips([asked(clip) for clip in clips], [defaultdict(float) for _ in clips])


class Watched:
    """Counts how often each file is opened (`late` takes longer than all others), and how many true frames are held at most."""

    def __init__(self, monkeypatch, late=""):
        self.opened, self.held = [], 0
        plain_open, plain_frame = decode.open_video, decode._Truth.frame

        def opened(path):
            self.opened.append(Path(path).name)
            time.sleep(0.5 * (Path(path).name == late))
            return plain_open(path)

        def frame(truth, match):
            found = plain_frame(truth, match)
            self.held = max(self.held, len(truth.window))
            return found

        monkeypatch.setattr(decode, "open_video", opened)
        monkeypatch.setattr(decode._Truth, "frame", frame)


def test_scores_are_the_same_to_the_bit_as_those_of_single_clips(clips):
    assert together(clips) == [score_clip(asked(clip)) for clip in clips]


@pytest.fixture(params=[1, 2])
def threads(request) -> Iterator[int]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(request.param)
    yield request.param
    cv2.setNumThreads(before)


def test_the_number_of_threads_changes_no_score(clips, threads):
    """One: no pool. Two: four clips are enough for the pool. Three: they are too few."""
    found = together(clips[:4])
    cv2.setNumThreads(3)
    assert found == together(clips[:4])


class Counting:
    """Notes which threads call it, and whether two of them do so at once."""

    threads: ClassVar[set[int]]
    inside: ClassVar[list[int]]
    overlaps: ClassVar[int]

    def push(self, index, frame, truth):
        self.threads.add(threading.get_ident())
        self.inside.append(index)
        type(self).overlaps += len(self.inside) > 1
        time.sleep(0.002)
        self.inside.pop()

    def finish(self):
        return None


@pytest.fixture
def counting() -> type[Counting]:
    Counting.threads, Counting.inside, Counting.overlaps = set(), [], 0
    return Counting


def streams(clips: list[Clip], counting: type[Counting]) -> list[decode.Asked]:
    return [decode.Asked(Path(clip.video), None, [decode.Stream("count", counting)], defaultdict(float), 11) for clip in clips[:4]]


def test_a_consumer_of_one_thread_is_never_called_by_two_at_once(clips, counting, threads):
    decode.serve(streams(clips, counting))
    assert counting.overlaps == 0
    assert (threading.get_ident() in counting.threads) == (threads == 1)


def test_nobody_works_on_after_an_interruption(clips, counting, threads, monkeypatch):
    told = []

    def interrupted(*words):
        told.append(words)
        if len(told) == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr(decode, "inside", interrupted)
    with pytest.raises(KeyboardInterrupt):
        decode.serve(streams(clips, counting))
    counting.threads.clear()
    time.sleep(0.05)
    assert not counting.threads


@pytest.fixture
def cut(tmp_path) -> Path:
    """A clip whose end is missing."""
    path = encode(tmp_path / "cut.mkv", noise(48, 80, FRAMES, 1), 16)
    path.write_bytes(path.read_bytes()[:-3000])
    return path


def test_a_clip_that_is_cut_off_says_so_after_its_last_frame(clips, counting, cut, threads):
    first, second, *others = streams(clips, counting)
    found = decode.serve([first, dataclasses.replace(second, video=cut), *others])
    assert [answer is None for (answer,) in found] == [True, False, True, True]
    assert "decoding broke after" in found[1][0].detail


def test_a_shared_truth_is_decoded_once_and_few_of_its_frames_are_held(clips, monkeypatch):
    watched = Watched(monkeypatch)
    together(clips)
    assert sorted(watched.opened) == sorted([Path(clip.video).name for clip in clips] + ["truth.mp4", "other.mp4"])
    # 11 frames against 24: a step of the shortest clip is two or three true frames, once by the phases and once by the whole clip
    assert watched.held <= 6


def test_nobody_runs_ahead_of_a_clip_that_is_slow_to_open(clips, threads, monkeypatch):
    watched = Watched(monkeypatch, late=Path(clips[1].video).name)
    together(clips[:4])
    assert watched.held <= 6


def test_a_truth_that_breaks_costs_only_the_metrics_that_need_it(clips, counting, threads, monkeypatch):
    plain = decode.open_video

    def opened(path):
        if Path(path).name == "truth.mp4":
            raise ValueError("a strange file")
        return plain(path)

    monkeypatch.setattr(decode, "open_video", opened)
    paired = decode.Paired("pairs", counting, np.arange(4), np.arange(4))
    asked = [
        dataclasses.replace(each, truth=Path(clips[0].ground_truth), requests=[*each.requests, paired])
        for each in streams(clips, counting)
    ]
    for streamed, compared in decode.serve(asked):
        assert streamed is None
        assert "a strange file" in compared.detail


def test_who_wants_no_frame_does_not_meet_the_end_of_a_cut_clip(clips, counting, cut, threads):
    frames = np.array([], int)
    asked = [
        dataclasses.replace(each, video=cut, requests=[decode.Stream("count", counting, frames), decode.Frames(frames)])
        for each in streams(clips, counting)
    ]
    assert decode.serve(asked) == [[None, {}]] * 4


def test_a_truth_is_brought_to_each_size_once(clips, monkeypatch):
    sizes, plain = [], shrinking.resize_areas
    monkeypatch.setattr(shrinking, "resize_areas", lambda frame, asked: sizes.append(asked) or plain(frame, asked))
    together(clips[:2])
    assert sizes == [((80, 48),)] * FRAMES


def test_frames_that_metrics_keep_limit_how_many_clips_go_together(clips, monkeypatch):
    """With room for no more than one clip's frames, every clip is served alone; the scores stay the same."""
    served = []
    plain = clip_module.serve
    monkeypatch.setattr(clip_module, "serve", lambda asked: served.append(len(asked)) or plain(asked))
    expected = together(clips[:4])
    monkeypatch.setattr(clip_module, "KEPT_BYTES", -1)
    assert together(clips[:4]) == expected
    assert served == [4, 1, 1, 1, 1]


def test_a_clip_that_cannot_be_read_costs_only_itself(clips, tmp_path):
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(Path(clips[1].video).read_bytes()[:3000])
    found = together([clips[0], clips[1].model_copy(update={"video": str(broken)}), clips[2]])
    assert found[0] == score_clip(asked(clips[0])) and found[2] == score_clip(asked(clips[2]))
    assert all(item.reason for scored in found[1] for item in scored.items)


def test_clips_without_a_truth_have_the_reason(clips):
    (found,) = together([clips[0].model_copy(update={"ground_truth": ""})])
    assert {item.reason for scored in found for item in scored.items} == {"missing_input"}


# -- groups and workers -----------------------------------------------------------------------------------------------------------
def tasks(clips: list[Clip], params) -> list[ScoringTask]:
    return [ScoringTask(clip, (("memobench.psnr", "paper"),), (), (), params) for clip in clips]


@pytest.mark.parametrize(("workers", "sizes"), [(1, [4, 1]), (2, [3, 1, 1]), (5, [1, 1, 1, 1, 1])])
def test_groups_share_a_truth_and_leave_work_for_every_worker(clips, tmp_path, workers, sizes):
    groups = grouped(tasks(clips, parameters(tmp_path)), workers)
    assert sorted(map(len, groups), reverse=True) == sizes
    assert all(len({task.clip.ground_truth for task in group}) == 1 for group in groups)


def parameters(folder: Path, **more):
    values = {"run": "together", "output": str(folder), "workers": 1, "device": "cpu"}
    return validate({**values, "scoring": {"metrics": ["memobench.psnr", "memobench.ssim"]}, **more}, "test")


def scored(params, clips: list[Clip]) -> pd.DataFrame:
    _, items, _ = score_run(params, clips_to_frame(clips), empty_table("segments"), empty_table("artifacts"))
    return items.sort_values(["model_id", "clip_id", "metric", "phase"]).reset_index(drop=True)


def test_a_killed_run_keeps_the_groups_it_finished(clips, tmp_path, monkeypatch):
    params, plain, calls = parameters(tmp_path), run_module.score_clips, []

    def killed(metrics, spent):
        calls.append(sum(map(len, metrics)))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(metrics, spent)

    monkeypatch.setattr(run_module, "score_clips", killed)
    with pytest.raises(KeyboardInterrupt):
        scored(params, clips)
    items = scored(params, clips)
    assert calls == [8, 2, 0, 2]  # metrics to score: four clips, killed at the fifth; then only the fifth
    assert items["value"].notna().all()


def _dies_on_a_group(tasks):
    """Stands for a crash in native code that needs two clips at once."""
    if len(tasks) > 1:
        os._exit(1)
    return run_module.score_group(tasks)


@pytest.mark.long
def test_a_group_that_kills_its_worker_is_tried_clip_by_clip(clips, tmp_path, monkeypatch):
    expected = scored(parameters(tmp_path / "sound"), clips)
    params = parameters(tmp_path / "dying", workers=2)
    plain = run_module.executor_of

    class Executor:
        def run(self, function, tasks):
            return plain(params).run(_dies_on_a_group if function is run_module.score_group else function, tasks)

    monkeypatch.setattr(run_module, "executor_of", lambda params: Executor())
    assert scored(params, clips)["value"].tolist() == expected["value"].tolist()


# -- shared frames ----------------------------------------------------------------------------------------------------------------
def test_a_shared_frame_makes_a_thing_once_and_forgets_it_with_the_frame():
    made = []

    def half(frame):
        made.append(type(frame))
        return frame // 2

    frame = np.arange(6, dtype=np.uint8).view(SharedFrame)
    assert derived(frame, "half", half) is derived(frame, "half", half)
    assert made == [np.ndarray]
    derived(frame.copy(), "half", half)
    derived(np.asarray(frame), "half", half)
    assert len(made) == 3  # a copy has nothing to share, and a plain array cannot


def test_an_error_over_a_shared_frame_reaches_everyone():
    frame = np.zeros(3).view(SharedFrame)

    def fails(frame):
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            derived(frame, "fails", fails)
