"""Files made elsewhere (poses, masks, depth, faces ...): which of them belongs to a clip. `docs/artifacts.md` describes them.

A file is named in one of four ways, and the first of them that gives one counts: a pattern of the user, a row of `files.csv` in the
dataset folder, a column of the layout's own manifest, a file beside the video.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lookback.backends.files import ROLES
from lookback.backends.pose.formats import FORMATS
from lookback.clips import Clip
from lookback.errors import Reason, UsageError, hint
from lookback.layouts.confine import Root, entries, existing_file, is_video_file
from lookback.layouts.documents import Document, read_rows
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading
from lookback.params.stages import Source
from lookback.paths import expanded, fixed_folder, portable, resolve

POSES = "poses"
KINDS = (POSES, *ROLES)
FOLDERS = ("masks", "depth")  # kinds that may be a folder with one file per frame
SHEET = "files.csv"
COLMAP = "images.txt"  # beside a video that is alone in its folder, as ViPE's export for MIND leaves it
FIELDS: Mapping[str, Callable[[Clip], str]] = {
    "model": lambda clip: clip.model_id,
    "clip": lambda clip: clip.clip_id,
    "setting": lambda clip: clip.setting,
    "subset": lambda clip: clip.subset,
    "sample": lambda clip: clip.sample_id,
    "condition": lambda clip: clip.condition_id,
    "scene": lambda clip: clip.scene,
    "video": lambda clip: Path(clip.video).stem,
}
_FIELD = re.compile(r"\{(\w*)\}")
_BESIDE = re.compile(
    rf"(?P<video>.+)\.(?:poses\.(?P<format>\w+)|(?P<role>{'|'.join(ROLES)}))(?P<suffix>\.(?:npz|npy|txt|csv))?", re.DOTALL
)


class Given(NamedTuple):
    """A file, and its format if it holds poses."""

    path: Path
    format: str = ""


def with_given_files(reading: Reading, source: Source, folder: Path) -> Reading:
    """The reading with the files that belong to each clip. What a pattern does not find is counted in the notes."""
    root, findings = Root(folder), Findings(reading.violations)
    patterns = [_Pattern.of(kind, text, source, folder) for kind, text in _patterns_in(source).items()]
    sheet, beside = _Sheet(root, findings), _Beside(root)
    for number, clip in enumerate(reading.clips):
        item = ClipRef.of(clip)
        given = {kind: found for kind, found in beside.of(clip, findings, item).items() if not _has(clip, kind)}
        given |= sheet.of(clip, item)
        for pattern in patterns:
            with findings.guard(concern(pattern.kind), item):
                if (found := pattern.find(clip)) is not None:
                    given[pattern.kind] = found
        reading.clips[number] = clip.model_copy(update=_values(clip.files, given)) if given else clip
    sheet.report()
    for pattern in patterns:
        pattern.report(reading, findings)
    return reading


def concern(kind: str) -> str:
    """The field of the clip that holds a kind of file, as violations name it."""
    return POSES if kind == POSES else f"files.{kind}"


def column_files(root: Root, row: Document, base: Path, findings: Findings, item: ClipRef) -> dict[str, Any]:
    """Fields of Clip from the columns `poses_file` with `poses_format`, `masks_file`, `depth_file` ... of a manifest's row."""
    given = _in_columns(root, row, base, findings, item)
    return _values({}, given) if given else {}


def _in_columns(root: Root, row: Document, base: Path, findings: Findings, item: ClipRef) -> dict[str, Given]:
    given = {}
    for kind in KINDS:
        name = f"{kind}_file"
        if row.get(name) not in (None, ""):
            with findings.guard(concern(kind), item):
                path = _existing(root, root.inside(row.text(name), row.where, name, base=base), row.where, name, kind)
                given[kind] = Given(path, _format(row.get("poses_format"), row.where, "poses_format") if kind == POSES else "")
    return given


Place = Callable[[Any, str], Path]  # (text of a path, its field) -> the path inside the dataset


