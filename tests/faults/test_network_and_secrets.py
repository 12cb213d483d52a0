"""No socket unless a hub or a judge is asked for, nothing reports usage, pages bind to loopback, keys are never written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lookback import stages
from lookback.media import encode
from lookback.params.load import validate
from lookback.paths import project_root
from lookback.provenance import write_provenance
from lookback.widgets import web

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
