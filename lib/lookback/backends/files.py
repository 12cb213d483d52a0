"""The backend `files` of every role whose arrays can be made elsewhere. `docs/artifacts.md` says what each file holds.

Poses and depth have readers of their own (`backends/pose`, `backends/depth`). The roles `features`, `flow`, `perceptual`,
`quality` and `image_reward` have none: metrics call their networks on the frames of their own presets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
from PIL import Image

from lookback.array_files import BYTES_PER_PIXEL, SMALL_FILE, read_arrays
from lookback.artifacts import Artifact, Masks, People, kind_of
from lookback.artifacts.base import ArrayField, FactField
from lookback.artifacts.masks import working_size
from lookback.backends.base import BackendOptions
from lookback.backends.depth import depth_source, given_depth
from lookback.backends.masks.artifact import WORKING_SIDE as OBJECT_SIDE
from lookback.backends.masks.artifact import MaskRows
from lookback.backends.people import WORKING_SIDE, people_of
from lookback.clips import Clip
from lookback.errors import ContractError, MediaError, NotScorable, Reason
from lookback.media import VideoInfo
from lookback.media.frames import DAMAGED, image_size, natural_key
from lookback.paths import resolve
from lookback.registry import Availability, backend

PAGE = "docs/artifacts.md"
TITLES = {
    "clip": "Frame and caption vectors from a file",
    "faces": "Faces detected elsewhere, from a file",
    "masks": "Masks of the object made elsewhere, from a file",
    "object_features": "Vectors of the object's crops from a file",
    "people": "Masks of people made elsewhere, from a file",
    "person_features": "Vectors of the people's crops from a file",
}
ROLES = tuple(sorted(("depth", *TITLES)))  # the roles of `Clip.files`


def given_file(role: str, clip: Clip) -> Path | None:
    """The file or folder that the dataset has for a role; None when it has none."""
    if role == "pose":
        return resolve(clip.poses) if clip.poses and clip.poses_format else None
    if role == "depth":
        return depth_source(clip)
    return resolve(clip.files[role]) if role in clip.files else None


def read_given(role: str, path: Path, info: VideoInfo) -> Artifact:
    """The arrays of a role from a file. A ContractError says what is wrong with it. Of depth, it has a pixel per map."""
    if role == "depth":
        return given_depth(path, 1, info)
    special = {"masks": _read_masks, "people": _read_people}
    try:
        return special.get(role, partial(_read_arrays, role))(path, info)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        message = " ".join(str(error).split())[:200]
        raise ContractError(f"{path}: {message}; write it as {PAGE} says for the role {role}") from None


class GivenFiles:
    """Reads the file of one role; needs no frame."""

    requires: ClassVar[tuple[str, ...]] = ()
    role: ClassVar[str]

    def __init__(self, options: BackendOptions):
        pass

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def start(self, clip: Clip, info: VideoInfo, artifacts: Mapping[str, Artifact]) -> _GivenJob:
        return _GivenJob(self.role, clip, info)


class _GivenJob:
    wants = np.empty(0, np.int64)

    def __init__(self, role: str, clip: Clip, info: VideoInfo):
        self.role, self.clip, self.info = role, clip, info

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Does nothing: the arrays are in a file."""

    def finish(self) -> Artifact:
        path = given_file(self.role, self.clip)
        if path is None:
            raise NotScorable(Reason.MISSING_INPUT, f"the dataset carries no file of the role '{self.role}' for this clip")
        try:
            return read_given(self.role, path, self.info)
        except ContractError as error:
            raise NotScorable(Reason.INVALID_INPUT, str(error)) from None


for _role, _title in TITLES.items():
    backend(role=_role, name="files", title=_title, embedded=False)(type(f"{_role}_files", (GivenFiles,), {"role": _role}))


def _load(path: Path, info: VideoInfo) -> dict[str, np.ndarray]:
    most = SMALL_FILE + BYTES_PER_PIXEL * info.n_frames * info.width * info.height
    return read_arrays(path, most)


