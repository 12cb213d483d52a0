"""Measured figures come from files: `make readme` records what the measuring commands left in outputs/, and fills the pages.

`docs/measured/<name>.json` holds the values with machine, date, commit and command. A block of README.md or of a page in docs/
between `<!-- measured:name -->` and `<!-- /measured -->` is what `SENTENCES[name]` makes of that file; nobody edits it by hand.

- race (race_arm on ARM), bench: outputs/race.json and outputs/ratios.json of `make bench`
- forensics, heldout: outputs/<run>/tables/forensics/*.csv and provenance.json of `make report` and of bench/heldout.py
- validity: outputs/validity/summary.json of `make validity`
- setup: the size of this checkout's .venv, one entry per architecture
- tests, tests_long: outputs/tests.xml of `make test`, outputs/tests_long.xml of `make test-long`
- commands: outputs/commands.json of bench/commands.py
- install: outputs/install.json of bench/install.py
- gpu: outputs/gpu.json of bench/gpu.py, which needs a GPU
- inspector, scale: outputs/<name>.json of bench/inspector.py and bench/scale.py
- report: the seconds of every stage of outputs/demo; kept in the package, where `make report` reads them for its estimate
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from lookback.errors import ContractError
from lookback.files import write_json, write_text
from lookback.machine import one_line
from lookback.paths import project_root
from lookback.pipeline.dag import STAGES
from lookback.pipeline.remaining import RECORDED, duration, schedule_length
from lookback.provenance import git_revision
from pyarrow import parquet

Values = dict[str, Any]
BLOCK = re.compile(r"(<!-- measured:(\w+) -->\n)(.*?)(<!-- /measured -->)", re.DOTALL)
FILES = (
    ("bench", "ratios", "`make bench`"),
    ("race", "race", "`python bench/race.py`"),
    ("commands", "commands", "`python bench/commands.py`"),
    ("install", "install", "`python bench/install.py --report`"),
    ("gpu", "gpu", "`python bench/gpu.py`"),
    ("inspector", "inspector", "`python bench/inspector.py`"),
    ("scale", "scale", "`python bench/scale.py`"),
)
FORENSICS = {"forensics": ("demo", "`make report`"), "heldout": ("heldout", "`python bench/heldout.py`")}


def folder() -> Path:
    return project_root() / "docs" / "measured"


def place(name: str) -> Path:
    """Where a record is kept. The demo's timings lie in the package, since a run reads them."""
    return RECORDED if name == "report" else folder() / f"{name}.json"


def records() -> dict[str, Values]:
    """Every recorded file by its name."""
    names = sorted({*(path.stem for path in folder().glob("*.json")), "report"})
    return {name: json.loads(place(name).read_text(encoding="utf-8")) for name in names}


def pages() -> list[Path]:
    """The pages that hold measured figures."""
    every = [project_root() / "README.md", *sorted((project_root() / "docs").rglob("*.md"))]
    return [page for page in every if BLOCK.search(page.read_text(encoding="utf-8"))]


# what was measured -> docs/measured


def collected(outputs: Path) -> Iterator[tuple[str, Values]]:
    """Name and record of everything that lies in outputs/ now."""
    for name, file, command in FILES:
        if (measured := outputs / f"{file}.json").is_file():
            read = json.loads(measured.read_text(encoding="utf-8"))
            record = {**read, **_origin(measured, command, read)}
            on_arm = name == "race" and record["machine"].startswith(("aarch64", "arm64"))  # each kind of processor has its table
            yield "race_arm" if on_arm else name, record
    for name, (run, command) in FORENSICS.items():
        if (scores := outputs / run / "tables" / "forensics" / "scores.csv").is_file():
            provenance = json.loads((outputs / run / "provenance.json").read_text(encoding="utf-8"))
            yield name, {**_origin(scores, command, provenance), **_forensics(scores)}
    if len(timed := _stage_seconds(outputs / "demo")) == len(STAGES):
        clips = parquet.read_table(outputs / "demo" / "tables" / "clips.parquet", columns=["n_frames"])["n_frames"].to_pylist()
        said = json.loads((provenance := outputs / "demo" / "provenance.json").read_text(encoding="utf-8"))
        counted = {"stages": timed, "clips": len(clips), "frames": sum(clips)}
        yield "report", {**_origin(provenance, "`make report`", said), **counted}
    if (compared := outputs / "validity" / "summary.json").is_file():
        yield "validity", {**_origin(compared, "`make validity`", {}), **json.loads(compared.read_text(encoding="utf-8"))}
    for name, command in (("tests", "`make test`"), ("tests_long", "`make test-long`")):
        if (suite := outputs / f"{name}.xml").is_file():
            yield name, {**_origin(suite, command, {}), **_tests(suite)}


