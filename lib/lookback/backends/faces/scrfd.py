"""The SCRFD face detector (Guo et al. 2021) in onnxruntime: preprocessing, decoding of its anchors, non-maximum suppression.

The input is (pixel - 127.5) / 128 in RGB, with the longer side scaled to `side`. At each stride (8, 16, 32) every cell has two
anchors at its corner. An anchor gives a score, the distances to the four sides of the box, and the offsets of five landmarks;
distances and offsets are in units of the stride. The published file accepts 640 x 640 only. `resized_model` changes that, so that a
wide frame is not padded to a square.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

STRIDES = (8, 16, 32)
ANCHORS = 2
SIDE = 640
OVERLAP = 0.4
OUTPUTS = [f"{part}_{stride}" for stride in STRIDES for part in ("score", "bbox", "kps")]


class Scrfd:
    """The detector of one onnx file with outputs score_*, bbox_* and kps_* per stride."""

    def __init__(self, path: Path, providers: Sequence[str | tuple[str, dict[str, str]]], threads: int = 0, side: int = SIDE):
        import onnx

        self.model = onnx.load(path)
        self.providers, self.threads, self.side = providers, threads, side
        self.sessions: dict[tuple[int, int], Any] = {}

    def detect(self, frame: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Boxes (K,4), landmarks (K,5,2) in pixels of the frame uint8 (H,W,3), and scores (K,), best first."""
        scale = self.side / max(frame.shape[:2])
        height, width = (max(1, int(side * scale)) for side in frame.shape[:2])
        grid = (-(-height // STRIDES[-1]) * STRIDES[-1], -(-width // STRIDES[-1]) * STRIDES[-1])
        canvas = np.zeros((*grid, 3), np.uint8)
        canvas[:height, :width] = cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR)
        blob = ((canvas.astype(np.float32) - 127.5) / 128).transpose(2, 0, 1)[None]
        session = self._session(grid)
        outputs = dict(zip(OUTPUTS, session.run(OUTPUTS, {session.get_inputs()[0].name: blob}), strict=True))
        levels = [
            decode(outputs[f"score_{stride}"], outputs[f"bbox_{stride}"], outputs[f"kps_{stride}"], stride, grid, threshold)
            for stride in STRIDES
        ]
        boxes, landmarks, scores = (np.concatenate(parts) for parts in zip(*levels, strict=True))
        keep = suppress(boxes, scores)
        shrink = np.array([width / frame.shape[1], height / frame.shape[0]])
        return boxes[keep] / np.tile(shrink, 2), landmarks[keep] / shrink, scores[keep]

    def _session(self, size: tuple[int, int]) -> Any:
        """The network for pictures of (height, width); it is built on first use."""
        import onnxruntime

        if size not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.threads
            options.log_severity_level = 3
            resized = resized_model(self.model, size).SerializeToString()
            self.sessions[size] = onnxruntime.InferenceSession(resized, options, providers=self.providers)
        return self.sessions[size]


def resized_model(model: Any, size: tuple[int, int]) -> Any:
    """A copy of the onnx model for an input of (height, width), multiples of 32.

    Only two things in the published graph depend on the size: the declared shapes, and the targets (1, C, 640/s, 640/s) of the two
    upsampling steps in its feature pyramid.
    """
    import onnx

    resized = onnx.ModelProto()
    resized.CopyFrom(model)
    side = resized.graph.input[0].type.tensor_type.shape.dim[2].dim_value
    for axis, length in zip((2, 3), size, strict=True):
        resized.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = length
    targets = {node.input[3] for node in resized.graph.node if node.op_type == "Resize" and len(node.input) == 4}
    for tensor in resized.graph.initializer:
        if tensor.name in targets:
            batch, channels, cells, _ = onnx.numpy_helper.to_array(tensor)
            target = np.array([batch, channels, *(length * cells // side for length in size)], np.int64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(target, tensor.name))
    del resized.graph.value_info[:]
    for output in resized.graph.output:
        output.type.tensor_type.ClearField("shape")
    return resized


def decode(
    score: np.ndarray, bbox: np.ndarray, kps: np.ndarray, stride: int, size: tuple[int, int], threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes, landmarks and scores of one stride, in pixels of the (height, width) picture, with scores from the threshold up."""
    rows, columns = (length // stride for length in size)
    corner = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 2) * float(stride)
    corner = np.repeat(corner, ANCHORS, axis=0)
    scores = score.reshape(-1)
    hit = scores >= threshold
    sides = bbox.reshape(-1, 4)[hit] * stride
    boxes = np.concatenate([corner[hit] - sides[:, :2], corner[hit] + sides[:, 2:]], 1)
    landmarks = corner[hit][:, None] + kps.reshape(-1, 5, 2)[hit] * stride
    return boxes, landmarks, scores[hit]


def suppress(boxes: np.ndarray, scores: np.ndarray, overlap: float = OVERLAP) -> np.ndarray:
    """Indices of the boxes to keep, best score first. A kept box removes worse ones with an IoU above `overlap`."""
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
