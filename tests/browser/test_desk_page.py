"""A study in real browsers on two addresses: instructions, practice, watching before answering, keys, and what is stored."""

import socket
from urllib.parse import urlsplit

import pytest
from browser_pages import PROJECT, SHOWN_WITHIN, printed_links, server, wait_for_script
from little_run import RUN
from lookback.agreement import analyse, load_plan, read_ratings
from lookback.desk import VoteBook

pytestmark = pytest.mark.long
TOTAL = 4  # two plain axes and two of the return
QUESTION, FINISHED, ENDED = ".question", ".finished", ".lookback-desk.watched"


def has_second_address() -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.2", 0))
        except OSError:
            return False
        return True


class Person:
    """One browser of one person, with everything that it was sent."""

    def __init__(self, browser, link: str, width: int = 1400):
        self.context = browser.new_context(viewport={"width": width, "height": 1000})
        self.page = self.context.new_page()
        self.page.set_default_timeout(SHOWN_WITHIN)
        self.errors, self.asked, self.heard = [], [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("response", lambda response: self.heard.append((response.url, response.status, str(response.headers))))
        self.page.goto(link)

    def text(self, part: str) -> str:
        return self.page.locator(part).first.inner_text()

    def until(self, script: str, arg: object = None) -> None:
        wait_for_script(self.page, script, arg)

    def finished(self) -> bool:
        self.page.wait_for_selector(f"{QUESTION}, {FINISHED}")
        return bool(self.page.locator(FINISHED).count())

    def play(self) -> None:
        self.page.keyboard.press(" ")

    def watch(self) -> None:
        self.page.wait_for_selector(ENDED)

    def answer(self, yes: str = "y", side: str = "1") -> None:
        """Answer every question with keys; the active question is the next one."""
        while self.page.locator(".next:disabled").count():
            labels = self.page.eval_on_selector_all(".question.active button", "nodes => nodes.map(node => node.dataset.label)")
            before = self.page.locator("[aria-pressed='true']").count()
            self.page.keyboard.press(yes if "yes" in labels else side)
            self.until("before => document.querySelectorAll(\"[aria-pressed='true']\").length > before", arg=before)

    def save(self) -> None:
        """Save, read the explanation of a practice item, and wait for what comes next."""
        self.page.evaluate("document.querySelector('.questions').dataset.old = 'yes'")
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(f".questions:not([data-old]), .feedback, {FINISHED}")
        if self.page.locator(".feedback").count():
            self.page.keyboard.press("Enter")
            self.page.wait_for_selector(f".questions:not([data-old]), {FINISHED}")


@pytest.fixture(scope="module")
def people(browser, little, lookback):
    """Two people at once, each by an own address."""
    if not has_second_address():
        pytest.skip("this machine has no second loopback address")
    (little.root / "pages.yaml").write_text("form: wrbench_axes\nname: pages\nraters: 2\nlimit: 4\ngold_share: 0\n")
    command = [*lookback, "annotate", f"--run={RUN}", f"--study={little.root / 'pages.yaml'}", "--annotator=ann", "--annotator=eli"]
    with server([*command, "--listen=127.0.0.1", "--listen=127.0.0.2"], little.root, printed_links) as links:
        ann = Person(browser, links["ann"])
        eli = Person(browser, links["eli"].replace("127.0.0.1", "127.0.0.2"), width=390)
        yield ann, eli, links
        for person in (ann, eli):
            assert person.errors == []
            assert {url.split("/")[2].split(":")[0] for url in person.asked if url.startswith("http")} <= {"127.0.0.1", "127.0.0.2"}
            person.context.close()


def book(little) -> VoteBook:
    return VoteBook(little.folder / "studies" / "pages" / "votes.sqlite")


def votes(little):
    return book(little).ratings()


def test_the_instructions_come_first_and_the_address_holds_no_secret(people, screenshot):
    for person, name in zip(people[:2], ("ann", "eli"), strict=True):
        person.page.wait_for_selector(".instructions")
        assert "Judge only the claim that is asked" in person.text(".instructions") and "4 items" in person.text(".instructions")
        assert "token" not in person.page.url
        screenshot(person.page, f"desk_instructions_{name}")
        person.page.keyboard.press("Enter")
    assert "127.0.0.2" in people[1].page.url


def test_nobody_answers_or_jumps_ahead_before_the_videos_have_ended(people):
    ann = people[0]
    ann.page.wait_for_selector(QUESTION)
    ann.until("[...document.querySelectorAll('video')].every(video => video.readyState >= 2)")
    assert ann.page.locator(".answers button:not(:disabled)").count() == 0
    ann.page.keyboard.press("1")
    assert "Watch to the end" in ann.text(".message") and ann.page.locator("[aria-pressed='true']").count() == 0
    ann.page.evaluate("document.querySelectorAll('video').forEach(video => { video.currentTime = video.duration - 0.05; })")
    ann.until("[...document.querySelectorAll('video')].every(video => !video.seeking && video.currentTime < 1)")
    assert ann.page.locator(ENDED).count() == 0


def test_practice_is_explained(people, screenshot):
    for person in people[:2]:
        person.finished()
        person.play()
    for person, name in zip(people[:2], ("ann", "eli"), strict=True):
        person.watch()
        assert person.text(".count") == "Practice"
        person.answer(side="0")
        person.page.keyboard.press("Enter")
        person.page.wait_for_selector(".feedback.wrong")
        assert "You answered: No difference." in person.text(".feedback") and "the other stands still" in person.text(".feedback")
        screenshot(person.page, f"desk_feedback_{name}")
        person.page.keyboard.press("Enter")
        person.page.wait_for_selector(".feedback", state="detached")


def both(people, **keys) -> None:
    """Both people watch and answer their next item."""
    open_people = [person for person in people if not person.finished()]
    for person in open_people:
        person.play()
    for person in open_people:
        person.watch()
        person.answer(**keys)
        person.save()


def test_an_answer_is_taken_back_by_undo_and_a_reload_goes_on_where_it_stopped(people, little, screenshot):
    ann, eli, _ = people
    for _ in range(2):  # the rest of the practice
        both((ann, eli))
    assert votes(little).empty
    screenshot(ann.page, "desk_item_ann")
    screenshot(eli.page, "desk_item_eli")
    first = ann.text(".question h2")
    both((ann, eli))
    assert set(votes(little)["annotator"]) == {"ann", "eli"}
    ann.page.keyboard.press("u")
    ann.until("document.querySelector('.message')?.textContent.includes('taken back')")
    assert ann.text(".question h2") == first and ann.text(".count") == f"0 of {TOTAL} done by ann"
    assert set(votes(little)["annotator"]) == {"eli"}
    ann.answer()  # it was watched on this page already
    ann.save()
    before, question = ann.text(".count"), ann.text(".question h2")
    ann.page.reload()
    ann.page.wait_for_selector(QUESTION)
    assert (ann.text(".count"), ann.text(".question h2")) == (before, question)


def test_both_finish_and_have_rated_the_same_items_as_planned(people, little, screenshot):
    ann, eli, _ = people
    for _ in range(TOTAL - 1):
        both((ann, eli))
    assert ann.finished() and eli.finished()
    screenshot(ann.page, "desk_finished")
    found = votes(little)
    keys = ["task", "dimension", "clip_a", "model_a", "model_b"]
    own = [set(part[keys].itertuples(index=False, name=None)) for _, part in found.groupby("annotator")]
    assert own[0] == own[1] and len(own[0]) == TOTAL + 2  # two axes ask for judgeability first
    # left was always chosen: the sign tells the side on which the first model stood, which is each person's own
    assert set(found.query("task == 'pairwise'")["label"]) == {"1", "-1"}


def asked(person, button: str, yes: bool) -> str:
    """Click a button that asks first; what it asked."""
    with person.page.expect_event("dialog") as event:
        person.page.once("dialog", lambda dialog: dialog.accept() if yes else dialog.dismiss())
        person.page.locator(button).click()
    return event.value.message


def test_the_organiser_sees_both_and_takes_the_votes(people, browser, little, screenshot):
    organiser = Person(browser, people[2]["organiser"])
    organiser.page.wait_for_selector("[data-person='ann'][data-state='finished']")
    assert organiser.text("[data-raters='2']") == f"{TOTAL} items"
    known = book(little).known().query("annotator == 'eli'")
    assert (
        organiser.text("[data-person='eli'] [data-column='practice']") == f"{known['right'].sum()} of {len(known)}"
        and len(known) == 4
    )
    screenshot(organiser.page, "desk_organiser")
    with organiser.page.expect_download() as download:
        organiser.page.click("a[href='export/ratings.csv']")
    download.value.save_as(little.root / "ratings.csv")
    ratings = read_ratings(little.root / "ratings.csv")
    assert len(ratings) == 2 * (TOTAL + 2)
    plan = load_plan(PROJECT / "params" / "agreement.yaml").model_copy(update={"resamples": 100})
    assert len(analyse(ratings, None, plan)["agreement"]) >= TOTAL
    organiser.page.fill(".invite input", "fay")
    organiser.page.click(".invite button")
    link = organiser.text("code")
    fay = Person(browser, link)
    fay.page.wait_for_selector(".instructions")
    organiser.page.fill(".invite input", "Fay")
    for button in (".invite button", "[data-person='fay'] .leave"):
        said = asked(organiser, button, yes=False)
        assert "fay" in said and said.endswith((". Make a new link?", "open items go to the others."))
    fay.page.keyboard.press("Enter")
    fay.finished()
    asked(organiser, "[data-person='fay'] .leave", yes=True)
    organiser.page.wait_for_selector("[data-person='fay'][data-state='left']")
    fay.page.reload()
    assert "This page opens with the link" in fay.text("body")
    for person in (organiser, fay):
        assert person.errors == []
        person.context.close()


def test_videos_came_in_ranges_and_nothing_named_a_model(people):
    ann, _, _ = people
    films = {url: status for url, status, _ in ann.heard if "/media/" in url}
    assert len(films) >= 2 * TOTAL and set(films.values()) <= {200, 206}
    ranged = "async source => (await fetch(source, { headers: { Range: 'bytes=10-29' } })).status"
    assert ann.page.evaluate(ranged, next(iter(films))) == 206
    everything = ann.page.content() + str(ann.heard) + str(ann.asked)
    assert not any(name in everything for name in ("aldermoor", "birkdale", "calderbrook", ".mp4"))


def test_a_stopped_server_is_said_and_the_open_page_goes_on_after_a_restart(browser, little, lookback, screenshot):
    (little.root / "again.yaml").write_text(
        "form: wrbench_axes\nname: again\nraters: 1\npractice: false\nwatch: false\ngold_share: 0\n"
    )
    command = [*lookback, "annotate", f"--run={RUN}", f"--study={little.root / 'again.yaml'}"]
    with server([*command, "--annotator=ann"], little.root, printed_links) as links:
        ann = Person(browser, links["ann"])
        ann.page.wait_for_selector(".start")
        ann.page.keyboard.press("Enter")
        ann.finished()
        ann.answer()
        ann.save()
        assert ann.text(".count") == "1 of 6 done by ann"
        ann.answer()
        ann.page.fill(".comment", "a long comment")
        ann.page.locator(".comment").blur()
    ann.page.click(".next")
    ann.page.wait_for_selector(".message")
    assert "does not answer" in ann.text(".message") and ann.page.locator(".next:not(:disabled)").count()
    with server(command, little.root, printed_links, port=urlsplit(links["ann"]).port):
        given = ann.page.locator("[aria-pressed='true']").all_inner_texts()
        ann.page.reload()
        ann.finished()
        assert ann.page.locator("[aria-pressed='true']").all_inner_texts() == given != []
        assert ann.page.input_value(".comment") == "a long comment"
        screenshot(ann.page, "desk_after_a_restart")
        ann.save()
        assert ann.text(".count") == "2 of 6 done by ann"
        assert ann.page.input_value(".comment") == "" and ann.page.locator("[aria-pressed='true']").count() == 0
        assert ann.page.evaluate("sessionStorage.length") == 0
        assert list(VoteBook(little.folder / "studies" / "again" / "votes.sqlite").notes()["text"]) == ["a long comment"]
    ann.context.close()


def test_answers_that_wait_for_a_reload_need_no_second_look_at_the_video(browser, little, lookback):
    (little.root / "looked.yaml").write_text("form: mbench_trigger\nname: looked\nraters: 1\npractice: false\ngold_share: 0\n")
    command = [*lookback, "annotate", f"--run={RUN}", f"--study={little.root / 'looked.yaml'}", "--annotator=ann"]
    with server(command, little.root, printed_links) as links:
        ann = Person(browser, links["ann"])
        ann.page.wait_for_selector(".start")
        ann.page.keyboard.press("Enter")
        ann.finished()
        ann.play()
        ann.watch()
        ann.answer()
        ann.page.reload()
        ann.finished()
        ann.save()
        assert ann.text(".count").startswith("1 of ") and ann.page.locator(".next:disabled").count()
        ann.context.close()


@pytest.fixture(scope="module")
def short(browser, little, lookback):
    """A study of one item without videos to wait for."""
    settings = "form: mbench_trigger\nname: short\nraters: 1\nlimit: 1\npractice: false\nwatch: false\ngold_share: 0\n"
    (little.root / "short.yaml").write_text(settings)
    command = [*lookback, "annotate", f"--run={RUN}", f"--study={little.root / 'short.yaml'}"]
    with server([*command, "--annotator=ann"], little.root, printed_links) as links:
        yield links, command


def test_the_key_of_undo_works_when_everything_is_answered(browser, short):
    ann = Person(browser, short[0]["ann"])
    ann.page.wait_for_selector(".start")
    ann.page.keyboard.press("Enter")
    ann.finished()
    ann.answer()
    ann.save()
    assert ann.finished() and "(u)" in ann.text(".undo")
    ann.page.keyboard.press("u")
    ann.page.wait_for_selector(QUESTION)
    assert ann.errors == []
    ann.context.close()


@pytest.mark.parametrize("width", [390, 700, 1300])
def test_the_organisers_page_fits_its_window(browser, short, width):
    organiser = Person(browser, short[0]["organiser"], width=width)
    organiser.page.wait_for_selector("[data-person='ann']")
    assert organiser.page.evaluate("document.documentElement.scrollWidth") == width
    organiser.context.close()
