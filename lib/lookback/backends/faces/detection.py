"""What a face detector finds, and the sampling and tracking that every face backend shares (MBench section 4.2.2, appendix B.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookback.artifacts import FaceTracks
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.measures.features import track_identities
from lookback.media import VideoInfo, sample_segments, sample_uniform
from lookback.registry import BENCHMARKS

N_FRAMES = 32


@dataclass(frozen=True)
class Faces:
    """The faces of one frame, best first."""

    box: np.ndarray  # (K,4) x0 y0 x1 y1 in pixels
    landmarks: np.ndarray  # (K,5,2): eyes, nose, mouth corners
    score: np.ndarray  # (K,)
    embedding: np.ndarray  # (K,D)


def face_frames(clip: Clip, info: VideoInfo, count: int = N_FRAMES) -> tuple[np.ndarray, str]:
    """`count` frames (the paper: 32) spread evenly; where the benchmark samples each caption, about as many in each segment."""
    segments = len(clip.caption_segments)
    if segments > 1 and BENCHMARKS.get(clip.benchmark).samples_each_caption(clip):
        per_segment = -(-count // segments)
        frames = np.concatenate(sample_segments(info.n_frames, segments, per_segment))
        return frames, f"{per_segment} per caption segment"
    return sample_uniform(info.n_frames, count), f"uniform {count}"


class FaceJob:
    """Faces of one clip's sampled frames, joined to tracks at the end."""

    def __init__(self, find: Callable[[np.ndarray], Faces], wants: np.ndarray, threshold: float, record: dict[str, Any]):
        self.find, self.wants, self.threshold, self.record = find, wants, threshold, record
        self.found: list[tuple[int, Faces]] = []

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        self.found += [(int(index), self.find(frame)) for index, frame in zip(indices, frames, strict=True)]

    def finish(self) -> FaceTracks:
        counts = [len(faces.score) for _, faces in self.found]
        if not sum(counts):
            raise NotScorable(Reason.NO_FACE, f"no face in {len(self.found)} sampled frames")
        faces = [faces for _, faces in self.found]
        track = np.empty(sum(counts), np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        tracks = track_identities([each.embedding for each in faces], threshold=self.threshold)
        for number, identity in enumerate(tracks):
            for position, detection in zip(identity.frames, identity.detections, strict=True):
                track[offsets[position] + detection] = number
        facts = {
            "n_frames_sampled": len(self.found),
            "tracker_threshold": self.threshold,
            "n_faces": int(sum(counts)),
            "n_tracks": len(tracks),
        }
        return FaceTracks(
            frame=np.repeat([index for index, _ in self.found], counts),
            box=np.concatenate([each.box for each in faces]).astype(np.float32),
            landmarks=np.concatenate([each.landmarks for each in faces]).astype(np.float32),
            score=np.concatenate([each.score for each in faces]).astype(np.float32),
            embedding=np.concatenate([each.embedding for each in faces if len(each.score)]).astype(np.float32),
            track=track,
            sampled_frames=tuple(index for index, _ in self.found),
            facts={**self.record, **facts},
        )
