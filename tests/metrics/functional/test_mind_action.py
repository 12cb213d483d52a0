"""MIND's relative pose error against evo, and the spec's reference vectors."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from evo.core import metrics
from evo.core.trajectory import PosePath3D
from lookback.benchmarks.mind.actions import action_name, detect_convention, released_name
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import NotScorable, ParameterError, Reason
from lookback.metrics.functional import action_rpe, rpe
from scipy.spatial.transform import Rotation


def wandering(rng: np.random.Generator, n: int = 40) -> np.ndarray:
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.04, (n, 3)), axis=0)).as_matrix()
    poses[:, :3, 3] = np.cumsum(rng.normal(0, 0.1, (n, 3)), axis=0)
    return poses


def similarity_copy(poses: np.ndarray, rng: np.random.Generator, scale: float) -> np.ndarray:
    turn = Rotation.random(rng=rng).as_matrix()
    moved = poses.copy()
    moved[:, :3, :3] = turn @ poses[:, :3, :3]
    moved[:, :3, 3] = scale * poses[:, :3, 3] @ turn.T + [4.0, -1.0, 2.0]
    return moved


def test_equals_evo(rng: np.random.Generator) -> None:
    """evo 1.38: PosePath3D.align(correct_scale=True), then RPE with a delta of one frame over all pairs."""
    truth = wandering(rng)
    noisy = similarity_copy(truth, rng, 2.7)
    noisy[:, :3, :3] = noisy[:, :3, :3] @ Rotation.from_rotvec(rng.normal(0, 0.01, (40, 3))).as_matrix()
    noisy[:, :3, 3] += rng.normal(0, 0.05, (40, 3))
    reference, estimate = PosePath3D(poses_se3=list(truth)), copy.deepcopy(PosePath3D(poses_se3=list(noisy)))
    estimate.align(reference, correct_scale=True)
    expected = {}
    for relation, name in ((metrics.PoseRelation.translation_part, "trans"), (metrics.PoseRelation.rotation_angle_deg, "rot")):
        measure = metrics.RPE(relation, delta=1, delta_unit=metrics.Unit.frames, all_pairs=True)
        measure.process_data((reference, estimate))
        expected |= {f"{name}_{key}": measure.get_all_statistics()[key] for key in ("mean", "median")}
    ours = rpe(truth, noisy)
    assert ours["count"] == 39
    assert ours["rpe_trans_mean"] == pytest.approx(expected["trans_mean"], rel=1e-6)
    assert ours["rpe_trans_median"] == pytest.approx(expected["trans_median"], rel=1e-6)
    assert ours["rpe_rot_mean_deg"] == pytest.approx(expected["rot_mean"], rel=1e-6)
    assert ours["rpe_rot_median_deg"] == pytest.approx(expected["rot_median"], rel=1e-6)


def test_a_similarity_copy_has_no_error(rng: np.random.Generator) -> None:
    truth = wandering(rng)
    result = rpe(truth, similarity_copy(truth, rng, 0.3))
    assert (result["rpe_trans_mean"], result["rpe_rot_mean_deg"]) == pytest.approx((0.0, 0.0), abs=1e-7)


def test_a_tenth_of_a_degree_of_yaw_per_frame(rng: np.random.Generator) -> None:
    truth = wandering(rng)
    exact = from_yaw_pitch_roll(2.0 * np.arange(40), position=truth[:, :3, 3])
    turned = from_yaw_pitch_roll(2.1 * np.arange(40), position=truth[:, :3, 3])
    assert rpe(exact, turned)["rpe_rot_mean_deg"] == pytest.approx(0.1, abs=1e-9)


def test_a_camera_that_never_translates_has_scale_zero_and_a_finite_error(rng: np.random.Generator) -> None:
    truth = wandering(rng)
    turning = truth.copy()
    turning[:, :3, 3] = 7.0
    result = rpe(truth, turning)
    steps = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1)
    assert result["rpe_trans_mean"] == pytest.approx(steps.mean())  # every step of the truth is missed whole
    assert result["rpe_rot_mean_deg"] == pytest.approx(0.0, abs=1e-6)


def test_official_scales_no_path_of_a_millionth_of_a_unit_up_to_the_truth(rng: np.random.Generator) -> None:
    """umeyama_sim3 of the released program divides by the variance + 1e-12."""
    truth, actions = wandering(rng), ["forward"] * 40
    tiny = truth.copy()
    tiny[:, :3, 3] *= 1e-7
    variance = tiny[:, :3, 3].var(axis=0).sum()
    corrected, official = (action_rpe(truth, tiny, actions, variant=name)["__overall__"] for name in ("corrected", "official"))
    assert corrected["rpe_trans_mean"] == pytest.approx(0.0, abs=1e-6)
    steps = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean()
    assert official["rpe_trans_mean"] == pytest.approx(steps * 1e-12 / (variance + 1e-12), rel=1e-4)


def test_half_turns_are_outliers() -> None:
    yaw = np.zeros(12)
    yaw[5:] = 180.0
    truth = from_yaw_pitch_roll(np.zeros(12), position=np.outer(np.arange(12), [0, 0, 1.0]))
    flipped = from_yaw_pitch_roll(yaw, position=np.outer(np.arange(12), [0, 0, 1.0]))
    assert rpe(truth, flipped)["count"] == 10
    assert {name: group["count"] for name, group in action_rpe(truth, flipped, ["forward"] * 12).items()} == {
        "__overall__": 10,
        "translation": 10,
        "act:forward": 10,
    }


class TestGroups:
    @pytest.mark.parametrize(
        ("label", "group"), [("W", "translation"), ("d", "translation"), ("Left", "translation"), ("CAM_UP", "rotation")]
    )
    def test_letters_and_capitals_belong_to_the_released_buckets(self, rng: np.random.Generator, label: str, group: str) -> None:
        truth = wandering(rng, 20)
        assert action_rpe(truth, similarity_copy(truth, rng, 1.5), [label] * 19, variant="official")[group]["count"] == 19

    ACTIONS = ("forward",) * 5 + ("look_right",) * 4 + ("forward+look_right",) * 3 + ("no_op",) * 2

    def test_groups_hold_their_transitions(self, rng: np.random.Generator) -> None:
        truth = wandering(rng, 14)
        groups = action_rpe(truth, similarity_copy(truth, rng, 1.5), self.ACTIONS)
        counts = {name: stats["count"] for name, stats in groups.items()}
        expected = {"__overall__": 13, "translation": 5, "rotation": 4, "other": 3, "act:forward": 5, "act:look_right": 4}
        assert counts == expected | {"act:forward+look_right": 3, "act:no_op": 1}
        assert set(groups["translation"]) == {
            "count",
            "rpe_trans_mean",
            "rpe_trans_median",
            "rpe_rot_mean_deg",
            "rpe_rot_median_deg",
        }

    def test_official_puts_looks_into_other(self, rng: np.random.Generator) -> None:
        truth = wandering(rng, 14)
        groups = action_rpe(truth, truth, self.ACTIONS, variant="official")
        assert "rotation" not in groups
        assert groups["other"]["count"] == 8  # 4 looks, 3 combinations and a rest

    def test_errors_land_in_the_group_of_their_action(self, rng: np.random.Generator) -> None:
        truth = wandering(rng, 14)
        wrong = truth.copy()
        slip = truth[6, :3, :3] @ from_yaw_pitch_roll(5.0)[:3, :3] @ truth[6, :3, :3].T
        wrong[7:, :3, :3] = slip @ truth[7:, :3, :3]  # one bad step, from frame 6 to 7: a look_right
        groups = action_rpe(truth, wrong, self.ACTIONS)
        assert groups["act:look_right"]["rpe_rot_mean_deg"] == pytest.approx(5.0 / 4)
        assert groups["act:forward"]["rpe_rot_mean_deg"] == pytest.approx(0.0, abs=1e-6)

    def test_both_conventions_of_action_json_name_the_same_action(self) -> None:
        released, readme = {"ws": 1, "ad": 0, "ud": 0, "lr": 2}, {"ws": 0, "lr": 1}
        assert detect_convention([released]) == "code"
        assert detect_convention([readme]) == "readme"
        assert detect_convention([{"ws": 1, "ad": 0, "ud": 0, "lr": 0}]) == "code"  # all four axes, though no 2
        assert action_name(released, "code") == action_name(readme, "readme") == "forward+look_right"
        assert action_name({"ws": 0, "ad": 0, "ud": 0, "lr": 0}, "code") == "no_op"

    def test_the_released_code_takes_every_file_for_its_own_convention(self) -> None:
        assert released_name({"ws": 0, "ad": 1, "ud": 0, "lr": 2}) == "left+look_right"
        with pytest.raises(ParameterError, match="has no 'ad'"):
            released_name({"ws": 0, "time": 3})


def test_fewer_than_eight_steps_have_no_score(rng: np.random.Generator) -> None:
    truth = wandering(rng, 8)
    with pytest.raises(NotScorable) as caught:
        action_rpe(truth, truth, ["forward"] * 8, variant="official")
    assert caught.value.reason is Reason.TOO_FEW_VALUES
    nine = wandering(rng, 9)
    assert action_rpe(nine, nine, ["forward"] * 9, variant="official")["__overall__"]["count"] == 8
