"""The report's LaTeX compiles: every table of a finished run in one document."""

import shutil
import subprocess
from pathlib import Path

import pytest

DOCUMENT = r"""\documentclass{article}
\usepackage[a2paper,landscape]{geometry}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\begin{document}
%s
\end{document}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex (Debian package texlive-latex-recommended)")
def test_every_table_compiles(finished: Path, tmp_path: Path):
    tables = sorted((finished / "tables" / "report").glob("*.tex"))
    assert len(tables) >= 20
    body = "\n".join(f"\\input{{{table.resolve()}}}\n\\clearpage" for table in tables)
    (tmp_path / "all.tex").write_text(DOCUMENT % body)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=120)
    assert compiled.returncode == 0, compiled.stdout[-1500:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
