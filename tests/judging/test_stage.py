"""The judging stage from tables to tables: gates, judge-based metrics, every judge, and replay byte for byte."""

from __future__ import annotations

import csv
import json
import shutil
from functools import cache
from pathlib import Path

import made_artifacts
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from chat_server import KEY, ChatServer, completion
from lookback.artifacts import Masks, PoseTrack
from lookback.benchmarks.memobench.vqa.bank import STAGES
from lookback.camera.intent import compile, parse
from lookback.clips import Clip, clips_to_frame
from lookback.errors import ContractError, UsageError
from lookback.figures import save_figure
from lookback.media import content_hash
from lookback.params import RunParams
from lookback.params.stages import Judging
from lookback.stages import _judging, judging
from lookback.store import ArtifactStore, Producer
from lookback.tables import SCHEMAS, empty_table, write_table

N, FPS = 64, 16.0
AWAY = compile(parse("yaw:left:60@32,yaw:right:60@32"))
FOCAL = 80 / np.tan(np.radians(30))
INTRINSICS = np.array([[FOCAL, 0, 80.0], [0, FOCAL, 48.0], [0, 0, 1]])
LEAVES = np.r_[np.full(16, 1), np.full(24, 0), np.full(24, 3)]
STAYS = np.full(N, 1)
METRIC = {"A": "mbencha.entity.human_identity_consistency", "T": "mbencht.entity.human_identity_consistency"}


def clips(video: Path, truth: Path) -> list[Clip]:
    """Two models: `good` leaves and returns, `stuck` never moves (in the demo world: camera inactivity)."""
    facts = {"video": str(video), "n_frames": N, "fps": FPS, "width": 160, "height": 96, "content_hash": content_hash(video)}
    about = {"prompt": "A cat jumps onto the bed.", "object_name": "the cat", "expected_state": "The cat is on the bed."}
    made = []
    for model in ("good", "stuck"):
        for benchmark, setting, clip_id, subset in (
            ("mbench", "A", "human:1:x", "human"),
            ("mbench", "T", "human:1:text", "human"),
            ("mbench", "T", "causal:1:text", "causal"),
            ("wrbench", "natural25", "cat_yaw", ""),
            ("memobench", "synthetic", "Bar_001", ""),
        ):
            more = {"subset": subset, "scene": "Bar" if benchmark == "memobench" else "bedroom"}
            more |= {"ground_truth": str(truth)} if benchmark == "memobench" else {}
            made.append(Clip(benchmark=benchmark, setting=setting, model_id=model, clip_id=clip_id, **facts, **about, **more))
    return made


def prepare(root: Path, video: Path, truth: Path):
    """A run folder with clips, artifacts, items and truth, and a function that runs the stage on it."""
    tables = root / "outputs" / "trial" / "tables"
    everything = clips(video, truth)
    write_table(tables, "clips", clips_to_frame(everything))
    write_table(tables, "artifacts", pd.DataFrame([row for clip in everything for row in artifact_rows(clip, root)]))
    write_table(tables, "items", pd.DataFrame([item(clip) for clip in everything if clip.benchmark == "mbench"]))
    write_table(tables, "truth", pd.DataFrame([truth_row(clip, root) for clip in everything]))

    def go(**values) -> dict[str, pd.DataFrame]:
        return judging(RunParams(run="trial", judging=Judging(image_side=64, **values)))

    go.tables = tables
    return go


@pytest.fixture
def run(tmp_path: Path, video: Path, long_video: Path, monkeypatch: pytest.MonkeyPatch):
    """Without the files of the figures, which take half of a run's time."""
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    monkeypatch.setattr(_judging, "save_figure", lambda figure, *_: plt.close(figure))
    return prepare(tmp_path, long_video, video)


@pytest.fixture(scope="module")
def once(tmp_path_factory, video: Path, long_video: Path):
    """Runs that tests share and do not change: `once("simulated")` is judged by the simulated judge."""

    @cache
    def made(judge: str):
        root = tmp_path_factory.mktemp(judge)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LOOKBACK_ROOT", str(root))
            run = prepare(root, long_video, video)
            run.made = run(judge=judge, error_rate=0.0)
        return run

    return made


