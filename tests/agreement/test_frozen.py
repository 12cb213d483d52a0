"""A frozen plan: what is recorded, what an analysis may say about it, and what the output folder holds."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lookback.agreement.figures import draw
from lookback.agreement.frozen import freeze, frozen_file, read_frozen, standing
from lookback.cli.app import app
from lookback.cli.study import example
from lookback.errors import ContractError, UsageError
from lookback.files import sha256_file
from time_limits import HUNG_S
from typer.testing import CliRunner


@pytest.fixture
def study(tmp_path, monkeypatch) -> Path:
    """A folder with the plan of the rating example, made quick: few resamples, no figures."""
    monkeypatch.setattr(draw, "draw_figures", lambda tables, folder: [])
    (tmp_path / "plan.yaml").write_text(example("rating", "plan") + "resamples: 100\nestimands: [agreement, rating]\n")
    return tmp_path


def collect(study: Path) -> None:
    for part in ("votes", "scores"):
        (study / f"{part}.csv").write_text(example("rating", part))


def change(study: Path, old: str, new: str) -> None:
    plan = study / "plan.yaml"
    assert old in plan.read_text()
    plan.write_text(plan.read_text().replace(old, new))


def analyse(study: Path, *more: str) -> str:
    words = ["agreement", "--plan", str(study / "plan.yaml"), "--output", str(study / "out"), *more]
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_the_frozen_plan_holds_plan_hash_time_and_files(study):
    collect(study)
    (study / "scores.csv").unlink()
    said = freeze(study / "plan.yaml")
    record = json.loads((study / "plan.frozen.json").read_text())
    assert record["present"] == {"votes.csv": sha256_file(study / "votes.csv")}
    assert record["plan"]["majority"]["min_votes"] == 2
    assert record["plan_hash"][:16] in said
    assert "Already there: votes.csv." in said
    assert record["time"].endswith("Z")
    assert "nothing was written" in freeze(study / "plan.yaml")


def test_a_change_needs_a_reason_and_stands_in_the_log(study):
    freeze(study / "plan.yaml")
    change(study, "min_votes: 2", "min_votes: 3")
    with pytest.raises(UsageError, match=r"majority.min_votes from 2 to 3; record the change with --because"):
        freeze(study / "plan.yaml")
    collect(study)
    with pytest.raises(ContractError, match="differs from the plan frozen"):
        analyse(study)
    freeze(study / "plan.yaml", because="three votes are steadier")
    analyse(study)
    page = (study / "out" / "agreement.md").read_text()
    tables = page.count("## ")
    assert page.count("majority.min_votes from 2 to 3, because three votes are steadier") == tables > 5
    assert "## Amendments to the plan" in (study / "out" / "methods.md").read_text()
    assert "because three votes are steadier" in (study / "out" / "tables.tex").read_text()


@pytest.mark.parametrize(("key", "value"), [("time", "2020-01-01T00:00:00Z"), ("present", {})])
@pytest.mark.parametrize("amended", [False, True])
def test_an_edited_time_or_list_of_files_is_noticed_and_older_records_still_read(study, key, value, amended):
    collect(study)
    freeze(study / "plan.yaml")
    change(study, "min_votes: 2", "min_votes: 3")
    freeze(study / "plan.yaml", because="three votes are steadier")
    target = study / "plan.frozen.json"
    record = read_frozen(target)
    (record["amendments"][0] if amended else record)[key] = value
    target.write_text(json.dumps(record))
    with pytest.raises(ContractError, match="changed by hand"):
        read_frozen(target)
    for entry in (record, *record["amendments"]):
        del entry["entry_hash"]
    target.write_text(json.dumps(record))
    assert read_frozen(target) == record


def test_a_plan_frozen_by_a_lookback_that_knew_fewer_keys_still_holds(study):
    collect(study)
    freeze(study / "plan.yaml")
    target = study / "plan.frozen.json"
    record = json.loads(target.read_text())
    del record["plan"]["population"], record["plan"]["looks"]
    text = json.dumps(record["plan"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    record["plan_hash"] = hashlib.sha256(text.encode()).hexdigest()
    del record["entry_hash"]
    target.write_text(json.dumps(record))
    assert "holds this plan already" in freeze(study / "plan.yaml")
    assert "plan was frozen" in analyse(study)
    with (study / "plan.yaml").open("a") as plan:
        plan.write("looks: 2\n")
    with pytest.raises(ContractError, match="looks from 'nothing' to 2"):
        analyse(study)
    record["plan"]["alpha"] = 0.2
    target.write_text(json.dumps(record))
    with pytest.raises(ContractError, match="changed by hand"):
        read_frozen(target)


@pytest.mark.parametrize(
    ("before", "words", "note"),
    [
        (lambda study: None, "votes.csv was not there. The tool cannot know more than this.", "votes not there yet"),
        (
            collect,
            "votes.csv was already there with the same content: the plan did not come before these votes.",
            "votes already there",
        ),
        (
            lambda study: (study / "votes.csv").write_text("other"),
            "was there with other content: some votes may have been seen",
            "some votes there",
        ),
        (
            lambda study: change(study, "files: {votes: votes.csv, scores: scores.csv}", "files: {}"),
            "named no file of votes",
            "not known whether votes were there",
        ),
    ],
)
def test_an_analysis_says_only_what_the_hashes_show(study, before, words, note):
    before(study)
    freeze(study / "plan.yaml")
    collect(study)
    said = analyse(study, str(study / "votes.csv"))
    assert words in said
    assert words in (study / "out" / "methods.md").read_text()
    page = (study / "out" / "agreement.md").read_text()
    assert page.count(f"Z, {note}; no amendment") == page.count("## ")  # under every table, not in the text alone


def test_looks_are_counted_and_none_is_erased(study, monkeypatch):
    collect(study)
    every = (study / "votes.csv").read_text().splitlines(keepends=True)
    (study / "plan.yaml").write_text((study / "plan.yaml").read_text() + "looks: 2\n")
    for number, count in enumerate((len(every) // 2, len(every) - 1, len(every)), start=1):
        (study / "votes.csv").write_text("".join(every[:count]))
        said = analyse(study)
        assert analyse(study) == said  # the same data and plan: the same look
        name = ("first", "second", "third")[number - 1]
        assert f"This is the {name} look at these data, 2 planned" in said
        page = (study / "out" / "agreement.md").read_text()
        assert page.count(f"{name} look at these data, 2 planned") == page.count("## ")
        warned = "Third look, 2 planned: the level of 0.05 no longer holds."
        assert (warned in page) == (warned in said) == (number == 3)
    lines = [json.loads(line) for line in (study / "plan.looks.jsonl").read_text().splitlines()]
    assert [(line["look"], line["votes"]) for line in lines] == [(1, len(every) // 2 - 1), (2, len(every) - 2), (3, len(every) - 1)]
    assert lines[0]["plan_hash"] == lines[2]["plan_hash"]
    assert sha256_file(study / "votes.csv") in lines[2]["data"]
    change(study, "min_votes: 2", "min_votes: 1")
    with monkeypatch.context() as locked:
        opened = Path.open
        locked.setattr(
            Path, "open", lambda path, mode="r", *more, **named: _refused(path, mode) or opened(path, mode, *more, **named)
        )
        assert "This look was not counted: plan.looks.jsonl cannot be written (Permission denied)." in analyse(study)
    assert "fourth look" in analyse(study)
    (study / "plan.looks.jsonl").write_text(json.dumps(lines[2]) + "\n")
    with pytest.raises(ContractError, match="not numbered from 1"):
        analyse(study)


def _refused(path: Path, mode: str) -> None:
    if mode == "a":
        raise PermissionError(13, "Permission denied", str(path))


def test_votes_under_another_name_are_not_claimed_to_be_new(study):
    freeze(study / "plan.yaml")
    collect(study)
    (study / "votes.csv").rename(study / "elsewhere.csv")
    assert "it did not name elsewhere.csv, so it is not known" in analyse(study, str(study / "elsewhere.csv"))


def test_a_plan_that_was_not_frozen_says_so(study):
    collect(study)
    assert "The plan was not frozen before this analysis" in analyse(study)
    assert "plan not frozen" in (study / "out" / "agreement.md").read_text()


def test_a_frozen_file_that_was_edited_is_refused(study):
    freeze(study / "plan.yaml")
    record = json.loads((study / "plan.frozen.json").read_text())
    record["plan"]["alpha"] = 0.2
    (study / "plan.frozen.json").write_text(json.dumps(record))
    with pytest.raises(ContractError, match="changed by hand"):
        standing(study / "plan.yaml", [])
    (study / "plan.frozen.json").write_text("{")
    with pytest.raises(ContractError, match="not a readable frozen plan"):
        freeze(study / "plan.yaml")
    assert frozen_file(study / "plan.yaml").name == "plan.frozen.json"


def test_long_values_that_differ_at_their_end_are_seen(study):
    change(study, 'sample_size: "" ', f'sample_size: "{"a" * 200}b" ')
    freeze(study / "plan.yaml")
    change(study, 'ab"', 'ac"')
    with pytest.raises(UsageError, match="sample_size"):
        freeze(study / "plan.yaml")


def test_the_folder_holds_plan_and_manifest_and_nothing_of_an_earlier_analysis(study):
    collect(study)
    analyse(study)
    out = study / "out"
    first = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {"rating_metric.csv", "plan.yaml", "manifest.json", "methods.md", "recompute.R", "tables.tex"} <= first
    assert (out / "plan.yaml").read_bytes() == (study / "plan.yaml").read_bytes()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["inputs"]["votes"] == [{"file": "votes.csv", "sha256": sha256_file(study / "votes.csv")}]
    assert manifest["inputs"]["scores"][0]["sha256"] == sha256_file(study / "scores.csv")
    assert {*manifest["files"], "manifest.json"} == first
    assert manifest["lookback"]
    (out / "my_notes.txt").write_text("mine")
    (out / "readings.csv").write_text("mine now")
    (out / "joins.csv").write_text("changed by me")
    change(study, "scores: scores.csv", "scores: []")
    said = analyse(study)
    second = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert "rating_metric.csv" not in second
    assert (out / "my_notes.txt").read_text() == "mine"
    assert (out / "joins.csv").read_text() == "changed by me"
    assert "kept, because they were changed since an earlier analysis wrote them: joins.csv, readings.csv" in said
    (out / "manifest.json").write_text("{")
    with pytest.raises(ContractError, match="name a new folder"):
        analyse(study)


def test_a_figure_that_fails_leaves_a_manifest_of_what_was_written(study, monkeypatch):
    def fails(tables: dict[str, pd.DataFrame], folder: Path) -> None:
        folder.mkdir()
        (folder / "half.png").write_bytes(b"half")
        raise ContractError("no font")

    collect(study)
    with monkeypatch.context() as broken, pytest.raises(ContractError, match="no font"):
        broken.setattr(draw, "draw_figures", fails)
        analyse(study)
    out = study / "out"
    assert {"rating_metric.csv", "figures/half.png"} <= set(json.loads((out / "manifest.json").read_text())["files"])
    change(study, "scores: scores.csv", "scores: []")
    analyse(study)
    assert not (out / "rating_metric.csv").exists()
    assert not (out / "figures" / "half.png").exists()


def test_labels_are_read_as_declared_and_others_are_named(study):
    collect(study)
    votes = pd.read_csv(study / "votes.csv", dtype=str, keep_default_na=False)
    words = {"1": "Bad", "2": "poor", "3": "FAIR", "4": "good", "5": "Excellent"}
    votes.assign(label=votes["label"].map(words)).to_csv(study / "votes.csv", index=False)
    with pytest.raises(
        ContractError, match=r"votes 1, 2, 3 and \d+ more: label '.*' is outside the scale of realism .*scales: stars: labels"
    ):
        analyse(study)
    plain = {"categories: [1, 2, 3, 4, 5] ": "categories: [bad, poor, fair, good, excellent] "}
    for old, new in plain.items():
        change(study, old, new)
    spelled = analyse(study)
    collect(study)
    change(study, "level: ordinal ", "level: ordinal\n    labels: {1: bad, 2: poor, 3: fair, 4: good, 5: excellent} ")
    (study / "plan.looks.jsonl").unlink()
    again = analyse(study)
    assert again == spelled.replace(spelled.rsplit("plan ", 1)[1], again.rsplit("plan ", 1)[1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("level: ordinal ", "level: nominal ", "a rating needs a scale with level: ordinal"),
        ("[1, 2, 3, 4, 5]", "[5, 4, 3, 2, 1]", "rising order"),
        ("judged: clip ", "judged: pair\n    tau: 0.1 ", ""),
        ("level: ordinal ", "level: ordinal\n    labels: {six: 6} ", "'six' stands for '6', which is no category"),
        ("level: ordinal ", "level: ordinal\n    labels: {one: 1, ONE: 2} ", "stands for two categories"),
        ("level: ordinal ", "level: ordinal\n    labels: {yes: 1} ", "in quotes"),
        ("kind: rating", "kind: preference", "kind: rating, judged: pair"),
    ],
)
def test_plans_for_ratings_are_checked(study, old, new, message):
    change(study, old, new)
    if not message:
        freeze(study / "plan.yaml")
        return
    with pytest.raises(UsageError, match=message):
        freeze(study / "plan.yaml")


def test_seven_levels_of_preference_turn_with_the_sides(study):
    change(study, "[1, 2, 3, 4, 5]", "[1, 2, 3, 4, 5, 6, 7]")
    change(study, "judged: clip", "judged: pair")
    scores = pd.read_csv(pd.io.common.StringIO(example("rating", "scores")))
    value = scores.set_index(["model_id", "clip_id"])["value"]
    rows = []
    for scene in scores["clip_id"].unique():
        for a, b in (("alpha", "beta"), ("beta", "gamma"), ("gamma", "alpha")):
            label = 4 + max(-3, min(3, round(8 * (value[a, scene] - value[b, scene]))))
            base = {
                "task": "rating",
                "benchmark": "mystudy",
                "dimension": "realism",
                "scene": scene,
                "clip_a": scene,
                "clip_b": scene,
            }
            rows.append({**base, "model_a": a, "model_b": b, "annotator": "ann", "label": label})
            rows.append({**base, "model_a": b, "model_b": a, "annotator": "bob", "label": 8 - label})
    pd.DataFrame(rows).to_csv(study / "votes.csv", index=False)
    scores.to_csv(study / "scores.csv", index=False)
    analyse(study)
    people = pd.read_csv(study / "out" / "agreement.csv").iloc[0]
    assert (people["n_items"], people["percent"], people["ac2"]) == (24, 1, 1)
    metric = pd.read_csv(study / "out" / "rating_metric.csv").iloc[0]
    assert metric["pooled_rho"] > 0.9
    assert not (study / "out" / "models.csv").exists()


def test_the_order_of_the_sides_changes_no_number_of_rated_pairs(study):
    """Nor does the first voter's order, and R gets the same."""
    change(study, "[1, 2, 3, 4, 5]", "[-2, -1, 0, 1, 2]")
    change(study, "judged: clip", "judged: pair")
    rng = np.random.default_rng(2)
    rows = []
    for scene in (f"s{k}" for k in range(8)):
        for a, b in (("alpha", "beta"), ("beta", "gamma"), ("gamma", "alpha")):
            base = {
                "task": "rating",
                "benchmark": "mystudy",
                "dimension": "realism",
                "scene": scene,
                "clip_a": scene,
                "clip_b": scene,
            }
            middle = rng.normal(0.6, 1)
            for who in ("ann", "bob", "cyd"):
                label = int(np.clip(round(middle + rng.normal(0, 0.7)), -2, 2))
                rows.append({**base, "model_a": a, "model_b": b, "annotator": who, "label": label})
    votes = pd.DataFrame(rows)
    sides = {"model_a": "model_b", "model_b": "model_a"}
    some = votes["scene"].isin(["s0", "s3", "s4"])
    turned = pd.concat([votes[~some], votes[some].rename(columns=sides).assign(label=-votes["label"])])
    scores = [(model, f"s{k}", rng.normal()) for model in ("alpha", "beta", "gamma") for k in range(8)]
    table = pd.DataFrame(scores, columns=["model_id", "clip_id", "value"])
    table.assign(benchmark="mystudy", setting="", metric="my_metric", reason="").to_csv(study / "scores.csv", index=False)
    found = []
    for given in (votes, turned):
        given.to_csv(study / "votes.csv", index=False)
        analyse(study)
        read = (pd.read_csv(study / "out" / f"{name}.csv").iloc[0] for name in ("agreement", "rating_metric"))
        found.append(
            [
                row[name]
                for row, names in zip(
                    read, (("ac1", "ac2", "alpha"), ("within_rho", "between_rho", "pooled_rho", "tau", "rho_ceiling")), strict=True
                )
                for name in names
            ]
        )
        if shutil.which("Rscript"):
            subprocess.run(["Rscript", "recompute.R"], cwd=study / "out", timeout=HUNG_S, check=True, capture_output=True)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
