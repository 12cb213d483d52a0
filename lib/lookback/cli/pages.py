"""`lookback inspect` and `lookback annotate`: serve the interactive pages. Each page opens only with its own link."""

from __future__ import annotations

import getpass
from typing import Annotated
from urllib.parse import quote

import typer

from lookback.cli.report import Run
from lookback.params import load_run
from lookback.paths import portable, project_root

Port = Annotated[int, typer.Option(help="The port; if it is taken, the next free one.")]
Host = Annotated[list[str] | None, typer.Option(help="Accept this Host header too, e.g. name:port of a proxy. May be repeated.")]
PORT = 8866


def register(app: typer.Typer) -> None:
    app.command()(inspect)
    app.command()(annotate)


def inspect(run: Run = "demo", port: Port = PORT, host: Host = None) -> None:
    """Serve the clip inspector of a run on this machine, and print the link that opens it."""
    from lookback.widgets.door import digest, new_token
    from lookback.widgets.serving import serve

    load_run(run)
    token = new_token()
    keys = {digest(token): ""}
    notebook = project_root() / "notebooks" / "inspect.ipynb"
    serve(notebook, run, lambda: keys, lambda address: _say("the inspector", address, token), port, host or ())


def annotate(
    run: Run = "demo",
    annotator: Annotated[list[str] | None, typer.Option(help="Invite a person; the link stays valid. May be repeated.")] = None,
    port: Port = PORT,
    host: Host = None,
) -> None:
    """Serve the annotation desk of a run on this machine, and print one link per annotator."""
    from lookback.desk.roster import Roster, annotator_name
    from lookback.widgets.door import digest, new_token
    from lookback.widgets.serving import serve

    roster = Roster(load_run(run).paths.root / "annotators.json")
    invited = roster.invite(annotator) if annotator else {}
    own = {} if invited else {annotator_name(getpass.getuser()): new_token()}  # valid until the server stops
    started = {digest(token): name for name, token in own.items()}

    def announce(address: str) -> None:
        for name, token in {**invited, **own}.items():
            _say(name, address, token)
        earlier = sorted(set(roster.keys().values()) - set(invited))
        if earlier:
            print(f"the links of {', '.join(earlier)} stay valid ({portable(roster.path)})", flush=True)

    serve(project_root() / "notebooks" / "annotate.ipynb", run, lambda: {**roster.keys(), **started}, announce, port, host or ())


def _say(who: str, address: str, token: str) -> None:
    print(f"{who}: {address}?token={quote(token)}", flush=True)
