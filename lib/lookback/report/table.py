"""A paper table, written as HTML, CSV and LaTeX from the same cells."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from lookback.files import write_text
from lookback.names import markdown_text
from lookback.tables import csv_text

DASH = "–"
MANY, WIDE = 10, 20  # a table with more columns is shown in smaller letters; with still more, printed in tiny ones
PAGE_PT = 345  # LaTeX: text width of an article without other settings; wider tables are shrunk if they do not fit
CHARACTER_PT, GAP_PT = 5, 12  # LaTeX: generous widths of one character and of the space between columns
PAGE_ROWS = 45  # LaTeX: rows per page; a longer table is split
LONG_TEXT = 40  # longer text is set in several lines; in LaTeX its column is `TEXT_PT` wide
TEXT_PT = 142


@dataclass
class PaperTable:
    """One table in a paper's shape. `frame` has labels and plain numbers; the other frames add details to single cells."""

    id: str  # e.g. "mbench-2"; file name and anchor
    title: str
    frame: pd.DataFrame
    labels: list[str]  # the columns that name a row
    digits: dict[str, int] = field(default_factory=dict)  # per number column; default 2
    marks: pd.DataFrame | None = None  # "best", "second" or "" per number cell
    missing: pd.DataFrame | None = None  # why a cell is empty
    suffixes: pd.DataFrame | None = None  # printed after the number: a dagger, an interval
    links: pd.DataFrame | None = None  # link target of a cell inside the report
    notes: list[str] = field(default_factory=list)  # footnotes: n, coverage, backend, variant
    conclusion: str = ""  # what the table says, in plain words
    headers: dict[str, str] = field(default_factory=dict)  # shown instead of column names
    better: dict[str, bool] = field(default_factory=dict)  # per number column that ranks models: is more better?
    metrics: dict[str, str] = field(default_factory=dict)  # per number column that shows a metric: its name
    row_metrics: list[str] = field(default_factory=list)  # where each row is about one metric: their names
    cell_digits: pd.DataFrame | None = None  # per number cell, where the rows of a column are printed with different digits

    @property
    def numbers(self) -> list[str]:
        return [column for column in self.frame.columns if column not in self.labels]

    def texts(self, column: str) -> list[str]:
        """The cells of a column as printed: numbers with the column's digits, or a dash."""
        cells = self.frame[column]
        values, absent = cells.tolist(), cells.isna().tolist()
        if column in self.labels:
            return ["" if missing else str(value) for value, missing in zip(values, absent, strict=True)]
        whole = pd.api.types.is_integer_dtype(cells.dtype)

        def printed(value: object, digits: int) -> str:
            return value if isinstance(value, str) else f"{int(value):,}" if whole else f"{float(value):z.{digits}f}"  # type: ignore[call-overload, arg-type]

        places = self.places(column)
        return [DASH if missing else printed(value, digits) for value, missing, digits in zip(values, absent, places, strict=True)]

    def places(self, column: str) -> list[int]:
        """The digits of each cell of a number column."""
        if self.cell_digits is None:
            return [self.digits.get(column, 2)] * len(self.frame)
        return self.cell_digits[column].tolist()

    def header(self, column: str) -> str:
        """The column's name, with an arrow up if more is better and down if less is better."""
        name = self.headers.get(column, column)
        return f"{name} {'↑' if self.better[column] else '↓'}" if column in self.better else name

    def _extras(self, frame: pd.DataFrame | None, column: str) -> list[str]:
        """What a frame of details says about the cells of a column; empty texts where it says nothing."""
        if frame is None or column not in frame.columns:
            return [""] * len(self.frame)
        return ["" if missing else str(value) for value, missing in zip(frame[column], frame[column].isna(), strict=True)]

    def to_html(self, most: int | None = None, tools: str = "") -> str:
        """The table as HTML. With `most`, only that many rows, and a note that says where the others are.

        `tools` is HTML that stands beside the title.
        """
        shown = len(self.frame) if most is None else min(most, len(self.frame))
        told = [] if shown == len(self.frame) else [f"{shown} of {len(self.frame)} rows shown; all in tables/report/{self.id}.csv."]
        head = "".join(
            f'<th scope="col"{" class=label" if column in self.labels else ""}>{html.escape(self.header(column))}</th>'
            for column in self.frame.columns
        )
        cells = zip(*(self._html_cells(column, shown) for column in self.frame.columns), strict=True)
        body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in [*told, *self.notes])
        columns = len(self.frame.columns)
        size = f"{' many' if columns > MANY else ''}{' wide' if columns > WIDE else ''}"
        beside = f'<span class="tools">{tools}</span>' if tools else ""
        conclusion = f'<p class="remark">{html.escape(self.conclusion)}</p>' if self.conclusion else ""
        return (
            f'<figure class="table{size}" id="{html.escape(self.id)}"><figcaption>{html.escape(self.title)}{beside}</figcaption>'
            f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"{conclusion}{f'<ul class=notes>{notes}</ul>' if notes else ''}</figure>"
        )

    def _html_cells(self, column: str, shown: int) -> list[str]:
        texts = [html.escape(text) for text in self.texts(column)[:shown]]
        if column in self.labels:
            return [f'<th scope="row"{" class=prose" if len(text) > LONG_TEXT else ""}>{text}</th>' for text in texts]
        details = (self._extras(frame, column) for frame in (self.suffixes, self.marks, self.missing, self.links))
        return [_html_cell(*cell) for cell in zip(texts, *details, strict=False)]

    def to_text(self) -> str:
        """The table as plain text in columns, with its notes below."""
        cells = [[self.header(column), *self._plain_cells(column)] for column in self.frame.columns]
        widths = [max(map(len, column)) for column in cells]
        left = [column in self.labels for column in self.frame.columns]
        rows = [
            "  ".join(
                text.ljust(width) if label else text.rjust(width) for text, width, label in zip(row, widths, left, strict=True)
            )
            for row in zip(*cells, strict=True)
        ]
        return "\n".join(line.rstrip() for line in [self.title, "", *rows, "", *self.notes])

    def to_markdown(self) -> str:
        """The table in Markdown: the best value in bold, the second in italics, the notes below."""
        signs = {"best": "**", "second": "_"}
        marks = {column: [signs.get(mark, "") for mark in self._extras(self.marks, column)] for column in self.numbers}
        columns = []
        for column in self.frame.columns:
            sides = marks.get(column, [""] * len(self.frame))
            cells = [f"{side}{markdown_text(text)}{side}" for side, text in zip(sides, self._plain_cells(column), strict=True)]
            columns.append([markdown_text(self.header(column)), ":--" if column in self.labels else "--:", *cells])
        rows = ["| " + " | ".join(row) + " |" for row in zip(*columns, strict=True)]
        notes = [f"- {markdown_text(note)}" for note in self.notes]
        return "\n".join([f"**{markdown_text(self.title)}**", "", *rows, "", *notes]) + "\n"

    def _plain_cells(self, column: str) -> list[str]:
        """Every cell of a column with what is printed after its number."""
        suffixes = None if column in self.labels else self.suffixes
        return [text + suffix for text, suffix in zip(self.texts(column), self._extras(suffixes, column), strict=True)]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__  # a prompt shows the table

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_csv(self) -> str:
        """Full-precision numbers, one header line; missing cells empty."""
        return csv_text(self.frame)

    def to_latex(self) -> str:
        """A booktabs table with the best value in bold and the second underlined; a wide table is shrunk (graphicx)."""
        longest = {column: self._longest(column) for column in self.frame.columns}
        prose = {column for column in self.labels if longest[column] > LONG_TEXT}
        widths = [TEXT_PT if column in prose else CHARACTER_PT * longest[column] for column in self.frame.columns]
        wide = sum(widths) + GAP_PT * len(widths) > PAGE_PT
        columns = "".join(
            f"p{{{TEXT_PT}pt}}" if column in prose else "l" if column in self.labels else "r" for column in self.frame.columns
        )
        head = _latex_row(latex_escape(self.header(column)) for column in self.frame.columns)
        cells = zip(*(self._latex_cells(column, column in prose) for column in self.frame.columns), strict=True)
        rows = [_latex_row(row) for row in cells]
        notes = " ".join(latex_breakable(note if note.endswith(".") else f"{note}.") for note in self.notes)
        starts = range(0, max(1, len(rows)), PAGE_ROWS)
        parts = []
        for number, start in enumerate(starts, start=1):
            which = f" ({number} of {len(starts)})" if len(starts) > 1 else ""
            parts += [
                r"\begin{table}[t]",
                r"\centering\small\sloppy",
                rf"\caption{{{latex_breakable(self.title)}{which}}}",
                *([rf"\label{{tab:{self.id}}}"] if start == 0 else []),
                *([SHRUNK] if wide else []),
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head,
                r"\midrule",
                *rows[start : start + PAGE_ROWS],
                r"\bottomrule",
                r"\end{tabular}" + ("}" if wide else ""),
                *([rf"\par\footnotesize {notes}"] if notes and number == len(starts) else []),
                r"\end{table}",
                "",
            ]
        return "\n".join(parts)

    def _longest(self, column: str) -> int:
        """Length of the column's longest cell in characters, as LaTeX sets them."""
        return max(len(UNSET.sub(_code_points, text)) for text in [self.header(column), *self._plain_cells(column)])

    def _latex_cells(self, column: str, prose: bool) -> list[str]:
        escape = latex_breakable if prose else latex_escape
        forms = {"best": r"\textbf{%s}", "second": r"\underline{%s}"}
        details = zip(self.texts(column), self._extras(self.suffixes, column), self._extras(self.marks, column), strict=True)
        return [forms.get(mark, "%s") % (escape(text) + latex_escape(suffix)) for text, suffix, mark in details]

    def save(self, folder: Path) -> list[Path]:
        """Write `<id>.csv`, `<id>.tex` and `<id>.html`."""
        files = {".csv": self.to_csv(), ".tex": self.to_latex(), ".html": replace(self, links=None).to_html()}
        for suffix, content in files.items():
            write_text(folder / f"{self.id}{suffix}", content)
        return [folder / f"{self.id}{suffix}" for suffix in files]


