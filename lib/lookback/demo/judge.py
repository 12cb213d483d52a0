"""A judge for the demo world only. It knows the truth, errs at a declared rate, and every row names it as simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from lookback.clips import KEYS, Clip
from lookback.demo.effects import damage
from lookback.errors import BackendUnavailable, NotScorable, Reason
from lookback.files import sha256_json
from lookback.judging.geometry import FRAGMENT, CameraPath, Visibility, camera_path, reobserved_predicates, trigger
from lookback.judging.judges.base import JudgeContext
from lookback.judging.judges.geometric_judge import timeline
from lookback.judging.prompting import load_catalogue
from lookback.judging.question import SECOND, Part, Question, Reply, Stated
from lookback.judging.recording import Identity
from lookback.judging.tasks import subject as subject_name
from lookback.paths import resolve
from lookback.registry import Availability, judge

SEEN = 0.05  # the subject counts as in view when at least this share of its outline is visible


def true_evidence(clip: Clip, truth: Mapping[str, Any]) -> tuple[CameraPath, Visibility]:
    """Camera path and visibility from the clip's truth record (npz with c2w, intrinsics, visibility)."""
    if clip.fps is None or not clip.width or not clip.height:
        raise NotScorable(Reason.MISSING_INPUT, "the clip carries no frame rate or size")
    try:
        with np.load(resolve(truth["record"]), allow_pickle=False) as record:
            c2w, intrinsics, share = record["c2w"], record["intrinsics"], np.asarray(record["visibility"], np.float64)
    except (OSError, KeyError, ValueError) as error:
        raise NotScorable(Reason.MISSING_INPUT, f"the truth record {truth['record']} cannot be read ({error})") from None
    seconds = np.arange(len(share)) / clip.fps
    sure = np.ones(len(c2w))
    camera = camera_path(c2w, intrinsics, (clip.width, clip.height), seconds[: len(c2w)], sure, sure.astype(bool))
    visible = share >= SEEN
    cut = visible & (share < 0.9)
    subject = Visibility(seconds, visible, share >= FRAGMENT, share, cut, 1.0, 1 / clip.fps)
    return camera, subject


FACTS = (
    "trigger",
    "judgeability",
    "timeline",
)  # tasks answered from the truth; all others are graded by the severity of the failure
GOOD = 0.92  # how likely an undamaged clip looks right to this judge
NOISE = 0.05
PER_DIMENSION = 6  # questions of a bank about one dimension


