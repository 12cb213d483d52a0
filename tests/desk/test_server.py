"""The study over HTTP: who gets what, videos by ranges, and votes that the agreement analysis reads."""

import json
import multiprocessing
import os
import re
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

import pandas as pd
import pytest
from lookback.agreement import analyse, load_plan, read_ratings
from lookback.cli.app import app
from lookback.desk.export import export_file
from lookback.desk.notebook import open_desk, show_progress
from lookback.desk.server import StudyServer, serve_study
from lookback.desk.start import held
from lookback.errors import CannotWrite, UsageError
from lookback.paths import project_root
from lookback.pipeline import lock
from lookback.widgets.web import FAILED
from time_limits import HUNG_S
from typer.testing import CliRunner
from visitor import Visitor


def can_listen(address: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


@contextmanager
def served(study, listen=("127.0.0.1",), port=18000, **options) -> Iterator[StudyServer]:
    ready, started, ended = threading.Event(), [], threading.Event()

    def announce(server: StudyServer) -> None:
        started.append(server)
        ready.set()

    def run() -> None:
        import asyncio

        async def until_the_end() -> None:
            server = StudyServer(study, list(listen), port, **options)
            server.start()
            announce(server)
            while not ended.is_set():
                await asyncio.sleep(0.02)
            server.stop()

        asyncio.run(until_the_end())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(HUNG_S)
    try:
        yield started[0]
    finally:
        ended.set()
        thread.join(HUNG_S)


@pytest.fixture
def trigger(small_run):
    """A served study of triggers, with its two tokens."""
    study = small_run().study("mbench_trigger", watch=False, raters=2, practice=False, gold_share=0.25)
    tokens = study.invite(["ann", "ben"])
    with served(study) as server:
        yield study, server, tokens


def test_without_a_link_there_is_nothing_and_no_video(trigger):
    _study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    ann.json("/api/read", {})
    source = ann.json("/api/now")["item"]["videos"][0]["source"]
    assert ann.ask(source)[0] == 200
    for stranger in (Visitor(server), Visitor(server).enter("a guess"), Visitor(server).enter(server.token, "/organiser/")):
        for path in ("/", "/api/now", source, "/static/desk.js", f"{source}?token=guess", "/media/../votes.sqlite"):
            status, _, content = stranger.ask(path)
            assert status == 403 and b"ftyp" not in content
        assert stranger.ask("/api/vote", {"item": "x"})[0] == 403
    for path in ("/organiser/", "/organiser/api/progress", "/organiser/export/ratings.csv", "/organiser/static/organiser.js"):
        assert ann.ask(path)[0] == 403  # no annotator sees the others' answers
    assert ann.ask("/organiser/api/invite", {"name": "me"})[0] == 403


def test_a_person_who_left_is_locked_out(trigger):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    assert ann.ask("/api/now")[0] == 200
    study.leave("ann")
    assert ann.ask("/api/now")[0] == 403 and Visitor(server).enter(tokens["ann"]).cookie == ""


def test_the_secret_of_the_cookies_stays_with_the_study_and_only_its_owner_reads_it(trigger):
    study = trigger[0]
    secret = study.folder / "cookies.key"
    kept = secret.read_bytes()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600 and len(kept) == 32
    with served(study):
        assert secret.read_bytes() == kept


def test_a_comment_that_is_too_long_is_refused_with_a_sentence_whoever_sends_it(trigger):
    _study, server, tokens = trigger
    ann, stranger = Visitor(server).enter(tokens["ann"]), Visitor(server)
    for visitor, path in ((ann, "/api/vote"), (ann, "/"), (stranger, "/api/vote"), (stranger, "/organiser/api/invite")):
        status, _, content = visitor.ask(path, {"item": "x", "comment": "a" * 3_000_000})
        assert status == 413 and "at most 64 KiB" in json.loads(content)["error"]
    in_parts = iter([b"a" * 60_000] * 9)  # of unknown length
    assert ann.ask("/api/vote", {}, content=in_parts)[0] == 413
    assert ann.ask("/api/vote", {"item": "x", "answers": {}, "comment": "a" * 60_000})[0] == 409
    assert ann.ask("/api/now")[0] == 200


def test_a_video_is_served_whole_and_in_ranges(trigger):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    ann.json("/api/read", {})
    source = ann.json("/api/now")["item"]["videos"][0]["source"]
    shown = study.now("ann").item
    film = study.file(shown.videos[0]).path.read_bytes()
    status, headers, whole = ann.ask(source)
    assert (status, whole, headers["Accept-Ranges"], headers["Content-Type"]) == (200, film, "bytes", "video/mp4")
    for asked, part in (("bytes=10-29", film[10:30]), ("bytes=100-", film[100:]), ("bytes=-50", film[-50:])):
        status, headers, content = ann.ask(source, Range=asked)
        assert (status, content, headers["Content-Length"]) == (206, part, str(len(part)))
        assert headers["Content-Range"].endswith(f"/{len(film)}")
    assert ann.ask(source, Range=f"bytes={len(film) + 5}-")[0] == 416
    status, headers, content = ann.ask(source, method="HEAD")
    assert (status, content, headers["Content-Length"]) == (200, b"", str(len(film)))


def test_nobody_gets_a_video_of_an_item_that_is_not_in_front_of_them(trigger):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    ann.json("/api/read", {})
    now = ann.json("/api/now")["item"]["id"]
    other = next(item.id for item in study.items if item.id != now)
    for path in (
        f"/media/{other}/0",
        f"/media/{now}/1",
        f"/media/{now}/../../votes.sqlite",
        f"/media/{now}/..%2f..%2fvotes.sqlite",
        "/media/%2e%2e/%2e%2e/annotators.json",
        "/static/../votes.sqlite",
        "/static/study.json",
        "//etc/passwd",
    ):
        status, _, content = ann.ask(path)
        assert status == 404 and b"SQLite" not in content and b"root:" not in content


def test_no_model_and_no_file_name_is_sent(trigger):
    _study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    sent = b""
    view = ann.json("/api/read", {})
    while view["stage"] != "finished":
        item = view["item"]
        sent += json.dumps(view).encode() + repr(ann.ask(item["videos"][0]["source"], Range="bytes=0-1")[1]).encode()
        view = ann.json("/api/vote", {"item": item["id"], "answers": {item["questions"][0]["id"]: "no"}, "watched": True})
    assert b"A ball lies on a rug." in sent
    assert not any(name in sent for name in (b"aldermoor", b"birkdale", b"calderbrook", b".mp4", b"gold"))


def test_a_video_that_went_away_is_told_without_its_name_and_its_item_can_be_skipped(trigger):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    for video in {video for item in study.items for video in item.videos}:
        (project_root() / video.path).unlink()
    first = ann.json("/api/read", {})["item"]
    assert ann.ask(first["videos"][0]["source"])[0] == 404  # the page says of such a video that it cannot be shown
    second = ann.json("/api/skip", {"item": first["id"]})
    assert second["item"]["id"] != first["id"] and ann.json("/api/now") == second
    assert not any(name in json.dumps(second) for name in ("aldermoor", "birkdale", "calderbrook", ".mp4"))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/vote", {"item": "x", "answers": {}}, 409),
        ("/api/vote", {"item": "x"}, 400),
        ("/api/vote", [1], 400),
        ("/api/nothing", {}, 404),
        ("/api/now", {}, 405),
    ],
)
def test_a_wrong_request_is_answered_in_a_sentence(trigger, path, body, status):
    _, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    ann.json("/api/read", {})
    found, _, content = ann.ask(path, body)
    assert found == status and json.loads(content)["error"]


