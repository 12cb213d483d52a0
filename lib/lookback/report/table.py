"""A paper table: the numbers once, rendered to HTML, CSV and LaTeX from the same cells."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lookback.files import write_text

DASH = "–"


@dataclass
class PaperTable:
    """One table in a paper's shape. `frame` holds labels and plain numbers; the other frames say more about single cells."""

    id: str  # e.g. "mbench-2"; file name and anchor
    title: str
    frame: pd.DataFrame
    labels: list[str]  # the columns that name a row
    digits: dict[str, int] = field(default_factory=dict)  # per number column; default 2
    marks: pd.DataFrame | None = None  # "best", "second" or "" per number cell
    missing: pd.DataFrame | None = None  # why a cell is empty
    suffixes: pd.DataFrame | None = None  # printed after the number: a dagger, an interval
    links: pd.DataFrame | None = None  # where a cell leads in the report
    notes: list[str] = field(default_factory=list)  # footnotes: n, coverage, backend, variant
    reading: str = ""  # what the table says, in plain words
    headers: dict[str, str] = field(default_factory=dict)  # shown instead of column names
    better: dict[str, bool] = field(default_factory=dict)  # per number column that ranks models: is more better?

    @property
    def numbers(self) -> list[str]:
        return [column for column in self.frame.columns if column not in self.labels]

    def text(self, row: int, column: str) -> str:
        """A cell as printed: the number with its digits, or a dash."""
        value = self.frame[column].iloc[row]
        if column in self.labels:
            return "" if pd.isna(value) else str(value)
        if pd.isna(value):
            return DASH
        if isinstance(value, str):
            return value
        if pd.api.types.is_integer_dtype(self.frame[column].dtype):
            return f"{int(value):,}"
        return f"{float(value):.{self.digits.get(column, 2)}f}"

    def header(self, column: str) -> str:
        return self.headers.get(column, column)

    def _extra(self, frame: pd.DataFrame | None, row: int, column: str) -> str:
        if frame is None or column not in frame.columns:
            return ""
        value = frame[column].iloc[row]
        return "" if pd.isna(value) else str(value)

    def to_html(self) -> str:
        """The table as an HTML fragment."""
        head = "".join(
            f'<th scope="col"{" class=label" if column in self.labels else ""}>{html.escape(self.header(column))}</th>'
            for column in self.frame.columns
        )
        body = "\n".join(f"<tr>{self._html_row(row)}</tr>" for row in range(len(self.frame)))
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        reading = f'<p class="reading">{html.escape(self.reading)}</p>' if self.reading else ""
        return (
            f'<figure class="table" id="{html.escape(self.id)}"><figcaption>{html.escape(self.title)}</figcaption>'
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f'{reading}<ul class="notes">{notes}</ul></figure>'
        )

    def _html_row(self, row: int) -> str:
        cells = []
        for column in self.frame.columns:
            text = html.escape(self.text(row, column))
            if column in self.labels:
                cells.append(f'<th scope="row">{text}</th>')
                continue
            suffix = html.escape(self._extra(self.suffixes, row, column))
            mark = self._extra(self.marks, row, column)
            why = self._extra(self.missing, row, column)
            link = self._extra(self.links, row, column)
            inner = f"{text}{f'<small>{suffix}</small>' if suffix else ''}"
            inner = f'<a href="{html.escape(link)}">{inner}</a>' if link else inner
            title = f' title="{html.escape(why)}"' if why and text == DASH else ""
            cells.append(f'<td class="{mark}"{title}>{inner}</td>')
        return "".join(cells)

    def to_csv(self) -> str:
        """Full-precision numbers, one header line; missing cells empty."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def to_latex(self) -> str:
        """A booktabs table: best in bold, second underlined."""
        columns = "l" * len(self.labels) + "r" * len(self.numbers)
        head = " & ".join(latex_escape(self.header(column)) for column in self.frame.columns)
        rows = [
            " & ".join(self._latex_cell(row, column) for column in self.frame.columns) + r" \\" for row in range(len(self.frame))
        ]
        notes = " ".join(latex_escape(note if note.endswith(".") else f"{note}.") for note in self.notes)
        return "\n".join(
            [
                r"\begin{table}[t]",
                r"\centering\small",
                rf"\caption{{{latex_escape(self.title)}}}",
                rf"\label{{tab:{self.id}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head + r" \\",
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                *([rf"\par\footnotesize {notes}"] if notes else []),
                r"\end{table}",
                "",
            ]
        )

    def _latex_cell(self, row: int, column: str) -> str:
        text = latex_escape(self.text(row, column)) + latex_escape(self._extra(self.suffixes, row, column))
        mark = self._extra(self.marks, row, column)
        return {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(mark, text)

    def save(self, folder: Path) -> list[Path]:
        """Write `<id>.csv`, `<id>.tex` and `<id>.html`."""
        files = {".csv": self.to_csv(), ".tex": self.to_latex(), ".html": self.to_html()}
        for suffix, content in files.items():
            write_text(folder / f"{self.id}{suffix}", content)
        return [folder / f"{self.id}{suffix}" for suffix in files]


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "†": r"$^{\dagger}$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "τ": r"$\tau$",
    "ρ": r"$\rho$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "°": r"$^{\circ}$",
    "×": r"$\times$",
    "<": r"$<$",
    ">": r"$>$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def latex_escape(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def mark_best(
    frame: pd.DataFrame, numbers: list[str], higher_is_better: dict[str, bool], groups: pd.Series | None = None
) -> pd.DataFrame:
    """Best and second-best per column within each group, equal values sharing a mark; a group of one gets none."""
    marks = pd.DataFrame("", index=frame.index, columns=numbers)
    keys = groups if groups is not None else pd.Series("", index=frame.index)
    for _, rows in frame.groupby(keys.to_numpy(), sort=False).groups.items():
        for column in numbers:
            values = pd.to_numeric(frame.loc[rows, column], errors="coerce").dropna()
            if len(values) < 2:
                continue
            ranks = values.rank(method="min", ascending=not higher_is_better.get(column, True))
            marks.loc[ranks.index[ranks == 1], column] = "best"
            if (ranks == 1).sum() == 1:
                marks.loc[ranks.index[ranks == 2], column] = "second"
    return marks
