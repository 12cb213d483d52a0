"""MemoBench: generated clips in any of the spellings its models use, ground truth, metadata and phase sheet.

Generated: `{Scene}/{clip}/frames`, `{clip}/frames`, `samples-rgb`, images directly, `video.mp4` or `{clip}.mp4`; real clips
`{NNN}` or `real_{NNN}`; all of it below `output/{model}/Synthetic|Real`, `{model}/...` or directly. Also the flat form
`{clip}_{model}.mp4` with `{clip}_gt.mp4`, in which the project page shows its clips.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookback.benchmarks.memobench.dataset_files import (
    METADATA,
    METADATA_PLACES,
    REAL,
    SYNTHETIC,
    ClipName,
    clip_name,
    find_sheets,
    ground_truth_root,
    plain_name,
    read_metadata,
    read_phases,
    read_selection,
    truth_of,
)
from lookback.clips import Clip
from lookback.errors import Reason, UsageError
from lookback.layouts.confine import Root, entries, folders, has_frames, is_video_file
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading, without_duplicates
from lookback.names import counted, listing
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.registry import layout

OUTPUT_FOLDERS = ("output", "outputs", "generated")
NO_MODELS = {SYNTHETIC, REAL, "data", "sam3_metadata", "vqa_questions"}
SUBSET_FOLDERS = ("synthetic", "real")
FRAME_FOLDERS = ("frames", "samples-rgb")
MAX_NAMED = 5  # of the second videos in a note
_FLAT_CLIP = re.compile(r"(?<=.)_\d+(?=_.)", re.DOTALL)  # a clip's name may end here


@layout(
    name="memobench",
    title="MemoBench generated clips with ground truth",
    looks_like="Synthetic_processed/ or Real_Raw/, generated clips named {Scene}_{NNN} or real_{NNN}, or {clip}_gt.mp4",
)
class MemoBench:
    """Reads a checkout, an output folder, one model's folder, or the flat sample form."""

    @staticmethod
    def detect(root: Path) -> str | None:
        if not root.is_dir() or (root / "dataset.yaml").exists():
            return None
        if (truth := ground_truth_root(root)) is not None:
            return f"{truth.name}/ holds {SYNTHETIC}/ or {REAL}/"
        if _is_flat(root):
            return "videos are named {clip}_{model} with {clip}_gt"
        for file in METADATA.values():
            if any((root / place / file).is_file() for place in METADATA_PLACES):
                return f"{file} lies with the data"
        models = _models(root)
        if models and any(path.name.lower() in SUBSET_FOLDERS for path in folders(models[0])):
            return f"{models[0].name}/ holds generated clips below Synthetic/ or Real/"
        return None

    @staticmethod
    def read(source: Source) -> Reading:
        return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source):
        self.root = Root.of(source.root)
        self.findings = Findings()
        self.entered: dict[str, Path] = {}
        given = Root.of(source.gt_root, "ground-truth").path if source.gt_root else self.root.path
        found = ground_truth_root(given)
        self.truth = Root(found) if found else None
        self.places = list(dict.fromkeys([given, *([found] if found else []), self.root.path]))
        self.sheets = find_sheets(source.phases, self.places)
        self.metadata = read_metadata(self.places, self.findings)
        self.phases, self.skipped = read_phases(self.sheets, self.findings)
        self.selected = read_selection(self.places, self.findings)
        self.left_out = 0
        self.second_videos: list[str] = []

    def read(self) -> Reading:
        flat = _is_flat(self.root.path)
        clips = self._flat_clips() if flat else self._model_clips()
        reading = Reading("memobench", violations=self.findings.violations)
        reading.clips = without_duplicates(clips, self.findings, {})
        models = {clip.model_id for clip in reading.clips}
        sheets = ", ".join(sheet.name for sheet in self.sheets) or "none (give phases)"
        if self.left_out:
            reading.notes.append(
                f"MemoBench: {counted(self.left_out, 'clip')} left out: the phase sheet says skip = yes, or the selection "
                "sheet does not mark them as available"
            )
        if self.second_videos:
            reading.notes.append(
                f"MemoBench: {counted(len(self.second_videos), 'clip')} with a second video; video.mp4 is taken, as by the "
                f"released program, and not {listing(self.second_videos, MAX_NAMED)}; keep one of the two"
            )
        reading.notes.append(
            f"MemoBench: {counted(len(reading.clips), 'clip')} of {counted(len(models), 'model')}, phase sheet: {sheets}"
        )
        return reading

    def _model_clips(self) -> list[Clip]:
        models = _models(self.root.path)
        if not models:
            raise UsageError(
                f"{self.root.path} holds no generated MemoBench clips; looked for output/{{model}}/Synthetic|Real, "
                "{model}/{Scene}/{clip}, {model}/{clip} and {clip}.mp4"
            )
        return [clip for model, name, path in self._generated(models) if (clip := self._clip(model, name, path))]

    def _generated(self, models: list[Path]) -> Iterator[tuple[str, ClipName, Path]]:
        """(model, clip, its entry) below the models' folders. Links are followed last: a real folder keeps its name."""
        waiting = deque((folder, folder.name) for folder in sorted(models, key=os.path.islink))
        while waiting:
            folder, model = waiting.popleft()
            for name, path in self._below(folder, model, waiting):
                yield model, name, path

    def _below(self, folder: Path, model: str, links: deque[tuple[Path, str]]) -> Iterator[tuple[ClipName, Path]]:
        """(clip, its entry) through Synthetic/, Real/ and scene folders; no folder is entered twice, and links to others wait."""
        if (real := os.path.realpath(folder)) in self.entered:
            if folder.is_symlink():
                self.findings.add(self.root.alias(folder, self.entered[real]), item=ClipRef(model_id=model))
            return
        self.entered[real] = folder
        for entry in entries(folder):
            name = clip_name(entry.stem if is_video_file(entry) else entry.name)
            if is_video_file(entry):
                if name is not None:
                    yield name, entry
            elif entry.is_symlink() and not self._stays_inside(entry, model):
                continue
            elif entry.is_dir():
                if name is not None and (_is_clip_folder(entry) or not folders(entry)):
                    if not entry.with_name(f"{entry.name}.mp4").is_file():  # CogVideo leaves frames beside {clip}.mp4
                        yield name, entry
                elif entry.name in NO_MODELS:
                    continue
                elif entry.is_symlink():
                    links.append((entry, model))
                else:
                    yield from self._below(entry, model, links)

    def _stays_inside(self, entry: Path, model: str) -> bool:
        before = len(self.findings.violations)
        with self.findings.guard(item=ClipRef(model_id=model)):
            self.root.confirm(entry, entry, "path")
        return len(self.findings.violations) == before

    def _flat_clips(self) -> list[Clip]:
        clips = []
        videos = [path for path in entries(self.root.path) if is_video_file(path)]
        truths = {_plain_clip(path.stem.removesuffix("_gt")): path for path in videos if path.stem.endswith("_gt")}
        known = {*truths, *self.metadata, *self.phases, *self.skipped} - {""}
        for path in videos:
            clip_id = _flat_clip(path.stem, known)
            name, model = clip_name(clip_id), path.stem.removeprefix(f"{clip_id}_")
            if name and model != "gt":
                clip = self._clip(model, name, path, truths.get(_plain_clip(clip_id)), f"{clip_id}_gt{path.suffix}")
                clips += [clip] if clip else []
        return clips

    def _clip(self, model: str, name: ClipName, entry: Path, flat_truth: Path | None = None, flat_name: str = "") -> Clip | None:
        if self._not_in_the_benchmark(name):
            self.left_out += 1
            return None
        item = ClipRef(model, name.setting, "", name.clip_id)
        try:
            video = self.root.video(_video_in(entry), entry, "video")
        except Breach as breach:
            self.findings.add(breach, item=item)
            return None
        self._note_second_video(video)
        values: dict[str, Any] = {**self.metadata.get(plain_name(name.clip_id), {}), **self._timing(name)}
        if flat_truth is not None:
            with self.findings.guard("ground_truth", item):
                values["ground_truth"] = portable(self.root.video(flat_truth, flat_truth, "ground_truth"))
        elif self.truth is not None:
            values |= truth_of(self.truth, name, self.findings, item)
        if "ground_truth" not in values:
            place = self.truth.path if self.truth else self.places[0]
            problem = f"there is no ground truth of '{name.clip_id}'"
            folders = "set gt_root to the folder with Synthetic_processed/ and Real_Raw/"
            remedy = f"put '{flat_name}' beside the generated clip" if flat_name else folders
            missing = Breach(place, "ground_truth", problem, remedy, Reason.MISSING_INPUT)
            self.findings.add(missing, "ground_truth", item)
        return Clip(
            benchmark="memobench",
            setting=name.setting,
            model_id=model,
            clip_id=name.clip_id,
            subset=name.setting,
            sample_id=name.clip_id,
            scene=name.scene or values.get("object_name") or name.clip_id,
            video=portable(video),
            **values,
        )

    def _note_second_video(self, video: Path) -> None:
        second = video.with_name(f"{video.parent.name}.mp4")
        if video.name == "video.mp4" and second.is_file() and not second.samefile(video):
            self.second_videos.append(self.root.name(second))

    def _not_in_the_benchmark(self, name: ClipName) -> bool:
        """Whether the benchmark's own sheets leave the clip out: a row with skip = yes, or a real clip that is not available."""
        plain = plain_name(name.clip_id)
        return plain in self.skipped or (name.setting == "real" and self.selected is not None and plain not in self.selected)

    def _timing(self, name: ClipName) -> dict[str, Any]:
        phases = self.phases.get(plain_name(name.clip_id))
        return {} if phases is None else {"d_start": phases.d_start, "r_start": phases.r_start, "gt_frames": phases.gt_frames}


