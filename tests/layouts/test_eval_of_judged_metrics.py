"""`lookback eval` of metrics that are computed only from a judge's answers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from layout_data import wrbench
from lookback.cli.app import app
from lookback.errors import BackendUnavailable, UsageError
from typer.testing import CliRunner


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run the command on a small dataset; errors are raised."""
    for name in ("LOOKBACK_JUDGE_URL", "MBENCH_VLM_BASE_URL", "LOOKBACK_JUDGE_MODEL", "MBENCH_VLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    source, output = wrbench(tmp_path / "data"), tmp_path / "out"

    def run(*arguments: str) -> pd.DataFrame:
        CliRunner().invoke(
            app, ["eval", str(source), "--output", str(output), "--workers", "1", *arguments], catch_exceptions=False
        )
        return pd.read_parquet(output / "tables" / "gated.parquet")

    run.output = output
    return run


def test_without_a_judge_it_says_so_before_any_work(evaluate):
    with pytest.raises(UsageError, match=r"wrbench\.support: .*no judge is named.*--vlm-judge.*--vlm-base-url"):
        evaluate("--metrics", "wrbench.support")
    assert not evaluate.output.exists()


@pytest.mark.parametrize("judge", ["openai-compatible", "transformers"])
def test_a_judge_without_its_model_is_refused_before_any_work(evaluate, judge: str):
    with pytest.raises(BackendUnavailable, match=r"judging\.model"):
        evaluate("--metrics", "wrbench.support", "--vlm-judge", judge)
    assert not evaluate.output.exists()


def test_metrics_of_another_benchmark_are_refused_before_extraction(evaluate):
    with pytest.raises(UsageError, match="None of the metrics"):
        evaluate("--metrics", "memobench.psnr")
    assert not (evaluate.output / "tables" / "artifacts.parquet").exists()


def test_a_named_metric_without_a_clip_is_told_once(evaluate, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr("lookback.scoring.run.say", told.append)
    evaluate("--metrics", "wrbench.support,memobench.psnr,mind.gsc", "--vlm-judge", "geometric", "--limit", "1")
    assert told == ["Not scored, because no clip is of the kind that they are for: memobench.psnr, mind.gsc"]


def test_the_judge_that_is_named_judges_them(evaluate):
    gated = evaluate("--metrics", "wrbench.support", "--vlm-judge", "geometric", "--limit", "1")
    assert set(gated["metric"]) == {"wrbench.support"}
    assert len(gated) == 1 and set(gated["backend"]) == {"geometric"}
