"""A user's command per condition: what it makes, what it breaks, and what a second call does again."""

import json
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from lookback.cli.app import app
from lookback.conditions import build_conditions, read_conditions
from lookback.conditions import generate as generating
from lookback.conditions.build import command_values
from lookback.conditions.check import check_delivery
from lookback.conditions.generate import LOG, generate
from lookback.conditions.interface import Interface
from lookback.demo.datasets import write_datasets
from lookback.demo.plan import demo_plan
from lookback.errors import ContractError, LookbackError, UsageError
from lookback.files import locked
from lookback.media import encode
from time_limits import HUNG_S
from typer.testing import CliRunner

PROMPT = 'A cup\'s "x".'
PYTHON = sys.executable
# a model in a file: it fails, hangs or writes rubbish where the seed says so, and counts its calls
MODEL = """
import sys, time
from pathlib import Path
import numpy as np
from lookback.media import encode
seed, frames, output = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
with (Path(__file__).parent / "calls").open("a") as calls: calls.write(f"{seed}\\n")
if seed == 1: sys.exit("CUDA out of memory")
if seed == 2: time.sleep(600)
if seed == 3: output.write_bytes(b"no video")
elif seed != 4: encode(output, np.full((frames, 32, 48, 3), seed, np.uint8), 8.0)
"""
GOOD = MODEL.replace("seed == ", "seed == -").replace("seed != ", "seed != -")  # nothing fails any more


@pytest.fixture(scope="module", autouse=True)
def quick_python(warm_python):
    """A user's command starts dozens of times here."""
    global PYTHON
    PYTHON = shlex.quote(warm_python)