def artifact_files(root: Root, artifacts: Document, place: Place, findings: Findings, item: ClipRef) -> dict[str, Any]:
    """Fields of Clip from entries {path} named like a pose format or a role, or `poses` with {path, format}."""
    given = {}
    for name in artifacts.value:
        kind = POSES if name in FORMATS else name
        if kind not in KINDS:
            continue
        with findings.guard(concern(kind), item):
            field = f"{artifacts.prefix}{name}.path"
            path = _existing(root, place(artifacts.get(f"{name}.path"), field), artifacts.where, field, kind)
            stated = name if name in FORMATS else artifacts.get(f"{name}.format")
            given[kind] = Given(path, _format(stated, artifacts.where, f"{field[:-5]}.format") if kind == POSES else "")
    return _values({}, given) if given else {}


def _existing(root: Root, path: Path, where: Path | str, field: str, kind: str) -> Path:
    """The path, if it is a file with content, or a folder where one may be given."""
    if path.is_dir() and kind in FOLDERS:
        return path
    return existing_file(path, where, field, root.name(path))


def _has(clip: Clip, kind: str) -> bool:
    return clip.poses is not None if kind == POSES else kind in clip.files


def _values(files: Mapping[str, str], given: Mapping[str, Given]) -> dict[str, Any]:
    """The found files as fields of Clip."""
    values: dict[str, Any] = {"files": {**files, **{kind: portable(found.path) for kind, found in given.items() if kind != POSES}}}
    if POSES in given:
        values |= {"poses": portable(given[POSES].path), "poses_format": given[POSES].format}
    return values


def _format(name: Any, where: Path | str, field: str) -> str:
    if name not in FORMATS:
        said = "is missing" if name in (None, "") else f"is '{name}'"
        reason = Reason.MISSING_INPUT if name in (None, "") else Reason.INVALID_INPUT
        raise Breach(where, field, said, f"write one of {', '.join(FORMATS)}", reason)
    return str(name)


# -- by pattern --------------------------------------------------------------------------------------------------------------------
def _patterns_in(source: Source) -> dict[str, str]:
    for role in source.files:
        if role not in ROLES:
            raise UsageError(f"files (--files) names the role '{role}', which cannot be read from files; {hint(role, ROLES)}")
    if source.poses_format is not None and source.poses_format not in FORMATS:
        raise UsageError(f"There is no pose format '{source.poses_format}'; {hint(source.poses_format, FORMATS)}")
    if (source.poses is None) != (source.poses_format is None):
        raise UsageError(f"poses and poses_format (--poses, --poses-format) go together; formats: {', '.join(FORMATS)}")
    return {**({POSES: source.poses} if source.poses is not None else {}), **source.files}


@dataclass
class _Pattern:
    """A user's pattern. Its folders before the first field are the user's own words; the fields cannot lead out of them."""

    kind: str
    text: str
    base: Root
    rest: str
    format: str
    found: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)  # clip, and where its file was looked for

    @classmethod
    def of(cls, kind: str, text: str, source: Source, folder: Path) -> _Pattern:
        names = _FIELD.findall(text)
        unknown = [name for name in names if name not in FIELDS]
        if unknown or not names:
            known = ", ".join(f"{{{name}}}" for name in FIELDS)
            said = f"has {{{unknown[0]}}} in it" if unknown else "names the same file for every clip"
            raise UsageError(f"The pattern '{text}' for {kind} {said}; use {known}, for example {{model}}/{{clip}}.npz")
        start = fixed_folder(text)
        base = folder / expanded(start)
        if not base.is_dir():
            raise UsageError(
                f"The pattern '{text}' for {kind} begins in {base}, which is no folder; paths start at the dataset folder"
            )
        return cls(kind, text, Root(base), text.removeprefix(start), (source.poses_format or "") if kind == POSES else "")

    def find(self, clip: Clip) -> Given | None:
        filled = _FIELD.sub(lambda field: FIELDS[field[1]](clip), self.rest)
        path = self.base.inside(filled, resolve(clip.video), self.kind)
        if not path.exists():
            self.missing.append((clip.label, str(path)))
            return None
        self.found += 1
        return Given(_existing(self.base, path, path, self.kind, self.kind), self.format)

    def report(self, reading: Reading, findings: Findings) -> None:
        """Say how many clips have a file. A pattern that fits no clip is a wrong call."""
        if not self.missing:
            return
        total, (label, place) = self.found + len(self.missing), self.missing[0]
        first = f"the first without one is {label} (looked for {place})"
        if not self.found:
            raise UsageError(f"The pattern '{self.text}' for {self.kind} fits none of {total} clips; {first}")
        said = f"the pattern '{self.text}' fits {self.found} of {total} clips; {first}"
        reading.notes.append(f"{self.kind}: {said}")
        breach = Breach(self.base.path, self.kind, said, "add the files or correct the pattern", Reason.MISSING_INPUT)
        findings.add(breach, concern(self.kind), kept=True)


