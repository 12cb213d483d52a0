"""The trial of metrics: corruptions do what their names say, and drops, thresholds and readings follow from constructed scores."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.clips import Clip, clips_to_frame
from lookback.demo.audit.controls import CONTROLS
from lookback.demo.audit.figures import dose_figure, invariance_figure, sensitivity_figure
from lookback.demo.audit.reading import failure_readings, metric_readings
from lookback.demo.audit.sensitivity import invariance, measures, paired_drops, reactions, sensitivity, thresholds
from lookback.demo.audit.trial import Trial, _trials, _write, run_trials, sound_clips
from lookback.figures import png_of
from lookback.media import content_hash, encode
from lookback.params import load_run
from lookback.paths import resolve
from lookback.scoring.direction import more_is_better
from lookback.scoring.variants import only_chosen
from lookback.tables import empty_table
from skimage.metrics import peak_signal_noise_ratio

BY_NAME = {control.name: control for control in CONTROLS}


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    """A bright square that walks over a smooth picture: every frame differs from every other."""
    ramp = np.linspace(40, 120, 64)[None, :, None] + np.linspace(0, 60, 48)[:, None, None]
    video = np.repeat(np.repeat(ramp[None], 12, 0), 3, -1).astype(np.uint8)
    for index, frame in enumerate(video):
        frame[10:20, 4 * index : 4 * index + 8] = 250
    return video


def corrupted(name: str, frames: np.ndarray, strength: float = 1.0) -> np.ndarray:
    return BY_NAME[name].apply(frames, strength, np.random.default_rng(3), frames[:, ::-1])


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_corruption_keeps_the_shape_and_changes_something(name: str, frames: np.ndarray):
    out = corrupted(name, frames)
    assert (out.shape, out.dtype) == (frames.shape, np.uint8)
    assert (out != frames).any()


def test_controls_are_what_they_are_called(frames: np.ndarray):
    assert (corrupted("frozen", frames) == frames[0]).all()
    assert (corrupted("reversed", frames) == frames[::-1]).all()
    order = corrupted("shuffled", frames)
    assert sorted(frame.tobytes() for frame in order) == sorted(frame.tobytes() for frame in frames)
    late = corrupted("swapped", frames)
    assert (late[:6] == frames[:6]).all()
    assert (late[-1] == frames[-1, ::-1]).all()
    assert (corrupted("frame_rate", frames)[3] == frames[0]).all()


@pytest.mark.parametrize("name", ["noise", "compression", "resize"])
def test_nuisances_grow_with_their_strength(name: str, frames: np.ndarray):
    """PSNR by scikit-image falls from strength to strength."""
    values = [peak_signal_noise_ratio(frames, corrupted(name, frames, strength)) for strength in (0.25, 0.5, 1.0)]
    assert values[0] > values[1] > values[2]


def item(model: str, metric: str, value: float, benchmark: str = "mbench", phase: str = "") -> dict:
    keys = {"benchmark": benchmark, "setting": "A", "model_id": model, "clip_id": "c", "metric": metric, "variant": "paper"}
    return {**keys, "phase": phase, "value": value, "reason": "" if np.isfinite(value) else "not_triggered"}


STYLE = "mbencha.environment.rendering_style"
LIGHT = "mbencha.environment.rendering_lighting"


def trial_of_two() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Style falls by 0.2 and 0.4 with a style shift; lighting does not move."""
    rows = [item(model, STYLE, value) for model, value in (("right", 0.9), ("half", 0.7), ("full", 0.5))]
    rows += [item(model, LIGHT, 0.8) for model in ("right", "half", "full")]
    truth = [("right", "none", 0.0), ("half", "style_shift", 0.5), ("full", "style_shift", 1.0)]
    keys = {"benchmark": "mbench", "setting": "A", "clip_id": "c"}
    return pd.DataFrame(rows), pd.DataFrame(
        [{**keys, "model_id": model, "failure": failure, "severity": severity} for model, failure, severity in truth]
    )


def test_drops_and_their_order():
    drops = paired_drops(*trial_of_two())
    style = drops[drops["measure"] == STYLE].set_index("severity")["drop"]
    assert style.to_dict() == pytest.approx({0.5: 0.2, 1.0: 0.4})
    table = sensitivity(drops, {STYLE: 0.3, LIGHT: 0.0}).set_index("measure")
    assert table.loc[STYLE, "rank_correlation"] > 0.9
    assert table.loc[STYLE, "detected_from"] == 1.0, "0.2 is within what nuisances do, 0.4 is not"
    assert table.loc[LIGHT, "rank_correlation"] == 0.0
    assert np.isnan(table.loc[LIGHT, "detected_from"])
    assert table["meant"].to_dict() == {STYLE: True, LIGHT: False}


def test_a_lower_is_better_part_counts_the_other_way():
    scored = measures(pd.DataFrame([item("m", "mind.lcm", 1.0, "mind", "mse"), item("m", "mind.lcm", 1.0, "mind", "psnr")]))
    assert scored.set_index("measure")["sign"].to_dict() == {"mind.lcm mse": -1.0, "mind.lcm psnr": 1.0}