# -- roles whose file holds exactly the arrays of their class ----------------------------------------------------------------------
def _read_arrays(role: str, path: Path, info: VideoInfo) -> Artifact:
    kind, arrays = kind_of(role), _load(path, info)
    contract = kind.contract()
    _refuse_others(path, arrays, [each.name for each in contract.arrays] + [each.field for each in contract.facts])
    values: dict[str, Any] = {each.field: _array(path, arrays, each) for each in contract.arrays}
    values |= {fact.field: _fact(arrays[fact.field], fact) for fact in contract.facts if fact.field in arrays}
    made = kind(**values, facts={"source": path.name})
    for name in ("frame", "frame_index", "sampled_frames"):
        if name in values:
            _check_frames(path, name, np.asarray(values[name]), info)
    for each in contract.arrays:
        if np.issubdtype(values[each.field].dtype, np.floating) and not np.isfinite(values[each.field]).all():
            raise ContractError(f"{path}: the array '{each.name}' holds a value that is not finite; leave out such rows")
    return made


def _array(path: Path, arrays: dict[str, np.ndarray], declared: ArrayField) -> np.ndarray:
    if declared.name not in arrays:
        raise ContractError(f"{path}: has no array '{declared.name}' ({_names(arrays)}); add it as {PAGE} says")
    return arrays[declared.name]


def _fact(array: np.ndarray, fact: FactField) -> object:
    return fact.adapter.validate_python(array.tolist())


def _refuse_others(path: Path, arrays: dict[str, np.ndarray], known: list[str]) -> None:
    if others := sorted(set(arrays) - set(known)):
        raise ContractError(f"{path}: has an array '{others[0]}' that is not known here; known: {', '.join(known)}")


def _names(arrays: dict[str, np.ndarray]) -> str:
    return f"it has {', '.join(sorted(arrays)) or 'none'}"


def _check_frames(path: Path, name: str, frames: np.ndarray, info: VideoInfo, rising: bool = False) -> None:
    if len(frames) and (frames.min() < 0 or frames.max() >= info.n_frames):
        raise ContractError(
            f"{path}: '{name}' goes from {frames.min()} to {frames.max()}, but the video has {info.n_frames} frames; "
            "count frames from 0, or give the file of this video"
        )
    steps = np.diff(frames)
    if (steps <= 0).any() if rising else (steps < 0).any():
        raise ContractError(f"{path}: '{name}' does not rise; sort the rows by frame")


# -- masks -------------------------------------------------------------------------------------------------------------------------
def _read_masks(path: Path, info: VideoInfo) -> Masks:
    arrays = _mask_folder(path, info) if path.is_dir() else _load(path, info)
    _refuse_others(path, arrays, ["masks", "array", "frame_index", "confidence"])
    masks = _masks(path, arrays, info)
    frames = _frames_of_masks(path, arrays, len(masks), info)
    confidence = _per_row(path, arrays, "confidence", len(masks), np.ones(len(masks), np.float32))
    rows = MaskRows(info)
    for frame, mask, sure in zip(frames, masks, confidence, strict=True):
        rows.add(int(frame), _shrunk(mask, rows.size), float(sure))
    return rows.finish({"source": path.name})


def _read_people(path: Path, info: VideoInfo) -> People:
    arrays = _load(path, info)
    _refuse_others(path, arrays, ["masks", "frame_index", "track", "confidence"])
    masks = _masks(path, arrays, info)
    for name in ("frame_index", "track"):
        if name not in arrays:
            raise ContractError(f"{path}: has no array '{name}' ({_names(arrays)}); add it as {PAGE} says")
    frames = _per_row(path, arrays, "frame_index", len(masks), None)
    _check_frames(path, "frame_index", frames, info)
    confidence = _per_row(path, arrays, "confidence", len(masks), np.ones(len(masks), np.float32))
    size = working_size(info.height, info.width, WORKING_SIDE)
    small = np.stack([_shrunk(mask, size) for mask in masks])
    track = _per_row(path, arrays, "track", len(masks), None)
    return people_of(small, frames, track, confidence, info, {"source": path.name})


