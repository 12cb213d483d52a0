"""The core is the wheel without extras: it imports, reads, scores and analyses without torch and Jupyter, outside any project."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from installed_wheel import Installed, run, shared_wheel
from lookback.extras import EXTRA_OF

pytestmark = pytest.mark.long
TESTS = Path(__file__).parents[1]
# what notebooks, pages, embedded networks and endpoints are made of; everything else is the core
BESIDE_THE_CORE = (
    "lookback.notebook", "lookback.desk", "lookback.inspector", "lookback.widgets", "lookback.networks",
    "lookback.pipeline.execute", "lookback.judging.bounded_transport", "lookback.measures.compiled",
)  # fmt: skip
IMPORT_ALL = """
import importlib, json, pkgutil, lookback
failed = {}
for module in pkgutil.walk_packages(lookback.__path__, "lookback.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failed[module.name] = error.name.partition(".")[0]
print(json.dumps(failed))
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(tmp_path_factory.mktemp("core"), shared_wheel(tmp_path_factory.getbasetemp()))
    warm = made.warm_up()
    yield made
    warm.close()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> Path:
    """Two small clips of two models with their ground truth, made in another process: the module lies with the layouts' tests."""
    folder = tmp_path_factory.mktemp("data") / "checkout"
    code = "import sys, pathlib, layout_data; layout_data.memobench(pathlib.Path(sys.argv[1]))"
    subprocess.run([warm_python, "-c", code, str(folder)], cwd=TESTS / "layouts", check=True)
    return folder


def test_no_package_of_an_extra_is_there(core: Installed):
    code = f"from importlib.util import find_spec; print([name for name in {sorted(EXTRA_OF)} if find_spec(name)])"
    assert run([str(core.bin / "python"), "-c", code], core.folder, core.environment).stdout.strip() == "[]"


def test_every_module_of_the_core_is_imported_without_the_extras(core: Installed):
    failed = json.loads(run([str(core.bin / "python"), "-c", IMPORT_ALL], core.folder, core.environment).stdout)
    assert {name: module for name, module in failed.items() if not name.startswith(BESIDE_THE_CORE)} == {}
    assert set(failed.values()) <= set(EXTRA_OF), "what is missing has an extra that brings it"


def test_a_dataset_is_checked_and_scored_outside_a_project(core: Installed, dataset: Path):
    core.lookback("validate", str(dataset), "--workers", "1")
    names = "memobench.psnr,memobench.ssim,memobench.lpips,memobench.camera_controllability"
    said = core.lookback("eval", str(dataset), "--output", "scores", "--metrics", names, "--workers", "1", "--no-progress-bar")
    items = pd.read_parquet(core.folder / "scores" / "tables" / "items.parquet").set_index("metric")
    assert items.loc[["memobench.psnr", "memobench.ssim"], "value"].notna().all()
    lpips = items.loc[["memobench.lpips"]]
    assert set(lpips["reason"]) == {"backend_unavailable"} and lpips["detail"].str.contains(r"lookback\[models\]").all()
    remedies = [line for line in said.splitlines() if line.startswith("backend_unavailable: ")]
    assert "lookback[models]" in "".join(remedies) and len(remedies) == len({*remedies}) == lpips["detail"].nunique()


def test_type_checkers_find_its_types(core: Installed):
    assert (core.packages / "lookback" / "py.typed").is_file()


def test_a_study_of_votes_is_analysed_outside_a_project(core: Installed):
    for part, name in (("votes", "votes.csv"), ("scores", "scores.csv"), ("plan", "plan.yaml")):
        (core.folder / name).write_text(core.lookback("agreement", "--template", "rating", "--part", part))
    assert "written to results" in core.lookback("agreement", "--plan", "plan.yaml", "--output", "results")


def test_what_an_extra_brings_is_asked_for_in_one_sentence(core: Installed):
    core.lookback("init", "study")
    study = core.folder / "study"
    asked = {
        ("report",): "notebooks", ("inspect",): "notebooks", ("annotate",): "notebooks", ("selfcheck",): "demo",
    }  # fmt: skip
    for command, extra in asked.items():
        said = core.lookback(*command, fails=1, folder=study).strip()
        assert said.startswith("lookback: ") and len(said.splitlines()) == 1, said
        assert said.endswith(f'pip install "lookback[{extra}]"')


def test_without_a_project_the_sentence_says_how_to_make_one(core: Installed):
    for command in (("report",), ("compare", "a", "b")):
        said = core.lookback(*command, fails=2).strip()
        assert said.startswith("lookback: No lookback project here") and "`lookback init study`" in said
        assert len(said.splitlines()) == 1


def test_the_models_and_judges_that_need_an_extra_say_which(core: Installed):
    rows = pd.DataFrame(json.loads(core.lookback("doctor", "--json"))).set_index(["role", "backend"])
    assert rows.loc[("pose", "classical"), "usable"] and rows.loc[("judge", "geometric"), "usable"]
    remedies = rows.loc[[("features", "efficientnet-lite0"), ("judge", "openai"), ("masks", "sam2")], "remedy"]
    assert list(remedies) == [f'pip install "lookback[{extra}]"' for extra in ("models", "judges", "models")]
