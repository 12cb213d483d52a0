"""Profiles: each benchmark gets its paper's models, what is missing is said before any work, and scores name their model."""

from __future__ import annotations

from pathlib import Path

import layout_data
import pytest
import torch
from lookback import api
from lookback.backends.choose import backend_options, candidates, choose_backend
from lookback.cli.app import app
from lookback.errors import BackendUnavailable, ParameterError, UsageError
from lookback.extraction.needs import ModelsMissing
from lookback.params import RunParams, load_run
from lookback.profiles import paper_profile
from lookback.registry import BACKENDS, BENCHMARKS, METRICS
from lookback.runners import environments
from lookback.scoring.variants import chosen_variant
from lookback.weights import cache_folder, read_lock
from lookback.weights.cache import ENVIRONMENT
from typer.testing import CliRunner

PAPERS = ("mbench", "memobench", "mind", "wrbench")
FEATURES = ["mind.dino", "memobench.object_identity"]


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No models in environments of their own, and none of the papers' weights; the embedded ones stay."""
    (tmp_path / "weights").mkdir()
    for entry in read_lock().values():
        if entry.kind == "embedded":
            (tmp_path / "weights" / entry.name).symlink_to(cache_folder() / entry.name)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "weights"))
    monkeypatch.setenv(environments.VARIABLE, str(tmp_path / "models"))


def tiny_dino(folder: Path) -> dict[str, str]:
    """DINOv2 and DINOv3 in the format of the hub, small and random."""
    from transformers import Dinov2Config, Dinov2Model, DINOv3ViTConfig, DINOv3ViTModel

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    Dinov2Model(Dinov2Config(**shape, image_size=56, patch_size=14)).save_pretrained(folder / "v2")
    v3 = DINOv3ViTConfig(**shape, intermediate_size=64, num_register_tokens=4, image_size=64, patch_size=16)
    DINOv3ViTModel(v3).save_pretrained(folder / "v3")
    return {"memobench": str(folder / "v2"), "mind": str(folder / "v3")}


def two_benchmarks(root: Path) -> list[dict[str, object]]:
    """MIND and MemoBench as sources of one run."""
    mind, memobench = layout_data.mind(root / "mind"), layout_data.memobench(root / "memobench", models=("wan",))
    return [{"root": str(mind), "layout": "mind"}, {"root": str(memobench), "layout": "memobench"}]


@pytest.mark.parametrize("name", PAPERS)
def test_every_profile_names_backends_and_options_that_exist(name: str):
    profile = paper_profile(name)
    used = {role for spec in METRICS if spec.benchmark == name for role in (*spec.roles, *spec.tools)}
    assert profile.roles and profile.variant == "official" and set(profile.roles) <= used | {"people", "masks"}
    for role, model in profile.roles.items():
        spec = BACKENDS.get(f"{role}={model.backend}")
        assert not spec.embedded
        known = spec.build.model.options if hasattr(spec.build, "model") else spec.build.defaults
        assert set(model.options) <= set(known)
    assert all(METRICS.get(metric.name).variants for metric in METRICS)


def test_a_benchmark_without_a_paper_keeps_the_embedded_models():
    assert BENCHMARKS.get("folder") and not paper_profile("folder").roles and not paper_profile("").roles
    for profile in ("embedded", "paper", "auto"):
        assert choose_backend("features", RunParams(run="r", profile=profile), "folder").name == "efficientnet-lite0"


def test_profiles_order_the_candidates(nothing_installed):
    def names(profile: str, benchmark: str, role: str = "features") -> list[str]:
        return [spec.name for spec in candidates(role, RunParams(run="r", profile=profile), benchmark)]

    assert names("embedded", "mind")[0] == "efficientnet-lite0"
    assert names("paper", "mind") == ["dinov3"] and names("paper", "memobench") == ["dinov2"]
    assert names("auto", "mind") == ["dinov3", "dinov2", "efficientnet-lite0"]
    assert names("auto", "wrbench", "pose")[0] == "vggt-omega" and names("auto", "wrbench", "pose")[-1] == "classical"
    with pytest.raises(BackendUnavailable, match="dinov3"):
        choose_backend("features", RunParams(run="r", profile="paper"), "mind")
    assert choose_backend("features", RunParams(run="r", profile="auto"), "mind").name == "efficientnet-lite0"


def test_a_run_may_name_a_backend_for_one_benchmark():
    asked = {"backends": {"mind/features": "dinov3", "features": "dinov2"}, "options": {"mind/features": {"max_side": 64}}}
    params = RunParams(run="r", extraction=asked)
    assert (
        candidates("features", params, "mind")[0].name == "dinov3"
        and candidates("features", params, "memobench")[0].name == "dinov2"
    )
    spec = BACKENDS.get("features=dinov3")
    assert backend_options(spec, params, "mind").values == {"max_side": 64} and not backend_options(spec, params, "wrbench").values


def test_options_of_the_release_come_with_its_model_alone():
    params = RunParams(run="r", profile="auto", extraction={"options": {"pose": {"amp_dtype": "fp16"}}})
    assert backend_options(BACKENDS.get("pose=mapanything"), params, "memobench").values == {"use_amp": True, "amp_dtype": "fp16"}
    assert backend_options(BACKENDS.get("pose=vggt"), params, "memobench").values == {"amp_dtype": "fp16"}


