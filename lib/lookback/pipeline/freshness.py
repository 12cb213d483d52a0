"""When a stage must run again: its notebook, code, libraries, parameters or inputs changed in content. Timestamps do not count.

A finished stage leaves `stages/<stage>.json` with the fingerprint it ran under and the hash of every file it wrote. It is fresh
while the fingerprint and the files are unchanged.
"""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

from lookback.code import code_hash, imported, libraries
from lookback.errors import Reason
from lookback.files import sha256_json, write_json
from lookback.hashcache import HashCache
from lookback.params import RunParams
from lookback.paths import expanded, fixed_folder, frozen_file, resolve
from lookback.pipeline.dag import Stage, upstream
from lookback.runners.environments import RECORD, models_folder
from lookback.weights import cache_folder

READ_DATASETS = ("curation", "extraction", "scoring", "judging", "forensics", "audit")  # stages that read the datasets' files
RUN_MODELS = ("extraction", "scoring", "audit")  # stages that run models
FAILED = [str(Reason.BACKEND_FAILED), str(Reason.JUDGE_FAILED)]
ERRORS = {"artifacts": "detail", "items": "detail", "judgements": "verbatim"}  # tables with such rows: the column with the error


def fingerprint(stage: Stage, params: RunParams, hashes: HashCache) -> dict[str, Any]:
    """Everything the stage's result depends on, as hashes by name, so that a change can be named."""
    values = params.model_dump(mode="json")
    notebook = resolve(f"notebooks/{stage.notebook}.ipynb")
    modules = (f"lookback.stages._{stage.name}", *stage.loaded(), *notebook_modules(notebook))
    return {
        "notebook": notebook_hash(notebook),
        "code": code_hash(modules),
        "libraries": {name: release for name, release in libraries(modules).items() if release},
        "parameters": sha256_json({name: _value(values, name) for name in ("seed", "device", *stage.sections)}),
        "inputs": {**_tables(stage, params, hashes), **_external(stage, params, hashes)},
    }


def changed(stage: Stage, params: RunParams, hashes: HashCache) -> str:
    """Why the stage must run again, in words. Empty when it is up to date."""
    path = params.paths.stages / f"{stage.name}.json"
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError):
        return "not done yet"
    now = fingerprint(stage, params, hashes)
    for part in ("notebook", "code", "parameters"):
        if before["fingerprint"].get(part) != now[part]:
            return f"its {part} changed"
    releases = before["fingerprint"].get("libraries")
    if not isinstance(releases, dict) or not releases.items() <= now["libraries"].items():  # one installed since took no part
        return "its libraries changed"
    inputs = before["fingerprint"].get("inputs", {})
    for name in sorted({*inputs, *now["inputs"]}):
        if inputs.get(name) != now["inputs"].get(name):
            return f"input '{name}' changed"
    if failed := before.get("failed"):
        return f"{failed} row(s) failed the last time"
    for name, digest in before["outputs"].items():
        file = params.paths.root / name
        if not file.is_file() or hashes.file(file) != digest:
            return f"output '{name}' is missing or was altered"
    for name in _names(output_files(stage, params), params):
        if name not in before["outputs"]:
            return f"output '{name}' was added"
    copy = params.paths.notebooks / f"{stage.notebook}.ipynb"  # its bytes hold times, and people run it by hand
    return "" if copy.is_file() and copy.stat().st_size else "its executed notebook is missing"


def record(stage: Stage, params: RunParams, started: dict[str, Any], hashes: HashCache, seconds: float) -> list[str]:
    """Record that the stage finished, with the fingerprint it started with; returns the errors of its rows that failed."""
    written = output_files(stage, params)
    files = dict(zip(_names(written, params), map(hashes.file, written), strict=True))
    errors = _errors_of_rows(stage, params)
    facts = {"fingerprint": started, "outputs": files, "failed": len(errors), "seconds": round(seconds, 2)}
    write_json(params.paths.stages / f"{stage.name}.json", facts)
    return errors


def _errors_of_rows(stage: Stage, params: RunParams) -> list[str]:
    """One error per row that failed because a worker, a model or a judge's server broke. Another run may succeed."""
    from pyarrow import parquet  # imported here, because a run with nothing to do does not need it

    errors: list[str] = []
    for table in stage.writes:
        if table in ERRORS and not (table == "judgements" and params.judging.judge == "replay"):  # a recorded failure stays one
            path, column = params.paths.tables / f"{table}.parquet", ERRORS[table]
            errors += parquet.read_table(path, columns=[column], filters=[("reason", "in", FAILED)])[column].to_pylist()
    return errors


def output_files(stage: Stage, params: RunParams) -> list[Path]:
    """What the stage wrote: its tables, and everything in the folders that carry its name."""
    paths = params.paths
    files = [paths.tables / f"{table}.parquet" for table in stage.writes]
    folders = [paths.tables / stage.name, paths.figures / stage.name]
    if stage.name == "report":
        files.append(paths.report)
        folders.append(paths.report.with_suffix(""))  # the pages beside the one that opens
    found = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return [*files, *(path for path in found if path.is_file() and not path.name.startswith("."))]


