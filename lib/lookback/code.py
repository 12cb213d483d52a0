"""The source files that a module needs: itself and everything it imports inside the package. Results are keyed by their hash."""

from __future__ import annotations

import ast
import hashlib
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import lookback
from lookback.registry import plugin_packages

ROOT = Path(lookback.__file__).parent


@cache
def code_version(*modules: str) -> str:
    """The first 16 characters of `code_hash`, computed once per process. It is the version of everything these modules make."""
    return code_hash(modules)[:16]


def code_hash(modules: tuple[str, ...]) -> str:
    """Hash of the sources of these modules and of every lookback module they import, directly or not."""
    digest = hashlib.sha256()
    for outside in filter(None, map(_outside, sorted(modules))):
        digest.update(outside)
    for name in sorted(closure(modules)):
        digest.update(name.encode() + b"\0" + _file(name).read_bytes())  # type: ignore[union-attr]
        for data in sorted(_file(name).parent.glob("*.*")) if _is_package(name) else []:  # type: ignore[union-attr]
            if data.suffix not in {".py", ".pyc"}:
                digest.update(data.name.encode() + b"\0" + data.read_bytes())
    return digest.hexdigest()


def closure(modules: tuple[str, ...]) -> set[str]:
    """The modules and everything below lookback that they import; a package given here brings all its modules."""
    waiting = [submodule for name in modules for submodule in _with_submodules(name)]
    waiting += [name for outside in map(_outside, modules) for name in imported(ast.parse(outside))]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or _file(name) is None:
            continue
        seen.add(name)
        waiting += [*_imports(name), *_parents(name)]
    return seen


def _with_submodules(name: str) -> Iterator[str]:
    yield name
    path = _file(name)
    if path is not None and path.name == "__init__.py":
        for module in pkgutil.walk_packages([str(path.parent)], prefix=f"{name}."):
            yield module.name


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _is_package(name: str) -> bool:
    path = _file(name)
    return path is not None and path.name == "__init__.py"


def _outside(name: str) -> bytes:
    """The source of a module that belongs neither to lookback nor to a plug-in, if it can be read."""
    path = getattr(sys.modules.get(name), "__file__", None)
    return Path(path).read_bytes() if path and _file(name) is None else b""


@cache
def _file(name: str) -> Path | None:
    if name.split(".")[0] != "lookback":
        return _plugin_file(name)
    base = ROOT.joinpath(*name.split(".")[1:])
    candidates = [base / "__init__.py", base.with_suffix(".py")] if base != ROOT else [ROOT / "__init__.py"]
    return next((path for path in candidates if path.is_file()), None)


def _plugin_file(name: str) -> Path | None:
    """The file of a module of an installed plug-in."""
    if name.split(".")[0] not in plugin_packages():
        return None
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None


@cache
def _imports(name: str) -> tuple[str, ...]:
    """What a module imports. A benchmark's object only points to the benchmark's parts, which a stage names by themselves."""
    path = _file(name)
    assert path is not None
    tree = ast.parse(path.read_bytes())
    if name.rpartition(".")[2] == "benchmark":
        tree = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
    return imported(tree)


def imported(tree: ast.AST) -> tuple[str, ...]:
    """Every module that a source names in an import, and every name it takes from one (which may be a module)."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)
