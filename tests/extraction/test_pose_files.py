"""Every pose format gives the same path; what is broken is refused in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from evo.tools import file_interface
from lookback.backends.pose import read_poses
from lookback.backends.pose.runners import write_answer
from lookback.camera import from_yaw_pitch_roll, inverse
from lookback.errors import ContractError
from lookback.media import VideoInfo
from lookback.parity import run_released
from scipy.spatial.transform import Rotation

N = 9
WIDTH, HEIGHT = 640, 384
K = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 192.0], [0.0, 0.0, 1.0]])


def video(n_frames: int = N) -> VideoInfo:
    return VideoInfo(Path("clip.mp4"), "video", n_frames, 24.0, WIDTH, HEIGHT, n_frames / 24, 0, "h264", "yuv420p", False)


@pytest.fixture
def path() -> np.ndarray:
    angle = np.linspace(0, 40, N)
    return from_yaw_pitch_roll(angle, angle / 4, -angle / 8, np.stack([angle / 20, -angle / 50, angle / 10], axis=1))


def write_da3(file: Path, c2w: np.ndarray) -> None:
    """As Depth-Anything-3 exports: at half the video's size here."""
    half = K.copy()
    half[:2] /= 2
    depth = np.ones((len(c2w), HEIGHT // 2, WIDTH // 2), np.float16)
    np.savez(file, depth=depth, extrinsics=inverse(c2w)[:, :3].astype(np.float32), intrinsics=np.repeat(half[None], len(c2w), 0))


def write_mapanything(file: Path, c2w: np.ndarray) -> None:
    np.savez(file, cam_c2w=c2w.astype(np.float32), intrinsic=K, depth=np.ones((len(c2w), HEIGHT, WIDTH, 1), np.float16))


def write_vggt(file: Path, c2w: np.ndarray) -> None:
    quarter = K.copy()
    quarter[:2] /= 4
    np.savez(file, extrinsic=inverse(c2w)[None, :, :3], intrinsic=np.repeat(quarter[None, None], len(c2w), 1))


def write_vipe(file: Path, c2w: np.ndarray) -> None:
    file.parent.mkdir()
    np.savez(file, data=c2w, inds=np.arange(len(c2w)))
    beside = file.parent.parent / "intrinsics"
    beside.mkdir()
    np.savez(beside / file.name, data=np.tile([500.0, 500.0, 320.0, 192.0], (len(c2w), 1)), inds=np.arange(len(c2w)))


def write_colmap(file: Path, c2w: np.ndarray) -> None:
    """By COLMAP's documentation: q and t take world to camera, the camera's centre is -R^T t; a line of points after each image."""
    lines = ["# Image list with two lines of data per image:"]
    for number, pose in enumerate(inverse(c2w)):
        x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
        values = " ".join(f"{value:.12g}" for value in (w, x, y, z, *pose[:3, 3]))
        lines += [f"{number + 1} {values} 1 frame_{number}.png", "10.5 20.5 -1 30.0 40.0 7 50 60 -1 70 80 9"]
    file.write_text("\n".join(lines) + "\n")
    file.with_name("cameras.txt").write_text(f"1 PINHOLE {WIDTH // 2} {HEIGHT // 2} 250 250 160 96\n")


def write_c2w(file: Path, c2w: np.ndarray) -> None:
    np.save(file, c2w)
    np.save(file.with_name("intrinsics.npy"), np.tile([500.0, 500.0, 320.0, 192.0], (len(c2w), 1)))


def write_tum(file: Path, c2w: np.ndarray) -> None:
    quaternion = Rotation.from_matrix(c2w[:, :3, :3]).as_quat()
    rows = np.concatenate([np.arange(len(c2w))[:, None] / 24, c2w[:, :3, 3], quaternion], axis=1)
    np.savetxt(file, rows, header="timestamp tx ty tz qx qy qz qw")


def write_kitti(file: Path, c2w: np.ndarray) -> None:
    np.savetxt(file, c2w[:, :3].reshape(len(c2w), 12))


def write_ue5(file: Path, c2w: np.ndarray) -> None:
    """The inverse of the released reading: the camera's axes flipped back, left-handed angles about z, y and x."""
    engine = c2w @ np.diag([1.0, -1.0, -1.0, 1.0])
    angles = -Rotation.from_matrix(engine[:, :3, :3]).as_euler("ZYX")[:, ::-1]
    rows = np.concatenate([engine[:, :3, 3], angles, np.tile([250.0, 250.0, 160.0, 96.0], (len(c2w), 1))], axis=1)
    header = "loc_x,loc_y,loc_z,rot_x,rot_y,rot_z,fx,fy,cx,cy"
    np.savetxt(file, rows, delimiter=",", header=header, comments="")


def write_vggt_omega(file: Path, c2w: np.ndarray) -> None:
    quarter = K.copy()
    quarter[:2] /= 4
    np.save(file, c2w.astype(np.float32))
    np.save(file.with_name("intrinsics.npy"), np.repeat(quarter[None], len(c2w), 0).astype(np.float32))


WRITERS: dict[str, tuple[str, Callable[[Path, np.ndarray], None]]] = {
    "da3": ("results.npz", write_da3),
    "mapanything": ("001_mapanything.npz", write_mapanything),
    "vggt": ("vggt.npz", write_vggt),
    "vipe": ("pose/clip.npz", write_vipe),
    "colmap": ("images.txt", write_colmap),
    "c2w": ("poses.npy", write_c2w),
    "tum": ("poses.tum", write_tum),
    "kitti": ("poses.txt", write_kitti),
    "ue5": ("camera_full7.csv", write_ue5),
    "vggt_omega": ("poses.npy", write_vggt_omega),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_gives_back_the_path_that_was_written(name: str, path: np.ndarray, tmp_path: Path) -> None:
    file, write = WRITERS[name]
    write(tmp_path / file, path)
    track = read_poses(tmp_path / file, name, video())
    assert np.allclose(track.c2w, path, atol=2e-6)
    assert track.frame_index.tolist() == list(range(N)) and track.has_translation.all()
    if name not in ("tum", "kitti"):
        assert np.allclose(track.intrinsics, K, atol=1e-3) and track.focal_source == "file"
    else:
        assert "assumed" in track.focal_source


# (video, network's picture, the whole video as the loader resizes it), of the released loaders
CROPS = [
    ("vggt", (720, 1280), (518, 518), (518, 924), {}),
    ("vggt", (1280, 720), (518, 294), (518, 294), {}),
    ("vggt", (1280, 720), (518, 518), (518, 294), {"padded": True}),
    ("vggt", (720, 1280), (518, 518), (294, 518), {"padded": True}),
    ("vggt_omega", (1920, 800), (720, 368), (864, 368), {}),
    ("vggt_omega", (400, 1000), (368, 720), (368, 900), {}),
    ("mapanything", (1920, 800), (518, 252), (604, 252), {}),
    ("mapanything", (480, 832), (294, 518), (298, 518), {}),
]


@pytest.mark.parametrize(("name", "shape", "seen", "whole", "more"), CROPS)
def test_the_crop_of_the_loader_is_undone(
    name: str, shape: tuple[int, int], seen: tuple[int, int], whole: tuple[int, int], more: dict, path: np.ndarray, tmp_path: Path
) -> None:
    (width, height), focal = shape, 900.0
    lens = np.array([[focal * whole[0] / width, 0, seen[0] / 2], [0, focal * whole[1] / height, seen[1] / 2], [0, 0, 1]])
    poses = {"cam_c2w": path} if name == "mapanything" else {"extrinsic": inverse(path)[:, :3], **more}
    file = write_answer(tmp_path, name, {**poses, "intrinsic": np.tile(lens, (N, 1, 1))})
    found = read_poses(file, name, VideoInfo(Path("clip.mp4"), "video", N, 24.0, width, height, 1.0, 0, "h264", "yuv420p", False))
    assert np.allclose(found.intrinsics, [[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]], atol=1e-3)


@pytest.mark.parametrize(
    ("name", "read"), [("tum", file_interface.read_tum_trajectory_file), ("kitti", file_interface.read_kitti_poses_file)]
)
def test_text_formats_are_read_as_evo_reads_them(name: str, read: Callable, path: np.ndarray, tmp_path: Path) -> None:
    file, write = WRITERS[name]
    write(tmp_path / file, path)
    assert np.allclose(read_poses(tmp_path / file, name, video()).c2w, np.array(read(str(tmp_path / file)).poses_se3), atol=1e-9)


def test_fewer_poses_than_frames_are_those_of_every_kth_frame_and_the_record_says_so(path: np.ndarray, tmp_path: Path) -> None:
    write_da3(tmp_path / "results.npz", path)
    track = read_poses(tmp_path / "results.npz", "da3", video(81))
    assert track.frame_index.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80]
    assert "9 poses for 81 frames: read as frames 0, 10, 20 ... 80" in track.notes


@pytest.mark.parametrize("frames", [2, 3, 33, 34, 81, 97])
def test_rows_are_those_of_every_kth_frame_or_refused(frames: int, tmp_path: Path) -> None:
    """The count of `frames[::k]` for some whole k; row i is frame k i. Where several k give the count, it is the largest."""
    steps = {len(range(0, frames, step)): step for step in range(1, frames)}
    for rows in range(1, frames):
        np.save(tmp_path / "poses.npy", np.tile(np.eye(4), (rows, 1, 1)))
        if rows in steps and rows > 1:
            track = read_poses(tmp_path / "poses.npy", "c2w", video(frames))
            assert track.frame_index.tolist() == list(range(0, frames, steps[rows]))
            assert track.notes[0].startswith(f"{rows} poses for {frames} frames: read as frames 0")
        else:
            with pytest.raises(ContractError, match=f"has {rows} poses for {frames} frames, which are not those of every k-th"):
                read_poses(tmp_path / "poses.npy", "c2w", video(frames))


def test_a_file_that_was_cut_short_is_refused_unless_it_says_its_frames(path: np.ndarray, tmp_path: Path) -> None:
    """20 of 34 rows were stretched over the whole clip: a score went from 0.88 to 6e-46 without a word."""
    file = tmp_path / "results.npz"
    write_da3(file, path[:7])
    with pytest.raises(ContractError, match="has 7 poses for 9 frames"):
        read_poses(file, "da3", video())
    with np.load(file) as cut:
        arrays = dict(cut)
    np.savez(file, **arrays, frame_index=np.array([0, 1, 2, 4, 5, 6, 8]))
    track = read_poses(file, "da3", video())
    assert track.frame_index.tolist() == [0, 1, 2, 4, 5, 6, 8] and np.allclose(track.c2w, path[:7], atol=1e-6)
    assert "7 poses for 9 frames: read as frames 0, 1, 2 ... 8" in track.notes
    for wrong in ([0, 1, 2, 4, 5, 6, 9], [0, 1, 2, 4, 6, 5, 8], [0, 1], [-1, 1, 2, 4, 5, 6, 8]):
        np.savez(file, **arrays, frame_index=np.array(wrong))
        with pytest.raises(ContractError, match="must be 7 rising frame numbers below 9"):
            read_poses(file, "da3", video())


def test_da3_accepts_square_extrinsics(path: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "results.npz", extrinsics=inverse(path), intrinsics=np.repeat(K[None], N, 0))
    assert np.allclose(read_poses(tmp_path / "results.npz", "da3", video()).c2w, path)


def test_colmap_takes_frames_from_numbered_names(path: np.ndarray, tmp_path: Path) -> None:
    write_colmap(tmp_path / "images.txt", path)
    text = (tmp_path / "images.txt").read_text()
    for number in reversed(range(N)):
        text = text.replace(f"frame_{number}.png", f"frame_{number * 5 + 1:05d}.png")
    (tmp_path / "images.txt").write_text(text)
    track = read_poses(tmp_path / "images.txt", "colmap", video(50))
    assert track.frame_index.tolist() == [number * 5 + 1 for number in range(N)]


@pytest.mark.parametrize("points", ["10.5 20.5 -1 30.0 40.0 7 50 60 -1 70 80 9\n", "\n", "1 2 3\n# a remark\n", ""])
@pytest.mark.parametrize("name", ["{:06d}", "{} of 10.png"])
def test_colmap_names_may_be_numbers_and_lines_of_points_may_be_empty_or_left_out(
    name: str, points: str, path: np.ndarray, tmp_path: Path
) -> None:
    write_colmap(tmp_path / "images.txt", path)
    text = (tmp_path / "images.txt").read_text().replace("10.5 20.5 -1 30.0 40.0 7 50 60 -1 70 80 9\n", points)
    for number in reversed(range(N)):
        text = text.replace(f"frame_{number}.png", name.format(number))
    (tmp_path / "images.txt").write_text(text)
    assert np.allclose(read_poses(tmp_path / "images.txt", "colmap", video()).c2w, path)


def _mirrored(c2w: np.ndarray) -> np.ndarray:
    out = c2w.copy()
    out[3, :3, 0] *= -1
    return out


def _stretched(c2w: np.ndarray) -> np.ndarray:
    out = c2w.copy()
    out[2, :3, :3] *= 1.1
    return out


def _not_finite(c2w: np.ndarray) -> np.ndarray:
    out = c2w.copy()
    out[5, 0, 3] = np.nan
    return out


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_mirrored, "frame 3 is mirrored"),
        (_stretched, "frame 2 is no rotation"),
        (_not_finite, "frame 5 has a pose that is not finite"),
    ],
)
def test_a_broken_pose_is_named_with_its_frame(break_it: Callable, words: str, path: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "poses.npy", break_it(path))
    with pytest.raises(ContractError, match=words):
        read_poses(tmp_path / "poses.npy", "c2w", video())


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "poses.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(ContractError, match="plain arrays"):
        read_poses(tmp_path / "poses.npy", "c2w", video())


