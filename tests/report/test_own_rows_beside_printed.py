"""Own rows beside a paper's printed rows: which numbers stand where, who measured them, and that LaTeX takes the table."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from lookback.api import run_params
from lookback.cli.app import app
from lookback.errors import UsageError
from lookback.media import encode
from lookback.published import load
from lookback.report.beside import PAPER, STAND_IN, WHO, own_tables, printed_tables, tables_named
from lookback.tables import SCHEMAS, read_table, write_table
from made_runs import made_run
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A MemoBench run of two clips, scored with PSNR and object consistency (an embedded network)."""
    import lookback

    folder = tmp_path_factory.mktemp("clips")
    random = np.random.default_rng(0)
    truth = random.integers(0, 255, (8, 9, 16, 3), dtype=np.uint8).repeat(8, 1).repeat(8, 2)
    noise = random.integers(0, 40, truth.shape, dtype=np.uint8)
    for name, frames in (("gt", truth), ("near", truth), ("far", truth // 2 + noise)):
        encode(folder / f"Yard_001_{name}.mp4", frames, 8.0)
    metrics = ["memobench.psnr", "memobench.object_identity"]
    return lookback.evaluate(folder, metrics=metrics, output=tmp_path_factory.mktemp("out") / "mine").params


@pytest.fixture(scope="module")
def joined(run):
    """MemoBench's table 2 with the rows of that run."""
    (table,) = tables_named("memobench-2", [run], with_published=True)
    return table


@pytest.fixture
def made_once(monkeypatch):
    """The own tables of a run are made once, and not anew for every table that is asked for."""
    made = {}

    def own(params):
        folder = params.paths.root
        if folder not in made:
            made[folder] = own_tables(params)
        return made[folder]

    monkeypatch.setattr("lookback.report.beside.own_tables", own)


def test_printed_and_own_numbers_stand_in_one_table(run, joined):
    table = joined
    printed = load("memobench_table2_3")
    rows = table.frame[table.frame[WHO] == PAPER]
    assert list(rows["model"]) == list(printed["model"]) and list(rows["PSNR"]) == list(printed["psnr"])
    own = table.frame[table.frame[WHO] == "run mine"].set_index("model")
    scored = pd.read_parquet(run.paths.tables / "gated.parquet").query("metric == 'memobench.psnr' and phase == ''")
    assert own["PSNR"].to_dict() == pytest.approx(scored.set_index("model_id")["value"].to_dict())
    assert own["CamCtrl"].isna().all() and set(own.index) == {"near", "far"}


def test_every_number_says_who_measured_it_and_with_what(joined):
    table = joined
    assert table.suffixes is not None
    own, paper = (table.suffixes[(table.frame[WHO] == PAPER) == is_paper] for is_paper in (False, True))
    assert (
        not own["PSNR"].str.contains(STAND_IN).any()
        and not paper.apply(lambda column: column.str.contains(STAND_IN)).to_numpy().any()
    )
    shown = table.frame.loc[own.index, "ObjConsist"].notna()
    assert (own["ObjConsist"].str.contains(STAND_IN) == shown).all()
    notes = " ".join(table.notes)
    assert "memobench_table2_3.csv" in notes and "PSNR: variant paper, no model." in notes and "features=" in notes


def test_no_note_counts_clips_that_a_column_does_not_show(tmp_path):
    """The clips have a PSNR as a whole, and none while the subject is visible or after its return."""
    run = made_run(tmp_path / "mine", {("a", "s1"): 20.0, ("a", "s2"): 24.0}, "memobench.psnr", "memobench")
    (table,) = tables_named("memobench-s6", [run], with_published=False)
    notes = " ".join(table.notes)
    assert table.frame["PSNR V"].isna().all() and "PSNR V n 0;" in notes and "2 of 2" not in notes


def test_best_is_marked_among_rows_of_one_origin(joined):
    best = joined.frame[joined.marks["PSNR"] == "best"]
    assert list(best["model"]) == ["Stable Virtual Camera"], "one clip per model: no own row is marked, as in the run's table"


def scored(folder, start: float, metric: str = "wrbench.visual_integrity"):
    """A run of two models with eight scenes each; their means are 0.5 apart, their values nearly equal."""
    values = {(model, f"s{k}"): start + 0.5 * place + 1e-5 * k for place, model in enumerate(("a", "b")) for k in range(8)}
    return made_run(folder, values, metric)


def own_rows(table, name: str) -> pd.DataFrame:
    return table.frame[table.frame[WHO] == f"run {name}"]


def test_own_rows_keep_the_marks_and_digits_of_their_own_table(tmp_path, made_once):
    run = scored(tmp_path / "mine", 0.2354)
    (table,) = tables_named("wrbench-2", [run], with_published=True)
    (alone,) = tables_named("wrbench-2", [run], with_published=False)
    rows = own_rows(table, "mine").index
    assert list(table.marks.loc[rows, "Integ."]) == list(alone.marks["Integ."]) == ["", "best"]
    cells = [table._plain_cells("Integ.")[row] for row in rows]
    assert cells == alone._plain_cells("Integ.") == ["0.24‡ [0.24, 0.24]", "0.74‡ [0.74, 0.74]"]
    assert table.texts("Integ.")[0] == "0.740", "printed numbers keep the paper's digits"


def test_the_rows_of_several_runs_say_whose_they_are_without_printed_rows_too(tmp_path):
    runs = [scored(tmp_path / name, 0.2) for name in ("one", "two")]
    tables = tables_named("wrbench-2", runs, with_published=False)
    assert [table.to_csv().splitlines()[1].split(",")[0] for table in tables] == ["run one", "run two"]
    assert [table.id for table in tables] == ["wrbench-2-1", "wrbench-2-2"], "LaTeX takes every label once"
    assert all(line.startswith("run two ") for line in tables[1].to_text().splitlines()[3:5])


def test_an_average_of_stand_ins_is_one(tmp_path):
    run = scored(tmp_path / "mine", 0.2)
    folder, dimensions = run.paths.tables, ("cam_align", "visual_integrity", "visible_spatial", "visible_state")
    own = read_table(folder, "gated")
    every = [own.assign(metric=f"wrbench.{name}") for name in (*dimensions, "reobserved_spatial", "reobserved_state")]
    write_table(folder, "gated", pd.concat(every, ignore_index=True))
    (table,) = tables_named("wrbench-2", [run], with_published=True)
    averages = dict(zip(table.frame["model"], table._plain_cells("avg"), strict=True))
    assert averages["a"] == "0.20‡" and averages["b"] == "0.70‡" and not averages["Gen3C"].endswith(STAND_IN)


def test_what_a_simulated_judge_answered_is_not_marked(tmp_path):
    run = scored(tmp_path / "mine", 0.2, "wrbench.support")
    folder = run.paths.tables
    for name in ("items", "gated"):
        write_table(folder, name, read_table(folder, name).assign(backend="simulated"))
    numbers = {"repeat": 0, "frame": 0, "value": 1.0, "confidence": 1.0}
    columns = list(SCHEMAS["judgements"].columns)
    answer = dict.fromkeys(columns, "") | numbers | {"benchmark": "wrbench", "judge": "simulated", "simulated": True}
    write_table(folder, "judgements", pd.DataFrame([answer])[columns])
    assert not own_tables(run)["wrbench-2"][0].marks["Support %"].any()
    (table,) = tables_named("wrbench-2", [run], with_published=True)
    assert not table.marks.loc[own_rows(table, "mine").index, "Reobs. support"].any()
    assert table.suffixes.loc[own_rows(table, "mine").index, "Reobs. support"].str.contains(STAND_IN).all()
    notes = " ".join(table.notes)
    assert "Nothing is marked in Reobs. support: a simulated judge" in notes and "Support %" not in notes


def test_runs_of_one_name_are_all_there_and_named_by_their_folders(tmp_path, monkeypatch, made_once):
    monkeypatch.chdir(tmp_path)
    runs = [scored(tmp_path / "one" / "out", 0.1), scored(tmp_path / "two" / "out", 0.3), scored(tmp_path / "other", 0.2)]
    (table,) = tables_named("wrbench-2", [*runs, runs[0]], with_published=True)
    assert list(dict.fromkeys(table.frame[WHO])) == [PAPER, "run one/out", "run two/out", "run other"]
    assert len(own_rows(table, "one/out")) == 2, "a folder given twice is one run"
    assert len(tables_named("wrbench-2", runs, with_published=False)) == 3


def test_notes_of_the_own_table_stay_and_name_the_shown_columns(tmp_path, made_once):
    runs = [scored(tmp_path / name, 0.2, "wrbench.support") for name in ("x", "y")]
    (alone,) = tables_named("wrbench-2", runs[:1], with_published=False)
    assert any(note.startswith("† sparse") for note in alone.notes) and len(set(alone.notes)) == len(alone.notes)
    assert any(note.startswith("Scored clips: ") and "Support % n 16 of 16" in note for note in alone.notes)
    (table,) = tables_named("wrbench-2", runs, with_published=True)
    notes = "\n".join(table.notes)
    assert notes.count("run x, run y: † sparse") == 1 and "Reobs. support n 16 of 16" in notes
    assert "run y (lookback" in notes and ", Reobs. support: variant paper" in notes and "Support %" not in notes


def test_every_printed_table_can_be_printed_with_every_format(run, made_once):
    assert len(printed_tables()) >= 19
    for name in printed_tables():
        for table in tables_named(name, [run], with_published=True):
            assert len(table.frame) and all((table.to_csv(), table.to_text(), table.to_markdown(), table.to_html()))
            assert table.to_latex().count(r"\begin{table}") == table.to_latex().count(r"\end{table}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed here")
def test_latex_compiles_the_joined_table(joined, tmp_path):
    document = "\n".join(
        [r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}", joined.to_latex(), r"\end{document}"]
    )
    (tmp_path / "page.tex").write_text(document)
    done = subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-800:]
    assert "Overfull" not in done.stdout and (tmp_path / "page.pdf").stat().st_size > 10_000


def test_the_command_lists_names_writes_files_and_names_its_mistakes(run, tmp_path):
    listed = CliRunner().invoke(app, ["table"]).output
    assert all(f"{name} " in listed for name in printed_tables())
    call = ["table", "memobench-2", "--run", str(run.paths.root), "--with-published", "--format", "csv", "--output"]
    done = CliRunner().invoke(app, [*call, str(tmp_path / "t.csv")])
    assert done.exit_code == 0, done.output
    written = pd.read_csv(tmp_path / "t.csv")
    assert set(written[WHO]) == {PAPER, "run mine"}
    with pytest.raises(UsageError, match="did you mean 'memobench-2'"):
        tables_named("memobench2", [run], with_published=False)
    with pytest.raises(UsageError, match="--with-published"):
        tables_named("wrbench-2", [run], with_published=False)
    assert tables_named("wrbench-4", [run], with_published=True)[0].id == "wrbench-4-quoted"


def test_a_name_that_no_paper_knows_is_told_before_missing_scores(tmp_path):
    unscored = run_params(str(tmp_path / "new"), 1, {})
    with pytest.raises(UsageError, match=r"No paper has a table 'memobench-22'.* 'new' has no scores.*did you mean 'memobench-2'"):
        tables_named("memobench-22", [unscored], with_published=False)
    with pytest.raises(UsageError, match="The run 'new' has no scores"):
        tables_named("memobench-2", [unscored], with_published=False)
