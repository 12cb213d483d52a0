"""The section about claims: first those that do not agree, then those that cannot be recomputed, then those that agree."""

from __future__ import annotations

import pandas as pd

from lookback.published.claims import AGREES, CANNOT, DISAGREES, Verdict
from lookback.report.page import Report, Section
from lookback.report.published.figures import claims_figure
from lookback.report.table import PaperTable

TITLES = {
    DISAGREES: ("claims-disagree", "Claims that do not agree with the paper's own tables"),
    CANNOT: ("claims-open", "Claims that cannot be recomputed from what is printed, and why"),
    AGREES: ("claims-agree", "Claims that agree"),
}
CONCLUSIONS = {
    DISAGREES: "Each is a sentence to correct, to narrow, or to explain; the remark says what the tables have.",
    CANNOT: "These would need the votes, the per-model values of a figure, or a table body that is not in the text at hand.",
    AGREES: "Within the rounding of print. A name or an order agrees when it is the same.",
}


def section(report: Report, verdicts: list[Verdict]) -> Section:
    """A figure and three tables."""
    fragments = [
        report.figure(
            claims_figure(verdicts),
            "claims",
            f"{len(verdicts)} claims of the four papers by outcome. Orange does not agree with the paper's own table; grey cannot "
            f"be recomputed.",
        )
    ]
    for status in (DISAGREES, CANNOT, AGREES):
        fragment = f'<div class="claims">{report.prose_table(claims_table(verdicts, status))}</div>'
        fragments.append(
            fragment if status != AGREES else f"<details><summary>Every claim that agrees</summary>{fragment}</details>"
        )
    return Section(
        "claims",
        "Claims checked against the papers' own tables",
        "Each sentence with a number (or an order) that printed tables can confirm: quoted, recomputed, tolerance. A number marked "
        "(implied) follows from the sentence without being printed in it.",
        fragments,
    )


def claims_table(verdicts: list[Verdict], status: str) -> PaperTable:
    """The claims with one outcome."""
    table_id, title = TITLES[status]
    chosen = [verdict for verdict in verdicts if verdict.status == status]
    frame = pd.DataFrame([_row(verdict) for verdict in chosen])
    if status == CANNOT:
        frame = frame[["paper", "where", "sentence", "quoted", "remark"]].rename(columns={"remark": "why"})
    return PaperTable(table_id, f"{title} (n = {len(chosen)})", frame, list(frame.columns), conclusion=CONCLUSIONS[status])


def _row(verdict: Verdict) -> dict[str, str]:
    claim = verdict.claim
    quoted = claim.quoted if claim.relation == "equals" else f"{claim.relation} {claim.quoted}"
    return {
        "paper": claim.paper,
        "where": claim.where,
        "sentence": claim.sentence,
        "quoted": f"{quoted} (implied)" if claim.implied else quoted,
        "recomputed": verdict.recomputed_text,
        "tolerance": "" if not verdict.tolerance else f"± {verdict.tolerance:.2g}",
        "remark": claim.why or claim.note,
    }
