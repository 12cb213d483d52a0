"""`lookback models`: the papers' models that run in an environment of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookback.cli.choices import Commands, WholeHelpGroup
from lookback.errors import UsageError
from lookback.paths import expanded

models = Commands(
    help="Install, check and remove the papers' models, each in an environment of its own.",
    cls=WholeHelpGroup,
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    app.add_typer(models, name="models")


Name = Annotated[str, typer.Argument(help="The model, as `lookback models list` names it.")]


@models.command("list")
def list_models() -> None:
    """Show every model: what it is for, its size and licence, whether it is installed, and what was proven here."""
    from lookback import runners

    for model in runners.catalogue().values():
        found = runners.installed(model)
        state = f"installed {found.when[:10]}" if found else f"not installed (about {model.download_gb:g} GB)"
        print(f"{model.name:14} {model.title}: {model.used_by}; {state}")
        print(f"{'':14} licence: {model.licence.code}; weights {model.licence.weights}; run here: {model.proven}")


@models.command()
def install(
    names: Annotated[list[str], typer.Argument(help="Models of `lookback models list`, or weights of params/weights.lock.yaml.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    python: Annotated[str, typer.Option(help="The Python of an environment that holds the packages already.")] = "",
    source: Annotated[list[str] | None, typer.Option(help="NAME=FOLDER: a checkout that is here already.")] = None,
    weights: Annotated[str, typer.Option(help="A folder that holds the weight files already.")] = "",
) -> None:
    """Make each model's environment, and fetch its code and weights. Size and licences are shown first."""
    from lookback import runners
    from lookback.weights import read_lock

    if len(names) > 1 and (python or source or weights):
        raise UsageError("--python, --source and --weights belong to one model; install it by itself")
    lock = read_lock()
    for name in names:
        if name in lock and name not in runners.catalogue():
            _install_weights(name, yes)
        else:
            _install_model(name, yes, python, source or [], weights)


def _install_model(name: str, yes: bool, python: str, source: list[str], weights: str) -> None:
    from lookback import runners
    from lookback.runners import environments

    model = runners.model(name)
    print("\n".join(environments.plan(model)))
    _ask(f"Install {name} into {environments.models_folder() / name}?", yes)
    folders = dict(_named(text) for text in source)
    found = environments.install(
        model,
        lambda text: print(f"  {text}", flush=True),
        expanded(python) if python else None,
        folders,
        expanded(weights) if weights else None,
    )
    print(f"{name} is installed: {len(found.packages)} packages; check it with: lookback models doctor {name}")


def _install_weights(name: str, yes: bool) -> None:
    """Weights that this environment's own packages load."""
    from lookback.weights import cache_folder, locate, present, read_lock

    entry = read_lock()[name]
    if not present(name):
        print(f"{name}: about {entry.size_mb:.0f} MB from {entry.origin}")
        print(f"licence of the weights: {entry.licence or 'see its project'}")
        _ask(f"Fetch {name} into {cache_folder() / name}?", yes)
    print(f"{name}: {locate(name, allow_download=True)}")


def _ask(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise typer.Exit(1)


@models.command()
def doctor(name: Annotated[str, typer.Argument(help="One model; all that are installed when left out.")] = "") -> None:
    """Check installed models: files, hashes, and whether their code can be imported. Exit 1 if one has a problem."""
    from lookback import runners
    from lookback.runners import environments

    wanted = [runners.model(name)] if name else list(runners.catalogue().values())
    broken = 0
    for model in wanted:
        found = runners.installed(model)
        if found is None:
            print(f"{model.name:14} not installed -> lookback models install {model.name}")
            broken += bool(name)
            continue
        wrong = [*environments.problems(found)]
        if not wrong and (error := environments.try_imports(model, found)):
            wrong = [f"its code cannot be imported: {error}"]
        broken += bool(wrong)
        print(f"{model.name:14} {'; '.join(wrong) or 'ready'} (run here before release: {model.proven})")
    never = [model.name for model in wanted if model.proven == "nothing"]
    if never:
        print(
            f"never run against its real code: {', '.join(never)}. Real weights were loaded for none of the models (docs/models.md)"
        )
    if broken:
        raise typer.Exit(1)


@models.command()
def remove(name: Name) -> None:
    """Remove a model's environment, code and weights."""
    from lookback import runners
    from lookback.runners import environments

    print(f"{name} is removed" if environments.remove(runners.model(name)) else f"{name} was not installed")


def _named(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not equals:
        raise UsageError(f"--source {text}: write NAME=FOLDER")
    return name, expanded(folder)