def evidence(clip: Clip) -> tuple[PoseTrack, Masks]:
    stuck = clip.model_id == "stuck"
    c2w = np.tile(np.eye(4), (N, 1, 1)) if stuck else AWAY
    state = (STAYS if stuck else LEAVES).astype(np.int8)
    sure = np.full(N, 0.9, np.float32)
    intrinsics, still = np.tile(INTRINSICS, (N, 1, 1)), np.zeros(N, bool)
    pose = made_artifacts.poses(c2w, intrinsics=intrinsics, has_translation=still, confidence=sure)
    area = np.where(state == 0, 0, 0.05)
    return pose, made_artifacts.masks(np.zeros((N, 4, 8), bool), state=state, area=area, confidence=sure)


def artifact_rows(clip: Clip, root: Path) -> list[dict]:
    store = ArtifactStore(root / "outputs" / "trial" / "artifacts")
    rows = []
    for artifact in evidence(clip):
        role, entry = artifact.role, artifact.pack()
        producer = Producer(role, "test", "1")
        stored = store.save(producer, f"{clip.label}-{role}", entry.arrays, entry.record)
        rows.append(
            {
                **dict(zip(("benchmark", "setting", "model_id", "clip_id"), clip.key, strict=True)),
                "role": role, "stored": stored, "reason": "", "detail": "", "n_frames": N, "summary": "{}",
                "backend": "test", "version": "1", "weights": "", "params_hash": "", "input_hash": f"{clip.label}-{role}",
            }
        )  # fmt: skip
    return rows


def item(clip: Clip) -> dict:
    keys = dict(zip(("benchmark", "setting", "model_id", "clip_id"), clip.key, strict=True))
    about = {"metric": METRIC[clip.setting], "variant": "paper", "phase": "", "value": 0.8, "raw": 0.7, "reason": "", "detail": ""}
    return {**keys, **about, "n_units": 3, "backend": "x", "version": "1", "weights": "", "params_hash": "", "input_hash": ""}


def truth_row(clip: Clip, root: Path) -> dict:
    record = root / "truth" / f"{clip.label.replace('/', '_').replace(':', '_')}.npz"
    record.parent.mkdir(exist_ok=True)
    pose, masks = evidence(clip)
    np.savez(record, c2w=pose.c2w, intrinsics=INTRINSICS, visibility=masks.in_view.astype(float))
    stuck = clip.model_id == "stuck"
    return {
        **dict(zip(("benchmark", "setting", "model_id", "clip_id"), clip.key, strict=True)),
        "scene": clip.scene, "subset": clip.subset, "event": "state", "event_action": "jump",
        "failure": "event_never_starts" if stuck else "none", "severity": float(stuck), "expected_state": "on the bed",
        "shown_state": "", "d_start": 16, "r_start": 40, "returns": not stuck, "record": str(record),
    }  # fmt: skip


def values(frame: pd.DataFrame, metric: str) -> dict[str, float | str]:
    """The value per model, or the reason why there is none."""
    chosen = frame[frame["metric"] == metric].set_index("model_id")
    return {model: row["value"] if row["reason"] == "" else row["reason"] for model, row in chosen.iterrows()}


def test_untriggered_clips_lose_their_score_and_keep_the_sentence_why(once):
    gated = once("geometric").made["gated"]
    assert values(gated, METRIC["T"]) == {"good": 0.8, "stuck": "not_triggered"}
    assert values(gated, METRIC["A"]) == {"good": 0.8, "stuck": 0.8}, "MBench-A is never gated"
    row = gated[(gated["metric"] == METRIC["T"]) & (gated["model_id"] == "stuck")].iloc[0]
    assert np.isnan(row["raw"]) and "never hidden for 0.25 s" in row["detail"]


def test_the_gate_can_be_ignored(run):
    assert values(run(judge="geometric", ignore_trigger=True)["gated"], METRIC["T"]) == {"good": 0.8, "stuck": 0.8}


def test_the_geometric_judge_gives_support_and_says_what_it_cannot_answer(once):
    tables = once("geometric").made
    assert values(tables["gated"], "wrbench.support") == {"good": 1.0, "stuck": 0.0}
    for metric in ("wrbench.visible_spatial", "memobench.vqa_physics_adherence"):
        assert set(values(tables["gated"], metric).values()) == {"backend_unavailable"}, metric
    assert values(tables["gated"], "wrbench.reobserved_state") == {"good": "backend_unavailable", "stuck": "no_oov"}
    stuck = tables["judgements"].query("task == 'timeline' and model_id == 'stuck' and benchmark == 'wrbench'")
    facts = stuck.set_index("question_id")
    assert facts.loc["camera_inactive", "answer"] == "yes"
    assert "it is inactive" in facts.loc["camera_inactive", "verbatim"]


