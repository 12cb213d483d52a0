"""The project's own promises: pins in step, notebooks thin and stripped, registries cheap."""

import re
import subprocess
import sys
import tomllib
from itertools import chain

import nbformat
import pytest
import yaml
from lookback.paths import project_root
from packaging.requirements import Requirement

ROOT = project_root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    found = [re.match(r"([A-Za-z0-9._-]+)==([^\s\\]+)", line) for line in lines]
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def test_environment_yml_installs_the_clone_with_the_extras_of_a_user():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (inner,) = next(part["pip"] for part in environment["dependencies"] if isinstance(part, dict))
    wanted = Requirement(f"lookback{inner.removeprefix('-e .')}").extras
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert wanted == set(declared) - {"all", "dev", "sam2"}  # pip builds sam2 with another torch than the one that runs it
    assert {"python=3.11", "pip", "uv", "make"} <= {part for part in environment["dependencies"] if isinstance(part, str)}


def test_every_dependency_is_pinned_and_no_pin_contradicts_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    locked = pins()
    for requirement in wanted:
        if requirement == "pip" or requirement.startswith("lookback["):  # every environment's own; and the extras together
            continue
        name, _, exact = requirement.partition("==")
        bare = re.split(r"[<>=!~\[]", name)[0].lower().replace("_", "-")
        assert bare in locked, f"{bare} is not in requirements.lock"
        assert not exact or locked[bare] == exact
    assert (locked["torch"], locked["torchvision"]) == ("2.10.0", "0.25.0")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_thin_and_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        assert not cell.outputs
        assert cell.execution_count is None
        assert len(cell.source.splitlines()) <= 12
        assert not re.search(r"^\s*(def|class) ", cell.source, re.MULTILINE)
        assert notebook.cells[index - 1].cell_type == "markdown", "a line of intent stands above every code cell"


def test_listing_what_exists_loads_no_model_library():
    probe = "import sys; from lookback.registry import METRICS, BACKENDS, LAYOUTS, JUDGES;"
    probe += "[registry.names() for registry in (METRICS, BACKENDS, LAYOUTS, JUDGES)];"
    probe += "print(sorted({'torch', 'transformers', 'insightface', 'openai', 'sam2', 'open_clip'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_no_registry_host_or_machine_path_is_committed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    pattern = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|deb\.debian|(?<![\w.])/(?:work|root|home)/")
    offenders = [
        name
        for name in listed
        if name != "tests/core/test_project.py" and pattern.search((ROOT / name).read_text(encoding="utf-8", errors="ignore"))
    ]
    assert offenders == []
