"""Check that this machine gives the recorded numbers: small generated clips, every metric, and every usable backend."""

from lookback.selfcheck.run import Report, record, selfcheck

__all__ = ["Report", "record", "selfcheck"]
