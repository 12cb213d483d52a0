"""The desk's widget without a browser: what is stored for a click, and what reaches the page."""

import json

import numpy as np
import pytest
from lookback.clips import Clip
from lookback.desk import VoteBook, build_tasks, order_for
from lookback.desk.widget import AnnotationDesk
from lookback.media import encode
from lookback.stats import preference_sign


def clip(model, video, **more):
    return Clip(benchmark="wrbench", setting="demo", model_id=model, clip_id="c1", scene="s", video=str(video), **more)


@pytest.fixture
def desk(tmp_path):
    """A desk on one pair of clips, and its votes; `broken` names models whose video cannot be read."""

    def opened(broken=(), annotator=None):
        clips = []
        for model in ("aldermoor", "birkdale"):
            path = tmp_path / f"{model}.mp4"
            encode(path, np.full((4, 32, 32, 3), 90, np.uint8), 4.0)
            if model in broken:
                path.write_bytes(b"not a video")
            clips.append(clip(model, path, camera="yaw_LR", prompt="A ball."))
        votes = VoteBook(tmp_path / "votes.sqlite")
        return AnnotationDesk(clips, build_tasks(clips), votes, 1, annotator), votes, order_for("ann", build_tasks(clips), 1)

    return opened


def say(widget, **message):
    widget._receive(None, message, None)


def test_the_stored_sign_says_which_model_won_whatever_side_it_was_on(desk):
    widget, votes, order = desk()
    say(widget, type="start", annotator="  ann ")
    while widget.view["stage"] != "finished":
        label = "yes" if widget.view["stage"] == "judgeability" else "left"
        say(widget, type="vote", label=label, token=widget.view["token"])
    stored = votes.ratings().query("task == 'pairwise'").set_index("dimension")["label"]
    swapped = {task.dimension: flag for task, flag in order}
    assert {True, False} == set(swapped.values())
    for dimension, label in stored.items():
        assert preference_sign([label])[0] == (-1 if swapped[dimension] else 1)  # +1: A, the first model by name, is better


def test_a_second_click_on_an_answered_question_changes_nothing(desk):
    widget, votes, _ = desk()
    say(widget, type="start", annotator="ann")
    token = widget.view["token"]
    label = "yes" if widget.view["stage"] == "judgeability" else "tie"
    say(widget, type="vote", label=label, token=token)
    say(widget, type="vote", label=label, token=token)
    assert len(votes.ratings()) == 1


def test_nothing_is_stored_before_there_is_a_name(desk):
    widget, votes, _ = desk()
    say(widget, type="start", annotator="   ")
    say(widget, type="vote", label="left", token="x")
    say(widget, type="undo")
    assert widget.view["stage"] == "name" and votes.ratings().empty


def test_a_video_that_cannot_be_read_is_left_out_without_naming_it(desk):
    widget, _, order = desk(broken=("birkdale",))
    say(widget, type="start", annotator="ann")
    assert widget.view["stage"] == "finished" and widget.view["total"] == 0
    assert widget.view["message"] == f"{len(order)} questions are left out: a video cannot be read."


def test_no_model_and_no_file_name_reaches_the_page(desk):
    widget, _, _ = desk()
    say(widget, type="start", annotator="ann")
    sent = json.dumps(widget.view)
    assert "The camera turns left" in sent
    assert "aldermoor" not in sent and "birkdale" not in sent and ".mp4" not in sent


def test_a_desk_opened_by_a_link_is_its_annotators_alone(desk):
    widget, votes, _ = desk(annotator="ann")
    assert widget.view["annotator"] == "ann" and widget.view["stage"] != "name"
    say(widget, type="start", annotator="bob")
    label = "yes" if widget.view["stage"] == "judgeability" else "left"
    say(widget, type="vote", label=label, token=widget.view["token"], annotator="bob")
    assert set(votes.ratings()["annotator"]) == {"ann"}


def test_a_name_is_given_once(desk):
    widget, _, _ = desk()
    say(widget, type="start", annotator="ann")
    say(widget, type="start", annotator="bob")
    assert widget.view["annotator"] == "ann"


def test_a_name_with_control_characters_is_refused_in_a_sentence(desk):
    widget, _, _ = desk()
    say(widget, type="start", annotator="ann\x1b[31m\u202e")
    assert widget.view["stage"] == "name" and r"\x1b[31m" in widget.view["message"]
    say(widget, type="start", annotator="ann")
    assert widget.view["annotator"] == "ann"
