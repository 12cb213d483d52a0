"""Small files that declare or unpack to something huge, and files that carry code: refused before they cost anything."""

import math
import os
import pickle
import re
import resource
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import lookback
import numpy as np
import pandas as pd
import pytest
from lookback import array_files
from lookback.agreement.plan import load_plan
from lookback.array_files import read_arrays
from lookback.backends.depth import depth_source, read_depth
from lookback.backends.files import read_given
from lookback.backends.pose.formats import read_poses
from lookback.clips import Clip
from lookback.errors import ContractError, LookbackError, MediaError, ParameterError
from lookback.layouts import Breach
from lookback.layouts.documents import read_json, read_rows, read_yaml
from lookback.media import VideoInfo, open_video
from lookback.media.frames import read_image
from lookback.params import load_run
from lookback.report.page import Section, write_page
from lookback.report.table import PaperTable
from lookback.weights.lock import read_lock
from lookback.yaml_files import parse_yaml
from PIL import Image

MOST_KIB = 200 * 1024
VIDEO = VideoInfo(Path("clip.mp4"), "video", 9, 24.0, 96, 64, 9 / 24, 0, "h264", "yuv420p", False)


@pytest.fixture(autouse=True)
def bounded():
    """No test here may make the process larger by more than 200 MiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KIB


def png(path: Path, width: int, height: int, depth: int = 8, colour: int = 2) -> Path:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100_000))) + chunk(b"IEND", b"")
    )
    return path


@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 1), (1, 2**31 - 1)])
def test_a_picture_that_declares_absurdly_many_pixels_is_refused_by_its_header(tmp_path: Path, size: tuple[int, int]):
    with pytest.raises(MediaError):
        read_image(png(tmp_path / "0.png", *size))
    with pytest.raises(MediaError), open_video(tmp_path) as reader:
        next(iter(reader))
    with pytest.raises(ContractError):
        read_depth(png(tmp_path / "0.png", *size, depth=16, colour=0).parent, 320, VIDEO)


@pytest.mark.filterwarnings("error")
def test_a_picture_that_is_too_large_is_refused_without_a_warning_of_pillow(tmp_path: Path):
    with pytest.raises(MediaError, match="its header says 10000x10000 pixels"):
        read_image(png(tmp_path / "0.png", 10_000, 10_000))
    Image.new("L", (1, 1)).save(tmp_path / "large.gif")
    small = (tmp_path / "large.gif").read_bytes()
    (tmp_path / "large.gif").write_bytes(small[:6] + struct.pack("<HH", 10_000, 10_000) + small[10:])
    with pytest.raises(MediaError, match="10000x10000 pixels"):
        open_video(tmp_path / "large.gif")


def npy(path: Path, shape: str, dtype: str = "<f8") -> Path:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(64))
    return path


@pytest.mark.parametrize("shape", ["(1000000000000, 4, 4)", "(100000000, 4, 4)", "(-1,)", "(99999999999999999999,)"])
def test_an_array_whose_header_declares_more_than_the_file_holds_is_refused(tmp_path: Path, shape: str):
    with pytest.raises(ContractError, match="cannot be read as a numpy file"):
        read_arrays(npy(tmp_path / "poses.npy", shape))


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(array_files, "MAX_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", depth=np.zeros((40, 256, 256), np.float32))
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 18
    with pytest.raises(ContractError, match="unpacks to 10 MB"):
        read_arrays(tmp_path / "bomb.npz")


def test_a_damaged_archive_beside_a_clip_has_no_depth_and_no_traceback(tmp_path: Path):
    path = tmp_path / "results.npz"
    np.savez(path, depth=np.ones((2, 3, 4)))
    path.write_bytes(path.read_bytes()[:-30])
    keys = {"benchmark": "mbench", "setting": "A", "model_id": "m", "clip_id": "c"}
    assert depth_source(Clip(**keys, video="v.mp4", poses=str(path), poses_format="da3")) is None


class Canary:
    """Unpickling this writes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_pickles_are_refused_and_do_not_run(tmp_path: Path):
    canary = tmp_path / "ran"
    np.save(tmp_path / "a.npy", np.array([Canary(canary)], dtype=object), allow_pickle=True)
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Canary(canary)))
    np.savez(tmp_path / "c.npz", extrinsics=np.array([Canary(canary)], dtype=object))
    for name in ("a.npy", "b.npy", "c.npz"):
        with pytest.raises(ContractError):
            read_arrays(tmp_path / name)
    assert not canary.exists()


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 8)}]}}\n" for i in range(1, 10))
SWELLING = {
    "aliases": LAUGHS,
    "merge keys": MERGES,
    "a value that contains itself": "run: &a [*a]",
    "a mapping merged into itself": "run: &a {<<: *a}",
    "flow nesting": "run: " + "[" * 5000,
    "block nesting": "- " * 500_000,
    "endless digits": "seed: " + "9" * 5000,
    "endless hexadecimal digits": "seed: 0x" + "f" * 5000,
    "an endless number of base 60": "seed: 1" + ":59" * 100_000,
    "a day of a 13th month": "seed: 2024-13-45",
    "code": "seed: !!python/name:os.system",
    "a very long text": "description: " + "x" * (2 << 20),
}


