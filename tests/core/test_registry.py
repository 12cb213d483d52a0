"""Which metrics a clip gets, and how packages from outside add their entries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from lookback import registry
from lookback.code import closure
from lookback.errors import LookbackError, UsageError
from lookback.registry import BACKENDS, JUDGES, LAYOUTS, METRICS, Registry, parts

Install = Callable[[str, dict[str, str], dict[str, str]], None]


def names(benchmark: str, setting: str = "", subset: str = "") -> set[str]:
    return {spec.name for spec in METRICS if spec.applies_to(benchmark, setting, subset)}


def test_a_benchmarks_clips_get_its_metrics_of_their_setting_and_subset():
    human = names("mbench", "A", "human")
    assert "mbencha.entity.human_identity_consistency" in human
    assert not any(name.startswith("mbencht") or "environment" in name for name in human)


def test_clips_of_no_benchmark_get_what_needs_only_the_video():
    own = {name for name in names("folder") if name.startswith("folder.")}
    borrowed = {"rendering_style", "human_identity_consistency", "object_texture_consistency", "visual_integrity", "visual_quality"}
    assert len(own) >= 14 and {name.rpartition(".")[2] for name in names("folder") - own} == borrowed
    assert all(METRICS.get(name).needs == ("video",) for name in own)


def forget() -> None:
    for remembered in (registry.plugins, registry.plugin_packages, registry.benchmark_packages):
        remembered.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution on the path: files (below its package) and entry points (group -> module), as pip would leave them."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(package: str, files: dict[str, str], points: dict[str, str]) -> None:
        for name, source in {"__init__.py": "", **files}.items():
            path = tmp_path / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        about = tmp_path / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}-dist\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("\n".join(f"[{group}]\nmine = {module}" for group, module in points.items()))
        forget()

    yield write
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith("outside_"):
            del sys.modules[name]
    monkeypatch.undo()
    forget()


THINGS: dict[str, Registry[str]] = {}


def things(name: str, own: tuple[str, ...] = ()) -> Registry[str]:
    """A registry for one test, which the modules of that test find by its name."""
    THINGS[name] = Registry("thing", lambda: list(own), "lookback.metrics")
    return THINGS[name]


def adding(name: str, *entries: str) -> str:
    lines = [f"test_registry.THINGS[{name!r}].add({entry!r}, {entry!r})" for entry in entries]
    return "\n".join(["import sys", f"test_registry = sys.modules[{__name__!r}]", *lines])


def test_a_module_that_a_package_names_is_found_without_import_and_loaded_at_the_first_question(install: Install):
    install("outside_one", {"extra.py": adding("one", "hers")}, {"lookback.metrics": "outside_one.extra"})
    found = things("one", own=("lookback.names",))
    assert found.modules() == ["lookback.names", "outside_one.extra"]
    assert "outside_one.extra" not in sys.modules
    assert "hers" in found and found.names() == ["hers"] and list(found) == ["hers"]
    with pytest.raises(UsageError, match=r"There is no thing 'her'; did you mean 'hers'\?"):
        found.get("her")


def test_every_kind_has_a_group_of_its_own():
    groups = [METRICS.group, BACKENDS.group, LAYOUTS.group, JUDGES.group]
    assert groups == ["lookback.metrics", "lookback.backends", "lookback.layouts", "lookback.judges"]
    assert set(groups) | {"lookback.benchmarks"} == set(registry.GROUPS)


def test_a_package_named_as_benchmark_brings_the_parts_that_it_has(install: Install):
    files = {"metrics/__init__.py": "", "metrics/first.py": "", "layout.py": ""}
    install("outside_two", files, {"lookback.benchmarks": "outside_two"})
    assert registry.benchmark_packages()[-1] == "outside_two"
    outside = {part: [name for name in parts(part) if name.startswith("outside_two")] for part in ("metrics", "layout", "judging")}
    assert outside == {
        "metrics": ["outside_two.metrics", "outside_two.metrics.first"],
        "layout": ["outside_two.layout"],
        "judging": [],
    }


def test_a_module_that_raises_is_named_with_its_package_each_time_it_is_asked(install: Install):
    source = adding("three", "half") + "\nraise RuntimeError('no paper left')"
    install("outside_three", {"extra.py": source}, {"lookback.metrics": "outside_three.extra"})
    found = things("three")
    for _ in range(2):  # the second time its first half must not pass for the whole
        with pytest.raises(
            LookbackError, match=r"plug-in 'mine' of the package outside_three-dist cannot be loaded \(RuntimeError: no"
        ):
            found.names()


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"__init__.py": "1 / 0"}, "ZeroDivisionError: division by zero"),
        ({"metrics/__init__.py": "", "metrics/deep/__init__.py": "1 / 0"}, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_benchmark_package_that_cannot_be_looked_into_is_named(install: Install, files: dict[str, str], error: str):
    install("outside_four", files, {"lookback.benchmarks": "outside_four"})
    with pytest.raises(LookbackError, match=f"the package outside_four-dist cannot be loaded .{error}"):
        parts("metrics")


def test_a_package_that_is_gone_is_named(install: Install):
    install("outside_five", {}, {"lookback.benchmarks": "outside_gone"})
    with pytest.raises(LookbackError, match=r"the package outside_five-dist cannot be loaded .*No module named 'outside_gone'"):
        parts("metrics")


def test_a_name_that_is_taken_is_refused_and_who_takes_it_is_named(install: Install):
    install("outside_six", {"extra.py": adding("six", "mine", "mine")}, {"lookback.metrics": "outside_six.extra"})
    with pytest.raises(LookbackError, match=r"outside_six-dist cannot be loaded .ValueError: thing 'mine' is registered twice"):
        things("six").names()


def test_lookbacks_own_defects_are_no_plugins(install: Install):
    install("outside_seven", {}, {})
    with pytest.raises(ModuleNotFoundError):
        things("seven", own=("lookback.no_such_module",)).names()


def test_a_plugins_code_is_its_module_with_all_it_imports_of_itself_and_of_lookback(install: Install):
    files = {
        "extra.py": "from .inner import helper\nfrom outside_eight import named\nimport lookback.names",
        "inner/__init__.py": "from ..shared import value\nimport outside_eight_is_not_imported_for_this",
        "inner/helper.py": "",
        "shared.py": "",
        "named.py": "",
        "unused.py": "",
    }
    install("outside_eight", files, {"lookback.metrics": "outside_eight.extra"})
    found = closure(("outside_eight.extra",))
    own = {name for name in found if name.startswith("outside_eight")}
    wanted = ("extra", "inner", "inner.helper", "shared", "named")
    assert "outside_eight.inner" not in sys.modules
    assert own == {"outside_eight", *(f"outside_eight.{name}" for name in wanted)} and "lookback.names" in found


BEGUN, GO_ON = Event(), Event()


def test_a_second_thread_waits_until_the_entries_are_loaded_and_the_first_may_ask_meanwhile(install: Install):
    pause = "\nlist(test_registry.THINGS['nine'])\ntest_registry.BEGUN.set()\ntest_registry.GO_ON.wait(60)\n"
    source = adding("nine", "first") + pause + adding("nine", "second")
    install("outside_nine", {"extra.py": source}, {"lookback.metrics": "outside_nine.extra"})
    found = things("nine")
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(found.names)
        assert BEGUN.wait(60)
        other = pool.submit(found.names)
        with pytest.raises(TimeoutError):
            other.result(timeout=1)
        GO_ON.set()
        assert one.result() == other.result() == ["first", "second"]
