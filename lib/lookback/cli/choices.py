"""Help texts that name what can be chosen. A text may hold {layouts}, {judges}, {roles}, {formats} or {compared}.

They are filled in when somebody asks for help: reading the registries imports every module that registers something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperCommand


def _layouts() -> Iterable[str]:
    from lookback.registry import LAYOUTS

    return LAYOUTS.names()


def _judges() -> Iterable[str]:
    from lookback.registry import JUDGES

    return JUDGES.names()


def _roles() -> Iterable[str]:
    from lookback.registry import BACKENDS

    return sorted({spec.role for spec in BACKENDS})


def _formats() -> Iterable[str]:
    from lookback.exports import formats

    return sorted(formats())


def compared() -> list[str]:
    """The benchmarks that can be compared with their released program."""
    from lookback.benchmark import Benchmark
    from lookback.registry import BENCHMARKS

    return sorted(entry.name for entry in BENCHMARKS if type(entry).parity is not Benchmark.parity)


CHOICES: dict[str, Callable[[], Iterable[str]]] = {
    "{layouts}": _layouts,
    "{judges}": _judges,
    "{roles}": _roles,
    "{formats}": _formats,
    "{compared}": compared,
}


def filled(text: str) -> str:
    """The text with the names that exist here."""
    for mark, names in CHOICES.items():
        if mark in text:
            text = text.replace(mark, ", ".join(names()))
    return text


class ChoosingCommand(TyperCommand):
    """A command whose help names what is registered."""

    def format_help(self, *args: Any, **kwargs: Any) -> None:  # typer keeps the types of both arguments to itself
        for parameter in self.params:
            if text := getattr(parameter, "help", None):
                parameter.help = filled(text)  # type: ignore[attr-defined]
        super().format_help(*args, **kwargs)
