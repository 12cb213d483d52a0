"""Help texts that name what can be chosen. A text may hold one of the marks of `CHOICES`, for example {layouts}.

They are filled in when somebody asks for help: reading the registries imports every module that registers something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lookback.errors import UsageError


def _layouts() -> Iterable[str]:
    from lookback.registry import LAYOUTS

    return LAYOUTS.names()


def _judges() -> Iterable[str]:
    from lookback.registry import JUDGES

    return JUDGES.names()


def looking() -> Iterable[str]:
    """The judges that look at frames, and what they answered before."""
    from lookback.registry import JUDGES

    return [*(spec.name for spec in JUDGES if spec.looks), "replay"]


def _roles() -> Iterable[str]:
    from lookback.registry import BACKENDS

    return sorted({spec.role for spec in BACKENDS})


def _formats() -> Iterable[str]:
    from lookback.exports import formats

    return sorted(formats())


def _pose_formats() -> Iterable[str]:
    from lookback.backends.pose.formats import FORMATS

    return FORMATS


def _file_roles() -> Iterable[str]:
    from lookback.backends.files import ROLES

    return ROLES


def compared() -> list[str]:
    """The benchmarks that can be compared with their released program."""
    from lookback.benchmark import Benchmark
    from lookback.registry import BENCHMARKS

    return sorted(entry.name for entry in BENCHMARKS if type(entry).parity is not Benchmark.parity)


CHOICES: dict[str, Callable[[], Iterable[str]]] = {
    "{layouts}": _layouts,
    "{judges}": _judges,
    "{looking}": looking,
    "{roles}": _roles,
    "{formats}": _formats,
    "{compared}": compared,
    "{pose_formats}": _pose_formats,
    "{file_roles}": _file_roles,
}


def filled(text: str) -> str:
    """The text with the names that exist here."""
    for mark, names in CHOICES.items():
        if mark in text:
            text = text.replace(mark, ", ".join(names()))
    return text


class Commands(typer.Typer):
    """A group whose commands are all of the kind below."""

    def command(self, *args: Any, **settings: Any) -> Any:
        return super().command(*args, cls=ChoosingCommand, **settings)


class ChoosingCommand(TyperCommand):
    """A command whose help names what is registered. A text that it needs (a path, a name) must not be empty."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            given = ctx.params.get(parameter.name)
            if parameter.required and "" in (given if isinstance(given, list) else [given]):
                raise UsageError(f"{parameter.opts[0]} is empty; write a path or a name there")
        return rest

    def format_help(self, *args: Any, **kwargs: Any) -> None:  # typer keeps the types of both arguments to itself
        for parameter in self.params:
            if text := getattr(parameter, "help", None):
                parameter.help = filled(text)  # type: ignore[attr-defined]
        super().format_help(*args, **kwargs)


class WholeHelpGroup(TyperGroup):
    """A group of commands whose help shows the whole first sentence of each; the original cuts it at the line's end."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # typer keeps the types of both arguments to itself
        self.write_section(formatter, "Commands", list(self.commands))

    def write_section(self, formatter: Any, title: str, names: Iterable[str]) -> None:
        shown = [(name, self.commands[name]) for name in names if name in self.commands]
        if rows := [(name, command.get_short_help_str(limit=1000)) for name, command in shown if not command.hidden]:
            with formatter.section(title):
                formatter.write_dl(rows, col_max=max(map(len, self.commands)), col_spacing=2)


# the commands of the first page of help; a plug-in's or a new command stands last, under its own heading
VERBS = {
    "Run": ("init", "report", "eval", "estimate", "compare", "watch", "inspect"),
    "Data": ("validate", "prepare", "conditions", "prompts", "generate", "construct"),
    "Study": ("agreement", "study", "annotate"),
    "Models": ("list-metrics", "models", "doctor"),
    "Checks and results": ("selfcheck", "parity", "validity", "table", "export"),
}


class GroupedHelp(WholeHelpGroup):
    """The first page of help: the commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in VERBS.items():
            self.write_section(formatter, title, names)
        placed = {name for names in VERBS.values() for name in names}
        self.write_section(formatter, "Others", [name for name in self.commands if name not in placed])
