"""Pixel evidence of one clip: choose the frame pairs, align them, take every measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lookback.artifacts import Masks, PoseTrack, TruePoseTrack
from lookback.clips import Clip
from lookback.forensics import measures
from lookback.forensics.pairs import Aligned, Pair, align, as_float, nearest_early, revisit_pairs, rotation_homography, truth_pairs
from lookback.measures.inverse_search import FAST_MIN_HEIGHT
from lookback.media import open_video
from lookback.paths import resolve

MAX_WIDTH = 320  # larger frames are shrunk to this width
LAGS = (4, 8)  # an echo is searched this many frames back
BENT = 0.5 / MAX_WIDTH  # the alignment is corrected from this displacement on (share of the width)


@dataclass(frozen=True)
class Inputs:
    """A clip with the artifacts that the probe needs."""

    clip: Clip
    pose: PoseTrack  # one pose per frame
    masks: Masks | None
    truth_pose: TruePoseTrack | None


class Frames:
    """The frames that a probe needs, by number, shrunk; and masks of the same size."""

    def __init__(self, inputs: Inputs, wanted: set[int], truth_wanted: set[int]):
        clip = inputs.clip
        self.own = _read(clip.video, wanted)
        self.truth = _read(clip.ground_truth, truth_wanted) if clip.ground_truth and truth_wanted else {}
        self.height, self.width = next(iter(self.own.values())).shape[:2] if self.own else (0, 0)
        self.masks = inputs.masks
        scale = self.width / float(clip.width or self.width)
        self.intrinsics = np.diag([scale, scale, 1.0]) @ inputs.pose.intrinsics[0]
        self.truth = {
            index: np.asarray(cv2.resize(frame, (self.width, self.height)), np.uint8) for index, frame in self.truth.items()
        }

    def source(self, pair: Pair) -> dict[int, NDArray[np.uint8]]:
        """The frames that hold the pair's reference."""
        return self.truth if pair.from_truth else self.own

    def mask(self, frame: int) -> NDArray[np.bool_]:
        if self.masks is None:
            return np.zeros((self.height, self.width), bool)
        rows = self.masks.rows_at(frame)
        if not len(rows):
            return np.zeros((self.height, self.width), bool)
        return self.masks.resized(int(rows[0]), (self.height, self.width))


def _read(video: str, wanted: set[int]) -> dict[int, NDArray[np.uint8]]:
    frames: dict[int, NDArray[np.uint8]] = {}
    with open_video(resolve(video)) as reader:
        scale = min(1.0, MAX_WIDTH / reader.info.width)
        inside = sorted(index for index in wanted if 0 <= index < reader.info.n_frames)
        for start in range(0, len(inside), 16):
            for index, frame in zip(inside[start : start + 16], reader.read(inside[start : start + 16]), strict=True):
                small = cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else frame
                frames[index] = np.asarray(small, np.uint8)
    return frames


def choose_pairs(inputs: Inputs) -> list[Pair]:
    """The frame pairs of one clip; with the ground truth if there is one."""
    clip, c2w = inputs.clip, inputs.pose.c2w
    if clip.ground_truth:
        with open_video(resolve(clip.ground_truth)) as reader:
            n_truth = reader.info.n_frames
        frames = np.arange(len(c2w))
        match = frames + clip.mark_time if clip.mark_time is not None else np.linspace(0, n_truth - 1, len(c2w)).round().astype(int)
        truth = None
        if inputs.truth_pose is not None:
            truth = inputs.truth_pose.at(match)
        seen = match >= clip.r_start if clip.r_start is not None else np.ones(len(c2w), bool)
        if pairs := truth_pairs(c2w, truth, match, n_truth, seen):
            return pairs
    return revisit_pairs(c2w, inputs.pose.has_translation)


def probe(inputs: Inputs) -> list[dict[str, Any]]:
    """One record per pair with its frames and measures, and one for the last frame before the subject leaves.

    Measures that could not be taken are left out.
    """
    return [{name: value for name, value in record.items() if np.isfinite(value).all()} for record in _records(inputs)]


