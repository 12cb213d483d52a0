"""MBench's self-evolution ratings from 1 to 5: state progress, and its physical correctness (section 4.4.1)."""

from __future__ import annotations

from lookback.clips import Clip
from lookback.errors import NotScorable
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question, Unasked
from lookback.judging.tasks import Sampling, Task, captions, compose, footage, register

RATINGS = {
    "state_progress": "How far is the unseen process actuated when the subject re-enters (1 to 5)?",
    "progress_correctness": "How well does the progression obey physical laws (1 to 5)?",
}


def applies(clip: Clip) -> bool:
    """The causal subset of both settings."""
    return clip.benchmark == "mbench" and clip.subset == "causal"


def questions(task: str, clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    """One rating over uniformly sampled frames."""
    prompt, part = load_prompt(f"mbench_{task}.v1"), Part(task, RATINGS[task])
    try:
        shown = footage(clip)
    except NotScorable as error:
        return [Unasked(clip, task, prompt.version, (part,), error.reason, error.detail)]
    return [compose(clip, task, prompt, "rating", (part,), shown, shown.uniform(sampling), event=captions(clip))]


def state_progress(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    return questions("state_progress", clip, sampling)


def progress_correctness(clip: Clip, sampling: Sampling) -> list[Question | Unasked]:
    return questions("progress_correctness", clip, sampling)


register(Task("state_progress", "MBench state progress, 1 to 5", "scorer", applies, state_progress))
register(Task("progress_correctness", "MBench progress correctness, 1 to 5", "scorer", applies, progress_correctness))