def _latex_row(cells: Iterable[str]) -> str:
    """A row. The rule or `\\\\` before it would take a `[` or `*` at its beginning for its own."""
    row = " & ".join(cells) + r" \\"
    return f"{{}}{row}" if row.lstrip().startswith(("[", "*")) else row


def _html_cell(text: str, suffix: str, mark: str, why: str, link: str) -> str:
    inner = f"{text}{f'<small>{html.escape(suffix)}</small>' if suffix else ''}"
    if link.startswith("#"):  # links stay inside the report
        inner = f'<a href="{html.escape(link)}">{inner}</a>'
    title = f' title="{html.escape(why)}"' if why and text == DASH else ""
    return f'<td class="{mark}"{title}>{inner}</td>'


SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
BREAK = r"\allowbreak{}"
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
    "\xa0": "~",
    "–": "--",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "°": r"$^{\circ}$",
    "<": r"$<$",
    ">": r"$>$",
    "−": "$-$",
    "√": r"$\surd$",
    "ο": "$o$",
    **{sign: f"$^{{{digit}}}$" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{sign: f"$_{{{digit}}}$" for digit, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)),  # Greek capitals that TeX writes with Latin letters
}
MATHEMATICAL = """
    α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda μ mu µ mu ν nu
    ξ xi π pi ρ rho σ sigma ς varsigma τ tau υ upsilon φ varphi ϕ phi χ chi ψ psi ω omega
    Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega
    ± pm ∓ mp × times ÷ div · cdot ⋅ cdot ∗ ast ⋆ star ★ star ∘ circ • bullet ∙ bullet ⊕ oplus ⊗ otimes ⊙ odot
    ≤ leq ≥ geq ≠ neq ≈ approx ≡ equiv ≃ simeq ≅ cong ∼ sim ∝ propto ≪ ll ≫ gg ∈ in ∉ notin ⊂ subset ⊆ subseteq ∪ cup ∩ cap
    ∅ emptyset ∀ forall ∃ exists ¬ neg ∧ wedge ∨ vee ∞ infty ∂ partial ∇ nabla ∑ sum ∏ prod ∫ int ∥ parallel ⊥ perp ∠ angle
    ← leftarrow → rightarrow ↑ uparrow ↓ downarrow ↔ leftrightarrow ⇐ Leftarrow ⇒ Rightarrow ⇔ Leftrightarrow ↦ mapsto ′ prime
    ℓ ell ℏ hbar ℜ Re ℑ Im ℵ aleph △ triangle ◇ diamond ♠ spadesuit ♣ clubsuit ♥ heartsuit ♦ diamondsuit ♭ flat ♯ sharp
"""
LATEX |= {sign: rf"$\{name}$" for sign, name in re.findall(r"(\S) (\w+)", MATHEMATICAL)}
# the Latin letters and signs of an ordinary document; its fonts lack the others
LATIN = "".join(sorted(set(map(chr, range(0xA1, 0x180))) - set("«»\xadÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ"))) + "‐‑‒—―‘’“”…‰€№™"
UNSET = re.compile(f"[^\\t\\n -~{LATIN}{re.escape(''.join(LATEX))}]+")


