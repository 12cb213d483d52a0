"""The backend `files`: arrays made elsewhere become the same artifacts as our own, and broken files are refused in a sentence."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from clips_in_memory import clip, options, run_job, video_info
from lookback.artifacts import FaceTracks, Masks, People
from lookback.artifacts.masks import IN_VIEW, OUT, RETURNED
from lookback.backends.choose import choose_backend
from lookback.backends.files import ROLES, given_file, read_given
from lookback.errors import BackendUnavailable, ContractError, NotScorable, Reason
from lookback.extraction.identity import input_hash
from lookback.extraction.run import backend_for
from lookback.params import RunParams
from lookback.registry import BACKENDS, METRICS
from PIL import Image

N, HEIGHT, WIDTH = 6, 360, 640
INFO = video_info(np.zeros((N, HEIGHT, WIDTH, 3), np.uint8))


def masks() -> np.ndarray:
    """A box of 80x40 pixels that is away in frames 2 and 3."""
    made = np.zeros((N, HEIGHT, WIDTH), bool)
    made[[0, 1, 4, 5], 100:140, 200:280] = True
    return made


def save(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def made(role: str, path: Path):
    """The artifact, through the backend that the run would build."""
    spec = BACKENDS.get(f"{role}=files")
    job = spec.build(options()).start(clip(files={role: str(path)}), INFO, {})
    return run_job(job, np.zeros((N, HEIGHT, WIDTH, 3), np.uint8))


@pytest.mark.parametrize("scale", [1, 2, 255])
@pytest.mark.parametrize("shrink", [1, 4])
def test_masks_give_boxes_areas_and_the_timeline(tmp_path: Path, scale: int, shrink: int):
    given = (masks()[:, ::shrink, ::shrink] * scale).astype(np.uint8)
    found = made("masks", save(tmp_path / "m.npz", masks=given))
    assert isinstance(found, Masks)
    assert found.state.tolist() == [IN_VIEW, IN_VIEW, OUT, OUT, RETURNED, RETURNED]
    np.testing.assert_allclose(found.boxes[0], [200, 100, 280, 140], atol=2.6)  # a stored pixel is 2.5 of the video
    assert found.area[0] == pytest.approx(80 * 40 / (HEIGHT * WIDTH), rel=0.06)
    assert found.confidence.tolist() == [1] * N and found.facts["source"] == "m.npz"


def test_masks_of_some_frames_and_folders_of_pictures_are_read(tmp_path: Path):
    some = made(
        "masks", save(tmp_path / "m.npz", masks=masks()[::2], frame_index=np.arange(0, N, 2), confidence=np.array([1, 0, 0.5]))
    )
    assert some.frame_index.tolist() == [0, 2, 4] and some.confidence.tolist() == [1, 0, 0.5]
    np.save(tmp_path / "plain.npy", masks())
    for mode in ("L", "P", "I;16", "RGB", "RGBA"):
        folder = tmp_path / mode.replace(";", "")
        folder.mkdir()
        for frame, mask in enumerate(masks()):
            values = mask.astype(np.uint16 if mode == "I;16" else np.uint8)
            picture = Image.fromarray(values) if mode in ("L", "I;16") else Image.fromarray(values * 255).convert(mode)
            picture.save(folder / f"{frame:05d}.png")
        np.testing.assert_array_equal(made("masks", folder).packed, made("masks", tmp_path / "plain.npy").packed)
    (tmp_path / "unpadded").mkdir()
    for frame in range(12):
        Image.fromarray(np.eye(12, dtype=np.uint8)[frame : frame + 1].repeat(6, 0) * 255).save(
            tmp_path / "unpadded" / f"{frame}.png"
        )
    twelve = read_given("masks", tmp_path / "unpadded", video_info(np.zeros((12, 6, 12, 3), np.uint8)))
    assert twelve.boxes[:, 0].tolist() == pytest.approx(
        twelve.boxes[0, 0] + np.arange(12) * (twelve.boxes[1, 0] - twelve.boxes[0, 0])
    )
    (tmp_path / "L" / "00003.png").unlink()
    assert made("masks", tmp_path / "L").frame_index.tolist() == [0, 1, 2, 4, 5]


def test_a_subject_smaller_than_a_stored_pixel_is_still_in_view(tmp_path: Path):
    tiny = np.zeros((N, HEIGHT, WIDTH), bool)
    tiny[:, 50, 60] = True
    assert made("masks", save(tmp_path / "m.npz", masks=tiny)).state.tolist() == [IN_VIEW] * N


def test_people_and_faces_keep_their_rows(tmp_path: Path):
    people = made("people", save(tmp_path / "p.npz", masks=masks()[:2], frame_index=np.array([3, 3]), track=np.array([7, 9])))
    assert isinstance(people, People) and people.track.tolist() == [7, 9] and people.frame_index.tolist() == [3, 3]
    rng = np.random.default_rng(1)
    arrays = {
        "frame": np.array([0, 0, 4]), "box": rng.uniform(0, 300, (3, 4)), "landmarks": rng.uniform(0, 300, (3, 5, 2)),
        "score": np.ones(3), "embedding": rng.normal(size=(3, 16)), "track": np.array([0, 1, 0]),
    }  # fmt: skip
    faces = made("faces", save(tmp_path / "f.npz", **arrays, sampled_frames=np.arange(N)))
    assert isinstance(faces, FaceTracks) and faces.sampled_frames == tuple(range(N))
    np.testing.assert_allclose(faces.embedding, arrays["embedding"], rtol=1e-6)


def test_empty_masks_are_a_reason_and_no_mistake(tmp_path: Path):
    with pytest.raises(NotScorable) as caught:
        made("masks", save(tmp_path / "m.npz", masks=np.zeros((N, HEIGHT, WIDTH), bool)))
    assert caught.value.reason == Reason.NO_MASK


FACES = {"frame": np.zeros(1, int), "box": np.zeros((1, 4)), "landmarks": np.zeros((1, 5, 2)), "score": np.ones(1),
         "embedding": np.ones((1, 4)), "track": np.zeros(1, int)}  # fmt: skip
WRONG = {
    "too few": ("masks", {"masks": masks()[:4]}, "has 4 masks for 6 frames; add 'frame_index'"),
    "cropped": ("masks", {"masks": masks()[:, :, :360]}, "masks of 360x360 do not have the shape of the video's picture (640x360)"),
    "probabilities": ("masks", {"masks": masks() * 0.5}, "hold float64; store (N,H,W) of whole numbers or booleans"),
    "no masks": ("masks", {"mask": masks()}, "has an array 'mask' that is not known here; known: masks"),
    "another video": ("masks", {"masks": masks()[:2], "frame_index": np.array([5, 9])}, "from 5 to 9, but the video has 6 frames"),
    "twice": ("masks", {"masks": masks()[:2], "frame_index": np.array([3, 3])}, "'frame_index' does not rise; sort the rows"),
    "not whole": ("masks", {"masks": masks()[:2], "frame_index": np.array([0.0, 1.0])}, "holds float64; store 2 whole numbers"),
    "empty": ("masks", {"masks": masks()[:0]}, "masks have the shape (0, 360, 640)"),
    "no track": ("people", {"masks": masks(), "frame_index": np.arange(N)}, "has no array 'track' (it has frame_index, masks)"),
    "no embedding": ("faces", {k: v for k, v in FACES.items() if k != "embedding"}, "has no array 'embedding'"),
    "box": ("faces", {**FACES, "box": np.zeros((1, 3))}, "the array 'box' has the shape (1, 3), not 'K 4' with K = 1; write it as"),
    "frame": (
        "faces",
        {**FACES, "frame": np.array([6])},
        "'frame' goes from 6 to 6, but the video has 6 frames; count frames from 0",
    ),
    "nan": ("faces", {**FACES, "embedding": np.full((1, 4), np.nan)}, "the array 'embedding' holds a value that is not finite"),
    "text": ("faces", {**FACES, "score": np.array(["high"])}, "the array 'score' holds <U4, not float32"),
}


@pytest.mark.parametrize(("role", "arrays", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path: Path, role: str, arrays: dict, says: str):
    path = save(tmp_path / "x.npz", **arrays)
    with pytest.raises(ContractError, match=re.escape(says)) as caught:
        read_given(role, path, INFO)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
    with pytest.raises(NotScorable) as reason:
        made(role, path)
    assert reason.value.reason == Reason.INVALID_INPUT


class Canary:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_pickles_and_bombs_are_refused(tmp_path: Path):
    np.savez(tmp_path / "code.npz", masks=np.array([Canary(tmp_path / "ran")], dtype=object))
    np.savez_compressed(tmp_path / "bomb.npz", masks=np.zeros((100, 1000, 1000), np.uint8))
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 20
    for role in ROLES:
        with pytest.raises(ContractError, match="pickled objects"):
            read_given(role, tmp_path / "code.npz", INFO)
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ContractError, match="unpacks to 95 MB"):
        read_given("masks", tmp_path / "bomb.npz", video_info(np.zeros((N, 90, 160, 3), np.uint8)))


def test_the_files_content_is_in_the_key_of_its_own_role_only(tmp_path: Path):
    path = save(tmp_path / "m.npz", masks=masks())
    given = clip(files={"masks": str(path)})
    before = {role: input_hash(given, {}, role) for role in ("masks", "pose")}
    assert before["masks"] != input_hash(clip(), {}, "masks") and before["pose"] == input_hash(clip(), {}, "pose")
    save(path, masks=~masks())
    assert input_hash(given, {}, "masks") != before["masks"] and input_hash(given, {}, "pose") == before["pose"]


@pytest.mark.parametrize("prefer", ["embedded", "paper"])
def test_a_file_is_preferred_for_its_clip_and_never_chosen_for_others(tmp_path: Path, prefer: str):
    params = RunParams(run="test", extraction={"prefer": prefer})
    given = clip(files={role: str(tmp_path / role) for role in ROLES}, poses=str(tmp_path / "p.npz"), poses_format="vggt")
    for role in (*ROLES, "pose"):
        assert backend_for(role, given, params).name == "files"
        assert given_file(role, clip()) is None
    for role in (*ROLES, "pose"):
        if role == "depth":  # its backend `files` says that there is no depth
            continue
        for choose in (lambda: backend_for(role, clip(), params), lambda: choose_backend(role, params)):  # noqa: B023
            try:
                assert choose().name != "files"
            except BackendUnavailable as error:
                assert "files" not in str(error)
    named = RunParams(run="test", extraction={"backends": {"masks": "classical"}})
    assert backend_for("masks", given, named).name == "classical"
    assert backend_for("depth", clip(poses=str(tmp_path / "p.npz"), poses_format="vggt"), params) == choose_backend("depth", params)


def test_every_role_that_a_metric_reads_as_an_artifact_can_be_given():
    tools = {role for spec in METRICS for role in spec.tools}
    called = {"features", "flow", "image_reward", "perceptual", "quality"}  # on the frames of a metric's own preset
    read = {role for spec in METRICS for role in spec.roles} - {"gt_pose"} - called - tools
    assert read <= {*ROLES, "pose"}