@pytest.mark.parametrize(
    ("content", "format", "words"),
    [
        (b"not a zip", "da3", "cannot be read as a numpy file"),
        (b"1 2 3\n", "kitti", "line 1: expected 12 numbers, found 3"),
        (b"0 0 0 0 0 0 0 2\n", "tum", "quaternion has length 2"),
        (b"0 0 0 0 0 0 0 1\n0 0 0 0 0 0 0 1\n", "tum", "time stamp is not later"),
        (b"0 a 0 0 0 0 0 1\n", "tum", "line 1: expected numbers only"),
        (b"# nothing\n", "colmap", "holds no image line"),
        (b"", "kitti", "holds no pose"),
    ],
)
def test_a_damaged_file_is_one_sentence(content: bytes, format: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "poses").write_bytes(content)
    with pytest.raises(ContractError, match=words) as caught:
        read_poses(tmp_path / "poses", format, video())
    assert str(tmp_path / "poses") in str(caught.value) and "\n" not in str(caught.value)


def test_absent_file_unknown_format_and_too_many_poses(path: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="no such pose file"):
        read_poses(tmp_path / "absent.npz", "da3", video())
    with pytest.raises(ContractError, match="pose format 'blender' is not known"):
        read_poses(tmp_path / "absent.npz", "blender", video())
    write_kitti(tmp_path / "poses.txt", path)
    with pytest.raises(ContractError, match="9 poses and the video only 5 frames"):
        read_poses(tmp_path / "poses.txt", "kitti", video(5))


