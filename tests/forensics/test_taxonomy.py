"""The taxonomy on rendered clips, and its score.

`docs/measured/forensics.json` and `heldout.json` hold the scores on the full sets: the demo, where the thresholds were chosen, and
`forensics_heldout`, never used to choose one. Here a small part of the latter is rendered anew and read with the renderer's own
camera and masks, so that it takes seconds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import made_artifacts
import numpy as np
import pandas as pd
import pytest
from forensics_heldout import PLAN, SEED
from lookback.clips import Anchor, Clip
from lookback.demo.clip import render_clip
from lookback.demo.plan import RIGHT
from lookback.forensics.evidence import gather
from lookback.forensics.probe import Inputs, probe
from lookback.forensics.rules import LABELS, OF_INJECTED, TITLES, find_failures
from lookback.forensics.score import clean_share, confusion, counts, label_scores, macro_f1, with_truth
from lookback.media import encode
from lookback.stages._forensics import trial_tables
from lookback.tables import empty_table

FRAMES = 32
FAILURES = (
    RIGHT,
    ("object_vanishes", 1.0),
    ("texture_drift", 0.8),
    ("background_hallucination", 0.9),
    ("lighting_shift", 0.7),
    ("style_shift", 0.7),
    ("geometric_melt", 0.8),
    ("camera_drift", 0.7),
    ("camera_inactivity", 0.8),
)


def states(visibility: np.ndarray) -> np.ndarray:
    """Out, in view, leaving (partly seen), as the mask backends code them."""
    return np.where(visibility < 0.05, 0, np.where(visibility > 0.95, 1, 2)).astype(np.int8)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Every failure on one scene of the held-out plan, encoded, probed and labelled; the other seed for the faithful clip too."""
    folder = tmp_path_factory.mktemp("clips")
    task = next(task for task, _ in PLAN if task.scene == "gallery")
    short = replace(
        task.camera, segments=tuple(replace(part, frames=FRAMES // len(task.camera.segments)) for part in task.camera.segments)
    )
    planned = [(SEED, failure) for failure in FAILURES] + [(7, RIGHT), (7, ("object_vanishes", 1.0))]
    rows = []
    for number, (seed, (failure, severity)) in enumerate(planned):
        rendered = render_clip(replace(task.spec((failure, severity), 240, 144, seed), camera=short))
        video = folder / f"{number}.mp4"
        encode(video, rendered.frames, fps=16)
        rows.append(watch(rendered, video, failure, severity))
    return rows


def watch(rendered, video: Path, failure: str, severity: float) -> dict:
    n, height, width = rendered.frames.shape[:3]
    mask = rendered.parts == 1
    anchor = Anchor(centre_x=1, centre_y=1, width=1, height=1)
    request = ",".join(
        "+".join(f"{m.kind}:{m.direction}:{m.amount:g}" for m in part.motions) + f"@{part.frames}"
        if part.motions
        else f"static@{part.frames}"
        for part in rendered.spec.camera.segments
    )
    clip = Clip(
        benchmark="mbench", setting="A", model_id=f"{failure}-{severity:g}-{rendered.spec.seed}", clip_id="c", video=str(video),
        n_frames=n, fps=16, width=width, height=height, camera=request, object_anchor=anchor, subset="object",
    )  # fmt: skip
    index = np.arange(n)
    pose = made_artifacts.poses(rendered.c2w, intrinsics=np.repeat(rendered.intrinsics[None], n, 0))
    boxes = np.full((n, 4), np.nan)
    for frame in index[mask.any(axis=(1, 2))]:
        y, x = np.nonzero(mask[frame])
        boxes[frame] = x.min(), y.min(), x.max() + 1, y.max() + 1
    masks = made_artifacts.masks(mask, boxes=boxes, state=states(rendered.visibility))
    seen = gather(clip, pose, masks, None, (), probe(Inputs(clip, pose, masks, None)))
    found = [finding for _, finding in find_failures(seen)]
    return {"failure": failure, "severity": severity, "clip": clip, "found": found, "rendered": rendered}


def tables(watched: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    keys = [dict(zip(("benchmark", "setting", "model_id", "clip_id"), row["clip"].key, strict=True)) for row in watched]
    truth = pd.DataFrame(
        [{**key, "failure": row["failure"], "severity": row["severity"]} for key, row in zip(keys, watched, strict=True)]
    )
    failures = [{**key, "label": finding.label} for key, row in zip(keys, watched, strict=True) for finding in row["found"]]
    return pd.DataFrame(failures), truth


@pytest.mark.long
def test_the_injected_failure_is_recovered_and_faithful_clips_are_clean(watched):
    clips = with_truth(*tables(watched))
    assert macro_f1(label_scores(clips)) >= 0.8
    assert clean_share(clips) == 1.0


@pytest.mark.long
def test_evidence_frames_point_at_failing_frames(watched):
    """A failure acts from the middle of the absence on (the world's rule); findings about the picture must lie after it."""
    checked = 0
    for row in watched:
        label = OF_INJECTED.get(row["failure"], row["failure"])
        for finding in (finding for finding in row["found"] if finding.label == label):
            if label == "camera_inactivity":
                assert (finding.frame_start, finding.frame_end) == (0, row["clip"].n_frames - 1)
            elif label == "camera_drift":
                off = np.degrees(
                    np.arccos(
                        np.clip(
                            (np.einsum("nij,nij->n", row["rendered"].c2w[:, :3, :3], row["rendered"].target_c2w[:, :3, :3]) - 1)
                            / 2,
                            -1,
                            1,
                        )
                    )
                )
                assert off[finding.frame_start : finding.frame_end + 1].min() >= 5.5
            else:
                away = (
                    np.flatnonzero(row["rendered"].visibility < 0.05)
                    if label != "object_vanishes"
                    else np.arange(FRAMES // 3, FRAMES // 2)
                )
                assert finding.frame_start > away[len(away) // 2]
                assert finding.frame_end < row["clip"].n_frames
                checked += 1
    assert checked >= 4


def test_scores_equal_scikit_learn_on_a_random_table():
    """Precision, recall and F1 per label against scikit-learn's multilabel scores (1.x)."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    injected = rng.integers(0, len(LABELS) + 1, 200)
    found = rng.random((200, len(LABELS))) < 0.15
    for row, which in enumerate(injected):
        if which < len(LABELS) and rng.random() < 0.7:
            found[row, which] = True
    clips = pd.DataFrame({"injected": [(*LABELS, "none")[k] for k in injected]})
    clips["found"] = [frozenset(label for label, hit in zip(LABELS, row, strict=True) if hit) for row in found]
    wanted = np.eye(len(LABELS) + 1, dtype=bool)[injected][:, :-1]
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(wanted, found, average=None, zero_division=0)
    scores = label_scores(clips)
    assert scores["precision"].to_numpy() == pytest.approx(precision)
    assert scores["recall"].to_numpy() == pytest.approx(recall)
    assert macro_f1(scores) == pytest.approx(f1.mean())
    table = confusion(clips).set_index("injected")
    assert table.loc["teleport", "teleport"] == (wanted & found)[:, LABELS.index("teleport")].sum()
    assert table["clips"].sum() == 200


def test_a_failure_that_was_never_found_has_no_precision():
    clips = pd.DataFrame({"injected": ["teleport", "none"], "found": [frozenset(), frozenset()]})
    (row,) = label_scores(clips).to_dict("records")
    assert np.isnan(row["precision"]) and (row["recall"], row["F1"]) == (0, 0)


def test_counts_have_the_shape_of_memobench_s10():
    """MemoBench table S10: a row per split, a column per failure, non-exclusive; a model without failures keeps its zero row."""
    keys = ["benchmark", "setting", "model_id", "clip_id"]
    clips = pd.DataFrame(
        [["memobench", s, m, str(k)] for s in ("real", "synthetic") for m in ("a", "b") for k in range(3)], columns=keys
    )
    rows = [
        ["memobench", "real", "a", "0", "teleport"],
        ["memobench", "real", "a", "0", "camera_drift"],
        ["memobench", "real", "a", "1", "teleport"],
    ]
    silent = pd.DataFrame([["memobench", "real", "b", str(k), "duplicate"] for k in range(3)], columns=[*keys, "label"])
    table = counts(pd.DataFrame(rows, columns=[*keys, "label"]), clips, silent).set_index(["setting", "model_id"])
    assert list(table.columns) == ["benchmark", "clips", *TITLES.values()]
    assert table.loc[("real", "a"), "teleport"] == 2
    assert table.loc[("real", "a"), TITLES["camera_drift"]] == 1
    assert table.loc[("synthetic", "b")].drop("benchmark").tolist() == [3] + [0] * len(LABELS)
    assert pd.isna(table.loc[("real", "b"), TITLES["duplicate"]]) and table.loc[("real", "a"), TITLES["duplicate"]] == 0


def test_a_run_without_an_injected_failure_has_no_scores():
    """A CSV file without columns stopped the report of a run with one faithful model."""
    keys = {"benchmark": "mind", "setting": "", "model_id": "m", "clip_id": "c"}
    truth = pd.DataFrame([{**keys, "failure": "none", "severity": 0.0}])
    assert list(trial_tables(empty_table("failures"), truth)) == ["confusion"]
    assert trial_tables(empty_table("failures"), empty_table("truth")) == {}
