"""The rooms of the package: nobody outside a benchmark's folder names it, and no two rooms import each other."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import lookback
from lookback.registry import BENCHMARKS

PACKAGE = Path(lookback.__file__).parent
ENTRY_POINTS = {"cli", "stages", "__main__"}  # they may import anything


def sources() -> dict[str, Path]:
    """Module name -> file."""
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }


def room(module: str) -> str:
    """The folder or file of the package that a module stands in."""
    return module.split(".")[1] if "." in module else ""


@cache
def imports(path: Path) -> set[str]:
    """What a file imports when it runs; what only type checkers read does not count."""
    found: set[str] = set()

    def walk(node: ast.AST) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lookback"):
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("lookback"))
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(ast.parse(path.read_text(encoding="utf-8")))
    return found


def room_graph() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for module, path in sources().items():
        named = imports(path)
        graph.setdefault(room(module), set()).update(room(name) for name in named if room(name) not in ("", room(module)))
    return graph


def test_no_file_outside_its_folder_names_a_benchmark():
    names = "|".join(name for name in BENCHMARKS.names() if name != "folder")  # `folder` is an ordinary word
    quoted = re.compile(rf"""["']({names})["']""")
    found = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "benchmarks")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if quoted.search(line)
    ]
    assert not found, "ask the Benchmark object instead of comparing names: " + ", ".join(found)


def test_no_circle_of_rooms():
    graph = {name: targets for name, targets in room_graph().items() if name not in ENTRY_POINTS}
    order: list[str] = []
    waiting = dict(graph)
    while waiting:
        free = [name for name, targets in waiting.items() if not any(target in waiting and target != name for target in targets)]
        assert free, "these rooms import each other: " + str(
            {name: sorted(targets & set(waiting)) for name, targets in waiting.items()}
        )
        order += free
        for name in free:
            del waiting[name]
    assert {"errors", "registry", "media", "benchmarks", "report"} <= set(order)


def test_only_stages_use_the_demo_world():
    users = {
        module
        for module, path in sources().items()
        if room(module) != "demo" and any(room(name) == "demo" for name in imports(path))
    }
    assert {room(module) for module in users} <= ENTRY_POINTS, sorted(users)


def test_no_two_test_files_share_a_name():
    """pytest imports a test file by its name alone: a second one of that name stops the whole run."""
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
