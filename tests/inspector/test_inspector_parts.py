"""What stands behind the inspector's page: side-by-side frames, curves, links, notes, overlays, rows that open a clip."""

import multiprocessing
from types import SimpleNamespace

import cv2
import made_artifacts
import made_runs
import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import Depth
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.clips import KEYS
from lookback.errors import ContractError, UsageError
from lookback.inspector import links
from lookback.inspector.links import place_of
from lookback.inspector.marks import ChangedMeanwhile, NoteBook, TagBook
from lookback.inspector.opened import opened
from lookback.inspector.overlays import (
    depth_picture,
    difference_picture,
    draw_faces,
    draw_mask,
    draw_track,
    epipolar_line,
    turned_to,
)
from lookback.inspector.pictures import Pictures
from lookback.inspector.run import RunView, metric_curves, visibility_spans, yaw_curve
from lookback.inspector.sync import by_frame, by_phase
from lookback.media import encode
from lookback.metrics.functional import ground_truth_pairs
from lookback.widgets import web
from time_limits import HUNG_S


def test_by_phase_pairs_a_clip_with_its_ground_truth_as_the_fidelity_metrics_do():
    d_start, r_start, gt_frames, n_frames = 32, 59, 97, 81
    pairs = ground_truth_pairs(d_start, r_start, gt_frames, n_frames)
    expected = dict(pair for phase in ("V", "D", "R") for pair in zip(*(side.tolist() for side in pairs[phase]), strict=True))
    marks = [0, int(pairs["D"][0][0]), int(pairs["R"][0][0]), n_frames]
    assert dict(enumerate(by_phase(marks, [0, d_start, r_start, gt_frames]))) == expected


def test_by_phase_without_the_same_phases_stretches_the_whole():
    assert by_phase([0, 10], [0, 4, 19]) == [round(k * 18 / 9) for k in range(10)]
    assert by_phase([0, 3, 5], [0, 3, 5]) == [0, 1, 2, 3, 4]


def test_by_frame_starts_at_the_offset_and_holds_the_last_frame():
    assert by_frame(5, 3) == [0, 1, 2, 2, 2]
    assert by_frame(3, 96, offset=48) == [48, 49, 50]  # MIND: the generated video begins at mark_time


def units(rows):
    return pd.DataFrame(rows, columns=["metric", "variant", "kind", "frame", "phase", "value"])


def test_measures_are_curves_of_their_own_and_phases_are_not():
    rows = [("mind.lcm", "paper", "frame", k, measure, float(k)) for measure in ("mse", "psnr") for k in range(4)]
    rows += [("memobench.psnr", "paper", "frame", k, "", 30.0 + k) for k in range(4)]
    rows += [("memobench.psnr", "paper", "frame", k, "V" if k < 2 else "R", 99.0) for k in range(4)]
    rows += [("mbench.track", "paper", "track", k, "", 1.0) for k in range(4)] + [("short", "paper", "frame", 0, "", 1.0)]
    curves = {curve["name"]: curve for curve in metric_curves(units(rows))}
    assert sorted(curves) == ["memobench.psnr (paper)", "mind.lcm mse (paper)", "mind.lcm psnr (paper)"]
    assert curves["memobench.psnr (paper)"]["values"] == [30.0, 31.0, 32.0, 33.0]


def test_a_model_that_is_compared_has_its_curve_however_many_models_there_are(tmp_path):
    for number in range(11):
        encode(tmp_path / f"model{number:02d}" / "room.mp4", np.zeros((4, 16, 16, 3), np.uint8), 8.0)
    folder = RunView.of_folder(tmp_path)
    values = units([("folder.light", "paper", "frame", k, "", float(k)) for k in range(4)])
    rows = pd.concat([values.assign(**dict(zip(KEYS, key, strict=True))) for key in folder.clips])
    run = RunView("many", list(folder.clips.values()), {"units": rows}, folder.paths, [tmp_path])
    first, *_, last = run.clips.values()
    view = opened(run, Pictures(), NoteBook(tmp_path / "notes.json"), first.label, [last.label], "frame")
    (curve,) = view["curves"]
    drawn = [line["model"] for line in curve["lines"]]
    assert drawn == [*(f"model{number:02d}" for number in range(8)), "model10"]


