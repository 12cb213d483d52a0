"""Parts of a clip that tracks hold together. A cut or a blank stretch ends one; a recognised view ties it to an earlier one."""

from __future__ import annotations

import numpy as np

from lookback.backends.pose.classical.loops import Loop
from lookback.backends.pose.classical.segments import Motion

LOOP_QUALITY = 0.8


def number_parts(motions: list[Motion], cuts: list[int], n: int) -> np.ndarray:
    """(N,) the part each frame belongs to: a new one starts at a cut and at every frame that no track reaches."""
    starts = np.zeros(n, np.int64)
    starts[cuts] = 1
    for motion in motions:
        starts[motion.segment.key + 1 : motion.segment.last + 1] |= ~motion.known
    return np.cumsum(starts)


def bridge(chain: np.ndarray, part: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """Turn each part to where its first recognised view says it looks, so that averaging starts near the answer; else hold."""
    chain = chain.copy()
    for number in range(1, int(part[-1]) + 1):
        inside = part == number
        start = int(np.argmax(inside))
        across = [loop for loop in loops if inside[loop.second] and part[loop.first] < number]
        if across:
            loop = across[0]
            chain[inside] = chain[loop.first] @ loop.relative @ chain[loop.second].T @ chain[inside]
        else:
            chain[inside] = chain[start - 1] @ chain[start].T @ chain[inside]
    return chain


def limit_quality(quality: np.ndarray, motions: list[Motion], part: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """A frame is known no better than its keyframe, and a part no better than the view that ties it to the first part."""
    tied = {0}
    for loop in sorted(loops, key=lambda loop: loop.second):
        if part[loop.first] in tied:
            tied.add(int(part[loop.second]))
    recognised = {loop.second for loop in loops if part[loop.first] in tied}
    out = quality.copy()
    for number in range(1, int(part[-1]) + 1):
        out[np.argmax(part == number)] = LOOP_QUALITY if number in tied else 0.0
    for motion in motions:
        key, last = motion.segment.key, motion.segment.last
        vouched = any(frame in recognised for frame in range(key, last + 1))
        ceiling = max(out[key], LOOP_QUALITY if vouched else 0.0)
        inside = np.arange(key + 1, last + 1)
        inside = inside[motion.known]
        out[inside] = np.minimum(quality[inside], ceiling)
    return out