PEERS = Path(__file__).resolve().parents[2].parent / "shared" / "peers"


@pytest.mark.skipif(not PEERS.is_dir(), reason=f"the released programs are not at {PEERS}")
def test_a_ue5_camera_file_is_read_as_the_released_program_reads_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.normal(size=(N, 3)) * 100, rng.uniform(-3, 3, (N, 3))], axis=1)
    file = tmp_path / "camera_full7.csv"
    np.savetxt(file, rows, delimiter=",", header="loc_x,loc_y,loc_z,rot_x,rot_y,rot_z", comments="")
    driver = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("camera", inputs["module"])
camera = importlib.util.module_from_spec(spec)
spec.loader.exec_module(camera)
give("c2w", camera._csv_to_c2w(inputs["file"]))
"""
    module = PEERS / "memobench/evaluation/automated/metrics/camera_controllability.py"
    released = run_released(PEERS / "memobench", driver, {"module": str(module), "file": str(file)})
    assert released.note("c2w") == ""
    np.testing.assert_allclose(read_poses(file, "ue5", video()).c2w, released.arrays["c2w"], atol=1e-9)


@pytest.mark.skipif(not PEERS.is_dir(), reason=f"the released programs are not at {PEERS}")
@pytest.mark.parametrize("name", ["poses.npy", "extrinsics_opencv_w2c.npy"])
def test_what_the_released_vggt_omega_runner_writes_is_read(name: str, path: np.ndarray, tmp_path: Path) -> None:
    driver = """
