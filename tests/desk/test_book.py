"""The vote book: nothing is lost, nothing is answered twice, and gold stays out of the ratings."""

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from lookback.agreement import read_ratings
from lookback.agreement.importers import read_gold
from lookback.benchmarks.mbench.forms import compared as mbench_pairs
from lookback.benchmarks.mbench.forms import triggered
from lookback.benchmarks.wrbench.forms import compared as wrbench_pairs
from lookback.desk import VoteBook
from lookback.desk.export import export_file
from lookback.desk.forms import gold_item
from lookback.errors import CannotWrite, LookbackError, UsageError
from lookback.tables import check_table
from small_study import clips
from time_limits import HUNG_S

FORK = multiprocessing.get_context("fork")  # a new Python would import for seconds before its first vote


def made_items():
    return triggered(None, clips(), 0) + mbench_pairs(None, clips(), 0)


def answers(item, preference="0"):
    return {question.id: "yes" if question.answers == "yes_no" else preference for question in item.questions}


def return_item():
    return next(item for item in wrbench_pairs(None, clips(), 0) if len(item.questions) == 2)


def test_votes_read_back_in_the_ratings_schema_without_gold_and_practice(tmp_path):
    book = VoteBook(tmp_path / "votes.sqlite")
    trigger, pair = made_items()[0], return_item()
    book.add("ann", trigger, {"trigger/trigger_human": "yes"})
    book.add("ann", pair, answers(pair, "-1"))
    book.add("ann", gold_item(trigger, {"trigger/trigger_human": "no"}), {"trigger/trigger_human": "yes"})
    ratings = check_table("ratings", book.ratings())
    assert sorted(ratings["task"]) == ["judgeability", "pairwise", "trigger"]
    assert not ratings["simulated"].any()
    assert book.known()[["role", "label", "expected", "right"]].values.tolist() == [["gold", "yes", "no", False]]
    assert export_file(book, tmp_path / "votes.csv") == 3
    assert read_gold(tmp_path / "gold.csv").to_dict("records") == [{"annotator": "ann", "right": False}]
    with pytest.raises(LookbackError, match="name the file of votes otherwise"):
        export_file(book, tmp_path / "gold.csv")


def test_a_full_disk_is_not_told_as_a_damaged_book(tmp_path, monkeypatch):
    book = VoteBook(tmp_path / "votes.sqlite")

    class Full(sqlite3.Connection):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.execute("PRAGMA max_page_count = 1")

    monkeypatch.setattr("sqlite3.connect", Full)
    with pytest.raises(CannotWrite, match=r"votes\.sqlite: No space left on device, .* make room there"):
        for item in made_items():
            book.add("ann", item, answers(item), "long " * 400)
    monkeypatch.undo()
    assert item.id not in book.answered("ann")
    book.path.write_bytes(b"no database" * 500)
    with pytest.raises(LookbackError, match="move it away"):
        book.answered("ann")


def test_an_item_is_not_answered_twice_and_undo_frees_it_with_all_its_questions(tmp_path):
    book, pair = VoteBook(tmp_path / "votes.sqlite"), return_item()
    book.add("ann", pair, answers(pair), "hard to see")
    with pytest.raises(UsageError, match="already answered"):
        book.add("ann", pair, answers(pair))
    assert book.undo("ann") == pair.id
    assert book.answered("ann") == set() and book.notes().empty and book.undo("ann") is None


def test_a_skipped_item_is_noted_with_its_reason_and_can_be_taken_back(tmp_path):
    book, pair = VoteBook(tmp_path / "votes.sqlite"), return_item()
    book.skip("ann", pair, "the left video stops")
    assert book.notes()[["kind", "text"]].values.tolist() == [["skipped", "the left video stops"]]
    assert book.undo("ann") == pair.id and not book.skipped("ann")


def test_undo_takes_back_the_last_answer_or_skip_after_the_clock_was_set_back(tmp_path):
    first, second, third = made_items()[:3]
    now = iter([1000.0, 900.0, 800.0])
    book = VoteBook(tmp_path / "votes.sqlite", lambda: next(now))
    book.add("ann", first, answers(first))
    book.skip("ann", second)
    book.add("ann", third, answers(third))
    assert [book.undo("ann") for _ in range(4)] == [third.id, second.id, first.id, None]