def test_the_threshold_is_the_nuisances_quantile():
    rows = pd.DataFrame({"measure": ["m"] * 101, "kind": ["nuisance"] * 101, "drop": np.linspace(0, 1, 101)})
    assert thresholds(rows, 0.05)["m"] == pytest.approx(0.95)
    assert thresholds(rows.assign(drop=-1.0), 0.05)["m"] == 0.0


def test_readings_say_who_catches_what_and_who_does_not():
    drops = paired_drops(*trial_of_two())
    table = sensitivity(drops, {})
    assert failure_readings(table)["verdict"].tolist() == ["caught by its metric"]
    other = table["measure"] != STYLE
    blind = table.assign(rank_correlation=table["rank_correlation"].where(other, 0.1), seen=table["seen"] & other)
    told = failure_readings(blind).iloc[0]
    assert told["verdict"] == "missed by its metrics"
    assert "missed" in told["reading"]
    words = metric_readings(table, invariance(pd.DataFrame())).set_index("measure")
    assert words.loc[STYLE, "sees"] == "style_shift (2)"
    assert words.loc[LIGHT, "sees"] == ""
    assert words.loc[STYLE, "worst_nuisance"] == "not tried"


def test_a_metric_whose_formula_cannot_see_a_failure_is_named_with_the_reason():
    """Identity of the demo world's swap: 0.976 faithful, 0.887 half, 0.977 wholly another person (a track of its own)."""
    name = "mbencht.entity.human_identity_consistency"
    values = {"faithful": (0.973, 0.0), "half": (0.887, 0.5), "full": (0.977, 1.0)}
    items = pd.DataFrame([item(model, name, value) for model, (value, _) in values.items()])
    keys = {"benchmark": "mbench", "setting": "A", "clip_id": "c", "failure": "identity_drift"}
    truth = pd.DataFrame([{**keys, "model_id": model, "severity": severity} for model, (_, severity) in values.items()])
    (told,) = failure_readings(sensitivity(paired_drops(items, truth), {})).to_dict("records")
    assert told["verdict"] == "missed by its metrics"
    assert f"{name}: eq. 6 compares each track with its own centroid" in told["reading"]


def test_one_failing_clip_is_no_evidence():
    """Padded with one zero, any drop at all would correlate perfectly with severity."""
    items, truth = trial_of_two()
    table = sensitivity(paired_drops(items[items["model_id"] != "half"], truth), {})
    assert table["rank_correlation"].isna().all() and not table["seen"].any()
    told = failure_readings(table).iloc[0]
    assert told["verdict"] == "not measured: fewer than 2 failing clips"
    for _, caption in (sensitivity_figure(table), dose_figure(paired_drops(items, truth), table)):
        assert caption.startswith("No failure has 2 failing clips")


def test_without_failures_there_is_nothing_to_read():
    drops = paired_drops(trial_of_two()[0], trial_of_two()[1].iloc[:1])
    assert drops.empty and failure_readings(sensitivity(drops, {})).empty


def test_a_failure_without_scores_stays_in_the_table_with_its_reason():
    items, truth = trial_of_two()
    late = [item(model, STYLE, np.nan) for model in ("still", "stiller")]
    keys = {"benchmark": "mbench", "setting": "A", "clip_id": "c", "failure": "camera_inactivity"}
    still = pd.DataFrame([{**keys, "model_id": row["model_id"], "severity": 1.0} for row in late])
    drops = paired_drops(pd.concat([items, pd.DataFrame(late)]), pd.concat([truth, still]))
    readings = failure_readings(sensitivity(drops, {})).set_index("failure")
    assert readings["verdict"].to_dict() == {
        "camera_inactivity": "not measured: not triggered",
        "style_shift": "caught by its metric",
    }


def test_a_drop_within_the_spread_of_the_sound_clips_is_not_seen():
    """Two sound tasks differ by 0.1; drops of a millionth follow severity and still say nothing."""
    rows, truth = [], []
    for task, sound in (("c", 0.9), ("d", 0.8)):
        for model, failure, severity, drop in (
            ("right", "none", 0.0, 0.0),
            ("half", "style_shift", 0.5, 1e-6),
            ("full", "style_shift", 1.0, 2e-6),
        ):
            rows.append({**item(model, STYLE, sound - drop), "clip_id": task})
            keys = {"benchmark": "mbench", "setting": "A", "model_id": model, "clip_id": task}
            truth.append({**keys, "failure": failure, "severity": severity})
    table = sensitivity(paired_drops(pd.DataFrame(rows), pd.DataFrame(truth)), {})
    assert table["rank_correlation"].iloc[0] > 0.9 and not table["seen"].iloc[0]
    told = failure_readings(table).iloc[0]
    assert told["verdict"] == "missed by its metrics" and "less than sound clips differ" in told["reading"]


def test_direction_is_by_metric_and_part():
    assert [more_is_better("mind.lcm", part) for part in ("mse", "psnr", "ssim", "lpips")] == [False, True, True, False]
    assert not more_is_better("memobench.lpips", "V") and not more_is_better("mind.action", "act:look_left:rot")
    assert more_is_better("memobench.psnr", "V") and more_is_better("a.plugin.of.yesterday")


