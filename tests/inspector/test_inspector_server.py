"""The inspector over HTTP on a plain folder: who gets in, videos by ranges, exact frames, boxes, tags, exports."""

import asyncio
import csv
import json
import threading
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from io import StringIO
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import cv2
import numpy as np
import pandas as pd
import pytest
from lookback.camera.poses import from_yaw_pitch_roll
from lookback.errors import ContractError, UsageError
from lookback.inspector.anchors import Box, save_box
from lookback.inspector.marks import TagBook
from lookback.inspector.paths import path_3d
from lookback.inspector.run import RunView
from lookback.inspector.server import Frame, InspectorServer, Shelf
from lookback.layouts.detection import read
from lookback.media import encode, open_video
from lookback.params.stages import Source
from time_limits import HUNG_S

FRAMES = 12


def film(seed: int) -> np.ndarray:
    base = np.random.default_rng(seed).integers(0, 255, (6, 8, 3), dtype=np.uint8)
    picture = cv2.resize(base, (96, 64), interpolation=cv2.INTER_CUBIC)
    return np.stack([np.roll(picture, 3 * k, axis=1) for k in range(FRAMES)])


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Two models' clips of one scene; the second in a codec that browsers do not play."""
    root = tmp_path_factory.mktemp("project")
    for name in ("aldermoor", "birkdale"):
        (root / "clips" / name).mkdir(parents=True)
    encode(root / "clips" / "aldermoor" / "room.mp4", film(1), 8)
    encode(root / "clips" / "birkdale" / "room.mkv", film(2), 8, codec="ffv1", crf=None, pix_fmt="bgr0")
    return root


