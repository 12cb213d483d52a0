"""A study from the first invitation to the last vote, without a browser: what each person does next, and what is stored."""

import json
import multiprocessing
import os
import signal
from collections import Counter
from operator import itemgetter

import numpy as np
import pytest
from lookback.desk import Settings, Study, load_settings
from lookback.desk.export import coverage, people
from lookback.desk.items import spread
from lookback.desk.practice import SCENES, frames, practice_clip
from lookback.desk.server import view
from lookback.desk.study import Refused, given, stored
from lookback.errors import ParameterError, UsageError
from lookback.media import encode, open_video, write_frames
from lookback.widgets.playable import playable
from time_limits import HUNG_S


def choices(shown, preference="left"):
    """An answer to everything that is asked: yes, and this side."""
    return {question.id: "yes" if question.answers == "yes_no" else preference for question in shown.item.questions}


def answer(study, name, preference="left"):
    """Answer the item in front of the person; None when there is none."""
    shown = study.show(name)
    if shown is not None:
        study.vote(name, shown.item.id, choices(shown, preference), watched=True)
    return shown


def finish(study, name, limit=1000):
    seen = []
    while len(seen) < limit and (shown := answer(study, name)) is not None:
        seen.append(shown)
    return seen


def raters(study):
    return Counter(item for _, item in study.book.answered_pairs())


def begun(run, form="mbench_trigger", names=("ann", "ben", "cat"), **settings):
    study = run.study(form, watch=False, **settings)
    study.invite(names)
    return study


# -- items reach their planned number of raters ---------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [("ann", "ben"), ("ann", "ben", "cat")])
def test_every_item_is_rated_by_the_planned_number_and_any_two_people_share_items(small_run, names):
    study = begun(small_run(), "mbench_pairwise", names, raters=2)
    for name in names:
        finish(study, name)
    assert set(raters(study).values()) == {2} and len(raters(study)) == len(study.items) == 12
    own = {name: {item for who, item in study.book.answered_pairs() if who == name} for name in names}
    assert all(own[one] & own[other] for one in names for other in names)
    assert coverage(study)["with_raters"] == {"0": 0, "1": 0, "2": 12} and coverage(study)["lacking_items"] == 0


def test_a_late_joiner_and_a_drop_out_leave_every_item_with_its_planned_raters(small_run):
    study = begun(small_run(), "mbench_pairwise", ("ann", "ben", "cat"), raters=2, practice=False)
    finish(study, "ann", 3)
    finish(study, "ben", 3)
    study.invite(["dan"])
    finish(study, "dan", 2)
    study.leave("ann")
    kept = len(study.book.ratings().query("annotator == 'ann'"))
    for name in ("ben", "cat", "dan"):
        finish(study, name)
    assert set(raters(study).values()) == {2} and len(raters(study)) == 12
    assert len(study.book.ratings().query("annotator == 'ann'")) == kept > 0  # the votes stay
    assert people(study).set_index("annotator").loc["ann", "state"] == "left"
    assert study.now("ben") is None and study.now("dan") is None


def test_too_few_people_are_told_to_the_organiser(small_run):
    study = begun(small_run(), names=("ann", "ben"))
    assert study.raters == 3  # as the paper did
    assert coverage(study)["lacking_votes"] == len(study.items) == coverage(study)["lacking_items"]
    study.invite(["cat"])
    assert coverage(study)["lacking_items"] == 0


def test_a_skipped_item_goes_to_somebody_else_and_its_comment_is_kept(small_run):
    study = begun(small_run(), names=("ann", "ben", "cat"), raters=2, practice=False, gold_share=0)
    shown = study.show("ann")
    study.skip("ann", shown.item.id, "the video is black")
    for name in ("ann", "ben", "cat"):
        finish(study, name)
    assert raters(study)[shown.item.id] == 2 and set(raters(study).values()) == {2}
    assert ("ann", shown.item.id) not in study.book.answered_pairs()
    assert list(study.book.notes()["text"]) == ["the video is black"]


