"""What a run costs: the table of a finished run, and the estimate from a trial of a few clips."""

from __future__ import annotations

from pathlib import Path

import layout_data
import pandas as pd
import pytest
from lookback import api, estimate
from lookback.cli.app import app
from lookback.clips import Clip
from lookback.errors import UsageError
from lookback.extraction.needs import ModelsMissing
from lookback.params import RunParams
from lookback.scoring.costs import costs
from typer.testing import CliRunner

METRIC = "wrbench.visual_integrity"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layout_data.wrbench(tmp_path_factory.mktemp("data"))


def parameters(dataset: Path, output: Path, **sections: object) -> RunParams:
    source = {"root": str(dataset), "layout": "wrbench"}
    chosen = {"extraction": {"roles": ["quality"]}, "scoring": {"metrics": [METRIC]}}
    return api.run_params(str(output), 1, {"curation": {"sources": [source], "filters": {"limit": 2}}, **chosen, **sections})


def test_a_finished_run_says_what_each_model_cost(dataset: Path, tmp_path: Path):
    params = parameters(dataset, tmp_path / "run")
    assert costs(params).empty
    api.evaluate(params, quiet=True)
    table = costs(params)
    rows = {(row["stage"], row["part"].split(" ")[0]): row for row in table.to_dict("records")}
    assert rows["extraction", "quality"]["model"] == "sharpness"
    assert rows["extraction", "quality"]["clips"] == 1  # the second clip is the same video: what the store has costs nothing
    assert rows["scoring", "wrbench.visual_integrity"]["model"] == "features=efficientnet-lite0"
    assert table["seconds"].is_monotonic_decreasing and table["share"].sum() == pytest.approx(1)
    assert (table["seconds"] / table["clips"]).tolist() == pytest.approx(table["seconds_per_clip"].tolist())


def test_named_metrics_of_a_dataset_cost_what_eval_would_run(dataset: Path):
    from lookback.cli.estimate import _params

    assert _params(str(dataset), [f"scoring.metrics=[{METRIC}]"]).extraction.always == []
    assert _params(str(dataset), []).extraction.always == ["pose", "masks"]


def clip(number: int, subset: str) -> Clip:
    return Clip(benchmark="mind", setting="1st_data", subset=subset, model_id="m", clip_id=f"c{number}", video="c.mp4")


def test_the_trial_takes_every_kind_of_clip():
    clips = [clip(number, "mem_test") for number in range(50)] + [clip(50, "mirror_test")]
    chosen = estimate.tried_clips(clips)
    assert [each.clip_id for each in chosen] == ["c0", "c50", "c1"]
    assert [each.clip_id for each in estimate.tried_clips(clips[:50])] == ["c0", "c1", "c2"]


def test_loading_counts_once_and_work_for_every_clip_that_has_the_part():
    clips = [clip(number, "mem_test") for number in range(200)] + [clip(number, "mirror_test") for number in range(200, 300)]
    rows = pd.DataFrame(
        [["mind", "pose", "vipe", seconds, "1st_data", "mem_test"] for seconds in (20.0, 4.0, 6.0)]
        + [["mind", "mind.gsc", "lpips", 3.0, "1st_data", "mirror_test"]],
        columns=["benchmark", "part", "model", "seconds", "setting", "subset"],
    )
    trial = estimate.Trial(estimate._parts(rows, clips), workers=2, device_memory_gb=0.0)
    # by hand: pose 200 clips of 5 s and 15 s of loading, gsc 100 clips of 3 s; two workers share the work but each loads
    assert trial.hours == pytest.approx(((200 * 5 + 100 * 3) / 2 + 15) / 3600)
    table = estimate.hours_table(trial.measured()).set_index("part")["hours per 100 clips"]
    assert table["all"] == pytest.approx((5 + 0.5 * 3) * 100 / 3600) and table["pose"] == pytest.approx(500 / 3600)


def test_estimate_names_clips_models_and_hours_and_its_file_gives_the_table(dataset: Path, tmp_path: Path):
    file = tmp_path / "run.yaml"
    file.write_text(
        f"workers: 1\ndevice: cpu\ncuration: {{sources: [{{root: {dataset}, layout: wrbench}}]}}\n"
        f"extraction: {{always: []}}\nscoring: {{metrics: [{METRIC}]}}\n"
    )
    ran = CliRunner().invoke(app, ["estimate", str(file), "--save", str(tmp_path / "seconds.csv")])
    assert ran.exit_code == 0, ran.exception
    assert "efficientnet-lite0" in ran.output and "hours with 1 worker(s), no GPU" in ran.output
    assert not (tmp_path / "outputs").exists()
    shown = CliRunner().invoke(app, ["estimate", "--table", str(tmp_path / "seconds.csv")]).output
    assert "hours per 100 clips" in shown and "wrbench" in shown and METRIC in shown
    missing = CliRunner().invoke(app, ["estimate", str(file), "--profile", "paper"])
    assert isinstance(missing.exception, ModelsMissing) and "dinov2" in str(missing.exception)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Name a run"),
        (["demo"], "renders its own clips"),
        (["--table", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["nobody"], "There is no parameter file"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], says: str):
    ran = CliRunner().invoke(app, ["estimate", *words])
    assert isinstance(ran.exception, UsageError) and says in str(ran.exception)
