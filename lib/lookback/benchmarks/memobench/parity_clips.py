"""The clips on which our scores are compared with the released program's, and the dataset folder that both programs read."""

from __future__ import annotations

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookback.artifacts import PoseTrack, TruePoseTrack
from lookback.backends.pose.formats import read_poses
from lookback.backends.pose.track import with_facts
from lookback.benchmarks.memobench.dataset_files import SHEETS, read_phases
from lookback.benchmarks.memobench.layout import MemoBench
from lookback.camera.poses import Poses
from lookback.clips import Clip
from lookback.layouts.reading import Findings
from lookback.media import encode, open_video
from lookback.params.stages import Source
from lookback.paths import resolve
from lookback.store import Entry

MODEL = "ours"
PROMPT = "A cup(subject) stands on a table; the camera turns away and comes back."
SUBJECT = "cup"
SYNTHETIC_SCENE = "ZenGarden"


@dataclass(frozen=True)
class ComparedClip:
    """A generated clip with its truth. A synthetic one is a folder of frames with a renderer's camera table, a real one a video."""

    case: str
    synthetic: bool
    number: int
    generated: Path
    truth: Path
    d_start: int
    r_start: int
    path: Poses  # of the generated frames
    true_path: NDArray[np.float64]  # poses, or the angles of the renderer's camera

    @property
    def folder_name(self) -> str:
        return f"{SYNTHETIC_SCENE}_{self.number:03d}" if self.synthetic else f"{self.number:03d}"

    @property
    def clip_id(self) -> str:
        return self.folder_name if self.synthetic else f"real_{self.number:03d}"


def compared_clips(folder: Path, clips: Path | None) -> list[ComparedClip]:
    """Two made-up clips, and of every ground truth in `clips` its smallest generated video."""
    return [_made_frames(folder / "frames"), _made_video(folder / "video"), *(_published(clips) if clips else [])]


def _made_frames(folder: Path) -> ComparedClip:
    """14 frames that are larger than the program's limit of 640 px. R has too few samples for the program's smoothness."""
    for name, frames in (("generated", _scene(14, 200, 656, 0)), ("truth", _scene(20, 100, 328, 1))):
        (folder / name).mkdir(parents=True)
        for index, frame in enumerate(frames):
            cv2.imwrite(str(folder / name / f"{index:05d}.png"), frame[..., ::-1])
    return ComparedClip(
        "made-up frames 656x200", True, 9, folder / "generated", folder / "truth", 12, 16, _walk(14, 2), _turn_of_the_renderer(20)
    )


def _made_video(folder: Path) -> ComparedClip:
    """A small video whose truth is longer and larger."""
    folder.mkdir(parents=True)
    encode(folder / "generated.mp4", _scene(34, 136, 168, 3), 16)
    encode(folder / "truth.mp4", _scene(45, 180, 240, 4), 24)
    return ComparedClip(
        "made-up video 168x136", False, 1, folder / "generated.mp4", folder / "truth.mp4", 16, 27, _walk(34, 5), _walk(45, 6)
    )


def _published(folder: Path) -> list[ComparedClip]:
    phases, _ = read_phases([path for name in SHEETS if (path := folder / name).is_file()], Findings())
    found = []
    for number, truth in enumerate(sorted(folder.glob("*_gt.mp4"))):
        name = truth.stem.removesuffix("_gt")
        marks = phases.get("".join(letter for letter in name.lower() if letter.isalnum()))
        videos = [path for path in folder.glob(f"{name}_*.mp4") if path != truth]
        if marks is None or not videos:
            continue
        video = min(videos, key=lambda path: path.stat().st_size)
        counts = [_frames_of(path) for path in (video, truth)]
        paths = [_walk(count, 10 * number + part) for part, count in enumerate(counts)]
        found.append(ComparedClip(video.stem, False, 901 + number, video, truth, marks.d_start, marks.r_start, *paths))
    return found


def _frames_of(path: Path) -> int:
    with open_video(path) as reader:
        return reader.info.n_frames


def _scene(count: int, height: int, width: int, seed: int) -> np.ndarray:
    """Smooth random colours that drift and flicker a little: (count, height, width, 3) uint8."""
    random = np.random.default_rng(seed)
    wide = cv2.resize(random.integers(0, 255, (12, 40, 3), np.uint8), (2 * width, height), interpolation=cv2.INTER_CUBIC)
    shown = [np.roll(wide, -3 * index, axis=1)[:, :width].astype(float) + random.normal(0, 4) for index in range(count)]
    return np.clip(np.stack(shown), 0, 255).astype(np.uint8)


def _walk(count: int, seed: int) -> Poses:
    """A camera that turns to one side and shakes."""
    random = np.random.default_rng(seed)
    angles = np.column_stack([np.linspace(0, 70, count) + random.normal(0, 2, count), random.normal(0, 2, count), np.zeros(count)])
    return _poses(Rotation.from_euler("yxz", angles, degrees=True).as_matrix())


def _turn_of_the_renderer(count: int) -> NDArray[np.float64]:
    """(count,3) angles rot_x, rot_y, rot_z in radians, which the camera table holds instead of matrices."""
    random = np.random.default_rng(7)
    return np.column_stack([random.normal(0, 0.03, count), random.normal(0, 0.03, count), np.linspace(0, 1.4, count)])


