"""The section that compares the benchmarks: shared models, their orders, and which dimensions correlate."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from lookback.published.comparison import WITHIN, convergence, convergence_test, dimension_matrix, order_agreement
from lookback.published.printed import ranked_papers
from lookback.published.ranks import overall_ranks
from lookback.published.register import CONSTRUCTS, dimensions, scores, shared_models
from lookback.report.page import Report, Section
from lookback.report.published.figures import blocks_figure, matrix_figure, shared_figure
from lookback.report.table import PaperTable


def section(report: Report) -> Section:
    """Shared models, their orders, and the matrix of dimensions."""
    matrix = dimension_matrix()
    fragments = [report.table(shared_table()), report.figure(*shared_places()), report.prose_table(order_table())]
    fragments += [report.prose_table(construct_table())]
    fragments.append(
        report.figure(
            matrix_figure(matrix),
            "dimension_matrix",
            "Every printed dimension against every other (less-is-better turned round). Within a paper n is its number of "
            "models (MBench: "
            "its 6 action-conditioned ones, MemoBench 10, WRBench 23, CamPrec 16); across papers only 3 (MBench / MemoBench) or 4 "
            "(MemoBench / WRBench) models are shared. Outlined cells should be red if dimensions of the same construct measured "
            "the same "
            "thing.",
        )
    )
    fragments.append(
        report.figure(
            blocks_figure(matrix),
            "dimension_blocks",
            "The two blocks across papers with enough shared models, as numbers. Outlined: same construct (convergent). With 3 "
            "models a rho "
            "is one of -1, -0.5, 0.5, 1 by the order alone; none of these cells can reach p < 0.05.",
        )
    )
    fragments.append(report.table(summary_table(matrix)))
    fragments.append(f"<details><summary>Every cell across papers</summary>{report.table(cells_table(matrix))}</details>")
    return Section(
        "crossing",
        "Do the benchmarks agree?",
        "Models that stand in more than one paper, matched by stated checkpoint or citation. n is small, and is printed "
        "everywhere with the "
        "smallest p it allows.",
        fragments,
    )


def finding() -> str:
    """The comparison in one sentence, with its n."""
    agreement = order_agreement().query("construct == 'overall'").set_index("papers")
    parts = ", ".join(f"{papers} rho {row.rho:.1f} (n = {row.n})" for papers, row in agreement.iterrows() if row.n > 2)
    test = convergence_test()
    return (
        f"The benchmarks share too few models to confirm one another: {parts}. Dimensions meant to measure the same thing do "
        f"not agree more "
        f"across papers than others do (difference of mean rho {test['gap']:.2f}, exact p {test['p']:.2f}; the smallest "
        f"possible is "
        f"{test['smallest_p']:.3f})."
    )


def shared_table() -> PaperTable:
    """Models that appear in two papers or more."""
    frame = shared_models()
    frame[list(ranked_papers())] = frame[list(ranked_papers())].fillna("")
    return PaperTable(
        "shared-models",
        "Models that stand in more than one paper, with the names they have there",
        frame,
        ["model", *ranked_papers()],
        notes=[
            "WRBench's 'Lingbot World Act' is another checkpoint and is left out here; MIND prints no results in the text at hand."
        ],
    )


def shared_places() -> tuple[Figure, str, str]:
    """The figure of the shared models' overall places."""
    places = {}
    for paper in ranked_papers():
        values = scores(paper).dropna(axis=1, how="all")
        ranked = overall_ranks(values)["mean_rank"]
        shares = pd.Series([float((ranked > own).sum()) / (len(ranked) - 1) for own in ranked], index=ranked.index)
        places[paper] = shares[[model for model in shares.index if model in set(shared_models()["model"])]]
        places[paper].attrs["n"] = len(values)
    caption = (
        "Shared models: the share of a paper's models each outranks by mean rank over that paper's dimensions (MBench: its six "
        "action-conditioned models). Lines that cross are orders the papers do not agree on."
    )
    return shared_figure(places), "shared_models", caption


def order_table() -> PaperTable:
    """Orders of the shared models, overall and per construct."""
    frame = order_agreement()
    frame = frame.rename(columns={"order_a": "order in the first", "order_b": "order in the second", "smallest_p": "smallest p"})
    frame = frame[
        ["papers", "construct", "order in the first", "order in the second", "n", "rho", "tau", "p", "smallest p", "note"]
    ]
    labels = ["papers", "construct", "order in the first", "order in the second", "note"]
    return PaperTable(
        "order-agreement",
        "Do two papers put their shared models in the same order? By mean rank over the dimensions of a construct",
        frame,
        labels,
        {"rho": 2, "tau": 2, "p": 2, "smallest p": 3},
        notes=[
            "p: two-sided, every order of the models enumerated. 'Smallest p' is what complete agreement would give: with four "
            "models "
            "0.083, so no row can be significant at 5 %."
        ],
        conclusion="MBench and MemoBench put their three shared models in the same overall order; MemoBench and WRBench tend to "
        "the opposite. "
        "Neither could be told from chance with so few models.",
    )


def construct_table() -> PaperTable:
    """Which construct we assign to each dimension."""
    listed = dimensions()
    headers = listed.groupby(["paper", "construct"])["header"].agg(", ".join)
    cells = {paper: [headers.get((paper, name), "") for name in CONSTRUCTS] for paper in ranked_papers()}
    frame = pd.DataFrame({"construct": list(CONSTRUCTS), "asks": list(CONSTRUCTS.values()), **cells})
    return PaperTable(
        "constructs",
        "Which dimensions are taken to measure the same construct",
        frame,
        list(frame.columns),
        notes=["This assignment is ours, made from the papers' definitions before the correlations were computed."],
    )


def summary_table(matrix: pd.DataFrame) -> PaperTable:
    """Convergent and discriminant cells compared."""
    test = convergence_test()
    return PaperTable(
        "convergence",
        "Agreement between dimensions of the same construct (convergent) and of different ones (discriminant)",
        convergence(matrix),
        ["papers", "kind", "n_models"],
        headers={"n_models": "models (n)", "mean_rho": "mean rho", "smallest_rho": "smallest", "largest_rho": "largest"},
        notes=[
            f"Exact test over {test['relabellings']} relabellings of the shared models: convergent minus discriminant mean rho "
            f"{test['gap']:.3f}, one-sided p {test['p']:.3f}, smallest possible p {test['smallest_p']:.4f}. Cells are not "
            f"independent; the "
            "test takes that into account, the means do not."
        ],
        conclusion="If the papers measured the same constructs, convergent cells would lie clearly above discriminant ones. They "
        "do not: each "
        "benchmark's dimensions follow that benchmark's models and clips more than a shared construct, as far as so few models "
        "can show.",
    )


def cells_table(matrix: pd.DataFrame) -> PaperTable:
    """All cells across papers, strongest first."""
    across = matrix[matrix["kind"] != WITHIN]
    across = across.assign(size=across["rho"].abs()).sort_values(["kind", "size"], ascending=[True, False], kind="stable")
    columns = ["paper_a", "column_a", "paper_b", "column_b", "construct_a", "construct_b", "kind", "n", "rho", "smallest_p"]
    missing = pd.DataFrame({"rho": ["fewer than three shared models"] * len(across)})
    return PaperTable(
        "dimension-cells",
        "Every pair of dimensions across papers",
        across[columns].reset_index(drop=True),
        [name for name in columns if name not in {"n", "rho", "smallest_p"}],
        {"rho": 2, "smallest_p": 3},
        missing=missing,
    )
