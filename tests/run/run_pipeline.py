"""The DAG for real: a small demo world through every notebook, then what is redone when, and what a kill leaves behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from installed_wheel import Installed, run
from lookback.cli import main
from lookback.errors import StageError
from lookback.hashcache import HashCache
from lookback.params import RunParams, load_run
from lookback.paths import project_root
from lookback.pipeline import STAGES, Pipeline, stage_named
from lookback.pipeline.freshness import changed
from small_run import settings
from time_limits import HUNG_S, wait_until


def stale(params: RunParams) -> set[str]:
    hashes = HashCache.of_project()
    return {stage.name for stage in STAGES if changed(stage, params, hashes)}


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "tables").glob("*.parquet"))}


def extraction(python: str | Path, folder: Path, *more: str) -> list[str]:
    chosen = [part for setting in settings(folder, *more) for part in ("--set", setting)]
    return [str(python), "-m", "lookback", "report", "--stage", "extraction", *chosen]


def test_every_stage_leaves_its_notebook_and_tables(finished: Path):
    for stage in STAGES:
        copy = nbformat.read(finished / "notebooks" / f"{stage.notebook}.ipynb", as_version=4)
        assert any(cell.outputs for cell in copy.cells if cell.cell_type == "code")
        for table in stage.writes:
            assert (finished / "tables" / f"{table}.parquet").is_file()
    assert re.search(r"<title>Verdict[^<]*lookback", (finished / "report.html").read_text())
    assert (finished / "provenance.json").is_file()


def test_every_notebook_that_draws_holds_its_pictures(finished: Path):
    """Figures are pictures in the executed copy, not the words `<Figure size ...>`, and no list is left dead in it."""
    drawing = 0
    for stage in STAGES:
        copy = nbformat.read(finished / "notebooks" / f"{stage.notebook}.ipynb", as_version=4)
        code = [cell for cell in copy.cells if cell.cell_type == "code"]
        shown = [output["data"] for cell in code for output in cell.outputs if "data" in output]
        assert not [data for data in shown if re.match(r"<?Figure\b", data.get("text/plain", "")) and "image/png" not in data]
        assert not [data for data in shown if "application/vnd.jupyter.widget-view+json" in data]
        if any(re.search(r"\b(show|show_saved|browse|Image|figure)\(", cell.source) for cell in code):
            drawing += 1
            assert any("image/png" in data for data in shown), stage.notebook
    assert drawing >= 7


def test_a_second_call_does_nothing(finished: Path):
    before = (finished / "report.html").stat().st_mtime_ns
    overrides = settings(finished)
    assert Pipeline(load_run("demo", overrides), "demo", overrides).run() == []
    assert (finished / "report.html").stat().st_mtime_ns == before


def test_another_seed_redoes_everything_a_report_parameter_only_the_report(finished: Path):
    assert stale(load_run("demo", settings(finished))) == set()
    assert stale(load_run("demo", settings(finished, "seed=8"))) == {stage.name for stage in STAGES}
    assert stale(load_run("demo", settings(finished, "report.title=Another"))) == {"report"}
    assert stale(load_run("demo", settings(finished, "forensics.max_cases=3"))) == {"forensics"}
    assert stale(load_run("demo", settings(finished, "description=Another"))) == {"report"}
    assert stale(load_run("demo", settings(finished, "scoring.resamples=300"))) == {"report"}
    others = {"scoring", "judging", "agreement", "forensics", "audit", "report"}
    assert stale(load_run("demo", settings(finished, "scoring.variant=official"))) == others


def test_a_file_that_the_clips_table_only_names_counts_by_its_content(finished: Path):
    """A trajectory beside a video is no column of any table, and its metric must see the new one."""
    params, file = load_run("demo", settings(finished)), next((finished / "datasets").rglob("*.target_c2w.npy"))
    original = file.read_bytes()
    file.write_bytes(original[:-8] + bytes(8))
    try:
        assert {"curation", "extraction", "scoring", "judging", "forensics"} <= stale(params)
    finally:
        file.write_bytes(original)
    assert stale(params) == set()


def test_rows_that_failed_are_tried_again(finished: Path):
    params, note = load_run("demo", settings(finished)), finished / "stages" / "extraction.json"
    original = note.read_text()
    assert json.loads(original)["failed"] == 0
    note.write_text(json.dumps(json.loads(original) | {"failed": 2}))
    try:
        assert changed(stage_named("extraction"), params, HashCache.of_project()) == "2 row(s) failed the last time"
    finally:
        note.write_text(original)


def test_content_counts_not_timestamps(finished: Path):
    params = load_run("demo", settings(finished))
    table = finished / "tables" / "artifacts.parquet"
    os.utime(table, (1, 1))
    assert stale(params) == set()
    original = table.read_bytes()
    table.write_bytes(original[:-1])
    try:
        assert {"extraction", "scoring", "judging"} <= stale(params)
    finally:
        table.write_bytes(original)


# without notebooks, which may not change a byte; the sweeps write none of these tables
ONCE_MORE = """
import sys
from lookback import stages
from lookback.params import load_run
params = load_run("demo", [*sys.argv[1:], "scoring.sweeps=false"])
for stage in (stages.curation, stages.extraction, stages.scoring, stages.judging):
    stage(params)
