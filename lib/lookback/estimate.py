"""What a run will cost, before it starts: clips, models, downloads, and hours on this machine from a trial of a few clips."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lookback.artifacts import entry_of
from lookback.clips import Clip
from lookback.curation.gathering import collect
from lookback.errors import ContractError, UsageError
from lookback.extraction.needs import Need, clips_of, download_mb, shown_size
from lookback.extraction.run import extract_run
from lookback.params import RunParams
from lookback.scoring.costs import DECODING, per_clip
from lookback.scoring.run import score_run
from lookback.scratch import scratch_folder
from lookback.store import ArtifactStore
from lookback.tables.csv_files import read_csv

TRIED = 3  # clips of each benchmark, at least one of every setting and subset
GROUP = ["benchmark", "setting", "subset"]
MEASURED = ["benchmark", "part", "model", "seconds_per_clip", "share_of_clips"]


@dataclass(frozen=True)
class Trial:
    """Seconds per clip that a few clips took. The first clip of a part also loads its model; what that took stands apart."""

    parts: pd.DataFrame  # benchmark, part, model, tried, loading, seconds_per_clip, clips (of the whole run)
    workers: int
    device_memory_gb: float  # the most that was held at a time; 0: no GPU was used

    @property
    def hours(self) -> float:
        work, loading = (self.parts["seconds_per_clip"] * self.parts["clips"]).sum(), self.parts["loading"].sum()
        return float(work / self.workers + loading) / 3600

    def measured(self) -> pd.DataFrame:
        """Seconds per clip and part, for `hours_table`."""
        total = self.parts["benchmark"].map(self.parts.groupby("benchmark")["clips"].max())
        return self.parts.assign(share_of_clips=self.parts["clips"] / total)[MEASURED]


def models_table(found: Sequence[Need]) -> pd.DataFrame:
    """One row per model that a run takes: its role, who needs it, and what has to be fetched."""
    rows = []
    for need in found:
        size = download_mb(need.spec)
        rows.append(
            [need.role, need.spec.name, need.used_by, "missing" if need.missing else "ready", shown_size(size) if size else ""]
        )
    return pd.DataFrame(rows, columns=["role", "model", "needed by", "state", "download"])


def listed(params: RunParams) -> list[Clip]:
    """The clips of a run; a UsageError where there is nothing on disk to list yet."""
    if params.curation.world is not None:
        raise UsageError(f"The run '{params.run}' renders its own clips; estimate works on datasets that are on disk")
    clips = clips_of(params)
    if not clips:
        raise ContractError(f"The run '{params.run}' lists no clip; lookback validate says what is wrong with its sources")
    return clips


def tried_clips(clips: Sequence[Clip]) -> list[Clip]:
    """Of every benchmark TRIED clips, spread over its settings and subsets; at least one of each."""
    chosen: list[Clip] = []
    for benchmark in dict.fromkeys(clip.benchmark for clip in clips):
        groups: dict[tuple[str, str], list[Clip]] = {}
        for clip in clips:
            if clip.benchmark == benchmark:
                groups.setdefault((clip.setting, clip.subset), []).append(clip)
        turns = max(1, -(-TRIED // len(groups)))
        chosen += [clip for number in range(turns) for own in groups.values() for clip in own[number : number + 1]]
    return chosen


def trial(params: RunParams, clips: Sequence[Clip]) -> Trial:
    """Run curation, extraction and scoring on a few clips in a temporary folder, one clip after the other. Judges are not asked."""
    chosen = tried_clips(clips)
    with scratch_folder("estimate") as folder:
        alone = params.model_copy(update={"output": str(folder), "workers": 1, "executor": "local"})
        collected = collect(alone, alone.curation.sources, {clip.key for clip in chosen})
        if collected.clips.empty:
            raise ContractError(f"None of the {len(chosen)} clips of the trial can be read; run lookback validate on the dataset")
        _forget_peak()
        started = time.perf_counter()
        artifacts, extracted = extract_run(alone, collected.clips)
        _, items, scored = score_run(alone, collected.clips, collected.segments, artifacts)
        wall = time.perf_counter() - started
        memory = max([_peak_gb(), *_runner_gb(alone, artifacts)])
    spent = per_clip(extracted, scored, artifacts, items)
    decoding = (spent["part"] == DECODING) & (spent["stage"] == "scoring")  # each stage decodes by itself
    spent["part"] = spent["part"].mask(decoding, "decode for scoring")
    rows = spent.merge(collected.clips[[*GROUP[:2], "model_id", "clip_id", "subset"]], how="left")
    parts = _parts(rows, clips)
    unseen = max(0.0, wall - float(spent["seconds"].sum())) / len(chosen)  # building backends, reading and writing
    for benchmark, own in pd.Series([clip.benchmark for clip in clips]).value_counts().items():
        parts.loc[len(parts)] = [benchmark, "starting and storing", "", len(chosen), 0.0, unseen, own]
    return Trial(parts, params.workers, memory)


def _parts(rows: pd.DataFrame, clips: Sequence[Clip]) -> pd.DataFrame:
    """Per part: the seconds of the first clip that are above the others', the seconds of the others, and how many clips have it."""
    counts = pd.DataFrame([(clip.benchmark, clip.setting, clip.subset) for clip in clips], columns=GROUP).value_counts()
    found = []
    for (benchmark, part, model), own in rows.groupby(["benchmark", "part", "model"], sort=False):
        seconds = own["seconds"].tolist()
        usual = sum(seconds[1:]) / (len(seconds) - 1) if len(seconds) > 1 else seconds[0]
        groups = own[GROUP].drop_duplicates().itertuples(index=False, name=None)
        whole = sum(int(counts.get(group, 0)) for group in groups)
        found.append([benchmark, part, model, len(seconds), max(0.0, seconds[0] - usual), usual, whole])
    return pd.DataFrame(found, columns=["benchmark", "part", "model", "tried", "loading", "seconds_per_clip", "clips"])


