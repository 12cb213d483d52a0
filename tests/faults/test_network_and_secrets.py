"""No socket unless a hub or a judge is asked for, nothing reports usage, pages bind to loopback, keys are never written."""

import os
import re
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import nbformat
import numpy as np
import pytest
from chat_server import ChatServer, Sent, completion
from layout_data import wrbench
from lookback import stages
from lookback.cli.app import app
from lookback.errors import LookbackError, NotScorable, ParameterError, Reason
from lookback.hiding import hide
from lookback.media import encode
from lookback.params.load import validate
from lookback.paths import project_root
from lookback.pipeline.execute import hide_secrets
from lookback.provenance import write_provenance
from lookback.widgets import web
from typer.testing import CliRunner

ALONE = """
import sys
opened = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        opened.append((event, str(arguments[1:])[:80]))
sys.addaudithook(watch)
from lookback.cli.app import app
for call in (["list-metrics"], ["doctor"], ["validate", sys.argv[1], "--workers", "1"]):
    try:
        app(call, standalone_mode=False)
    except SystemExit:
        pass
import os
sys.stderr.write(f"SOCKETS {opened}\\nTELEMETRY {os.environ['HF_HUB_DISABLE_TELEMETRY']}{os.environ['RAY_USAGE_STATS_ENABLED']}\\n")
"""


def little_dataset(folder: Path) -> Path:
    encode(folder / "model" / "one.mp4", np.random.default_rng(0).integers(0, 255, (6, 48, 64, 3), dtype=np.uint8), 8)
    return folder


