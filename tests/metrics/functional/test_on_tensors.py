"""The functional metrics on torch tensors: the values of the numpy twins and of torchmetrics, on the device, with gradients."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import NotScorable, UsageError
from lookback.metrics import functional as f

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(5)
A = RANDOM.integers(0, 255, (4, 24, 32, 3), dtype=np.uint8)
B = np.clip(A.astype(int) + RANDOM.integers(-20, 20, A.shape), 0, 255).astype(np.uint8)


def floats(frames):
    return (frames / 255.0).astype(np.float32)


@pytest.mark.parametrize("kind", ["bytes", "floats"])
@pytest.mark.parametrize(("name", "more"), [("mse", {}), ("psnr", {}), ("ssim", {}), ("ssim", {"variant": "official"})])
def test_pictures_as_tensors_give_the_numbers_of_the_arrays(name, more, kind):
    first, second = (A, B) if kind == "bytes" else (floats(A), floats(B))
    wanted = getattr(f, name)(first, second, **more)
    found = getattr(f, name)(torch.from_numpy(first), torch.from_numpy(second), **more)
    assert isinstance(wanted, float) and torch.is_tensor(found) and found.item() == pytest.approx(wanted, rel=2e-5)


def test_ssim_and_psnr_against_torchmetrics():
    metrics = pytest.importorskip("torchmetrics.functional.image")
    a, b = (torch.from_numpy(floats(frames)) for frames in (A, B))
    grey = [(frames @ torch.tensor([0.299, 0.587, 0.114]))[:, None] for frames in (a, b)]
    reflected = metrics.structural_similarity_index_measure(*grey, data_range=1.0)
    assert f.ssim(a, b, variant="official").item() == pytest.approx(reflected.item(), abs=1e-5)
    each = metrics.peak_signal_noise_ratio(a, b, data_range=1.0, dim=(1, 2, 3), reduction="none")
    assert f.psnr(a, b).item() == pytest.approx(each.mean().item(), abs=1e-4)


def test_ssim_against_scikit_image():
    skimage = pytest.importorskip("skimage.metrics")
    a, b = (torch.from_numpy(floats(frames)[:1]) for frames in (A, B))
    grey = [(frames @ torch.tensor([0.299, 0.587, 0.114]))[0].numpy() for frames in (a, b)]
    other = skimage.structural_similarity(*grey, data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)
    assert f.ssim(a, b).item() == pytest.approx(other, abs=1e-5)


def test_identical_frames_have_99_db_and_a_gradient_that_is_finite():
    a = torch.from_numpy(floats(A)).requires_grad_()
    same = f.psnr(a, a.detach().clone())
    same.backward()
    assert same.item() == pytest.approx(99.0, abs=1e-4) and torch.isfinite(a.grad).all()


@pytest.mark.parametrize("name", ["mse", "psnr", "ssim"])
def test_gradients_lead_to_better_pictures(name):
    truth = torch.from_numpy(floats(A))
    picture = torch.from_numpy(floats(B)).requires_grad_()
    before = getattr(f, name)(picture, truth)
    before.backward()
    sign = -1.0 if name == "mse" else 1.0
    step = (picture.detach() + sign * 1e-3 * picture.grad.sign()).clamp(0.0, 1.0)
    after = getattr(f, name)(step, truth)
    assert sign * (after.item() - before.item()) > 0


def test_long_memory_and_mirrored_paths():
    a, b = (torch.from_numpy(floats(frames)) for frames in (A, B))
    for found, wanted in ((f.lcm(a, b), f.lcm(floats(A), floats(B))), (f.gsc(a), f.gsc(floats(A)))):
        assert found["length"] == wanted["length"]
        for name in ("mse", "psnr", "ssim"):
            assert found[name].numpy() == pytest.approx(wanted[name], rel=1e-4)
            assert found[f"avg_{name}"].item() == pytest.approx(wanted[f"avg_{name}"], rel=1e-4)
    with pytest.raises(NotScorable, match="even number"):
        f.gsc(a[:3])


def test_features_keep_their_gradient():
    vectors = RANDOM.normal(1.0, 1.0, (5, 8)).astype(np.float32)
    tensor = torch.from_numpy(vectors).requires_grad_()
    found = f.centroid_consistency(tensor)
    found.backward()
    assert found.item() == pytest.approx(f.centroid_consistency(vectors), abs=1e-6) and tensor.grad.abs().sum() > 0
    tokens = RANDOM.normal(size=(2, 2, 6, 4)).astype(np.float32)
    assert f.dino_mse(*map(torch.from_numpy, tokens)).numpy() == pytest.approx(f.dino_mse(*tokens), rel=1e-5)


def test_lpips_with_a_given_network_on_arrays_and_tensors():
    def network(x, y):
        assert x.shape[1] == 3 and x.min() >= -1 and x.max() <= 1
        return (x - y).abs().mean(dim=(1, 2, 3), keepdim=True)

    wanted = 2 * np.abs(floats(A) - floats(B)).mean()
    assert f.lpips(A, B, network) == pytest.approx(wanted, rel=1e-5)
    assert f.lpips(torch.from_numpy(A), torch.from_numpy(B), network).item() == pytest.approx(wanted, rel=1e-5)


def test_functions_without_a_twin_take_tensors_and_give_them_back():
    path = from_yaw_pitch_roll(np.linspace(0.0, 20.0, 12))
    tensor = torch.from_numpy(path)
    score = f.cam_prec(tensor, tensor, "yaw_LR")
    assert torch.is_tensor(score) and score.dtype == torch.float64 and score.item() == f.cam_prec(path, path, "yaw_LR")
    parts = f.camera_precision(tensor, tensor, "yaw_LR")
    assert torch.is_tensor(parts["rotation_deg"])
    assert torch.is_tensor(f.m_score(torch.tensor([0.5, 1.0]), torch.tensor([True, False])))
    assert isinstance(f.cam_prec(path, path, "yaw_LR"), float)


@pytest.mark.parametrize("kind", [torch.Tensor.requires_grad_, torch.Tensor.bfloat16])
def test_a_list_of_tensors_gives_what_a_list_of_arrays_gives(kind):
    tracks = [torch.from_numpy(RANDOM.normal(size=(n, 8)).astype(np.float32)) for n in (3, 5)]
    wanted = (
        f.tracks_consistency([track.numpy() for track in tracks]),
        f.text_interaction([tracks[0].numpy()], tracks[1][:1].numpy()),
    )
    given = [kind(track.clone()) for track in tracks]
    found = f.tracks_consistency(given), f.text_interaction(given[:1], given[1][:1])
    assert all(map(torch.is_tensor, found)) and [float(each) for each in found] == pytest.approx(wanted, abs=0.01)
    assert f.track_identities(given)
    rows = f.centroid_consistency([*given[0]])
    assert torch.is_tensor(rows) and float(rows) == pytest.approx(f.centroid_consistency(tracks[0].numpy()), abs=0.01)


def test_official_sizes_are_left_to_the_numpy_function():
    big = RANDOM.integers(0, 255, (1, 20, 700, 3), dtype=np.uint8)
    small = big[:, :, ::2]
    found = f.psnr(torch.from_numpy(big), torch.from_numpy(np.ascontiguousarray(small)), variant="official")
    assert found.item() == pytest.approx(f.psnr(big, small, variant="official"), rel=1e-6)


def test_channels_that_come_first_are_told_what_to_do():
    first = torch.zeros(4, 3, 16, 16)
    for call in (lambda: f.ssim(first, first), lambda: f.mse(first.numpy(), first.numpy())):
        with pytest.raises(NotScorable, match=r"not \(4, 3, 16, 16\); channels come last: permute\(0, 2, 3, 1\)"):
            call()


def test_tensors_of_different_sizes_are_a_reason():
    with pytest.raises(NotScorable, match="against"):
        f.ssim(torch.from_numpy(A), torch.from_numpy(B[:, :-1]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_the_answer_stays_on_the_device():
    a, b = (torch.from_numpy(floats(frames)).cuda() for frames in (A, B))
    for name in ("psnr", "ssim", "mse"):
        found = getattr(f, name)(a, b)
        assert found.device == a.device and found.item() == pytest.approx(getattr(f, name)(a.cpu(), b.cpu()).item(), rel=1e-4)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_measured_in_single(kind):
    """On a bright smooth picture SSIM in half precision is above 1 or infinite."""
    ramp = np.broadcast_to(np.linspace(0.75, 0.95, 96)[None, None, :, None], (2, 64, 96, 3))
    noisy = np.clip(ramp + RANDOM.normal(0.0, 0.01, ramp.shape), 0.0, 1.0)
    halves = [torch.tensor(frames).to(getattr(torch, kind)) for frames in (ramp, noisy)]
    same = [half.float().numpy() for half in halves]
    for name in ("mse", "psnr", "ssim"):
        assert getattr(f, name)(*halves).item() == pytest.approx(getattr(f, name)(*same), rel=1e-4)
    assert f.lcm(*halves)["avg_ssim"].item() == pytest.approx(f.lcm(*same)["avg_ssim"], rel=1e-4)
    assert f.psnr(halves[0], halves[0]).item() == 99.0


@pytest.mark.parametrize(
    "wrong", [lambda: f.psnr(torch.full((2, 16, 16, 3), 200.0), torch.zeros(2, 16, 16, 3)),
              lambda: f.lcm(torch.full((2, 16, 16, 3), float("nan")), torch.zeros(2, 16, 16, 3)),
              lambda: f.centroid_consistency(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])),
              lambda: f.centroid_consistency(torch.tensor([[1.0, 0.0], [0.0, 0.0]])),
              lambda: f.dino_mse(torch.full((1, 2, 3), float("inf")), torch.zeros(1, 2, 3)),
              lambda: f.preprocess(torch.full((16, 16, 3), 200.0))],
)  # fmt: skip
def test_what_arrays_are_refused_for_tensors_are_refused_for(wrong):
    with pytest.raises(NotScorable):
        wrong()


def refusal(name, *arrays, **more):
    with pytest.raises(NotScorable) as caught:
        getattr(f, name)(*arrays, **more)
    return caught.value.reason


@pytest.mark.parametrize("name", ["mse", "psnr", "ssim", "lcm", "gsc", "lpips"])
@pytest.mark.parametrize("frames", [A[:0], A[:, :0]])
def test_no_pixels_are_no_number(name, frames):
    arrays = (torch.from_numpy(frames),) * (1 if name == "gsc" else 2)
    more = {"network": lambda a, b: (a - b).mean((1, 2, 3))} if name == "lpips" else {}
    assert refusal(name, *arrays, **more) in {"too_short", "invalid_input"}


@pytest.mark.parametrize(("name", "arrays"), [("lcm", (A[0], B[0])), ("lcm", (A, B[0])), ("gsc", (A[0],))])
def test_rows_of_a_picture_are_not_taken_for_frames(name, arrays):
    assert refusal(name, *arrays) == refusal(name, *map(torch.from_numpy, arrays)) == "invalid_input"


@pytest.mark.parametrize("tokens", [np.ones((4, 8)), np.ones((0, 4, 8))])
def test_tokens_of_a_wrong_shape_are_refused_as_arrays_are(tokens):
    assert refusal("dino_mse", tokens, tokens) == refusal("dino_mse", *[torch.from_numpy(tokens)] * 2)


@pytest.mark.parametrize("name", ["mse", "psnr", "ssim"])
def test_a_tensor_is_compared_with_frames_of_another_kind(name):
    wanted = getattr(f, name)(floats(A), B / 255.0)
    for other in (B / 255.0, torch.from_numpy(B / 255.0)):
        assert float(getattr(f, name)(torch.from_numpy(floats(A)), other)) == pytest.approx(wanted, rel=2e-5)


def test_a_variant_that_does_not_exist_is_refused():
    a, b = (torch.from_numpy(frames) for frames in (A, B))
    for name in ("psnr", "ssim"):
        with pytest.raises(UsageError, match="no variant 'oficial'"):
            getattr(f, name)(a, b, variant="oficial")


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_identical_frames_are_left_out_of_the_mean_or_make_it_infinite(kind):
    first, second = kind(floats(A)), kind(floats(np.concatenate([A[:1], B[1:]])))
    found = f.lcm(first, second)
    assert float(found["psnr"][0]) == float("inf")
    assert float(found["avg_psnr"]) == pytest.approx(float(found["psnr"][1:].mean()), rel=1e-6)
    long = [kind(np.concatenate([floats(frames)] * 26)) for frames in (A, np.concatenate([A[:1], B[1:]]))]
    assert float(f.lcm(*long, variant="official")["avg_psnr"]) == float("inf")


def test_a_network_in_half_precision_is_given_half_precision():
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))

        def forward(self, x, y):
            assert x.dtype == y.dtype == torch.float16
            return ((x - y).abs() * self.scale).mean(dim=(1, 2, 3), keepdim=True)

    found = f.lpips(torch.from_numpy(A), torch.from_numpy(B), Network())
    assert found.item() == pytest.approx(2 * np.abs(floats(A) - floats(B)).mean(), rel=1e-2)


TORCH = """
class Tensor:
    def __rsub__(self, other: float) -> Tensor: ...
    def backward(self) -> None: ...
