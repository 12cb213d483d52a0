"""Stage 40: ask the judges, write `judgements`, and gate the items into `gated`."""

from __future__ import annotations

import pandas as pd

from lookback.clips import clips_from_frame
from lookback.figures import save_figure
from lookback.files import write_json, write_text
from lookback.judging.asking import Budget
from lookback.judging.frames import Encoding, FrameSource
from lookback.judging.gate import gate_items, judged_items, trigger_verdicts
from lookback.judging.judges.base import JudgeContext, artifact_loader
from lookback.judging.panel import build_panel
from lookback.judging.quality.report import judging_figures, write_quality
from lookback.judging.recording import CACHE, Recording, recordings_folder
from lookback.judging.run import Session
from lookback.judging.spreading import spread_panel
from lookback.judging.verdicts import clip_verdicts
from lookback.params import RunParams
from lookback.registry import BENCHMARKS
from lookback.tables import read_table, write_table


def judging(params: RunParams) -> dict[str, pd.DataFrame]:
    """Ask all questions of the run; writes `judgements` and `gated`, and the number and cost of the calls beside them."""
    wanted, folder = params.judging, params.paths.tables
    clips, artifacts, items = (read_table(folder, name) for name in ("clips", "artifacts", "items"))
    truth, ratings = (read_table(folder, name) if (folder / f"{name}.parquet").is_file() else None for name in ("truth", "ratings"))
    encoding = Encoding(wanted.image_side, wanted.jpeg_quality)
    context = JudgeContext(
        wanted,
        wanted.model,
        params.seed,
        params.device,
        params.extraction.allow_download,
        artifact_loader(params.paths.artifacts, artifacts),
        truth,
        FrameSource(encoding),
    )
    budget = Budget(
        wanted.max_calls, wanted.max_cost, wanted.price_per_call, wanted.price_per_million_input, wanted.price_per_million_output
    )
    replayed = wanted.judge == "replay"
    everything = clips_from_frame(clips)
    with Recording(recordings_folder(params), read_only=replayed) as recording:
        panel = spread_panel(build_panel(wanted, context, recording, encoding), params, context)
        session = Session(wanted, panel, recording, budget, encoding, params.seed)
        judgements = write_table(folder, "judgements", session.judge(everything))
        usage = {"calls": budget.calls, "cost": round(budget.cost, 6), "recorded_calls": len(recording.calls())}
        calls = recording.calls()
    verdicts = clip_verdicts(judgements, session.counted)
    judged = judged_items(params, everything, verdicts, session.why_not())
    complete = pd.concat([frame for frame in (items, judged) if len(frame)]) if len(items) or len(judged) else items
    triggers = {} if wanted.ignore_trigger else trigger_verdicts(verdicts)
    gated = write_table(folder, "gated", gate_items(complete, triggers))
    # not a table: how long a judge took differs from run to run
    write_json(params.paths.root / CACHE / "usage.json", usage)
    further: dict[str, pd.DataFrame] = {}
    for benchmark in BENCHMARKS:
        further |= benchmark.quality_tables(session)
        for name, text in benchmark.judging_files(session).items():
            write_text(folder / "judging" / name, text)
    write_quality(params, judgements, calls, clips, ratings=ratings, truth=truth, further=further)
    for name, (figure, caption) in judging_figures(judgements, ratings).items():
        save_figure(figure, params.paths.figures / "judging", name, caption)
    return {"judgements": judgements, "gated": gated}
