"""Run a user's command for every condition: several at a time, with a time limit, and again only where the video is missing.

The command writes the video into a temporary folder of its own. It is moved to its place only after it was decoded, so a command
that fails, hangs or writes a broken file leaves nothing behind that looks like a result, and one that outlives a killed call writes
where nobody reads. `generation.jsonl` gets one line per attempt.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from lookback.conditions.build import command_values, condition_hash, filled, read_condition, read_conditions, record_files
from lookback.errors import MediaError, UsageError
from lookback.files import locked, sha256_json
from lookback.media import open_video
from lookback.names import one_line
from lookback.progress import track
from lookback.scratch import part_folder, sweep

LOG = "generation.jsonl"
LAST = 2000  # characters of a command's output that are kept


@dataclass(frozen=True)
class Attempt:
    """One try to make one video."""

    model: str
    clip_id: str
    hash: str  # of the condition and the command
    ok: bool
    seconds: float
    problem: str = ""
    at: str = ""
    condition: str = ""  # the hash of the condition alone, with its files
    size: int = 0  # of the video, in bytes


def generate(
    folder: Path, command: str, model: str = "", workers: int = 1, timeout_s: float = 3600.0, limit: int = 0
) -> list[Attempt]:
    """Make the videos that are missing, have another size than when they were made, or were made under another condition.

    The attempts of this call, failed ones too. Only one call at a time works on a folder.
    """
    try:
        template = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"The command cannot be read ({str(error).lower()}); close every quotation mark") from None
    if not template or not any("{output}" in part for part in template):
        raise UsageError("The command must name {output}, the video to write; for example: python make.py {prompt} {output}")
    rows = read_conditions(folder, model)
    filled(template, command_values(folder, rows[0], folder))  # an unknown placeholder is refused before any work
    with locked(folder / LOG, wait=False):
        sweep(folder)
        made = finished(folder)
        waiting = [row for row in rows if not _is_done(folder, row, command, made)][: limit or None]
        attempts = list(_run(folder, template, command, waiting, workers, timeout_s))
        write_documents(folder, rows)
    return attempts


def finished(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(model, clip) -> the attempt that made its last good video."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    log = folder / LOG
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else []:
        with suppress(ValueError, KeyError, TypeError):  # a line that a killed run cut short
            attempt = json.loads(line)
            if attempt["ok"] and attempt["hash"]:
                found[attempt["model"], attempt["clip_id"]] = attempt
    return found


def outdated(folder: Path, rows: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """(model, clip) of the videos that were made under another condition than the one that is asked now."""
    asked = {(row["model"], row["clip_id"]): row for row in rows}
    made = {clip: attempt.get("condition") for clip, attempt in finished(folder).items()}
    return {
        clip for clip, condition in made.items() if condition and clip in asked and condition_hash(folder, asked[clip]) != condition
    }


def _is_done(folder: Path, row: Mapping[str, Any], command: str, made: Mapping[tuple[str, str], dict[str, Any]]) -> bool:
    video, attempt = folder / row["output"], made.get((row["model"], row["clip_id"]))
    if attempt is None or not video.is_file():
        return False
    size = attempt.get("size") or video.stat().st_size  # older lines do not say it
    return video.stat().st_size == size and attempt["hash"] == _identity(condition_hash(folder, row), command)


def _identity(condition: str, command: str) -> str:
    return sha256_json([condition, command])[:16]


def _run(
    folder: Path, template: Sequence[str], command: str, rows: Sequence[Mapping[str, Any]], workers: int, timeout_s: float
) -> Iterator[Attempt]:
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool, (folder / LOG).open("a+b") as log:
        if log.tell() and not _ends_its_line(log):
            log.write(b"\n")
        jobs = [pool.submit(_attempt, folder, template, command, row, timeout_s) for row in rows]
        try:
            for job in track(as_completed(jobs), "generating", total=len(jobs), unit="video"):
                attempt = job.result()
                log.write(f"{json.dumps(asdict(attempt), ensure_ascii=False)}\n".encode())
                log.flush()
                yield attempt
        except BaseException:
            for job in jobs:
                job.cancel()
            raise


def _ends_its_line(log: BinaryIO) -> bool:
    """Whether the file ends with a whole line; a killed call may have cut its last one short."""
    log.seek(-1, os.SEEK_END)
    return log.read(1) == b"\n"


def _attempt(folder: Path, template: Sequence[str], command: str, row: Mapping[str, Any], timeout_s: float) -> Attempt:
    started, condition = time.monotonic(), condition_hash(folder, row)
    target = folder / row["output"]
    size = 0
    with part_folder(target) as own:  # a folder, because many programs refuse to write over a file that is there
        video = own / target.name
        values = command_values(folder, row, video.absolute())
        problem = _no_image(template, values["image"]) or _call(filled(template, values), timeout_s) or _readable(video)
        if not problem:
            size = video.stat().st_size
            video.replace(target)
    took = round(time.monotonic() - started, 3)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made_by = _identity(condition, command)
    return Attempt(row["model"], row["clip_id"], made_by, not problem, took, one_line(problem), now, condition, size)


def _no_image(template: Sequence[str], image: str) -> str:
    """Why the command need not be run: it takes a first frame that is not there."""
    missing = image and any("{image}" in part for part in template) and not Path(image).is_file()
    return f"the first frame {image} is not there" if missing else ""


def _call(command: Sequence[str], timeout_s: float) -> str:
    """What went wrong with the command, in one sentence; empty when it ended well. It and its children end with the time limit."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        return f"the command '{command[0]}' cannot be started ({error.strerror or error})"
    try:
        output, _ = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _end(child)
        return f"the command ran longer than {timeout_s:g} s and was ended"
    except BaseException:
        _end(child)
        raise
    if child.returncode == 0:
        return ""
    said = output[-LAST:].decode("utf-8", "replace").strip().splitlines()
    return f"the command ended with {child.returncode}{f': {said[-1]}' if said else ''}"


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _readable(video: Path) -> str:
    """What is wrong with the written video; empty when its first and last frame can be decoded."""
    if not video.is_file() or not video.stat().st_size:
        return "the command ended well but wrote no video"
    try:
        with open_video(video) as reader:
            reader.read([0, reader.info.n_frames - 1])
    except MediaError as error:
        return f"the video cannot be read: {str(error).replace(str(video), video.name)}"
    return ""


def write_documents(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """The dataset's documents over the videos that exist and are not outdated, per benchmark and model."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    old = outdated(folder, rows)
    for row in rows:
        if (row["model"], row["clip_id"]) not in old and (folder / row["output"]).is_file():
            groups.setdefault((row["benchmark"], row["model"], row["source"]), []).append(read_condition(folder, row))
    for (benchmark, _, source), done in groups.items():
        record_files(benchmark).finish(folder, Path(source), done)
