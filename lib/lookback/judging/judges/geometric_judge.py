"""The judge without a model: it decides from poses and masks, offline, and gives a sentence that a person can check."""

from __future__ import annotations

from collections.abc import Mapping

from lookback.artifacts import Artifact, Masks, People, PoseTrack
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.geometry import (
    WEAK,
    CameraPath,
    Decision,
    Visibility,
    camera_decision,
    camera_path,
    decide,
    detections_timeline,
    hidden_prior,
    reobserved_predicates,
    returned_prior,
    subject_decision,
    trigger,
    visibility,
)
from lookback.judging.judges.base import Judge, JudgeContext
from lookback.judging.question import SECOND, Question, Reply, Stated
from lookback.judging.recording import Identity
from lookback.registry import Availability, judge

TASKS = ("trigger", "judgeability", "timeline")


@judge(name="geometric", title="poses and masks, no model", tasks=TASKS, measures=True)
class GeometricJudge(Judge):
    """Answers what a camera path and a mask track can decide: did it leave, did it come back, can it be judged?"""

    costs = False

    def __init__(self, context: JudgeContext):
        self.artifacts = context.artifacts
        self.identity = Identity("geometric", "geometric", version="2")

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    @staticmethod
    def unable(question: Question) -> str:
        if question.task in TASKS:
            return ""
        return f"the geometric judge sees poses and masks, not pixels: '{question.task}' needs a judge that sees the frames"

    async def ask(self, question: Question, sample: int, repeat: int) -> Reply:
        found = self.artifacts(question.clip)
        stated: dict[str, Stated] = {}
        refused: dict[str, tuple[str, str]] = {}
        try:
            decisions = self._decisions(question, *evidence(question.clip, found))
        except NotScorable as error:
            return Reply("", stated={}, refused={part.question_id: (str(error.reason), error.detail) for part in question.parts})
        for part in question.parts:
            decision = decisions.get(part.question_id)
            if decision is None:
                refused[part.question_id] = (str(Reason.MISSING_INPUT), "no poses or masks speak of this")
                continue
            if decision.confidence < WEAK and question.task != "trigger":
                said = f"poses and masks are too weak or contradict each other ({decision.confidence:.2f}): {decision.because}"
                refused[part.question_id] = (str(Reason.UNDEFINED), said)
                continue
            said = "yes" if decision.yes else "no"
            stated[part.question_id] = Stated(said, decision.p_yes, decision.confidence, "geometry", decision.because)
        return Reply(" ".join(dict.fromkeys(said.because for said in stated.values())), stated=stated, refused=refused)

    def _decisions(self, question: Question, camera: CameraPath | None, subject: Visibility | None) -> dict[str, Decision]:
        if question.task == "trigger":
            return {"trigger": trigger(question.clip.subset, camera, subject)}
        if question.task == "timeline":
            return timeline(camera, subject)
        if subject is None:
            raise NotScorable(Reason.NO_MASK, "the subject has no mask track, so that nobody can say when it can be judged")
        if question.expects != "per_second":
            return reobserved_predicates(subject, camera)
        seconds = subject.per_second(len(question.parts))
        sentence = subject.describe()
        return {f"{SECOND}{second:03d}": decide(flag, subject.confidence, sentence) for second, flag in enumerate(seconds)}


def evidence(clip: Clip, found: Mapping[str, Artifact]) -> tuple[CameraPath | None, Visibility | None]:
    """The camera path and the visibility of the subject, as far as the clip has the artifacts for them."""
    if clip.fps is None:
        raise NotScorable(Reason.MISSING_INPUT, "the clip carries no frame rate; give its fps in the dataset")
    camera, poses = None, PoseTrack.among(found)
    if poses is not None and clip.width and clip.height:
        seconds = poses.frame_index / clip.fps
        size = (clip.width, clip.height)
        activity = poses.activity() if poses.motion is not None else None
        camera = camera_path(poses.c2w, poses.intrinsics, size, seconds, poses.confidence, poses.has_translation, activity)
    return camera, _subject(clip, Masks.among(found), People.among(found))


def _subject(clip: Clip, masks: Masks | None, people: People | None) -> Visibility | None:
    """The mask track. For people also every detection of a person, because a person may return with another look."""
    fps, track, found = float(clip.fps or 0), None, None
    if masks is not None:
        track = visibility(masks.state, masks.area, masks.confidence, masks.frame_index / fps)
    if people is not None and clip.n_frames and (clip.subset == "human" or track is None):
        found = detections_timeline(people.frame_index, people.state, people.area, people.confidence, clip.n_frames, fps)
    if track is not None and found is not None and len(track.seconds) == len(found.seconds):
        return track.joined(found)
    return track or found


def timeline(camera: CameraPath | None, subject: Visibility | None) -> dict[str, Decision]:
    """The facts of departure and return, for the gate funnel and the report."""
    facts: dict[str, Decision] = {}
    if camera is not None:
        facts |= {f"camera_{fact}": camera_decision(camera, fact) for fact in ("inactive", "departed", "returned")}
    if subject is not None:
        sentence = subject.describe()
        facts["subject_hidden"] = subject_decision(subject.hidden is not None, hidden_prior(camera), subject, sentence)
        facts["subject_returned"] = subject_decision(subject.back_at is not None, returned_prior(camera), subject, sentence)
        judgeable = reobserved_predicates(subject, camera)["D6_unidentifiable"]
        facts["return_judgeable"] = decide(subject.back_at is not None and not judgeable.yes, subject.confidence, sentence)
    return facts