"""


def test_two_runs_write_the_same_bytes(finished: Path, installed: Installed, study: Path, tmp_path: Path):
    once = tables(finished)
    aside = tmp_path / "aside"
    shutil.move(finished, aside)
    try:
        run([str(installed.bin / "python"), "-c", ONCE_MORE, *settings(finished)], study, installed.environment)
        again = tables(finished)
        assert {"clips.parquet", "truth.parquet", "artifacts.parquet", "units.parquet", "gated.parquet"} <= set(again)
        assert [name for name in again if again[name] != once[name]] == []
    finally:
        shutil.rmtree(finished, ignore_errors=True)
        shutil.move(aside, finished)


def test_a_killed_run_goes_on_where_it_was(finished: Path, study: Path, tmp_path: Path, installed: Installed):
    """The runner is killed in the middle of extraction: its notebook, kernel and workers follow, and the next call finishes.

    The table is the undisturbed run's, and nothing that was finished is made again. Masks and poses of ten clips are to be made.
    """
    aside, missing = tmp_path / "aside", [finished / "artifacts" / role for role in ("masks", "pose")]
    shutil.copytree(finished, aside)
    try:
        for folder in missing:
            shutil.rmtree(folder)
        for name in ("extraction", "scoring"):
            (finished / "stages" / f"{name}.json").unlink()
        place = {"cwd": study, "env": installed.environment}  # other libraries would make other arrays
        call = extraction(installed.bin / "cold-python", finished, "workers=2")  # a warm one has no children of its own
        running = subprocess.Popen(call, stderr=subprocess.DEVNULL, **place)

        def under_way() -> bool:
            return any(path for folder in missing for path in folder.rglob("[!.]*.json")) or running.poll() is not None

        wait_until(under_way, "nothing is made")
        assert running.poll() is None, "the stage ended before it could be killed"
        family = psutil.Process(running.pid).children(recursive=True)
        assert len(family) >= 2, "a notebook's process and its kernel at least"
        running.kill()
        running.wait()
        # whoever waits is found here, and whoever works on, by the number of artifacts below
        assert psutil.wait_procs(family, timeout=HUNG_S)[1] == [], "somebody still lives for a runner that is gone"
        assert not (finished / "stages" / "extraction.json").exists()
        kept = {path: path.stat().st_mtime_ns for path in (finished / "artifacts").rglob("[!.]*.json")}
        assert len(kept) < len(list((aside / "artifacts").rglob("[!.]*.json"))), "it was not killed in the middle"
        subprocess.run(extraction(installed.bin / "python", finished), check=True, capture_output=True, **place)
        assert tables(finished)["artifacts.parquet"] == tables(aside)["artifacts.parquet"]
        assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items()), "finished artifacts were made again"
    finally:
        shutil.rmtree(finished)
        shutil.move(aside, finished)


def test_a_failing_cell_names_stage_cell_and_error(
    finished: Path, tmp_path: Path, warm_python: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "executable", warm_python)
    folder = tmp_path / "broken"
    shutil.copytree(finished / "tables", folder / "tables")
    overrides = settings(folder, "curation.filters.models=[nobody]")
    with pytest.raises(StageError, match=r"10_curation failed in the cell '.+': .*nobody"):
        Pipeline(load_run("demo", overrides), "demo", overrides).run(stage_named("curation"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--run", "dmeo"], "did you mean 'demo'?"),
        (["--set", "sede=8"], "unknown key 'sede' (value 8); did you mean 'seed'?"),
        (["--set", "seed=-1"], "'seed' has the bad value -1"),
        (["--stage", "extracton"], "did you mean 'extraction'?"),
        (["--run", "folder", "--stage", "curation", "--set", "curation.sources=[{root: not/here}]"], "not/here"),
    ],
)
def test_a_wrong_call_gets_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    warm_python: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(sys, "executable", warm_python)
    output = tmp_path / "out"
    monkeypatch.chdir(project_root())
    monkeypatch.setattr(sys, "argv", ["lookback", "report", *arguments, "--set", f"output={output}"])
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, interrupted)
    assert ended.value.code in (1, 2)
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert not list(output.rglob("*.parquet"))
