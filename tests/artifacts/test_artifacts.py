"""The typed artifacts: what is stored comes back, what is damaged is refused, and nobody else opens the arrays."""

from __future__ import annotations

import re
from pathlib import Path

import lookback
import made_artifacts
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array
from lookback.artifacts import Artifact, Depth, FaceTracks, Masks, PoseTrack, Style, kind_of, kinds
from lookback.artifacts.base import ArrayField
from lookback.artifacts.contract import PAGE, page
from lookback.artifacts.masks import pack_masks, unpack_masks
from lookback.errors import ContractError
from lookback.params import load_run
from lookback.registry import BACKENDS
from lookback.store import ArtifactStore, Entry, Producer

PACKAGE = Path(lookback.__file__).parent
PROJECT = Path(__file__).resolve().parents[2]
ROLES = [kind.role for kind in kinds()]


def made(kind: type[Artifact], draw: st.DrawFn) -> Artifact:
    """An artifact of any lengths with any contents that its class allows."""
    sizes = {letter: draw(st.integers(1, 4), label=letter) for letter in "NKHWBDPMLT"}
    facts: dict[str, object] = {}
    if issubclass(kind, Masks):
        width = draw(st.integers(1, 20))
        sizes["B"] = -(-width // 8)
        facts["shape"] = (sizes["N"], sizes["H"], width)
    if kind is Style:
        sizes["N"] = sizes["T"] + 1
        facts |= {"network": "vgg16", "layers": tuple("abcd"[: sizes["L"]]), "style_layer": "a"}
    values = {each.field: draw(_contents(each, sizes), label=each.name) for each in kind.contract().arrays}
    if "grid" in values:
        values["grid"] = np.array([1, sizes["P"]])
    told = draw(st.dictionaries(st.sampled_from(["prompt", "sampling"]), st.one_of(st.text(max_size=5), st.integers(0, 9))))
    return kind(facts=told, **facts, **values)


def _contents(each: ArrayField, sizes: dict[str, int]) -> st.SearchStrategy[np.ndarray]:
    shape = tuple(int(axis) if axis.isdigit() else sizes[axis] for axis in each.shape.split())
    return any_array(np.dtype(each.dtype if each.exact else np.float16), shape)


@pytest.mark.parametrize("role", ROLES)
@settings(  # large arrays overflow hypothesis' buffer, which it counts as filtering
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_what_is_stored_comes_back_as_it_was(tmp_path: Path, role: str, data: st.DataObject) -> None:
    kind = kind_of(role)
    artifact = made(kind, data.draw)
    store, producer, entry = ArtifactStore(tmp_path), Producer(role, "test", "1"), artifact.pack()
    store.save(producer, "clip", entry.arrays, entry.record)
    loaded = store.load(producer, "clip")
    assert loaded is not None
    again = kind.unpack(loaded)
    assert again.record == artifact.record and again.facts == artifact.facts
    for each in kind.contract().arrays:
        before, after = getattr(artifact, each.field), getattr(again, each.field)
        assert before.dtype == after.dtype and before.tobytes() == after.tobytes()


@pytest.mark.parametrize("role", ROLES)
def test_every_kind_of_damage_is_one_typed_error(role: str) -> None:
    kind = kind_of(role)
    whole = _some(kind)
    assert kind.unpack(whole).role == role
    for each in (each for each in kind.contract().arrays if not each.optional):
        lacking = {name: array for name, array in whole.arrays.items() if name != each.name}
        _refused(kind, Entry(lacking, whole.record), f"no array '{each.name}'")
        other_length = {**whole.arrays, each.name: whole.arrays[each.name][:, None]}
        _refused(kind, Entry(other_length, whole.record), "shape")
        words = {**whole.arrays, each.name: np.full(whole.arrays[each.name].shape, "x")}
        _refused(kind, Entry(words, whole.record), "holds <U1")
    for fact in (fact for fact in kind.contract().facts if fact.required):
        _refused(kind, Entry(whole.arrays, {k: v for k, v in whole.record.items() if k != fact.field}), fact.field)
        _refused(kind, Entry(whole.arrays, {**whole.record, fact.field: {"a": None}}), "is wrong")


def _refused(kind: type[Artifact], entry: Entry, words: str) -> None:
    with pytest.raises(ContractError, match=re.escape(words)) as raised:
        kind.unpack(entry)
    assert f"'{kind.role}'" in str(raised.value) and "run the extraction stage again" in str(raised.value)


def _some(kind: type[Artifact]) -> Entry:
    """One plain artifact of a role, with several rows."""
    letters = dict.fromkeys("NKHBDPM", 3) | {"W": 3, "T": 2, "L": 2}
    arrays = {}
    for each in kind.contract().arrays:
        shape = tuple(int(axis) if axis.isdigit() else letters[axis] for axis in each.shape.split())
        arrays[each.name] = np.zeros(shape, np.dtype(each.dtype if each.exact else np.float16))
    if "grid" in arrays:
        arrays["grid"] = np.array([1, 3])
    record = {"shape": [3, 3, 20]} if issubclass(kind, Masks) else {}
    if kind is Style:
        record = {"network": "vgg16", "layers": ["a", "b"], "style_layer": "a"}
    return Entry(arrays, record)


@pytest.mark.parametrize("role", ROLES)
def test_another_roles_entry_is_refused(role: str) -> None:
    paths = {"pose", "gt_pose"}  # the same arrays of another video
    for other in (other for other in ROLES if other != role and not {role, other} <= paths):
        with pytest.raises(ContractError):
            kind_of(role).unpack(_some(kind_of(other)))


def test_masks_whose_size_and_bits_disagree_are_refused() -> None:
    entry = made_artifacts.masks(np.ones((2, 4, 20), bool)).pack()
    _refused(Masks, Entry(entry.arrays, {**entry.record, "shape": [2, 4, 30]}), "do not pack to")


def test_a_backend_that_gives_the_wrong_kind_of_number_is_told_so() -> None:
    with pytest.raises(ValueError, match="'frame_index' holds float64, not int64"):
        Depth(frame_index=np.array([0.5]), depth=np.ones((1, 2, 2)))


def test_numbers_are_kept_in_the_declared_width() -> None:
    track = made_artifacts.poses(np.tile(np.eye(4, dtype=np.float32), (2, 1, 1)), frame_index=np.array([0, 4], np.int32))
    assert (track.c2w.dtype, track.frame_index.dtype, track.confidence.dtype) == (np.float64, np.int64, np.float32)


@given(any_array(bool, st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(1, 20))))
def test_packing_masks_loses_nothing(masks: np.ndarray) -> None:
    assert np.array_equal(unpack_masks(pack_masks(masks), masks.shape[2]), masks)


def test_masks_are_found_by_frame_and_brought_to_a_pictures_size() -> None:
    shown = np.zeros((3, 4, 10), bool)
    shown[0, 1:3, 2:6] = True
    masks = made_artifacts.masks(shown, frame_index=np.array([0, 5, 5]))
    assert np.array_equal(masks.at(0), shown[0]) and masks.at(3) is None
    assert masks.rows_at(5).tolist() == [1, 2] and masks.row_near(2) == 0
    assert np.array_equal(masks.resized(0, (8, 20)), np.repeat(np.repeat(shown[0], 2, 0), 2, 1))
    assert masks.large_rows(40, 100, min_side=20).tolist() == [0]  # 2 x 4 of 4 x 10 are 20 x 40 of 40 x 100
    assert masks.large_rows(40, 100, min_side=21).tolist() == []
    assert masks.in_view.tolist() == [True, False, False]


def test_poses_between_rows_are_interpolated_and_held_beyond_them() -> None:
    c2w = np.tile(np.eye(4), (2, 1, 1))
    c2w[1, 0, 3] = 4.0
    track = made_artifacts.poses(c2w, frame_index=np.array([2, 6]), has_translation=np.array([True, False]))
    assert track.at(np.array([0, 2, 3, 6, 9]))[:, 0, 3].tolist() == [0, 0, 1, 4, 4]
    filled = track.per_frame(8)
    assert filled.frame_index.tolist() == list(range(8)) and filled.has_translation.tolist() == [True] * 5 + [False] * 3
    assert np.array_equal(track.positions(), [[0, 0, 0], [np.nan] * 3], equal_nan=True)
    assert track.moves and not track.without_positions().moves


def test_faces_near_a_frame_are_those_of_the_nearest_sampled_one() -> None:
    faces = made_artifacts.faces(np.array([0, 8, 8]), np.zeros((3, 4)), np.array([0, 0, 1]), sampled_frames=(0, 8, 16))
    assert faces.near(9)[0] == 8 and faces.near(9)[1].tolist() == [1, 2]
    assert faces.near(15)[0] == 16 and len(faces.near(15)[1]) == 0


def test_a_role_without_a_class_is_named_with_the_nearest_one() -> None:
    with pytest.raises(ContractError, match="did you mean 'masks'"):
        kind_of("mask")


def test_every_role_that_a_backend_serves_has_a_class() -> None:
    load_run("demo", [])  # imports the backends
    served = {spec.role for spec in BACKENDS} - {"aesthetic"}  # metrics ask it about frames of their own; nothing is stored
    assert served and served | {"gt_pose"} == set(ROLES)


def test_among_a_clips_artifacts_the_class_finds_its_own() -> None:
    track = made_artifacts.poses(np.eye(4)[None])
    assert PoseTrack.among({"pose": track}) is track and FaceTracks.among({"pose": track}) is None


def test_nobody_else_opens_arrays_or_packs_masks() -> None:
    opened = re.compile(r"\.arrays\[|\.arrays\.|\.arrays$|packbits\(")
    own = {PACKAGE / "store.py", *(PACKAGE / "artifacts").rglob("*.py")}
    # the arrays in `parity` come from a released program and not from the store
    sources = [path for path in PACKAGE.rglob("*.py") if path not in own and path.name != "parity.py"]
    assert len(sources) > 100
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sources
        for line in path.read_text().splitlines()
        if opened.search(line)
    ]
    assert found == []


def test_the_store_knows_no_role() -> None:
    assert "lookback.artifacts" not in (PACKAGE / "store.py").read_text()


def test_the_page_of_contracts_is_what_the_classes_declare() -> None:
    assert (PROJECT / PAGE).read_text(encoding="utf-8") == page(), f"write it again: python -m lookback.artifacts.contract > {PAGE}"
