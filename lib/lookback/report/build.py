"""The report of a run: one method per page, made from the run's tables."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType

import pandas as pd
from plotly import graph_objects as go

from lookback.agreement.show import SHOWN, STUDY, shown
from lookback.artifacts import RunArtifacts
from lookback.benchmark import Benchmark
from lookback.clips import Clip, clips_from_frame
from lookback.curation import benchmark_contents, composition
from lookback.extraction.figures import coverage_table as artifact_coverage
from lookback.figures import saved_figures
from lookback.params import RunParams
from lookback.registry import BENCHMARKS
from lookback.report.behind import Behind
from lookback.report.beside import beside, printed_tables
from lookback.report.cards import card_fragments
from lookback.report.ceiling import Ceiling, ceilings_beside
from lookback.report.failures import failures_html
from lookback.report.figures.drawn import fragment
from lookback.report.figures.paths import camera_paths
from lookback.report.figures.profiles import profile
from lookback.report.figures.statistics import ON_THE_PAGE, interactive_statistics
from lookback.report.findings import findings_html
from lookback.report.leaderboard import DUEL, Leaderboard, leaderboard, mean_ranks, no_boards_html, without_simulated
from lookback.report.missing import missing_html
from lookback.report.page import Report, Section, site_folder
from lookback.report.paper import PaperData
from lookback.report.places import Key, anchor, number_anchor
from lookback.report.sheets import all_sheets
from lookback.report.stage_tables import (
    AUDIT,
    FOUND,
    ROWS,
    TRUSTED,
    audit_reach,
    counts_in_words,
    judged_failures,
    macro_f1_note,
    read_named,
    text_columns,
    whole_counts,
    with_content,
    without_truth,
)
from lookback.report.table import PaperTable
from lookback.report.trust import audit_sentence, audited_failures, audited_metrics, judged_by, without_judged_marks
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.costs import costs
from lookback.scoring.figures import coverage_table
from lookback.scoring.variants import defects_table, not_reproduced, only_chosen, preset_differences
from lookback.tables import empty_table, read_csv, read_table

HOW_TO_READ = """Every number is a link: it leads to the worst clip and frame behind it, and from there into the inspector
(<code>make inspect</code>). A dash leads to the reason why there is no score. Bold on green is best and underlined is second best,
within the groups that the paper uses; nothing is marked where a number comes from one clip or one scene. A score made by an
embedded stand-in is not the paper's score: compare it only with other scores in this report."""
SIMULATED = """This run uses the demo world. Its models are simulated, their failures are injected with known severity, and votes
and judge answers are simulated from that truth. It shows that the workbench works; it says nothing about any real model."""
BENCHMARK_PAGES = "Benchmarks"
FIRST_ROWS = 10  # of a leaderboard on the first page


