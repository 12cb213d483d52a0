"""Question banks as the benchmark writes them: records with ID, Dimension, Dimension Polarity, Question."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lookback import json_text
from lookback.benchmarks.memobench.dataset_files import plain_name
from lookback.benchmarks.memobench.metrics.vqa import DIMENSIONS, polarity_in
from lookback.errors import ContractError, NotScorable, Reason
from lookback.judging.reply_text import as_yes_no, identifier, parse_json

PER_DIMENSION = 6
START, FINAL = "Start Questions", "Final questions"
EVALUATIONS = ("Evaluation on ground truth", "Evaluation on failure", "Revised Evaluation on failure")
STAGES = (START, *EVALUATIONS, FINAL)


# a polarity in its own column, or only in the name of the dimension (as the released question maker leaves it), or nowhere
Polarity = Literal["positive", "negative", "named_positive", "named_negative", "unstated"]


@dataclass(frozen=True)
class BankQuestion:
    """One yes/no question; Yes passes when the polarity is positive, No when it is negative."""

    id: str
    dimension: str
    polarity: Polarity
    text: str

    def record(self) -> dict[str, str]:
        """The benchmark's own form."""
        named = f" ({self.side.capitalize()} Polarity)" if self.polarity.startswith("named_") else ""
        stated = {"Dimension Polarity": self.polarity.capitalize()} if self.polarity in ("positive", "negative") else {}
        return {"ID": self.id, "Dimension": f"{self.dimension}{named}", **stated, "Question": self.text}

    @property
    def part_id(self) -> str:
        """The id in the judgements table, which says dimension and polarity: instruction_following.negative.4."""
        return f"{slug(self.dimension)}.{self.polarity}.{self.id}"

    @property
    def side(self) -> str:
        """positive or negative; empty when the question states it nowhere."""
        return "" if self.polarity == "unstated" else self.polarity.removeprefix("named_")

    def passes(self, answer: str) -> bool:
        return bool(self.side) and answer == ("yes" if self.side == "positive" else "no")


@dataclass(frozen=True)
class QuestionFile:
    """A published question file: the bank at each stage, and the answers that filtered it."""

    scene: str
    video_id: str
    start: tuple[BankQuestion, ...]
    ground_truth: Mapping[str, str]  # id -> yes/no on the ground-truth video
    failure: Mapping[str, str]  # on the known-failure clip
    revised: Mapping[str, str]  # on the known-failure clip, with the hint
    final: tuple[BankQuestion, ...]

    @property
    def key(self) -> tuple[str, int]:
        return (plain_name(self.scene), int(self.video_id))

    @property
    def on_failure(self) -> dict[str, str]:
        """id -> the last answer on the known-failure clip: with the hint where there is one."""
        return {**self.failure, **self.revised}


def parse_bank(text: str, complete: bool = True) -> tuple[BankQuestion, ...]:
    """The questions of a generator's reply. A complete bank has six in each of the four dimensions, both polarities in each."""
    value = parse_json(text)
    rows = next((content for content in value.values() if isinstance(content, list)), None) if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise NotScorable(Reason.JUDGE_UNPARSED, "the generated questions are no list")
    bank = tuple(_question(row) for row in rows)
    if len({question.id for question in bank}) != len(bank):
        raise NotScorable(Reason.JUDGE_UNPARSED, "two generated questions carry the same ID")
    if complete:
        counts = Counter(question.dimension for question in bank)
        sides = {(question.dimension, question.side) for question in bank}
        if any(counts[name] != PER_DIMENSION for name in DIMENSIONS) or len(sides) != 2 * len(DIMENSIONS):
            found = ", ".join(f"{counts[name]} {name}" for name in DIMENSIONS)
            raise NotScorable(
                Reason.JUDGE_UNPARSED, f"a bank needs {PER_DIMENSION} questions of mixed polarity per dimension, found {found}"
            )
    return bank


def read_question_file(path: Path) -> QuestionFile:
    """One `<Scene>-<n>-questions.csv` of the benchmark's repository."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            row = next(iter(csv.DictReader(handle)), None)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ContractError(f"{path}: the question file cannot be read ({error}); copy it again") from None
    if row is None or any(name not in row for name in ("scene", "video_id", *STAGES)):
        raise ContractError(f"{path}: a question file has the columns scene, video_id, {', '.join(STAGES)}")
    try:
        start, final = (parse_bank(row[name] or "", complete=False) for name in (START, FINAL))
        truth, failure, revised = (answers_of(json_text.loads(row[name] or "[]")) for name in EVALUATIONS)
        int(row["video_id"])  # the file's key
        return QuestionFile(row["scene"], row["video_id"], start, truth, failure, revised, final)
    except (NotScorable, ValueError, TypeError, AttributeError) as error:
        raise ContractError(f"{path}: {error}; the columns hold JSON lists of questions and answers") from None


def read_question_files(folder: Path) -> dict[tuple[str, int], QuestionFile]:
    """Every question file of a folder by (plain name of the scene, clip number)."""
    if not folder.is_dir():
        raise ContractError(
            f"There is no folder {folder}; judging.vqa_questions names the folder of <Scene>-<n>-questions.csv files"
        )
    files = [read_question_file(path) for path in sorted(folder.glob("*-questions.csv"))]
    if not files:
        raise ContractError(f"{folder} holds no *-questions.csv file; judging.vqa_questions names the wrong folder")
    return {file.key: file for file in files}


def clip_number(scene: str, clip_id: str) -> tuple[str, int] | None:
    """(plain scene name, number) of a clip id such as Barnyard_001 or 007; None when it ends in no number."""
    match = re.search(r"(\d+)$", clip_id)
    name = scene or clip_id[: match.start()] if match else scene
    return (plain_name(name), int(match.group(1))) if match else None


def answers_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """id -> yes/no of an answer table; other answers are left out."""
    found = {identifier(row.get("ID")): as_yes_no(row.get("Answer", row.get("Answer (Yes/No)"))) for row in rows}
    return {name: answer for name, answer in found.items() if answer is not None}


def slug(dimension: str) -> str:
    """Instruction Following -> instruction_following."""
    return dimension.lower().replace(" ", "_")


def from_part_id(part_id: str, text: str = "") -> BankQuestion | None:
    """The bank question of a judgements row; None for other rows of the task."""
    name, _, rest = part_id.partition(".")
    polarity, _, number = rest.partition(".")
    dimension = next((known for known in DIMENSIONS if slug(known) == name), None)
    if dimension is None or polarity not in get_args(Polarity) or not number:
        return None
    return BankQuestion(number, dimension, polarity, text)  # type: ignore[arg-type]


def _question(row: Any) -> BankQuestion:
    fields = {str(key).strip().lower(): value for key, value in row.items()} if isinstance(row, dict) else {}
    said = str(fields.get("dimension", "")).replace("&", "and")
    name = said.partition("(")[0].strip().lower()
    dimension = next((known for known in DIMENSIONS if known.lower() in (name, name.replace(" consistency", ""))), None)
    stated = str(fields.get("dimension polarity", fields.get("polarity", ""))).strip().lower()
    named = polarity_in(said)
    polarity = stated or (f"named_{named}" if named else "unstated")
    text = str(fields.get("question", "")).strip()
    if dimension is None or polarity not in get_args(Polarity) or not text or fields.get("id") in (None, ""):
        raise NotScorable(Reason.JUDGE_UNPARSED, f"a question lacks its ID, dimension, polarity or text: {str(row)[:200]}")
    return BankQuestion(identifier(fields["id"]), dimension, polarity, text)  # type: ignore[arg-type]