def latex_escape(text: str) -> str:
    """Text that LaTeX sets as it is; signs that its fonts lack as their code points: U+0416."""
    return _latex(text, "")


def latex_breakable(text: str) -> str:
    """Escaped text with line breaks allowed inside long names (at their separators) and inside checksums."""
    return re.sub(r"[0-9a-f]{24,}", lambda checksum: BREAK.join(re.findall(".{1,8}", checksum[0])), _latex(text, "_=,:/"))


def _latex(text: str, breaks: str) -> str:
    """Escaped text. Lines may break behind the characters `breaks`."""
    parts = re.split(f"({UNSET.pattern})", unicodedata.normalize("NFC", text))
    parts[::2] = ["".join(LATEX.get(sign, sign) + (BREAK if sign in breaks else "") for sign in part) for part in parts[::2]]
    parts[1::2] = [rf"\texttt{{{UNSET.sub(_code_points, part)}}}" for part in parts[1::2]]
    return "".join(parts)


def _code_points(found: re.Match[str]) -> str:
    return " ".join(f"U+{ord(sign):04X}" for sign in found[0])


def bounds_text(low: float, high: float, digits: int) -> str:
    """An interval as it is printed behind its number; empty where there is none."""
    return "" if pd.isna(low) or pd.isna(high) else f" [{low:z.{digits}f}, {high:z.{digits}f}]"


