"""From replies to answers. Pure: the same recorded replies give the same answers, live or replayed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lookback.errors import Reason
from lookback.judging.parsing import as_number, as_yes_no, identifier, parse_json, parse_rating, parse_yes_no
from lookback.judging.probability import p_yes
from lookback.judging.question import Answer, Part, Question, Reply

VERBATIM_LIMIT = 4000  # characters of a reply kept in the table; the recording keeps all


def interpret(question: Question, replies: Sequence[Reply]) -> list[Answer]:
    """The answers of every part. `replies` holds one reply, or the k sampled ones of a yes/no question."""
    first = replies[0]
    if first.stated is not None:
        return [_stated(part, first) for part in question.parts]
    if question.expects == "yes_no":
        return [_yes_no(question.parts[0], replies)]
    reader = {"decision": _decision, "rating": _rating, "per_second": _per_second, "table": _table, "questions": _questions}
    return reader[question.expects](question, first.text)


def unanswered(question: Question, reason: Reason, detail: str) -> list[Answer]:
    """Every part without an answer, for one reason."""
    return [Answer(part, reason=reason, verbatim=detail[:VERBATIM_LIMIT]) for part in question.parts]


def _stated(part: Part, reply: Reply) -> Answer:
    said = (reply.stated or {}).get(part.question_id)
    if said is not None:
        return Answer(part, said.answer, said.value, said.confidence, said.value_from, None, said.because)
    reason, detail = reply.refused.get(part.question_id, (Reason.BACKEND_UNAVAILABLE, "this judge does not answer this question"))
    return Answer(part, reason=Reason(reason), verbatim=detail)


def _yes_no(part: Part, replies: Sequence[Reply]) -> Answer:
    first = replies[0]
    probability = None if first.logprobs is None else p_yes(first.logprobs)
    if probability is not None:
        return _probable(part, probability, "logprobs", first.text)
    read = [parse_yes_no(reply.text) for reply in replies]
    said = [answer for answer in read if answer is not None]
    verbatim = first.text if len(replies) == 1 else json.dumps([reply.text for reply in replies], ensure_ascii=False)
    if not said:
        return Answer(part, reason=Reason.JUDGE_UNPARSED, verbatim=verbatim[:VERBATIM_LIMIT])
    # a plain call whose scores name neither answer speaks by its words alone; it drew no sample
    value_from = "sampled" if first.logprobs is None else "stated"
    return _probable(part, said.count("yes") / len(said), value_from, verbatim)


def _probable(part: Part, probability: float, value_from: str, verbatim: str) -> Answer:
    answer = "yes" if probability >= 0.5 else "no"
    return Answer(part, answer, probability, max(probability, 1 - probability), value_from, None, verbatim[:VERBATIM_LIMIT])


def _decision(question: Question, text: str) -> list[Answer]:
    """A binary decision with a stated confidence: p_yes = confidence when yes, 1 - confidence when no."""
    part, value = question.parts[0], parse_json(text)
    fields = {str(key).lower(): content for key, content in value.items()} if isinstance(value, dict) else {}
    decided = as_yes_no(fields.get("trigger", fields.get("triggered", fields.get("answer"))))
    confidence = as_number(fields.get("confidence"))
    if decided is None or confidence is None or not 0 <= confidence <= 1:
        return [_unparsed(part, text)]
    probability = confidence if decided == "yes" else 1 - confidence
    return [Answer(part, decided, probability, confidence, "stated", None, text[:VERBATIM_LIMIT])]


def _rating(question: Question, text: str) -> list[Answer]:
    part, rating = question.parts[0], parse_rating(text)
    if rating is None:
        return [_unparsed(part, text)]
    return [Answer(part, f"{rating:g}", rating, None, "stated", None, text[:VERBATIM_LIMIT])]


def _per_second(question: Question, text: str) -> list[Answer]:
    """One yes/no per whole second; a second the reply leaves out, or gives twice with different answers, is unread."""
    value = parse_json(text)
    rows = value.get("per_second") if isinstance(value, dict) else value
    said: dict[int, set[str]] = {}
    notes: dict[int, str] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        second = as_number(row.get("second", row.get("sec")))
        judgeable = as_yes_no(row.get("judgeable"))
        if second is not None and judgeable is not None:
            said.setdefault(int(second), set()).add(judgeable)
            notes[int(second)] = str(row.get("note", ""))
    return [_plain(part, said.get(second, set()), notes.get(second) or text) for second, part in enumerate(question.parts)]


def _table(question: Question, text: str) -> list[Answer]:
    """MemoBench's answer table: rows with ID and Answer (or "Answer (Yes/No)"); ids may be numbers or text."""
    value = parse_json(text)
    rows = next((content for content in value.values() if isinstance(content, list)), []) if isinstance(value, dict) else value
    said: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or "ID" not in row:
            continue
        name = identifier(row["ID"])
        answer = as_yes_no(row.get("Answer", row.get("Answer (Yes/No)")))
        if answer is not None:
            said.setdefault(name, set()).add(answer)
            words[name] = json.dumps(row, ensure_ascii=False, sort_keys=True)
    ids = [part.question_id.rpartition(".")[2] for part in question.parts]  # the bank's own id ends the part's
    return [_plain(part, said.get(name, set()), words.get(name) or text) for part, name in zip(question.parts, ids, strict=True)]


def _questions(question: Question, text: str) -> list[Answer]:
    """A generated question bank: readable or not; the bank itself is read by `tasks.vqa_bank`."""
    part, value = question.parts[0], parse_json(text)
    if not isinstance(value, list | dict):
        return [_unparsed(part, text)]
    return [Answer(part, "yes", 1.0, None, "stated", None, text)]


def _plain(part: Part, answers: set[str], words: str) -> Answer:
    if len(answers) != 1:
        return _unparsed(part, words)
    answer = next(iter(answers))
    return Answer(part, answer, 1.0 if answer == "yes" else 0.0, None, "stated", None, words[:VERBATIM_LIMIT])


def _unparsed(part: Part, text: str) -> Answer:
    return Answer(part, reason=Reason.JUDGE_UNPARSED, verbatim=text[:VERBATIM_LIMIT])
