"""The self-check: sound here, caught when a value or an input is wrong, and clear about what it could not check."""

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.registry import METRICS, Availability
from lookback.selfcheck import measure as selfcheck_measure
from lookback.selfcheck import run
from lookback.selfcheck.clips import Noise, write_samples
from lookback.selfcheck.measure import Measured, choose
from lookback.selfcheck.pictures import FOCAL, HEIGHT, WIDTH, Room, View
from lookback.selfcheck.recorded import Recorded, compare, difference, read_recorded, recorded_path, with_tolerances
from typer.testing import CliRunner

# far points triangulated over an estimated path: a grey level in 1 of 10,000 pixels moves its error by as much as it is; the same
# metric over the poses of a file is held to 0.0004. A grey level in 1 of 100 pixels moves MobileSAM's outline, and texture by 0.01;
# over the classical masks the same metric is held to 0.002
TOO_WIDE = {
    "mbencht.environment.spatial_reprojection pose=classical",
    *(f"mbench{each}.entity.object_texture_consistency masks=mobile-sam,object_features=efficientnet-lite0" for each in "at"),
}
# Yes or no, and how many: the spoilt camera also leaves its first view and comes back to it, and nothing is cut.
# Their own tests are tests/metrics/test_plain_folder.py and tests/media/test_shot_cuts.py.
SAME_ANSWER = {
    "folder.camera_return pose=files",
    "folder.cuts none",
    "folder.view_left pose=classical",
    "folder.view_left pose=files",
}
NETWORKS_WHY = "float32 sums of a network"


@pytest.fixture(scope="module")
def here() -> list[Measured]:
    """Every number of this machine, with the real embedded weights."""
    return run.measured({})


