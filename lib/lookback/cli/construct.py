"""`lookback construct`: build a benchmark set from source videos with a vision-language model and human review."""

from __future__ import annotations

from typing import Annotated

import typer

from lookback.cli.choices import looking
from lookback.errors import UsageError
from lookback.names import one_line
from lookback.paths import expanded, shown


def register(app: typer.Typer) -> None:
    app.command()(construct)


def construct(
    videos: Annotated[str, typer.Argument(help="The folder of source videos.")],
    output: Annotated[str, typer.Option(help="The folder for the set: mbench_a, mbench_t, review.csv and the recorded answers.")],
    vlm_judge: Annotated[str, typer.Option(help="A judge that looks at frames: one of {looking}.")] = "openai",
    vlm_model: Annotated[str, typer.Option(envvar="MBENCH_VLM_MODEL")] = "",
    vlm_base_url: Annotated[
        str, typer.Option(help="The server's address. Default: $LOOKBACK_JUDGE_URL, then $MBENCH_VLM_BASE_URL.")
    ] = "",
    n_frames: Annotated[int, typer.Option(help="Frames shown per video.")] = 8,
    max_calls: Annotated[int, typer.Option(help="Stop after this many calls; 0 means no limit.")] = 0,
    review: Annotated[
        bool, typer.Option("--review", help="Ask nobody: apply review.csv and remove what people do not keep.")
    ] = False,
) -> None:
    """Build a benchmark set from source videos: select, describe, divide. Answers are recorded and never asked twice."""
    from lookback.judging.session import asking
    from lookback.registry import BENCHMARKS

    builder = next(found for each in BENCHMARKS if (found := each.constructor()) is not None)
    target = expanded(output)
    if review:
        kept, removed, waiting = builder.apply_review(target)
        print(f"{len(kept)} kept, {len(removed)} removed, {len(waiting)} not reviewed yet")
        return
    if not expanded(videos).is_dir():
        raise UsageError(f"{videos}: there is no such folder of source videos")
    if vlm_judge == "replay" and not (target / "recordings").is_dir():
        raise UsageError(f"{shown(target)} holds no recorded answers: replay repeats an earlier construct into the same --output")
    if vlm_judge in looking() and vlm_judge != "replay" and not vlm_model:
        raise UsageError("No model is named that looks at the videos; give --vlm-model (and --vlm-base-url for a server)")
    judging: dict[str, object] = {
        "judge": vlm_judge,
        "model": vlm_model,
        "base_url": vlm_base_url,
        "max_calls": max_calls or None,
        "also": [],
    }
    with asking(judging, target / "recordings") as ask:
        drafts = builder.construct(expanded(videos), target, ask, n_frames)
    for draft in drafts:
        print(one_line(f"{draft.sample_id}: {draft.problem or f'{draft.subset}, {draft.action}'}"))
    written = sum(not draft.problem for draft in drafts)
    print(f"{written} of {len(drafts)} videos are drafts in {shown(target)}; write yes or no into review.csv, then --review")