@pytest.fixture
def conditions(tmp_path):
    suite, out = tmp_path / "suite", tmp_path / "out"
    suite.mkdir()
    (suite / "families.jsonl").write_text(
        json.dumps({"family_id": "f", "scene": "a room", "primary_object": {"name": "a cup"}}) + "\n"
    )
    rows = [
        {
            "variant_id": f"f__T{n}__yaw_LR",
            "family_id": "f",
            "oov_gap": "yaw_LR",
            "event_delta": "none",
            "ti2v_prompt": 'A cup\'s "x".',
        }
        for n in range(6)
    ]
    (suite / "variants.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    interface = Interface(model="m", takes="camera-path", image=False, frames=9, fps=8, size=(48, 32))
    build_conditions("wrbench", suite, interface, out)
    (tmp_path / "model.py").write_text(MODEL)
    return out


def command(tmp_path, rest="{seed} {frames} {output}"):
    return f"{PYTHON} {shlex.quote(str(tmp_path / 'model.py'))} {rest}"


def test_every_bad_video_is_one_line_and_the_rest_goes_on(conditions, tmp_path, monkeypatch):
    call = generating._call  # the model that hangs gets a 300th of the limit: the others may need it on a crowded machine
    monkeypatch.setattr(generating, "_call", lambda words, limit: call(words, limit / 300 if words[2] == "2" else limit))
    attempts = generate(conditions, command(tmp_path), workers=3, timeout_s=HUNG_S)
    problems = {each.clip_id: each.problem for each in attempts}
    assert [not problems[f"f__T{n}__yaw_LR"] for n in range(6)] == [True, False, False, False, False, True]
    assert problems["f__T1__yaw_LR"] == "the command ended with 1: CUDA out of memory"
    assert problems["f__T2__yaw_LR"] == "the command ran longer than 3 s and was ended"
    assert problems["f__T3__yaw_LR"].startswith("the video cannot be read")
    assert problems["f__T4__yaw_LR"] == "the command ended well but wrote no video"
    assert sorted(path.name for path in (conditions / "m" / "videos").glob("*.mp4")) == ["f__T0__yaw_LR.mp4", "f__T5__yaw_LR.mp4"]
    assert not list(conditions.rglob("*.part*"))
    assert len((conditions / LOG).read_text().splitlines()) == 6 and all(each.seconds >= 0 for each in attempts)
    manifest = json.loads((conditions / "manifest.json").read_text())
    assert [row["video_id"] for row in manifest["videos"]] == ["f__T0__yaw_LR", "f__T5__yaw_LR"]


def test_a_second_call_makes_only_what_is_missing_or_changed(conditions, tmp_path):
    generate(conditions, command(tmp_path), limit=1)
    (tmp_path / "model.py").write_text(GOOD)
    assert len(generate(conditions, command(tmp_path))) == 5
    assert generate(conditions, command(tmp_path)) == []
    (conditions / "m" / "videos" / "f__T3__yaw_LR.mp4").unlink()
    assert [each.clip_id for each in generate(conditions, command(tmp_path))] == ["f__T3__yaw_LR"]
    assert len(generate(conditions, command(tmp_path, "{seed} {frames} {output} other"))) == 6  # another command, other videos
    with (conditions / LOG).open("a") as log:
        log.write('{"model": "m", "clip_')  # a run that was killed while it wrote
    assert generate(conditions, command(tmp_path, "{seed} {frames} {output} other")) == []
    video = conditions / "m" / "videos" / "f__T3__yaw_LR.mp4"
    video.unlink()
    for _ in range(2):  # the record after the cut line is read
        made = generate(conditions, command(tmp_path, "{seed} {frames} {output} other"))
    assert made == []
    video.write_bytes(video.read_bytes() + b"\0")  # another process wrote into it
    assert [each.clip_id for each in generate(conditions, command(tmp_path, "{seed} {frames} {output} other"))] == ["f__T3__yaw_LR"]


def test_a_log_that_does_not_say_the_size_of_a_video_still_counts(conditions, tmp_path):
    generate(conditions, command(tmp_path), limit=1)
    (line,) = (json.loads(line) for line in (conditions / LOG).read_text().splitlines())
    assert line.pop("size") == (conditions / "m" / "videos" / "f__T0__yaw_LR.mp4").stat().st_size
    (conditions / LOG).write_text(json.dumps(line) + "\n")
    assert [each.clip_id for each in generate(conditions, command(tmp_path), limit=1)] == ["f__T1__yaw_LR"]


def test_a_model_that_outlives_a_killed_call_cannot_write_into_the_video_of_the_next(conditions, tmp_path):
    (tmp_path / "model.py").write_text(GOOD)
    places = []
    call = generating._call

    def noted(words, limit):
        places.append(words[-1])
        return call(words, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating, "_call", noted)
        for _ in range(2):
            generate(conditions, command(tmp_path), limit=1)
            (conditions / LOG).unlink()
    assert len(set(places)) == 2
    left = conditions / "m" / "videos" / ".f.mp4.1-0123abcd.part"
    left.mkdir()
    (left / "f.mp4").write_text("half a video")
    generate(conditions, command(tmp_path), limit=1)
    assert not left.exists()


def test_two_calls_do_not_work_on_one_folder_at_once(conditions, tmp_path):
    with locked(conditions / LOG), pytest.raises(LookbackError, match="Another process is writing"):
        generate(conditions, command(tmp_path), limit=1)


def test_prompts_reach_the_command_whole_and_no_shell_reads_them(conditions, tmp_path):
    (tmp_path / "say.py").write_text("import sys; open(__file__ + '.said', 'w').write(sys.argv[1])")
    generate(conditions, f"{PYTHON} {shlex.quote(str(tmp_path / 'say.py'))} {{prompt}} {{output}}", limit=1)
    assert (tmp_path / "say.py.said").read_text() == 'A cup\'s "x".'


def test_a_whole_rate_reaches_the_command_as_a_whole_number_and_another_as_it_is(conditions):
    row = read_conditions(conditions)[0]
    for rate, word in ((16.0, "16"), (12.5, "12.5"), (24000 / 1001, "23.976023976023978")):
        assert command_values(conditions, {**row, "fps": rate}, conditions)["fps"] == word


@pytest.mark.parametrize(("rest", "problem"), [("{seed}", "{output}"), ("{promt} {output}", "'{promt}'")])
def test_a_wrong_command_is_refused_before_any_work(conditions, tmp_path, rest, problem):
    with pytest.raises(UsageError) as caught:
        generate(conditions, command(tmp_path, rest))
    assert problem in str(caught.value) and not (conditions / LOG).exists()


def test_a_program_that_does_not_exist_is_one_line(conditions):
    (attempt,) = generate(conditions, "no-such-program {output}", limit=1)
    assert attempt.problem.startswith("the command 'no-such-program' cannot be started")


def test_check_says_what_differs_from_what_was_asked(conditions, tmp_path):
    (tmp_path / "model.py").write_text(GOOD.replace("(frames, 32, 48, 3)", "(frames - seed, 32, 48, 3)"))
    generate(conditions, command(tmp_path), limit=2)
    found = check_delivery(conditions)
    assert (found.asked, found.there) == (6, 2)
    assert found.problems[0] == "m/f__T1__yaw_LR: has 8 frames, 9 were asked for"
    result = CliRunner().invoke(app, ["conditions", "check", str(conditions)])
    assert result.exit_code == 1 and "2 of 6 videos are there" in result.output


@pytest.mark.long
@pytest.mark.parametrize(
    ("benchmark", "subset", "metric"),
    [("wrbench", "", "wrbench.visual_integrity"), ("mbench", "environment", "mbencha.environment.rendering_style")],
)
def test_the_demo_world_as_a_model_gives_the_clips_and_scores_that_it_writes_itself(benchmark, subset, metric, tmp_path):
    """Records of a demo dataset -> generate -> eval, beside eval of the dataset that the demo world wrote."""
    planned = [clip for clip in demo_plan(96, 64) if clip.task.benchmark == benchmark and subset in ("", clip.task.subset)]
    planned = [clip for clip in planned if clip.task == planned[0].task][:2]
    write_datasets(planned, tmp_path / "own", workers=1)
    task = planned[0].task
    written = next(path for path in (tmp_path / "own").iterdir() if path.name != "truth")
    out = tmp_path / "generated"
    frames = task.camera.frames
    for clip in planned:
        model = Interface(model=clip.model_id, takes="camera-path", image=False, frames=frames, fps=16, size=(96, 64))
        build_conditions(benchmark, written, model, out)
        wanted = [row for row in read_conditions(out) if row["clip_id"] == task.clip_id]
        assert wanted, [row["clip_id"] for row in read_conditions(out)][:5]
        (out / "conditions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wanted))
        call = f"{PYTHON} -m lookback.demo.model --record {{record}} --output {{output}} --failure {clip.spec.failure}"
        attempts = generate(out, f"{call} --severity {clip.spec.severity}", model=clip.model_id)
        assert [each.problem for each in attempts] == [""]
    scores = []
    for number, dataset in enumerate((written, out)):
        result = CliRunner().invoke(
            app, ["eval", str(dataset), "--output", str(tmp_path / f"run{number}"), "--metrics", metric, "--workers", "1"],
            catch_exceptions=False,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        items = pd.read_parquet(tmp_path / f"run{number}" / "tables" / "items.parquet")
        scores.append(items.sort_values("model_id").set_index(["model_id", "clip_id"])["value"])
    assert len(scores[0]) == len(planned) and np.isfinite(scores[0]).all()
    pd.testing.assert_series_equal(scores[0], scores[1])


def test_a_command_that_cannot_be_read_and_an_unknown_model_are_wrong_calls(conditions):
    with pytest.raises(UsageError, match="quotation"):
        generate(conditions, "python make.py '{output}")
    with pytest.raises(UsageError, match="nobody"):
        check_delivery(conditions, "nobody")


def test_a_first_frame_that_is_not_there_costs_a_line_and_no_call(conditions):
    listed = conditions / "conditions.jsonl"
    rows = [{**row, "image": "nowhere.png"} for row in read_conditions(conditions)]
    listed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = f"{PYTHON} {conditions.parent / 'model.py'} {{seed}} {{frames}} {{output}} {{image}}"
    attempts = generate(conditions, command, limit=1)
    assert [each.problem for each in attempts] == ["the first frame nowhere.png is not there"]
    assert not (conditions.parent / "calls").exists()


def test_a_video_of_another_condition_is_no_result_of_the_new_one(conditions, tmp_path):
    """The conditions are made anew with another length, and only two videos follow: the others must not be scored as new ones."""
    (tmp_path / "model.py").write_text(GOOD)
    command = f"{PYTHON} {tmp_path / 'model.py'} {{seed}} {{frames}} {{output}}"
    generate(conditions, command, workers=2)
    interface = Interface(model="m", takes="camera-path", image=False, frames=11, fps=8, size=(48, 32))
    build_conditions("wrbench", tmp_path / "suite", interface, conditions)
    made = {attempt.clip_id for attempt in generate(conditions, command, limit=2)}
    problems = check_delivery(conditions).problems
    assert len(problems) == 4 and all("another condition" in line for line in problems)
    assert {video["video_id"] for video in json.loads((conditions / "manifest.json").read_text())["videos"]} == made


def test_a_changed_path_or_first_frame_makes_its_video_anew(conditions, tmp_path):
    (tmp_path / "model.py").write_text(GOOD)
    picture = tmp_path / "first.png"
    picture.write_bytes(b"one")
    rows = read_conditions(conditions)
    rows[1]["image"] = str(picture)
    (conditions / "conditions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    generate(conditions, command(tmp_path), workers=2)
    assert check_delivery(conditions).problems == []
    path = conditions / rows[0]["path"]
    np.save(path, np.load(path) + 1.0)
    picture.write_bytes(b"another")
    changed = {rows[0]["clip_id"], rows[1]["clip_id"]}
    problems = check_delivery(conditions).problems
    assert len(problems) == 2 and all("another condition" in line for line in problems)
    assert {attempt.clip_id for attempt in generate(conditions, command(tmp_path))} == changed
    assert check_delivery(conditions).problems == [] and generate(conditions, command(tmp_path)) == []


def test_videos_that_were_delivered_by_hand_get_the_documents_when_they_are_checked(conditions):
    row = read_conditions(conditions)[0]
    encode(conditions / row["output"], np.zeros((9, 32, 48, 3), np.uint8), 8.0)
    assert check_delivery(conditions).there == 1
    assert [video["video_id"] for video in json.loads((conditions / "manifest.json").read_text())["videos"]] == [row["clip_id"]]


@pytest.mark.parametrize("group", [[], ["conditions"], ["study"]])
def test_the_list_of_commands_is_not_cut(group):
    assert "..." not in CliRunner().invoke(app, [*group, "--help"]).output.split("Options:")[1]


def test_a_record_that_is_gone_is_said_in_a_sentence(conditions):
    row = read_conditions(conditions)[0]
    encode(conditions / row["output"], np.zeros((9, 32, 48, 3), np.uint8), 8.0)
    next((conditions / "conditions" / "m").glob("*T0*.json")).unlink()
    with pytest.raises(ContractError, match="make the conditions again"):
        check_delivery(conditions)