@pytest.mark.parametrize(
    "body", ['{"item": "ITEM", "comment": "\\ud83d"}', '{"name": "\\ud83d"}', "[" * 60000, '{"item": ' + "[" * 60000]
)
@pytest.mark.parametrize("path", ["/api/skip", "/api/vote", "/organiser/api/invite"])
def test_text_that_cannot_be_stored_is_refused_in_a_sentence(trigger, path, body):
    study, server, tokens = trigger
    person = Visitor(server).enter(server.token, "/organiser/") if "organiser" in path else Visitor(server).enter(tokens["ann"])
    sent = body.replace("ITEM", study.now("ann").item.id)
    status, _, content = person.ask(path, method="POST", content=sent, Content_Type="application/json")
    assert status == 400 and len(json.loads(content)["error"].split()) > 5
    assert study.book.notes().empty and study.roster.names == ["ann", "ben"]


@pytest.mark.parametrize("door_opens", [False, True])
def test_a_disk_that_fails_is_a_sentence_for_the_page_and_one_for_the_window(trigger, monkeypatch, capfd, door_opens):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    item = ann.json("/api/read", {})["item"]["id"]

    def failing(*_):
        raise CannotWrite(f"Cannot write {study.book.path}: No space left on device")

    if door_opens:
        monkeypatch.setattr(study.book, "gone", set)
    monkeypatch.setattr(study.book, "_open", failing)
    for path, body in (("/api/now", None), ("/api/vote", {"item": item, "answers": {}}), (f"/media/{item}/0", None)):
        status, _, content = ann.ask(path, body)
        assert status == 500 and (path.startswith("/media") or json.loads(content)["error"] == FAILED)
    printed = capfd.readouterr().err.splitlines()
    assert printed == [f"lookback: Cannot write {study.book.path}: No space left on device"] * 3