def hours_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Hours per 100 clips of every benchmark, and of each of its parts, from measured seconds per clip (one worker)."""
    if missing := [name for name in MEASURED[:4] if name not in measured.columns]:
        raise UsageError(f"The measured seconds lack the column '{missing[0]}'; they need {', '.join(MEASURED[:4])}")
    shares = measured["share_of_clips"] if "share_of_clips" in measured.columns else 1.0
    hours = measured.assign(hours=measured["seconds_per_clip"] * shares * 100 / 3600)
    whole = hours.groupby("benchmark", as_index=False)["hours"].sum().assign(part="all", model="")
    name = "hours per 100 clips"
    table = pd.concat([hours, whole]).rename(columns={"hours": name})[["benchmark", "part", "model", name]]
    order = table["part"].eq("all")
    return table.assign(order=order).sort_values(["benchmark", "order", name], ascending=[True, True, False]).drop(columns="order")


def read_measured(path: Path) -> pd.DataFrame:
    """A file that `lookback estimate --save` wrote, or one of the same columns."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file of measured seconds; `lookback estimate RUN --save {path}` writes one")
    measured = read_csv(path, dtype=str, keep_default_na=False)
    numbers = measured.columns.intersection(MEASURED[3:])
    measured[numbers] = measured[numbers].apply(pd.to_numeric, errors="coerce")
    if measured[numbers].isna().any(axis=None):
        raise UsageError(f"{path.name}: {' and '.join(numbers)} must be numbers in every row; write the file again with --save")
    return measured


def _forget_peak() -> None:
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak_gb() -> float:
    """The most GPU memory that this process held."""
    torch = sys.modules.get("torch")
    return torch.cuda.max_memory_allocated() / 1e9 if torch is not None and torch.cuda.is_available() else 0.0


def _runner_gb(params: RunParams, artifacts: pd.DataFrame) -> list[float]:
    """The most GPU memory that models in environments of their own held, as they say it."""
    store = ArtifactStore(params.paths.artifacts)
    entries = [entry_of(store, row) for row in artifacts.to_dict("records") if row["stored"]]
    facts = [entry.record.get("ran_with", {}) for entry in entries if entry is not None]
    return [said["device_memory_mb"] * 2**20 / 1e9 for said in facts if "device_memory_mb" in said]
