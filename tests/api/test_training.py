"""A training loop: which steps are scored, what loggers get, and that the real packages can read it back."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.errors import CannotWrite, UsageError
from lookback.media import encode
from lookback.training import PREFIX, MemoryCallback, TensorBoardLogger, WandbLogger, failure_strips, step_numbers

METRIC = "wrbench.visual_integrity"
NUMBERS = {f"{PREFIX}/{METRIC}": 0.5, f"{PREFIX}/{METRIC}/n": 2.0}
STRIP = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)


class Kept:
    """A logger that keeps what it is given."""

    def __init__(self):
        self.steps, self.closed = {}, False

    def log(self, step, numbers, pictures):
        self.steps[step] = (dict(numbers), dict(pictures))

    def close(self):
        self.closed = True


@pytest.fixture
def undrawn(monkeypatch):
    """Neither failures nor the curve are drawn, for tests that are not about figures."""
    monkeypatch.setattr("lookback.stages._forensics.draw", lambda *_: [])
    monkeypatch.setattr("lookback.checkpoints.draw_curve", lambda *_: "")


def videos(wrong):
    cells = np.random.default_rng(1).integers(0, 255, (2, 6, 9, 16, 3), dtype=np.uint8)
    steady = cells[:, [0] * 6]
    return (cells if wrong else steady).repeat(8, 2).repeat(8, 3)


def test_every_second_step_is_scored_and_logged(tmp_path, undrawn):
    kept, made = Kept(), []
    callback = MemoryCallback(tmp_path / "out", metrics=[METRIC], loggers=[kept], every=10, strips=2)

    def sample(step):
        made.append(step)
        return videos(wrong=step == 0)

    for step in range(11):
        callback(step, lambda step=step: sample(step))
    callback.close()
    assert made == [0, 10] and sorted(kept.steps) == [0, 10] and kept.closed
    first, last = (kept.steps[step][0][f"{PREFIX}/{METRIC}"] for step in (0, 10))
    assert first < last and kept.steps[10][0][f"{PREFIX}/{METRIC}/n"] == 2
    curve = pd.read_csv(tmp_path / "out" / "curve.csv")
    assert list(curve["step"]) == [0, 10] and curve["mean"].tolist() == pytest.approx([first, last])
    assert kept.steps[0][0] == step_numbers(tmp_path / "out", 0) | {f"{PREFIX}/clips_with_failures": len(kept.steps[0][1])}
    for picture in kept.steps[0][1].values():
        assert picture.dtype == np.uint8 and picture.shape[2] == 3


def test_the_clearest_failures_become_strips(tmp_path, monkeypatch):
    MemoryCallback(tmp_path / "out", metrics=[METRIC], strips=0)(5, videos(wrong=False))
    run = tmp_path / "out" / "checkpoints" / "step-5"
    clips = pd.read_parquet(run / "tables" / "clips.parquet")[["benchmark", "setting", "model_id", "clip_id"]]
    found = clips.assign(label="cut", confidence=[0.6, 0.9], frame_start=2, frame_end=4, rule="", evidence="")
    monkeypatch.setattr("lookback.evaluation.Result.failures", lambda self: pd.concat([found, found.assign(confidence=0.1)]))
    count, pictures = failure_strips(run, 2)
    assert count == 2 and list(pictures) == [f"{PREFIX}/failure_1", f"{PREFIX}/failure_2"]
    assert failure_strips(run, 1)[1].keys() == {f"{PREFIX}/failure_1"}
    height, width, _ = pictures[f"{PREFIX}/failure_1"].shape
    assert width == 6 * (128 + 4) and height == 72 + 22


def test_a_step_that_cannot_be_scored_is_recorded_and_training_goes_on(tmp_path):
    kept = Kept()
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.txt").write_text("no video")
    done = MemoryCallback(tmp_path / "out", metrics=[METRIC], loggers=[kept])(3, tmp_path / "clips")
    assert done["problem"] and not kept.steps
    assert json.loads((tmp_path / "out" / "checkpoints.json").read_text())["step-3"]["problem"]


def full_disk(*_):
    raise CannotWrite("Cannot write it: No space left on device")


def test_a_full_disk_does_not_stop_the_training(tmp_path, monkeypatch):
    callback = MemoryCallback(tmp_path / "out", metrics=[METRIC])
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="step 3: .*not recorded: .*No space left"):
        patch.setattr("lookback.checkpoints.write_text", full_disk)
        done = callback(3, {})
    assert "not recorded" in done["problem"] and (done["step"], done["rows"], done["scored"], done["replaced"]) == (3, 0, 0, 0)
    kept = Kept()
    callback.loggers.append(kept)
    monkeypatch.setattr(callback, "_scored", lambda *_: {"problem": ""})
    monkeypatch.setattr("lookback.training.load_run", lambda _: None)
    monkeypatch.setattr("lookback.evaluation.Result.failures", full_disk)
    with pytest.warns(UserWarning, match="step 4: its failures could not be looked for"):
        assert "No space left" in callback(4, {})["problem"]
    assert kept.steps == {4: ({}, {})}  # no number of failures that nobody counted


def test_a_logger_without_room_on_its_disk_does_not_stop_the_training(tmp_path, monkeypatch):
    class Full:
        def log(self, *_):
            raise OSError(28, "No space left on device")

        def close(self):
            self.log()

    kept = Kept()
    callback = MemoryCallback(tmp_path, metrics="folder.cuts", loggers=[Full(), kept], strips=0)
    monkeypatch.setattr(callback, "_scored", lambda *_: {"problem": ""})
    with pytest.warns(UserWarning, match="step 4: Full could not write it: .*No space left"):
        assert "No space left" in callback(4, {})["problem"]
    with pytest.warns(UserWarning, match="Full could not be closed: .*No space left"):
        callback.close()
    assert kept.steps == {4: ({}, {})} and kept.closed


def test_wrong_settings_are_one_sentence(tmp_path):
    for wrong in ({"every": 0}, {"workers": -1}, {"strips": -1}, {"fps": 0}, {"fps": float("nan")}):
        with pytest.raises(UsageError, match=next(f"{name}={value}" for name, value in wrong.items())):
            MemoryCallback(tmp_path, **wrong)
    with pytest.raises(UsageError, match="needs a folder"):
        TensorBoardLogger()


def test_tensorboard_reads_the_numbers_and_the_picture_back(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logger = TensorBoardLogger(tmp_path / "tb")
    logger.log(7, NUMBERS, {f"{PREFIX}/failure_1": STRIP})
    logger.log(14, {name: value + 1 for name, value in NUMBERS.items()}, {})
    logger.close()
    events = EventAccumulator(str(tmp_path / "tb")).Reload()
    read = {name: [(event.step, event.value) for event in events.Scalars(name)] for name in events.Tags()["scalars"]}
    assert read == {name: [(7, value), (14, value + 1)] for name, value in NUMBERS.items()}
    (image,) = events.Images(f"{PREFIX}/failure_1")
    assert (image.step, image.height, image.width) == (7, 40, 60)


def records(path):
    """The records of an offline run: LevelDB's log form (blocks of 32 KiB; crc, length, kind) after a header of 7 bytes."""
    content, place, parts = path.read_bytes(), 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        parts += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


