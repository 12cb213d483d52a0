"""Turn human votes into the papers' agreement tables: import, check, plan, analyse, draw."""

from lookback.agreement.analyse import analyse
from lookback.agreement.importers import read_ratings
from lookback.agreement.plan import Plan, load_plan
from lookback.agreement.save import save_tables
from lookback.agreement.scores import judge_scores, read_scores
from lookback.agreement.validation import check_ratings

__all__ = ["Plan", "analyse", "check_ratings", "judge_scores", "load_plan", "read_ratings", "read_scores", "save_tables"]