def test_the_yaw_curve_of_a_full_turn_does_not_jump():
    yaw = np.linspace(0, 360, 25)
    (curve,) = yaw_curve(made_artifacts.poses(from_yaw_pitch_roll(yaw)))
    assert curve["values"] == pytest.approx(yaw, abs=1e-4)


def test_visibility_is_runs_of_frames():
    masks = made_artifacts.masks(np.zeros((5, 4, 8), bool), state=np.array([1, 1, 0, 0, 3]), frame_index=np.arange(0, 10, 2))
    assert visibility_spans(masks) == [(0, 4, 1), (4, 8, 0), (8, 9, 3)]


def test_any_row_that_names_a_clip_opens_it_at_its_frame():
    keys = {"benchmark": "wrbench", "setting": "demo", "model_id": "m", "clip_id": "c"}
    assert place_of(pd.Series({**keys, "frame_start": 14, "label": "cut"})) == ("wrbench/demo/m/c", 14)
    assert place_of({**keys, "frame": pd.NA}) == ("wrbench/demo/m/c", 0)
    vote = {"benchmark": "mbench", "setting": "T", "clip_a": "c1", "model_a": "a", "clip_b": "c1", "model_b": "b"}
    assert place_of(vote) == ("mbench/T/a/c1", 0)
    with pytest.raises(UsageError, match="names no clip"):
        place_of({"model_id": "m"})


def test_a_row_without_a_clip_is_a_sentence_in_the_cell(monkeypatch):
    shown = []
    monkeypatch.setattr(links, "display", lambda part: shown.append(part.data))
    links.open_row("demo", {"model_id": "m"})
    links.open_inspector(3)
    assert "names no clip" in shown[0] and "is the name of a run" in shown[1] and len(shown) == 2


def test_a_run_of_the_same_name_in_another_folder_has_an_inspector_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "_servers", {})
    made = lambda make, name: SimpleNamespace(address=f"http://{len(links._servers)}/", token="")  # noqa: E731
    monkeypatch.setattr(web, "serve_in_thread", made)
    runs = [made_runs.made_run(tmp_path / place / "run", {("m", place): 1.0}) for place in ("a", "b")]
    assert runs[0].run == runs[1].run
    first, second, again = (links._page(params, "", 0) for params in (*runs, runs[0]))
    assert first != second and first == again


def _note(path, name):
    for number in range(20):
        NoteBook(path).write(f"{name}-{number}", "seen")


