"""A video with less than its task asks for is told everywhere: by validate, in its items, in tables and on the leaderboard."""

import json

import pytest
from layout_data import frames, memobench, mind, video
from lookback import evaluate
from lookback.curation.contract import violations_and_warnings
from lookback.media import encode
from lookback.params.stages import Source
from lookback.report.leaderboard import leaderboard
from lookback.scoring.aggregate import with_clip_facts


def warnings(root) -> list[str]:
    violations, warned = violations_and_warnings(Source(root=str(root)))
    assert violations == []
    return [found.problem for found in warned]


@pytest.mark.parametrize("count", [1, 4, 11])
def test_validate_warns_of_a_prediction_that_ends_before_its_task(tmp_path, count):
    """The task has 20 frames, 8 of which are given."""
    root = mind(tmp_path / "m")
    video(root / "test_root/minecraft/1st_data/mem_test/hall/video.mp4", n=count)
    assert warnings(root) == [f"has {count} of 12 frames"]


def test_a_video_of_one_pixel_lacks_the_picture_of_its_task(tmp_path):
    root = mind(tmp_path / "m")
    path = root / "test_root/minecraft/1st_data/mem_test/hall/video.mp4"
    encode(path, frames(12)[:, :1, :1], 8)
    assert warnings(root) == ["has 1x1 of 64x48 pixels"]


@pytest.mark.parametrize(
    ("n", "fps", "told"),
    [
        (20, 8, False),
        (10, 4, False),  # the same time at half the rate
        (40, 8, False),
        (12, 8, True),
        (4, 1.6, True),  # a slide show
        (1, 0.4, True),
    ],
)
def test_memobench_compares_the_time_that_a_video_lasts(tmp_path, n, fps, told):
    root = memobench(tmp_path / "m", models=("wan",), n=20)
    video(root / "output/wan/Real/007/video.mp4", n=n, fps=fps)
    assert warnings(root) == ([f"has {n} of 20 frames"] if told else [])


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Two models, one of which stops after ten frames of its real task; the released program's own numbers."""
    root = memobench(tmp_path_factory.mktemp("short") / "m", models=("whole", "stops"), n=20)
    video(root / "output/stops/Real/007/video.mp4", n=10)
    return evaluate(root, metrics=["memobench.psnr"], variant="official", output=root.parent / "run")


def test_items_say_what_their_video_lacks(scored):
    has = scored.items["value"].notna()
    cut = has & (scored.items["model_id"] == "stops") & (scored.items["setting"] == "real")
    assert cut.any() and scored.items[cut]["detail"].str.startswith("10 of 20 frames").all()
    assert not scored.items[has & ~cut]["detail"].str.contains("of 20 frames").any()


def test_tables_count_and_mark_them_and_keep_the_official_number(scored):
    whole = scored.scores[scored.scores["phase"] == ""].set_index("model_id")
    assert whole["n_short"].to_dict() == {"stops": 1, "whole": 0} and whole["n"].to_dict() == {"stops": 2, "whole": 2}
    table = scored.table()
    assert ["†" in suffix for suffix in table.suffixes["psnr"]] == [True, False]
    assert table.marks.loc[0, "psnr"] == "" and any("†" in note and "stops 1" in note for note in table.notes)
    content = json.loads((scored.params.paths.root / "results.json").read_text())
    assert sorted(sample["shortfall"] for sample in content["samples"]) == ["", "", "", "10 of 20 frames"]


def test_the_leaderboard_leaves_them_out_and_says_so(scored):
    items = with_clip_facts(scored.items, scored.clips)
    board = leaderboard("memobench", "MemoBench", items, ["memobench.psnr"], resamples=100)
    assert board.rows.set_index("model")["clips"].to_dict() == {"stops": 1, "whole": 2}
    assert "Excluded, because the video lacks a part of its task (fewer frames, say): stops 1." in board.table().notes
    few = items[items["shortfall"].ne("") | items["model_id"].eq("whole")]
    only = leaderboard("memobench", "MemoBench", few, ["memobench.psnr"], resamples=100)
    assert only.unscored == {"stops": "every scored clip lacks a part of its task"}