def rand(*size: int) -> Tensor: ...
"""
USE = """
from torch import rand
from lookback.metrics.functional import centroid_consistency, dino_mse, mse, psnr, ssim

for function in (mse, psnr, ssim, dino_mse):
    (1 - function(rand(2, 32, 32, 3), rand(2, 32, 32, 3))).backward()
(1 - ssim(rand(2, 32, 32, 3), rand(2, 32, 32, 3), variant="official")).backward()
centroid_consistency(rand(4, 8)).backward()
number: str = ssim([[[0.0]]], [[[0.0]]])
"""


def test_type_checkers_know_that_tensors_give_tensors_and_arrays_give_numbers(tmp_path):
    """A few lines stand in for torch, whose own types take a minute to read."""
    (tmp_path / "torch.pyi").write_text(TORCH)
    (tmp_path / "use.py").write_text(USE)
    settings = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", "--no-site-packages", "--cache-dir=cache"]
    paths = {**os.environ, "MYPYPATH": os.pathsep.join([str(tmp_path), str(Path(f.__file__).parents[2])])}
    call = [sys.executable, "-m", "mypy", *settings, "use.py"]
    done = subprocess.run(call, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)
    assert re.findall(r"use.py:(\d+): error: (.*)  ", done.stdout) == [
        ("9", 'Incompatible types in assignment (expression has type "float", variable has type "str")')
    ], done.stdout + done.stderr
