"""Does this machine give the numbers that others give? Clips made here, every metric and usable backend, recorded values."""

from lookback.selfcheck.run import Report, record, selfcheck

__all__ = ["Report", "record", "selfcheck"]