def test_another_sites_form_cannot_vote(trigger):
    _study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
        assert ann.ask("/api/undo", method="POST", Content_Type=kind)[0] in (400, 415)
    assert ann.ask("/api/undo", {}, Host="evil.example")[0] == 403
    _, headers, page = ann.ask("/")
    assert "default-src 'none'" in headers["Content-Security-Policy"] and b"<script type" in page


def test_a_vote_before_the_end_of_the_video_is_refused(small_run):
    study = small_run().study("mbench_trigger", practice=False)
    tokens = study.invite(["ann"])
    with served(study) as server:
        ann = Visitor(server).enter(tokens["ann"])
        item = ann.json("/api/read", {})["item"]
        vote = {"item": item["id"], "answers": {item["questions"][0]["id"]: "yes"}}
        for watched in (True, False):
            status, _, content = ann.ask("/api/vote", {**vote, "watched": watched})
            assert status == 409 and b"to its end" in content
    assert study.book.ratings().empty


def test_practice_answers_get_an_explanation_whichever_side_is_right(small_run):
    study = small_run().study("mbench_pairwise", watch=False)
    tokens = study.invite(["ann"])
    with served(study) as server:
        ann = Visitor(server).enter(tokens["ann"])
        view = ann.json("/api/read", {})
        assert view["stage"] == "practice"
        shown = study.now("ann")
        right = "right" if shown.swapped else "left"
        texture, geometry = (each["id"] for each in view["item"]["questions"])
        told = ann.json("/api/vote", {"item": view["item"]["id"], "answers": {texture: right, geometry: right}})
        assert [row["ok"] for row in told["feedback"]] == [True, False]
        assert told["feedback"][1]["right"] == "No difference" and "blue" in told["why"]
        assert told["next"]["item"]["id"] != view["item"]["id"]
        assert ann.ask(view["item"]["videos"][0]["source"])[0] == 200  # to watch again beside the explanation


def test_the_organiser_sees_progress_invites_and_takes_the_files(trigger):
    _study, server, tokens = trigger
    Visitor(server).enter(tokens["ann"]).work()
    organiser = Visitor(server).enter(server.token, "/organiser/")
    found = organiser.json("/organiser/api/progress")
    assert found["coverage"]["with_raters"] == {"0": 0, "1": 12, "2": 0} and found["coverage"]["wanted"] == 24
    rows = {row["annotator"]: row for row in found["people"]}
    assert rows["ann"]["state"] == "finished" and (rows["ann"]["gold_right"], rows["ann"]["gold_asked"]) == (0, 3)
    assert rows["ben"]["state"] == "invited" and rows["ben"]["last_seen"] is None
    invited = organiser.json("/organiser/api/invite", {"name": "Cläre"})
    assert Visitor(server).enter(invited["token"]).json("/api/now")["annotator"] == "Cläre"
    assert organiser.ask("/organiser/api/invite", {"name": " "})[0] == 400
    organiser.json("/organiser/api/leave", {"name": "ben"})
    assert organiser.ask("/organiser/api/leave", {"name": "nobody"})[0] == 400
    gold = pd.read_csv(StringIO(organiser.ask("/organiser/export/gold.csv")[2].decode()))
    assert set(gold["role"]) == {"gold"} and not gold["right"].any()
    for name in ("ratings.csv", "comments.csv", "people.csv", "labelstudio.json"):
        assert organiser.ask(f"/organiser/export/{name}")[0] == 200
    assert organiser.ask("/organiser/export/votes.csv")[0] == 404


