"""`lookback inspect` and `lookback annotate`: the interactive pages, each behind a link of its own."""

from __future__ import annotations

import getpass
from typing import Annotated
from urllib.parse import quote

import typer

from lookback.params import load_run
from lookback.paths import portable, project_root

Run = Annotated[str, typer.Option(help="Run name: params/NAME.yaml, or a path to a YAML file.")]
Port = Annotated[int, typer.Option(help="The port; the next free one when it is taken.")]
Host = Annotated[list[str] | None, typer.Option(help="Also answer to this Host header, e.g. a proxy's name:port. May be repeated.")]
PORT = 8866


def register(app: typer.Typer) -> None:
    app.command()(inspect)
    app.command()(annotate)


def inspect(run: Run = "demo", port: Port = PORT, host: Host = None) -> None:
    """Serve the clip inspector of a run on this machine; prints the link that opens it."""
    from lookback.widgets.door import digest, new_token
    from lookback.widgets.serving import serve

    load_run(run)
    token = new_token()
    keys = {digest(token): ""}
    notebook = project_root() / "notebooks" / "inspect.ipynb"
    serve(notebook, run, lambda: keys, lambda address: _say("the inspector", address, token), port, host or ())


def annotate(
    run: Run = "demo",
    annotator: Annotated[list[str] | None, typer.Option(help="Invite by name: a link that lasts. May be repeated.")] = None,
    port: Port = PORT,
    host: Host = None,
) -> None:
    """Serve the annotation desk of a run on this machine; prints a link per annotator, whose votes it takes."""
    from lookback.desk.roster import Roster, annotator_name
    from lookback.widgets.door import digest, new_token
    from lookback.widgets.serving import serve

    roster = Roster(load_run(run).paths.root / "annotators.json")
    invited = roster.invite(annotator) if annotator else {}
    own = {} if invited else {annotator_name(getpass.getuser()): new_token()}  # ends with this start
    started = {digest(token): name for name, token in own.items()}

    def announce(address: str) -> None:
        for name, token in {**invited, **own}.items():
            _say(name, address, token)
        earlier = sorted(set(roster.keys().values()) - set(invited))
        if earlier:
            print(f"the links of {', '.join(earlier)} stay as they are ({portable(roster.path)})", flush=True)

    serve(project_root() / "notebooks" / "annotate.ipynb", run, lambda: {**roster.keys(), **started}, announce, port, host or ())


def _say(who: str, address: str, token: str) -> None:
    print(f"{who}: {address}?token={quote(token)}", flush=True)