def _records(inputs: Inputs) -> list[dict[str, Any]]:
    pairs = choose_pairs(inputs)
    c2w = inputs.pose.c2w
    before = {pair.frame: nearest_early(c2w, inputs.pose.has_translation, pair.frame) for pair in pairs if pair.from_truth}
    parting = _last_before_leaving(inputs)
    wanted = {0, parting} | {pair.frame for pair in pairs} | {early for early in before.values() if early is not None}
    wanted |= {pair.reference for pair in pairs if not pair.from_truth} | {pair.frame - lag for pair in pairs for lag in LAGS}
    first_truth = inputs.clip.mark_time or 0
    frames = Frames(inputs, wanted, {pair.reference for pair in pairs if pair.from_truth} | ({first_truth} if before else set()))
    if frames.height < FAST_MIN_HEIGHT:  # of very wide clips: their frames cannot be aligned
        return []
    usual = _usual_gains(frames, first_truth) if before and not _same_size(inputs.clip) else {}
    pairs = [pair for pair in pairs if pair.frame in frames.own and pair.reference in frames.source(pair)]
    records = [_relative(_look(pair, frames, c2w, before.get(pair.frame)), usual) for pair in pairs]
    if parting > 0 and {0, parting} <= set(frames.own):
        pair = Pair(parting, 0, False, c2w[0, :3, :3].T @ c2w[parting, :3, :3])
        aligned, _, _ = _aligned(pair, frames, frames.own[0], frames.mask(0))
        records.append({"departure": True, "frame": parting, "reference": 0, **measures.subject_terms(aligned, aligned.late)})
    return records


def _same_size(clip: Clip) -> bool:
    """Whether the ground truth has the size of the clip; another size comes from another camera or encoder."""
    if not clip.ground_truth:
        return True
    with open_video(resolve(clip.ground_truth)) as reader:
        return (reader.info.width, reader.info.height) == (clip.width, clip.height)


def _usual_gains(frames: Frames, first_truth: int) -> dict[str, float]:
    """How much sharper and more saturated the clip is than its ground truth in the first frame, where both show the same."""
    if 0 not in frames.own or first_truth not in frames.truth:
        return {}
    aligned, _, _ = _aligned(Pair(0, first_truth, True, np.eye(3)), frames, frames.truth[first_truth], frames.mask(0))
    late = measures.relit(aligned.late, measures.channel_gain(aligned))
    return {"saturation": measures.saturation_gain(aligned), "detail": measures.detail_gain(aligned, late)}


def _relative(record: dict[str, Any], usual: Mapping[str, float]) -> dict[str, Any]:
    """The record with the gains against a ground truth relative to those of the first frame: a truth that was filmed or stored
    sharper than the model's pictures is no change of style."""
    if not record["from_truth"]:
        return record
    return record | {name: record[name] / value for name, value in usual.items() if np.isfinite(value) and value > 0.05}


def _last_before_leaving(inputs: Inputs) -> int:
    """The last frame before the subject first starts to leave the view; 0 if it leaves at once or never."""
    if inputs.masks is None:
        return 0
    state, rows = inputs.masks.state, inputs.masks.frame_index
    gone = np.flatnonzero(state != 1)
    return int(rows[gone[0] - 1]) if len(gone) and gone[0] > 1 else 0


def _aligned(
    pair: Pair, frames: Frames, reference: NDArray[np.uint8], mask: NDArray[np.bool_]
) -> tuple[Aligned, float, NDArray[np.float64]]:
    """The aligned pair, the bend that no homography explains, and the homography used.

    The poses give a first alignment; the rigid part of the remaining displacement then corrects it.
    """
    late = frames.own[pair.frame]
    matrix = rotation_homography(frames.intrinsics, pair.turn)
    aligned = align(reference, late, mask, frames.mask(pair.frame), matrix)
    flow = measures.residual_flow(aligned, measures.relit(aligned.late, measures.channel_gain(aligned)))
    rigid, bend = measures.rigid_part(aligned, flow)
    if rigid is not None and _displacement(rigid, frames) > BENT:
        matrix = np.linalg.inv(rigid) @ matrix
        aligned = align(reference, late, mask, frames.mask(pair.frame), matrix)
    return aligned, bend, matrix


def _displacement(matrix: NDArray[np.float64], frames: Frames) -> float:
    """How far a homography moves the corners at most, as a share of the width; 0 for implausibly large moves."""
    corners = np.array([[[0, 0], [frames.width, 0], [0, frames.height], [frames.width, frames.height]]], np.float32)
    moved = float(np.linalg.norm(cv2.perspectiveTransform(corners, matrix) - corners, axis=-1).max()) / frames.width
    return moved if moved < 0.15 else 0.0