@pytest.mark.parametrize("content", SWELLING.values(), ids=SWELLING)
def test_yaml_neither_runs_code_nor_swells(tmp_path: Path, content: str):
    """In whichever file it stands. The time is the processor's: the merge keys alone took minutes."""
    path = tmp_path / "evil.yaml"
    path.write_text(content)
    started = time.process_time()
    for read in (lambda: load_run(str(path)), lambda: load_plan(path), lambda: read_lock(path)):
        with pytest.raises(LookbackError) as caught:
            read()
        assert len(str(caught.value)) < 500
    with pytest.raises(Breach):
        read_yaml(path)
    with pytest.raises(ParameterError):
        load_run("demo", [f"report.title={content}"])
    assert time.process_time() - started < 60


def test_yaml_of_very_many_values_is_refused():
    with pytest.raises(ValueError, match="more than 50000 values"):
        parse_yaml("[" + "1, " * 60_000 + "1]")


def test_a_few_aliases_and_merge_keys_are_read():
    assert parse_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]")["b"] == {"x": 1, "y": 3}


def test_no_checkpoint_or_array_is_read_in_a_way_that_runs_its_code():
    loads = re.compile(r"weights_only=False|allow_pickle=True|torch\.load\((?!.*weights_only=True)")
    assert [path.name for path in Path(lookback.__file__).parent.rglob("*.py") if loads.search(path.read_text())] == []


def test_the_project_has_one_yaml_reader():
    package = Path(lookback.__file__).parent
    loading = re.compile(r"\byaml\.\w*load\w*\(")
    assert [file.name for file in package.rglob("*.py") if loading.search(file.read_text())] == ["yaml_files.py"]


def test_documents_that_nest_without_end_are_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(Breach):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.csv").write_text('"' + "x" * 200_000)
    with pytest.raises(Breach):
        read_rows(tmp_path / "a.csv")


def test_an_animation_of_very_many_frames_is_bounded_by_its_bytes(tmp_path: Path):
    """A GIF holds 1x1 frames of 20 bytes each: ten thousand of them are read one by one, never together."""
    frame = b"\x21\xf9\x04\x00\x0a\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00"
    head = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff"
    path = tmp_path / "many.gif"
    path.write_bytes(head + frame * 10_000 + b";")
    with open_video(path) as reader:
        assert reader.info.n_frames == 10_000


SCRIPT = "<script>alert(1)</script>"


def test_html_in_names_and_captions_is_text_in_the_report(tmp_path: Path):
    frame = pd.DataFrame({"model": [SCRIPT], "value": [1.0]})
    table = PaperTable("t", SCRIPT, frame, ["model"], notes=[SCRIPT], conclusion=SCRIPT, headers={"value": SCRIPT})
    section = Section("s", SCRIPT, SCRIPT, [table.to_html()])
    write_page(tmp_path / "report.html", SCRIPT, SCRIPT, [section], SCRIPT)
    page = (tmp_path / "report.html").read_text()
    assert SCRIPT not in page
    assert page.count("&lt;script&gt;alert(1)") >= 5


def bomb(path: Path, compression: int = zipfile.ZIP_DEFLATED, **arrays: tuple[int, ...]) -> Path:
    """An .npz whose arrays of float64 hold zeros only."""
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as archive:
        for name, shape in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": shape})
                for _ in range(math.prod(shape) * 8 >> 20):
                    member.write(bytes(1 << 20))
    return path


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("shape", [(1 << 21, 4, 4), (9, 1 << 18, 4, 4)])
def test_poses_that_unpack_to_more_than_poses_need_are_refused_unread(tmp_path: Path, shape, compression):
    path = bomb(tmp_path / "results.npz", compression, extrinsics=shape)
    assert path.stat().st_size < 2 << 20
    assert peak_of(lambda: read_poses(path, "da3", VIDEO), "needs at most 64 MB|not packed as numpy packs") < 8 << 20
    assert peak_of(lambda: read_given("masks", path, VIDEO), "needs at most|not packed as numpy packs") < 8 << 20


def test_the_depth_beside_the_poses_is_not_unpacked_for_them_and_is_refused_where_it_is_too_large(tmp_path: Path):
    path = bomb(tmp_path / "depth.npz", depth=(9, 1 << 11, 1 << 11))
    with zipfile.ZipFile(path, "a") as archive, archive.open("extrinsics.npy", "w") as member:
        np.save(member, np.tile(np.eye(4), (9, 1, 1)))
    assert peak_of(lambda: read_poses(path, "da3", VIDEO)) < 8 << 20
    assert peak_of(lambda: read_depth(path, 320, VIDEO), "needs at most 136 MB") < 8 << 20


def peak_of(read: Callable[[], object], refused: str = "") -> int:
    """The memory that a call takes, which must be refused with these words if there are some."""
    tracemalloc.start()
    try:
        with pytest.raises(ContractError, match=refused) if refused else nullcontext():
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
