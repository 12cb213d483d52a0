"""Links between the folders of a dataset: a real folder keeps its name, and a link that is left out is named."""

import pytest
from lookback.layouts import read
from lookback.params.stages import Source


def models_of(reading):
    return {clip.model_id for clip in reading.clips}


def aliases(reading):
    return [(v.path.rsplit("/", 1)[-1], v.field, v.problem) for v in reading.violations]


def test_a_link_beside_a_memobench_model_is_left_out_by_name_and_the_model_stays(dataset):
    root = dataset("memobench")
    (root / "output" / "best").symlink_to("svc")
    reading = read(Source(root=str(root)))
    assert models_of(reading) == {"wan", "svc"} and len(reading.clips) == 4
    said = "'output/best' is a symbolic link to the folder 'output/svc', which is read under that name"
    assert aliases(reading) == [("best", "path", said)] and reading.violations[0].item.model_id == "best"


@pytest.mark.parametrize("target", ["../wan", "../..", "../wan/Synthetic"])
def test_a_link_in_one_memobench_model_does_not_take_the_clips_of_another(dataset, target):
    root = dataset("memobench")
    before = sorted(clip.key for clip in read(Source(root=str(root))).clips)
    (root / "output" / "svc" / "Again").symlink_to(target)
    assert sorted(clip.key for clip in read(Source(root=str(root))).clips) == before


def test_a_memobench_model_that_is_only_a_link_is_read_and_a_second_link_to_it_is_named(dataset):
    root = dataset("memobench")
    (root / "output" / "svc").rename(root / "store")
    for name in ("one", "two"):
        (root / "output" / name).symlink_to("../store")
    reading = read(Source(root=str(root)))
    assert models_of(reading) == {"wan", "one"}
    assert aliases(reading) == [
        ("two", "path", "'output/two' is a symbolic link to the folder 'output/one', which is read under that name")
    ]


def test_a_link_beside_a_model_of_a_plain_folder_is_left_out_by_name(dataset):
    root = dataset("folder")
    (root / "Best").symlink_to("beta")
    (root / "alpha" / "again").symlink_to("..")
    reading = read(Source(root=str(root), layout="folder"))
    assert models_of(reading) == {"alpha", "beta", "gamma"} and len(reading.clips) == 5
    assert [(name, problem.split(", ")[0]) for name, _, problem in aliases(reading)] == [
        ("Best", "'Best' is a symbolic link to the folder 'beta'"),
        ("again", "'alpha/again' is a symbolic link to the folder '.'"),
    ]


def test_a_link_below_the_depth_of_the_pattern_is_nobodys_business(dataset):
    root = dataset("folder")
    (root / "alpha" / "notes" / "deep").mkdir(parents=True)
    (root / "alpha" / "notes" / "deep" / "beta").symlink_to(root / "beta")
    assert read(Source(root=str(root), layout="folder", pattern="{model}/{clip}.mp4")).violations == []