def _is_flat(root: Path) -> bool:
    return any(is_video_file(path) and path.stem.endswith("_gt") and _FLAT_CLIP.search(path.stem) for path in entries(root))


def _flat_clip(stem: str, known: set[str]) -> str:
    """The clip in front of a flat name: the longest that is known, else up to the first number, as a model's name may hold some."""
    fronts = [stem[: found.end()] for found in _FLAT_CLIP.finditer(stem)]
    return max((front for front in fronts if _plain_clip(front) in known), key=len, default=fronts[0] if fronts else "")


def _plain_clip(text: str) -> str:
    name = clip_name(text)
    return plain_name(name.clip_id) if name else ""


def _models(root: Path) -> list[Path]:
    """The models' folders: below output/, else the root itself when clips lie in it, else its children."""
    container = next((root / name for name in OUTPUT_FOLDERS if (root / name).is_dir()), root)
    if container == root and _holds_clips(root, depth=0):
        return [root]
    return [folder for folder in folders(container) if folder.name not in NO_MODELS and _holds_clips(folder, depth=2)]


def _holds_clips(folder: Path, depth: int) -> bool:
    """Whether clips lie in a folder, in its Synthetic/ and Real/, or in scene folders named like their clips."""
    for entry in entries(folder):
        name = clip_name(entry.stem if is_video_file(entry) else entry.name)
        if name is not None and (is_video_file(entry) or (entry.is_dir() and _is_clip_folder(entry))):
            return True
        if entry.is_dir() and not entry.is_symlink() and entry.name not in NO_MODELS:
            own = entry.name.lower() in SUBSET_FOLDERS or any(path.name.startswith(f"{entry.name}_") for path in entries(entry))
            if (depth > 0 or own) and _holds_clips(entry, depth - 1 if not own else max(depth, 1) - 1):
                return True
    return False


def _is_clip_folder(folder: Path) -> bool:
    inner = [folder / name for name in FRAME_FOLDERS]
    return has_frames(folder) or any(path.is_dir() for path in inner) or any(is_video_file(path) for path in entries(folder))


def _video_in(entry: Path) -> Path:
    """The video of a clip's entry: the file itself, video.mp4, {clip}.mp4, or the folder of frames."""
    if not entry.is_dir():
        return entry
    for candidate in (entry / "video.mp4", entry / f"{entry.name}.mp4", *(entry / name for name in FRAME_FOLDERS)):
        if candidate.exists():
            return candidate
    return entry