def as_printed(values: pd.Series, digits: int) -> pd.Series:
    """The numbers as a reader sees them, rounded to the column's digits; empty cells are left out."""
    return pd.to_numeric(values, errors="coerce").dropna().map(lambda value: float(f"{value:.{digits}f}"))


def mark_best(
    frame: pd.DataFrame,
    higher_is_better: Mapping[str, bool],
    digits: Mapping[str, int],
    groups: pd.Series | None = None,
) -> pd.DataFrame:
    """Mark the best and second-best printed number of each column within each group. Equal printed numbers get the same mark.

    If all printed numbers are equal, none is marked. The worst number is never marked.
    """
    marks = pd.DataFrame("", index=frame.index, columns=list(higher_is_better))
    keys = groups if groups is not None else pd.Series("", index=frame.index)
    for _, rows in frame.groupby(keys.to_numpy(), sort=False).groups.items():
        for column, more in higher_is_better.items():
            shown = as_printed(frame.loc[rows, column], digits.get(column, 2))
            levels = sorted(shown.unique(), reverse=more)
            if len(levels) < 2:
                continue
            marks.loc[shown.index[shown == levels[0]], column] = "best"
            if len(levels) > 2:
                marks.loc[shown.index[shown == levels[1]], column] = "second"
    return marks
