"""The report of a run: one method per section, made from the run's tables."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import pandas as pd
from plotly import graph_objects as go

from lookback.agreement.show import SHOWN, STUDY, shown
from lookback.artifacts import RunArtifacts
from lookback.benchmark import Benchmark
from lookback.clips import clips_from_frame
from lookback.curation import benchmark_contents, composition
from lookback.extraction.figures import coverage_table as artifact_coverage
from lookback.figures import saved_figures
from lookback.params import RunParams
from lookback.registry import BENCHMARKS
from lookback.report.behind import behind_the_numbers
from lookback.report.cards import card_fragments
from lookback.report.figures.drawn import fragment
from lookback.report.figures.paths import camera_paths
from lookback.report.figures.profiles import profile
from lookback.report.figures.statistics import ON_THE_PAGE, interactive_statistics
from lookback.report.findings import findings
from lookback.report.page import Report, Section
from lookback.report.paper import PaperData
from lookback.report.sheets import clip_of, failure_examples, sheet_html
from lookback.report.stage_tables import AUDIT, ROWS, audit_reach, macro_f1_note, text_columns, whole_counts, with_content
from lookback.report.table import PaperTable
from lookback.scoring.aggregate import with_clip_facts
from lookback.scoring.figures import coverage_table, runtime_table
from lookback.scoring.variants import defects_table, not_reproduced, only_chosen, preset_differences
from lookback.tables import read_csv, read_table

HOW_TO_READ = """Each number is a mean over clips. Point at an empty cell to see why it is empty. Bold on green is best and
underlined is second best, within the groups that the paper uses. The notes under every table give the number of clips, what is
missing and why, and which backend made the scores. A score made by an embedded stand-in is not the paper's score: compare it only
with other scores in this report."""
SIMULATED = """This run uses the demo world. Its models are simulated, their failures are injected with known severity, and votes
and judge answers are simulated from that truth. It shows that the workbench works; it says nothing about any real model."""

FORENSICS = (
    ("counts", "Failures by model and split (non-exclusive)", ["benchmark", "setting", "model_id"]),
    ("confusion", "Injected failures (severity 0.5 or more) against failures found", ["injected"]),
    ("scores", "Precision and recall by label; thresholds were chosen on these clips", ["label"]),
    (
        "validity",
        "How far a finding can be trusted: precision and recall on the demo world and on labelled real clips (95 % intervals)",
        ["failure", "demo_precision", "demo_recall", "real_precision", "real_recall", "real_state"],
    ),
    ("rules", "The rules", ["failure", "label", "domain", "when"]),
    ("cases", "Cases", ["kind", "benchmark", "setting", "clip_a", "model_a", "clip_b", "model_b", "axis", "other_axis", "words"]),
)


class ReportBuilder(Report):
    """The report of a run with clips."""

    def __init__(self, params: RunParams):
        super().__init__(params)
        names = ("clips", "rejected", "screen", "truth", "ratings", "artifacts", "units", "gated", "judgements", "failures")
        self.tables = {name: read_table(params.paths.tables, name) for name in names}
        self.clips = {clip.key: clip for clip in clips_from_frame(self.tables["clips"])}
        self.items = only_chosen(self.tables["gated"], params)

    def sections(self) -> list[Section]:
        """Every section that is not empty."""
        summary = self.summary()
        papers = self.papers()
        self.illustrate(papers)
        parts = [summary, self.data(), *papers, self.simulated_failures(), self.scores(), self.judging()]
        parts += [self.agreement(), self.forensics(), self.audit(), self.behind(), self.provenance()]
        summary.fragments += findings(self.items, self.params.paths.tables)
        return [part for part in parts if any(part.fragments)]

    def plain(
        self, table_id: str, title: str, frame: pd.DataFrame, labels: list[str], notes: list[str] | None = None, digits: int = 3
    ) -> str:
        if frame.empty:
            return ""
        numbers = {name: digits for name in frame.columns if name not in labels}
        return self.table(PaperTable(table_id, title, frame.reset_index(drop=True), labels, numbers, notes=notes or []))

    def summary(self) -> Section:
        clips, gated = self.tables["clips"], self.tables["gated"]
        scored = int(gated["value"].notna().sum())
        facts = {
            "clips": len(clips),
            "models": clips["model_id"].nunique(),
            "metrics": gated["metric"].nunique(),
            "scores": scored,
            "scores missing, each with a reason": len(gated) - scored,
            "judges' answers": len(self.tables["judgements"]),
            "votes": len(self.tables["ratings"]),
        }
        cards = "".join(f'<div class="card"><b>{count:,}</b>{html.escape(name)}</div>' for name, count in facts.items() if count)
        section = Section("summary", "Summary", self.params.description, [f'<div class="cards">{cards}</div>'])
        if len(self.tables["truth"]):
            section.fragments.append(f'<p class="simulated">{SIMULATED}</p>')
        section.fragments.append(f"<h3>How to read this</h3><p>{HOW_TO_READ}</p>")
        return section

    def data(self) -> Section:
        clips, screen = self.tables["clips"], self.tables["screen"]
        section = Section("data", "Data", "What the run looked at.")
        section.fragments.append(
            self.plain(
                "composition", "Clips by benchmark, setting and subset", composition(clips), ["benchmark", "setting", "subset"]
            )
        )
        for content in benchmark_contents(clips, screen):
            section.fragments.append(self.plain(content.id, content.title, content.frame, content.labels, digits=content.digits))
        section.fragments.append(
            self.plain("rejected", "Rejected items", self.tables["rejected"], list(self.tables["rejected"].columns))
        )
        return section

    @cached_property
    def data_for_papers(self) -> PaperData:
        """The scores joined with facts about their clips."""
        return PaperData(self.params, with_clip_facts(self.items, self.tables["clips"]), self.tables)

    def papers(self) -> list[Section]:
        """One section per benchmark of the run, with the tables of its paper."""
        sections = []
        for benchmark in self.benchmarks():
            tables = benchmark.paper_tables(self.data_for_papers.of(benchmark.name))
            fragments = [self.table(table) for table in tables]
            remarks = benchmark.paper_remarks(self.written) if tables else []
            fragments += [f'<p class="remark">{html.escape(remark)}</p>' for remark in remarks]
            fragments += card_fragments(benchmark.clip_cards(self.data_for_papers.of(benchmark.name)))
            sections.append(Section(benchmark.name, benchmark.title, "", fragments))
        return sections

    def benchmarks(self) -> list[Benchmark]:
        """The benchmarks that have clips in this run."""
        return [BENCHMARKS.get(name) for name in sorted(self.tables["clips"]["benchmark"].unique())]

    def illustrate(self, papers: list[Section]) -> None:
        """Add the figures of each paper below the tables of its section."""
        artifacts = RunArtifacts(self.params.paths.artifacts, self.tables["artifacts"])
        for section, benchmark in zip(papers, self.benchmarks(), strict=True):
            figures = [profile(self.written[name]) for name in benchmark.profiled if name in self.written]
            figures += benchmark.paper_figures(self.data_for_papers.of(benchmark.name))
            figures.append(camera_paths(section.id, self.clips.values(), artifacts))
            section.fragments += [figure.save(self.params.paths.figures / "report") for figure in figures if figure is not None]

    def simulated_failures(self) -> Section:
        section = Section("sheets", "Simulated failures", "One contact sheet per injected failure, from this run's clips.")
        if self.params.report.sheets and len(self.tables["truth"]):
            for failure, right, wrong in failure_examples(self.tables["truth"]):
                rows = [
                    ("faithful", clip_of(self.clips, right)),
                    (f"{failure}, severity {wrong['severity']:g}", clip_of(self.clips, wrong)),
                ]
                section.fragments.append(sheet_html(failure, rows))
        return section

    def scores(self) -> Section:
        section = Section(
            "coverage", "Coverage and backends", "How many scores there are, why others are missing, and what made them."
        )
        coverage = coverage_table(self.tables["gated"])
        section.fragments.append(
            self.plain("coverage", "Scores by metric", coverage, ["metric", "variant", "missing because", "backend"])
        )
        made = artifact_coverage(self.tables["artifacts"])
        section.fragments.append(self.plain("artifacts", "Artifacts by role", made, ["role", "backend", "why"]))
        differences = defects_table(self.tables["gated"], self.params)
        if len(differences):
            labels = ["metric", "default", "variant", "what differs"]
            title = "Where paper, released code and sense differ, on this run's clips"
            notes = [f"In no variant: {'; '.join(not_reproduced())}."]
            section.fragments.append(self.plain("defects", title, differences, labels, notes))
        scored = self.tables["gated"].dropna(subset="value")
        settings = preset_differences(scored["metric"].unique())
        if len(settings):
            title = "Every setting in which paper, released code and our correction differ"
            section.fragments.append(self.plain("presets", title, settings, list(settings)))
        timings = self.params.paths.root / "timings" / "scoring.csv"
        if timings.is_file():
            seconds = runtime_table(read_csv(timings))
            note = "From timings/scoring.csv: the clips scored anew on this machine; it differs from run to run."
            table = PaperTable("runtime", "Runtime by metric", seconds, ["metric and variant"], notes=[note])
            section.fragments.append(f"<details><summary>Runtime by metric</summary>{table.to_html()}</details>")
        return section

    def judging(self) -> Section:
        section = Section("judging", "Judging", "Who answered which questions.")
        answers = self.tables["judgements"]
        if len(answers):
            counts = (
                answers.groupby(["judge", "task"])
                .agg(answers=("value", "count"), asked=("value", "size"), mean=("value", "mean"))
                .reset_index()
            )
            section.fragments.append(self.plain("judgements", "Answers by judge and task", counts, ["judge", "task"]))
        section.fragments += self.saved("judging")
        return section

    def agreement(self) -> Section:
        section = Section(
            "agreement", "Agreement with people", "The declared plan's tables, each with what it supports and what it cannot."
        )
        folder = self.params.paths.tables / "agreement"
        for row in self._readings(folder):
            frame = whole_counts(read_csv(folder / f"{row['table']}.csv"))
            section.fragments.append(self._read_table(f"agreement-{row['table']}", row["title"], frame, row))
        for row in self._readings(folder / STUDY):
            if row["table"] in SHOWN:
                frame = shown(row["table"], read_csv(folder / STUDY / f"{row['table']}.csv").fillna({"model": "", "setting": ""}))
                section.fragments.append(
                    self._read_table(f"agreement-{STUDY}-{row['table']}", f"Simulated study: {row['title']}", frame, row)
                )
        section.fragments += self.saved("agreement", interactive_statistics(folder))
        return section

    @staticmethod
    def _readings(folder: Path) -> list[dict[str, str]]:
        """Title, reading and footnote of each table of an analysis; none where there is no analysis."""
        readings = folder / "readings.csv"
        return read_csv(readings).fillna("").to_dict("records") if readings.is_file() else []

    def _read_table(self, name: str, title: str, frame: pd.DataFrame, row: dict[str, str]) -> str:
        table = PaperTable(name, title, frame, text_columns(frame), notes=[row["footnote"]], conclusion=row["reading"])
        return self.table(table, most=ROWS)

    def forensics(self) -> Section:
        section = Section(
            "forensics",
            "Failures found",
            "Fourteen kinds of failures, looked for in camera paths, masks and frames; cases to look at.",
        )
        for name, title, labels in FORENSICS:
            path = self.params.paths.tables / "forensics" / f"{name}.csv"
            if path.is_file():
                frame = with_content(read_csv(path), labels)
                notes = [macro_f1_note(frame)] if name == "scores" and len(frame) else []
                section.fragments.append(self.plain(f"forensics-{name}", title, frame, labels, notes))
        section.fragments += self.saved("forensics")
        return section

    def audit(self) -> Section:
        folder = self.params.paths.tables / "audit"
        section = Section("audit", "Metrics on trial", audit_reach(folder))
        for name, (title, notes) in AUDIT.items():
            path = folder / f"{name}.csv"
            if path.is_file() and len(frame := read_csv(path)):
                section.fragments.append(self.plain(f"audit-{name}", title, frame, text_columns(frame), [*notes], digits=2))
        section.fragments += self.saved("audit")
        return section

    def behind(self) -> Section:
        section = Section(
            "behind",
            "Behind the numbers",
            "Every number of the benchmarks' main tables leads here: the model's clips, their frames, scores, worst units and what "
            "judges said. `make inspect` opens a clip at a frame with the address shown.",
        )
        run, moments = self.params.run, self.params.report.thumbnails
        units = only_chosen(self.tables["units"], self.params)
        section.fragments = behind_the_numbers(
            list(self.clips.values()), self.items, units, self.tables["judgements"], run, moments
        )
        return section

    def provenance(self) -> Section:
        artifacts = self.tables["artifacts"]
        used = artifacts.loc[artifacts["stored"] != "", ["role", "backend", "version", "weights"]].drop_duplicates()
        section = Section("provenance", "Provenance", "What made these numbers; provenance.json beside this file holds the rest.")
        section.fragments.append(self.plain("backends", "Backends", used, ["role", "backend", "version", "weights"]))
        values = json.dumps(self.params.model_dump(mode="json"), indent=1)
        section.fragments.append(f"<details><summary>Parameters</summary><pre>{html.escape(values)}</pre></details>")
        return section

    def saved(self, stage: str, interactive: Mapping[str, go.Figure] = MappingProxyType({})) -> list[str]:
        """The figures that a stage saved, with their captions; interactive where there is an interactive version."""
        figures = saved_figures(self.params.paths.figures / stage)
        return [
            fragment(figure, interactive[name], ON_THE_PAGE[name]) if (name := figure.png.stem) in interactive else figure.to_html()
            for figure in figures
        ]