def test_each_person_answers_one_version_of_the_survey(small_run):
    study = begun(
        small_run(scenes=12, models=("aldermoor",)), "memobench_survey", [f"p{n}" for n in range(9)], raters=2, practice=False
    )
    own = {name: study.own_items(name) for name in study.people}
    assert {len(items) for items in own.values()} == {0, 24}
    assert all(len({item.block for item in items}) <= 1 for items in own.values())
    assert Counter(items[0].block for items in own.values() if items) == {f"version {n}": 2 for n in (1, 2, 3, 4)}
    assert set(Counter(item for _, item in study.book.assigned()).values()) == {2} and coverage(study)["lacking_items"] == 0


def test_a_skipped_item_of_a_version_is_told_to_the_organiser(small_run):
    names = [f"p{n}" for n in range(8)]
    study = begun(small_run(scenes=12, models=("aldermoor",)), "memobench_survey", names, raters=2, practice=False)
    assert (coverage(study)["lacking_items"], coverage(study)["skipped_votes"]) == (0, 0)
    study.skip("p0", study.show("p0").item.id, "the video is black")
    for name in names:
        finish(study, name)
    found = coverage(study)
    assert (found["answered"], found["wanted"]) == (191, 192)
    assert (found["lacking_items"], found["lacking_votes"], found["skipped_votes"]) == (1, 1, 1)


# -- one person's way -----------------------------------------------------------------------------------------------------------
def test_practice_comes_first_and_does_not_count(small_run):
    study = begun(small_run())
    seen = finish(study, "ann")
    roles = [shown.item.role for shown in seen]
    assert roles[:3] == ["practice"] * 3 and "practice" not in roles[3:]
    assert set(study.book.ratings()["scene"]) == {"h0", "h1", "h2", "h3"}
    row = people(study).set_index("annotator").loc["ann"]
    assert (row["practice_right"], row["practice_asked"]) == (1, 3)  # yes is right once


def test_gold_items_are_mixed_in_and_reach_the_organisers_table_but_not_the_ratings(small_run):
    study = begun(small_run(), names=("ann", "ben"), raters=2, gold_share=0.25, practice=False)
    roles = [shown.item.role for shown in finish(study, "ann")]
    assert roles.count("gold") == 3 and roles[0] == "study" and roles[-1] == "study"
    assert len(study.book.ratings()) == 12
    row = people(study).set_index("annotator").loc["ann"]
    assert (row["gold_right"], row["gold_asked"]) == (0, 3)  # a held picture never leaves, ann always said yes


def test_gold_items_come_at_places_of_each_persons_own_and_a_restart_repeats_them(small_run):
    names = [f"person {number}" for number in range(12)]
    run, wanted = small_run(), {"raters": 12, "gold_share": 0.25, "practice": False}
    study = begun(run, names=names, **wanted)

    def places(name):
        first = [answer(study, name).item.role for _ in range(4)]
        again = run.study("mbench_trigger", watch=False, **wanted)
        roles = first + [shown.item.role for shown in finish(again, name)]
        return tuple(place - roles[:place].count("gold") for place, role in enumerate(roles) if role == "gold")

    found = {name: places(name) for name in names}
    assert all(1 <= first <= 3 < second <= 7 < third <= 11 for first, second, third in found.values())  # one in every four items
    assert all(len({each[turn] for each in found.values()}) >= 3 for turn in range(3)) and len(set(found.values())) > 6
    told = {name: [study._gold_after(name, items) for items in range(12)] for name in names}
    assert told == {name: [sum(place <= items for place in found[name]) for items in range(12)] for name in names}


def test_the_order_is_each_persons_own_and_a_restart_repeats_it(small_run):
    run = small_run()
    study = begun(run, names=("ann", "ben"), raters=2, practice=False, gold_share=0)
    orders = {name: [item.id for item in study.own_items(name)] for name in ("ann", "ben")}
    assert set(orders["ann"]) == set(orders["ben"]) and orders["ann"] != orders["ben"]
    again = run.study(watch=False, raters=2, practice=False, gold_share=0)
    assert [item.id for item in again.own_items("ann")] == orders["ann"]


