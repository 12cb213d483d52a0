"""The vote book and the order of questions: nothing is lost, nothing is asked twice, sides are fair."""

import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from lookback.agreement import read_ratings
from lookback.clips import Clip
from lookback.desk import VoteBook, build_tasks, order_for
from lookback.errors import LookbackError, UsageError
from lookback.tables import check_table


def clips() -> list[Clip]:
    made = []
    for model in ("m1", "m2", "m3"):
        for number in range(4):
            made.append(
                Clip(
                    benchmark="wrbench",
                    setting="natural25",
                    model_id=model,
                    clip_id=f"w{number}",
                    scene=f"s{number}",
                    video=f"{model}{number}.mp4",
                )
            )
            made.append(
                Clip(
                    benchmark="mbench",
                    setting="T",
                    model_id=model,
                    clip_id=f"human:h{number}:text",
                    subset="human",
                    scene=f"h{number}",
                    video="x.mp4",
                )
            )
    return made


def test_every_pair_of_models_meets_on_every_axis_once():
    tasks = build_tasks(clips())
    pairs = Counter((task.benchmark, task.dimension) for task in tasks if task.task == "pairwise")
    assert pairs[("wrbench", "reobserved_state")] == 4 * 3
    assert pairs[("mbench", "human_identity")] == 4 * 3
    assert sum(task.task == "trigger" for task in tasks) == 12
    assert len({task.id for task in tasks}) == len(tasks)


def test_each_annotator_has_an_order_of_their_own_that_a_restart_repeats():
    tasks = build_tasks(clips())
    ann, ben = order_for("ann", tasks, 1), order_for("ben", tasks, 1)
    assert ann == order_for("ann", tasks, 1)
    assert ann != ben
    assert {task.id for task, _ in ann} == {task.id for task, _ in ben}
    swapped = sum(flag for task, flag in ann if task.task == "pairwise") / sum(task.task == "pairwise" for task, _ in ann)
    assert 0.3 < swapped < 0.7


def test_votes_read_back_in_the_ratings_schema(tmp_path):
    book = VoteBook(tmp_path / "votes.sqlite")
    tasks = build_tasks(clips())
    trigger = next(task for task in tasks if task.task == "trigger")
    pair = next(task for task in tasks if task.asks_judgeability)
    book.add("ann", trigger, "yes")
    book.add("ann", pair, "yes", "judgeability")
    book.add("ann", pair, "-1")
    ratings = check_table("ratings", book.ratings())
    assert sorted(ratings["task"]) == ["judgeability", "pairwise", "trigger"]
    assert not ratings["simulated"].any()
    assert book.export(tmp_path / "ratings.csv") == 3


def test_a_question_is_not_answered_twice_and_undo_frees_it(tmp_path):
    book = VoteBook(tmp_path / "votes.sqlite")
    pair = next(task for task in build_tasks(clips()) if task.asks_judgeability)
    book.add("ann", pair, "yes", "judgeability")
    book.add("ann", pair, "1")
    with pytest.raises(UsageError, match="already answered"):
        book.add("ann", pair, "0")
    assert book.undo("ann") == pair.id
    assert book.answered("ann") == {}
    assert book.undo("ann") is None


@pytest.mark.parametrize(("label", "kind"), [("left", None), ("2", None), ("maybe", "judgeability"), ("", None)])
def test_an_answer_outside_the_scale_is_refused(tmp_path, label, kind):
    book = VoteBook(tmp_path / "votes.sqlite")
    pair = next(task for task in build_tasks(clips()) if task.task == "pairwise")
    with pytest.raises(UsageError, match="is not an answer"):
        book.add("ann", pair, label, kind)


def test_a_file_that_is_no_vote_book_is_named(tmp_path):
    (tmp_path / "votes.sqlite").write_bytes(b"not a database at all, not even close to one....")
    with pytest.raises(LookbackError, match="move it away"):
        VoteBook(tmp_path / "votes.sqlite")


def _vote_all(path, annotator):
    book = VoteBook(path)
    for task, _ in order_for(annotator, build_tasks(clips()), 0):
        book.add(annotator, task, "yes" if task.task == "trigger" else "0")


def test_two_annotators_at_once_lose_nothing(tmp_path):
    path = tmp_path / "votes.sqlite"
    VoteBook(path)
    context = multiprocessing.get_context("spawn")
    people = [context.Process(target=_vote_all, args=(path, name)) for name in ("ann", "ben")]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
        assert person.exitcode == 0
    counts = VoteBook(path).ratings().groupby("annotator").size()
    assert counts.to_dict() == {"ann": len(build_tasks(clips())), "ben": len(build_tasks(clips()))}


def _vote_and_die(path):
    book = VoteBook(path)
    for task in build_tasks(clips())[:3]:
        book.add("ann", task, "yes" if task.task == "trigger" else "0")
    os.kill(os.getpid(), signal.SIGKILL)


def open_at(path, barrier, said):
    barrier.wait()
    try:
        VoteBook(path).ratings()
        said.put("")
    except LookbackError as error:
        said.put(str(error))


def test_several_who_open_a_new_book_at_once_all_get_it(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, said = context.Barrier(4), context.Queue()
    for number in range(15):
        people = [context.Process(target=open_at, args=(tmp_path / f"{number}.sqlite", barrier, said)) for _ in range(4)]
        for person in people:
            person.start()
        assert [said.get(timeout=60) for _ in people] == [""] * 4
        for person in people:
            person.join()


def test_a_killed_desk_keeps_every_vote(tmp_path):
    path = tmp_path / "votes.sqlite"
    person = multiprocessing.get_context("spawn").Process(target=_vote_and_die, args=(path,))
    person.start()
    person.join(60)
    assert person.exitcode == -signal.SIGKILL
    book = VoteBook(path)
    assert len(book.ratings()) == 3
    assert book.undo("ann") == build_tasks(clips())[2].id


def _export_and_die(path, book):
    def die(descriptor):
        os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = die  # the last thing before the finished file takes its name
    VoteBook(book).export(path)


def book_with_votes(path, count=3):
    book = VoteBook(path)
    for task in build_tasks(clips())[:count]:
        book.add("ann", task, "yes" if task.task == "trigger" else "0")
    return book


def test_an_export_killed_while_writing_leaves_the_earlier_file_whole(tmp_path):
    book = book_with_votes(tmp_path / "votes.sqlite")
    target = tmp_path / "ratings.csv"
    book.export(target)
    earlier = target.read_bytes()
    book.add("bob", build_tasks(clips())[0], "yes")
    person = multiprocessing.get_context("spawn").Process(target=_export_and_die, args=(target, book.path))
    person.start()
    person.join(120)
    assert person.exitcode == -signal.SIGKILL
    assert target.read_bytes() == earlier
    assert book.export(target) == 4 and len(read_ratings(target)) == 4


def test_an_export_on_a_full_disk_is_a_sentence_and_leaves_the_earlier_file_whole(tmp_path, monkeypatch):
    book = book_with_votes(tmp_path / "votes.sqlite")
    target = tmp_path / "ratings.csv"
    book.export(target)
    earlier = target.read_bytes()
    book.add("bob", build_tasks(clips())[0], "yes")
    write = Path.write_bytes

    def full(path, content):
        write(path, content[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(LookbackError, match="No space left"):
        book.export(target)
    assert target.read_bytes() == earlier and sorted(path.name for path in tmp_path.iterdir()) == ["ratings.csv", "votes.sqlite"]