@pytest.mark.long
def test_listing_checking_and_validating_open_no_socket(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    data = little_dataset(tmp_path / "data")
    done = subprocess.run([sys.executable, "-c", ALONE, str(data)], capture_output=True, text=True, check=False, env=environment)
    assert "SOCKETS []" in done.stderr, done.stderr[-2000:]
    assert "TELEMETRY 10" in done.stderr
    assert "no violation" in done.stdout


def test_the_watch_would_notice_a_connection():
    connect = "try:\n    socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError:\n    pass\n"
    probe = f"import socket\n{connect}sys.stderr.write(str(opened))"
    watched = ALONE.split("from lookback")[0] + probe
    done = subprocess.run([sys.executable, "-c", watched], capture_output=True, text=True, check=True)
    assert "socket.connect" in done.stderr


def test_every_page_that_make_opens_binds_to_loopback():
    page = re.compile(r"\$\(BIN\)(jupyter (lab|notebook|server)) ")
    makefiles = (project_root() / name for name in ("Makefile", "lib/lookback/project/Makefile"))
    lines = [line for file in makefiles for line in file.read_text().splitlines() if page.search(line)]
    assert len(lines) >= 1
    assert all(re.search(r"ip=127\.0\.0\.1\b", line) for line in lines)
    assert web.IP == "127.0.0.1", "the inspector and the desk"


def test_a_key_in_the_environment_is_in_no_file_of_a_run(tmp_path: Path, monkeypatch):
    secret = "sk-this-must-never-be-written"
    for name in ("LOOKBACK_JUDGE_KEY", "OPENAI_API_KEY", "MBENCH_VLM_API_KEY", "HF_TOKEN"):
        monkeypatch.setenv(name, secret)
    project = tmp_path / "project"
    (project / "params").mkdir(parents=True)
    (project / "notebooks").mkdir()
    monkeypatch.setenv("LOOKBACK_ROOT", str(project))
    values = {
        "run": "r",
        "workers": 1,
        "device": "cpu",
        "curation": {"sources": [{"root": str(little_dataset(tmp_path / "data"))}]},
    }
    params = validate({**values, "extraction": {"roles": ["quality"]}}, "test")
    stages.curation(params)
    stages.extraction(params)
    write_provenance(params, {})
    written = [path for path in project.rglob("*") if path.is_file()]
    assert params.paths.provenance in written
    assert [path.name for path in written if secret.encode() in path.read_bytes()] == []


# nothing here is a real secret
KEY, PASSWORD, QUERY, HUB = "sk-SECRETKEYofnobody77cdef", "hunter2pass", "querysecret77", "hf_NobodysToken99"
PIECES = ("SECRETK", PASSWORD, QUERY, "NobodysTok", b64encode(f"bob:{PASSWORD}".encode()).decode(), "77cdef")
ECHOES = {
    "whole": lambda sent: f"{KEY} {HUB} {sent}",
    "shortened": lambda sent: (
        "sk-SECRE, sk-SECRETK; sk-SECRETKEY. hf_Nobodys... sk-S****77cdef sk-SECRE****77cdef sk-SECRETKEYof...77cdef"
    ),
    "in an address": lambda sent: f"http://bob:{PASSWORD}@host/v1?api_key={QUERY}&x=1, a form of {PASSWORD} or {QUERY}",
    "as a browser sends it": lambda sent: f"Basic {b64encode(f'bob:{PASSWORD}'.encode()).decode()}",
}


def leaked(folder: Path, *texts: str) -> list[tuple[str, str]]:
    """Every place where a piece of a secret stands in the files, their names and the texts."""
    found = {"output": "".join(texts).encode()}
    found |= {str(path.relative_to(folder)): path.read_bytes() + str(path).encode() for path in folder.rglob("*") if path.is_file()}
    assert len(found) > 1
    return [(name, piece) for name, content in found.items() for piece in PIECES if piece.encode() in content]


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("LOOKBACK_ROOT", str(tmp_path))
    for name in ("LOOKBACK_JUDGE_KEY", "MBENCH_VLM_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("HF_TOKEN", HUB)
    monkeypatch.setenv("LOOKBACK_JUDGE_URL", f"http://bob:{PASSWORD}@127.0.0.1:9/v1?api_key={QUERY}")
    monkeypatch.delenv("MBENCH_VLM_BASE_URL", raising=False)


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("echo", ECHOES)
def test_what_a_server_sends_back_of_a_secret_is_in_no_file_and_no_line(echo, status, secrets, tmp_path, monkeypatch):
    body = lambda n: completion(f"Yes. {ECHOES[echo](server.headers[-1])}", model=ECHOES[echo]("")).body  # noqa: E731
    with ChatServer(lambda _, n: Sent(body(n), status)) as server:
        address = server.url.replace("://", f"://bob:{PASSWORD}@")
        monkeypatch.setenv("MBENCH_VLM_BASE_URL", f"{address}?api_key={QUERY}")
        monkeypatch.setenv("LOOKBACK_JUDGE_URL", address)
        call = ["eval", str(wrbench(tmp_path / "data")), "--output", str(tmp_path / "out"), "--workers", "1", "--limit", "1"]
        call += ["--metrics", "wrbench.support", "--vlm-judge", "openai", "--vlm-model", "tiny", "--vlm-max-retries", "0"]
        done = CliRunner().invoke(app, call)
    assert len(server.requests) > 0 and (tmp_path / "out" / "judge_cache" / "replies.sqlite").stat().st_size > 1000
    assert leaked(tmp_path / "out", done.output, repr(done.exception)) == []


@pytest.mark.parametrize(
    "override",
    [
        f"judging.base_url=http://bob:{PASSWORD}@127.0.0.1:9/v1",
        f"judging.base_url=http://127.0.0.1:9/v1?api_key={QUERY}",
        f"judging.extra_body={{api_key: {QUERY}}}",
        f"judging.extra_body={{deep: [{{authorization: {QUERY}}}]}}",
        f"report.title={KEY}",
        f"report.title={HUB}",
    ],
)
@pytest.mark.parametrize("road", ["set", "file", "eval"])
def test_a_secret_among_the_parameters_is_refused_before_anything_is_written(override, road, secrets, tmp_path):
    data, output = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "models.csv").touch()
    file = tmp_path / "mine.yaml"
    section, _, rest = override.partition(".")
    name, _, value = rest.partition("=")
    own = f"{section}:\n  {name}: {value}\n" if road == "file" else ""
    file.write_text(f"output: {output}\ncuration:\n  sources: [{{root: {data}}}]\n{own}")
    calls = {
        "set": ["report", "--run", str(file), "--stage", "curation", "--set", override],
        "file": ["report", "--run", str(file), "--stage", "curation"],
        "eval": ["eval", str(data), "--output", str(output), "--set", override],
    }
    done = CliRunner().invoke(app, calls[road])
    assert isinstance(done.exception, ParameterError) and "environment alone" in str(done.exception)
    file.unlink()
    assert leaked(tmp_path, done.output, str(done.exception)) == [] and not output.exists()


def test_an_error_shows_no_secret_wherever_it_is_stored(secrets):
    for error in (LookbackError, ParameterError):
        assert not any(piece in str(error(f"{ECHOES['in an address']('')} {KEY}")) for piece in PIECES)
    reason = NotScorable(Reason.JUDGE_FAILED, ECHOES["shortened"](""))
    assert not any(piece in reason.detail + str(reason) for piece in PIECES)


def test_ordinary_text_stays_as_it_is_also_where_a_secret_begins_like_it(monkeypatch):
    monkeypatch.setenv("LOOKBACK_JUDGE_KEY", "lookback-2026-key")
    monkeypatch.setenv("OPENAI_API_KEY", "123456789012")
    text = (
        'lookback at https://host/v1?max_tokens=3&design=a, 1234567 "tokens", me@host, basic knowledge of a monkey=1, sk-learn...'
    )
    assert hide(text) == text.replace("sk-learn...", "[hidden]")
    assert hide("lookback-2026-key and lookback-202 and 123456789012") == "[key] and [key] and [key]"


def test_an_executed_notebook_holds_no_secret_and_its_pictures_stay(secrets, tmp_path):
    picture = {"image/png": f"iVBOR{PASSWORD}", "text/plain": f"at {PASSWORD}", "application/x+json": {"a": [QUERY, 3]}}
    outputs = [
        nbformat.v4.new_output("display_data", picture),
        nbformat.v4.new_output("stream", text=f"key {KEY}"),
        nbformat.v4.new_output("error", ename="E", evalue=HUB, traceback=[f"at {QUERY}"]),
    ]
    cell = nbformat.v4.new_code_cell(f'overrides = ["judging.base_url=http://bob:{PASSWORD}@h?api_key={QUERY}"]', outputs=outputs)
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    hide_secrets(path)
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert book.cells[0].outputs[0].data.pop("image/png") == picture["image/png"]
    assert not any(piece in nbformat.writes(book) for piece in PIECES)
