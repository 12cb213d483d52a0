"""Write the pages of docs/ that follow from the code: one per benchmark, and the commands (`python docs/write_pages.py`).

What a benchmark page says comes from the registry, `presets.yaml` and `published/tables.yaml`; the words above it from
`docs/benchmarks.yaml`. The page of the commands is the commands' own help. tests/docs compares both with the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lookback.benchmark import Benchmark
from lookback.cli.app import app
from lookback.cli.choices import VERBS
from lookback.cli.inventory import better
from lookback.files import write_text
from lookback.published.regenerate import papers, row_of
from lookback.registry import BENCHMARKS, LAYOUTS, METRICS, MetricSpec
from lookback.scoring.variants import preset_differences, shown_setting
from lookback.yaml_files import parse_yaml
from typer.main import get_command
from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parent
NO_NEED = {"video"}  # every clip has one


def pages() -> dict[Path, str]:
    """Every generated page: its file and its text."""
    told = parse_yaml((DOCS / "benchmarks.yaml").read_text(encoding="utf-8"))
    written = {DOCS / "benchmarks" / f"{name}.md": benchmark_page(BENCHMARKS.get(name), facts) for name, facts in told.items()}
    return {**written, DOCS / "commands.md": commands_page()}


# a benchmark


def benchmark_page(benchmark: Benchmark, told: dict[str, object]) -> str:
    """What is implemented, what a user needs, the presets, and the tables that can be made again."""
    specs = [spec for spec in METRICS if spec.benchmark == benchmark.name]
    parts = [
        f"# {benchmark.title}",
        str(told["asks"]),
        "This page is made by `python docs/write_pages.py`; a test compares it with the code.",
    ]
    parts += _implemented(benchmark, specs)
    parts += _needed(benchmark, specs, list(told["data"]))  # type: ignore[call-overload]
    parts += _presets(benchmark, specs)
    parts += _tables(benchmark)
    return "\n\n".join(parts) + "\n"


def _implemented(benchmark: Benchmark, specs: list[MetricSpec]) -> Iterator[str]:
    yield "## What is implemented"
    yield f"{len(specs)} metrics. `lookback list-metrics` prints them, too."
    rows = []
    for spec in specs:
        variants = ", ".join(f"**{name}**" if name == spec.default_variant else name for name in spec.variants)
        rows.append((f"`{spec.name}`", spec.title, spec.unit or "score", better(spec), variants, spec.source))
    yield _table(("metric", "what it measures", "unit", "better", "variants (default bold)", "source"), rows)
    forms = [f"`{form.name}`" for form in benchmark.study_forms()]
    if forms:
        yield f"Studies with people: the forms {', '.join(forms)} ([annotation.md](../annotation.md))."
    if exports := [f"`{name}`" for name in benchmark.exports()]:
        yield f"Exports of a finished run (`lookback export`): {', '.join(exports)}."


def _needed(benchmark: Benchmark, specs: list[MetricSpec], data: list[str]) -> Iterator[str]:
    layout = LAYOUTS.get(benchmark.name)
    yield "## What you need"
    yield f"A dataset in the benchmark's own layout. It is recognised by: {layout.looks_like}."
    yield "Copy a template and name your folder in it:"
    copies = [f"cp params/{name}.yaml params/mine.yaml   # then edit `root` in it" for name in data[:1]]
    yield "\n".join(["```sh", *copies, "make report RUN=mine", "```"])
    yield from [f"The other templates: {', '.join(f'`params/{name}.yaml`' for name in data[1:])}."] if data[1:] else []
    first = f"outputs/demo/datasets/{data[0]}"
    yield f"`make curation` renders a small dataset of this layout into `{first}`. With it you can try the commands:"
    shown = next(spec for spec in specs if not spec.judge_tasks)
    scored = f"lookback eval {first} --metrics {shown.name} --limit 2 --output outputs/{data[0]}_try"
    yield "\n".join(["```sh", f"lookback validate {first}", scored, "```"])
    yield "Each metric needs the video, and:"
    rows = []
    for spec in specs:
        fields = [f"`{name}`" for name in spec.needs if name not in NO_NEED]
        roles = [f"`{role}`" for role in dict.fromkeys((*spec.roles, *spec.tools))]
        rows.append((f"`{spec.name}`", ", ".join(fields), ", ".join(roles), "yes" if spec.judge_tasks else ""))
    yield _table(("metric", "fields of the dataset", "roles (models or files)", "a judge"), rows)
    yield (
        "[artifacts.md](../artifacts.md) says what a role is and how files made elsewhere are given, "
        "[judges.md](../judges.md) who may judge."
    )


def _presets(benchmark: Benchmark, specs: list[MetricSpec]) -> Iterator[str]:
    yield "## Presets"
    yield (
        "`official` is the released program, `paper` the text of the paper, `corrected` ours where both are wrong. "
        "Settings that are the same in all presets are left out here; `lookback list-metrics --presets` prints all of them."
    )
    differing = preset_differences(spec.name for spec in specs)
    differing = differing.loc[:, (differing != "").any()]  # a variant that this benchmark does not have
    if len(differing):
        yield _table(tuple(differing.columns), [(f"`{row[0]}`", *row[1:]) for row in differing.itertuples(index=False, name=None)])
    else:
        yield "The presets of this benchmark do not differ."
    why = [(f"`{spec.name}`", variant, text) for spec in specs for variant, text in spec.differences.items()]
    if why:
        yield "What the other variants do differently:"
        yield _table(("metric", "variant", "what differs from the default"), why)
    if benchmark.not_reproduced:
        yield "Defects of the released program that no preset repeats:"
        yield "\n".join(f"- {what}" for what in benchmark.not_reproduced)


def _tables(benchmark: Benchmark) -> Iterator[str]:
    yield "## Which tables you can make again"
    paper = next(paper for paper in papers() if paper.paper == benchmark.title)
    rows = [row_of(entry, paper) for entry in paper.tables]
    words = [row.status.split(";")[0].split(",")[0].split(" ")[0] for row in rows]
    counts = f"{words.count('yes')} with what comes with the project, {words.count('needs')} with a model or a judge that you bring"
    yield f"Of {len(rows)} tables and figures: {counts}, {words.count('no')} not at all."
    yield _table(("table", "what it shows", "can it be made"), [(f"`{row.table}`", row.shows, row.status) for row in rows])
    yield "[regenerate.md](../regenerate.md) has the command for each."


# the commands


def commands_page() -> str:
    """The help of every command, by what it is for."""
    parts = [
        "# The commands",
        "`.venv/bin/lookback` in a clone, `lookback` where the package is installed. This page is what `--help` prints; "
        "`python docs/write_pages.py` writes it anew. `make help` lists the `make` commands.",
    ]
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for title, names in VERBS.items():
        parts.append(f"## {title}")
        for name in (name for name in names if name in commands):
            parts += _help(commands[name], (name,))
    return "\n\n".join(parts) + "\n"


def _help(command: object, path: tuple[str, ...]) -> Iterator[str]:
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="lookback", terminal_width=100).output
    yield f"{'#' * (2 + len(path))} lookback {' '.join(path)}"
    yield f"```text\n{shown.strip()}\n```"
    for name, below in getattr(command, "commands", {}).items():
        yield from _help(below, (*path, name))


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else shown_setting(value)  # type: ignore[arg-type]
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    for path, text in pages().items():
        write_text(path, text)
        print(path.relative_to(DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
