"""Building an MBench set: what the judge is asked, what becomes a sample, and what people keep."""

import json
import shutil

import numpy as np
import pytest
from chat_server import KEY, ChatServer, completion
from lookback.cli.app import app
from lookback.media import encode
from typer.testing import CliRunner

DESCRIPTION = {
    "scene": "a kitchen",
    "caption": "A red cup stands on a table.",
    "target": {"name": "red cup", "attributes": ["red"], "center_x": 0.3, "center_y": 0.5, "width": 0.2, "height": 0.3},
    "entities": [],
    "events": ["nothing moves"],
}
SEGMENTS = {"segments": ["It stands.", "It leaves.", "An empty wall.", "It is back.", "It stands."]}


def answer(body, count):
    """By the question and by the brightness of the video: the third video is not selected, the fourth has four captions."""
    text = json.dumps(body["messages"])
    if "Does the video pose" in text:
        return completion(json.dumps({"subset": "object", "confidence": 0.9, "reason": "frame 1"}))
    if "overall scene and main activity" in text:
        return completion(json.dumps(DESCRIPTION))
    return completion("```json\n" + json.dumps(SEGMENTS) + "\n```")


@pytest.fixture
def videos(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for number, name in enumerate(("a", "b")):
        encode(folder / f"{name}.mp4", np.full((12, 48, 80, 3), 40 * number + 20, np.uint8), 8.0)
    return folder


def run(server, videos, out, monkeypatch, *more):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    call = ["construct", str(videos), "--output", str(out), "--vlm-base-url", server.url, "--vlm-model", "m", *more]
    return CliRunner().invoke(app, call)


def test_source_videos_become_sets_that_validate_and_the_review_removes(videos, tmp_path, monkeypatch):
    (videos / "broken.mp4").write_bytes(b"no video")
    with ChatServer(answer) as server:
        result = run(server, videos, tmp_path / "set", monkeypatch)
        assert result.exit_code == 0, result.output + str(result.exception)
        asked = len(server.requests)
        again = run(server, videos, tmp_path / "set", monkeypatch)
        assert again.exit_code == 0 and len(server.requests) == asked  # the second call asks nothing
        assert asked == 5  # two questions per video, and one for the captions: both descriptions are the same text
    assert "broken: the video cannot be read" in result.output and "2 of 3 videos are drafts" in result.output
    sample = json.loads((tmp_path / "set" / "mbench_t" / "samples" / "object" / "a" / "sample.json").read_text())
    assert sample["metadata"]["caption_segments"] == [
        "The camera holds still. It stands.",
        "The camera turns right 60 degrees. It leaves.",
        "The camera holds still. An empty wall.",
        "The camera turns left 60 degrees. It is back.",
        "The camera holds still. It stands.",
    ]
    action = json.loads((tmp_path / "set" / "mbench_a" / "samples" / "object" / "a" / "sample.json").read_text())
    assert (
        action["annotations"]["action"] == "right_then_wait_then_left"
    )  # the cup stands on the left: it leaves a right turn first
    assert action["metadata"]["object_anchor"] == {"center": [24.0, 24.0], "width": 16.0, "height": pytest.approx(14.4)}
    assert KEY not in "".join(path.read_text(errors="ignore") for path in (tmp_path / "set").rglob("*") if path.is_file())
    review = tmp_path / "set" / "review.csv"
    review.write_text(review.read_text().replace("right_then_wait_then_left,,", "right_then_wait_then_left,no,blurred", 1))
    kept = CliRunner().invoke(app, ["construct", str(videos), "--output", str(tmp_path / "set"), "--review"])
    assert "0 kept, 1 removed, 1 not reviewed yet" in kept.output
    assert not (tmp_path / "set" / "mbench_a" / "samples" / "object" / "a").exists()


def test_a_constructed_set_gives_conditions_and_a_dataset_that_validates(videos, tmp_path, monkeypatch):
    with ChatServer(answer) as server:
        assert run(server, videos, tmp_path / "set", monkeypatch).exit_code == 0
    for setting, interface in (("a", "discrete-actions"), ("t", "text-image")):
        source, out = tmp_path / "set" / f"mbench_{setting}", tmp_path / f"out_{setting}"
        made = CliRunner().invoke(app, ["conditions", "make", str(source), "--output", str(out), "--interface", interface])
        assert made.exit_code == 0 and "2 conditions of mbench" in made.output, made.output + str(made.exception)
        copy = f"{shutil.which('cp')} {videos / 'a.mp4'} {{output}}"
        assert CliRunner().invoke(app, ["generate", str(out), "--command", copy]).exit_code == 0
        checked = CliRunner().invoke(app, ["validate", str(out), "--workers", "1"])
        assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        ({"select": {"subset": "none", "reason": "too dark"}}, "not selected: too dark"),
        ({"select": {"subset": "weather"}}, "the subset 'weather', which MBench does not have"),
        ({"describe": {**DESCRIPTION, "target": {"name": "cup"}}}, "gives no box of the target"),
        ({"segments": {"segments": ["one", "two"]}}, "gave 2 captions, 5 are needed"),
        ({"select": "I cannot say."}, "gave no JSON object"),
    ],
)
def test_an_answer_that_cannot_be_used_is_one_line(spoilt, problem, videos, tmp_path, monkeypatch):
    def bad(body, count):
        text = json.dumps(body["messages"])
        kind = "select" if "Does the video pose" in text else "describe" if "overall scene" in text else "segments"
        if kind in spoilt:
            return completion(spoilt[kind] if isinstance(spoilt[kind], str) else json.dumps(spoilt[kind]))
        return answer(body, count)

    with ChatServer(bad) as server:
        result = run(server, videos, tmp_path / "set", monkeypatch)
    assert result.exit_code == 0 and result.output.count(problem) == 2, result.output + str(result.exception)
    assert not list((tmp_path / "set").rglob("sample.json"))


@pytest.mark.parametrize(("judge", "said"), [("geometric", "does not look at frames"), ("replay", "an earlier construct")])
def test_a_judge_that_does_not_look_or_has_not_answered_is_refused(videos, tmp_path, judge, said):
    result = CliRunner().invoke(app, ["construct", str(videos), "--output", str(tmp_path / "set"), "--vlm-judge", judge])
    assert said in str(result.exception)


@pytest.mark.parametrize(("folder", "more", "problem"), [("nowhere", (), "no such folder"), ("videos", (), "--vlm-model")])
def test_a_wrong_call_names_what_is_missing_before_anybody_is_asked(videos, tmp_path, folder, more, problem):
    result = CliRunner().invoke(app, ["construct", str(tmp_path / folder), "--output", str(tmp_path / "set"), *more])
    assert result.exit_code == 1 and problem in str(result.exception) and not (tmp_path / "set").exists()
