"""What a module needs: its source, everything it imports inside the package, and the libraries outside. Results are keyed by it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec, resolve_name
from pathlib import Path
from textwrap import dedent
from typing import Any

import lookback
from lookback.files import sha256_json
from lookback.machine import package_version
from lookback.registry import plugin_packages

ROOT = Path(lookback.__file__).parent
COMPUTE_NOTHING = {"huggingface_hub", "httpx2", "ipywidgets", "openai", "psutil", "pydantic", "ray", "rich", "tqdm", "yaml"}
COMPUTE_NOTHING |= {"lookback", *sys.stdlib_module_names}
# packages that are not called as the module is; those of plug-ins are looked up, which takes half a second
PACKAGES = {"cv2": "opencv-python", "dlib": "dlib-bin", "open_clip": "open_clip_torch", "PIL": "pillow", "skimage": "scikit-image"}
PACKAGES |= {"sklearn": "scikit-learn"}


@cache
def code_version(*modules: str) -> str:
    """The version of everything these modules make, in 16 characters: their code and the releases of their libraries."""
    return sha256_json([code_hash(modules), libraries(modules)])[:16]


def libraries(modules: tuple[str, ...]) -> dict[str, str]:
    """The release of every library that these modules, or what they import inside the package, take; empty: not installed."""
    names = {name for module in closure(modules) for name in _imports(module)}
    names |= {name for source in map(_outside, modules) for name in imported(ast.parse(source))}
    return {top: _release(top) for top in sorted({name.partition(".")[0] for name in names} - COMPUTE_NOTHING - plugin_packages())}


@cache
def _release(module: str) -> str:
    found = package_version(PACKAGES.get(module, module))
    if found or find_spec(module) is None:
        return found
    return ",".join(map(package_version, packages_distributions().get(module, [])))


def version_of(made: Callable[..., Any], *modules: str) -> str:
    """`code_version` of these modules and of that of a function or class; with its source, where it was typed into a session."""
    version = code_version(made.__module__, *modules)
    if made.__module__ != "__main__" or hasattr(sys.modules["__main__"], "__file__"):
        return version
    return hashlib.sha256("\0".join([version, *_typed(made)]).encode()).hexdigest()[:16]


def _typed(made: Callable[..., Any]) -> list[str]:
    """The source of a function or class of the session, and of all that it names there: functions, classes and plain values."""
    session = vars(sys.modules["__main__"])
    found: dict[str, str] = {}
    waiting = {made.__name__: made}
    while waiting:
        name, value = waiting.popitem()
        if getattr(value, "__module__", None) != "__main__":
            found[name] = f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)
            library = str(getattr(value, "__module__", None) or getattr(value, "__name__", "")).partition(".")[0]
            found |= {f"release of {library}": _release(library)} if library not in COMPUTE_NOTHING | {""} else {}
            continue
        try:
            found[name] = dedent(inspect.getsource(value))
            tree = ast.parse(found[name])
        except (OSError, TypeError, SyntaxError):  # an object, a lambda within a line, or a prompt that keeps no source
            found[name] = repr(value)  # with its address, so that nothing of another session stands for it
            continue
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        waiting |= {each: session[each] for each in named & session.keys() - found.keys()}
    return [f"{name} = {source}" for name, source in sorted(found.items())]


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
    """The file of a module of lookback or of a plug-in, found by its place: importing it could cost time, or fail."""
    top, *rest = name.split(".")
    for place in _places(top):
        base = place.joinpath(*rest)
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return path
    return None


@cache
def _places(top: str) -> list[Path]:
    """Where a top-level package or module lies: its folders, or its file without the suffix."""
    if top == "lookback":
        return [ROOT]
    spec = find_spec(top) if top in plugin_packages() else None
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        return []
    return [Path(place) for place in spec.submodule_search_locations or [str(spec.origin).removesuffix(".py")]]


@cache
def _imports(name: str) -> tuple[str, ...]:
    """What a module imports. A benchmark's object only points to the benchmark's parts, which a stage names by themselves."""
    path = _file(name)
    assert path is not None
    tree = ast.parse(path.read_bytes())
    if name.rpartition(".")[2] == "benchmark":
        tree = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
    return imported(tree, name if _is_package(name) else name.rpartition(".")[0])


def imported(tree: ast.AST, package: str = "") -> tuple[str, ...]:
    """Every module that a source names in an import, and every name it takes from one (which may be a module).

    `package` is the one that the source stands in: relative imports start there.
    """
    found: list[str] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            module = resolve_name("." * node.level + (node.module or ""), package)
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def _statements(block: ast.AST) -> Iterator[ast.AST]:
    """Every statement in a block that can run, at any depth: what only type checkers read does not count.

    Expressions hold no import, and a walk through them takes ten times as long.
    """
    if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
        return
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(block, field, ()):
            yield inner
            yield from _statements(inner)