def test_the_paper_profile_has_the_variant_of_the_release_unless_the_run_names_one():
    spec = METRICS.get("memobench.lpips")
    assert chosen_variant(spec, RunParams(run="r")) == chosen_variant(spec, RunParams(run="r", profile="auto")) == "paper"
    assert chosen_variant(spec, RunParams(run="r", profile="paper")) == "official"
    assert chosen_variant(spec, RunParams(run="r", profile="paper", scoring={"variant": "paper"})) == "paper"


def test_the_older_word_keeps_its_meaning():
    assert RunParams(run="r", extraction={"prefer": "paper"}).profile == "auto"
    assert RunParams(run="r", extraction={"prefer": "embedded"}).profile == "embedded"
    assert RunParams(run="r", profile="paper", extraction={"prefer": "embedded"}).profile == "paper"
    with pytest.raises(ParameterError, match="'profile' has the bad value 'papers'"):
        load_run("demo", ["profile=papers"])


def test_paper_without_weights_ends_before_any_work_with_one_table(tmp_path: Path, nothing_installed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")  # no cell is wrapped
    source, output = layout_data.memobench(tmp_path / "data", models=("wan",)), tmp_path / "run"
    ran = CliRunner().invoke(app, ["eval", str(source), "--output", str(output), "--profile", "paper"])
    assert isinstance(ran.exception, ModelsMissing) and ran.exception.exit_code == 1 and not output.exists()
    said = " ".join(str(ran.exception).split())
    assert "role model needed by size licence install with time" in said and "MemoBench: object_identity" in said
    for weights in ("mapanything", "dinov2-base", "raft-large", "depth-anything-v2-small", "torchvision-vgg16"):
        assert weights in said.partition("in one command: lookback models install --yes")[2]


def test_what_is_given_or_not_asked_for_is_not_missing(tmp_path: Path, nothing_installed):
    source = layout_data.memobench(tmp_path / "data", models=("wan",))
    sections = {"profile": "paper", "curation": {"sources": [{"root": str(source), "layout": "memobench"}]}}
    only = {**sections, "extraction": {"always": []}, "scoring": {"metrics": ["memobench.psnr"]}}
    assert set(api.evaluate(api.run_params(str(tmp_path / "psnr"), 1, only), quiet=True)["gated"]["variant"]) == {"official"}
    wanted = {**only, "scoring": {"metrics": ["memobench.object_identity"]}}
    with pytest.raises(ModelsMissing, match="dinov2"):
        api.evaluate(api.run_params(str(tmp_path / "without"), 1, wanted), quiet=True)
    given = {**wanted, "extraction": {"always": [], "options": {"features": {"path": tiny_dino(tmp_path)["memobench"]}}}}
    items = api.evaluate(api.run_params(str(tmp_path / "with"), 1, given), quiet=True)["gated"]
    assert set(items["backend"]) == {"features=dinov2"} and items["value"].notna().any()


def test_one_run_gives_each_benchmark_its_own_model(tmp_path: Path, nothing_installed):
    paths = tiny_dino(tmp_path)
    options = {f"{name}/features": {"path": path} for name, path in paths.items()}
    sections = {
        "profile": "auto",
        "curation": {"sources": two_benchmarks(tmp_path / "data"), "filters": {"subsets": ["mem_test", "synthetic"]}},
        "extraction": {"always": [], "options": options},
        "scoring": {"metrics": FEATURES, "constants": {"dino_every": 4}},
    }
    items = api.evaluate(api.run_params(str(tmp_path / "run"), 1, sections), quiet=True)["gated"]
    scored = items[items["value"].notna()].groupby("metric")["backend"].agg(set).to_dict()
    assert scored == {"mind.dino": {"features=dinov3"}, "memobench.object_identity": {"features=dinov2"}}


def test_a_wrong_benchmark_before_a_role_is_one_sentence(tmp_path: Path):
    source = layout_data.memobench(tmp_path / "data", models=("wan",))
    call = [
        "eval",
        str(source),
        "--output",
        str(tmp_path / "run"),
        "--backend",
        "mimd/features=dinov2",
        "--metrics",
        "memobench.psnr",
    ]
    ran = CliRunner().invoke(app, call)
    assert isinstance(ran.exception, UsageError) and "no benchmark 'mimd'; did you mean 'mind'" in str(ran.exception)


def test_eval_takes_a_profile_a_device_and_other_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[RunParams] = []
    monkeypatch.setattr(api, "evaluate", lambda params, **_: asked.append(params))
    call = ["eval", str(tmp_path), "--output", str(tmp_path / "run"), "--quiet", "--profile", "auto", "--device", "cpu"]
    assert CliRunner().invoke(app, [*call, "--allow-download", "--set", "seed=11"]).exit_code == 0
    [params] = asked
    assert (params.device, params.seed, params.profile, params.extraction.allow_download) == ("cpu", 11, "auto", True)
