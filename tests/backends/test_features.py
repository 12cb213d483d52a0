"""Image features: the embedded network against a second implementation, DINO against a direct forward of the library."""

from __future__ import annotations

from pathlib import Path

import made_artifacts
import numpy as np
import pytest
import skimage.data
import tiny_checkpoints
import torch
from clips_in_memory import clip, options, run_job, shifting_clip, video_info
from lookback.backends.features.crops import SIDE, Dinov2Objects, LiteObjects, LitePeople, cut_out
from lookback.backends.features.frames import Dinov2Features, Dinov3Features, LiteFeatures
from lookback.backends.features.geometry import IMAGENET, Grid, ResizeCrop, on_grid
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.media import resize
from lookback.networks.efficientnet_lite0 import EfficientNetLite0, SameConv, load
from lookback.weights import locate

CLASSES = {
    "chelsea": {281, 282, 285},
    "coffee": {504, 967, 968},
    "rocket": {657, 744},
}  # cats; mug, espresso, cup; missile, projectile


@pytest.fixture(scope="module")
def lite(embedded_weights: None):
    return load(locate("efficientnet-lite0"))


def pad_to_grid(frames: np.ndarray, patch: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """WRBench's full field of view by the media package: the longer side becomes `side`, the square is filled up with zeros.

    Also the mask of patches that hold a part of the picture.
    """
    height, width = (round(length * side / max(frames.shape[1:3])) for length in frames.shape[1:3])
    count = -(-side // patch)
    padded = np.zeros((len(frames), count * patch, count * patch, 3), frames.dtype)
    padded[:, :height, :width] = resize(frames, height, width, "bilinear_antialias")
    valid = np.zeros((count, count), bool)
    valid[: -(-height // patch), : -(-width // patch)] = True
    return padded, valid


def centre_crop(picture: np.ndarray) -> torch.Tensor:
    """ImageNet's evaluation crop, 224 of 256, in [0,1]."""
    image = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float() / 255
    scale = 256 / min(image.shape[2:])
    size = [round(side * scale) for side in image.shape[2:]]
    image = torch.nn.functional.interpolate(image, size=size, mode="bicubic", antialias=True).clamp(0, 1)
    top, left = ((side - 224) // 2 for side in image.shape[2:])
    return image[:, :, top : top + 224, left : left + 224]


@pytest.mark.parametrize("name", CLASSES)
def test_the_embedded_network_names_what_the_picture_shows(lite, name: str):
    """The pictures of scikit-image whose subject is an ImageNet class."""
    logits = lite((centre_crop(getattr(skimage.data, name)()) * 255 - 127) / 128)
    assert int(logits.argmax()) in CLASSES[name]


def test_the_embedded_network_equals_timms(lite):
    """timm's tf_efficientnet_lite0 with the same weights: an independent implementation of the architecture."""
    import timm

    other = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
    whole = EfficientNetLite0()  # `lite` has its norms folded into its convolutions
    whole.load_state_dict(torch.load(locate("efficientnet-lite0"), weights_only=True))
    ours = {name: value for name, value in whole.state_dict().items() if not name.endswith("num_batches_tracked")}
    theirs = [name for name in other.state_dict() if not name.endswith("num_batches_tracked")]
    assert len(theirs) == len(ours)
    # Both list their layers in the order of the forward pass.
    missing = other.load_state_dict(dict(zip(theirs, ours.values(), strict=True)), strict=False)
    assert all(name.endswith("num_batches_tracked") for name in missing.missing_keys)
    images = torch.randn(1, 3, 160, 224, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.allclose(lite(images), other(images), atol=1e-4)


@pytest.mark.parametrize(
    ("height", "width", "square"), [(90, 160, True), (160, 90, True), (90, 160, False), (100, 100, False), (33, 77, True)]
)
def test_frames_lie_on_the_grid_as_the_media_package_puts_them(astronaut: np.ndarray, height: int, width: int, square: bool):
    frames = np.stack([astronaut[:height, :width], astronaut[50 : 50 + height, 60 : 60 + width]])
    grid = Grid.of(height, width, 14, 98, square)
    ours = on_grid(torch.from_numpy(frames), grid, IMAGENET)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (IMAGENET.mean, IMAGENET.std))
    pixels = ((ours * std + mean) * 255).permute(0, 2, 3, 1).numpy()
    padded, valid = pad_to_grid(frames, 14, 98)
    assert np.array_equal(valid[: grid.rows, : grid.columns], grid.valid)
    assert np.abs(pixels - padded[:, : pixels.shape[1], : pixels.shape[2]]).max() <= 0.51  # the media package rounds to uint8
    assert grid.valid.all() != (square and height != width)


@pytest.mark.parametrize(
    ("kind", "backend", "patch"),
    [("dinov2", Dinov2Features, 14), ("registers", Dinov2Features, 14), ("dinov3", Dinov3Features, 16)],
)
def test_dino_tokens_equal_a_direct_forward(tmp_path: Path, astronaut: np.ndarray, kind: str, backend, patch: int):
    from transformers import AutoModel

    make = {
        "dinov2": tiny_checkpoints.dinov2,
        "registers": lambda path: tiny_checkpoints.dinov2(path, True),
        "dinov3": tiny_checkpoints.dinov3,
    }
    folder, side = make[kind](tmp_path / kind), 7 * patch
    frames = shifting_clip(astronaut, 9, 90, 160, 4)
    made = backend(options(path=str(folder), max_side=side))
    entry = run_job(made.start(clip(), video_info(frames), {}), frames)
    picked = entry.frame_index
    assert picked.tolist() == [0, 3, 5, 8] and entry.record["sampling"] == "3 fps, at most 24"
    padded, valid = pad_to_grid(frames[picked].astype(np.float32), patch, side)
    pixels = (padded / 255 - np.array(IMAGENET.mean)) / np.array(IMAGENET.std)
    model = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        tokens = model(pixel_values=torch.from_numpy(pixels).permute(0, 3, 1, 2).float()).last_hidden_state.numpy()
    registers = tokens.shape[1] - 1 - valid.size
    assert registers == {"dinov2": 0, "registers": 4, "dinov3": 4}[kind]
    assert np.allclose(entry.cls, tokens[:, 0], atol=1e-4)
    assert np.allclose(entry.patches.astype(np.float32), tokens[:, 1 + registers :], atol=5e-3)
    assert entry.grid.tolist() == [7, 7] and np.array_equal(entry.valid[0], valid.ravel()) and not valid.all()


def test_mixed_precision_stays_near_full_precision(tmp_path: Path, astronaut: np.ndarray):
    """bf16 keeps eight bits: cosines of tokens stay above 0.999."""
    folder = tiny_checkpoints.dinov2(tmp_path / "dino")
    frames = shifting_clip(astronaut, 2, 90, 160, 9)
    full, half = (
        Dinov2Features(options(path=str(folder), max_side=98, precision=precision)).encode(frames) for precision in ("fp32", "bf16")
    )
    a, b = full.patches.astype(np.float64), half.patches.astype(np.float64)
    cosines = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    assert cosines.min() > 0.999 and not np.array_equal(a, b)


def test_a_folder_without_a_checkpoint_is_unavailable(tmp_path: Path, astronaut: np.ndarray):
    backend = Dinov2Features(options(path=str(tmp_path)))
    with pytest.raises(BackendUnavailable, match="no checkpoint of DINOv2 that transformers can load"):
        backend.encode(astronaut[None, :56, :56])


def test_embedded_features_tell_scenes_apart(embedded_weights: None, astronaut: np.ndarray):
    pictures = [
        astronaut[100:292, 60:380],
        astronaut[104:296, 66:386],
        skimage.data.coffee()[100:292, 100:420],
        skimage.data.chelsea()[50:242, 60:380],
    ]
    found = LiteFeatures(options()).encode(np.stack(pictures))
    assert found.grid.tolist() == [9, 14] and found.valid.all() and found.patches.shape == (4, 126, 1280)
    unit = found.cls / np.linalg.norm(found.cls, axis=1, keepdims=True)
    similarity = unit @ unit.T
    assert similarity[0, 1] > 0.95 and similarity[0, 2] < 0.6 and similarity[2, 3] < 0.6


def test_a_crop_shows_the_object_alone(astronaut: np.ndarray):
    mask = np.zeros((512, 512), bool)
    mask[60:180, 180:270] = True
    mask[60:100, 180:200] = False
    canvas = cut_out(astronaut, mask, IMAGENET.mean)
    assert canvas.shape == (SIDE, SIDE, 4)
    background = canvas[canvas[..., 3] == 0][:, :3]
    fill = np.rint(np.array(IMAGENET.mean) * 255)
    assert np.median(np.abs(background - fill)) == 0
    rows, columns = np.flatnonzero(canvas[..., 3].any(1)), np.flatnonzero(canvas[..., 3].any(0))
    assert (rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1) == (224, 168)  # 120 x 90, proportions kept


def test_object_features_ignore_the_background(embedded_weights: None, astronaut: np.ndarray):
    frames = np.stack([np.roll(astronaut[:192, 64:384], 8 * k, axis=1) for k in range(6)])
    masks = np.zeros((6, 48, 80), bool)
    for k in range(4):  # in view in the first four frames only
        masks[k, 14:45, 28 + 2 * k : 52 + 2 * k] = True
    entry = {"masks": made_artifacts.masks(masks)}
    other = frames.copy()
    full = np.repeat(np.repeat(masks, 4, 1), 4, 2)
    other[~full] = np.random.default_rng(0).integers(0, 255, (int((~full).sum()), 3))
    backend = LiteObjects(options())
    first = run_job(backend.start(clip(), video_info(frames), entry), frames)
    second = run_job(backend.start(clip(), video_info(frames), entry), other)
    assert first.frame.tolist() == [0, 1, 2, 3] and first.vector.shape == (4, 1280)
    unit = [each.vector / np.linalg.norm(each.vector, axis=1, keepdims=True) for each in (first, second)]
    assert (unit[0] * unit[1]).sum(1).min() > 0.98  # only interpolation at the mask's edge differs
    assert (unit[0] @ unit[0].T).min() > 0.95


def test_person_features_keep_the_track_of_each_row(embedded_weights: None, astronaut: np.ndarray):
    frames = np.stack([astronaut[:192, 64:384]] * 3)
    masks = np.zeros((4, 48, 80), bool)
    masks[[0, 2, 3], 14:45, 28:52] = True
    masks[1, 5:20, 60:75] = True
    people = {"people": made_artifacts.people(masks, np.array([0, 1, 0, 0]), frame_index=np.array([0, 0, 1, 2]))}
    entry = run_job(LitePeople(options()).start(clip(), video_info(frames), people), frames)
    assert entry.frame.tolist() == [0, 0, 1, 2] and entry.track.tolist() == [0, 1, 0, 0]
    assert np.allclose(entry.vector[0], entry.vector[3], atol=1e-4)
    assert not np.allclose(entry.vector[0], entry.vector[1], atol=1e-1)


def test_dino_object_features_are_the_cls_tokens_of_the_crops(tmp_path: Path, astronaut: np.ndarray):
    from transformers import AutoModel

    folder = tiny_checkpoints.dinov2(tmp_path / "dino")
    masks = np.zeros((1, 48, 80), bool)
    masks[0, 14:45, 28:52] = True
    frames = astronaut[None, :192, 64:384]
    entry = run_job(
        Dinov2Objects(options(path=str(folder))).start(clip(), video_info(frames), {"masks": made_artifacts.masks(masks)}),
        frames,
    )
    canvas = cut_out(frames[0], np.repeat(np.repeat(masks[0], 4, 0), 4, 1), IMAGENET.mean)[..., :3]
    pixels = torch.from_numpy((canvas / 255 - np.array(IMAGENET.mean)) / np.array(IMAGENET.std)).permute(2, 0, 1)[None].float()
    with torch.inference_mode():
        expected = AutoModel.from_pretrained(folder).eval()(pixel_values=pixels).last_hidden_state[0, 0].numpy()
    assert np.allclose(entry.vector[0], expected, atol=1e-4)


def test_no_mask_is_a_typed_reason(embedded_weights: None, astronaut: np.ndarray):
    artifacts = {"masks": made_artifacts.masks(np.zeros((2, 48, 80), bool))}
    with pytest.raises(NotScorable) as raised:
        LiteObjects(options()).start(clip(), video_info(astronaut[None, :192, :320]), artifacts)
    assert raised.value.reason is Reason.NO_MASK


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (5, 1), (3, 2), (5, 2)])
@pytest.mark.parametrize("size", [(14, 28), (9, 15), (7, 10)])
def test_same_padding_without_a_copy_gives_the_digits_of_padding_first(kernel: int, stride: int, size: tuple[int, int]) -> None:
    torch.manual_seed(kernel)
    layer = SameConv(8, 8, kernel, stride, groups=8)
    image = torch.randn(1, 8, *size)
    missing = [max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in size]
    edges = (missing[1] // 2, missing[1] - missing[1] // 2, missing[0] // 2, missing[0] - missing[0] // 2)
    with torch.inference_mode():
        padded = torch.nn.functional.pad(image, edges)
        expected = torch.nn.functional.conv2d(padded, layer.weight, layer.bias, stride, groups=8)
        assert torch.allclose(layer(image), expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("size", [(200, 656), (480, 832), (300, 256), (256, 300), (100, 90)])
@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_scaled_frames_are_those_of_transformers(size: tuple[int, int], kind: str) -> None:
    """Its processor keeps whole numbers whole while it scales, and ours must do so, too: the released programs use it."""
    import torch
    from transformers import BitImageProcessor

    frames = np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8).astype(kind)
    mean, std = list(IMAGENET.mean), list(IMAGENET.std)
    processor = BitImageProcessor(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, image_mean=mean, image_std=std
    )
    expected = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    given = frames.copy()
    found, _ = ResizeCrop(margin="floor").shape(torch.from_numpy(frames), 14, IMAGENET)
    assert torch.allclose(found, expected, rtol=0, atol=2e-6)
    assert np.array_equal(frames, given)