def test_no_judge_leaves_the_items_and_says_that_a_judge_is_missing(run):
    tables = run(judge="none")
    assert len(tables["judgements"]) == 0
    assert values(tables["gated"], METRIC["T"]) == {"good": 0.8, "stuck": 0.8}
    assert values(tables["gated"], "wrbench.support") == {"good": "backend_unavailable", "stuck": "backend_unavailable"}


def test_the_simulated_judge_fills_every_table_and_is_labelled(once):
    gated, judgements = (once("simulated").made[name] for name in ("gated", "judgements"))
    assert judgements.loc[judgements["judge"] == "simulated", "simulated"].all()
    assert not judgements.loc[judgements["judge"] == "geometric", "simulated"].any()
    assert values(gated, "mbencht.causal.state_progress") == {"good": 1.0, "stuck": "not_triggered"}
    assert values(gated, "wrbench.support") == {"good": 1.0, "stuck": 0.0}
    state = values(gated, "wrbench.visible_state")
    assert state["good"] > 0.8 > 0.3 > state["stuck"], "an event that never starts is visible"
    assert values(gated, "wrbench.reobserved_state")["stuck"] == "no_oov"
    assert values(gated, "memobench.vqa_instruction_following") == {"good": 1.0, "stuck": pytest.approx(2 / 6)}
    assert (gated.loc[gated["metric"].str.startswith("memobench.vqa"), "reason"] == "").all()


@pytest.mark.long
def test_calibration_is_saved_against_the_truth_and_against_votes(once, run, monkeypatch):
    saved = pd.read_csv(once("simulated").tables / "judging" / "calibration.csv").set_index(["judge", "against"])
    assert list(saved.index) == [(judge, "the demo world's truth") for judge in ("geometric", "simulated")]
    row = saved.loc[("simulated", "the demo world's truth")]
    assert (row["n"], row["accuracy"]) == (4, 1.0)
    assert 0 < row["brier"] < 0.25 and 0 < row["calibration_error"] < 0.5
    write_table(run.tables, "ratings", votes(simulated=False))
    with monkeypatch.context() as patch:
        patch.setattr(_judging, "save_figure", save_figure)
        run(judge="simulated", error_rate=0.0)
    saved = pd.read_csv(run.tables / "judging" / "calibration.csv").set_index(["judge", "against"])
    assert saved.loc[("simulated", "the human majority"), ["n", "accuracy"]].tolist() == [2, 1.0]
    assert list((run.tables.parent / "figures" / "judging").glob("calibration.*")), "drawn where people voted"
    write_table(run.tables, "ratings", votes(simulated=True))
    run(judge="simulated", error_rate=0.0)
    saved = pd.read_csv(run.tables / "judging" / "calibration.csv")
    assert "the simulated votes' majority" in set(saved["against"])


def votes(simulated: bool) -> pd.DataFrame:
    """Votes of three people: the human clip of the good model triggered, that of the stuck model did not."""
    about = {"task": "trigger", "benchmark": "mbench", "setting": "T", "dimension": "trigger_human", "clip_a": "human:1:text"}
    about |= {"clip_b": "", "model_b": "", "scene": "s", "time": 1.0, "simulated": simulated}
    said = [("good", "yes"), ("stuck", "no")]
    made = [{**about, "model_a": model, "annotator": f"p{k}", "label": label} for model, label in said for k in range(3)]
    return pd.DataFrame(made)[list(SCHEMAS["ratings"].columns)]


def test_no_label_leaves_no_calibration_of_an_earlier_run(once, run):
    shutil.copytree(once("simulated").tables / "judging", run.tables / "judging")
    assert (run.tables / "judging" / "calibration.csv").is_file()
    write_table(run.tables, "truth", empty_table("truth"))
    run(judge="geometric")
    assert not (run.tables / "judging" / "calibration.csv").exists()