def _poses(rotations: np.ndarray) -> Poses:
    path = np.repeat(np.eye(4)[None], len(rotations), axis=0)
    path[:, :3, :3] = rotations
    return path


def write_dataset(root: Path, clips: list[ComparedClip]) -> None:
    """The folders and sheets as the released program and our layout read them."""
    for clip in clips:
        place = root / "output" / MODEL / ("Synthetic" if clip.synthetic else "Real") / clip.folder_name
        (_write_synthetic if clip.synthetic else _write_real)(root / "data", clip, place)
    sheets: dict[str, list[list[object]]] = {
        "Synthetic_processed/Synthetic_ExitReenter.xlsx": [["video_folder", "exits", "re-enter", "skip", "prompt"]],
        "Real_Raw/Real_ExitReenter.xlsx": [["id", "exit", "reenter"]],
    }
    synthetic, real = sheets.values()
    synthetic += [[clip.folder_name, clip.d_start, clip.r_start, "no", PROMPT] for clip in clips if clip.synthetic]
    real += [[clip.number, clip.d_start, clip.r_start] for clip in clips if not clip.synthetic]
    for name, rows in sheets.items():
        _write_sheet(root / "data" / name, rows)
    metadata = root / "data" / "sam3_metadata"
    metadata.mkdir()
    named = [[SYNTHETIC_SCENE, clip.number, SUBJECT, "", PROMPT] for clip in clips if clip.synthetic]
    _write_csv(metadata / "synthetic_metadata.csv", [["scene", "video_id", "subject", "exr_path", "prompt"], *named])
    numbered = [[clip.number, SUBJECT, "", PROMPT] for clip in clips if not clip.synthetic]
    _write_csv(metadata / "real_metadata.csv", [["video_id", "subject", "full_image_path", "prompt"], *numbered])
    _write_csv(root / "prompts_real.csv", [["id", "prompt"], *([row[0], row[3]] for row in numbered)])


def _write_synthetic(data: Path, clip: ComparedClip, place: Path) -> None:
    folder, number = data / "Synthetic_processed" / SYNTHETIC_SCENE / clip.folder_name, str(clip.number)
    shutil.copytree(clip.generated, place / "frames")
    shutil.copytree(clip.truth, folder / f"RGB{number}")
    (folder / number).mkdir()
    np.save(folder / number / "intrinsics.npy", np.tile([400.0, 400.0, 240.0, 135.0], (len(clip.true_path), 1)))
    header: list[object] = ["loc_x", "loc_y", "loc_z", "rot_x", "rot_y", "rot_z", "fx", "fy", "cx", "cy"]
    rows = [[0, 0, 0, *(repr(float(angle)) for angle in angles), 400, 400, 240, 135] for angles in clip.true_path]
    _write_csv(folder / f"camera_full{number}.csv", [header, *rows])


def _write_real(data: Path, clip: ComparedClip, place: Path) -> None:
    folder = data / "Real_Raw" / clip.folder_name
    place.mkdir(parents=True)
    (folder / "raw").mkdir(parents=True)
    shutil.copyfile(clip.generated, place / "video.mp4")
    shutil.copyfile(clip.truth, folder / f"{clip.folder_name}.mp4")
    matrix = np.array([[400.0, 0, 120], [0, 400.0, 90], [0, 0, 1]])
    np.savez(folder / "raw" / f"{clip.folder_name}_mapanything.npz", cam_c2w=clip.true_path, intrinsic=matrix)


def _write_sheet(path: Path, rows: list[list[object]]) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.save(path)


def _write_csv(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows(rows)


@dataclass(frozen=True)
class ReadClip:
    """A clip as our layout reads it, and its camera paths as stored artifacts."""

    clip: Clip
    entries: dict[str, Entry]

    def entry(self, role: str) -> Entry:
        return self.entries[role]


def read_clip(root: Path, compared: ComparedClip) -> ReadClip:
    """The clip through our own layout, with the facts that curation measures."""
    clip = next(clip for clip in MemoBench.read(Source(root=str(root))).clips if clip.clip_id == compared.clip_id)
    with open_video(resolve(clip.video)) as reader:
        info = reader.info
    assert clip.ground_truth and clip.gt_poses and clip.gt_poses_format
    with open_video(resolve(clip.ground_truth)) as reader:
        true_info = reader.info
    facts = {"n_frames": info.n_frames, "width": info.width, "height": info.height, "gt_frames": true_info.n_frames}
    truth = read_poses(resolve(clip.gt_poses), clip.gt_poses_format, true_info)
    entries = {
        "pose": _track(compared.path).pack(),
        "gt_pose": TruePoseTrack.unpack(with_facts(truth).pack()).pack(),
    }
    return ReadClip(clip.model_copy(update=facts), entries)


def _track(c2w: Poses) -> PoseTrack:
    count = len(c2w)
    plain: dict[str, Any] = {
        "intrinsics": np.tile(np.eye(3), (count, 1, 1)),
        "confidence": np.ones(count),
        "has_translation": np.ones(count, bool),
    }
    return PoseTrack(frame_index=np.arange(count), c2w=c2w, **plain)
