"""Evaluate a dataset from Python with the names of MBench's own Python entry (its README, "Python API"):

    from lookback.api import adapter_registry, aggregator_registry, metric_registry, run_eval

    items = adapter_registry.get("mbench-dir").load("data/MBench-A-Setup", subsets=["environment"], limit=4)
    metric = metric_registry.get("mbencha.environment.spatial_epipolar")
    summary = run_eval(items, [metric], aggregator_registry.get("mean"), "runs/python_api_demo")

It works for every benchmark: each layout has an adapter `<layout>-dir`. `lookback eval` runs the same work.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lookback import stages
from lookback.clips import KEYS, Clip
from lookback.curation.gathering import rejected_line
from lookback.errors import UsageError, hint
from lookback.exports.results import write_results
from lookback.exports.run_folder import write_run_folder, written_metrics
from lookback.extraction.needs import check_models
from lookback.hiding import using_judge_key
from lookback.judging.packs import read_packs
from lookback.judging.panel import check_scorer
from lookback.layouts import apply_filters, read
from lookback.names import counted
from lookback.params import RunParams
from lookback.params.load import apply_overrides, validate
from lookback.params.stages import Filters, Source
from lookback.paths import expanded, resolve, shown
from lookback.pipeline.lock import claim, run_lock
from lookback.progress import say, silenced
from lookback.registry import JUDGES, LAYOUTS, METRICS, MetricSpec
from lookback.scoring.run import check_metrics
from lookback.tables import write_table

metric_registry = METRICS
STAGES = ("curation", "extraction", "scoring", "judging")


@dataclass(frozen=True)
class EvalItem:
    """One generated video of a dataset."""

    source: Path  # the folder of the dataset
    layout: str
    clip: Clip

    @property
    def item_id(self) -> str:
        return self.clip.clip_id

    @property
    def model_id(self) -> str:
        return self.clip.model_id


@dataclass(frozen=True)
class Adapter:
    """Reads datasets of one layout."""

    layout: str

    def load(
        self,
        source: str | Path,
        *,
        models: Sequence[str] = (),
        subsets: Sequence[str] = (),
        conditions: Sequence[str] = (),
        sample_ids: Sequence[str] = (),
        limit: int | None = None,
    ) -> list[EvalItem]:
        """The items of the folder that the filters keep. Bad items are skipped; `lookback validate` names them."""
        named = {"models": models, "subsets": subsets, "conditions": conditions, "sample_ids": sample_ids}
        if limit is not None and limit < 1:
            raise UsageError(f"limit={limit}: load 1 item or more, or leave it out for all")
        lists = {name: [values] if isinstance(values, str) else list(values) for name, values in named.items()}
        filters = Filters(**lists, limit=limit)
        root = expanded(source).absolute()
        (reading,) = apply_filters([read(Source(root=str(root), layout=self.layout))], filters)
        return [EvalItem(root, self.layout, clip) for clip in reading.clips]


class _Adapters:
    def get(self, name: str) -> Adapter:
        if name not in self.names():
            raise UsageError(f"There is no adapter '{name}'; {hint(name, self.names())}")
        return Adapter(name.removesuffix("-dir"))

    def names(self) -> list[str]:
        return [f"{layout}-dir" for layout in LAYOUTS.names()]


@dataclass(frozen=True)
class Aggregator:
    """How a model's items become its score."""

    name: str


class _Aggregators:
    def get(self, name: str) -> Aggregator:
        if name not in self.names():
            raise UsageError(f"There is no aggregator '{name}'; {hint(name, self.names())}")
        return Aggregator(name)

    def names(self) -> list[str]:
        return ["mean"]


adapter_registry, aggregator_registry = _Adapters(), _Aggregators()


def run_eval(
    items: Sequence[EvalItem],
    metrics: Sequence[MetricSpec | str],
    aggregator: Aggregator,
    output: str | Path,
    *,
    workers: int = 2,
    variant: str = "",
    vlm_judge: str = "",
    vlm_base_url: str = "",
    vlm_api_key: str = "",
    vlm_model: str = "",
    vlm_n_frames: int = 8,
    vlm_max_retries: int = 3,
    ignore_trigger: bool = False,
    progress_bar: bool = True,
    quiet: bool = False,
    log_file: bool = True,
) -> dict[str, dict[str, Any]]:
    """Score the items, write MBench's run layout to `output`, and return metric -> its summary (what summary.json holds).

    The key is used for this call only. It is never stored or shown.
    """
    if not items:
        raise UsageError("run_eval was given no items; look at what the adapter's load() returned")
    aggregator_registry.get(aggregator.name)
    specs = [METRICS.get(metric) if isinstance(metric, str) else metric for metric in metrics]
    sources = {item.source: {"root": str(item.source), "layout": item.layout} for item in items}
    judging = {
        "judge": judge_name(vlm_judge),
        "model": vlm_model,
        "base_url": vlm_base_url,
        "ignore_trigger": ignore_trigger,
        "n_frames": vlm_n_frames,
        "max_retries": vlm_max_retries,
    }
    wanted = {"models": {item.model_id for item in items}, "subsets": {item.clip.subset for item in items} - {""}}
    sections = {
        "curation": {"sources": [*sources.values()], "filters": {name: sorted(values) for name, values in wanted.items()}},
        "extraction": {} if vlm_judge else {"always": []},
        "scoring": {"metrics": [spec.name for spec in specs], "variant": variant or None},
        "judging": judging,
    }
    params = run_params(str(output), workers, sections, said_in="run_eval")
    with using_judge_key(vlm_api_key):
        evaluate(params, {item.clip.key for item in items}, progress_bar=progress_bar, quiet=quiet, log_file=log_file)
    folder = params.paths.root / "metrics"
    found = {spec.name: folder / spec.name / "summary.json" for spec in specs}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items() if path.is_file()}