def test_the_votes_name_the_left_clip_as_a_and_the_sign_says_which_model_won_whatever_side_it_was_on(small_run):
    study = begun(small_run(), "mbench_pairwise", ("ann",), raters=1, practice=False, gold_share=0)
    sides = {shown.item.id: shown.swapped for shown in finish(study, "ann")}
    assert set(sides.values()) == {True, False}
    for item in study.items:
        votes = study.book.ratings().query("scene == @item.scene").set_index(["model_a", "model_b"])
        shown = (item.model_b, item.model_a) if sides[item.id] else (item.model_a, item.model_b)
        assert set(votes.loc[[shown], "label"]) == {"1"}  # left was always chosen
        assert shown[::-1] not in votes.index


def test_answers_as_shown_and_as_stored_are_each_others_reverse(small_run):
    study = begun(small_run(), "mbench_pairwise", ("ann",), raters=1)
    shown = study.now("ann")
    for label in ("1", "0", "-1"):
        right = {question.id: label for question in shown.item.questions}
        assert stored(shown, given(shown, right)) == right


def test_a_vote_counts_only_after_the_video_was_played_to_its_end(small_run):
    study = small_run().study("mbench_trigger", practice=False)
    study.invite(["ann"])
    now = 1000.0
    study.book.clock = lambda: now
    shown = study.show("ann")
    length = study.file(shown.item.videos[0]).seconds
    assert length == pytest.approx(0.5)
    with pytest.raises(Refused, match="to its end"):
        study.vote("ann", shown.item.id, choices(shown), watched=True)  # no time has passed, whatever the page says
    now += length
    with pytest.raises(Refused, match="to its end"):
        study.vote("ann", shown.item.id, choices(shown), watched=False)
    study.vote("ann", shown.item.id, choices(shown), watched=True)
    assert len(study.book.ratings()) == 1


def test_an_answer_counts_after_the_clock_was_set_back(small_run):
    study = small_run().study("mbench_trigger", practice=False)
    study.invite(["ann"])
    now = 10_000.0
    study.book.clock = lambda: now
    shown = study.show("ann")
    now -= 3600
    study.vote("ann", shown.item.id, choices(shown), watched=True)
    assert len(study.book.ratings()) == 1


def test_only_the_item_in_front_is_answered(small_run):
    study = begun(small_run(), practice=False)
    first, other = study.own_items("ann")[:2]
    with pytest.raises(Refused):
        study.vote("ann", other.id, {question.id: "yes" for question in other.questions})
    answer(study, "ann")
    with pytest.raises(Refused, match="already answered"):  # a second click
        study.vote("ann", first.id, {question.id: "yes" for question in first.questions})
    assert len(study.book.ratings()) == 1


def test_undo_shows_the_same_item_again(small_run):
    study = begun(small_run(), practice=False, gold_share=0)
    first = answer(study, "ann").item.id
    assert study.now("ann").item.id != first
    assert study.undo("ann") and study.now("ann").item.id == first and not study.undo("ann")


def test_a_skip_that_is_taken_back_leaves_every_item_with_its_planned_raters(small_run):
    study = begun(small_run(), raters=1, practice=False, gold_share=0)
    for _ in range(3):
        shown = study.show("ann")
        study.skip("ann", shown.item.id)
        assert study.undo("ann")
        assert answer(study, "ann").item.id == shown.item.id
    for name in ("ann", "ben", "cat"):
        finish(study, name)
    assert set(raters(study).values()) == {1} and len(raters(study)) == len(study.items)


def test_a_skip_that_is_taken_back_leaves_the_item_with_whoever_has_opened_it(small_run):
    study = begun(small_run(), raters=1, practice=False, gold_share=0, names=("ann", "ben"))
    skipped = study.show("ann").item.id
    study.skip("ann", skipped)
    while study.show("ben").item.id != skipped:
        answer(study, "ben")
    study.undo("ann")
    assert study.now("ann").item.id == study.now("ben").item.id == skipped


def test_practice_cannot_be_skipped(small_run):
    study = begun(small_run())
    with pytest.raises(Refused, match="practice"):
        study.skip("ann", study.show("ann").item.id)


