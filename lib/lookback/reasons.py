"""From an error to the typed reason why a clip has no score."""

from __future__ import annotations

from lookback.errors import FULL_DISK, BackendUnavailable, CannotWrite, LookbackError, MediaError, NotScorable, Reason
from lookback.extras import why_not_imported


def not_scorable(error: Exception) -> NotScorable:
    """The typed reason for an error inside a metric or a backend. A full disk is not their fault: its error is raised again."""
    if isinstance(error, CannotWrite) or (isinstance(error, OSError) and error.errno in FULL_DISK):
        raise error
    if isinstance(error, NotScorable):
        return error
    if isinstance(error, MediaError):
        return NotScorable(error.reason, str(error))
    if isinstance(error, ImportError):
        error = why_not_imported(error) or error
    if isinstance(error, BackendUnavailable):
        return NotScorable(Reason.BACKEND_UNAVAILABLE, str(error))
    if isinstance(error, LookbackError):
        return NotScorable(Reason.INVALID_INPUT, str(error))
    return NotScorable(Reason.BACKEND_FAILED, f"{type(error).__name__}: {error}")
