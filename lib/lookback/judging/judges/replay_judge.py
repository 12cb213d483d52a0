"""Replays recorded answers. It needs no network, no key and no model, and gives the same tables byte for byte."""

from __future__ import annotations

from lookback.errors import Reason
from lookback.judging.frames import Encoding
from lookback.judging.judges.base import Judge
from lookback.judging.question import JudgeError, Question, Reply
from lookback.judging.recording import Failure, Identity, Recording, call_key
from lookback.registry import JUDGES, Availability, judge


@judge(name="replay", title="answers recorded by an earlier run")
class ReplayJudge(Judge):
    """Takes the place of the judge that made the recording. A question that was not recorded stays without an answer."""

    costs = True

    def __init__(self, identity: Identity, recording: Recording, encoding: Encoding):
        self.identity = identity
        self.recording = recording
        self.encoding = encoding

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    def unable(self, question: Question) -> str:
        recorded = JUDGES.get(self.identity.name)
        return recorded.build.unable(question) if recorded.tasks else ""  # type: ignore[attr-defined]

    def samples(self, question: Question, first: Reply | None) -> int:
        """What the recorded judge did after its plain call. The asker finds samples that have no plain call."""
        decided = first is None or first.logprobs is not None or first.stated is not None
        return 0 if decided else self.identity.samples(question)

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        known = self.recording.get(call_key(self.identity, question, self.encoding, sample, repeat))
        if isinstance(known, Failure):
            raise JudgeError(known.reason, known.detail)
        raise JudgeError(Reason.MISSING_INPUT, "no answer to this question was recorded")