@pytest.mark.parametrize("name", ["ann", "Ann", "ann\u200b"])
def test_who_takes_part_keeps_the_open_page_until_the_organiser_confirms(trigger, name):
    study, server, tokens = trigger
    ann = Visitor(server).enter(tokens["ann"])
    organiser = Visitor(server).enter(server.token, "/organiser/")
    status, _, content = organiser.ask("/organiser/api/invite", {"name": name})
    assert status == 409 and "ann takes part already" in json.loads(content)["error"]
    assert ann.ask("/api/now")[0] == 200
    invited = organiser.json("/organiser/api/invite", {"name": name, "again": True})
    assert invited["invited"] == "ann" and study.roster.names == ["ann", "ben"] and ann.ask("/api/now")[0] == 403
    study.leave("ann")
    assert organiser.json("/organiser/api/invite", {"name": name})["invited"] == "ann"  # nothing is open to be lost


@pytest.mark.skipif(not can_listen("127.0.0.2"), reason="this machine has no second loopback address")
def test_two_people_on_two_addresses_share_items_and_their_votes_are_analysed(small_run, tmp_path, monkeypatch):
    study = small_run().study("wrbench_axes", watch=False, raters=2, practice=False, limit=24)
    tokens = study.invite(["ann", "ben"])
    with served(study, ("127.0.0.1", "127.0.0.2")) as server:
        ann, ben = Visitor(server).enter(tokens["ann"]), Visitor(server, "127.0.0.2").enter(tokens["ben"])
        assert ann.cookie and ben.cookie
        ann.work("left")
        ben.work("right")
    own = {name: {item for who, item in study.book.answered_pairs() if who == name} for name in ("ann", "ben")}
    assert own["ann"] == own["ben"] == {item.id for item in study.items}  # two raters each, as planned
    export_file(study.book, tmp_path / "ratings.csv")
    export_file(study.book, tmp_path / "ratings.json")
    votes, label_studio = (read_ratings(tmp_path / f"ratings.{kind}") for kind in ("csv", "json"))
    keys = ["task", "dimension", "clip_a", "model_a", "model_b", "annotator"]
    pd.testing.assert_frame_equal(
        votes.sort_values(keys, ignore_index=True), label_studio.sort_values(keys, ignore_index=True), rtol=1e-9
    )
    monkeypatch.delenv("LOOKBACK_ROOT")
    plan = load_plan(project_root() / "params" / "agreement.yaml").model_copy(update={"resamples": 100})
    tables = analyse(votes, None, plan)
    assert set(tables["agreement"]["dimension"]) >= {"camera", "visual_integrity", "reobserved_state"}
    assert (tables["agreement"].set_index("dimension").loc["camera", "n_items"]) == 4


def test_every_form_writes_votes_that_the_plan_reads(small_run, monkeypatch):
    run, votes = small_run(scenes=2), []
    for form in ("mbench_trigger", "mbench_pairwise", "memobench_survey", "memobench_review"):
        study = run.study(form, watch=False, raters=1, practice=False, limit=8)
        tokens = study.invite(["ann", "ben", "cat", "dan"])
        with served(study) as server:
            for name, token in tokens.items():
                Visitor(server).enter(token).work(yes="no" if name == "ben" else "yes")
        votes.append(study.book.ratings())
        assert len(votes[-1]) == sum(len(item.questions) for item in study.items)
    monkeypatch.delenv("LOOKBACK_ROOT")
    plan = load_plan(project_root() / "params" / "agreement.yaml").model_copy(update={"resamples": 100})
    tables = analyse(pd.concat(votes, ignore_index=True), None, plan)
    assert set(tables["agreement"]["benchmark"]) == {"mbench", "memobench"}
    assert set(tables["agreement"]["dimension"]) >= {"trigger_human", "human_identity", "physics_adherence", "answerable"}


def test_a_taken_port_gives_the_next_one_and_an_impossible_address_a_sentence(small_run):
    study = small_run().study(watch=False)
    with served(study) as first, served(study) as second:
        assert second.port > first.port
    with pytest.raises(UsageError, match="--listen"):
        serve_study(study, lambda server: None, ["203.0.113.7"], 18000)


