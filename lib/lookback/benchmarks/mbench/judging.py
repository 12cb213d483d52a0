"""MBench's questions: the trigger (did the video enter the memory challenge of its subset?) and two ratings from 1 to 5."""

from __future__ import annotations

from functools import partial

from lookback.benchmarks.mbench.benchmark import SUBSETS
from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, captions, compose, footage, register, subject

QUESTION_ID = "trigger"
RATINGS = {
    "state_progress": "How far is the unseen process actuated when the subject re-enters (1 to 5)?",
    "progress_correctness": "How well does the progression obey physical laws (1 to 5)?",
}


def asks_trigger(clip: Clip) -> bool:
    """MBench-T in one of the four subsets (appendix B.2); MBench-A is never gated."""
    return clip.benchmark == "mbench" and clip.setting == "T" and clip.subset in SUBSETS


def trigger_questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One binary question over uniformly sampled frames and the caption segments."""
    prompt = load_prompt(f"mbench_trigger_{clip.subset}.v1")
    part = Part(QUESTION_ID, prompt.question)
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, "trigger", prompt.version, (part,), error.reason, error.detail)]
    named = {"object": subject(clip)} if clip.subset == "object" else {}
    return [compose(clip, "trigger", prompt, "decision", (part,), shown, shown.uniform(sampling), captions=captions(clip), **named)]


def asks_ratings(clip: Clip) -> bool:
    """The causal subset of both settings (section 4.4.1)."""
    return clip.benchmark == "mbench" and clip.subset == "causal"


def rating_questions(task: str, clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One rating over uniformly sampled frames."""
    prompt, part = load_prompt(f"mbench_{task}.v1"), Part(task, RATINGS[task])
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, task, prompt.version, (part,), error.reason, error.detail)]
    return [compose(clip, task, prompt, "rating", (part,), shown, shown.uniform(sampling), event=captions(clip))]


register(Task("trigger", "MBench-T trigger, one question per subset", "scorer", asks_trigger, trigger_questions))
for name, title in (("state_progress", "state progress"), ("progress_correctness", "progress correctness")):
    register(Task(name, f"MBench {title}, 1 to 5", "scorer", asks_ratings, partial(rating_questions, name)))
