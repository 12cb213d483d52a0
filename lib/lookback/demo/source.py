"""The demo world as a data source. It is rendered once per parameters and code, then read like any other dataset."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lookback.clips import KEYS
from lookback.code import code_hash
from lookback.demo.annotators import simulate_votes
from lookback.demo.datasets import TRUTH, dataset_sources, write_datasets
from lookback.demo.plan import demo_plan
from lookback.files import sha256_json, write_json
from lookback.hashcache import HashCache
from lookback.params import RunParams
from lookback.params.stages import Source
from lookback.paths import resolve
from lookback.registry import parts
from lookback.tables import read_table

MARK = "datasets.json"  # beside the datasets folder, which is replaced as a whole


def demo_sources(params: RunParams) -> list[Source]:
    """The demo's datasets as sources, rendered first when parameters, code or files changed; none without a world."""
    world = params.curation.world
    if world is None:
        return []
    root, mark = params.paths.datasets, params.paths.root / MARK
    hashes = HashCache.of_project()
    made_by = sha256_json([world.model_dump(), params.seed, _code()])
    if _recorded(mark) != {"made_by": made_by, "content": hashes.tree(root)}:
        write_datasets(demo_plan(world.width, world.height, params.seed, world.scale), root, params.workers)
        write_json(mark, {"made_by": made_by, "content": hashes.tree(root)})
    hashes.save()
    return dataset_sources(root)


def is_rendered(source: Source) -> bool:
    """Whether the demo world wrote this dataset: it lies beside its truth."""
    return (resolve(source.root).parent / TRUTH / "truth.parquet").is_file()


def demo_tables(params: RunParams, clips: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The demo's truth and its simulated annotators' votes, of the clips that were kept."""
    if params.curation.world is None:
        return {}
    truth = read_table(params.paths.datasets / TRUTH, "truth").merge(clips[KEYS], on=KEYS, how="inner", validate="one_to_one")
    return {"truth": truth, "ratings": simulate_votes(truth, params.seed)}


def _recorded(mark: Path) -> dict[str, str]:
    try:
        return json.loads(mark.read_text())
    except (OSError, ValueError):
        return {}


def _code() -> str:
    """Hash of the code that decides what is rendered and how it is written."""
    return code_hash(("lookback.demo.datasets", *parts("writer")))
