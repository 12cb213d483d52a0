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
from lookback.report.beside import PAPER, STAND_IN, WHO, printed_tables, tables_named
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


def test_printed_and_own_numbers_stand_in_one_table(run):
    (table,) = tables_named("memobench-2", [run], with_published=True)
    printed = load("memobench_table2_3")
    rows = table.frame[table.frame[WHO] == PAPER]
    assert list(rows["model"]) == list(printed["model"]) and list(rows["PSNR"]) == list(printed["psnr"])
    own = table.frame[table.frame[WHO] == "run mine"].set_index("model")
    scored = pd.read_parquet(run.paths.tables / "gated.parquet").query("metric == 'memobench.psnr' and phase == ''")
    assert own["PSNR"].to_dict() == pytest.approx(scored.set_index("model_id")["value"].to_dict())
    assert own["CamCtrl"].isna().all() and set(own.index) == {"near", "far"}


def test_every_number_says_who_measured_it_and_with_what(run):
    (table,) = tables_named("memobench-2", [run], with_published=True)
    assert table.suffixes is not None
    own, paper = (table.suffixes[(table.frame[WHO] == PAPER) == is_paper] for is_paper in (False, True))
    assert (
        not own["PSNR"].str.contains(STAND_IN).any()
        and not paper.apply(lambda column: column.str.contains(STAND_IN)).to_numpy().any()
    )
    shown = table.frame.loc[own.index, "ObjConsist"].notna()
    assert (own["ObjConsist"].str.contains(STAND_IN) == shown).all()
    notes = " ".join(table.notes)
    assert "memobench_table2_3.csv" in notes and "PSNR: variant paper, no model, 2 of 2 clips" in notes and "features=" in notes


def test_best_is_marked_among_rows_of_one_origin(run):
    (table,) = tables_named("memobench-2", [run], with_published=True)
    best = table.frame[table.marks["PSNR"] == "best"]
    assert list(best["model"]) == ["Stable Virtual Camera", "near"]


def test_every_printed_table_can_be_printed_with_every_format(run):
    assert len(printed_tables()) >= 19
    for name in printed_tables():
        for table in tables_named(name, [run], with_published=True):
            assert len(table.frame) and all((table.to_csv(), table.to_text(), table.to_markdown(), table.to_html()))
            assert table.to_latex().count(r"\begin{table}") == table.to_latex().count(r"\end{table}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed here")
def test_latex_compiles_the_joined_table(run, tmp_path):
    (table,) = tables_named("memobench-2", [run], with_published=True)
    document = "\n".join(
        [r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}", table.to_latex(), r"\end{document}"]
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
