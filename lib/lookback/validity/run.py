"""Run the pipeline over the labelled clips: their features, what the written rules say, and what the geometric judge says.

Everything is kept below outputs/validity: artifacts in the store, and the three tables with a stamp of clips and code. A second
call with the same clips and code only reads the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lookback import stages
from lookback.clips import Anchor, Clip, clips_from_frame, clips_to_frame
from lookback.code import code_version
from lookback.errors import NotScorable, Reason
from lookback.files import sha256_json, write_text
from lookback.forensics.collect import collect
from lookback.forensics.evidence import Evidence
from lookback.forensics.features import row
from lookback.forensics.rules import find_failures
from lookback.judging.geometry import WEAK
from lookback.judging.judges.base import artifact_loader
from lookback.judging.judges.geometric_judge import evidence, timeline
from lookback.params import RunParams
from lookback.paths import RunPaths
from lookback.pipeline.lock import run_lock
from lookback.tables import csv_text, empty_table, write_table
from lookback.validity.dataset import ANCHORS, RUN, Label, data_file, label_name, run_params

STAMP = "stamp.json"
CODE = (
    "lookback.stages._curation", "lookback.stages._extraction", "lookback.forensics.collect", "lookback.forensics.features",
    "lookback.forensics.rules", "lookback.judging.judges.geometric_judge", "lookback.validity.dataset",
)  # fmt: skip


@dataclass(frozen=True)
class RealRun:
    """What the pipeline saw in the labelled clips. Rows are named like the labels."""

    features: pd.DataFrame  # one row per clip
    rules: pd.DataFrame  # clip, label, confidence: what the written rules name
    judge: pd.DataFrame  # clip, fact, yes, confidence, reason


TABLES = tuple(RealRun.__dataclass_fields__)


def real_run(source: Path, workers: int = 0) -> RealRun:
    """The tables of the labelled clips, from an earlier call if neither clips nor code changed."""
    folder = RunPaths.of(RUN).root / "seen"
    stamp = sha256_json(
        [code_version(*CODE), [[path.name, path.stat().st_size] for path in sorted(source.rglob("*.mp4"))], _anchor_text()]
    )
    if (folder / STAMP).is_file() and json.loads((folder / STAMP).read_text(encoding="utf-8")) == stamp:
        return RealRun(**{name: _read(folder / f"{name}.csv", name) for name in TABLES})
    found = _look(source, workers)
    for name in TABLES:
        write_text(
            folder / f"{name}.csv", csv_text(getattr(found, name).reset_index() if name == "features" else getattr(found, name))
        )
    write_text(folder / STAMP, json.dumps(stamp))
    return found


def labelled(run: RealRun, labels: Mapping[str, Label]) -> RealRun:
    """The part of the run that somebody labelled."""
    rules, judge = (frame[frame["clip"].isin(list(labels))] for frame in (run.rules, run.judge))
    return RealRun(run.features[run.features.index.isin(list(labels))], rules, judge)


def _read(path: Path, name: str) -> pd.DataFrame:
    frame = pd.read_csv(path)
    return frame.set_index("clip") if name == "features" else frame


def _look(source: Path, workers: int) -> RealRun:
    params = run_params(source, workers)
    with run_lock(params.paths.root):
        tables = stages.curation(params)
        clips = [_anchored(clip) for clip in clips_from_frame(tables["clips"])]
        tables["clips"] = write_table(params.paths.tables, "clips", clips_to_frame(clips))
        tables |= stages.extraction(params)
        tables["judgements"] = empty_table("judgements")
        seen = collect(params, tables)
    names = [label_name(one.clip) for one in seen]
    features = pd.DataFrame([row(one) for one in seen], index=pd.Index(names, name="clip"))
    return RealRun(features, _by_rules(seen), _by_judge(params, clips, tables["artifacts"]))


def _anchor_text() -> str:
    path = data_file(ANCHORS)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _anchored(clip: Clip) -> Clip:
    """The clip with the place of its subject in the first frame, where somebody drew one. Places are shares of the picture."""
    path = data_file(ANCHORS)
    if not path.is_file() or not clip.width or not clip.height:
        return clip
    places = pd.read_csv(path).set_index("clip_id")
    name = label_name(clip)
    if name not in places.index or places.loc[name, ["centre_x", "centre_y", "width", "height"]].isna().any():
        return clip
    place, across, down = places.loc[name], clip.width, clip.height
    anchor = Anchor(
        centre_x=place["centre_x"] * across,
        centre_y=place["centre_y"] * down,
        width=place["width"] * across,
        height=place["height"] * down,
    )
    return clip.model_copy(update={"object_anchor": anchor})


def _by_rules(seen: list[Evidence]) -> pd.DataFrame:
    """What the written rules name."""
    rows = [
        {"clip": label_name(one.clip), "label": hit.label, "confidence": hit.confidence}
        for one in seen
        for _, hit in find_failures(one)
    ]
    return pd.DataFrame(rows, columns=["clip", "label", "confidence"])


def _by_judge(params: RunParams, clips: list[Clip], artifacts: pd.DataFrame) -> pd.DataFrame:
    """What the geometric judge states about departure and return, or why it does not."""
    load = artifact_loader(params.paths.artifacts, artifacts)
    rows: list[dict[str, object]] = []
    for clip in clips:
        with _refused(clip, rows):
            for fact, decision in timeline(*evidence(clip, load(clip))).items():
                why = str(Reason.TOO_CLOSE) if decision.confidence < WEAK else ""
                said = {"fact": fact, "yes": decision.yes, "confidence": decision.confidence, "reason": why}
                rows.append({"clip": label_name(clip), **said})
    return pd.DataFrame(rows, columns=["clip", "fact", "yes", "confidence", "reason"])


@contextmanager
def _refused(clip: Clip, rows: list[dict[str, object]]) -> Iterator[None]:
    try:
        yield
    except NotScorable as error:
        rows.append({"clip": label_name(clip), "fact": "", "yes": False, "confidence": float("nan"), "reason": str(error.reason)})
