"""Stage 50: compare human votes with scores, under the declared plan."""

from __future__ import annotations

import pandas as pd

from lookback.agreement import judge_scores, load_plan, read_ratings, save_tables
from lookback.agreement.analyse import analysed
from lookback.agreement.figures.draw import draw_figures
from lookback.agreement.frozen import Standing, standing
from lookback.agreement.save import save_study
from lookback.agreement.show import STUDY
from lookback.demo.study import analysed_study
from lookback.errors import UsageError
from lookback.judging.recording import scorer
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.scoring.variants import only_chosen
from lookback.tables import check_table, read_table


def agreement(params: RunParams) -> dict[str, pd.DataFrame]:
    """Analyse the run's votes. A run without votes has no tables.

    The demo world has few scenes. A run of it has a simulated study of a real one's size beside it, whose tables are named
    `study/<table>`.
    """
    params.paths.clear("agreement")
    folder = params.paths.tables
    plan = load_plan(resolve(params.agreement.plan))
    ratings = run_ratings(params)
    if ratings.empty:
        return {}
    clips, gated, judgements = (read_table(folder, name) for name in ("clips", "gated", "judgements"))
    counted = judgements[judgements["backend"] == scorer(params)]  # other judges are asked for comparison only
    scores = pd.concat([only_chosen(gated, params), judge_scores(counted)], ignore_index=True)
    analysis = analysed(ratings, scores, plan, clips, standing=known_standing(params), same_run=True)
    tables = analysis.tables
    save_study(analysis, folder / "agreement", resolve(params.agreement.plan))
    draw_figures(tables, params.paths.figures / "agreement")
    if params.curation.world is None:
        return tables
    study = analysed_study(params.seed)
    save_tables(study, folder / "agreement" / STUDY)
    draw_figures(study, params.paths.figures / "agreement", prefix=f"{STUDY}_")
    return {**tables, **{f"{STUDY}/{name}": table for name, table in study.items()}}


def known_standing(params: RunParams) -> Standing | None:
    """What the frozen plan shows about the run's files of votes; nothing for simulated votes, which come after any plan."""
    files = [resolve(path) for path in params.agreement.ratings]
    return standing(resolve(params.agreement.plan), files) if files else None


def run_ratings(params: RunParams) -> pd.DataFrame:
    """The votes: those of the run's files, or the simulated ones of the demo world. Both together are an error."""
    ratings = read_table(params.paths.tables, "ratings")
    files = [check_table("ratings", read_ratings(resolve(path)), where=path) for path in params.agreement.ratings]
    if files and len(ratings):
        raise UsageError("The run has simulated votes of the demo world and files of votes; analyse them in runs of their own")
    return pd.concat(files, ignore_index=True) if files else ratings