def evaluate(
    params: RunParams,
    only: Collection[tuple[str, ...]] | None = None,
    *,
    progress_bar: bool = True,
    quiet: bool = False,
    log_file: bool = True,
) -> dict[str, pd.DataFrame]:
    """Run the stages from curation to judging and write the run folder; returns the tables of the last stage.

    `only` keeps the clips with these keys. A mistake of the user is found before any work is done, where that is possible.
    """
    check_judge(params)
    check_scorer(params.judging)
    read_packs(params.judging.prompts)
    check_models(params)
    claim_output(params, only)
    with run_lock(params.paths.root), silenced(progress_bar and not quiet, not quiet):
        forget_failures(params)
        for name in STAGES:
            tables = getattr(stages, name)(params)
            if name == "curation":
                if only is not None:
                    tables["clips"] = keep_clips(params, tables["clips"], only)
                check_metrics(params.scoring.metrics, tables["clips"])
                if len(tables["rejected"]):
                    say(rejected_line(tables["rejected"], params.paths.tables / "rejected.parquet"))
        if others := written_metrics(params.paths.root) - {*tables["gated"]["metric"]}:
            say(f"{replaced(len(others))} in {shown(params.paths.root)}")
        write_run_folder(params, params.paths.root, log_file)
        write_results(params)
    return tables


def claim_output(params: RunParams, only: Collection[tuple[str, ...]] | None = None) -> None:
    """Mark the run's folder; refuse a dataset that the run reads, a folder inside it, and a folder of somebody else.

    Where `only` names the clips, a folder beside them is allowed: its pictures do not become clips of the next run.
    """
    root, real = params.paths.root, Path(os.path.realpath(params.paths.root))
    for source in params.curation.sources:
        dataset = Path(os.path.realpath(resolve(source.root)))
        if real == dataset:
            raise UsageError(f"{shown(root)} is the folder of the videos; name another folder for the results")
        if only is None and real.is_relative_to(dataset):
            raise UsageError(
                f"{shown(root)} lies in the folder of the videos, and the next run would read its pictures as clips; name a folder "
                f"outside {shown(dataset)} for the results"
            )
    claim(root)


def forget_failures(params: RunParams) -> None:
    """Remove the failures of an earlier evaluation in this folder; `Result.failures` looks for those of the new clips."""
    (params.paths.tables / "failures.parquet").unlink(missing_ok=True)
    params.paths.clear("forensics")


def replaced(others: int) -> str:
    """What to say where earlier results were of other metrics than these."""
    return f"this replaces the earlier results of {counted(others, 'other metric')}"


def keep_clips(params: RunParams, clips: pd.DataFrame, only: Collection[tuple[str, ...]]) -> pd.DataFrame:
    """Write the table of clips anew with those that have one of these keys."""
    chosen = [key in only for key in zip(*(clips[name] for name in KEYS), strict=True)]
    return write_table(params.paths.tables, "clips", clips[chosen].reset_index(drop=True))


def run_params(
    output: str, workers: int, sections: dict[str, Any], overrides: Sequence[str] = (), said_in: str = "command line"
) -> RunParams:
    """Parameters of a run whose folder is `output`. `overrides` are `key=value` as in `lookback report --set`.

    `said_in` is where the values were said: errors begin with it.
    """
    folder = expanded(output).absolute()
    run = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("-.") or "run"
    values = {"run": run, "output": str(folder), "workers": workers, **sections}
    return validate(apply_overrides(values, list(overrides)), said_in)


def judge_name(name: str) -> str:
    """MBench's name of a judge in the words of this package."""
    return {"": "none", "openai-compatible": "openai"}.get(name, name)


def check_judge(params: RunParams) -> None:
    """Refuse a run without a judge if every named metric needs one."""
    named = params.scoring.metrics
    if named and params.judging.judge == "none" and all(METRICS.get(name).judge_tasks for name in named):
        raise UsageError(
            f"{', '.join(named)}: computed from a judge's answers, but no judge is named. Name one with --vlm-judge: "
            f"{', '.join(JUDGES.names())} (openai needs --vlm-base-url and --vlm-model, transformers --vlm-model)"
        )