@pytest.fixture
def quick(here: list[Measured], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command compares the numbers that were measured already."""
    monkeypatch.setattr(run, "measured", lambda named, spoilt=False: here)


def call(*arguments: str):
    return CliRunner().invoke(app, ["selfcheck", *arguments])


@pytest.mark.long
def test_this_machine_gives_the_recorded_numbers(quick):
    result = call()
    assert result.exit_code == 0, result.output
    assert "differs" not in result.output.splitlines()[-2]
    assert result.output.splitlines()[-1].endswith("not recorded") and ", 0 differs," in result.output.splitlines()[-1]
    for fact in ("architecture", "processor", "Python", "numpy", "torch", "OpenCV", "PyAV", "GPU"):
        assert any(line.startswith(fact) for line in result.output.splitlines()), fact


@pytest.mark.long
def test_every_number_has_its_own_recorded_value(here):
    """Features of objects depend on the masks: with one name for both, a machine without MobileSAM differed."""
    named = Counter((*row.key, row.device) for row in here)
    assert [key for key, count in named.items() if count > 1] == []
    built_on = {row.backend for row in here if row.check == "person_features=efficientnet-lite0"}
    people = ("face-grabcut", "mobile-sam")
    assert built_on == {f"faces=scrfd-dlib,people={each},person_features=efficientnet-lite0" for each in people}


@pytest.mark.long
def test_a_changed_recorded_value_is_named_and_ends_with_1(quick, tmp_path):
    rows = list(csv.DictReader(recorded_path().open(encoding="utf-8")))
    chosen = next(row for row in rows if row["check"] == "memobench.psnr" and row["value"])
    chosen["value"] = str(float(chosen["value"]) * 1.01)
    with (tmp_path / "recorded.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    result = call("--recorded", str(tmp_path / "recorded.csv"))
    assert result.exit_code == 1
    differing = [line for line in result.output.splitlines() if line.startswith("differs")]
    assert len(differing) == 1 and "memobench.psnr" in differing[0]
    assert f"{chosen['clip']} {chosen['part']}: " in result.output and "recorded, tolerance" in result.output


@pytest.mark.long
def test_json_names_every_metric_and_what_is_not_usable_names_a_remedy(quick):
    found = json.loads(call("--json").output)
    assert {"architecture", "processor", "Python"} <= set(found["machine"]) and found["counts"]["differs"] == 0
    assert {spec.name for spec in METRICS} <= {check["check"] for check in found["checks"]}
    absent = [check for check in found["checks"] if check["state"] == "not usable"]
    assert absent and all(check["why"] and check["remedy"] for check in absent)
    assert sum(check["numbers"] for check in found["checks"]) > 300


@pytest.mark.long
def test_spoilt_clips_fall_outside_every_tolerance():
    """The camera mirrored, two frames swapped, the depth turned, the face's colours exchanged, answers flipped."""
    outcomes = compare(run.measured({}, spoilt=True), read_recorded(recorded_path()))
    passed = {f"{outcome.check} {outcome.backend}" for outcome in outcomes if outcome.state == "ok"}
    assert passed <= TOO_WIDE | SAME_ANSWER and sum(outcome.state == "differs" for outcome in outcomes) > 50
    caught = {outcome.check for outcome in outcomes if outcome.state == "differs"}
    assert {outcome.check for outcome in outcomes if outcome.state == "ok"} - caught <= {name.split()[0] for name in SAME_ANSWER}


def test_every_recorded_row_says_why_its_tolerance_and_where_it_was_recorded():
    rows = read_recorded(recorded_path())
    assert all(row.why and row.machine for row in rows.values())
    assert all(row.tolerance > 0 and row.cuda_tolerance >= row.tolerance for row in rows.values() if row.value is not None)
    networks = [row for row in rows.values() if NETWORKS_WHY in row.why]
    assert networks and all(row.cuda_tolerance > row.tolerance for row in networks)


def sha(frames: Sequence[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(frame.tobytes() for frame in frames)).hexdigest()


def test_pictures_are_the_same_bytes_on_every_machine():
    """Whole numbers only: this hash must hold whatever the processor."""
    room = Room()
    views = [View(0), View(40, (100, -20, 60)), View(-110, (-300, 0, 200))]
    assert sha([room.look(view)[0] for view in views]) == "7214427e0d7c9a0a2de7440bcac997a334fe1ab935a42400784e8546f24a2156"


def test_two_views_of_the_room_agree_by_their_depth_and_poses():
    """A pixel carried over by depth and both poses has the same colour there: the scene is rigid, the poses are true."""
    room, first, second = Room(with_box=False), View(0), View(24, (120, 0, 80))
    picture, depth = room.look(first)
    other = room.look(second)[0]
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    ray = np.stack([(x - (WIDTH - 1) / 2) / FOCAL, (y - (HEIGHT - 1) / 2) / FOCAL, np.ones_like(x, float)])
    point = np.einsum("ij,jhw->ihw", first.c2w()[:3, :3], ray * depth / 1000) + first.c2w()[:3, 3, None, None]
    seen = np.einsum("ji,jhw->ihw", second.c2w()[:3, :3], point - second.c2w()[:3, 3, None, None])
    u = np.rint(FOCAL * seen[0] / seen[2] + (WIDTH - 1) / 2).astype(int)
    v = np.rint(FOCAL * seen[1] / seen[2] + (HEIGHT - 1) / 2).astype(int)
    inside = (u >= 0) & (u < WIDTH) & (v >= 0) & (v < HEIGHT)
    apart = np.abs(picture[inside].astype(int) - other[v[inside], u[inside]])
    unrelated = np.abs(picture[inside].astype(int) - other[::-1, ::-1][inside])
    assert inside.mean() > 0.5 and apart.mean() < 6 < unrelated.mean() / 3


def test_noise_changes_few_pixels_by_one_level():
    picture = Room().look(View(0))[0]
    changed = Noise(10_000, 1).added(picture, 0).astype(int) - picture
    assert set(np.unique(changed)) == {-1, 0, 1} and 2 < np.abs(changed).sum() < 40
    assert (Noise().added(picture, 0) == picture).all()


@pytest.mark.long
def test_clips_are_written_whole_and_spoilt_ones_differ(tmp_path: Path):
    right, wrong = write_samples(tmp_path / "a"), write_samples(tmp_path / "b", spoilt=True)
    again = write_samples(tmp_path / "c")
    assert [sample.name for sample in right] == ["room", "still", "face"]
    for one, same, other in zip(right, again, wrong, strict=True):
        assert one.clip.content_hash == same.clip.content_hash != other.clip.content_hash


def row(value: float | None, reason: str = "", device: str = "cpu") -> Measured:
    return Measured("check", "clip", "part", "none", device, value, reason)


def test_a_number_is_held_to_its_tolerance_and_a_reason_to_itself():
    known = Recorded("check", "clip", "part", "none", 2.0, "", 0.1, 0.4, "because", "here")
    assert difference(row(2.05), known) == pytest.approx(0.5)
    assert difference(row(2.2), known) == pytest.approx(2.0)
    assert difference(row(2.2, device="cuda"), known) == pytest.approx(0.5)
    assert difference(row(float("nan")), known) == difference(row(None, "no_face"), known) == float("inf")
    missing = Recorded("check", "clip", "part", "none", None, "no_face", 0.0, 0.0, "because", "here")
    assert difference(row(None, "no_face"), missing) == 0 and difference(row(None, "no_mask"), missing) == float("inf")


def test_a_tolerance_is_four_times_what_a_disturbance_moved_or_a_share_of_the_number():
    (moved,) = with_tolerances([row(2.0)], {"two threads": [row(2.01)], "noise": [row(1.995)]}, "here")
    assert moved.tolerance == pytest.approx(0.04) and "4 x 0.01, seen with two threads" in moved.why
    (still,) = with_tolerances([row(2.0)], {"two threads": [row(2.0)]}, "here")
    assert still.tolerance == pytest.approx(2e-6) and "disturbances moved it less" in still.why


def test_a_check_without_a_recorded_value_says_so_and_a_new_number_differs():
    (alone,) = compare([row(1.0)], {})
    assert alone.state == "not recorded" and "--record" in alone.remedy
    known = Recorded("check", "clip", "part", "none", 1.0, "", 0.1, 0.1, "because", "here")
    (grown,) = compare([row(1.0), Measured("check", "clip", "another", "none", value=1.0)], {known.key: known})
    assert grown.state == "differs" and "nothing recorded" in grown.differences[0]


def test_a_role_without_the_role_that_it_builds_on_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no face can be found, people have no mask, which would differ from every recorded number."""
    every, _ = choose({})
    assert {"faces", "people", "person_features"} <= every.keys()
    monkeypatch.setattr(selfcheck_measure, "availability", lambda spec: Availability(spec.role != "faces" and spec.embedded))
    first, others = choose({})
    assert every.keys() - first.keys() == {"faces", "people", "person_features"}
    assert not {spec.role for spec in others} & {"faces", "people", "person_features"}


@pytest.mark.long
def test_wrong_calls_are_sentences(quick, tmp_path):
    with pytest.raises(UsageError, match="There is no role 'poze'; did you mean 'pose'"):
        choose({"poze": "classical"})
    with pytest.raises(UsageError, match="There is no backend 'pose=magic'"):
        choose({"pose": "magic"})
    (tmp_path / "recorded.csv").write_text("nonsense\n1\n")
    result = call("--recorded", str(tmp_path / "recorded.csv"))
    assert result.exit_code == 1 and "is not a table of recorded values" in str(result.exception)


@pytest.mark.long
def test_every_measure_of_a_plain_folder_is_checked_once(here: list[Measured]) -> None:
    measured = [row.key for row in here if row.check.startswith("folder.") and row.value is not None and row.device == "cpu"]
    assert {check for check, *_ in measured} == {spec.name for spec in METRICS if spec.benchmark == "folder"}
    assert len(set(measured)) == len(measured)