def test_weights_and_biases_keeps_the_numbers_and_the_picture_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: pip install wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB__SERVICE_WAIT", "600")  # its service starts as a process: minutes on a busy machine
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "600")
    logger = WandbLogger(project="lookback", dir=str(tmp_path), settings=wandb.Settings(console="off"))
    logger.log(7, NUMBERS, {f"{PREFIX}/failure_1": STRIP})
    logger.log(14, NUMBERS, {})
    folder = Path(logger.run.dir)
    logger.close()
    assert len(list(folder.rglob("failure_1*.png"))) == 1
    (log,) = folder.parent.glob("*.wandb")
    steps = []
    for data in records(log):
        record = Record.FromString(data)
        if record.HasField("history"):
            steps.append({item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item})
    assert [row[f"{PREFIX}/{METRIC}"] for row in steps] == [0.5, 0.5] and [row["_step"] for row in steps] == [7, 14]
    assert steps[0][f"{PREFIX}/failure_1/_type"] == "image-file"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"m/a": videos(wrong=False)[0] / 255.0}, "array"),
        ("empty", "no known layout"),
        ("missing", "no such file"),
        ({}, "no videos"),
        (lambda: None, "array"),
        ({"m/" + "x" * 300: videos(wrong=False)[0]}, "no name of a clip"),
        ({"m/a\0b": videos(wrong=False)[0]}, "no name of a clip"),
        ([[[1, 2], [3]]], "ValueError"),
    ],
)
def test_videos_that_cannot_be_scored_are_a_recorded_problem(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    kept = Kept()
    done = MemoryCallback("out", metrics=METRIC, loggers=[kept])(3, given)
    recorded = json.loads((tmp_path / "out" / "checkpoints.json").read_text())["step-3"]
    assert said in done["problem"] == recorded["problem"] and recorded["step"] == 3 and not kept.steps


def test_a_wrong_metric_or_layout_is_told_before_the_training(tmp_path):
    with pytest.raises(UsageError, match=r"did you mean 'wrbench\.visual_integrity'"):
        MemoryCallback(tmp_path, metrics=["wrbench.visual_integrty"])
    with pytest.raises(UsageError, match="no layout 'wrbnch'"):
        MemoryCallback(tmp_path, layout="wrbnch")


def test_files_are_taken_as_evaluate_takes_them_without_a_word(tmp_path, monkeypatch, capfd, undrawn):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "other"):
        encode(tmp_path / "clips" / f"{name}.mp4", videos(wrong=False)[0], 8.0)
    callback = MemoryCallback("out", metrics=["folder.cuts"], strips=0)
    for step, given, clips in ((-1, "clips/a.mp4", ["a"]), (10, ["clips/a.mp4", "clips/b.mp4"], ["a", "b"])):
        done = callback(step, given)
        assert (done["problem"], done["step"], done["scored"]) == ("", step, 1)
        scored = pd.read_parquet(f"out/checkpoints/step-{step}/tables/gated.parquet")
        assert sorted(scored["clip_id"]) == clips
    shown = capfd.readouterr()
    assert shown.out == "" and "scoring" not in shown.err
    MemoryCallback("out", metrics=["folder.cuts"], strips=0, progress=True)(11, "clips")
    shown = capfd.readouterr()
    assert "videos match" in shown.out and "scoring" in shown.err
