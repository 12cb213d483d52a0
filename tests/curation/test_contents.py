"""Composition tables against counts known by construction and against the printed table S2; figures have labels and captions."""

import numpy as np
import pandas as pd
import pytest
from lookback import curation
from lookback.benchmarks.mbench.benchmark import composition as mbench_composition
from lookback.benchmarks.memobench.contents import trajectory_statistics
from lookback.benchmarks.wrbench.contents import event_factor_coverage
from lookback.camera import compile as compile_request
from lookback.camera import parse
from lookback.camera.poses import total_rotation_deg
from lookback.clips import Clip, clips_to_frame
from lookback.tables import SCHEMAS, check_table


def clips_of(rows):
    defaults = {"video": "v.mp4", "n_frames": 81, "fps": 16.0, "width": 832, "height": 480}
    return clips_to_frame([Clip(**{**defaults, **row, "content_hash": f"{i:064d}"}) for i, row in enumerate(rows)])


def screen_of(clips, facts=()):
    blank = {**dict.fromkeys(SCHEMAS["screen"].columns), "duration_s": 5.0, "n_cuts": 0}
    blank |= dict.fromkeys(("trajectory", "source", "mismatch", "duplicate_of"), "")
    keys = clips[list(clips)[:4]].to_dict("records")
    rows = [{**blank, **key, **(facts[index] if index < len(facts) else {})} for index, key in enumerate(keys)]
    return check_table("screen", pd.DataFrame(rows))


@pytest.fixture
def mbench_clips():
    """Two models, two conditions: table 4 counts samples, not clips."""
    rows = []
    for setting, samples in (("A", {"human": 3, "object": 2}), ("T", {"human": 1, "causal": 4})):
        for model in ("m1", "m2"):
            for subset, n in samples.items():
                for i in range(n):
                    for condition in ("left_10s", "right_10s") if setting == "A" else ("text",):
                        name = f"{subset}:{i}:{condition}"
                        rows.append(
                            {
                                "benchmark": "mbench",
                                "setting": setting,
                                "model_id": model,
                                "clip_id": name,
                                "subset": subset,
                                "sample_id": f"{subset}{i}",
                                "condition_id": condition,
                            }
                        )
    return clips_of(rows)


def test_mbench_table_4_counts_samples_per_subset_and_setting(mbench_clips):
    table = mbench_composition(mbench_clips)
    assert table.to_dict("list") == {
        "subset": ["human", "object", "environment", "causal", "total"],
        "A": [3, 2, 0, 0, 5],
        "T": [1, 0, 0, 4, 5],
        "total": [4, 2, 0, 4, 10],
    }
    assert curation.composition(mbench_clips)["clips"].sum() == len(mbench_clips) == 30


# MemoBench table S2 (printed): subset, trajectory, clips, mean rotation (deg), mean gap (frames)
PRINTED_S2 = [
    ("real", "Pan L->R", 56, 72, 59),
    ("real", "Pan R->L", 51, 63, 65),
    ("real", "Tilt U->D", 57, 38, 70),
    ("synthetic", "Forward", 58, 92, 81),
    ("synthetic", "Head turn", 41, 70, 76),
    ("synthetic", "U-turn", 68, 178, 113),
    ("synthetic", "Vertical", 29, 27, 77),
]


def paths():
    """A camera path of each printed class with the printed total rotation."""
    return {
        "Pan L->R": "yaw:left:36@40,yaw:right:36@41",
        "Pan R->L": "yaw:right:31.5@40,yaw:left:31.5@41",
        "Tilt U->D": "pitch:up:19@40,pitch:down:19@41",
        "Forward": "dolly:forward:4@30,yaw:right:92+dolly:forward:3@51",
        "Head turn": "yaw:left:35@40,yaw:right:35@41",
        "U-turn": "yaw:right:178+dolly:forward:2@81",
        "Vertical": "pitch:up:27+dolly:forward:1@81",
    }


def test_table_s2_comes_back_from_poses_of_the_printed_classes():
    rows, facts = [], []
    for subset, name, n, _, gap in PRINTED_S2:
        path = compile_request(parse(paths()[name]))
        for i in range(n):
            for model in ("m1", "m2"):
                rows.append({"benchmark": "memobench", "setting": subset, "model_id": model, "clip_id": f"{name}_{i:03d}"})
                shift = (i % 3 - 1) if n % 3 == 0 else 0  # gaps that differ and keep their mean
                facts.append(
                    {
                        "trajectory": curation.trajectory_class(path, observer=subset == "synthetic"),
                        "total_rotation_deg": total_rotation_deg(path),
                        "gap_frames": gap + shift,
                        "departs": True,
                        "returns": True,
                    }
                )
    clips = clips_of(rows)
    table = trajectory_statistics(screen_of(clips, facts))
    found = [(r.subset, r.trajectory, r.n_clips, round(r.rotation_deg), round(r.gap_frames)) for r in table.itertuples()]
    assert found == PRINTED_S2
    assert table["n_clips"].sum() == 360  # the paper: 164 real and 196 synthetic clips