@pytest.mark.long
def test_the_discrimination_audit_is_saved_for_generated_and_for_published_banks(run, tmp_path):
    (tmp_path / "failures.csv").write_text("clip_id,model_id,hint\nBar_001,stuck,the event never starts\n")
    run(judge="simulated", error_rate=0.0, vqa_failures=str(tmp_path / "failures.csv"), vqa_filter="official")
    summary = pd.read_csv(run.tables / "judging" / "vqa_discrimination_summary.csv").set_index("dimension")
    assert summary.loc["all", "questions"] == summary.loc["all", "tried"] > 0
    assert 0 < summary.loc["all", "pass_on_failure"] < summary.loc["all", "tried"]
    run(judge="simulated", error_rate=0.0)
    assert not (run.tables / "judging" / "vqa_discrimination.csv").exists(), "no known failure is named"
    questions = json.dumps([{"ID": 1, "Dimension": "Physics Adherence", "Dimension Polarity": "Negative", "Question": "Melts it?"}])
    row = ["Bar", "1", questions, "[]", '[{"ID": 1, "Answer": "No"}]', "[]", questions]
    (tmp_path / "banks").mkdir()
    with (tmp_path / "banks" / "Bar-1-questions.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([("scene", "video_id", *STAGES), row])
    run(judge="simulated", error_rate=0.0, vqa_questions=str(tmp_path / "banks"))
    audit = pd.read_csv(run.tables / "judging" / "vqa_discrimination.csv")
    assert audit[["clip_id", "answer", "passes_failure"]].to_numpy().tolist() == [["Bar_001", "no", True]]


def test_a_ground_truth_filter_without_answers_leaves_its_own_reason(run):
    """One answer unparsed, one out of budget: no score, and the reason is not `too_few_values`."""
    shown = []

    def unread(body, n):
        shown.append(body["messages"][1]["content"][0]["text"])
        return answer_like_a_model(body, n) if "Generate 24" in shown[-1] else completion("I cannot watch videos.")

    with ChatServer(unread) as server:
        asked = {"judge": "openai", "model": "tiny", "base_url": server.url, "tasks": ["vqa"], "concurrency": 1}
        spent = run(**asked, max_calls=1)["gated"]
        silent = run(**asked)["gated"]
    for gated, reason in ((spent, "budget_spent"), (silent, "judge_unparsed")):
        assert set(values(gated, "memobench.vqa_physics_adherence").values()) == {reason}


def answer_like_a_model(body: dict, number: int):
    """Answers according to the prompt, as a model would."""
    text = body["messages"][1]["content"][0]["text"]
    if "memory challenge" in text:
        return completion('{"trigger": true, "confidence": 0.9, "reason": "it leaves and returns"}')
    if "Score" in text or "score from 1 to 5" in text:
        return completion('{"score": 4, "reason": "nearly"}')
    if "Generate 24" in text:
        dimensions = ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")
        rows = [(name, k) for name in dimensions for k in range(6)]
        made = [
            {"ID": n, "Dimension": name, "Dimension Polarity": "Positive" if k % 2 else "Negative", "Question": f"Q{n}?"}
            for n, (name, k) in enumerate(rows, 1)
        ]
        return completion(f"```json\n{json.dumps(made)}\n```")
    if "Yes/No" in text:
        asked = json.loads(text[text.index("[") : text.index("]\n\nTask") + 1])
        right = {"Positive": "Yes", "Negative": "No"}
        return completion(json.dumps([{"ID": q["ID"], "Answer": right[q["Dimension Polarity"]]} for q in asked]))
    if "absent" in text or "counterevidence" in text or "failure" in text:
        return completion("No", [[("No", -0.2), ("Yes", -2.0)]])
    return completion("Yes", [[("Yes", -0.1), ("No", -3.0)]])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, video: Path, long_video: Path):
    """One run judged by an endpoint. The tests below share it and do not change it."""
    root = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch, ChatServer(answer_like_a_model) as server:
        patch.setenv("LOOKBACK_ROOT", str(root))
        patch.setenv("LOOKBACK_JUDGE_KEY", KEY)
        run = prepare(root, long_video, video)
        run.live = run(judge="openai", model="tiny", base_url=server.url)
        assert all(KEY in headers["authorization"] for headers in server.headers)
    return run


