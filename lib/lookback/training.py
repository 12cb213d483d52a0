"""Memory scores inside a training loop, and loggers that show them in TensorBoard and Weights & Biases.

    loggers = [TensorBoardLogger("runs/tb")]
    watcher = MemoryCallback("runs/memory", metrics=["wrbench.visual_integrity"], loggers=loggers, every=1000)
    for step, batch in enumerate(batches):
        train(batch)
        watcher(step, lambda: sample_videos(model))  # called at every 1000th step alone

Every scored step adds a point to `runs/memory/curve.csv` (see `lookback watch`). A logger gets the mean of each metric with its
interval and n, and two film strips of clips in which the written rules find a failure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lookback.checkpoints import RUNS, read_curve, record_step, score_step, step_name, step_params, step_record
from lookback.clips import KEYS
from lookback.errors import CannotWrite, LookbackError, UsageError
from lookback.evaluation import GIVEN, Result, Videos, find_files, write_frames
from lookback.media.video import MAX_FPS
from lookback.params import load_run
from lookback.paths import expanded, resolve
from lookback.progress import silenced
from lookback.registry import LAYOUTS, METRICS
from lookback.strips import read_strip

STRIP_FRAMES, STRIP_WIDTH = 6, 192
PREFIX = "memory"
Picture = NDArray[np.uint8]  # (H,W,3) RGB


class Logger(Protocol):
    """Where numbers and pictures of a step go."""

    def log(self, step: int, numbers: Mapping[str, float], pictures: Mapping[str, Picture]) -> None: ...

    def close(self) -> None: ...


class TensorBoardLogger:
    """Writes to a folder that TensorBoard reads, or to a SummaryWriter that you have."""

    def __init__(self, folder: str | Path | None = None, *, writer: Any = None):
        if writer is None and folder is None:
            raise UsageError("TensorBoardLogger needs a folder to write to, or a SummaryWriter")
        if writer is None and folder is not None:
            _package("tensorboard")
            from torch.utils.tensorboard import SummaryWriter

            writer = SummaryWriter(str(expanded(folder)))
        self.writer = writer

    def log(self, step: int, numbers: Mapping[str, float], pictures: Mapping[str, Picture]) -> None:
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, step)
        for name, picture in pictures.items():
            self.writer.add_image(name, picture, step, dataformats="HWC")
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


class WandbLogger:
    """Logs to a run of Weights & Biases: the one that is given, else a new one that `settings` describe (project, name, mode, ...).

    Give each step once and in order, as Weights & Biases asks.
    """

    def __init__(self, run: Any = None, **settings: Any):
        self.wandb = _package("wandb")
        self.run = run if run is not None else self.wandb.init(**settings)

    def log(self, step: int, numbers: Mapping[str, float], pictures: Mapping[str, Picture]) -> None:
        images = {name: self.wandb.Image(picture, caption=name.split("/", 1)[-1]) for name, picture in pictures.items()}
        self.run.log({**numbers, **images}, step=step)

    def close(self) -> None:
        self.run.finish()


class MemoryCallback:
    """Scores the videos of every `every`th step and hands the numbers to the loggers.

    `videos` of a call are what `lookback.evaluate` takes (a folder, a file, a list of files, frames in memory), or a function that
    makes one of these; it is called only when the step is scored. A step that cannot be scored is recorded with its reason in
    checkpoints.json and does not stop the training; an error of the function itself does. A full disk does not stop it either: a
    warning says what could not be written. With `progress` it shows bars and lines.
    """

    def __init__(
        self,
        output: str | Path,
        *,
        metrics: str | Sequence[str] = (),
        loggers: Sequence[Logger] = (),
        every: int = 1,
        layout: str = "auto",
        strips: int = 2,
        workers: int = 1,
        fps: float = 16.0,
        progress: bool = False,
    ):
        if every < 1:
            raise UsageError(f"every={every}: score every 1st, 2nd, ... step")
        if workers < 0 or strips < 0:
            raise UsageError(f"workers={workers}, strips={strips}: neither can be negative")
        if not 0 < fps <= MAX_FPS:
            raise UsageError(f"fps={fps}: the frame rate must lie in (0, {MAX_FPS:g}]")
        self.metrics = [METRICS.get(name).name for name in ([metrics] if isinstance(metrics, str) else metrics)]
        self.layout = None if layout == "auto" else LAYOUTS.get(layout).name
        self.output, self.loggers, self.every = expanded(output).absolute(), list(loggers), every
        self.strips, self.workers, self.fps, self.progress = strips, workers, fps, progress

    def __call__(self, step: int, videos: Videos | Callable[[], Videos]) -> dict[str, Any] | None:
        """Score this step's videos if it is its turn: the step's line of the record, else None."""
        step = int(step)
        if step % self.every:
            return None
        given = videos() if callable(videos) else videos
        with silenced(self.progress, self.progress):
            done = self._scored(step, given)
        if not done["problem"]:
            numbers = step_numbers(self.output, step)
            pictures: dict[str, Any] = {}
            if self.strips:
                try:
                    failures, pictures = failure_strips(self.output / RUNS / step_name(step), self.strips)
                    numbers[f"{PREFIX}/clips_with_failures"] = float(failures)
                except (LookbackError, OSError) as error:
                    done["problem"] = _warned(step, f"its failures could not be looked for: {error}")
            for logger in self.loggers:
                try:
                    logger.log(step, numbers, pictures)
                except OSError as error:
                    done["problem"] = _warned(step, f"{type(logger).__name__} could not write it: {error}")
        return done

    def _scored(self, step: int, videos: object) -> dict[str, Any]:
        name = step_name(step)
        try:
            found = find_files(videos, self.layout) or write_frames(videos, self.output / GIVEN / name, self.fps)
            params = step_params(self.output, {"sources": found.sources, "filters": found.filters}, self.metrics, self.workers)
            return score_step(params, name, step, found.only)
        except Exception as error:  # whatever is wrong with these videos, the training goes on
            told = str(error) if isinstance(error, LookbackError) else f"{type(error).__name__}: {error}"
            try:
                return record_step(self.output, name, step, problem=told)
            except (LookbackError, OSError) as unwritten:
                problem = _warned(step, f"{told} (not recorded: {unwritten})")
                return {**step_record(step, problem), "rows": 0, "scored": 0, "replaced": 0}

    def close(self) -> None:
        """Close the loggers."""
        for logger in self.loggers:
            try:
                logger.close()
            except OSError as error:
                warnings.warn(f"{type(logger).__name__} could not be closed: {error}", stacklevel=2)


def step_numbers(output: Path, step: int) -> dict[str, float]:
    """The step's means by metric and phase, with the bounds of their intervals and the number of clips."""
    curve = read_curve(output)
    own = curve[curve["checkpoint"] == step_name(step)]
    numbers: dict[str, float] = {}
    for row in own.to_dict("records"):
        phase = f".{row['phase']}" if row["phase"] else ""
        values = {"": row["mean"], "/ci_low": row["ci_low"], "/ci_high": row["ci_high"], "/n": row["n"]}
        numbers |= {f"{PREFIX}/{row['metric']}{phase}{end}": float(value) for end, value in values.items() if pd.notna(value)}
    return numbers