def test_two_inspectors_keep_each_others_notes(tmp_path):
    path = tmp_path / "notes.json"
    context = multiprocessing.get_context("fork")  # new processes that need not import everything anew
    writers = [context.Process(target=_note, args=(path, name)) for name in ("ann", "ben")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(HUNG_S)
        assert writer.exitcode == 0
    book = NoteBook(path)
    assert all(book.read(f"{name}-{number}") == "seen" for name in ("ann", "ben") for number in range(20))
    book.write("ann-0", "  ")
    assert book.read("ann-0") == ""


@pytest.mark.parametrize("content", ["{", "[1]", "null"])
def test_a_spoilt_file_of_notes_or_tags_is_named(tmp_path, content):
    for book in (NoteBook(tmp_path / "notes.json"), TagBook(tmp_path / "tags.json")):
        book.path.write_text(content)
        with pytest.raises(ContractError, match=f"{book.path.name} .*move it away"):
            book.all()


def test_a_note_that_was_changed_meanwhile_is_not_overwritten(tmp_path):
    book = NoteBook(tmp_path / "notes.json")
    book.write("clip", "from tab A", [""])
    with pytest.raises(ChangedMeanwhile, match="saved “from tab A” meanwhile"):
        book.write("clip", "from tab B", [""])
    book.write("clip", "more from tab A", ["", "from tab A"])  # the answer to the first had not come yet
    book.write("clip", "more from tab A", [""])  # it is there already
    book.write("clip", " ", ["more from tab A"])
    book.write("clip", "from tab B", [" "])
    assert book.read("clip") == "from tab B"
    book.write("clip", "")
    with pytest.raises(ChangedMeanwhile, match="removed the note"):
        book.write("clip", "from tab C", ["from tab B"])


def pose(translation):
    """Two frames of a camera that turns by 20 degrees and moves."""
    c2w = np.repeat(np.eye(4)[None], 2, axis=0)
    angle = np.radians(20)
    c2w[1, :3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    c2w[1, :3, 3] = translation
    intrinsics = np.repeat(np.array([[200.0, 0, 160], [0, 200, 96], [0, 0, 1]])[None], 2, axis=0)
    return made_artifacts.poses(c2w, intrinsics=intrinsics, frame_index=np.array([0, 9]))


def project(entry, row, point):
    """A world point's pixel by OpenCV."""
    w2c = np.linalg.inv(entry.c2w[row])
    pixel, _ = cv2.projectPoints(point[None], cv2.Rodrigues(w2c[:3, :3])[0], w2c[:3, 3], entry.intrinsics[row], None)
    return pixel.ravel()


@pytest.mark.parametrize("depth", [2.0, 5.0, 40.0])
def test_the_epipolar_line_passes_through_the_point_whatever_its_depth(depth):
    camera = pose([0.5, 0.1, 0.2])
    point = np.array([0.3, -0.2, 1.0]) * depth
    line = epipolar_line(camera, tuple(project(camera, 0, point)), 0, 9)
    assert line is not None
    x, y = project(camera, 1, point)
    assert abs(line @ [x, y, 1]) / np.hypot(*line[:2]) < 1e-6


def test_a_camera_that_only_turned_moves_the_point_to_one_place():
    camera = pose([0, 0, 0])
    point = np.array([0.3, -0.2, 3.0])
    start = tuple(project(camera, 0, point))
    assert epipolar_line(camera, start, 0, 9) is None
    np.testing.assert_allclose(turned_to(camera, start, 0, 9), project(camera, 1, point), atol=1e-6)


def masks():
    shape = np.zeros((2, 12, 20), bool)
    shape[0, 3:8, 4:10] = True
    boxes = np.array([[4, 3, 10, 8], [np.nan] * 4], np.float32)
    return made_artifacts.masks(shape, frame_index=np.array([0, 4]), boxes=boxes), shape[0]


def test_a_mask_is_painted_where_it_is_and_only_on_its_own_frame():
    entry, mask = masks()
    frame = np.full((12, 20, 3), 50, np.uint8)
    np.testing.assert_array_equal((draw_mask(frame, entry, 0) != frame).any(axis=-1), mask)
    np.testing.assert_array_equal(draw_mask(frame, entry, 2), frame)  # not looked at
    np.testing.assert_array_equal(draw_mask(frame, entry, 4), frame)  # out of view


def test_a_track_ends_where_the_subject_left():
    entry, _ = masks()
    frame = np.zeros((12, 20, 3), np.uint8)
    assert draw_track(frame, entry, 0).any()
    assert draw_track(frame, entry, 4)[:2].sum() == 0


def test_faces_between_sampled_frames_say_which_frame_they_are_from():
    box = np.array([[60, 40, 90, 80]] * 2, float)
    entry = made_artifacts.faces(np.array([0, 8]), box, np.array([0, 0]), sampled_frames=(0, 8, 16))
    frame = np.zeros((120, 320, 3), np.uint8)
    at, near = draw_faces(frame, entry, 8), draw_faces(frame, entry, 9)
    assert at.any() and (near != 0).sum() > (at != 0).sum()
    assert not draw_faces(frame, entry, 16).any()  # looked at, nobody there


def test_equal_frames_have_a_black_difference_and_near_is_bright():
    frame = np.full((8, 8, 3), 90, np.uint8)
    assert difference_picture(frame, frame).max() < 5
    assert difference_picture(frame, frame + 100).mean() > 150
    depth = np.full((1, 8, 8), 9.0, np.float32)
    depth[0, :, :4] = 1.0
    picture = depth_picture(frame, Depth(depth=depth, frame_index=np.array([0])), 5)
    assert picture[:, :3].mean() > picture[:, 5:].mean()
