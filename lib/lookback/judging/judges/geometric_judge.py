"""The model-free judge: trigger and support decisions from poses and masks, offline, each with a sentence a person can check."""

from __future__ import annotations

from collections.abc import Mapping

from lookback.artifacts import Artifact, Masks, People, PoseTrack
from lookback.clips import Clip
from lookback.errors import NotScorable, Reason
from lookback.judging.geometry.camera_path import CameraPath, camera_path
from lookback.judging.geometry.decisions import Decision, decide, reobserved_predicates, trigger
from lookback.judging.geometry.visibility import Visibility, detections_timeline, visibility
from lookback.judging.judges.base import JudgeContext
from lookback.judging.question import SECOND, Question, Reply, Stated
from lookback.judging.recording import Identity
from lookback.registry import Availability, judge

TASKS = ("trigger", "judgeability", "timeline")


@judge(name="geometric", title="poses and masks, no model", tasks=TASKS, measures=True)
class GeometricJudge:
    """Answers what a camera path and a mask track decide: did it leave, did it come back, can it be judged."""

    costs = False

    def __init__(self, context: JudgeContext):
        self.artifacts = context.artifacts
        self.identity = Identity("geometric", "geometric", version="1")

    @staticmethod
    def available() -> Availability:
        return Availability(True)

    @staticmethod
    def unable(question: Question) -> str:
        if question.task in TASKS:
            return ""
        return f"the geometric judge sees poses and masks, not pixels: '{question.task}' needs a judge that sees the frames"

    def samples(self, question: Question, first: Reply | None) -> int:
        return 0

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
            said = "yes" if decision.yes else "no"
            stated[part.question_id] = Stated(said, decision.p_yes, decision.confidence, "geometry", decision.because)
        return Reply(" ".join(dict.fromkeys(said.because for said in stated.values())), stated=stated, refused=refused)

    async def close(self) -> None:
        return None

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
    """The camera path and the subject's visibility of a clip, from whichever artifacts it has."""
    if clip.fps is None:
        raise NotScorable(Reason.MISSING_INPUT, "the clip carries no frame rate; give its fps in the dataset")
    camera, poses = None, PoseTrack.among(found)
    if poses is not None and clip.width and clip.height:
        seconds = poses.frame_index / clip.fps
        size = (clip.width, clip.height)
        camera = camera_path(poses.c2w, poses.intrinsics, size, seconds, poses.confidence, poses.has_translation)
    return camera, _subject(clip, Masks.among(found), People.among(found))


def _subject(clip: Clip, masks: Masks | None, people: People | None) -> Visibility | None:
    """The mask track; for people also where anybody was found, because a person who returns changed is still a person."""
    fps, track, found = float(clip.fps or 0), None, None
    if masks is not None:
        track = visibility(masks.state, masks.area, masks.confidence, masks.frame_index / fps)
    if people is not None and clip.n_frames and (clip.subset == "human" or track is None):
        found = detections_timeline(people.frame_index, people.state, people.area, people.confidence, clip.n_frames, fps)
    if track is not None and found is not None and len(track.seconds) == len(found.seconds):
        return track.joined(found)
    return track or found


def timeline(camera: CameraPath | None, subject: Visibility | None) -> dict[str, Decision]:
    """The plain facts of a clip, for the gate funnel and the report."""
    facts: dict[str, Decision] = {}
    if camera is not None:
        sentence = camera.describe()
        facts["camera_inactive"] = decide(camera.inactive, camera.confidence, sentence)
        facts["camera_departed"] = decide(camera.departed, camera.confidence, sentence)
        facts["camera_returned"] = decide(camera.returned, camera.confidence, sentence)
    if subject is not None:
        sentence = subject.describe()
        facts["subject_hidden"] = decide(subject.hidden is not None, subject.confidence, sentence)
        facts["subject_returned"] = decide(subject.back_at is not None, subject.confidence, sentence)
        judgeable = reobserved_predicates(subject, camera)["D6_unidentifiable"]
        facts["return_judgeable"] = decide(subject.back_at is not None and not judgeable.yes, subject.confidence, sentence)
    return facts
