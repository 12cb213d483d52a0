"""What the backends share: their options, their checkpoint, the device, and batches of frames on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from lookback.devices import kind_of
from lookback.errors import BackendUnavailable, NotScorable, Reason, UsageError, hint
from lookback.extras import EXTRA_OF, installed, need, remedy
from lookback.paths import resolve
from lookback.registry import BACKENDS, Availability
from lookback.weights import locate

if TYPE_CHECKING:
    import torch

    from lookback.backends.base import BackendOptions
    from lookback.clips import Clip
    from lookback.media import VideoInfo

Options = Mapping[str, Any]  # an option and its default
Compute: TypeAlias = "Callable[[torch.Tensor], tuple[torch.Tensor, ...]]"  # from a batch of frames to outputs with a row for each
PRECISIONS = ("auto", "fp32", "tf32", "bf16", "fp16")
# WRBench's sampler (appendix D.1): 3 fps, first and last frame kept, at most 24 frames.
SAMPLING = {"sample_fps": 3.0, "max_frames": 24}


class ConfiguredBackend:
    """The start of most backends. A subclass lists its options in `defaults`, and the weights and packages that it needs."""

    requires: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Options] = {}
    weights: ClassVar[tuple[str, ...]] = ()
    modules: ClassVar[tuple[str, ...]] = ()
    install: ClassVar[str] = ""  # of a package that no extra brings: the argument of `pip install`
    # the fastest precision on a GPU whose scores stay within the self-check's tolerance (docs/gpu.md has the measured differences)
    on_gpu: ClassVar[str] = "fp32"

    def __init__(self, options: BackendOptions):
        self.options = options
        self.settings = merged_options(options, self.defaults, type(self))

    @classmethod
    def available(cls) -> Availability:
        return usable(*cls.weights, modules=cls.modules, install=cls.install)


class TorchBackend(ConfiguredBackend):
    """A backend that runs one torch checkpoint: the pinned weights, or the checkpoint that the option `path` names."""

    modules = ("torch", "transformers")

    def __init__(self, options: BackendOptions):
        super().__init__(options)
        self.device = torch_device(options)
        self.path = checkpoint(options, self.weights[0], self.settings["path"])
        self.precision = precision_of(type(self), options)

    def autocast(self) -> AbstractContextManager[Any]:
        """The precision of the options, for a forward pass on the device."""
        return autocast(self.device, self.precision)


def precision_of(backend: object, options: BackendOptions) -> str:
    """The precision in which a class of backends runs: `auto` is fp32 on a CPU, and the class's `on_gpu` on a GPU."""
    wanted = options.values.get("precision") or getattr(backend, "defaults", {}).get("precision", "fp32")
    if wanted != "auto":
        return str(wanted)
    return "fp32" if kind_of(options.device) == "cpu" else str(getattr(backend, "on_gpu", "fp32"))


def merged_options(options: BackendOptions, defaults: Options, backend: type | None = None) -> dict[str, Any]:
    """The options of the run over the defaults of a backend. An unknown name or a value of another type is a UsageError."""
    merged = dict(defaults)
    for name, value in options.values.items():
        if name not in defaults:
            whose = (f"The backend {spec.name} of the role {spec.role}" for spec in BACKENDS if spec.build is backend)
            known = hint(name, sorted(defaults), "its options") if defaults else "it has no options"
            raise UsageError(f"{next(whose, 'This backend')} has no option '{name}'; {known}")
        wanted = type(defaults[name])
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            raise UsageError(f"Option '{name}' must be of type {wanted.__name__}, not {value!r}")
        merged[name] = value
    if "precision" in merged and merged["precision"] not in PRECISIONS:
        raise UsageError(f"Option 'precision' must be one of {', '.join(PRECISIONS)}, not {merged['precision']!r}")
    return merged


