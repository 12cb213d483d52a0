"""When a stage must be redone: its notebook, code, parameters or inputs changed in content. Timestamps do not count.

A finished stage leaves `stages/<stage>.json` with the fingerprint it ran under and the hash of every file it wrote. It is fresh
while the fingerprint is the same and the files are still what they were.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lookback.files import sha256_json, write_json
from lookback.hashcache import HashCache
from lookback.params import RunParams
from lookback.paths import project_root, resolve
from lookback.pipeline.code import code_hash
from lookback.pipeline.dag import Stage, upstream


def fingerprint(stage: Stage, params: RunParams, hashes: HashCache) -> dict[str, Any]:
    """Everything the stage's result depends on, as hashes by name, so that a change can be named."""
    values = params.model_dump(mode="json")
    return {
        "notebook": notebook_hash(project_root() / "notebooks" / f"{stage.notebook}.ipynb"),
        "code": code_hash((f"lookback.stages._{stage.name}", *stage.loads)),
        "parameters": sha256_json({name: values[name] for name in ("seed", "device", *stage.sections)}),
        "inputs": {**_tables(stage, params, hashes), **_external(stage, params, hashes)},
    }


def changed(stage: Stage, params: RunParams, hashes: HashCache) -> str:
    """Why the stage must be redone, in words; empty when it is fresh."""
    path = params.paths.stages / f"{stage.name}.json"
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError):
        return "not done yet"
    now = fingerprint(stage, params, hashes)
    for part in ("notebook", "code", "parameters"):
        if before["fingerprint"].get(part) != now[part]:
            return f"its {part} changed"
    inputs = before["fingerprint"].get("inputs", {})
    for name in sorted({*inputs, *now["inputs"]}):
        if inputs.get(name) != now["inputs"].get(name):
            return f"input '{name}' changed"
    for name, digest in before["outputs"].items():
        file = params.paths.root / name
        if not file.is_file() or hashes.file(file) != digest:
            return f"output '{name}' is missing or was altered"
    return ""


def record(stage: Stage, params: RunParams, started: dict[str, Any], hashes: HashCache, seconds: float) -> None:
    """Note that the stage finished under the fingerprint it started with."""
    files = {path.relative_to(params.paths.root).as_posix(): hashes.file(path) for path in output_files(stage, params)}
    write_json(params.paths.stages / f"{stage.name}.json", {"fingerprint": started, "outputs": files, "seconds": round(seconds, 2)})


def output_files(stage: Stage, params: RunParams) -> list[Path]:
    """What the stage wrote: its tables, and everything in the folders that carry its name."""
    paths = params.paths
    files = [paths.tables / f"{table}.parquet" for table in stage.writes]
    for folder in (paths.tables / stage.name, paths.figures / stage.name):
        files += [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if stage.name == "report":
        files.append(paths.report)
    return files


def notebook_hash(path: Path) -> str:
    """Hash of a notebook's cells: what they say, not their outputs or ids."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]  # nbformat takes a second to import
    return sha256_json([[cell["cell_type"], "".join(cell["source"]), sorted(cell["metadata"].get("tags", []))] for cell in cells])


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
    """Files and folders outside the run that the stage reads."""
    paths: list[str] = []
    if stage.name == "curation":
        for source in params.curation.sources:
            paths += [path for path in (source.root, source.gt_root, source.phases) if path]
        if params.curation.world is not None and params.paths.datasets.is_dir():
            paths.append(str(params.paths.datasets))
    elif stage.name == "judging" and params.judging.recordings:
        paths.append(params.judging.recordings)
    elif stage.name == "agreement":
        paths += [params.agreement.plan, *params.agreement.ratings]
    elif stage.name == "extraction":
        paths.append("params/weights.lock.yaml")
    found = {path: resolve(path) for path in paths}
    return {name: hashes.tree(path) if path.is_dir() else hashes.file(path) for name, path in found.items() if path.exists()}