@pytest.mark.parametrize("act", ["vote", "skip"])
@pytest.mark.parametrize(("form", "items", "gold"), [("mbench_trigger", 12, 3), ("memobench_survey", 8, 1)])
def test_every_item_moves_the_progress_by_one_also_a_gold_item(small_run, form, items, gold, act):
    study = begun(small_run(), form, names=("ann", "ben"), raters=2, gold_share=0.25, practice=False)
    told = lambda: itemgetter("done", "total")(view(study, "ann"))  # noqa: E731
    assert told() == (0, items + gold)
    roles = []
    while (shown := study.show("ann")) is not None:
        if act == "skip" and len(roles) % 2:
            study.skip("ann", shown.item.id)
        else:
            answer(study, "ann")
        roles.append(shown.item.role)
        assert told() == (len(roles), items + gold)
    assert roles.count("gold") == gold and len(roles) == items + gold
    study.undo("ann")
    assert told() == (items + gold - 1, items + gold)


# -- the study stays what it was ------------------------------------------------------------------------------------------------
def vote_and_die(root, done):
    os.environ["LOOKBACK_ROOT"] = str(root)
    from lookback.params import load_run

    study = Study.open(load_run("small"), [], Settings(form="mbench_trigger", watch=False, practice=False))
    for _ in range(3):
        answer(study, "ann")
    done.set()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_server_loses_no_vote_and_the_person_goes_on_with_the_next_item(small_run):
    run = small_run()
    study = begun(run, practice=False)
    context = multiprocessing.get_context("fork")
    done = context.Event()
    person = context.Process(target=vote_and_die, args=(run.root, done))
    person.start()
    person.join(HUNG_S)
    assert person.exitcode == -signal.SIGKILL and done.is_set()
    again = run.study(watch=False, practice=False)
    own = [item.id for item in again.own_items("ann")]
    assert len(again.book.ratings()) == 3 and again.now("ann").item.id == own[3]
    assert [item.id for item in study.items] == [item.id for item in again.items]


def test_other_settings_than_at_the_beginning_are_refused(small_run):
    run = small_run()
    begun(run, raters=2)
    with pytest.raises(UsageError, match=r"raters was 2.*another name"):
        run.study(watch=False, raters=3)
    assert run.study(watch=False, raters=3, name="second").folder.name == "second"


def test_a_spoilt_study_file_is_named(small_run):
    run = small_run()
    folder = begun(run).folder
    (folder / "study.json").write_text("{}")
    with pytest.raises(Exception, match="move its folder away"):
        run.study(watch=False)


def test_a_video_that_cannot_be_read_is_left_out_and_counted(small_run):
    run = small_run()
    (run.root / "outputs" / "small" / "birkdale.mp4").write_bytes(b"not a video")
    study = run.study()
    assert len(study.items) == 8 and study.frozen.left_out == 4
    assert "birkdale" not in {item.model_a for item in study.items}


def test_a_limit_takes_items_of_every_dimension(small_run):
    study = small_run().study("wrbench_axes", limit=12)
    assert set(Counter(item.questions[-1].dimension for item in study.items).values()) == {2}
    assert spread(study.items, None, 1) == study.items


# -- a study file ---------------------------------------------------------------------------------------------------------------
STUDY = """
form: mbench_pairwise
name: pilot
raters: 2
watch: false
instructions: [Ask Ann if anything is unclear.]
gold:
  - {clip: "human:h0:text", model_a: aldermoor, model_b: birkdale, right: {human_identity: "1", human_appearance: "0"}}
training:
  - {clip: "human:h1:text", model_a: aldermoor, model_b: birkdale, right: {human_identity: "-1"}, why: The face changes.}
"""


def test_a_study_file_declares_gold_and_training_items_of_its_own(small_run):
    run = small_run()
    (run.root / "pilot.yaml").write_text(STUDY)
    study = Study.open(run.params, run.clips, load_settings(run.root / "pilot.yaml"))
    assert study.folder.name == "pilot" and study.frozen.instructions[-1] == "Ask Ann if anything is unclear."
    (gold,), (training,) = study.gold, study.practice
    assert gold.right == {"pairwise/human_identity": "1", "pairwise/human_appearance": "0"}
    assert training.why == "The face changes." and len(study.items) == 12 - 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("raters: 2", "raters: 0"), "raters"),
        (("raters: 2", "rater: 2"), "rater"),
        (("name: pilot", "name: ../../elsewhere"), "name"),
        (("form: mbench_pairwise", "form: [}"), "not valid YAML"),
    ],
)
def test_a_mistake_in_a_study_file_is_a_sentence(tmp_path, change, said):
    (tmp_path / "pilot.yaml").write_text(STUDY.replace(*change))
    with pytest.raises(ParameterError, match=said):
        load_settings(tmp_path / "pilot.yaml")


