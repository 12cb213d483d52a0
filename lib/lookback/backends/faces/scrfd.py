"""SCRFD (Guo et al. 2021) through onnxruntime: preprocessing, decoding of its anchors, non-maximum suppression.

The network sees a square picture of (pixel - 127.5) / 128 in RGB. At each stride (8, 16, 32) every cell has two anchors at its
corner; it gives a score, the distances to the box's four sides and the offsets of five landmarks, both in units of the stride.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

STRIDES = (8, 16, 32)
ANCHORS = 2
SIDE = 640
OVERLAP = 0.4


class Scrfd:
    """The detector of one onnx file with outputs score_*, bbox_* and kps_* per stride."""

    def __init__(self, path: Path, providers: list[str], threads: int = 0):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session: Any = onnxruntime.InferenceSession(path, options, providers=providers)
        self.input = self.session.get_inputs()[0].name

    def detect(self, frame: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Boxes (K,4), landmarks (K,5,2) in pixels of the frame uint8 (H,W,3), and scores (K,), best first."""
        scale = SIDE / max(frame.shape[:2])
        height, width = (max(1, int(side * scale)) for side in frame.shape[:2])
        canvas = np.zeros((SIDE, SIDE, 3), np.uint8)
        canvas[:height, :width] = cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR)
        blob = ((canvas.astype(np.float32) - 127.5) / 128).transpose(2, 0, 1)[None]
        names = [f"{part}_{stride}" for stride in STRIDES for part in ("score", "bbox", "kps")]
        outputs = dict(zip(names, self.session.run(names, {self.input: blob}), strict=True))
        levels = [
            decode(outputs[f"score_{stride}"], outputs[f"bbox_{stride}"], outputs[f"kps_{stride}"], stride, threshold)
            for stride in STRIDES
        ]
        boxes, landmarks, scores = (np.concatenate(parts) for parts in zip(*levels, strict=True))
        keep = suppress(boxes, scores)
        shrink = np.array([width / frame.shape[1], height / frame.shape[0]])
        return boxes[keep] / np.tile(shrink, 2), landmarks[keep] / shrink, scores[keep]


def decode(
    score: np.ndarray, bbox: np.ndarray, kps: np.ndarray, stride: int, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One stride's outputs to boxes, landmarks and scores in pixels of the square picture, from the threshold up."""
    cells = SIDE // stride
    corner = np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), -1).reshape(-1, 2) * float(stride)
    corner = np.repeat(corner, ANCHORS, axis=0)
    scores = score.reshape(-1)
    hit = scores >= threshold
    sides = bbox.reshape(-1, 4)[hit] * stride
    boxes = np.concatenate([corner[hit] - sides[:, :2], corner[hit] + sides[:, 2:]], 1)
    landmarks = corner[hit][:, None] + kps.reshape(-1, 5, 2)[hit] * stride
    return boxes, landmarks, scores[hit]


def suppress(boxes: np.ndarray, scores: np.ndarray, overlap: float = OVERLAP) -> np.ndarray:
    """Indices of the boxes to keep, best score first: each drops the worse ones that overlap it by more than `overlap` (IoU)."""
    order = np.argsort(-scores, kind="stable")
    area = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)
    keep = []
    while len(order):
        best, order = order[0], order[1:]
        keep.append(best)
        low, high = np.maximum(boxes[best, :2], boxes[order, :2]), np.minimum(boxes[best, 2:], boxes[order, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        order = order[common <= overlap * (area[best] + area[order] - common)]
    return np.array(keep, np.int64)