# -- by a sheet --------------------------------------------------------------------------------------------------------------------
class _Sheet:
    """`files.csv` in the dataset folder: columns clip_id, model (if several models have the clip), and those of `column_files`."""

    def __init__(self, root: Root, findings: Findings):
        self.root, self.findings = root, findings
        self.rows: dict[tuple[str, str], Document] = {}
        self.used: set[tuple[str, str]] = set()
        path = root.path / SHEET
        if not path.exists():
            return
        with findings.guard():
            root.confirm(path, path, "path")
            for where, cells in read_rows(path):
                with findings.guard():
                    self._add(Document(cells, where))

    def _add(self, row: Document) -> None:
        key = (row.text("model") if row.get("model") else "", row.text("clip_id"))
        if key in self.rows:
            raise Breach(row.where, "clip_id", f"'{key[1]}' occurs a second time", "keep one row per model and clip")
        self.rows[key] = row

    def of(self, clip: Clip, item: ClipRef) -> dict[str, Given]:
        key = next((key for key in ((clip.model_id, clip.clip_id), ("", clip.clip_id)) if key in self.rows), None)
        if key is None:
            return {}
        self.used.add(key)
        return _in_columns(self.root, self.rows[key], self.root.path, self.findings, item)

    def report(self) -> None:
        """A violation for every row that belongs to no clip."""
        for key, row in self.rows.items():
            if key not in self.used:
                name = "/".join(part for part in key if part)
                problem = f"names '{name}', which the dataset does not have"
                self.findings.add(Breach(row.where, "clip_id", problem, "write the names of the dataset"), "files", kept=True)


# -- beside the video --------------------------------------------------------------------------------------------------------------
class _Beside:
    """`<video>.poses.<format>.npz`, `<video>.masks.npz` ... beside a video; `<video>` is its name with or without the suffix."""

    def __init__(self, root: Root):
        self.root = root
        self.folders: dict[Path, dict[str, dict[str, list[Given]]]] = {}

    def of(self, clip: Clip, findings: Findings, item: ClipRef) -> dict[str, Given]:
        video = resolve(clip.video)
        if video.parent not in self.folders:
            self.folders[video.parent] = _scan(video.parent)
        listed = self.folders[video.parent]
        found: dict[str, Given] = {}
        for kind in KINDS:
            names = dict.fromkeys((video.name, video.stem))
            candidates = [given for name in names for given in listed.get(name, {}).get(kind, [])]
            if candidates:
                with findings.guard(concern(kind), item):
                    found[kind] = self._only(kind, candidates)
        return found

    def _only(self, kind: str, candidates: list[Given]) -> Given:
        path = candidates[0].path
        if len(candidates) > 1:
            names = " and ".join(given.path.name for given in candidates)
            raise Breach(path, kind, f"there are {names} beside one video", "keep one of them")
        self.root.confirm(path, path, kind)
        _existing(self.root, path, path, kind, kind)
        return Given(path, _format(candidates[0].format, path, POSES) if kind == POSES else "")


def _scan(folder: Path) -> dict[str, dict[str, list[Given]]]:
    """video -> kind -> files, from the names in one folder."""
    found: dict[str, dict[str, list[Given]]] = {}
    listed = entries(folder)
    for path in listed:
        match = _BESIDE.fullmatch(path.name)
        if match and (match["suffix"] or (match["role"] in FOLDERS and path.is_dir())):
            kinds = found.setdefault(match["video"], {})
            kinds.setdefault(match["role"] or POSES, []).append(Given(path, match["format"] or ""))
    videos = [path for path in listed if is_video_file(path)]
    colmap = folder / COLMAP
    if len(videos) == 1 and colmap in listed and not found.get(videos[0].stem, {}).get(POSES):
        found.setdefault(videos[0].stem, {})[POSES] = [Given(colmap, "colmap")]
    return found