def test_a_declared_item_that_does_not_exist_is_named(small_run):
    run = small_run()
    (run.root / "pilot.yaml").write_text(STUDY.replace("human:h0:text", "human:h9:text"))
    with pytest.raises(ParameterError, match="did you mean"):
        Study.open(run.params, run.clips, load_settings(run.root / "pilot.yaml"))


# -- videos ---------------------------------------------------------------------------------------------------------------------
def test_what_a_browser_plays_is_served_as_it_is_and_the_rest_becomes_h264(tmp_path):
    pictures = np.broadcast_to(np.arange(6)[:, None, None, None] * 40, (6, 45, 63, 3)).astype(np.uint8)
    plain = encode(tmp_path / "plain.mp4", pictures[:, :44, :62], 6)
    assert playable(plain, tmp_path / "media").path == plain
    lossless = encode(tmp_path / "lossless.mkv", pictures, 6, codec="ffv1", pix_fmt="bgr0")
    folder = write_frames(tmp_path / "frames", pictures)
    for source, fps in ((lossless, 6), (folder, 24)):
        copy = playable(source, tmp_path / "media")
        assert (copy.fps, copy.seconds) == (fps, pytest.approx(6 / fps))
        with open_video(copy.path) as video:
            assert (video.info.codec, video.info.pix_fmt, video.info.n_frames) == ("h264", "yuv420p", 6)
            assert (video.info.width, video.info.height) == (62, 44)
            assert np.abs(video.read([3])[0].astype(int) - 120).max() < 6
        assert playable(source, tmp_path / "media").path == copy.path


def test_a_held_picture_lasts_as_long_as_its_clip(tmp_path):
    ramp = np.repeat(np.arange(8, dtype=np.uint8)[:, None, None, None] * 30, 3, 3) * np.ones((1, 32, 32, 1), np.uint8)
    clip = encode(tmp_path / "ramp.mp4", ramp, 8)
    still = playable(clip, tmp_path / "media", still=True)
    with open_video(still.path) as video:
        assert video.info.n_frames == 8 and still.seconds == 1
        assert np.ptp(video.read(range(8)).astype(int).mean(axis=(1, 2, 3))) < 2


def test_the_practice_clips_show_what_they_are_named_after(tmp_path):
    def mug(picture):
        """(red, blue) pixels of the mug."""
        red, green, blue = picture.astype(int).transpose(2, 0, 1)
        return int(((red > 170) & (green < 90)).sum()), int(((blue > 150) & (red < 80)).sum())

    shown = {name: [mug(picture) for picture in frames(scene)] for name, scene in SCENES.items()}
    first, middle, last = 0, len(shown["returns"]) // 2, -1
    for name, parts in shown.items():
        assert parts[first][0] > 1000  # a red mug
        assert (parts[middle] == (0, 0)) == (name != "stays")  # out of view
    assert shown["returns"][last][0] > 1000 and shown["moved"][last][0] > 1000 and shown["stays"][last][0] > 1000
    assert shown["changed"][last][0] == 0 and shown["changed"][last][1] > 1000 and shown["gone"][last] == (0, 0)
    assert practice_clip("returns", tmp_path) == practice_clip("returns", tmp_path)
    with pytest.raises(UsageError, match="no practice clip"):
        practice_clip("flies", tmp_path)


def test_no_path_of_a_practice_clip_is_tied_to_the_machine(small_run):
    study = begun(small_run())
    paths = [video["path"] for item in json.loads((study.folder / "study.json").read_text())["items"] for video in item["videos"]]
    assert paths and not any(path.startswith("/") for path in paths)
