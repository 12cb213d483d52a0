"""InsightFace models in their real layout: a detector with nine outputs, a recogniser of 112 x 112 faces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STRIDES, ANCHORS = (8, 16, 32), 2


def detector(path: Path, seed: int = 0) -> Path:
    """Scores, box distances and landmark offsets at three strides, each a strided convolution; names as in det_10g.onnx."""
    rng = np.random.default_rng(seed)
    nodes, initializers, outputs = [], [], []
    parts = {"score": 1, "bbox": 4, "kps": 10}
    for part, channels in parts.items():
        for stride in STRIDES:
            name, count = f"{part}_{stride}", channels * ANCHORS
            weight = rng.normal(0, 0.3 / stride, (count, 3, stride, stride)).astype(np.float32)
            bias = np.full(count, {"score": 0.0, "bbox": 2.0, "kps": 0.0}[part], np.float32)
            initializers += [numpy_helper.from_array(weight, f"w_{name}"), numpy_helper.from_array(bias, f"b_{name}")]
            initializers.append(numpy_helper.from_array(np.array([-1, channels]), f"shape_{name}"))
            kernel = {"kernel_shape": [stride, stride], "strides": [stride, stride]}
            nodes.append(
                helper.make_node("Conv", ["input.1", f"w_{name}", f"b_{name}"], [f"conv_{name}"], name=f"Conv_{name}", **kernel)
            )
            nodes.append(helper.make_node("Transpose", [f"conv_{name}"], [f"moved_{name}"], name=f"T_{name}", perm=[0, 2, 3, 1]))
            flat = f"flat_{name}" if part == "score" else name
            nodes.append(helper.make_node("Reshape", [f"moved_{name}", f"shape_{name}"], [flat], name=f"R_{name}"))
            if part == "score":
                nodes.append(helper.make_node("Sigmoid", [flat], [name], name=f"S_{name}"))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, channels]))
    picture = helper.make_tensor_value_info("input.1", TensorProto.FLOAT, [1, 3, "?", "?"])
    return _save(path, nodes, picture, outputs, initializers)


def recogniser(path: Path, seed: int = 1) -> Path:
    """512 numbers of a face 112 x 112, as w600k_r50.onnx gives them."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(0, 1, (512, 3 * 7 * 7)).astype(np.float32)
    initializers = [numpy_helper.from_array(weight, "gemm"), numpy_helper.from_array(np.zeros(512, np.float32), "bias")]
    nodes = [
        helper.make_node("AveragePool", ["input.1"], ["pooled"], name="Pool", kernel_shape=[16, 16], strides=[16, 16]),
        helper.make_node("Flatten", ["pooled"], ["flat"], name="Flat"),
        helper.make_node("Gemm", ["flat", "gemm", "bias"], ["683"], name="Gemm", transB=1),
    ]
    picture = helper.make_tensor_value_info("input.1", TensorProto.FLOAT, ["None", 3, 112, 112])
    return _save(path, nodes, picture, [helper.make_tensor_value_info("683", TensorProto.FLOAT, [1, 512])], initializers)


def _save(path: Path, nodes: list, picture: onnx.ValueInfoProto, outputs: list, initializers: list) -> Path:
    graph = helper.make_graph(nodes, path.stem, [picture], outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path
