"""MemoBench's released programs in a child process beside our official variants: the same clips, the same small networks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import made_artifacts
import numpy as np
import pytest
from lookback.backends.pose.track import with_facts
from lookback.benchmarks.memobench import parity as compared
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.media import encode, open_video, shrink
from lookback.metrics.functional import passes_motion_gate
from lookback.parity import ParityRow, Released, run_released
from lookback.registry import BENCHMARKS

SHARED = Path(__file__).resolve().parents[3] / "shared"
PEER, CLIPS = SHARED / "peers" / "memobench", SHARED / "clips" / "memobench"
VIDEOS = {"Real_007_gt.mp4": 960, "Real_007_opensora.mp4": 336}  # with the width that is kept: both programs still shrink the first
EVERY = 3  # frame of them is kept: 27, of which 13 show the object, 8 do not, and 6 show it again
pytestmark = pytest.mark.long
needs_peer = pytest.mark.skipif(not PEER.is_dir(), reason=f"the released program is not at {PEER}")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory, warm_released_programs: None) -> list[ParityRow]:
    """One run of both programs on the made-up clips and, where the published clips lie, on the smallest of one scene, shortened."""
    folder = tmp_path_factory.mktemp("clips")
    if CLIPS.is_dir():
        one_scene(folder)
    return list(BENCHMARKS.get("memobench").parity(PEER, folder if CLIPS.is_dir() else None))


def one_scene(folder: Path) -> None:
    for name in ("synthetic_metadata.csv", "vqa_questions"):
        (folder / name).symlink_to(CLIPS / name)
    (folder / "phases.csv").write_text("clip,n_frames,d_start,r_start\nReal_007,27,13,21\n")
    for name, width in VIDEOS.items():
        with open_video(CLIPS / name) as reader:
            frames = [shrink(frame, width) for frame in reader.read(list(range(0, reader.info.n_frames, EVERY)))]
        encode(folder / name, frames, 8)


@needs_peer
def test_the_official_variants_print_what_the_released_program_prints(rows: list[ParityRow]):
    assert [(row.metric, row.case, row.ours, row.theirs, row.note) for row in rows if row.verdict != "equal"] == []


@needs_peer
def test_every_metric_of_the_release_is_compared_on_every_clip(rows: list[ParityRow]):
    counts = Counter(row.metric.partition(" ")[0] for row in rows if row.theirs is not None)
    clips = 3 if CLIPS.is_dir() else 2
    for name in ("visual_quality", "motion_smoothness", "object_identity", "geo3d", "image_reward", "camera_controllability"):
        assert counts[f"memobench.{name}"] == clips, name
    for name in ("psnr", "ssim", "lpips"):
        assert counts[f"memobench.{name}"] == 4 * clips, name
    assert counts["memobench.ors"] == 2 and counts["memobench.vqa_continuity_of_memory"] >= 2


@needs_peer
def test_one_decoder_gives_the_same_digits(rows: list[ParityRow]):
    """On frames that are stored as pictures nothing is decoded: PSNR, SSIM and LPIPS agree to the last of their four digits."""
    fidelity = [row for row in rows if row.metric.split()[0].endswith(("psnr", "ssim", "lpips"))]
    apart = [row.difference for row in fidelity if row.case.startswith("made-up frames")]
    assert len(apart) == 12 and all(difference is not None and abs(difference) <= 1.01e-4 for difference in apart)


@needs_peer
def test_answers_are_counted_by_the_letter_as_the_released_program_counts_them(rows: list[ParityRow]):
    cases = compared.odd_answers()
    odd = [row for row in rows if row.case in cases]
    assert {row.case for row in odd} == set(cases)
    assert [(row.case, row.ours, row.theirs, row.note) for row in odd if row.verdict != "equal"] == []


TURNS = """
from types import SimpleNamespace
from automated.metrics import camera_controllability as released

for name in ("there", "there and back", "just enough"):
    released._estimate_poses_mapanything = lambda frames, wanted, device: inputs[name]
    video = SimpleNamespace(num_frames=len(inputs[name]))
    give(name, released.camera_controllability_score(video, inputs[name], None)["total_gt_rotation_deg"])
"""


@needs_peer
def test_the_true_rotation_of_tables_s5_and_s8_is_the_released_column_from_the_first_to_the_last_frame():
    there = np.linspace(0, 120, 21)
    turns = {"there": there, "there and back": np.r_[there, there[::-1]], "just enough": there * 0.75}
    paths = {name: from_yaw_pitch_roll(yaw) for name, yaw in turns.items()}
    released = run_released(PEER, TURNS, paths, folders=("evaluation",))
    for name, path in paths.items():
        column = released.number(name)
        assert column is not None, released.note(name)
        assert with_facts(made_artifacts.poses(path)).facts["return_error_deg"] == pytest.approx(column, abs=1e-3)
        assert passes_motion_gate(path) == (column >= 90), name


def test_what_the_released_program_cannot_compute_is_stated_and_never_equal():
    absent = Released(notes={"": "ModuleNotFoundError: No module named 'torchvision'"})
    rows = [
        *compared._mark_rows(absent),
        *compared._object_rows(absent),
        *compared._phrase_rows(absent, [["sees a(subject)", "a"]]),
    ]
    assert {row.verdict for row in rows} == {"cannot run"} and all("torchvision" in row.note for row in rows)
