"""Time segments of a clip, in frames of the generated video: captions, phases, shots, camera segments, and the layout's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from lookback.camera.requests import request_of
from lookback.camera.text import segment_sentence
from lookback.clips import KEYS, Clip
from lookback.errors import NotScorable
from lookback.measures.frames import phase_map
from lookback.media.sampling import segment_edges


def segments_of(clip: Clip, cuts: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of the `segments` table; needs the probed number of frames."""
    if not clip.n_frames:
        return []
    spans = [*_captions(clip, clip.n_frames), *_phases(clip, clip.n_frames), *_camera(clip, clip.n_frames)]
    spans += [("shot", f"shot-{index:03d}", start, end, "") for index, (start, end) in enumerate(_between(cuts, clip.n_frames))]
    keys = dict(zip(KEYS, clip.key, strict=True))
    return [
        {**keys, "kind": kind, "segment_id": name, "start": start, "end": end, "text": text}
        for kind, name, start, end, text in spans
    ]


def clipped(rows: Iterable[dict[str, Any]], n_frames: int) -> list[dict[str, Any]]:
    """Segments that the layout itself names, cut to the video's real length."""
    return [{**row, "end": min(row["end"], n_frames)} for row in rows if row["start"] < n_frames]


Span = tuple[str, str, int, int, str]


def _captions(clip: Clip, n_frames: int) -> list[Span]:
    """Caption segments as scoring takes them (MBench-T: five)."""
    texts = clip.caption_segments
    if not texts or len(texts) > n_frames:
        return []
    edges = segment_edges(n_frames, len(texts))
    return [("caption", f"caption-{i:03d}", edges[i], edges[i + 1], text) for i, text in enumerate(texts)]


def _phases(clip: Clip, n_frames: int) -> list[Span]:
    """V, D and R, mapped from ground-truth frames (MemoBench section 3.3)."""
    if clip.d_start is None or clip.r_start is None or not clip.gt_frames:
        return []
    try:
        leaves, returns = phase_map(clip.d_start, clip.r_start, clip.gt_frames, n_frames)
    except NotScorable:
        return []
    bounds = (0, leaves, returns, n_frames)
    return [("phase", name, bounds[i], bounds[i + 1], "") for i, name in enumerate("VDR")]


def _camera(clip: Clip, n_frames: int) -> list[Span]:
    request = request_of(clip)
    if request is None or request.frames != n_frames:
        return []
    spans: list[Span] = []
    start = 0
    for index, segment in enumerate(request.segments):
        spans.append(("camera", f"camera-{index:03d}", start, start + segment.frames, segment_sentence(segment)))
        start += segment.frames
    return spans


def _between(cuts: Sequence[int], n_frames: int) -> list[tuple[int, int]]:
    edges = [0, *cuts, n_frames]
    return list(pairwise(edges))
