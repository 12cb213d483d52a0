"""The released code of each pose model, small and with random weights, through the real runner: what goes in as a camera comes out.

The environments are made by the real installer; the sources are those of ../shared/peers/models. Skipped where one is missing.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from lookback import runners
from lookback.backends.pose.formats import read_poses
from lookback.backends.pose.runners import write_answer
from lookback.errors import LookbackError
from lookback.media import VideoInfo
from lookback.paths import project_root
from lookback.runners import environments
from own_environment import index_is_reached
from scipy.spatial.transform import Rotation

PEERS = project_root().parent / "shared" / "peers" / "models"
SCRIPTS = Path(__file__).parent / "scripts"
CHECKOUTS = {"map-anything": "map-anything", "dinov2": "dinov2", "vggt": "vggt", "vggt-omega": "vggt-omega"}
WIDTH, HEIGHT, FOCAL = 112, 56, 90.0

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory):
    """Install a model into a folder of the test; its weights are empty files, because the small network has its own."""
    folder = tmp_path_factory.mktemp("models")

    def install(name: str) -> runners.Installed:
        model = runners.model(name)
        if missing := [each for each in model.sources if not (PEERS / CHECKOUTS[each]).is_dir()]:
            pytest.skip(f"../shared/peers/models/{missing[0]} is not here")
        weights = folder / f"weights of {name}"
        weights.mkdir()
        for file in model.weights.files:
            (weights / file).write_text("{}")
        sources = {each: linked(PEERS / CHECKOUTS[each], folder / "checkouts" / name / each) for each in model.sources}
        try:
            return environments.install(model, print, sources=sources, weights=weights)
        except LookbackError as error:
            if not index_is_reached(folder / name / "environment" / "bin" / "python"):
                pytest.skip(f"the package index cannot be reached: {error}")
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(environments.VARIABLE, str(folder))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # the runner reads what the trial of the imports compiled
        yield install


def linked(checkout: Path, folder: Path) -> Path:
    """The checkout as a folder of links, so that nothing is written beside the released code."""
    for file in checkout.rglob("*"):
        if file.is_file():
            place = folder / file.relative_to(checkout)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file)
    return folder


def share_compiled(python: Path) -> None:
    """Link the compiled code of the packages here to those of a fresh environment.

    Compiling a whole torch takes longer than everything else in these tests. Python takes compiled code only if its source has the
    same time and size; it compiles a package of another version itself.
    """
    here = Path(sysconfig.get_path("purelib"))
    there = next(python.parent.parent.glob("lib/python*/site-packages"))
    for package in there.iterdir():
        for folder in (here / package.name).rglob("__pycache__"):
            target = there / folder.relative_to(here)
            if target.parent.is_dir():
                shutil.copytree(folder, target, copy_function=link_or_copy, dirs_exist_ok=True)


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)


def path_of_a_turning_camera(count: int) -> np.ndarray:
    """(count,4,4) camera-to-world: turning right and up while moving, with the identity first."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    for step in range(count):
        poses[step, :3, :3] = Rotation.from_euler("yx", [12.0 * step, 4.0 * step], degrees=True).as_matrix()
        poses[step, :3, 3] = [0.3 * step, -0.1 * step, 0.2 * step]
    return poses


@pytest.mark.parametrize("name", ["vggt", "vggt-omega", "mapanything", "da3"])
def test_a_known_camera_goes_through_the_released_code(installed, name: str, tmp_path: Path):
    found = installed(name)
    share_compiled(Path(found.python))
    model = runners.model(name)
    assert environments.try_imports(model, found) == ""
    launch = environments.launch(
        model, "cpu", {"script": str(model.script_path), "configs": str(PEERS / "map-anything" / "configs")}
    )
    small = runners.Launch(**{**launch.__dict__, "script": SCRIPTS / f"small_{model.script}"})
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 255, (3, HEIGHT, WIDTH, 3), dtype=np.uint8)
    info = VideoInfo(
        path=Path("clip.mp4"),
        kind="video",
        n_frames=3,
        fps=8.0,
        width=WIDTH,
        height=HEIGHT,
        duration=3 / 8,
        rotation=0,
        codec="h264",
        pix_fmt="yuv420p",
        variable_frame_rate=False,
    )
    true = path_of_a_turning_camera(3)
    with runners.Runner(small) as runner:  # a whole torch lies in each environment: it goes before the next one comes
        random = answered(runner, frames)
        told = answered(runner, frames, c2w=true.tolist(), focal=FOCAL)
    environments.remove(model)
    poses = next(random[name] for name in ("extrinsic", "extrinsics", "cam_c2w") if name in random)
    assert np.isfinite(poses).all() and poses.shape in ((3, 3, 4), (3, 4, 4))
    assert np.abs(np.linalg.det(poses[:, :3, :3]) - 1).max() < 1e-3
    told = read_poses(write_answer(tmp_path, model.format, told), model.format, info)
    np.testing.assert_allclose(told.c2w, true, atol=2e-5)
    np.testing.assert_allclose(told.intrinsics[:, 0, 0], FOCAL, rtol=0.02)
    np.testing.assert_allclose(told.intrinsics[:, :2, 2], np.tile([WIDTH / 2, HEIGHT / 2], (3, 1)), rtol=1e-3)


def answered(runner: runners.Runner, frames: np.ndarray, **facts: object) -> dict[str, np.ndarray]:
    runner.begin(**facts)
    runner.push(frames)
    return runner.answer().arrays
