"""A person who leaves and comes back: what MBench's eq. 6 sees of it, and what the corrected variant sees."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback import stages
from lookback.artifacts import FaceTracks
from lookback.clips import Clip
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.demo.plan import PlannedClip, full_plan
from lookback.errors import Reason
from lookback.metrics.functional import returning_cosines, track_identities
from lookback.params.load import validate
from lookback.registry import METRICS
from lookback.scoring.clip import score_clip
from lookback.scoring.contract import Item, ScoringClip

OFFICER, ASTRONAUT, PASSER = np.eye(8, dtype=np.float32)[:3]
IDENTITY = "mbencha.entity.human_identity_consistency"


def faces(*people: np.ndarray | list[np.ndarray] | None) -> FaceTracks:
    """The faces of 32 sampled frames, tracked as the backends do: one entry per eight frames, None where nobody is seen."""
    rng = np.random.default_rng(3)
    listed = [[] if seen is None else seen if isinstance(seen, list) else [seen] for seen in people for _ in range(8)]
    shown = [[person + rng.normal(0, 0.02, 8) for person in seen] for seen in listed]
    rows = [(frame, vector) for frame, seen in enumerate(shown) for vector in seen]
    tracks = {
        (frame, number): track
        for track, person in enumerate(track_identities(shown))
        for frame, number in zip(person.frames, person.detections, strict=True)
    }
    order = [tracks[frame, number] for frame, seen in enumerate(shown) for number in range(len(seen))]
    count = len(rows)
    return FaceTracks(
        frame=np.array([frame for frame, _ in rows]),
        box=np.zeros((count, 4), np.float32),
        landmarks=np.zeros((count, 5, 2), np.float32),
        score=np.ones(count, np.float32),
        embedding=np.array([vector for _, vector in rows], np.float32),
        track=np.array(order),
        sampled_frames=tuple(range(32)),
    )


def identity(found: FaceTracks, variant: str, **constants: float) -> Item:
    clip = Clip(benchmark="mbench", setting="A", model_id="m", clip_id="c", subset="human", video="v.mp4", n_frames=32, fps=8.0)
    spec, entry = METRICS.get(IDENTITY), found.pack()
    given = (clip, variant, constants, pd.DataFrame(), lambda role: entry, lambda role: None)
    return score_clip([(spec, ScoringClip(*given, settings=spec.preset(variant, constants)))])[0].items[0]


KEPT = faces(OFFICER, None, None, OFFICER)
SWAPPED = faces(OFFICER, None, None, ASTRONAUT)
GONE = faces(OFFICER, OFFICER, None, None)


def test_eq_6_is_blind_to_a_swap_and_to_a_person_who_stays_away():
    """Each track has its own centroid, so all three clips score alike."""
    scores = [identity(found, "paper").value for found in (KEPT, SWAPPED, GONE)]
    assert min(scores) > 0.99 and max(scores) - min(scores) < 0.005


def test_the_corrected_variant_sees_both():
    kept, swapped, gone = (identity(found, "corrected") for found in (KEPT, SWAPPED, GONE))
    assert kept.value > 0.99
    assert swapped.value < 0.1
    assert gone.value == 0.0


def test_a_passer_by_does_not_hide_the_swap_and_does_not_spoil_a_return():
    assert identity(faces(OFFICER, None, None, [PASSER, OFFICER]), "corrected").value > 0.99
    assert identity(faces([OFFICER, PASSER], None, None, [PASSER, ASTRONAUT]), "corrected").value == pytest.approx(0.5, abs=0.05)


def test_a_person_who_is_back_in_half_of_the_last_frames_has_half_the_score():
    both = np.concatenate([KEPT.embedding[:-4], SWAPPED.embedding[-4:]])
    assert identity(FaceTracks(**{**vars(KEPT), "embedding": both}), "corrected").value == pytest.approx(0.5, abs=0.05)


def test_nobody_at_the_beginning_is_a_reason():
    found = identity(faces(None, OFFICER, OFFICER, OFFICER), "corrected")
    assert (found.value, found.reason) == (None, Reason.NO_FACE)


def test_a_track_of_one_detection_counts_in_eq_6():
    """Its cosine to itself is 1: (1 + 1) / 2 tracks; a run may ask for longer tracks."""
    found = faces(OFFICER, None, None, None)
    once = FaceTracks(**{**vars(found), "track": np.array([0] * 7 + [1])})
    assert score_count(once, 1) == 2 and score_count(once, 2) == 1


def score_count(found: FaceTracks, shortest: int) -> int:
    return identity(found, "paper", min_track_length=shortest).n_units


def test_returning_cosines_by_hand():
    """45 degrees between the centroid of (1,0) and the second detection of frame 9; frame 8 shows somebody at 90 degrees."""
    frames, tracks = np.array([0, 1, 8, 9, 9]), np.array([0, 0, 1, 1, 2])
    vectors = np.array([[1, 0], [3, 0], [0, 1], [-1, 0], [1, 1]], np.float32)
    assert returning_cosines(frames, vectors, tracks, 2, 8) == {0: {8: 0.0, 9: pytest.approx(np.sqrt(0.5))}}


def test_both_ends_hold_their_last_frame_and_a_cosine_is_never_negative():
    opposite = np.array([[1, 0], [-1, 0]], np.float32)
    assert returning_cosines(np.array([0, 9]), opposite, np.array([0, 1]), first_until=0, last_from=9) == {0: {9: 0.0}}


@pytest.mark.long
def test_an_officer_who_returns_as_an_astronaut_on_clips_of_the_demo_world(tmp_path: Path):
    """Rendered, encoded, read, searched for faces and scored by the stages. Eq. 6 rates the swap like the faithful clip."""
    task = next(task for task, _ in full_plan() if task.clip_id == "human:office_001:text")
    failures = (("none", 0.0), ("identity_drift", 1.0))
    write_datasets([PlannedClip(task, task.spec(failure, 320, 192, 7)) for failure in failures], tmp_path / "data", workers=1)
    name = "mbencht.entity.human_identity_consistency"
    values = {
        "run": "swap",
        "output": str(tmp_path / "run"),
        "workers": 1,
        "curation": {"sources": [source.model_dump() for source in dataset_sources(tmp_path / "data")]},
        "extraction": {"always": [], "options": {"faces": {"frames": 15}}},
        "scoring": {"metrics": [name], "compare_variants": True},
    }
    params = validate(values, "test")
    for stage in (stages.curation, stages.extraction, stages.scoring):
        tables = stage(params)
    found = tables["items"].pivot(index="model_id", columns="variant", values="value")
    faithful, swapped = found.loc["sim-faithful"], found.loc["sim-identity-drift-100"]
    assert swapped["paper"] > faithful["paper"] - 0.02
    assert faithful["corrected"] > 0.9 and swapped["corrected"] < 0.5