def usable(*weights: str, modules: tuple[str, ...] = (), install: str = "") -> Availability:
    """Whether the packages can be imported and the weights are in the cache. `install` is the argument of `pip install`."""
    for module in modules:
        if not installed(module):
            advice = remedy(module) if module in EXTRA_OF else f"pip install {install or module}"
            return Availability(False, f"the package '{module}' is not installed", advice)
    for name in weights:
        try:
            locate(name)
        except BackendUnavailable as error:
            return Availability(False, str(error).removesuffix(f". {error.remedy}"), error.remedy)
    return Availability(True)


def checkpoint(options: BackendOptions, name: str, path: str = "") -> Path:
    """The pinned weights, or the checkpoint that the run names by `path` instead."""
    if not path:
        return locate(name, options.allow_download)
    given = resolve(path)
    if not given.exists():
        raise UsageError(f"{given}: there is no such checkpoint; check the role's `path` option")
    return given


Network = TypeVar("Network")
_LOADERS: list[Any] = []


def loaded_once(most: int) -> Callable[[Callable[..., Network]], Callable[..., Network]]:
    """For a function that loads a network: the last `most` are kept, for all backends of the process, until `forget_networks`."""

    def kept(load: Callable[..., Network]) -> Callable[..., Network]:
        _LOADERS.append(lru_cache(most)(load))
        return _LOADERS[-1]

    return kept


def forget_networks() -> None:
    """Let all networks go: a checkpoint was replaced under its name."""
    for load in _LOADERS:
        load.cache_clear()


def torch_device(options: BackendOptions) -> str:
    """The device of the options; BackendUnavailable when torch is missing or does not see it."""
    need("torch")
    import torch

    if kind_of(options.device) == "cuda":
        seen = torch.cuda.device_count()
        if int(options.device.partition(":")[2] or 0) >= seen:
            there = "no CUDA device" if not seen else f"cuda:0 to cuda:{seen - 1}" if seen > 1 else "cuda:0 alone"
            raise BackendUnavailable(f"The device '{options.device}' is not usable: torch sees {there}", "Set device: auto")
    return options.device


def onnx_providers(device: str) -> list[str | tuple[str, dict[str, str]]]:
    """The providers that onnxruntime uses on the device. Only its GPU package has the one for CUDA."""
    import onnxruntime

    if kind_of(device) == "cpu" or "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return ["CPUExecutionProvider"]
    number = device.partition(":")[2] or "0"
    return [("CUDAExecutionProvider", {"device_id": number}), "CPUExecutionProvider"]


def autocast(device: str, precision: str) -> AbstractContextManager[Any]:
    """Mixed precision for a forward pass; fp32 changes nothing."""
    import torch

    if precision == "fp32":
        return nullcontext()
    return _tf32() if precision == "tf32" else torch.autocast(kind_of(device), dtype=dtype_of(precision))


def dtype_of(precision: str) -> torch.dtype:
    """The type of a network's weights in this precision."""
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)


