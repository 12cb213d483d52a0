"""Names with signs of LaTeX and Markdown, and from any alphabet, in both forms of a table."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from lookback.report.table import LATEX, LATIN, PaperTable, latex_escape
from time_limits import HUNG_S

SIGNS = ["αβγδεζηθικλμνξοπρστυφχψω ς ϕ", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", "√2 ≈ 1.4 ∞ − ∑∂∇ x² H₂O µ ≠ ∈ ℓ ★", "Ж-net Модель"]
SIGNS += ["模型 A", "🚀 fast", "é e\u0301 ß Ł ą đ «x» “q” … — № €", "a\u200bb\xa0c\xad", "ά ∛ ⟨x⟩", "\x07bell"]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex (Debian package texlive-latex-recommended)")
@pytest.mark.parametrize("fonts", ["", r"\usepackage[T1]{fontenc}"])
def test_latex_compiles_whatever_a_model_is_called(tmp_path: Path, fonts: str):
    every = ["".join(LATEX), LATIN[:120], LATIN[120:]]
    frame = pd.DataFrame({"model": [*SIGNS, *every], "x": 1.0})
    table = PaperTable("t", SIGNS[3], frame, ["model"], notes=[*SIGNS, *every])
    head = rf"\documentclass{{article}}{fonts}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    (tmp_path / "t.tex").write_text("\n".join([head, table.to_latex(), r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=HUNG_S)
    assert done.returncode == 0, done.stdout[-800:]
    assert "Missing character" not in (tmp_path / "t.log").read_text(errors="replace")


def test_latex_spells_signs_that_its_fonts_lack():
    assert latex_escape("σ_√2 é") == r"$\sigma$\_$\surd$2 é"
    assert latex_escape("Ж1 模型") == r"\texttt{U+0416}1 \texttt{U+6A21 U+578B}"
    assert latex_escape("e\u0301") == "é"
    table = PaperTable("t", "T", pd.DataFrame({"model": ["模" * 20], "x": [1.0]}), ["model"])
    assert "p{" in table.to_latex(), "the column is as wide as the spelled name"


def test_markdown_shows_names_as_they_are_and_marks_outside_them():
    names = ["__init__", "*a*", "~~old~~", "model_a_v_b", "_x"]
    table = PaperTable("t", "*T*", pd.DataFrame({"model": names, "*v*": [3.0, 2.0, 1.0, 0.5, 0.1]}), ["model"], notes=["* n_b"])
    table.marks = pd.DataFrame({"*v*": ["best", "second", "", "", ""]})
    table.suffixes = pd.DataFrame({"*v*": ["*", "", "", "", ""]})
    text = table.to_markdown()
    assert r"| \_\_init\_\_ | **3.00\*** |" in text and r"| \*a\* | _2.00_ |" in text
    assert r"| \~\~old\~\~ |" in text and "| model_a_v_b |" in text and r"| \_x |" in text
    assert text.startswith(r"**\*T\***") and r"| model | \*v\* |" in text and r"- \* n_b" in text
