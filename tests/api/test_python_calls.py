"""`lookback.evaluate`: what it takes, what it gives, and what it says about a wrong call."""

import gc
import json
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import lookback
import numpy as np
import pandas as pd
import pytest
from lookback.api import adapter_registry, aggregator_registry, run_eval
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.media import encode, open_video
from lookback.params import load_run
from typer.testing import CliRunner

METRIC = "wrbench.visual_integrity"
QUICK = "folder.cuts"  # needs no network, for tests that are not about scores
EDGE = 8


def frames(seed, steady=True, n=6):
    cells = np.random.default_rng(seed).integers(0, 255, (n, 9, 16, 3), dtype=np.uint8)
    return (cells[[0] * n] if steady else cells).repeat(EDGE, 1).repeat(EDGE, 2)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Two models with two clips each, given as arrays."""
    clips = {f"{model}/scene{n}": frames(n, steady) for model, steady in (("calm", True), ("wild", False)) for n in range(2)}
    return lookback.evaluate(clips, metrics=[METRIC], output=tmp_path_factory.mktemp("given"))


def test_importing_the_package_brings_neither_torch_nor_notebooks_nor_pandas():
    code = "import sys, lookback; print([m for m in ('torch', 'pandas', 'IPython', 'papermill', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        lookback.evalute  # noqa: B018


def test_frames_in_memory_are_scored_without_loss(result):
    assert repr(result) == "Result(clips 4, models 2, metrics 1, scores 4, missing 0, rejected 0)"
    stored = result.params.paths.root / "datasets" / "given" / "wild" / "scene1.mkv"
    with open_video(stored) as video:
        assert np.array_equal(video.read(list(range(6))), frames(1, steady=False))


def test_the_frames_of_the_result_are_tidy(result):
    assert len(result.items) == 4 and result.items["value"].between(0, 1).all() and set(result.items["unit"]) == {"score"}
    scores = result.scores.set_index("model_id")
    assert scores.loc["calm", "mean"] == pytest.approx(1.0) and scores.loc["wild", "mean"] < scores.loc["calm", "mean"]
    own = result.items[result.items["model_id"] == "wild"]["value"]
    assert scores.loc["wild", "mean"] == pytest.approx(own.mean()) and list(scores["n"]) == [2, 2]
    assert set(result.units["metric"]) == {METRIC} and result.rejected.empty and len(result.clips) == 4


def test_the_table_prints_as_text_markdown_html_and_latex_with_the_same_numbers(result):
    table = result.table()
    shown = f"{table.frame['visual_integrity'].iloc[0]:.3f}"
    assert shown == "1.000"
    for text in (str(table), table.to_markdown(), table._repr_html_(), result.to_latex()):
        assert shown in text and "calm" in text and "features=" in text.replace(r"\allowbreak{}", "")
    assert repr(table) == str(table), "a prompt shows the same"
    lines = str(table).splitlines()
    assert lines[2].split() == ["model", "visual_integrity", "↑"] and lines[3].endswith(shown)
    assert f"**{shown}**" in table.to_markdown() and rf"\textbf{{{shown}}}" in result.to_latex()
    assert "[" in str(result.table(intervals=True)) or result.scores["ci_low"].isna().all()


def test_failures_and_the_page(result, tmp_path, capfd):
    found = result.failures()
    assert {"clip_id", "label", "frame_start", "evidence"} <= set(found.columns)
    entry = result.report(tmp_path / "deep" / "page.html")
    pages = {path: path.read_text() for path in [entry, *(tmp_path / "deep" / "page").glob("*.html")]}
    assert "calm" in pages[entry] and len(pages) > 3 and capfd.readouterr().out == ""
    for path, text in pages.items():
        for source in re.findall(r'<(?:script|link|img|video)[^>]+(?:src|href|poster)="(?!data:)([^"]+)', text):
            assert (path.parent / source).is_file(), (path.name, source)
        assert "page.html" in text or path == entry


@pytest.mark.parametrize("path", ["", "page", "page.pdf"])
def test_a_report_that_is_no_html_file_is_one_sentence_and_writes_nothing(result, tmp_path, path):
    with pytest.raises(UsageError, match=r"name an HTML file, for example .*\.html"):
        result.report(tmp_path / path, failures=False)
    assert not list(tmp_path.iterdir())


def test_a_second_evaluation_into_the_same_folder_has_its_own_failures(tmp_path, monkeypatch):
    monkeypatch.setattr("lookback.stages._forensics.draw", lambda *_: [])
    for name in ("first", "second"):
        found = lookback.evaluate({f"m/{name}": frames(1, steady=False, n=12)}, metrics=QUICK, output=tmp_path)
        assert set(found.failures()["clip_id"]) == {name}


def test_a_result_stays_as_it_was_when_a_later_call_writes_to_its_folder(tmp_path):
    first, second = (lookback.evaluate({f"m/{name}": frames(1)}, metrics=QUICK, output=tmp_path) for name in ("first", "second"))
    for found, name in ((first, "first"), (second, "second")):
        assert set(found.clips["clip_id"]) == set(found.items["clip_id"]) == {name}
    for call in (first.failures, lambda: first.report(tmp_path / "page.html")):
        with pytest.raises(UsageError, match="shows a later call; give every call an `output` of its own"):
            call()


def test_the_folder_shows_the_last_call_says_so_and_nothing_is_measured_twice(tmp_path, capfd):
    encode(tmp_path / "clips" / "a.mp4", frames(1), 8.0)
    metrics, folder = ["folder.cuts", "folder.steady_light", METRIC], tmp_path / "out" / "metrics"

    def scored(*names):
        lookback.evaluate(tmp_path / "clips", metrics=names, output=tmp_path / "out", progress=True)
        written = json.loads((tmp_path / "out" / "results.json").read_text())["metrics"]
        assert set(written) == {path.name for path in folder.iterdir() if not (path / "mine.txt").exists()} == set(names)
        return capfd.readouterr().out

    assert "replaces" not in scored(*metrics)
    (folder / METRIC / "mine.txt").touch()
    measured = tmp_path / "out" / "timings" / "scoring.csv"
    measured.unlink()
    assert f"this replaces the earlier results of 2 other metrics in {tmp_path / 'out'}\n" in scored("folder.cuts")
    assert [path.name for path in (folder / METRIC).iterdir()] == ["mine.txt"], "what somebody else put there stays"
    (folder / METRIC / "mine.txt").unlink()
    assert "replaces" not in scored(*metrics) and not measured.exists()


def test_a_current_folder_that_cannot_be_written_does_not_stop_an_evaluation(tmp_path, monkeypatch):
    """The hashes of the clips are kept there for the next call; without them the clips are read again."""
    (tmp_path / "outputs").touch()  # a file, so that even root cannot write below it
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    monkeypatch.setattr("lookback.hashcache.SETTLED_NS", -1)
    found = lookback.evaluate(frames(1), metrics=QUICK, output=tmp_path / "run")
    assert found.items["value"].tolist() == [0.0]


def test_an_adapter_takes_one_name_as_it_is_and_refuses_a_limit_of_none(tmp_path):
    encode(tmp_path / "alpha" / "a.mp4", frames(1), 8.0)
    encode(tmp_path / "beta" / "b.mp4", frames(1), 8.0)
    adapter = adapter_registry.get("folder-dir")
    assert [item.model_id for item in adapter.load(tmp_path, models="beta")] == ["beta"]
    with pytest.raises(UsageError, match="limit=0"):
        adapter.load(tmp_path, limit=0)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    encode(tmp_path / "clips" / "a.mp4", frames(1), 8.0)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "elsewhere")
    for videos in ("~/clips", ["~/clips/a.mp4"]):
        assert list(lookback.evaluate(videos, metrics=QUICK, output="~/scores").clips["clip_id"]) == ["a"]
    assert (tmp_path / "scores" / "results.json").is_file()
    items = adapter_registry.get("folder-dir").load("~/clips")
    run_eval(items, ["folder.cuts"], aggregator_registry.get("mean"), "~/items", workers=1, quiet=True)
    call = ["--metrics", "folder.cuts", "--workers", "1", "--quiet"]
    done = CliRunner().invoke(app, ["eval", "~/clips", "--output", "~/called", *call], catch_exceptions=False)
    assert done.exit_code == 0 and all((tmp_path / name / "eval.log").is_file() for name in ("items", "called"))
    assert load_run("~/called").paths.root == tmp_path / "called"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_results_inside_the_dataset_are_refused_unless_the_clips_are_named(tmp_path):
    encode(tmp_path / "clips" / "a.mp4", frames(1), 8.0)
    inside = tmp_path / "clips" / "results"
    with pytest.raises(UsageError, match=rf"read its pictures as clips; name a folder outside {tmp_path / 'clips'}"):
        lookback.evaluate(tmp_path / "clips", metrics=QUICK, output=inside)
    assert not inside.exists()
    found = lookback.evaluate(tmp_path / "clips" / "a.mp4", metrics=QUICK, output=inside)
    assert list(found.clips["clip_id"]) == ["a"]


def test_one_file_a_list_of_files_and_a_folder_of_frames(tmp_path):
    (tmp_path / "clips" / "deep" / "er").mkdir(parents=True)
    for name in ("a", "b", "other", "deep/er/c"):
        encode(tmp_path / "clips" / f"{name}.mp4", frames(1), 8.0)
    chosen = [tmp_path / "clips" / "a.mp4", str(tmp_path / "clips" / "b.mp4")]
    listed = lookback.evaluate(chosen, metrics=QUICK)
    assert sorted(listed.clips["clip_id"]) == ["a", "b"] and set(listed.clips["model_id"]) == {"clips"}
    pictures = tmp_path / "rendered" / "film"
    pictures.mkdir(parents=True)
    for number, frame in enumerate(frames(2)):
        cv2.imwrite(str(pictures / f"{number:04d}.png"), frame)
    alone = lookback.evaluate(pictures, metrics=METRIC)
    assert list(alone.clips["clip_id"]) == ["film"]
    assert list(alone.items["reason"]) == ["missing_input"]  # this metric needs a frame rate, which pictures do not have


def test_a_file_that_cannot_be_a_clip_is_told_with_its_own_reason(tmp_path):
    (tmp_path / "empty.mp4").touch()
    for suffix in ("mkv", "mp4"):
        encode(tmp_path / f"film.{suffix}", frames(2), 8.0)
    for name, said in (("empty.mp4", "is empty"), ("film.mp4", "the clip id 'film' .* occurs a second time")):
        with pytest.raises(UsageError, match=said):
            lookback.evaluate(tmp_path / name, metrics=QUICK)


def test_files_of_a_dataset_keep_their_ground_truth(tmp_path):
    """The released flat form: {clip}_{model} beside {clip}_gt. Only the file that is named is scored."""
    for name, seed in (("Yard_001_one", 1), ("Yard_001_two", 2), ("Yard_001_gt", 1)):
        encode(tmp_path / f"{name}.mp4", frames(seed), 8.0)
    found = lookback.evaluate([tmp_path / "Yard_001_one.mp4"], benchmark="memobench", metrics="memobench.psnr")
    assert list(found.clips["model_id"]) == ["one"] and found.scores["mean"].min() > 40
    whole = lookback.evaluate(tmp_path, metrics="memobench.psnr").scores.query("phase == ''").set_index("model_id")
    assert list(whole.index) == ["one", "two"] and whole["mean"]["one"] > whole["mean"]["two"]


def test_a_tensor_and_a_stack_of_clips():
    torch = pytest.importorskip("torch")
    stack = torch.from_numpy(np.stack([frames(1), frames(2)]))
    assert list(lookback.evaluate(stack, metrics=QUICK).clips["clip_id"]) == ["clip0", "clip1"]
    with pytest.raises(UsageError, match=r"uint8, not \(6, 72, 128, 3\) of torch.bfloat16"):
        lookback.evaluate(stack[0].bfloat16(), metrics=QUICK)


@pytest.mark.parametrize(
    ("videos", "more", "said"),
    [
        ("nowhere", {}, "no such file"),
        (["nowhere.mp4"], {}, "no such file"),
        (frames(1).astype(float), {}, "must be an array"),
        ({"a/b/c": frames(1)}, {}, "is no name of a clip"),
        ({"../a": frames(1)}, {}, "is no name of a clip"),
        ({"a": "clip.mp4"}, {}, "list of paths"),
        ([frames(1), "clip.mp4"], {}, "'clip1' is a path among frames in memory"),
        ("", {}, "path of the videos is empty"),
        ([], {}, "no videos"),
        (frames(1), {"benchmark": "memobench"}, "Frames in memory"),
        (frames(1), {"benchmark": "memobnch"}, "memobench"),
        (frames(1), {"metrics": "wrbench.visual_integrty"}, "did you mean"),
        ({"given/a": frames(1), "a": frames(2)}, {}, "'given/a' is the name of more than one clip"),
        (frames(1)[:, :0], {}, r"'clip0': frames must be an array .*, not \(6, 0, 128, 3\) of uint8"),
        (frames(1), {"judge": None}, "'judging.judge' has the bad value None"),
        (frames(1), {"metrics": 3}, "^lookback.evaluate: 'scoring.metrics.0' has the bad value 3"),
        (frames(1), {"profile": "fast"}, "^lookback.evaluate: 'profile' has the bad value 'fast'.*'embedded', 'paper' or 'auto'"),
        (frames(1), {"judge": "me"}, "no judge 'me'"),
    ],
)
def test_a_wrong_call_is_one_sentence(videos, more, said):
    with pytest.raises(UsageError, match=said) as caught:
        lookback.evaluate(videos, **more)
    assert "\n" not in str(caught.value)


def test_a_metric_without_scores_has_one_column_with_its_reason(tmp_path):
    encode(tmp_path / "Yard_001_one.mp4", frames(1), 8.0)
    encode(tmp_path / "Yard_002_gt.mp4", frames(1), 8.0)
    found = lookback.evaluate(tmp_path, benchmark="memobench", metrics="memobench.psnr")
    table = found.table()
    assert list(table.frame.columns) == ["model", "psnr"] and pd.isna(table.frame["psnr"][0]) and "missing" in str(table).lower()


def test_evaluations_in_several_threads_do_not_disturb_each_other(capfd):
    before = sys.stdout
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda seed: lookback.evaluate({f"m/c{seed}": frames(seed)}, metrics=QUICK), range(3)))
    assert [list(each.items["clip_id"]) for each in found] == [["c0"], ["c1"], ["c2"]]
    assert sys.stdout is before and capfd.readouterr().out == ""


def test_a_pickled_result_without_an_output_keeps_its_frames():
    found = lookback.evaluate({"m/c": frames(1)}, metrics=QUICK)
    folder, shown, written = found.params.paths.root, repr(found), pickle.dumps(found)
    scores = found.scores
    del found
    gc.collect()
    assert not folder.exists(), "it goes away with its result"
    copy = pickle.loads(written)  # noqa: S301, written three lines above
    assert repr(copy) == shown and copy.scores.equals(scores) and "cuts" in str(copy.table()) and len(copy.units) >= 0
    for call in (copy.failures, lambda: copy.report("page.html")):
        with pytest.raises(UsageError, match="give evaluate an `output`"):
            call()


@pytest.mark.long
def test_a_result_that_lives_to_the_end_of_the_program_leaves_no_folder_and_no_warning():
    code = (
        "import lookback, numpy\n"
        "frames = numpy.zeros((4, 64, 64, 3), numpy.uint8)\n"
        "kept = lookback.evaluate({'m/c': frames}, metrics='folder.cuts')\n"
        "print(kept.params.paths.root)"
    )
    call = [sys.executable, "-W", "always::ResourceWarning", "-c", code]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "ResourceWarning" not in done.stderr and not Path(done.stdout.strip()).parent.exists()


@pytest.mark.parametrize("name", ["m/" + "x" * 300, "m/a\0b", "m/a\nb"])
def test_a_name_that_no_file_can_have_is_one_sentence(name):
    with pytest.raises(UsageError, match="is no name of a clip"):
        lookback.evaluate({name: frames(1)})


def test_frames_are_not_written_into_somebody_elses_folder(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds files that are not of a run"):
        lookback.evaluate(frames(1), metrics=QUICK, output=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
