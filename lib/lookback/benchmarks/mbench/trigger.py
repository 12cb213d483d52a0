"""MBench's trigger: did the generated video enter the memory challenge of its subset? Text-conditioned only (appendix B.2)."""

from __future__ import annotations

from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, captions, compose, footage, register, subject

SUBSETS = ("human", "object", "environment", "causal")
QUESTION_ID = "trigger"


def applies(clip: Clip) -> bool:
    """MBench-T in one of the four subsets; MBench-A is never gated."""
    return clip.benchmark == "mbench" and clip.setting == "T" and clip.subset in SUBSETS


def questions(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One binary question over uniformly sampled frames and the caption segments."""
    prompt = load_prompt(f"mbench_trigger_{clip.subset}.v1")
    part = Part(QUESTION_ID, next(line for line in prompt.user.splitlines() if line.startswith("Does the video actually create")))
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, "trigger", prompt.version, (part,), error.reason, error.detail)]
    named = {"object": subject(clip)} if clip.subset == "object" else {}
    return [compose(clip, "trigger", prompt, "decision", (part,), shown, shown.uniform(sampling), captions=captions(clip), **named)]


register(Task("trigger", "MBench-T trigger, one question per subset", "scorer", applies, questions))