def _stage_seconds(run: Path) -> dict[str, float]:
    """What every finished stage of a run took."""
    files = {stage.name: run / "stages" / f"{stage.name}.json" for stage in STAGES}
    return {name: json.loads(file.read_text())["seconds"] for name, file in files.items() if file.is_file()}


def _origin(file: Path, command: str, said: Values) -> Values:
    """Machine, commit and date of a measurement: as the file says, else this machine, this commit and the file's own date."""
    day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
    commit = said.get("git") or git_revision()
    return {"command": command, "machine": said.get("machine") or one_line(), "date": day, "commit": commit}


def _forensics(scores: Path) -> Values:
    f1 = [float(row["F1"]) for row in csv.DictReader(scores.open(encoding="utf-8"))]
    rows = {row["injected"]: row for row in csv.DictReader((scores.parent / "confusion.csv").open(encoding="utf-8"))}
    faithful = rows.get("none", {"clips": "0", "nothing found": "0"})
    flagged = int(faithful["clips"]) - int(faithful["nothing found"])
    clips = sum(int(row["clips"]) for row in rows.values())
    return {"macro_f1": sum(f1) / len(f1), "clips": clips, "faithful": int(faithful["clips"]), "flagged": flagged}


def _tests(suite: Path) -> Values:
    # our own file, written by pytest a moment ago
    found = next(iter(ET.parse(suite).getroot().iter("testsuite"))).attrib
    counts = {name: int(found[name]) for name in ("tests", "failures", "errors", "skipped")}
    return {**counts, "seconds": round(float(found["time"]))}


def setup_record(known: Values) -> Values:
    """The size of this checkout's .venv beside what other architectures were found to take."""
    venv = (project_root() / ".venv").resolve()
    size = sum(path.lstat().st_blocks * 512 for path in venv.rglob("*"))  # on the disk, as du counts it
    entry = {"gigabytes": round(size / 2**30, 1), "machine": one_line(), "date": date.today().isoformat(), "commit": git_revision()}
    return {"command": "`make setup`", "venv": {**known.get("venv", {}), platform.machine(): entry}}


# docs/measured -> README.md and docs/*.md


def _bench(found: Values) -> str:
    lines = ["| what | ratio | goal | in numbers |", "|---|---|---|---|"]
    for row in found["rows"]:
        limit = "" if row["goal"] is None else f"{'at most' if row.get('smaller') else 'at least'} {row['goal']:g}"
        ratio = "" if row["ratio"] is None else _short(row["ratio"])
        lines.append(f"| ({row['id']}) {row['what']} | {ratio} | {limit} | {row['note']} |")
    return f"{_where(found)}:\n\n" + "\n".join(lines) + "\n"


