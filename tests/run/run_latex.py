"""The report's LaTeX compiles on an ordinary page: every table of a finished run in one document, no paper table too wide."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from time_limits import HUNG_S

DOCUMENT = r"""\documentclass{article}
\usepackage[a4paper,margin=1in]{geometry}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
%s
\end{document}
"""
PAPERS = ("mbench-", "memobench-", "wrbench-", "mind-")
MOST_PT = 1.0  # what a table may stand out of the line


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex (Debian package texlive-latex-recommended)")
def test_every_table_compiles_and_paper_tables_fit_the_page(finished: Path, tmp_path: Path):
    tables = sorted((finished / "tables" / "report").glob("*.tex"))
    assert len(tables) >= 20
    body = "\n".join(f"\\typeout{{TABLE {table.stem}}}\n\\input{{{table.resolve()}}}\n\\clearpage" for table in tables)
    (tmp_path / "all.tex").write_text(DOCUMENT % body)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=HUNG_S)
    assert compiled.returncode == 0, compiled.stdout[-1500:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
    said = dict(re.findall(r"TABLE (\S+)\n(.*?)(?=TABLE |\Z)", compiled.stdout, re.S))
    papers = {name: text for name, text in said.items() if name.startswith(PAPERS)}
    assert len(papers) >= 15
    wide = {name: found for name, text in papers.items() if (found := re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide", text))}
    assert {name: found for name, found in wide.items() if max(map(float, found)) > MOST_PT} == {}
