"""Corrupt good clips, then extract and score them like any other clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lookback.clips import KEYS, Clip, clips_from_frame, clips_to_frame
from lookback.code import code_version
from lookback.demo.audit.controls import CONTROLS, SOUND_CRF, Control
from lookback.extraction.run import extract_run
from lookback.files import made_from
from lookback.media import content_hash, encode, open_video
from lookback.params import RunParams
from lookback.paths import portable, resolve
from lookback.progress import track
from lookback.scoring.run import applicable, score_run

FOLDER = "audit"
CODE = "lookback.demo.audit.controls"  # the corruptions, the decoder and the encoder


@dataclass(frozen=True)
class Trial:
    """One clip under one corruption."""

    clip: Clip
    control: Control | None  # None: the good clip itself, encoded in the same way, for comparison
    strength: float

    @property
    def name(self) -> str:
        return "sound" if self.control is None else f"{self.control.name}-{round(100 * self.strength):03d}"


def sound_clips(clips: pd.DataFrame, truth: pd.DataFrame, params: RunParams) -> list[Clip]:
    """The clips to corrupt: faithful ones where the truth is known, one after the other from every
    benchmark, setting and subset, those with most metrics first."""
    candidates = clips_from_frame(clips)
    if len(truth):
        right = {tuple(row) for row in truth.loc[truth["severity"] == 0, KEYS].to_numpy()}
        candidates = [clip for clip in candidates if clip.key in right]
    if params.audit.benchmarks:
        candidates = [clip for clip in candidates if clip.benchmark in params.audit.benchmarks]
    groups: dict[tuple[str, str, str], list[Clip]] = {}
    for clip in candidates:
        groups.setdefault((clip.benchmark, clip.setting, clip.subset), []).append(clip)
    ordered = sorted(groups.values(), key=lambda members: -len(applicable(members[0], params.scoring.metrics)))
    chosen: list[Clip] = []
    while len(chosen) < params.audit.clips and any(ordered):
        chosen += [members.pop(0) for members in ordered if members]
    return chosen[: params.audit.clips]


def run_trials(params: RunParams, clips: pd.DataFrame, segments: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Items of every sound clip under every corruption, with the columns `control`, `kind` and `strength`."""
    sound = sound_clips(clips, truth, params)
    trials = [trial for clip in sound for trial in _trials(clip, params.audit.severities)]
    if not trials:
        return pd.DataFrame()
    written = [_write(trial, sound, params) for trial in track(trials, "corrupting")]
    table = clips_to_frame(written)
    renamed = [(trial.clip.model_id, clip.model_id) for trial, clip in zip(trials, written, strict=True)]
    own_segments = _segments(segments, renamed)
    needed = {role for clip in sound for spec in applicable(clip, params.scoring.metrics) for role in spec.roles}
    # these clips are not judged, not checked by rules, and only the chosen variant of a metric is audited
    trial_params = params.changed(extraction={"roles": sorted(needed)}, scoring={"compare_variants": False})
    artifacts, _ = extract_run(trial_params, table)
    _, items, _ = score_run(trial_params, table, own_segments, artifacts)
    facts = pd.DataFrame(
        [
            {
                "model_id": clip.model_id,
                "sound_model": trial.clip.model_id,
                "control": "sound" if trial.control is None else trial.control.name,
                "kind": "sound" if trial.control is None else trial.control.kind,
                "strength": trial.strength,
            }
            for trial, clip in zip(trials, written, strict=True)
        ]
    ).drop_duplicates()
    return items.merge(facts, on="model_id")


def _trials(clip: Clip, severities: Sequence[float]) -> list[Trial]:
    found = [Trial(clip, None, 0.0)]
    for control in CONTROLS:
        strengths = [1.0] if control.kind == "control" else severities
        found += [Trial(clip, control, strength) for strength in strengths]
    return found


def _write(trial: Trial, sound: list[Clip], params: RunParams) -> Clip:
    """The corrupted video below the run's folder, as a clip of a model of its own; what lies beside the video stays valid."""
    clip, seeds = trial.clip, [params.seed, sound.index(trial.clip)]
    other = next((each for each in reversed(sound) if each.scene != clip.scene), clip)
    source = [clip.content_hash, other.content_hash, seeds, code_version(CODE)]
    target = made_from(params.paths.root / FOLDER / trial.name, [clip.key, trial.strength], source, ".mp4")
    if not target.is_file():
        frames, fps = _frames(clip)
        if trial.control is not None:
            rng = np.random.default_rng(seeds)
            frames = trial.control.apply(frames, trial.strength, rng, _frames(other)[0])
        encode(target, frames, fps, crf=SOUND_CRF)
    changes = {"model_id": f"{clip.model_id}+{trial.name}", "video": portable(target), "poses": None}
    return clip.model_copy(update={**changes, "content_hash": content_hash(target)})


def _frames(clip: Clip) -> tuple[np.ndarray, float]:
    with open_video(resolve(clip.video)) as reader:
        return reader.read(np.arange(reader.info.n_frames)), reader.info.fps or 16.0


def _segments(segments: pd.DataFrame, renamed: list[tuple[str, str]]) -> pd.DataFrame:
    """The caption segments of the good clips, repeated for every corrupted copy."""
    parts = [segments[segments["model_id"] == before].assign(model_id=after) for before, after in dict.fromkeys(renamed)]
    return pd.concat(parts) if parts else segments.head(0)
