"""The annotation desk: studies with people, from the papers' ready forms to votes that `lookback agreement` reads."""

from lookback.desk.book import VoteBook
from lookback.desk.items import Item, Question
from lookback.desk.settings import Settings, load_settings
from lookback.desk.study import Study

__all__ = ["Item", "Question", "Settings", "Study", "VoteBook", "load_settings"]