def _race(found: Values) -> str:
    """Ours, theirs, and bare decoding: seconds on the clock, with processor seconds in brackets."""
    head = ["what", "clips", "ours", "theirs", "times faster", "bare decoding", "ours / bare decoding"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in found["rows"]:
        seconds = [f"{row[name][0]:.1f} s ({row[name][1]:.1f} s)" for name in ("ours", "theirs", "decoding")]
        ratios = [f"{_short(row[name][0])} ({_short(row[name][1])})" for name in ("times faster", "times decoding")]
        cells = [row["what"], str(row["clips"]), *seconds[:2], ratios[0], seconds[2], ratios[1]]
        lines.append(f"| {' | '.join(cells)} |")
    load = f"load {min(found['load']):g} to {max(found['load']):g} on {found['cores']} cores"
    notes = "".join(f"\n{note}\n" for note in found["notes"])
    words = "Seconds on the clock, and of the processors in brackets; ours and decoding in turns, the median of five"
    return f"{_where(found)}, {load}. {words}:\n\n" + "\n".join(lines) + "\n" + notes


def _short(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 20 else f"{number:.1f}" if abs(number) >= 2 else f"{number:.2f}"


def _forensic_sentence(found: Values) -> str:
    flagged = f"{found['flagged'] or 'none'} of {found['faithful']} faithful clips flagged"
    return f"a macro-F1 of {found['macro_f1']:.2f} over {found['clips']} clips, {flagged}.\n{_where(found)}.\n"


def _validity_sentence(found: Values) -> str:
    """The real clips' figures, with what keeps them from being a held-out result."""
    lines = "\n".join(f"- {line}" for line in found["words"])
    chosen = (
        "Weights are cross-validated by scene; features, abstentions and which labels are on were chosen on the same 38 clips, so"
    )
    return f"{lines}\n\n{chosen} new clips will do worse. {_where(found)}.\n"


def _setup_sentence(found: Values) -> str:
    sizes = [f"{entry['gigabytes']:g} GB on {entry['machine']}" for _, entry in sorted(found["venv"].items())]
    return f"`.venv` takes {', '.join(sizes)}.\n"


def _install(found: Values) -> str:
    """What pip takes for the wheel alone and with extras, and what the demo's report takes in a study."""
    lines = ["| install | packages | on the disk | pip took | then `make report` |", "|---|---|---|---|---|"]
    for row in found["rows"]:
        report = duration(row["report_seconds"]) if "report_seconds" in row else ""
        size = f"{row['mib'] / 1024:.1f} GB" if row["mib"] >= 1024 else f"{row['mib']} MB"
        lines.append(f"| `{row['install']}` | {row['packages']} | {size} | {_seconds(row['seconds'])} | {report} |")
    return f"{_where(found)}, without pip's cache:\n\n" + "\n".join(lines) + "\n"


def _test_sentence(found: Values) -> str:
    bad = found["failures"] + found["errors"]
    took = f"{found['seconds'] // 60} min {found['seconds'] % 60} s"
    return f"{found['command']}: {found['tests']:,} tests, {bad} failed, {found['skipped']} skipped, in {took}. {_where(found)}.\n"


def _report_sentence(found: Values) -> str:
    """How long the demo takes, stage by stage."""
    took = found["stages"]
    whole = duration(schedule_length(STAGES, took, set()))
    parts = ", ".join(f"{name} {duration(seconds)}" for name, seconds in took.items())
    clips = f"the demo's {found['clips']} clips"
    return f"`make report` takes about {whole} for {clips} ({parts}; two stages at a time).\n{_where(found)}.\n"


def _commands(found: Values) -> str:
    """What each command of the README took."""
    lines = ["| command | took | of the processors |", "|---|---|---|"]
    for row in found["rows"]:
        took = f"{_seconds(row['seconds'])} | {_seconds(row['processor_seconds'])}"
        lines.append(f"| `{row['command'].replace('|', chr(92) + '|')}` | {took} |")
    return f"{_where(found)}, load {found['load']:g} on {found['cores']} cores:\n\n" + "\n".join(lines) + "\n"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 100 else duration(seconds)


def _where(found: Values) -> str:
    commit = f", commit {found['commit'][:7]}" if found["commit"] else ""
    return f"Measured by {found['command']} on {found['machine']}, {found['date']}{commit}"


def _gpu(found: Values) -> str:
    """Speed by network, precision and number of processes; then what the papers' models take for 100 clips."""
    from gpu import table
    from lookback.profiles import paper_profile
    from lookback.registry import BENCHMARKS

    lines = [f"{_where(found)}, with {found['libraries']}, over {found['clips']}; random weights:", "", table(found["rows"]), ""]
    lines += ["Hours per 100 such clips in one process, in the precision of the released code, by benchmark:", ""]
    lines += ["| benchmark | measured | hours | not measured |", "|---|---|---|---|"]
    seconds = {
        row["serves"]: 1 / row["1 process"]["clips_per_s"] for row in found["rows"] if row["precision"] in ("fp32", "as released")
    }
    for name in sorted(spec.name for spec in BENCHMARKS):
        models = sorted(f"{role}={model.backend}" for role, model in paper_profile(name).roles.items())
        known = [model for model in models if model in seconds]
        others = ", ".join(f"`{model}`" for model in models if model not in seconds)
        if models:
            hours = sum(seconds[model] for model in known) * 100 / 3600
            lines.append(f"| {name} | {', '.join(f'`{model}`' for model in known)} | {hours:.2f} | {others} |")
    return "\n".join(lines) + "\n"


def _inspector(found: Values) -> str:
    """How smoothly three clips play, and how long a long list takes."""
    three = found["three"]
    sizes = ", ".join(row["size"] for row in three)
    shown = ", ".join(f"{row['shown']} of {row['frames']}" for row in three)
    speeds = f"{min(row['shown_fps'] for row in three):.1f} to {max(row['shown_fps'] for row in three):.1f} frames a second"
    gap = f"longest gap {max(row['longest_gap_ms'] for row in three):.0f} ms"
    used = f"{found['browser_s']:.1f} s of the processors for {found['video_s']:.1f} s of video"
    lines = ["| what | measured |", "|---|---|"]
    what = f"three clips side by side ({sizes}; {three[0]['fps']:g} frames a second)"
    lines.append(f"| {what} | frames shown: {shown}; {speeds}, {gap}; {used} |")
    for name, first in found["open"].items():
        turn, _, what = name.partition(": ")
        if turn == "first":
            lines.append(f"| {what}, first time / again | {first:.1f} s / {found['open'][f'again: {what}']:.1f} s |")
    return f"{_where(found)}, load {found['load']}:\n\n" + "\n".join(lines) + "\n"


def _scale(found: Values) -> str:
    """Every part of a run of thousands of clips: seconds on the clock and the largest memory."""
    sizes = sorted({row["clips"] for row in found["rows"]})
    of = {(row["part"], row["clips"]): row for row in found["rows"]}
    parts = list(dict.fromkeys(row["part"] for row in found["rows"]))
    lines = [f"| part | {' | '.join(f'{size:,} clips' for size in sizes)} |", "|---" * (1 + len(sizes)) + "|"]
    for part in parts:
        cells = [f"{_seconds((row := of[part, size])['seconds'])}, {row['peak_mib']:.0f} MiB" for size in sizes]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return f"{_where(found)}:\n\n" + "\n".join(lines) + "\n"


SENTENCES: dict[str, Callable[[Values], str]] = {
    "bench": _bench,
    "race": _race,
    "race_arm": _race,
    "forensics": lambda found: f"On the demo world, where the thresholds were chosen: {_forensic_sentence(found)}",
    "heldout": lambda found: f"On clips held out: {_forensic_sentence(found)}",
    "validity": _validity_sentence,
    "setup": _setup_sentence,
    "install": _install,
    "tests": _test_sentence,
    "tests_long": _test_sentence,
    "report": _report_sentence,
    "commands": _commands,
    "gpu": _gpu,
    "inspector": _inspector,
    "scale": _scale,
}


def filled(text: str, found: dict[str, Values]) -> str:
    """A page's text with every marked block written anew; a block without a record is empty."""

    def fill(match: re.Match[str]) -> str:
        name = match[2]
        if name not in SENTENCES:
            raise ContractError(f"a page marks a block 'measured:{name}'; known: {', '.join(SENTENCES)}")
        return match[1] + (SENTENCES[name](found[name]) if name in found else "") + match[4]

    return BLOCK.sub(fill, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fill-only", action="store_true", help="record nothing, only write the pages from docs/measured")
    if not parser.parse_args().fill_only:
        for name, record in collected(project_root() / "outputs"):
            write_json(place(name), record)
            print(f"{place(name).relative_to(project_root())}: {record['machine']}, {record['date']}")
        write_json(folder() / "setup.json", setup_record(records().get("setup", {})))
    for page in pages():
        write_text(page, filled(page.read_text(encoding="utf-8"), records()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
