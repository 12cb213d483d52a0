"""`lookback inspect` and `lookback annotate`: serve the interactive pages. Each page opens only with its own link."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from lookback.cli.report import Run
from lookback.extras import need
from lookback.paths import expanded, shown

Port = Annotated[int, typer.Option(help="The port; if it is taken, the next free one.")]
Host = Annotated[list[str] | None, typer.Option(help="Accept this Host header too, e.g. name:port of a proxy. May be repeated.")]
PORT = 8866


def register(app: typer.Typer) -> None:
    app.command()(inspect)
    app.command()(annotate)


def inspect(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of videos, a dataset or a finished run. Without it, the run of --run.")
    ] = None,
    run: Run = "demo",
    port: Port = PORT,
    host: Host = None,
) -> None:
    """Serve the clip inspector on this machine: of a run, or of a folder without any run. Prints the link that opens it."""
    need("tornado", "IPython")
    from lookback.inspector.server import serve_inspector, view_of
    from lookback.params import load_run

    first = load_run(run) if folder is None else view_of(expanded(folder))
    serve_inspector(first, lambda server: _say("the inspector", server.address, server.token), port, host or ())


def annotate(
    run: Run = "demo",
    form: Annotated[
        str, typer.Option(help="A ready form, e.g. mbench_pairwise; without it, the first that has something to ask.")
    ] = "",
    study: Annotated[Path | None, typer.Option(help="A YAML file with the study's settings instead (docs/annotation.md).")] = None,
    annotator: Annotated[list[str] | None, typer.Option(help="Invite a person; the link stays valid. May be repeated.")] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="The public name of a proxy or tunnel, e.g. desk.example.org; the first one stands in the links. May be repeated."
        ),
    ] = None,
    listen: Annotated[list[str] | None, typer.Option(help="Listen on this address (default: 127.0.0.1). May be repeated.")] = None,
    port: Port = PORT,
    export: Annotated[
        Path | None, typer.Option(help="Serve nothing; write the votes to this .csv, or .json for Label Studio.")
    ] = None,
) -> None:
    """Serve a study with people. One link per annotator, one for the organiser. Votes are kept in the run's folder `studies`."""
    from lookback.desk.export import check_ending, export_file
    from lookback.desk.server import StudyServer, serve_study
    from lookback.desk.start import held, open_study
    from lookback.params import load_run
    from lookback.widgets.web import IP

    if export is not None:
        check_ending(export)
    opened = open_study(load_run(run), form, expanded(study) if study else None, begin=export is None)
    if export is not None:
        print(f"{export_file(opened.book, expanded(export))} votes of {opened.folder.name} are in {export}")
        return

    def announce(server: StudyServer) -> None:
        print(
            f"{opened.settings.form}: {len(opened.items)} items, {opened.raters} raters each ({shown(opened.folder)})",
            flush=True,
        )
        for name, token in invited.items():
            _say(name, server.address, token)
        earlier = sorted(set(opened.people) - set(invited))
        if earlier:
            print(f"the links of {', '.join(earlier)} stay valid ({shown(opened.roster.path)})", flush=True)
        _say("organiser", server.organiser, server.token)

    with held(opened):
        names = annotator or ([] if opened.roster.names else [getpass.getuser()])
        invited = opened.invite(names) if names else {}
        opened.deal()
        serve_study(opened, announce, listen or [IP], port, [_bare(name) for name in host or ()], _public(host[0]) if host else "")


def _public(host: str) -> str:
    """The address of a public name; https unless it says otherwise."""
    return f"{host if '://' in host else 'https://' + host}".rstrip("/") + "/"


def _bare(host: str) -> str:
    return host.split("://")[-1].rstrip("/")


def _say(who: str, address: str, token: str) -> None:
    print(f"{who}: {address}?token={quote(token)}", flush=True)
