"""MIND: generated videos of one or more models under test_root, ground truth with action.json under gt_root.

Source: MIND's README, "How to order your test files" and "Dataset Format". Ground truth lies in `{perspective}/test/{test_type}`,
generated videos in `{perspective}/{test_type}`; mirror_test has no ground truth and one video per action path. `images.txt` beside
the ground truth is COLMAP's camera path; its first pose is that of frame mark_time, and the released files hold 97.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lookback.benchmarks.mind.actions import Actions, Times, read_times, with_names
from lookback.clips import Clip
from lookback.errors import Reason, UsageError
from lookback.layouts.confine import Root, entries, folders, is_video_file
from lookback.layouts.documents import Document, read_json
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.registry import layout

PERSPECTIVES = ("1st_data", "3rd_data")
TEST_TYPES = ("mem_test", "action_space_test", "mirror_test")


@layout(
    name="mind",
    title="MIND test_root with gt_root",
    looks_like="1st_data/ or 3rd_data/ with mem_test, action_space_test or mirror_test",
)
class Mind:
    """Reads `test_root` (a model's folder, or a folder of models), and the ground truth beside or below it."""

    @staticmethod
    def detect(root: Path) -> str | None:
        found = next(iter(model_folders(root)), None) or ground_truth_folder(root)
        if found is None:
            return None
        perspective = next(name for name in PERSPECTIVES if (found / name).is_dir())
        return f"{found.name}/{perspective} holds MIND's test folders"

    @staticmethod
    def read(source: Source) -> Reading:
        root = Root.of(source.root)
        given = Root.of(source.gt_root, "ground-truth") if source.gt_root else None
        found = ground_truth_folder(root.path)
        truth = given or (Root(found) if found else None)
        return _Reader(root, truth, source.action_convention).read()


def model_folders(root: Path) -> list[Path]:
    """Folders with generated videos: the root itself, its children, or those of test_root below it."""
    if _is_generated(root):
        return [root]
    return [folder for place in (root, root / "test_root") for folder in folders(place) if _is_generated(folder)]


def ground_truth_folder(root: Path) -> Path | None:
    """The folder with `{perspective}/test`: the root, one of its children, or one of theirs."""
    children = folders(root)
    for folder in (root, *children, *(inner for child in children if child.name == "gt_root" for inner in folders(child))):
        if any((folder / name / "test").is_dir() for name in PERSPECTIVES):
            return folder
    return None


def _is_generated(folder: Path) -> bool:
    return any((folder / name / kind).is_dir() for name in PERSPECTIVES for kind in TEST_TYPES)


class _Reader:
    def __init__(self, root: Root, truth: Root | None, convention: str):
        self.root, self.truth, self.convention = root, truth, convention
        self.findings = Findings()
        self.times: dict[Path, tuple[Times | None, Breach | None]] = {}
        self.segments: list[dict[str, Any]] = []

    def read(self) -> Reading:
        models = model_folders(self.root.path)
        if not models:
            wanted = f"{'|'.join(PERSPECTIVES)}/{'|'.join(TEST_TYPES)}"
            raise UsageError(f"{self.root.path} holds no generated MIND videos; put them below {{model}}/{wanted}")
        reading = Reading("mind", segments=self.segments, violations=self.findings.violations)
        for model in models:
            for perspective in PERSPECTIVES:
                for kind in TEST_TYPES:
                    for folder in folders(model / perspective / kind):
                        reading.clips += self._folder(model.name, perspective, kind, folder)
        truth = f"ground truth in {portable(self.truth.path)}" if self.truth else "no ground truth (give gt_root)"
        reading.notes.append(f"MIND: {len(reading.clips)} clips of {len(models)} models, {truth}")
        return reading

    def _folder(self, model: str, perspective: str, kind: str, folder: Path) -> list[Clip]:
        videos = [path for path in entries(folder) if is_video_file(path)]
        if kind != "mirror_test":
            named = [path for path in videos if path.stem == "video"]
            videos = named or [folder / "video.mp4"]
        elif not videos:
            breach = Breach(
                folder, "path-1.mp4", "there is no video of an action path", "put path-1.mp4 ... there", Reason.MISSING_INPUT
            )
            self.findings.add(breach, item=ClipRef(model, kind, "", folder.name))
        clips = [self._clip(model, perspective, kind, folder, video) for video in videos]
        return [clip for clip in clips if clip is not None]

    def _clip(self, model: str, perspective: str, kind: str, folder: Path, video: Path) -> Clip | None:
        condition = video.stem if kind == "mirror_test" else ""
        item = ClipRef(model, kind, condition, folder.name)
        try:
            self.root.video(video, video, "video")
        except Breach as breach:
            self.findings.add(breach, item=item)
            return None
        values: dict[str, Any] = {}
        times: Times | None = None
        if kind != "mirror_test" and self.truth is not None:
            values, times = self._ground_truth(self.truth, perspective, kind, folder.name, item)
        name = f"{perspective}/{kind}/{folder.name}"
        clip = Clip(
            benchmark="mind",
            setting=perspective,
            model_id=model,
            clip_id=f"{name}/{condition}" if condition else name,
            subset=kind,
            sample_id=folder.name,
            condition_id=condition,
            scene=folder.name,
            video=portable(video),
            **values,
        )
        self.segments += times.segments(clip) if isinstance(times, Actions) else []
        return clip

    def _ground_truth(
        self, truth: Root, perspective: str, kind: str, name: str, item: ClipRef
    ) -> tuple[dict[str, Any], Times | None]:
        folder = truth.path / perspective / "test" / kind / name
        values: dict[str, Any] = {}
        times: Times | None = None
        if not folder.is_dir():
            problem = f"the ground truth has no '{perspective}/test/{kind}/{name}'"
            breach = Breach(folder, "ground_truth", problem, "name the folder like its ground truth", Reason.MISSING_INPUT)
            self.findings.add(breach, "ground_truth", item)
            return values, times
        with self.findings.guard("ground_truth", item):
            values["ground_truth"] = portable(truth.video(folder / "video.mp4", folder / "video.mp4", "ground_truth"))
        with self.findings.guard("actions", item):
            truth.confirm(folder / "action.json", folder / "action.json", "actions")
            times, broken = self._times(folder / "action.json")
            values |= times.values() if times else {}
            if broken is not None:
                raise broken
        if times is not None and (folder / "images.txt").exists():  # without mark_time its poses belong to no frame
            with self.findings.guard("gt_poses", item):
                path = truth.file("images.txt", folder / "images.txt", "gt_poses", base=folder)
                values |= {"gt_poses": portable(path), "gt_poses_format": f"colmap@{times.mark_time}"}
        return values, times

    def _times(self, path: Path) -> tuple[Times | None, Breach | None]:
        """What an action.json says: `Actions`; where a row breaks a rule, the times alone, with the breach."""
        if path not in self.times:
            times: Times | None = None
            try:
                document = Document(read_json(path), path)
                times = read_times(document, path)
                self.times[path] = with_names(times, document, self.convention), None
            except Breach as breach:
                self.times[path] = times, breach
        return self.times[path]