def _look(pair: Pair, frames: Frames, c2w: NDArray[np.float64], early: int | None) -> dict[str, Any]:
    reference = frames.source(pair)[pair.reference]
    mask = frames.mask(pair.frame if pair.from_truth else pair.reference)
    past: Aligned | None = None
    if early is not None:
        truth_view = c2w[pair.frame, :3, :3] @ pair.turn.T  # the reference camera, in the clip's own coordinates
        back = rotation_homography(frames.intrinsics, truth_view.T @ c2w[early, :3, :3])
        past = align(reference, frames.own[early], mask, frames.mask(early), back)
        mask = past.subject_late
    aligned, bend, matrix = _aligned(pair, frames, reference, mask)
    gain = measures.channel_gain(aligned)
    late = measures.relit(aligned.late, gain)
    blocks = measures.block_correlation(aligned, late, aligned.background)
    record: dict[str, Any] = {
        "departure": False,
        "frame": pair.frame,
        "reference": pair.reference,
        "from_truth": pair.from_truth,
        "gain": [float(value) for value in gain],
        "saturation": measures.saturation_gain(aligned),
        "detail": measures.detail_gain(aligned, late),
        "bend": bend,
        "low_blocks": float((blocks < measures.LOW_CORRELATION).mean()) if len(blocks) else float("nan"),
        "palette_kept": measures.palette_kept(aligned, late),
        "echo": _echo(pair, frames, aligned, late, gain, matrix),
        **measures.subject_terms(aligned, late),
        **measures.palette_terms(aligned, late),
        **measures.change_terms(aligned, late),
    }
    if past is not None:
        record |= measures.truth_terms(aligned, late, past.late, past.valid)
    return record


def _echo(
    pair: Pair,
    frames: Frames,
    aligned: Aligned,
    late: NDArray[np.float32],
    gain: NDArray[np.float64],
    matrix: NDArray[np.float64],
) -> float:
    """The largest weight that a picture from some frames earlier has in the late one."""
    size = (frames.width, frames.height)
    found = []
    for lag in LAGS:
        if pair.frame - lag in frames.own:
            earlier = as_float(np.asarray(cv2.warpPerspective(frames.own[pair.frame - lag], matrix, size), np.uint8))
            found.append(measures.echo_weight(aligned, late, measures.relit(earlier, gain)))
    usable = [weight for weight in found if np.isfinite(weight)]
    return max(usable) if usable else float("nan")


def frame_masks(inputs: Inputs, frames: NDArray[np.int64]) -> list[NDArray[np.bool_] | None]:
    """The subject's mask in each frame, at its stored size; None where there is no mask."""
    return [None if inputs.masks is None else inputs.masks.at(frame) for frame in frames.tolist()]


@dataclass(frozen=True)
class Comparison:
    """A reference, the late frame in the view of the reference, and their difference, as pictures with titles."""

    reference: NDArray[np.float32]
    late: NDArray[np.float32]
    difference: NDArray[np.float32]
    reference_title: str
    late_title: str


def most_changed_pair(inputs: Inputs, records: Sequence[Mapping[str, Any]]) -> Comparison | None:
    """The frame pair that changed most; None if the clip has no pair."""
    returns = [record for record in records if not record["departure"]]
    if not returns:
        return None
    worst = max(returns, key=lambda record: record.get("changed", 0.0))
    pair = next((pair for pair in choose_pairs(inputs) if pair.frame == worst["frame"]), None)
    if pair is None:
        return None
    frames = Frames(
        inputs, {pair.frame} | (set() if pair.from_truth else {pair.reference}), {pair.reference} if pair.from_truth else set()
    )
    reference = frames.source(pair)[pair.reference]
    aligned, _, _ = _aligned(pair, frames, reference, frames.mask(pair.frame))
    late = np.where(aligned.valid[..., None], aligned.late, 1.0)
    difference = np.abs(aligned.late - aligned.reference).max(axis=2) * aligned.valid
    source = "ground truth" if pair.from_truth else "early"
    titles = f"{source}, frame {pair.reference}", f"late, frame {pair.frame} (aligned)"
    return Comparison(aligned.reference, late, difference, *titles)
