"""Every corruption gives one clear line (path, field, what is wrong, what to do) with a typed reason; the rest still loads."""

import shutil

import pytest
from corrupting import DECODE, SAMPLE
from corruptions_mbench import MBENCH
from corruptions_others import OTHERS
from layout_data import frame_folder, frames, video
from lookback.curation.contract import validate
from lookback.curation.probing import facts_of
from lookback.layouts import read
from lookback.params.stages import Source

CASES = MBENCH | OTHERS
KNOWN = {}


@pytest.fixture(autouse=True)
def every_video_is_decoded_once(monkeypatch):
    """A corruption leaves most videos of a dataset as they are: what is known of their bytes is kept, as a run's store keeps it."""

    def known(path, digest, cache):
        if digest not in KNOWN:
            KNOWN[digest] = facts_of(path, digest, cache)
        return KNOWN[digest]

    monkeypatch.setattr("lookback.curation.inspection.facts_of", known)


def test_the_table_is_long_and_every_line_says_something_of_its_own():
    assert len(CASES) >= 40
    assert len({(case.layout, case.field, case.says, case.reason) for case in CASES.values()}) >= 40


@pytest.mark.parametrize("name", CASES)
def test_corruption_gives_its_one_clear_line(dataset, name):
    case = CASES[name]
    root = dataset(case.layout)
    case.breaks(root)
    source = Source(root=str(root), layout=case.layout)
    found = validate(source)
    assert len(found) == 1, "\n".join(violation.line for violation in found)
    violation = found[0]
    assert (violation.field, violation.reason, violation.concerns) == (case.field, case.reason, case.concerns)
    assert case.says in violation.problem or case.says in violation.remedy
    assert str(root) in violation.path and violation.remedy
    assert "\n" not in violation.line and len(violation.line) < 500


@pytest.mark.parametrize("layout", ["mbench", "memobench", "wrbench", "mind", "folder"])
def test_a_link_loop_between_folders_ends(dataset, layout):
    """A folder that contains a link to its own parent must not be walked for ever."""
    root = dataset(layout)
    source = Source(root=str(root), layout=layout)
    before = sorted(clip.key for clip in read(source).clips)
    folders = [path for path in sorted(root.rglob("*")) if path.is_dir() and path.name not in ("RGB1", "one", "frames")]
    for inner in {*folders[:3], *(path for path in folders if path.name in ("wan", "test_root"))}:
        (inner / "again").symlink_to(root, target_is_directory=True)
    assert sorted(clip.key for clip in read(source).clips) == before


@pytest.mark.parametrize("name", ["action rows missing", "action frame number", "action value", "actor position NaN"])
def test_a_bad_row_of_actions_costs_the_actions_alone(dataset, name):
    """The released program takes mark_time, total_time and the caption without a look at the rows."""
    root = dataset("mind")
    source = Source(root=str(root), layout="mind")
    before = {clip.key: clip for clip in read(source).clips}
    CASES[name].breaks(root)
    reading = read(source)
    (clip,) = [clip for clip in reading.clips if clip.subset == "mem_test" and clip.setting == "1st_data"]
    good = before[clip.key]
    assert (clip.mark_time, clip.gt_frames, clip.prompt) == (good.mark_time, good.gt_frames, good.prompt) != (None, None, None)
    assert good.actions and clip.actions is None and not clip.extras
    assert clip.clip_id not in {segment["clip_id"] for segment in reading.segments if segment["setting"] == "1st_data"}


def test_a_huge_document_is_refused_unread(dataset):
    root = dataset("mbench")
    with (root / SAMPLE).open("wb") as handle:
        handle.truncate(65 << 20)
    found = validate(Source(root=str(root)))
    assert [(violation.field, violation.problem) for violation in found] == [("document", "is larger than 64 MB")]


def test_an_unreadable_folder_of_frames_and_a_good_one_do_not_disturb_each_other(dataset):
    root = dataset("memobench")
    folder = root / "output/wan/Synthetic/Study/Study_001/frames"
    shutil.rmtree(folder)
    frame_folder(folder, 4)
    (folder / "00002.png").write_bytes(b"\x89PNG broken")
    found = validate(Source(root=str(root)))
    assert [(violation.reason, violation.item.model_id) for violation in found] == [(DECODE, "wan")]


def test_other_containers_and_animations_are_read_too(tmp_path):
    from PIL import Image

    video(tmp_path / "model" / "a.mkv")
    pictures = [Image.fromarray(image) for image in frames(5)]
    pictures[0].save(tmp_path / "model" / "b.webp", save_all=True, append_images=pictures[1:], duration=100, lossless=True)
    source = Source(root=str(tmp_path), layout="folder")
    assert {clip.clip_id for clip in read(source).clips} == {"a", "b"} and validate(source) == []