@pytest.fixture
def judged_run(recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOOKBACK_ROOT", str(recorded.tables.parents[2]))
    return recorded


def test_an_endpoint_answers_every_task_behind_a_geometric_gate(judged_run):
    gated = judged_run.live["gated"]
    assert values(gated, METRIC["T"]) == {"good": 0.8, "stuck": 0.8}
    assert values(gated, "mbencht.causal.progress_correctness") == {"good": pytest.approx(0.75**2), "stuck": pytest.approx(0.75**2)}
    assert values(gated, "wrbench.support") == {"good": 1.0, "stuck": 0.0}, "the gate is the geometric judge"
    expected = np.mean([1 / (1 + np.exp(-2.9)), 1 - 1 / (1 + np.exp(1.8))])
    assert values(gated, "wrbench.reobserved_spatial") == {"good": pytest.approx(expected), "stuck": "no_oov"}
    assert values(gated, "memobench.vqa_object_background") == {"good": 1.0, "stuck": 1.0}
    judgements = judged_run.live["judgements"]
    assert set(judgements.loc[judgements["task"] == "probe", "value_from"]) == {"logprobs"}
    asked = judgements[(judgements["task"] == "probe") & (judgements["model_id"] == "stuck")]
    assert not asked["question_id"].str.startswith(("D5", "D6")).any(), "a closed gate is asked nothing"


def test_the_model_that_the_server_names_is_in_a_table(judged_run):
    saved = pd.read_csv(judged_run.tables / "judging" / "served_models.csv")
    assert saved[["judge", "served_model"]].to_numpy().tolist() == [["openai/tiny", "served"]]


def test_replay_regenerates_the_tables_byte_for_byte_without_server_or_key(judged_run, monkeypatch):
    names = ("judgements.parquet", "gated.parquet", *(f"judging/{name}" for name in ("judge_agreement.csv", "vqa_banks.json")))
    before = {name: (judged_run.tables / name).read_bytes() for name in names}
    monkeypatch.delenv("LOOKBACK_JUDGE_KEY")
    for name in names:
        (judged_run.tables / name).unlink()
    judged_run(judge="replay")
    assert {name: (judged_run.tables / name).read_bytes() for name in names} == before


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(judged_run):
    before = (judged_run.tables / "judgements.parquet").read_bytes()
    with ChatServer(answer_like_a_model) as server:
        judged_run(judge="openai", model="tiny", base_url=server.url)
        assert server.requests == []
    assert (judged_run.tables / "judgements.parquet").read_bytes() == before


def test_no_output_of_a_run_holds_the_key(judged_run, key_in_environment):
    written = [path for path in judged_run.tables.parent.rglob("*") if path.is_file()]
    assert len(written) > 10
    assert not [path for path in written if key_in_environment.encode() in path.read_bytes()]


def test_an_unread_trigger_is_no_no(run):
    with ChatServer(lambda body, n: completion("I would rather not say.")) as server:
        tables = run(judge="openai", model="tiny", base_url=server.url, tasks=["trigger"])
    assert values(tables["gated"], METRIC["T"]) == {"good": "judge_unparsed", "stuck": "judge_unparsed"}


def test_a_spent_budget_leaves_reasons_and_resumes(run):
    with ChatServer(answer_like_a_model) as server:
        asked = {"judge": "openai", "model": "tiny", "base_url": server.url, "tasks": ["trigger", "state_progress"]}
        spent = run(**asked, max_calls=2, concurrency=1)["judgements"]["reason"].value_counts().to_dict()
        second = run(**asked)
        assert len(server.requests) == 3  # both models have the same video, so one call answers for both
    assert spent["budget_spent"] == 2
    assert "budget_spent" not in set(second["judgements"]["reason"])


def test_scorer_and_gate_must_differ(run):
    with pytest.raises(UsageError, match="another judge than the scorer"):
        run(judge="openai", model="a", base_url="http://127.0.0.1:9/v1", gate_judge="openai")


def test_replay_without_a_recording_is_a_sentence(run, tmp_path):
    with pytest.raises(ContractError, match="set judging"):
        run(judge="replay", recordings=str(tmp_path / "nowhere"))


def test_the_simulated_judge_needs_the_demo_world(run):
    write_table(run.tables, "truth", empty_table("truth"))
    with pytest.raises(Exception, match="demo world only"):
        run(judge="simulated")