def _names(files: list[Path], params: RunParams) -> list[str]:
    return [path.relative_to(params.paths.root).as_posix() for path in files]


def notebook_hash(path: Path) -> str:
    """Hash of the cells' sources, without outputs and ids."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]  # nbformat takes a second to import
    return sha256_json([[cell["cell_type"], "".join(cell["source"]), sorted(cell["metadata"].get("tags", []))] for cell in cells])


def notebook_modules(path: Path) -> tuple[str, ...]:
    """The modules of the library that a notebook imports, except the stages."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return tuple(name for name in imported(ast.parse(code)) if name.startswith("lookback.") and name != "lookback.stages")


def _value(values: dict[str, Any], name: str) -> Any:
    """A section, or one parameter of it by its dotted name."""
    section, _, key = name.partition(".")
    return values[section][key] if key else values[section]


def _tables(stage: Stage, params: RunParams, hashes: HashCache) -> dict[str, str]:
    inputs = {}
    for table in stage.reads:
        path = params.paths.tables / f"{table}.parquet"
        inputs[table] = hashes.file(path) if path.is_file() else ""
    if stage.name == "report":
        for other in upstream(stage):
            parts = [f"{path.name}:{hashes.file(path)}" for path in output_files(other, params) if path.is_file()]
            inputs[f"{other.name} outputs"] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return inputs


def _external(stage: Stage, params: RunParams, hashes: HashCache) -> dict[str, str]:
    """Files and folders outside the run that the stage reads, by name."""
    found = {path: resolve(path) for path in _paths_read(stage, params)}
    inputs = {name: hashes.tree(path) if path.is_dir() else hashes.file(path) for name, path in found.items() if path.exists()}
    if stage.name in RUN_MODELS:
        inputs["weights at hand"] = sha256_json(sorted(path.relative_to(cache_folder()).as_posix() for path in _weight_files()))
        records = sorted(models_folder().glob(f"*/{RECORD}"))
        inputs["models at hand"] = sha256_json({path.parent.name: hashes.file(path) for path in records})
    if stage.name == "judging" and "openai" in _judges(params):
        from lookback.judging.judges.openai_judge import endpoint  # imported here, because it brings pandas

        inputs["model and address of the judge"] = sha256_json(endpoint(params.judging.model, params.judging.base_url))
    return inputs


def _paths_read(stage: Stage, params: RunParams) -> list[str]:
    paths: list[str] = []
    if stage.name in READ_DATASETS:  # the clips table names files, and their content may change
        for source in params.curation.sources:
            root = Path(source.root)
            folder = root.parent if resolve(root).is_file() else root  # the dataset of a manifest lies beside it
            paths += [*_without_results(folder, params), *(path for path in (source.gt_root, source.phases) if path)]
            given = [fixed_folder(pattern) for pattern in (source.poses, *source.files.values()) if pattern]
            if source.poses and source.poses_format == "vipe":
                given.append(f"{given[0]}../intrinsics")  # ViPE writes them beside the folder of the poses
            # a folder of its own where the pattern is absolute
            paths += [str(Path(folder, expanded(inner))) for inner in given]
        if params.curation.world is not None and params.paths.datasets.is_dir():
            paths.append(str(params.paths.datasets))
    if stage.name in RUN_MODELS:
        options = [item for values in params.extraction.options.values() for item in values.items()]
        paths += ["params/weights.lock.yaml", *(str(path) for name, path in options if name.endswith("path"))]
    if stage.name == "judging":
        judging = params.judging
        named = (judging.recordings, judging.vqa_questions, judging.vqa_failures, *judging.prompts.values())
        models = (judging.model, judging.gate_model) if "transformers" in _judges(params) else ()  # they may be folders
        paths += [path for path in (*named, *models) if path]
    if stage.name == "agreement":
        plan = params.agreement.plan
        paths += [plan, str(frozen_file(Path(plan))), *params.agreement.ratings]
    if stage.name == "forensics":
        paths.append(params.forensics.plan)
    return paths


def _without_results(folder: Path, params: RunParams) -> list[str]:
    """The dataset's folder; where the run's results lie in it, everything in it except them and hidden files."""
    results, dataset = params.paths.root.resolve(), resolve(folder)
    if not dataset.is_dir() or not results.is_relative_to(dataset.resolve()):
        return [str(folder)]
    entries = [path for path in sorted(dataset.iterdir()) if not path.name.startswith(".")]
    return [str(path) for path in entries if not results.is_relative_to(path.resolve())]


def _judges(params: RunParams) -> set[str | None]:
    return {params.judging.judge, params.judging.gate_judge, *params.judging.also}


def _weight_files() -> list[Path]:
    return [path for path in cache_folder().rglob("*") if path.is_file() and not path.name.startswith(".")]