def _masks(path: Path, arrays: dict[str, np.ndarray], info: VideoInfo) -> np.ndarray:
    """(N,H,W) with the shape of the video's picture."""
    masks = arrays.get("masks", arrays.get("array"))
    if masks is None:
        raise ContractError(f"{path}: has no array 'masks' ({_names(arrays)}); store the masks under this name")
    if masks.ndim == 4 and 1 in (masks.shape[1], masks.shape[3]):
        masks = masks[:, 0] if masks.shape[1] == 1 else masks[..., 0]
    if masks.ndim != 3 or not masks.size or masks.dtype.kind not in "biu":
        raise ContractError(
            f"{path}: masks have the shape {masks.shape} and hold {masks.dtype}; store (N,H,W) of whole numbers or booleans, "
            "0 outside the object"
        )
    _check_shape(path, masks.shape[1], masks.shape[2], info)
    return masks


def _check_shape(path: Path, height: int, width: int, info: VideoInfo) -> None:
    if abs(height - width * info.height / info.width) > max(1.0, 0.02 * height):
        raise ContractError(
            f"{path}: masks of {width}x{height} do not have the shape of the video's picture ({info.width}x{info.height}); "
            "store them for the whole picture"
        )


def _per_row(path: Path, arrays: dict[str, np.ndarray], name: str, rows: int, default: np.ndarray | None) -> np.ndarray:
    """One number per mask."""
    values = arrays.get(name, default)
    assert values is not None
    whole = name != "confidence"
    if values.shape != (rows,) or values.dtype.kind not in ("iu" if whole else "fiu"):
        kind = "whole numbers" if whole else "numbers"
        raise ContractError(f"{path}: '{name}' has the shape {values.shape} and holds {values.dtype}; store {rows} {kind}")
    return values.astype(np.int64) if whole else np.nan_to_num(values.astype(np.float32))


def _frames_of_masks(path: Path, arrays: dict[str, np.ndarray], rows: int, info: VideoInfo) -> np.ndarray:
    if "frame_index" not in arrays:
        if rows != info.n_frames:
            raise ContractError(f"{path}: has {rows} masks for {info.n_frames} frames; add 'frame_index', the frame of each mask")
        return np.arange(rows)
    frames = _per_row(path, arrays, "frame_index", rows, None)
    _check_frames(path, "frame_index", frames, info, rising=True)
    return frames


def _mask_folder(path: Path, info: VideoInfo) -> dict[str, np.ndarray]:
    """A folder of PNG masks: one per frame in the order of their names, or with the frame's number at the end of the name."""
    files = [file for file in path.iterdir() if file.suffix.lower() == ".png" and not file.name.startswith(".")]
    files.sort(key=natural_key)
    if not files or len(files) > info.n_frames:
        raise ContractError(f"{path}: holds {len(files)} PNG masks for {info.n_frames} frames; put one per frame there")
    size = working_size(info.height, info.width, OBJECT_SIDE)
    masks = np.stack([_shrunk(_read_png(file, info), size) for file in files])
    if len(files) == info.n_frames:
        return {"masks": masks}
    numbers = [re.findall(r"[0-9]{1,9}$", file.stem) for file in files]
    if not all(numbers):
        raise ContractError(f"{path}: its {len(files)} masks for {info.n_frames} frames are not numbered; end names with the frame")
    return {"masks": masks, "frame_index": np.array([int(found[-1]) for found in numbers])}


def _read_png(path: Path, info: VideoInfo) -> np.ndarray:
    """Where a picture is not 0: black and white, or the numbers of objects."""
    try:
        width, height = image_size(path)  # checks the size in the header before memory is allocated for it
        _check_shape(path, height, width, info)
        with Image.open(path) as image:
            values = np.asarray(image)
    except MediaError as error:
        raise ContractError(str(error)) from None
    except DAMAGED as error:
        raise ContractError(f"{path}: cannot be decoded ({error}); write it again") from None
    if values.ndim == 2:
        return values != 0
    return np.asarray(values[..., : {2: 1, 4: 3}.get(values.shape[2])].any(-1))  # without the alpha of LA and RGBA


def _shrunk(mask: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The mask at (height, width) `size`. A small object keeps at least the pixels that it touches."""
    marked = np.ascontiguousarray(mask != 0)
    if marked.shape == tuple(size):
        return marked
    share = cv2.resize(marked.astype(np.float32), size[::-1], interpolation=cv2.INTER_AREA)
    return share >= 0.5 if (share >= 0.5).any() else share > 0