import importlib.util
spec = importlib.util.spec_from_file_location("runner", inputs["module"])
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
runner.write_pose_outputs(inputs["w2c"], output_dir=inputs["folder"], intrinsics=inputs["intrinsics"])
give("done", 1)
"""
    quarter = np.repeat((K / np.array([[4], [4], [1]]))[None, None], N, 1)
    inputs = {"w2c": inverse(path)[None, :, :3], "folder": str(tmp_path), "intrinsics": quarter}
    module = PEERS / "wrbench/src/wrbench/eval/d1/run_vggt_omega_pose.py"
    released = run_released(PEERS / "wrbench", driver, {**inputs, "module": str(module)}, folders=("src",))
    assert released.note("done") == ""
    track = read_poses(tmp_path / name, "vggt_omega", video())
    assert np.allclose(track.c2w, path, atol=2e-6) and np.allclose(track.intrinsics, K, atol=1e-3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("loc_x,loc_y,loc_z,rot_x,rot_y\n0,0,0,0,0\n", "has no column 'rot_z'"),
        ("loc_x,loc_y,loc_z,rot_x,rot_y,rot_z\n0,0,0,0,0\n", "line 2: expected a number in column 6, found ''"),
        ("loc_x,loc_y,loc_z,rot_x,rot_y,rot_z\n0,0,oops,0,0,0\n", "line 2: expected a number in column 3, found 'oops'"),
        ("loc_x,loc_y,loc_z,rot_x,rot_y,rot_z\n0,0,nan,0,0,0\n0,0,0,0,0,0\n", "frame 0 has a pose that is not finite"),
        ("loc_x,loc_y,loc_z,rot_x,rot_y,rot_z\n", "holds no pose"),
        ("", "has no column 'loc_x'"),
    ],
)
def test_a_broken_ue5_camera_file_is_refused_in_a_sentence(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "camera.csv").write_text(content)
    with pytest.raises(ContractError, match=re.escape(says)):
        read_poses(tmp_path / "camera.csv", "ue5", video())
