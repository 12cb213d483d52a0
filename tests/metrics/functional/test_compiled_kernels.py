"""The compiled loops: shrinking against OpenCV's INTER_AREA to the bit, SSIM against scikit-image; and the same without numba."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import cv2
import lookback
import lookback.measures.images as images
import numpy as np
import pytest
from lookback.benchmarks.memobench.metrics import fidelity
from lookback.measures import shrinking
from lookback.measures.compiled import covered, grey_ssim, shrink_area
from lookback.measures.images import MARGIN
from lookback.measures.shrinking import resize_area, shared_area
from lookback.media import SharedFrame
from skimage.metrics import structural_similarity

GAUSSIAN = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
# (height, width) of the source and of the target
SHRUNK = [
    ((480, 832), (369, 640)),
    ((464, 832), (357, 640)),
    ((576, 1024), (360, 640)),
    ((1080, 1920), (360, 640)),
    ((135, 240), (24, 42)),
    ((96, 100), (96, 50)),
    ((479, 853), (359, 640)),
    ((9, 7), (7, 5)),
    ((5, 3), (1, 1)),
    ((13, 1), (4, 1)),
]
GREY = [(11, 11), (12, 40), (32, 17), (48, 64), (49, 17), (97, 101), (192, 336), (369, 640), (33, 641), (20, 1300)]


@pytest.fixture
def pictures() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "numba", None)
    shrinking.kernels.cache_clear()
    yield
    shrinking.kernels.cache_clear()


def assert_as_opencv(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype == np.uint8
    assert np.array_equal(found, expected)


def by_opencv(frame: np.ndarray, width: int, height: int) -> np.ndarray:
    return np.asarray(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)).reshape(height, width, 3)


class TestShrinking:
    @pytest.mark.parametrize(("source", "target"), SHRUNK)
    @pytest.mark.parametrize("smooth", [False, True])
    def test_it_is_opencv_to_the_bit(
        self, source: tuple[int, int], target: tuple[int, int], smooth: bool, pictures: np.random.Generator
    ) -> None:
        frame = pictures.integers(0, 256, (*source, 3), dtype=np.uint8)
        frame = cv2.GaussianBlur(frame, (0, 0), 2).reshape(frame.shape) if smooth else frame
        size = target[1], target[0]
        assert_as_opencv(shrink_area(frame, (size,))[size], by_opencv(frame, *size))

    def test_random_sizes_are_opencv_to_the_bit(self, pictures: np.random.Generator) -> None:
        """Through `resize_area`, which leaves to OpenCV what it rounds differently: whole factors, and sides that grow."""
        for _ in range(60):
            height, width = pictures.integers(1, 60, 2)
            new_height, new_width = int(pictures.integers(1, height + 2)), int(pictures.integers(1, width + 2))
            frame = pictures.integers(0, 256, (height, width, 3), dtype=np.uint8)
            assert_as_opencv(resize_area(frame, new_width, new_height), by_opencv(frame, new_width, new_height))

    @pytest.mark.parametrize(("source", "target"), [((60, 80), (30, 40)), ((60, 80), (20, 40)), ((60, 80), (15, 20))])
    def test_whole_factors_are_opencv_to_the_bit(
        self, source: tuple[int, int], target: tuple[int, int], pictures: np.random.Generator
    ) -> None:
        frame = pictures.integers(0, 256, (*source, 3), dtype=np.uint8)
        assert_as_opencv(resize_area(frame, target[1], target[0]), by_opencv(frame, target[1], target[0]))

    @pytest.mark.parametrize(("source", "target"), [(832, 640), (1080, 369), (1920, 592), (7, 7), (9, 1)])
    def test_the_weights_are_the_covered_shares(self, source: int, target: int) -> None:
        scale = Fraction(source, target)
        for place, shares in enumerate(covered(source, target)):
            left = place * scale
            for pixel, weight in shares:
                share = max(Fraction(0), min(left + scale, pixel + 1) - max(left, pixel)) / scale
                assert weight == pytest.approx(float(share), abs=1e-9)
            assert sum(weight for _, weight in shares) == pytest.approx(1.0, abs=1e-3)

    def test_the_sizes_of_one_pass_are_those_of_single_passes(self, pictures: np.random.Generator) -> None:
        frame = pictures.integers(0, 256, (109, 192, 3), dtype=np.uint8)
        sizes = (64, 37), (64, 36), (50, 109), (64, 109), (7, 5), (192, 36), (191, 1)
        found = shrink_area(frame, sizes)
        assert set(found) == set(sizes)
        for size, picture in found.items():
            assert_as_opencv(picture, by_opencv(frame, *size))

    def test_a_shared_frame_makes_the_sizes_that_the_frame_before_was_asked_for(
        self, pictures: np.random.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, plain = [], shrinking.resize_areas
        monkeypatch.setattr(shrinking, "resize_areas", lambda whole, sizes: asked.append(sorted(sizes)) or plain(whole, sizes))
        frames = [pictures.integers(0, 256, (120, 240, 3), dtype=np.uint8) for _ in range(3)]
        shared = [frame.view(SharedFrame) for frame in frames]
        shared[1].habits = shared[2].habits = shared[0].habits
        shared[0].habits.prepare(shared[2])
        assert not asked  # nobody asked for anything yet
        for frame, truth in zip(frames[:2], shared, strict=False):
            for width, height in ((80, 41), (80, 45), (60, 30)):
                assert_as_opencv(shared_area(truth, width, height), by_opencv(frame, width, height))
        assert asked == [[(80, 41)], [(80, 45)], [(60, 30)], [(60, 30), (80, 41), (80, 45)]]
        shared[0].habits.prepare(shared[2])
        assert asked[4:] == [[(60, 30), (80, 41), (80, 45)]]
        assert_as_opencv(shared_area(shared[2], 60, 30), by_opencv(frames[2], 60, 30))
        assert len(asked) == 5

    @pytest.mark.parametrize(("size", "kind"), [((60, 40), "uint8"), ((20, 40), "uint8"), ((15, 9), "float32")])
    def test_enlarging_and_floats_are_left_to_opencv(
        self, size: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        frame = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(kind)
        monkeypatch.setattr("lookback.measures.compiled.shrink_area", None)
        assert np.array_equal(resize_area(frame, *size), cv2.resize(frame, size, interpolation=cv2.INTER_AREA))

    def test_a_frame_of_that_size_is_not_touched(self) -> None:
        frame = np.zeros((12, 16, 3), np.uint8)
        assert resize_area(frame, 16, 12) is frame

    def test_rows_that_lie_apart_in_memory(self, pictures: np.random.Generator) -> None:
        frame = pictures.integers(0, 256, (40, 120, 3), dtype=np.uint8)[:, 7:100]
        assert_as_opencv(resize_area(frame, 60, 31), by_opencv(frame, 60, 31))


def made_pair(height: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    smooth = cv2.GaussianBlur(rng.random((height, width)), (0, 0), 3)
    first = cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX)
    return tuple(np.clip(first + rng.normal(0, noise, first.shape), 0, 255).astype(np.uint8) for noise in (2, 12))


class TestSsim:
    @pytest.mark.parametrize(("height", "width"), GREY)
    def test_strips_give_the_means_of_the_whole_map(self, height: int, width: int) -> None:
        """The map in double precision, borders reflected, and without the 5 pixels at each border."""
        a, b = (picture.astype(np.float64) for picture in made_pair(height, width))
        blur = lambda image: cv2.GaussianBlur(image, (11, 11), 1.5, borderType=cv2.BORDER_REFLECT_101)  # noqa: E731
        mean_a, mean_b = blur(a), blur(b)
        upper = (2 * mean_a * mean_b + 6.5025) * (2 * (blur(a * b) - mean_a * mean_b) + 58.5225)
        lower = (mean_a**2 + mean_b**2 + 6.5025) * (blur(a * a) - mean_a**2 + blur(b * b) - mean_b**2 + 58.5225)
        expected = upper / lower
        means = expected.mean(), expected[MARGIN:-MARGIN, MARGIN:-MARGIN].mean()
        rounding = 2e-7 if height * width > 200 else 5e-7  # of float32; one pixel's own is not averaged away
        assert grey_ssim(*made_pair(height, width)) == pytest.approx(means, abs=rounding)
        by_filters = images.ssim_map(*made_pair(height, width), 255.0)  # what does it without numba
        assert [images.mean_inside(by_filters, margin) for margin in (0, MARGIN)] == pytest.approx(means, abs=rounding)

    @pytest.mark.parametrize(("height", "width"), GREY[3:])
    def test_it_is_the_ssim_of_scikit_image(self, height: int, width: int) -> None:
        a, b = made_pair(height, width, seed=1)
        expected = structural_similarity(a.astype(float), b.astype(float), data_range=255.0, **GAUSSIAN)
        assert grey_ssim(a, b)[1] == pytest.approx(expected, abs=2e-7)

    @pytest.mark.parametrize("level", [0, 128, 255])
    def test_bright_flat_pictures_keep_their_precision(self, level: int) -> None:
        rng = np.random.default_rng(level)
        a, b = (np.clip(level + rng.integers(-2, 3, (96, 160)), 0, 255).astype(np.uint8) for _ in range(2))
        expected = structural_similarity(a.astype(float), b.astype(float), data_range=255.0, **GAUSSIAN)
        assert grey_ssim(a, b)[1] == pytest.approx(expected, abs=1e-5)
        assert grey_ssim(a, a)[0] == pytest.approx(1.0, abs=1e-7)

    def test_threads_do_not_change_a_digit(self) -> None:
        pairs = [made_pair(40 + 8 * (seed % 3), 30 + 16 * (seed % 11), seed) for seed in range(40)]
        alone = [grey_ssim(a, b) for a, b in pairs]
        with ThreadPoolExecutor(3) as threads:
            assert list(threads.map(lambda pair: grey_ssim(*pair), pairs)) == alone


class TestNumba:
    @pytest.mark.parametrize(("source", "target"), [((480, 832), (369, 640)), ((360, 480), (201, 333))])
    def test_without_it_the_scores_are_the_same(
        self, source: tuple[int, int], target: tuple[int, int], pictures: np.random.Generator, request: pytest.FixtureRequest
    ) -> None:
        noise = pictures.integers(0, 256, (2, *source, 3), dtype=np.uint8)
        a, b = (cv2.GaussianBlur(picture, (0, 0), 2) for picture in noise)
        small = [resize_area(picture, target[1], target[0]) for picture in (a, b)]
        quick = fidelity.pixel_measures(*small)
        request.getfixturevalue("without_numba")
        assert shrinking.kernels() is None
        slow = [resize_area(picture, target[1], target[0]) for picture in (a, b)]
        for one, other in zip(small, slow, strict=True):
            assert_as_opencv(one, other)
        assert_as_opencv(small[0], shared_area(a.view(SharedFrame), target[1], target[0]))
        assert fidelity.pixel_measures(*slow) == pytest.approx(quick, rel=1e-6)

    def test_it_is_not_imported_with_the_library(self) -> None:
        code = "import sys, lookback.cli, lookback.benchmarks.memobench.metrics.fidelity; print('numba' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"

    def test_the_interpreter_is_free_while_a_kernel_runs(self) -> None:
        """Another thread counts during a long call; under the interpreter lock it could not. A busy machine gets five calls."""
        a, b = made_pair(3000, 3000)
        grey_ssim(a[:20, :20].copy(), b[:20, :20].copy())
        seen: list[float] = []
        stop = threading.Event()

        def count() -> None:
            while not stop.is_set():
                seen.append(time.perf_counter())
                time.sleep(0.001)

        def seen_during_a_call() -> int:
            started = time.perf_counter()
            grey_ssim(a, b)
            ended = time.perf_counter()
            return sum(started < moment < ended for moment in seen)

        other = threading.Thread(target=count)
        other.start()
        try:
            assert any(seen_during_a_call() >= 3 for _ in range(5))
        finally:
            stop.set()
            other.join()

    @pytest.mark.long
    def test_where_the_package_cannot_be_written_the_compiled_code_is_kept_with_the_user(self, tmp_path: Path) -> None:
        """A file stands where Python would keep compiled code next to the module."""
        package = tmp_path / "lookback"
        shutil.copytree(Path(images.__file__).parent, package / "measures", ignore=shutil.ignore_patterns("__pycache__"))
        (package / "measures" / "__pycache__").touch()
        for part in Path(lookback.__file__).parent.iterdir():
            if part.name not in ("measures", "__pycache__"):
                (package / part.name).symlink_to(part)
        code = "import numpy as np, lookback.measures.compiled as fast; print(fast.grey_ssim(*np.zeros((2, 16, 16), 'u1'))[0])"
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "user"), "HOME": str(tmp_path / "user")}
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.strip() == "1.0" and list((tmp_path / "user").rglob("*.nbc"))
