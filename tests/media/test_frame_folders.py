"""Frame folders and single images."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from lookback.errors import ContractError, MediaError, Reason
from lookback.media import open_video, probe, read_image, write_frames
from media_clips import moving_texture
from PIL import Image


def test_a_folder_reads_back_what_was_written(tmp_path: Path) -> None:
    frames = moving_texture(12, 63, 95)
    folder = write_frames(tmp_path / "frames", frames)
    assert [file.name for file in sorted(folder.iterdir())][:2] == ["000000.png", "000001.png"]
    with open_video(folder, fps=8) as reader:
        info = reader.info
        assert (info.kind, info.n_frames, info.fps, info.duration) == ("frames", 12, 8, 1.5)
        assert (info.height, info.width, info.codec) == (63, 95, "png")
        assert np.array_equal(np.stack([frame for _, frame in reader]), frames)
        assert np.array_equal(reader.read([11, 2, 2, 0]), frames[[11, 2, 2, 0]])
        assert [len(indices) for indices, _ in reader.batches(5)] == [5, 5, 2]


def test_a_folder_carries_no_rate_unless_given(tmp_path: Path) -> None:
    info = probe(write_frames(tmp_path / "frames", moving_texture(3)))
    assert info.fps is None
    assert info.duration is None


def test_natural_order_and_foreign_files(tmp_path: Path) -> None:
    for number in (10, 9, 11, 8, 12):
        cv2.imwrite(str(tmp_path / f"frame_{number}.png"), np.full((8, 8, 3), number, np.uint8))
    (tmp_path / "notes.txt").write_text("not a frame")
    (tmp_path / ".hidden.png").write_bytes(b"not a frame either")
    with open_video(tmp_path) as reader:
        assert [int(frame[0, 0, 0]) for _, frame in reader] == [8, 9, 10, 11, 12]


def numbered(folder: Path, *names: str) -> Path:
    for name in names:
        cv2.imwrite(str(folder / name), np.zeros((8, 8, 3), np.uint8))
    return folder


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["000000.png", "000002.png"], "frame 1 is missing: 000002.png follows 000000.png"),
        (["1.png", "2.png", "3.png", "5.png"], "frame 4 is missing"),
        (["clip2_f010.png", "clip2_f015.png", "clip2_f025.png", "clip2_f030.png"], "frame 20 is missing"),
        ([f"{n}.jpg" for n in range(40) if n not in (17, 18)], "frame 17 is missing"),
    ],
)
def test_a_missing_number_is_an_error_that_names_it(tmp_path: Path, names: list[str], missing: str) -> None:
    with pytest.raises(MediaError, match=missing) as error:
        probe(numbered(tmp_path, *names))
    assert error.value.reason is Reason.MISSING_INPUT


def test_two_files_of_one_number_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="same number") as error:
        probe(numbered(tmp_path, "0.png", "1.png", "1.jpg", "2.png"))
    assert error.value.reason is Reason.INVALID_INPUT


@pytest.mark.parametrize(
    "names",
    [
        ["1.png", "2.png", "3.png"],
        ["7.png"],
        ["0.png", "5.png", "10.png", "15.png"],
        ["0.png", "33.png", "67.png", "100.png"],  # milliseconds at 30 frames a second
        ["a.png", "b.png"],
        ["first_1.png", "last_9.png"],
        ["a1_x3.png", "a2_x9.png"],  # more than one number differs: names, not frame numbers
    ],
)
def test_any_first_number_and_any_constant_step_will_do(tmp_path: Path, names: list[str]) -> None:
    assert probe(numbered(tmp_path, *names)).n_frames == len(names)


def read_by_opencv(path: Path) -> np.ndarray:
    image = cv2.imread(str(path))
    assert image is not None
    return image[..., ::-1]


def test_jpeg_frames_equal_opencv(tmp_path: Path) -> None:
    for index, frame in enumerate(moving_texture(3)):
        Image.fromarray(frame).save(tmp_path / f"{index}.JPG", quality=95, subsampling=0)
    with open_video(tmp_path) as reader:
        assert reader.info.codec == "jpg"
        for index, frame in reader:
            reference = read_by_opencv(tmp_path / f"{index}.JPG")
            assert np.abs(frame.astype(int) - reference).max() <= 2


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_as_opencv_does(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    path = tmp_path / "0.jpg"
    Image.fromarray(moving_texture(1, 64, 96)[0]).save(path, exif=exif, quality=95)
    reference = read_by_opencv(path)
    info = probe(tmp_path)
    image = read_image(path)
    assert (info.height, info.width) == reference.shape[:2]
    assert image.shape == reference.shape
    assert np.abs(image.astype(int) - reference).mean() < 1


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "1", "I;16"])
def test_other_image_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    grey = cv2.cvtColor(moving_texture(1)[0], cv2.COLOR_RGB2GRAY)
    if mode == "I;16":
        Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "0.png")
    else:
        Image.fromarray(grey).convert(mode).save(tmp_path / "0.png")
    image = read_image(tmp_path / "0.png")
    assert (image.shape, image.dtype) == ((96, 128, 3), np.uint8)
    if mode in ("L", "LA", "RGBA", "I;16"):
        assert np.array_equal(image, np.repeat(grey[..., None], 3, axis=2))


def test_mixed_sizes_name_the_frame_that_differs(tmp_path: Path) -> None:
    for index, side in enumerate((64, 64, 48)):
        cv2.imwrite(str(tmp_path / f"{index}.png"), np.zeros((64, side, 3), np.uint8))
    with pytest.raises(MediaError, match=r"2\.png: is 48x64, but 0\.png is 64x64") as error:
        open_video(tmp_path)
    assert error.value.reason is Reason.SIZE_MISMATCH


def test_an_empty_folder_is_missing_input(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("no frames here")
    with pytest.raises(MediaError, match="holds no frames") as error:
        probe(tmp_path)
    assert error.value.reason is Reason.MISSING_INPUT


def test_a_still_image_is_no_clip(tmp_path: Path) -> None:
    for name in ("still.png", "still.jpg"):
        cv2.imwrite(str(tmp_path / name), np.zeros((8, 8, 3), np.uint8))
        with pytest.raises(MediaError, match="still image") as error:
            open_video(tmp_path / name)
        assert error.value.reason is Reason.INVALID_INPUT


def test_writing_over_a_folder_is_refused_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames", moving_texture(2))
    with pytest.raises(ContractError, match="not an empty folder"):
        write_frames(folder, moving_texture(2))
    with pytest.raises(MediaError, match="no frame"):
        write_frames(tmp_path / "none", [])
    with pytest.raises(MediaError, match="frame 1 is 64x96"):
        write_frames(tmp_path / "mixed", [np.zeros((96, 128, 3), np.uint8), np.zeros((96, 64, 3), np.uint8)])
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]