@contextmanager
def _tf32() -> Iterator[None]:
    """Matrix products of fp32 numbers that are rounded to 10 bits, as NVIDIA's tensor cores do them."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def check_finite(values: np.ndarray, precision: str) -> None:
    """Refuse numbers that have left the range of their precision."""
    if not np.isfinite(values).all():
        raise NotScorable(Reason.BACKEND_FAILED, f"the network's numbers overflow in {precision}; set its option precision: fp32")


def in_parts(compute: Compute, frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """`compute` of a batch. Where the device has too little memory for it, the batch is computed in halves, and those in halves."""
    import torch

    try:
        return compute(frames)
    except torch.OutOfMemoryError:
        if len(frames) == 1:
            raise
    torch.cuda.empty_cache()
    middle = len(frames) // 2
    parts = [in_parts(compute, part) for part in (frames[:middle], frames[middle:])]
    return tuple(torch.cat(pair) for pair in zip(*parts, strict=True))


def sampled_frames(clip: Clip, info: VideoInfo, sample: Mapping[str, Any]) -> tuple[np.ndarray, str]:
    """The sampled frames (`sample_fps` per second, at most `max_frames`), and how they were chosen, in words."""
    from lookback.media import sample_fps, sample_uniform

    fps = info.fps or clip.fps
    if fps is None:  # a frame folder has no rate: take evenly spread frames, and record that
        return sample_uniform(info.n_frames, sample["max_frames"]), f"uniform {sample['max_frames']}: no frame rate known"
    indices = sample_fps(info.n_frames, fps, sample["sample_fps"], sample["max_frames"])
    return indices, f"{sample['sample_fps']:g} fps, at most {sample['max_frames']}"


class FrameBatches:
    """Collects frames into full batches, runs `compute` on each, and keeps its outputs on the host in order.

    The batches depend only on the order of the frames, not on how many are pushed at a time. On CUDA the frames wait in pinned
    memory, copies in both directions overlap with the computation, and at most two batches are computed at a time.
    """

    def __init__(self, device: str, batch_size: int, total: int, compute: Compute):
        self.device, self.batch_size, self.total, self.compute = device, batch_size, total, compute
        self.cuda = kind_of(device) == "cuda"
        self.buffers: list[torch.Tensor] = []
        self.filled = self.current = self.written = 0
        self.indices: list[np.ndarray] = []
        self.running: list[tuple[Any, tuple[torch.Tensor, ...]]] = []
        self.results: list[torch.Tensor] = []

    def push(self, indices: np.ndarray, frames: np.ndarray) -> None:
        """Take frames uint8 (n,H,W,3); they are copied."""
        import torch

        if not self.buffers:
            shape = (min(self.batch_size, self.total), *frames.shape[1:])
            self.buffers = [torch.empty(shape, dtype=torch.uint8, pin_memory=self.cuda) for _ in range(2 if self.cuda else 1)]
        self.indices.append(np.asarray(indices, np.int64))
        taken = 0
        while taken < len(frames):
            buffer = self.buffers[self.current]
            count = min(len(buffer) - self.filled, len(frames) - taken)
            source = torch.from_numpy(np.ascontiguousarray(frames[taken : taken + count]))
            buffer[self.filled : self.filled + count].copy_(source)
            self.filled, taken = self.filled + count, taken + count
            if self.filled == len(buffer):
                self._start_batch()

    def finish(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The indices of the frames, and every output of `compute` with one row per frame."""
        if self.filled:
            self._start_batch()
        while self.running:
            self._collect_batch()
        indices = np.concatenate(self.indices) if self.indices else np.empty(0, np.int64)
        return indices, [result[: self.written].numpy() for result in self.results]

    def _start_batch(self) -> None:
        """Start computing the collected batch. On CUDA this returns before the result is there."""
        import torch

        batch = self.buffers[self.current][: self.filled]
        with torch.inference_mode():
            outputs = in_parts(self.compute, batch.to(self.device, non_blocking=True))
            if self.cuda:
                outputs = tuple(_to_pinned(output) for output in outputs)
        done = torch.cuda.Event() if self.cuda else None
        if done is not None:
            done.record()
        self.running.append((done, outputs))
        self.filled, self.current = 0, (self.current + 1) % len(self.buffers)
        while len(self.running) >= len(self.buffers):
            self._collect_batch()

    def _collect_batch(self) -> None:
        """Wait for the oldest batch and keep its outputs. Its buffer can then be used again."""
        import torch

        done, outputs = self.running.pop(0)
        if done is not None:
            done.synchronize()
        if not self.results:
            self.results = [torch.empty((self.total, *output.shape[1:]), dtype=output.dtype) for output in outputs]
        stop = self.written + len(outputs[0])
        for result, output in zip(self.results, outputs, strict=True):
            result[self.written : stop].copy_(output)
        self.written = stop


def _to_pinned(output: torch.Tensor) -> torch.Tensor:
    import torch

    host = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)
    return host.copy_(output, non_blocking=True)
