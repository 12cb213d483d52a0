"""Which metrics a clip gets."""

from lookback.registry import METRICS


def names(benchmark: str, setting: str = "", subset: str = "") -> set[str]:
    return {spec.name for spec in METRICS if spec.applies_to(benchmark, setting, subset)}


def test_a_benchmarks_clips_get_its_metrics_of_their_setting_and_subset():
    human = names("mbench", "A", "human")
    assert "mbencha.entity.human_identity_consistency" in human
    assert not any(name.startswith("mbencht") or "environment" in name for name in human)


def test_clips_of_no_benchmark_get_what_needs_only_the_video():
    assert names("folder") == {"memobench.visual_quality", "wrbench.visual_integrity"}
    assert all(METRICS.get(name).needs == ("video",) for name in names("folder"))
