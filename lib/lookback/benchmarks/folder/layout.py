"""Any tree of videos or frame folders; a pattern such as `{model}/{clip}.mp4` names model and clip.

For videos that lie flat, `models.csv` or file names of the form <scene>_<model> name the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookback.benchmarks.folder.names import FILE, Named, guessed_names, listed_names
from lookback.clips import Clip
from lookback.errors import UsageError
from lookback.layouts.confine import FRAME_SUFFIXES, MAX_DEPTH, Root, entries, folders, has_frames, is_video_file, walk
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading, without_duplicates
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.registry import layout

FIELDS = {
    "model": "model_id",
    "clip": "clip_id",
    "scene": "scene",
    "subset": "subset",
    "condition": "condition_id",
    "sample": "sample_id",
}
FLAT = "{clip}"  # the pattern of videos that lie flat
_TOKEN = re.compile(r"\{(\w+)\}|\*\*/|\*")


@layout(name="folder", title="Any tree of videos or frame folders", looks_like="video files or frame folders")
class Folder:
    """Reads whatever matches the pattern; without one, `{model}/{clip}` or, for videos that lie flat, `{clip}`."""

    @staticmethod
    def detect(root: Path) -> str | None:
        if not root.is_dir():
            return None
        for place in (root, *folders(root)):
            if any(is_video_file(path) for path in entries(place)):
                return f"videos lie in {place.name}/"
            if place != root and has_frames(place):
                return f"frames lie in {place.name}/"
        return None

    @staticmethod
    def read(source: Source) -> Reading:
        root = Root.of(source.root)
        findings = Findings()
        depth = MAX_DEPTH if source.pattern is None or "**" in source.pattern else source.pattern.count("/") + 1  # of frame folders
        candidates = []
        for folder, files in walk(root, findings, depth):
            candidates += _videos(root, folder, files)
            _check_names(root, folder, files, findings)
        pattern = source.pattern or _default_pattern(root, candidates)
        matcher = compile_pattern(pattern)
        reading = Reading("folder", violations=findings.violations)
        names = listed_names(root.path, candidates, findings)
        guessed = {} if source.pattern or pattern != FLAT else _guessed(candidates)
        matches = {
            path: match for path in candidates if (match := _match(root, path, matcher)) or (path in names and not source.pattern)
        }
        clips = [clip for path, match in matches.items() if (clip := _clip(root, path, match, findings, guessed | names))]
        reading.clips = without_duplicates(clips, findings, {})
        if not reading.clips and not findings.violations:
            raise UsageError(
                f"{root.path} holds no video that matches the pattern '{pattern}'; set pattern, for example {{model}}/{{clip}}.mp4"
            )
        unusable = f", {lost} of them cannot be used" if (lost := len(matches) - len(reading.clips)) else ""
        reading.notes.append(f"Folder: {len(matches)} of {len(candidates)} videos match '{pattern}'{unusable}")
        for count, how in (
            (len(names), f"named by {FILE}"),
            (len(guessed), "read as <scene>_<model>; pattern or models.csv change that"),
        ):
            if count:
                reading.notes.append(f"Folder: {count} of {len(candidates)} videos {how}")
        return reading


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression on the path below the root.

    `{name}` takes part of one path component (the first of several as much as it can), `*` anything within one, `**/` any
    folders. A pattern without a suffix matches every video suffix and frame folders.
    """
    if not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        raise UsageError(f"The pattern '{pattern}' must be relative to the dataset folder, for example {{model}}/{{clip}}.mp4")
    parts, end, seen = [], 0, set()
    for token in _TOKEN.finditer(pattern):
        parts.append(re.escape(pattern[end : token.start()]))
        name = token[1]
        if name is None:
            parts.append("(?:[^/]+/)*" if token[0] == "**/" else "[^/]*")
        elif name not in FIELDS or name in seen:
            known = ", ".join(f"{{{field}}}" for field in FIELDS)
            raise UsageError(
                f"The pattern '{pattern}' has {{{name}}} {'twice' if name in seen else 'in it'}; use each of {known} at most once"
            )
        else:
            seen.add(name)
            parts.append(f"(?P<{name}>[^/]+)")
        end = token.end()
    if "clip" not in seen:
        raise UsageError(
            f"The pattern '{pattern}' has no {{clip}}; say where the clip's name stands, for example {{model}}/{{clip}}.mp4"
        )
    parts.append(re.escape(pattern[end:]))
    return re.compile("".join(parts))


def _videos(root: Root, folder: Path, files: list[Path]) -> list[Path]:
    """The video files of a folder, or the folder itself when it holds frames."""
    videos = [path for path in files if is_video_file(path)]
    frames = folder != root.path and any(path.suffix.lower() in FRAME_SUFFIXES for path in files)
    return [*videos, *([folder] if frames and not videos else [])]


def _check_names(root: Root, folder: Path, files: list[Path], findings: Findings) -> None:
    """A violation for what looks like a video and is none by its name or content, so that it is not ignored silently."""
    if folder != root.path and is_video_file(folder) and not entries(folder):
        findings.add(Breach(folder, "video", "is a folder named as a video, with no frames", "put its frames there"))
    for path in files:
        if not is_video_file(path) and path.suffix.lower() not in FRAME_SUFFIXES and _begins_as_video(path):
            findings.add(Breach(path, "video", f"is a video whose name ends with '{path.suffix}'", "correct its name"))


def _begins_as_video(path: Path) -> bool:
    """MP4 and MOV, Matroska and WebM, AVI."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError:
        return False
    return start[4:8] == b"ftyp" or start[:4] == b"\x1aE\xdf\xa3" or (start[:4] == b"RIFF" and start[8:] == b"AVI ")


def _default_pattern(root: Root, candidates: list[Path]) -> str:
    depths = {len(path.relative_to(root.path).parts) for path in candidates}
    return FLAT if depths == {1} else "{model}/**/{clip}"


def _guessed(candidates: list[Path]) -> dict[Path, Named]:
    names = guessed_names(path.stem for path in candidates)
    return {path: names[path.stem] for path in candidates if path.stem in names}


def _match(root: Root, path: Path, matcher: re.Pattern[str]) -> re.Match[str] | None:
    relative = path.relative_to(root.path).as_posix()
    bare = relative if path.is_dir() else relative.removesuffix(path.suffix)
    return matcher.fullmatch(bare) or matcher.fullmatch(relative)


def _clip(root: Root, path: Path, match: re.Match[str] | None, findings: Findings, names: Mapping[Path, Named]) -> Clip | None:
    """A clip of the folder. A video that models.csv names needs no match with a pattern."""
    values: dict[str, Any] = {FIELDS[name]: value for name, value in match.groupdict().items()} if match else {}
    if path in names:
        named = names[path]
        values |= {"model_id": named.model, "clip_id": named.scene, "object_name": named.subject, "fps": named.fps}
    values.setdefault("model_id", root.path.name)
    values.setdefault("sample_id", values["clip_id"])
    values.setdefault("scene", values["clip_id"])
    item = ClipRef(values["model_id"], values.get("subset", ""), values.get("condition_id", ""), values["sample_id"])
    try:
        root.video(path, path, "video")
    except Breach as breach:
        findings.add(breach, item=item)
        return None
    return Clip(benchmark="folder", setting="", video=portable(path), **values)