class ReportBuilder(Report):
    """The report of a run with clips."""

    def __init__(self, params: RunParams):
        super().__init__(params)
        names = ("clips", "rejected", "screen", "truth", "ratings", "artifacts", "units", "gated", "judgements", "failures")
        self.tables = {name: read_table(params.paths.tables, name) for name in names}
        self.clips: dict[Key, Clip] = {clip.key: clip for clip in clips_from_frame(self.tables["clips"])}
        self.items = only_chosen(self.tables["gated"], params)
        answers = self.tables["judgements"]
        self.simulated = frozenset(answers.loc[answers["simulated"].astype(bool), "judge"])  # judges that are simulated
        self.own: dict[str, list[PaperTable]] = {}  # the paper tables of each benchmark
        self.ceilings: list[Ceiling] = []

    def sections(self) -> list[Section]:
        """Every page that has something to say. What a notebook left of a stage that the run does not ask for is not read."""
        with ceilings_beside(self.params) as ceilings:
            papers = self.papers()
            self.ceilings = ceilings()
        boards = self.leaderboards()
        standing = {(board.benchmark, model): words for board in boards for model, words in board.standing().items()}
        parts = [self.verdict(boards), *papers, self.failures(), self.agreement(), self.trust(), self.missing(), self.provenance()]
        parts += self.behind.pages(standing)
        return [part for part in parts if any(part.fragments)]

    def plain(
        self, table_id: str, title: str, frame: pd.DataFrame, labels: list[str], notes: list[str] | None = None, digits: int = 3
    ) -> str:
        """A table of plain columns, no wider than the page."""
        if frame.empty:
            return ""
        numbers = {name: digits for name in frame.columns if name not in labels}
        table = PaperTable(table_id, title, frame.reset_index(drop=True), labels, numbers, notes=notes or [])
        return self.table(table, most=ROWS, fit=True)

    # -- the verdict ------------------------------------------------------------------------------------------------------------
    def leaderboards(self) -> list[Leaderboard]:
        """One per benchmark of the run."""
        path = self.params.paths.tables / "items.parquet"
        ungated = only_chosen(read_table(path.parent, "items"), self.params) if path.is_file() else empty_table("items")
        items, lost = without_simulated(self.items, ungated, self.tables["judgements"], self.simulated)
        real = {part.benchmark: part.items for part in self.ceilings if part.scored}
        facts = with_clip_facts(items, self.tables["clips"])
        boards = []
        for benchmark in self.benchmarks():
            tables = self.own[benchmark.name]
            main = [table for table in tables if table.id in benchmark.profiled] or tables
            metrics = list(dict.fromkeys(table.metrics[name] for table in main for name in table.better if name in table.metrics))
            own = facts[facts["benchmark"] == benchmark.name]
            seed, resamples = self.params.seed, self.params.scoring.resamples
            boards.append(
                leaderboard(benchmark.name, benchmark.title, own, metrics, lost, seed, resamples, real.get(benchmark.name))
            )
        return [board for board in boards if board is not None]

    def verdict(self, boards: list[Leaderboard]) -> Section:
        section = Section("verdict", "Verdict")
        if len(self.tables["truth"]):
            section.fragments.append(f'<p class="simulated">{SIMULATED}</p>')
        leads = "".join(f'<p class="lead">{html.escape(board.lead)}</p>' for board in boards)
        ranked = {board.benchmark for board in boards}
        unranked = {each.name: each.title for each in self.benchmarks() if each.name not in ranked}
        leads += no_boards_html(unranked, self.data_for_papers.items)
        overall = mean_ranks(boards)
        ranks = self.table(overall, most=FIRST_ROWS) if overall is not None else ""
        tables = [self.table(board.table(), most=FIRST_ROWS) for board in boards if len(board.rows) > 1]
        grid = f'<p class="intro">{DUEL}</p><div class="boards">{"".join(tables)}</div>' if tables else ""
        section.fragments.append(f"<h2>Which model is best</h2>{leads}{ranks}{grid}")
        section.fragments.append(findings_html(boards, self.behind))
        section.fragments += [self.ceiling(), self.published(), self.facts()]
        section.fragments.append(f"<h2>How to read this</h2><p>{HOW_TO_READ}</p>")
        return section

    def ceiling(self) -> str:
        """The real videos, scored as if a model had made them, beside the best model."""
        parts = [
            f"<details><summary>{html.escape(part.title)}: every measure</summary>{self.table(part.table(self.items))}</details>"
            for part in self.ceilings
            if part.scored
        ]
        absent = [f"<li>{html.escape(part.why)}</li>" for part in self.ceilings if not part.scored]
        intro = "<p>The real videos of the same tasks, scored as if a model had made them: what a perfect model could reach.</p>"
        return f"<h2>Ceiling</h2>{intro}{''.join(parts)}<ul class=notes>{''.join(absent)}</ul>"

    def published(self) -> str:
        """Our rows beside the rows that the papers print, folded."""
        folds = []
        for benchmark in self.benchmarks():
            for printed in printed_tables().values():
                own = [table for table in self.own[benchmark.name] if table.id == (printed.own or printed.id)]
                if own and "model" in printed.labels and own[0].id in benchmark.profiled:
                    data = self.data_for_papers.of(benchmark.name)
                    table = beside(printed, [(self.params.run, own[0], data)])
                    table = replace(table, id=f"beside-{own[0].id}")
                    folds.append(f"<details><summary>{html.escape(table.title)}</summary>{self.table(table)}</details>")
        return f"<h2>Beside the papers' own rows</h2>{''.join(folds)}" if folds else ""

    def facts(self) -> str:
        clips, gated, rejected = (self.tables[name] for name in ("clips", "gated", "rejected"))
        scored = int(gated["value"].notna().sum())
        facts = {
            "clips": len(clips),
            "clips rejected": rejected.loc[rejected["field"] == "video", "path"].nunique(),
            "tasks without the ground truth that a metric needs": without_truth(clips, gated),
            "models": clips["model_id"].nunique(),
            "metrics": gated["metric"].nunique(),
            "scores": scored,
            "scores missing, each with a reason": len(gated) - scored,
            "judges' answers": len(self.tables["judgements"]),
            "votes": len(self.tables["ratings"]),
        }
        cards = "".join(f'<div class="card"><b>{count:,}</b>{html.escape(name)}</div>' for name, count in facts.items() if count)
        return f'<h2>What was looked at</h2><div class="cards">{cards}</div>'

    # -- the benchmarks ---------------------------------------------------------------------------------------------------------
    @cached_property
    def data_for_papers(self) -> PaperData:
        """The scores joined with facts about their clips."""
        return PaperData(self.params, with_clip_facts(self.items, self.tables["clips"]), self.tables)

    def benchmarks(self) -> list[Benchmark]:
        """The benchmarks that have clips in this run."""
        return [BENCHMARKS.get(name) for name in sorted(self.tables["clips"]["benchmark"].unique())]

    def papers(self) -> list[Section]:
        """One page per benchmark of the run, with the tables and figures of its paper."""
        artifacts = RunArtifacts(self.params.paths.artifacts, self.tables["artifacts"])
        sections = []
        for benchmark in self.benchmarks():
            data = self.data_for_papers.of(benchmark.name)
            tables = self.own[benchmark.name] = [
                without_judged_marks(self.linked(table, benchmark.name), data.items, self.simulated)
                for table in benchmark.paper_tables(data)
            ]
            fragments = [f'<p class="lead">{html.escape(text)}</p>' for text, _ in benchmark.findings(data.items)]
            fragments += [self.table(table) for table in tables]
            remarks = benchmark.paper_remarks(self.written) if tables else []
            fragments += [f'<p class="remark">{html.escape(remark)}</p>' for remark in remarks]
            figures = [profile(self.written[name]) for name in benchmark.profiled if name in self.written]
            figures += benchmark.paper_figures(data)
            figures.append(camera_paths(benchmark.name, self.clips.values(), artifacts))
            fragments += [figure.save(self.params.paths.figures / "report") for figure in figures if figure is not None]
            fragments += card_fragments(benchmark.clip_cards(data))
            sections.append(Section(benchmark.name, benchmark.title, "", fragments, BENCHMARK_PAGES))
        return sections

    def linked(self, table: PaperTable, benchmark: str) -> PaperTable:
        """The table with a link in every number: to the worst frame of the row's model, or of the metric among all models."""
        if table.links is not None:
            return table
        models = {model for name, model, _, _ in self.behind.worst if name == benchmark}
        names = [next((value for value in row if value in models), "") for row in table.frame[table.labels].itertuples(index=False)]
        rows = list(zip(names, table.row_metrics or [""] * len(names), strict=True))
        columns = {
            column: [self._behind_cell(benchmark, name, table.metrics.get(column, metric)) for name, metric in rows]
            for column in table.numbers
        }
        return replace(table, links=pd.DataFrame(columns, index=table.frame.index))

    def _behind_cell(self, benchmark: str, model: str, metric: str) -> str:
        if model and (benchmark, model, metric, "") not in self.behind.worst:
            return f"#{anchor(benchmark, model)}"
        worst = model or self.behind.worst_model(benchmark, metric)
        return f"#{number_anchor(benchmark, worst, metric)}" if worst else ""

    # -- what is behind -----------------------------------------------------------------------------------------------------------
    @cached_property
    def behind(self) -> Behind:
        """What is behind the numbers."""
        units = only_chosen(self.tables["units"], self.params)
        clips, failures = list(self.clips.values()), self.tables["failures"]
        return Behind(clips, self.items, units, self.tables["judgements"], failures, self.params.run, self.params.report.thumbnails)

    def failures(self) -> Section:
        section = Section(
            "failures",
            "Failures",
            "What went wrong, the surest first. The videos show the clip around the evidence; its frames have a red border.",
        )
        if len(self.tables["failures"]):
            folder = site_folder(self.params.paths.report) / "excerpts"
            section.fragments += failures_html(self.tables["failures"], self.clips, self.params.run, folder)
        judged = judged_failures(self.params.paths.tables / "forensics", len(self.clips))
        title = f"What was judged in the {len(self.clips)} clips; no failure is said of the others"
        section.fragments.append(self.plain("forensics-judged", title, judged, ["failure", "not judged because"]))
        section.fragments += [*self._forensics(FOUND), *self.saved("forensics")]
        return section

    def _forensics(self, tables: tuple[tuple[str, str, list[str]], ...]) -> list[str]:
        fragments = []
        for name, title, labels in tables:
            path = self.params.paths.tables / "forensics" / f"{name}.csv"
            if path.is_file():
                frame = with_content(read_named(path, labels), labels)
                notes = [macro_f1_note(frame)] if name == "scores" and len(frame) else []
                fragments.append(self.plain(f"forensics-{name}", title, frame, labels, notes))
                if name == "counts" and len(frame):
                    words = counts_in_words(frame, labels)
                    fragments[-1] = PaperTable(f"forensics-{name}", title, words, [*labels, "failures"]).to_html(ROWS)
        return fragments

    def missing(self) -> Section:
        titles = {benchmark.name: benchmark.title for benchmark in self.benchmarks()}
        section = Section("missing", "What is missing", "Every metric without a score, for which models, why, and what mends it.")
        section.fragments = missing_html(self.items, self.params.run, titles)
        coverage = self.plain(
            "coverage",
            "Scores by metric",
            coverage_table(self.tables["gated"]),
            ["metric", "variant", "missing because", "backend"],
        )
        made = self.plain("artifacts", "Artifacts by role", artifact_coverage(self.tables["artifacts"]), ["role", "backend", "why"])
        return replace(section, fragments=[*section.fragments, coverage, made])

    # -- people and metrics -------------------------------------------------------------------------------------------------------
    def agreement(self) -> Section:
        section = Section("agreement", "Agreement", "Do people, judges and metrics agree? Each table says what it supports.")
        folder = self.params.paths.tables / "agreement"
        if not (self.params.agreement.ratings or len(self.tables["ratings"])):
            return section
        if "simulated" in set(self.tables["ratings"].columns) and self.tables["ratings"]["simulated"].astype(bool).any():
            section.fragments.append('<p class="simulated">These votes are simulated: they say nothing about people.</p>')
        figures = self.saved("agreement", interactive_statistics(folder))
        tables = [
            self._read_table(f"agreement-{row['table']}", row, whole_counts(read_named(folder / f"{row['table']}.csv")))
            for row in self._readings(folder)
        ]
        for row in self._readings(folder / STUDY):
            if row["table"] in SHOWN:
                frame = shown(row["table"], read_named(folder / STUDY / f"{row['table']}.csv").fillna({"model": "", "setting": ""}))
                study = {**row, "title": f"Simulated study: {row['title']}"}
                tables.append(self._read_table(f"agreement-{STUDY}-{row['table']}", study, frame))
        return replace(section, fragments=[*section.fragments, *tables, *figures] if figures or tables else [])

    @staticmethod
    def _readings(folder: Path) -> list[dict[str, str]]:
        """Title, reading and footnote of each table of an analysis; none where there is no analysis."""
        readings = folder / "readings.csv"
        return read_csv(readings).fillna("").to_dict("records") if readings.is_file() else []

    def _read_table(self, name: str, row: dict[str, str], frame: pd.DataFrame) -> str:
        """A folded table below its title and the first sentence of its reading."""
        table = PaperTable(name, row["title"], frame, text_columns(frame), notes=[row["footnote"]], conclusion=row["reading"])
        first = shorten(row["reading"].split(". ")[0], 150, placeholder=" ...")
        return (
            f"<details><summary>{html.escape(row['title'])} <small>{html.escape(first)}</small></summary>"
            f"{self.table(table, most=ROWS, fit=True)}</details>"
        )

    def trust(self) -> Section:
        section = Section("trust", "Can the metrics be trusted")
        if self.params.audit.enabled:
            self._audit(section)
        section.fragments += self._forensics(TRUSTED)
        section.fragments += all_sheets(self.clips, self.tables["truth"]) if self.params.report.sheets else []
        differences = defects_table(self.tables["gated"], self.params)
        if len(differences):
            labels = ["metric", "default", "variant", "what differs"]
            title = "Where paper, released code and sense differ, on this run's clips"
            absent = [f"In no variant: {'; '.join(not_reproduced())}."]
            section.fragments.append(self.plain("defects", title, differences, labels, absent))
        settings = preset_differences(self.tables["gated"].dropna(subset="value")["metric"].unique())
        if len(settings):
            title = "Every setting in which paper, released code and our correction differ"
            section.fragments.append(self.plain("presets", title, settings, list(settings)))
        return section

    def _audit(self, section: Section) -> None:
        folder = self.params.paths.tables / "audit"
        section.intro = audit_reach(folder)
        simulated = judged_by(self.tables["gated"], self.simulated)
        frames = {"failures": audited_failures(folder, simulated), "metrics": audited_metrics(folder, simulated)}
        if sentence := audit_sentence(frames["failures"]):
            section.fragments.append(f'<p class="lead">{html.escape(sentence)}</p>')
        for name, (title, columns, notes) in AUDIT.items():
            frame = frames[name]
            if len(frame):
                table = PaperTable(f"audit-{name}", title, frame, text_columns(frame), notes=[*notes])
                section.fragments.append(self.table(table, shown=columns))
        if simulated and len(frames["failures"]):
            named = ", ".join(sorted(simulated))
            section.fragments.append(
                f'<p class="simulated">A simulated judge answered {html.escape(named)}. The figures draw them, but no verdict '
                "rests on them.</p>"
            )
        section.fragments += self.saved("audit")

    # -- what went in -------------------------------------------------------------------------------------------------------------
    def provenance(self) -> Section:
        artifacts, clips, answers = self.tables["artifacts"], self.tables["clips"], self.tables["judgements"]
        used = artifacts.loc[artifacts["stored"] != "", ["role", "backend", "version", "weights"]].drop_duplicates()
        section = Section("provenance", "Provenance", "What went in and what made the numbers; provenance.json holds the rest.")
        labels = ["benchmark", "setting", "subset"]
        parts = [self.plain("composition", "Clips by benchmark, setting and subset", composition(clips), labels)]
        for content in benchmark_contents(clips, self.tables["screen"]):
            parts.append(self.plain(content.id, content.title, content.frame, content.labels, digits=content.digits))
        rejected = self.tables["rejected"]
        parts.append(self.plain("rejected", "Rejected items", rejected, list(rejected.columns)))
        parts.append(self.plain("backends", "Backends", used, ["role", "backend", "version", "weights"]))
        if len(answers):
            counts = answers.groupby(["judge", "task"]).agg(
                answers=("value", "count"), asked=("value", "size"), mean=("value", "mean")
            )
            parts.append(self.plain("judgements", "Answers by judge and task", counts.reset_index(), ["judge", "task"]))
        parts += self.saved("judging")
        spent = costs(self.params).drop(columns="share")
        if len(spent):
            note = "Work of this run alone; what came from the store cost nothing. The seconds differ from machine to machine."
            title = "What each model and metric cost, the most expensive first"
            table = PaperTable("costs", title, spent.head(ROWS), list(spent.columns[:4]), {"clips": 0}, notes=[note])
            shown = table.to_html()  # not saved as a file: it differs between two runs that are the same otherwise
            parts.append(f"<details><summary>What each model and metric cost</summary>{shown}</details>")
        values = json.dumps(self.params.model_dump(mode="json"), indent=1)
        parts.append(f"<details><summary>Parameters</summary><pre>{html.escape(values)}</pre></details>")
        return replace(section, fragments=parts)

    def saved(self, stage: str, interactive: Mapping[str, go.Figure] = MappingProxyType({})) -> list[str]:
        """The figures that a stage saved, with their captions; interactive where there is an interactive version."""
        figures = saved_figures(self.params.paths.figures / stage)
        return [
            fragment(figure, interactive[name], ON_THE_PAGE[name]) if (name := figure.png.stem) in interactive else figure.to_html()
            for figure in figures
        ]