def test_reactions_compare_with_the_sound_clip_of_the_same_task():
    rows = [
        {**item("m+sound", STYLE, 0.9), "sound_model": "m", "control": "sound", "kind": "sound", "strength": 0.0},
        {**item("m+frozen-100", STYLE, 0.6), "sound_model": "m", "control": "frozen", "kind": "control", "strength": 1.0},
    ]
    found = reactions(pd.DataFrame(rows))
    assert found["drop"].tolist() == pytest.approx([0.3])
    assert invariance(found)["relative_drop"].tolist() == pytest.approx([1 / 3])


def test_every_model_has_copies_of_its_own_video_and_a_new_video_has_new_ones(tmp_path, frames: np.ndarray):
    params = load_run("demo", [f"output={tmp_path / 'run'}"])

    def frozen(model: str, video: np.ndarray) -> Clip:
        path = encode(tmp_path / f"{model}.mp4", video, 16)
        facts = {"video": str(path), "content_hash": content_hash(path)}
        clip = Clip(benchmark="folder", setting="", model_id=model, clip_id="a/b:c", **facts)
        return _write(Trial(clip, BY_NAME["frozen"], 1.0), [clip], params)

    first, other = frozen("m", frames), frozen("n", 255 - frames)
    assert first.content_hash != other.content_hash, "two models of one task"
    assert frozen("m", 255 - frames).content_hash == other.content_hash, "made again"
    assert not resolve(first.video).exists() and resolve(other.video).is_file()


@pytest.mark.long
def test_a_users_own_clips_are_corrupted_and_scored(tmp_path, frames: np.ndarray):
    """No truth is known: the clips are taken as they are. A frozen camera is not aligned with the turn that was asked for."""
    params = load_run("demo", [f"output={tmp_path / 'run'}", "workers=1", "audit.clips=1", "audit.severities=[1.0]"])
    own = {"metrics": ["wrbench.visual_integrity"], "constants": {}}  # frames of the paper's size
    params = params.model_copy(update={"scoring": params.scoring.model_copy(update=own)})
    video = encode(tmp_path / "clip.mp4", np.repeat(frames, 2, 0), 16)
    facts = {"n_frames": 24, "fps": 16.0, "width": 64, "height": 48, "camera": "static", "video": str(video)}
    clip = Clip(benchmark="wrbench", setting="s", model_id="m", clip_id="c", scene="x", content_hash="0" * 64, **facts)
    table, nothing = clips_to_frame([clip]), empty_table("truth")
    assert sound_clips(table, nothing, params) == [clip]
    assert len(_trials(clip, [0.5, 1.0])) == 1 + 4 + 2 * 4
    items = run_trials(params, table, empty_table("segments"), nothing)
    assert set(items["control"]) == {"sound", *BY_NAME}
    assert items["value"].notna().all()
    values = only_chosen(items, params).set_index("control")["value"]
    assert values["shuffled"] < values["sound"], "jumping pictures have less integrity than the sound clip"


def test_a_metric_that_only_nuisances_tried_is_read_too():
    reacted = pd.DataFrame(
        {"measure": [LIGHT, STYLE], "control": "noise", "kind": "nuisance", "strength": 1.0, "drop": [0.2, np.nan]}
    )
    nothing = sensitivity(paired_drops(trial_of_two()[0], trial_of_two()[1].iloc[:1]), {})
    (row,) = metric_readings(nothing, invariance(reacted.assign(sound=0.5))).to_dict("records")
    assert row == {"measure": LIGHT, "sees": "", "misses": "", "also_reacts_to": "", "worst_nuisance": "noise (+0.2, n 1)"}


def test_a_curve_that_falls_far_below_zero_is_seen_whole_and_short_names_are_kept_apart():
    names = ["mbencha.object.x", "mbencht.object.x"]
    drops = pd.DataFrame(
        {"measure": names * 2, "failure": "style_shift", "severity": [0.5] * 2 + [1.0] * 2, "drop": [-0.1, 0.1, -1, 1]}
    )
    table = pd.DataFrame({"measure": names, "failure": "style_shift", "rank_correlation": [-1.0, 1.0], "meant": True, "n": 2})
    figure, _ = dose_figure(drops, table)
    axes = figure.axes[0]
    assert axes.get_ylim()[0] < min(min(line.get_ydata()) for line in axes.lines)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names[::-1]
    plt.close(figure)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [1, 4])
def test_a_small_audit_has_room_for_its_names(count: int):
    names = [f"mbencha.entity.human_appearance_consistency {k}" for k in range(count)]
    told = pd.DataFrame({"measure": names, "failure": "view_duplicates", "rank_correlation": 0.5, "meant": True, "n": 2})
    facts = {"control": "compression", "kind": "nuisance", "strength": 1.0, "n": 2, "relative_drop": np.nan}
    for figure, caption in (sensitivity_figure(told), invariance_figure(pd.DataFrame({"measure": names, **facts}))):
        png_of(figure)
        plt.close(figure)
        assert caption.startswith(f"{count} measure{'s' * (count > 1)} ") and "mpty: " in caption