class Visitor:
    """A browser without a screen. Without the token it has no cookie."""

    def __init__(self, server: InspectorServer, enter: bool = True):
        self.server, self.headers = server, {}
        if enter:
            answer, _ = self.ask(f"/?token={quote(server.token)}")
            (morsel,) = SimpleCookie(answer.getheader("Set-Cookie")).values()
            self.headers = {"Cookie": f"{morsel.key}={morsel.coded_value}"}

    def ask(self, path: str, body: object = None, headers: dict[str, str] | None = None, **query: object):
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=HUNG_S)
        sent = self.headers | ({"Content-Type": "application/json"} if body is not None else {}) | (headers or {})
        where = path + (f"?{urlencode(query, doseq=True)}" if query else "")
        connection.request("GET" if body is None else "POST", where, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        return answer, answer.read()

    def json(self, path: str, body: object = None, **query: object) -> dict:
        answer, content = self.ask(path, body, **query)
        assert answer.status == 200, content
        return json.loads(content)


@pytest.fixture(scope="module")
def visitor(project):
    """A server of its own thread over the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKBACK_ROOT", str(project))
        started: list = []
        ready = threading.Event()

        async def run() -> None:
            server = InspectorServer(RunView.of_folder(project / "clips"), 18866)
            server.start()
            stop = asyncio.Event()
            started.extend([server, stop, asyncio.get_running_loop()])
            ready.set()
            await stop.wait()
            server.stop()

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        ready.wait()
        yield Visitor(started[0])
        started[2].call_soon_threadsafe(started[1].set)
        thread.join()


ONE, OTHER = "folder/aldermoor/room", "folder/birkdale/room"


@pytest.mark.parametrize(
    "path", ["/", "/api/clips", f"/video?clip={ONE}", f"/frame?clip={ONE}&index=0", f"/thumbnail?clip={ONE}", "/export.csv"]
)
def test_without_the_link_nothing_is_answered(visitor, path):
    stranger = Visitor(visitor.server, enter=False)
    assert stranger.ask(path)[0].status == 403
    assert visitor.ask(path, headers={"Host": "evil.example"})[0].status == 403
    assert visitor.ask(path)[0].status == 200


def test_the_folder_lists_its_clips_without_any_run(visitor):
    found = visitor.json("/api/clips")
    assert [clip["label"] for clip in found["clips"]] == [ONE, OTHER]
    assert found["metrics"] == []
    opened = visitor.json("/api/clip", clip=ONE, compare=[OTHER])
    assert [slot["name"] for slot in opened["slots"]] == ["aldermoor", "birkdale"]
    assert opened["slots"][1]["beside"] == list(range(FRAMES))
    assert [slot["copied"] for slot in opened["slots"]] == [False, True]  # the page says so


def test_a_video_is_served_by_ranges(visitor, project):
    whole = (project / "clips" / "aldermoor" / "room.mp4").read_bytes()
    answer, part = visitor.ask("/video", clip=ONE, headers={"Range": "bytes=100-199"})
    assert answer.status == 206 and part == whole[100:200]
    assert answer.getheader("Content-Range") == f"bytes 100-199/{len(whole)}"
    assert answer.getheader("X-Lookback-Copy") == "no" and answer.getheader("Content-Type") == "video/mp4"


def test_a_codec_that_browsers_do_not_play_is_copied_once(visitor, project, tmp_path):
    answer, content = visitor.ask("/video", clip=OTHER)
    assert answer.status == 200 and answer.getheader("X-Lookback-Copy") == "yes"
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(content)
    with open_video(copy) as made:
        assert (made.info.codec, made.info.n_frames) == ("h264", FRAMES)
    (kept,) = (project / "outputs").rglob("playable/*.mp4")
    before = kept.stat().st_mtime_ns
    visitor.ask("/video", clip=OTHER)
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize(("label", "path"), [(ONE, "aldermoor/room.mp4"), (OTHER, "birkdale/room.mkv")])
def test_an_exact_frame_has_the_decoders_pixels(visitor, project, label, path):
    with open_video(project / "clips" / path) as video:
        expected = video.read([7])[0]
    answer, content = visitor.ask("/frame", clip=label, index=7, exact=1)
    assert answer.getheader("Content-Type") == "image/png"
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(content, np.uint8), 1)[..., ::-1], expected)


def test_what_a_page_may_not_ask(visitor):
    unknown, other_run, file = {"clip": "../../etc/passwd"}, {"clip": ONE, "run": "../other"}, {"clip": ONE, "run": "x.yaml"}
    for query in (unknown, other_run, file, {"clip": ONE, "truth": 1}):
        for path in ("/video", "/frame", "/thumbnail", "/api/clip"):
            answer, content = visitor.ask(path, **query)
            if path != "/api/clip" or "truth" not in query:
                assert answer.status in (400, 404), (path, query)
                assert b"root:" not in content
    assert visitor.ask("/frame", clip=ONE, index=FRAMES)[0].status == 404
    form = {"Content-Type": "text/plain"}  # what a form of another site can send
    assert visitor.ask("/api/note", {"label": ONE, "text": "x"}, headers=form)[0].status == 415
    assert visitor.ask("/api/box", {"label": ONE, "box": [0.5, 0.5, 0, 0.2]})[0].status == 400
    assert visitor.ask("/api/box", {"label": ONE, "box": "x"})[0].status == 400


@pytest.mark.parametrize("frame", ["9" * 20, "9" * 5000, "-1", "1e9", "x", ""])
def test_an_impossible_frame_of_a_click_is_ignored(visitor, frame):
    plain = visitor.ask("/frame", clip=ONE, index=1, overlays="epipolar")
    answer, content = visitor.ask("/frame", clip=ONE, index=1, overlays="epipolar", point=f"{frame},0.5,0.5")
    assert answer.status == plain[0].status == 200 and content == plain[1]
    assert Frame._clicked(SimpleNamespace(get_query_argument=lambda *_: f"{frame},0.5,0.5")) is None
    assert visitor.ask("/frame", clip=ONE, index="9" * 20)[0].status == 200


def test_a_number_too_large_for_a_box_is_refused(visitor):
    assert visitor.ask("/api/box", {"label": ONE, "box": [10**400, 0.5, 0.1, 0.1]})[0].status == 400


def test_more_than_can_be_kept_is_refused_with_a_sentence(visitor):
    for path in ("/api/note", "/api/tag"):
        answer, content = visitor.ask(path, {"label": ONE, "text": "a" * 5_000_000})
        assert answer.status == 413 and "at most 1024 KiB" in json.loads(content)["error"]
    assert visitor.ask("/api/clips")[0].status == 200


def test_behind_a_proxy_with_https_the_cookie_is_for_https_only(visitor):
    stranger = Visitor(visitor.server, enter=False)
    where = f"/?token={quote(visitor.server.token)}"
    assert "Secure" not in stranger.ask(where)[0].getheader("Set-Cookie")
    assert "Secure" in stranger.ask(where, headers={"X-Forwarded-Proto": "https"})[0].getheader("Set-Cookie")


def test_a_drawn_box_becomes_a_row_and_no_other_row_is_lost(visitor, project):
    path = project / "clips" / "anchors.csv"
    path.write_text("clip_id,centre_x,centre_y,width,height,who\nlake,10,20,30,40,ann\nroom,0.1,0.1,0.1,0.1,bob\n")
    said = visitor.json("/api/box", {"label": ONE, "box": [0.5, 0.4, 0.2, 0.3], "name": "red ball", "every_model": False})
    assert said["file"].endswith("clips/anchors.csv")
    rows = list(csv.DictReader(path.open()))
    assert [row["who"] for row in rows] == ["ann", "bob", ""]
    assert rows[0]["centre_x"] == "10" and rows[2]["name"] == "red ball"
    assert (rows[2]["clip_id"], rows[2]["model_id"], rows[2]["centre_x"]) == ("room", "aldermoor", "0.5")
    visitor.json("/api/box", {"label": ONE, "box": [0.6, 0.4, 0.2, 0.3], "every_model": False})
    assert [row["centre_x"] for row in csv.DictReader(path.open())] == ["10", "0.1", "0.6"]
    anchors = {clip.model_id: clip.object_anchor for clip in read(Source(root=str(project / "clips"))).clips}
    assert anchors["aldermoor"].centre_x == 0.6 and anchors["birkdale"].centre_x == 0.1
    assert visitor.json("/api/clip", clip=ONE)["boxes"][0]["centre_x"] == "0.6"
    path.unlink()


def test_boxes_are_cut_to_the_picture_and_a_broken_file_is_left_alone(project, tmp_path):
    assert Box(1.0, 0.5, 0.4, 0.4).checked().width == pytest.approx(0.2)
    for bad in (Box(2, 0.5, 0.4, 0.4), Box(0.5, 0.5, float("nan"), 0.4), Box(0.5, 0.5, 0.001, 0.4)):
        with pytest.raises(UsageError, match="too small"):
            bad.checked()
    clip = next(iter(RunView.of_folder(project / "clips").clips.values()))
    broken = tmp_path / "anchors.csv"
    broken.write_text("name;x\na;1\n")
    with pytest.raises(ContractError, match="no column clip_id"):
        save_box(tmp_path, clip, Box(0.5, 0.5, 0.2, 0.2), every_model=True)
    assert broken.read_text() == "name;x\na;1\n"


def test_tags_and_notes_survive_and_are_exported(visitor, project):
    visitor.json("/api/tag", {"labels": [ONE, OTHER], "tag": "check  again", "on": True})
    visitor.json("/api/tag", {"labels": [OTHER], "tag": "selected", "on": True})
    visitor.json("/api/note", {"label": OTHER, "text": "=danger", "instead_of": [""]})
    answer, content = visitor.ask("/api/note", {"label": OTHER, "text": "from another tab", "instead_of": [""]})
    assert answer.status == 409 and "“=danger”" in json.loads(content)["error"]
    assert visitor.ask("/api/note", {"label": OTHER, "text": "\ud83d"})[0].status == 400
    assert [clip["tags"] for clip in visitor.json("/api/clips")["clips"]] == [["check again"], ["check again", "selected"]]
    answer, content = visitor.ask("/export.csv", only="selected")
    assert "attachment" in answer.getheader("Content-Disposition")
    table = pd.read_csv(StringIO(content.decode()))
    assert table["model_id"].tolist() == ["birkdale"] and table["tags"].tolist() == ["check again"]
    assert not table["note"].iloc[0].startswith("=")  # a spreadsheet would run it
    (kept,) = (project / "outputs").rglob("selected.csv")
    assert kept.read_bytes() == content
    assert len(pd.read_csv(StringIO(visitor.ask("/export.csv", only="tagged")[1].decode()))) == 2
    assert TagBook(kept.with_name("tags.json")).tags()[ONE] == ["check again"]
    visitor.json("/api/tag", {"labels": [ONE, OTHER], "tag": "check again", "on": False})
    assert visitor.ask("/api/tag", {"labels": ["no such clip"], "tag": "x", "on": True})[0].status == 400
    assert visitor.ask("/api/tag", {"labels": [ONE], "tag": " ", "on": True})[0].status == 400


def test_thumbnails_are_made_once(visitor, project):
    answer, content = visitor.ask("/thumbnail", clip=ONE, index=3)
    assert answer.status == 200 and cv2.imdecode(np.frombuffer(content, np.uint8), 1).shape[1] == 320
    kept = {path: path.stat().st_mtime_ns for path in (project / "outputs").rglob("thumbnails/*.jpg")}
    assert kept and visitor.ask("/thumbnail", clip=ONE, index=3)[1] == content
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_picture_of_a_video_that_went_away_is_said_in_one_sentence(visitor, project, tmp_path):
    away = (project / "clips" / "aldermoor" / "room.mp4").rename(tmp_path / "room.mp4")
    answer, content = visitor.ask("/thumbnail", clip=ONE)
    away.rename(project / "clips" / "aldermoor" / "room.mp4")
    assert answer.status == 404 and "room.mp4: cannot be read" in json.loads(content)["error"]


def test_a_spoilt_list_of_boxes_does_not_hide_the_clip(visitor, project):
    anchors = project / "clips" / "anchors.csv"
    before = anchors.read_bytes() if anchors.is_file() else None
    anchors.write_text("name\nball\n")
    view = visitor.json("/api/clip", clip=ONE)
    anchors.unlink()
    if before is not None:
        anchors.write_bytes(before)
    assert view["slots"] and view["boxes"] == [] and "no column clip_id" in view["message"]


def test_a_path_in_space_starts_at_the_first_camera_and_has_the_size_one():
    c2w = from_yaw_pitch_roll(np.array([30.0, 30.0, 120.0]))
    c2w[:, :3, 3] = [[5, 0, 0], [5, 0, 4], [5, 2, 4]]
    path = path_3d("m", "made", c2w, [0, 1, 2])
    assert path["moves"] and path["places"][0] == [0, 0, 0] and path["forward"][0] == [0, 0, 1] and path["up"][0] == [0, -1, 0]
    assert np.linalg.norm(path["places"], axis=1).max() == pytest.approx(1, abs=1e-3)
    assert np.degrees(np.arccos(path["forward"][2][2])) == pytest.approx(90, abs=0.1)
    still = path_3d("m", "made", from_yaw_pitch_roll(np.array([0.0, 60.0])), [0, 1])
    assert not still["moves"] and still["places"] == [[0, 0, 0], [0, 0, 0]]


def test_a_folder_without_clips_is_said_in_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="has no known layout"):
        RunView.of_folder(tmp_path)
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(UsageError, match=r"no clip to show: .*: video: 'empty.mp4' is empty \(0 bytes\); copy or generate"):
        RunView.of_folder(tmp_path)


def test_a_new_clip_of_the_folder_is_listed_when_the_page_is_loaded_again(tmp_path):
    encode(tmp_path / "room.mp4", film(1), 8)
    shelf = Shelf(RunView.of_folder(tmp_path))
    encode(tmp_path / "lake.mp4", film(2), 8)
    assert len(shelf.view("").clips) == 1 and len(shelf.view("", fresh=True).clips) == 2
    assert len(shelf.view("").clips) == 2, "the page can open it"