@pytest.fixture
def wrbench_clips():
    rows = []
    for level in ("none", "spatial", "state", "full"):
        for camera in ("yaw_LR", "yaw_RL"):
            for action in ("sit", "tip"):
                if (level, camera, action) != ("full", "yaw_RL", "tip"):
                    rows.append(
                        {
                            "benchmark": "wrbench",
                            "setting": "natural25",
                            "model_id": "gen3c",
                            "clip_id": f"{level}{camera}{action}",
                            "event_level": level,
                            "event_action": action,
                            "camera": camera,
                            "scene": action,
                            "prompt": "a b c",
                        }
                    )
    return clips_of(rows)


def test_event_factor_coverage_shows_the_hole_in_the_design(wrbench_clips):
    cells = event_factor_coverage(wrbench_clips)
    assert len(cells) == 4 * 2 * 2
    empty = cells[cells["n_clips"] == 0]
    assert empty[["event_level", "event_action", "camera", "spatial", "state"]].values.tolist() == [
        ["full", "tip", "yaw_RL", True, True]
    ]


def test_challenge_screen_counts_what_is_known_and_what_is_not(wrbench_clips):
    facts = [
        {"departs": True, "returns": True, "gap_frames": 10},
        {"departs": True, "returns": False, "gap_frames": 30},
        {"departs": False, "returns": False},
    ]
    table = curation.challenge_screen(screen_of(wrbench_clips, facts))
    assert table[["clips", "departs", "returns", "unknown", "gap_median"]].values.tolist() == [[15, 2, 1, 12, 10.0]]


def drawn(clips, screen):
    yield curation.composition_figure(clips)
    yield curation.duration_figure(clips, screen)
    yield curation.prompt_figure(clips)
    drawn_by_benchmarks = curation.benchmark_figures(clips, screen)
    assert len(drawn_by_benchmarks) == 2, "MemoBench's trajectories and WRBench's events"
    yield from drawn_by_benchmarks
    yield curation.challenge_figure(screen)
    yield curation.counterpart_figure(clips)


def test_every_figure_has_axis_labels_and_a_caption(wrbench_clips):
    import matplotlib.pyplot as plt

    memo = clips_of(
        [
            {"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": f"real_{i:03d}", "prompt": "x y"}
            for i in range(3)
        ]
    )
    clips = pd.concat([wrbench_clips, memo], ignore_index=True)
    facts = [{"trajectory": "Pan L->R", "total_rotation_deg": 70.0, "gap_frames": 40, "departs": True, "returns": True}]
    screen = pd.concat([screen_of(wrbench_clips), screen_of(memo, facts)], ignore_index=True)
    for figure, caption in drawn(clips, screen):
        assert len(caption) > 30 and any(character.isdigit() for character in caption) and caption.endswith(".")
        main = figure.axes[0]
        assert main.get_xlabel() and (main.get_ylabel() or [tick.get_text() for tick in main.get_yticklabels()])
        figure.canvas.draw()
        assert np.asarray(figure.canvas.buffer_rgba()).std() > 1
        plt.close(figure)


def test_what_no_clip_carries_gets_no_figure():
    memo = clips_of([{"benchmark": "memobench", "setting": "real", "model_id": "m", "clip_id": "real_001"}])
    assert curation.benchmark_figures(memo, screen_of(memo)) == []


def test_counts_have_whole_ticks_and_captions_say_what_was_counted(wrbench_clips):
    import matplotlib.pyplot as plt

    one = wrbench_clips[:1].assign(prompt="x y")
    screen = screen_of(one, [{"departs": True, "returns": True}])
    figures = [curation.composition_figure(one), curation.counterpart_figure(one), curation.duration_figure(one, screen)]
    figures += [curation.prompt_figure(one), curation.challenge_figure(screen)]
    for (figure, _), axis in zip(figures[:4], "xxyy", strict=True):
        ticks = getattr(figure.axes[0], f"get_{axis}ticks")()
        assert all(tick == round(tick) for tick in ticks), ticks
    said = [caption for _, caption in figures]
    assert said[0].startswith("Composition: 1 generated clip by") and "Length of 1 clip in seconds (81 frames)" in said[2]
    assert "Prompt length of the 1 task that carries one" in said[3]
    assert "of 1 clip (1 can be told)" in said[4] and "tasks that ask for" in said[4]
    for figure, _ in figures:
        plt.close(figure)