@judge(name="simulated", title="the demo world's truth with declared errors", simulated=True, measures=True)
class SimulatedJudge:
    """Answers from the truth table; each answer is inverted with probability `error_rate`, seeded by the question."""

    costs = False

    def __init__(self, context: JudgeContext):
        if context.truth is None or context.truth.empty:
            raise BackendUnavailable(
                "The simulated judge knows the demo world only", "This run has no truth table; choose another judge"
            )
        self.truth = {tuple(row[name] for name in KEYS): row for row in context.truth.to_dict("records")}
        self.seed, self.error_rate = context.seed, context.params.error_rate
        settings = {"error_rate": self.error_rate, "seed": self.seed}
        self.identity = Identity("simulated", "simulated", "", "1", True, settings)

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    @staticmethod
    def unable(question: Question) -> str:
        return ""

    def samples(self, question: Question, first: Reply | None) -> int:
        return 0

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        truth = self.truth.get(question.clip.key)
        if truth is None:
            return _refuse(question, Reason.MISSING_INPUT, "the demo world did not make this clip")
        if question.expects == "questions":
            return Reply(self._bank(question))
        try:
            rows = self._facts(question, truth, repeat) if question.task in FACTS else self._graded(question, truth, repeat)
        except NotScorable as error:
            return _refuse(question, error.reason, error.detail)
        return Reply("simulated", stated=rows)

    async def close(self) -> None:
        return None

    def _facts(self, question: Question, truth: dict[str, Any], repeat: int) -> dict[str, Stated]:
        camera, subject = true_evidence(question.clip, truth)
        if question.task == "trigger":
            decisions = {"trigger": trigger(question.clip.subset, camera, subject)}
        elif question.task == "timeline":
            decisions = timeline(camera, subject)
        elif question.expects == "per_second":
            seconds = subject.per_second(len(question.parts))
            return {
                f"{SECOND}{second:03d}": self._said(question, part, flag, subject.describe(), repeat)
                for second, (part, flag) in enumerate(zip(question.parts, seconds, strict=True))
            }
        else:
            decisions = reobserved_predicates(subject, camera)
        known = {part.question_id: (part, decisions[part.question_id]) for part in question.parts}
        return {name: self._said(question, part, fact.yes, fact.because, repeat) for name, (part, fact) in known.items()}

    def _said(self, question: Question, part: Part, yes: bool, because: str, repeat: int) -> Stated:
        draw = self._draw(question, part, repeat)
        if draw.random() < self.error_rate:
            yes, because = not yes, f"(an error of the simulated judge) {because}"
        confidence = float(np.round(draw.uniform(0.6, 1.0), 4))
        return Stated("yes" if yes else "no", confidence if yes else round(1 - confidence, 4), confidence, "simulated", because)

    def _graded(self, question: Question, truth: dict[str, Any], repeat: int) -> dict[str, Stated]:
        """Damage = effect x severity: probes and VQA answer accordingly, ratings fall from 5 to 1."""
        said = {}
        severity = 0.0 if question.video == question.clip.ground_truth else float(truth["severity"])
        for part in question.parts:
            loss = damage(part.dimension or question.task, truth["failure"], severity)
            draw = self._draw(question, part, repeat)
            because = f"simulated: failure '{truth['failure']}' at severity {severity:g} does {loss:.2f} damage here"
            if question.expects == "rating":
                said[part.question_id] = self._rating(loss, draw, because)
            elif question.expects == "table":
                said[part.question_id] = self._vote(part, loss, draw, because)
            else:
                said[part.question_id] = self._probability(part, loss, draw, because)
        return said

    def _rating(self, loss: float, draw: np.random.Generator, because: str) -> Stated:
        rating = round(5 - 4 * loss)
        if draw.random() < self.error_rate:
            rating += 1 if rating == 1 else -1
        return Stated(str(rating), float(rating), 1.0, "simulated", because)

    def _vote(self, part: Part, loss: float, draw: np.random.Generator, because: str) -> Stated:
        """The k-th of a dimension's six questions fails once the damage exceeds (k + 1/2) / 6."""
        number = part.question_id.rpartition(".")[2]
        place = (int(number) - 1) % PER_DIMENSION if number.isdigit() else 0
        passes = loss <= (place + 0.5) / PER_DIMENSION
        if draw.random() < self.error_rate:
            passes = not passes
        yes = passes == (part.polarity == "positive")
        return Stated("yes" if yes else "no", float(yes), 1.0, "simulated", because)

    def _probability(self, part: Part, loss: float, draw: np.random.Generator, because: str) -> Stated:
        right = GOOD - (2 * GOOD - 1) * loss + NOISE * draw.standard_normal()
        if draw.random() < self.error_rate:
            right = 1 - right
        p_yes = float(np.round(np.clip(right if part.polarity == "positive" else 1 - right, 0.01, 0.99), 4))
        return Stated("yes" if p_yes >= 0.5 else "no", p_yes, max(p_yes, round(1 - p_yes, 4)), "simulated", because)

    def _draw(self, question: Question, part: Part, repeat: int) -> np.random.Generator:
        seed = sha256_json([self.seed, question.clip.key, question.task, part.question_id, repeat])
        return np.random.default_rng(int(seed[:16], 16))

    def _bank(self, question: Question) -> str:
        """24 fixed questions about the clip's object, instead of generated ones."""
        named = subject_name(question.clip)
        rows = [
            {
                "ID": number,
                "Dimension": entry["dimension"],
                "Dimension Polarity": entry["polarity"].capitalize(),
                "Question": entry["text"].replace("{{object}}", named),
            }
            for number, entry in enumerate(load_catalogue("lookback_vqa.v1")["questions"], start=1)
        ]
        return json.dumps(rows, ensure_ascii=False)


def _refuse(question: Question, reason: Reason, detail: str) -> Reply:
    return Reply("", stated={}, refused={part.question_id: (str(reason), detail) for part in question.parts})