@pytest.mark.parametrize("label", ["left", "2", "maybe", ""])
def test_an_answer_outside_the_scale_is_refused_and_nothing_of_the_item_is_stored(tmp_path, label):
    book = VoteBook(tmp_path / "votes.sqlite")
    pair = next(item for item in made_items() if item.compares)
    good, bad = (question.id for question in pair.questions)
    with pytest.raises(UsageError, match="is not an answer"):
        book.add("ann", pair, {good: "1", bad: label})
    assert book.ratings().empty


def test_a_file_that_is_no_vote_book_is_named(tmp_path):
    (tmp_path / "votes.sqlite").write_bytes(b"not a database at all, not even close to one....")
    with pytest.raises(LookbackError, match="move it away"):
        VoteBook(tmp_path / "votes.sqlite")


def _vote_all(path, annotator):
    book = VoteBook(path)
    for item in made_items():
        book.add(annotator, item, answers(item))


def test_two_annotators_at_once_lose_nothing(tmp_path):
    path = tmp_path / "votes.sqlite"
    VoteBook(path)
    people = [FORK.Process(target=_vote_all, args=(path, name)) for name in ("ann", "ben")]
    for person in people:
        person.start()
    for person in people:
        person.join(HUNG_S)
        assert person.exitcode == 0
    counts = VoteBook(path).ratings().groupby("annotator").size()
    questions = sum(len(item.questions) for item in made_items())
    assert counts.to_dict() == {"ann": questions, "ben": questions}


def _vote_and_die(path):
    book = VoteBook(path)
    for item in made_items()[:3]:
        book.add("ann", item, answers(item))
    os.kill(os.getpid(), signal.SIGKILL)


def open_at(path, barrier, said):
    barrier.wait()
    try:
        VoteBook(path).ratings()
        said.put("")
    except LookbackError as error:
        said.put(str(error))


@pytest.mark.long
def test_several_who_open_a_new_book_at_once_all_get_it(tmp_path):
    barrier, said = FORK.Barrier(4), FORK.Queue()
    for number in range(15):
        people = [FORK.Process(target=open_at, args=(tmp_path / f"{number}.sqlite", barrier, said)) for _ in range(4)]
        for person in people:
            person.start()
        assert [said.get(timeout=HUNG_S) for _ in people] == [""] * 4
        for person in people:
            person.join()


def test_a_killed_desk_keeps_every_vote(tmp_path):
    path = tmp_path / "votes.sqlite"
    person = FORK.Process(target=_vote_and_die, args=(path,))
    person.start()
    person.join(HUNG_S)
    assert person.exitcode == -signal.SIGKILL
    book = VoteBook(path)
    assert len(book.ratings()) == 3
    assert book.undo("ann") == made_items()[2].id


def _export_and_die(path, book):
    def die(descriptor):
        os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = die  # the last thing before the finished file takes its name
    export_file(VoteBook(book), path)


def book_with_votes(path, count=3):
    book = VoteBook(path)
    for item in made_items()[:count]:
        book.add("ann", item, answers(item))
    return book


def test_an_export_killed_while_writing_leaves_the_earlier_file_whole(tmp_path):
    book = book_with_votes(tmp_path / "votes.sqlite")
    target = tmp_path / "ratings.csv"
    export_file(book, target)
    earlier = target.read_bytes()
    book.add("bob", made_items()[0], answers(made_items()[0]))
    person = FORK.Process(target=_export_and_die, args=(target, book.path))
    person.start()
    person.join(HUNG_S)
    assert person.exitcode == -signal.SIGKILL
    assert target.read_bytes() == earlier
    assert export_file(book, target) == 4 and len(read_ratings(target)) == 4


def test_an_export_on_a_full_disk_is_a_sentence_and_leaves_the_earlier_file_whole(tmp_path, monkeypatch):
    book = book_with_votes(tmp_path / "votes.sqlite")
    target = tmp_path / "ratings.csv"
    export_file(book, target)
    earlier = target.read_bytes()
    book.add("bob", made_items()[0], answers(made_items()[0]))
    write = Path.write_bytes

    def full(path, content):
        write(path, content[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(LookbackError, match="No space left"):
        export_file(book, target)
    assert target.read_bytes() == earlier and sorted(path.name for path in tmp_path.iterdir()) == ["ratings.csv", "votes.sqlite"]
