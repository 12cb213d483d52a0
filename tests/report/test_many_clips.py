"""The report of a run with more clips than a page can hold: every clip is named, and no work grows faster than their number."""

import re

import numpy as np
import pandas as pd
import pytest
from lookback.artifacts import PoseTrack, RunArtifacts
from lookback.clips import KEYS, Clip
from lookback.report import behind
from lookback.report.behind import Behind, Pictures, worst_units
from lookback.report.figures.paths import camera_paths
from lookback.scoring.direction import more_is_better
from lookback.tables import empty_table

MODELS, SCENES = ("a", "b", "c"), 10
METRIC, VARIANT = "memobench.psnr", "paper"


@pytest.fixture(scope="module")
def clips() -> list[Clip]:
    return [
        Clip(benchmark="memobench", setting="real", model_id=model, clip_id=f"s{number}", scene=f"s{number}", video="none.mp4")
        for model in MODELS
        for number in range(SCENES)
    ]


def units_of(clips: list[Clip], frames: int = 9) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {
            **dict(zip(KEYS, clip.key, strict=True)),
            "metric": metric,
            "variant": VARIANT,
            "unit_id": f"{phase}_f{frame}",
            "phase": phase,
        }
        | {"frame": frame, "value": float(rng.integers(0, 5)), "reason": ""}
        for clip in clips
        for metric in (METRIC, "memobench.lpips")
        for phase in ("", "V")
        for frame in range(frames)
    ]
    return pd.DataFrame(rows)


def items_of(clips: list[Clip]) -> pd.DataFrame:
    names = [dict(zip(KEYS, clip.key, strict=True)) for clip in clips]
    told = {"metric": METRIC, "variant": VARIANT, "phase": "", "value": 1.0, "reason": "", "detail": "", "backend": "none"}
    return pd.DataFrame([{**name, **told} for name in names])


def page_of(clips: list[Clip], moments: int) -> str:
    empty = (empty_table(name) for name in ("judgements", "failures"))
    return "".join(page.body for page in Behind(clips, items_of(clips), units_of(clips), *empty, "demo", moments).pages({}))


def test_every_clip_is_named_and_each_model_has_the_same_share_of_pictures_and_scores(clips, monkeypatch):
    monkeypatch.setattr(behind, "PICTURED", 3)
    monkeypatch.setattr(behind, "SCORED", 12)
    monkeypatch.setattr(behind, "read_pictures", lambda clip, moments, _: Pictures(f"<i>{clip.model_id}</i>" if moments else ""))
    page = page_of(clips, moments=2)
    assert all(f"<b>{clip.label}</b>" in page for clip in clips)
    assert sorted(re.findall("<i>(.)</i>", page)) == ["a", "b", "c"]
    assert page.count("<table>") == 12
    assert page.count("6 clips are listed without scores") == len(MODELS)


def test_a_small_run_has_no_remark(clips):
    page = page_of(clips[:2], moments=0)
    assert "listed without" not in page and page.count("<table>") == 2


def test_the_worst_units_are_those_that_pandas_finds_clip_by_clip(clips):
    units = units_of(clips[:3])
    units.loc[::7, "value"] = np.nan
    found = worst_units(units)
    told = units[units["value"].notna()]
    for key, own in told.groupby(KEYS):
        for metric in own["metric"].unique():
            for phase, rows in (("V", own[own["phase"] == "V"]), ("", own)):
                rows = rows[rows["metric"] == metric]
                worst = rows.nsmallest(3, "value") if more_is_better(metric, phase) else rows.nlargest(3, "value")
                assert found[key, metric, phase] == ", ".join(
                    f"{unit}: {value:.3g}" for unit, value in worst[["unit_id", "value"]].values
                )


def test_camera_paths_are_loaded_for_one_request_only(clips, tmp_path, monkeypatch):
    table = pd.DataFrame([{**dict(zip(KEYS, clip.key, strict=True)), "role": "pose", "stored": "x"} for clip in clips])
    c2w = np.repeat(np.eye(4)[None], 4, axis=0)
    plain = {"intrinsics": np.tile(np.eye(3), (4, 1, 1)), "confidence": np.ones(4), "has_translation": np.ones(4, bool)}
    track, loaded = PoseTrack(frame_index=np.arange(4), c2w=c2w, **plain), []
    monkeypatch.setattr(RunArtifacts, "load", lambda self, clip, kind: loaded.append(clip.clip_id) or track)
    assert camera_paths("memobench", clips, RunArtifacts(tmp_path, table)) is not None
    assert loaded == ["s9"] * len(MODELS)


def test_the_roles_of_a_clip_are_those_that_the_store_holds(clips, tmp_path):
    rows = [
        {**dict(zip(KEYS, clip.key, strict=True)), "role": role, "stored": stored}
        for clip in clips[:2]
        for role, stored in (("pose", "x"), ("masks", ""), ("flow", "y" if clip is clips[0] else ""))
    ]
    artifacts = RunArtifacts(tmp_path, pd.DataFrame(rows))
    assert [artifacts.roles(clip) for clip in clips[:3]] == [["pose", "flow"], ["pose"], []]