def failure_strips(run: Path, most: int) -> tuple[int, dict[str, Picture]]:
    """How many clips of a scored step have a failure by the written rules, and strips of the clearest ones, one per clip."""
    result = Result(load_run(str(run)))
    try:
        failures = result.failures()
    except CannotWrite:
        raise
    except LookbackError:  # too little to look at: no evidence is no failure
        return 0, {}
    clips = result.clips.set_index(KEYS)["video"]
    clearest = failures.sort_values("confidence", ascending=False, kind="stable").drop_duplicates(KEYS)
    pictures = {}
    for place, row in enumerate(clearest.head(most).to_dict("records"), start=1):
        video = resolve(str(clips[tuple(row[name] for name in KEYS)]))
        strip = read_strip(video, STRIP_FRAMES).shrunk(STRIP_WIDTH).numbered()
        where = "" if pd.isna(row["frame_start"]) else f", frames {row['frame_start']}-{row['frame_end']}"
        pictures[f"{PREFIX}/failure_{place}"] = strip.joined(gap=4, title=f"{row['label']}: {row['clip_id']}{where}")
    return len(clearest), pictures


def _warned(step: int, problem: str) -> str:
    """The problem, after a warning: the training goes on."""
    warnings.warn(f"step {step}: {problem}", stacklevel=4)
    return problem


def _package(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"This logger needs the package {name}: pip install {name}") from None
