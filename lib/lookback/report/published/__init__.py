"""The report of `RUN=published`: the papers' printed tables, their claims checked, rank intervals, benchmarks compared."""

from lookback.report.published.build import PublishedReport

__all__ = ["PublishedReport"]