def test_port_0_is_any_free_port_and_links_name_it(small_run):
    with served(small_run().study(), ("127.0.0.1",), port=0) as server:
        assert server.port and server.address == f"http://127.0.0.1:{server.port}/"
        assert Visitor(server).ask("/")[0] == 403


def test_links_name_the_public_address_of_a_proxy(small_run):
    study = small_run().study(watch=False)
    tokens = study.invite(["ann"])
    with served(study, hosts=["desk.example.org"], public="https://desk.example.org/") as server:
        assert server.organiser == "https://desk.example.org/organiser/"
        ann = Visitor(server)
        status, headers, _ = ann.ask(f"/?token={tokens['ann']}", Host="desk.example.org", X_Forwarded_Proto="https")
        assert status == 200 and "Secure" in headers["Set-Cookie"]
        assert ann.ask(f"/?token={tokens['ann']}", Host="other.example.org")[0] == 403
        organiser = Visitor(server).enter(server.token, "/organiser/")
        assert organiser.json("/organiser/api/invite", {"name": "ben"})["address"] == "https://desk.example.org/"


def test_the_notebook_serves_the_same_study_for_one_person(small_run, monkeypatch):
    from lookback.desk import notebook

    small_run()
    shown = []
    monkeypatch.setattr(notebook, "display", lambda part: shown.append(part.data))
    study = open_desk("small", "mbench_trigger", name="ann")
    assert study is not None and "Open the desk" in shown[0] and "127.0.0.1" in shown[0]
    table = show_progress(study)
    assert list(table["annotator"]) == ["ann"] and "planned answers" in shown[1]
    assert open_desk("small", "mbench_triger") is None and "did you mean" in shown[-1]
    assert open_desk("small", "mbench_trigger", name="ann").folder == study.folder  # the cell was run again
    address = re.compile(r"http://127.0.0.1:\d+/\?")
    assert address.findall(shown[-1]) == address.findall(shown[0])


def hold_and_wait(study, holds):
    with held(study):
        holds.set()
        signal.pause()


def test_a_study_is_served_once_and_a_killed_server_does_not_hold_it(small_run, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE_S", 0)
    study = small_run().study("mbench_trigger")
    study.invite(["ann"])
    roster = study.roster.path.read_bytes()
    context = multiprocessing.get_context("fork")
    holds = context.Event()
    first = context.Process(target=hold_and_wait, args=(study, holds))
    first.start()
    assert holds.wait(HUNG_S)
    call = ["annotate", "--run", "small", "--form", "mbench_trigger", "--annotator", "ann"]
    with pytest.raises(UsageError, match=f"served already, by process {first.pid}; use the links"):
        CliRunner().invoke(app, call, catch_exceptions=False)
    assert study.roster.path.read_bytes() == roster  # the link of the person at work is still the same
    os.kill(first.pid, signal.SIGKILL)
    first.join(HUNG_S)
    with held(study):
        pass


def test_the_command_line_exports_votes_and_names_a_mistake(small_run, tmp_path):
    run = small_run()
    study = run.study("mbench_trigger")
    study.book.add("ann", study.items[0], {study.items[0].questions[0].id: "yes"})
    call = ["annotate", "--run", "small", "--form", "mbench_trigger"]
    assert CliRunner().invoke(app, [*call, "--export", str(tmp_path / "votes.csv")]).exit_code == 0
    assert list(read_ratings(tmp_path / "votes.csv")["label"]) == ["yes"]
    for options, said in (
        ([*call, "--export", str(tmp_path / "votes.txt")], "change the ending"),
        (["annotate", "--run", "small", "--form", "mbench_pairwise", "--export", str(tmp_path / "v.txt")], "change the ending"),
        (
            ["annotate", "--run", "small", "--form", "mbench_pairwise", "--export", str(tmp_path / "v.csv")],
            "no study mbench_pairwise",
        ),
        (["annotate", "--run", "small", "--form", "mbench_triger"], "did you mean 'mbench_trigger'"),
        ([*call, "--study", "x.yaml"], "not both"),
        (["annotate", "--run", "small", "--study", str(tmp_path / "none.yaml")], "cannot be read"),
    ):
        with pytest.raises(UsageError, match=said):
            CliRunner().invoke(app, options, catch_exceptions=False)
    assert not (tmp_path / "v.csv").exists()
    assert [folder.name for folder in study.folder.parent.iterdir()] == [study.folder.name]
