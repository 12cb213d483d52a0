"""The exceptions of the package, and the typed reasons why a value is missing.

`LookbackError` is a user's mistake or a broken input: its message says what, where and what to do, and the command line prints
it as one sentence. `NotScorable` is not a mistake: a clip cannot be scored, and the table holds the reason instead of a value.
"""

from __future__ import annotations

import errno
import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

from lookback.hiding import HIDDEN, hide, is_secret

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


class Reason(StrEnum):
    """Why a value is missing. Every table row has a value or one of these."""

    NOT_APPLICABLE = "not_applicable"  # the metric does not apply to this clip's setting or subset
    NOT_TRIGGERED = "not_triggered"  # the memory challenge never happened (MBench trigger)
    MISSING_INPUT = "missing_input"  # a file or field the metric needs is not there
    INVALID_INPUT = "invalid_input"  # the input exists but is invalid (NaN pose, wrong shape)
    DECODE_FAILED = "decode_failed"  # the video cannot be read
    TOO_SHORT = "too_short"  # fewer frames than the measure needs
    LENGTH_MISMATCH = "length_mismatch"  # two sequences that must be equally long are not
    SIZE_MISMATCH = "size_mismatch"  # two images that must be equally large are not
    TOO_FEW_MATCHES = "too_few_matches"  # not enough correspondences
    LOW_TEXTURE = "low_texture"  # nothing to track
    CUT = "cut"  # a shot boundary breaks the geometry
    NO_PARALLAX = "no_parallax"  # translation cannot be observed
    NO_POSES = "no_poses"  # no camera path for this clip
    UNTRUSTED_PATH = "untrusted_path"  # the camera path does not explain how the picture moves
    NO_MASK = "no_mask"  # the entity was never found
    NO_FACE = "no_face"  # no face was found
    NO_DEPTH = "no_depth"  # no depth for this clip
    NO_PHASES = "no_phases"  # no d_start / r_start for this clip
    NO_OOV = "no_oov"  # the subject was never out of view
    NO_RETURN = "no_return"  # it left and never came back
    NO_INITIAL_JUDGEABLE = "no_initial_judgeable"  # it could not be judged before it left
    PROBE_MISSING = "probe_missing"  # one probe of a dimension has no answer
    JUDGE_UNPARSED = "judge_unparsed"  # the judge's answer could not be read
    JUDGE_TRUNCATED = "judge_truncated"  # the judge's answer was cut off at its token limit
    JUDGE_FAILED = "judge_failed"  # the judge could not be reached or refused
    NEEDS_JUDGE = "needs_judge"  # only somebody who understands the scene can tell, and nobody was asked
    TOO_CLOSE = "too_close"  # the evidence speaks for both answers alike
    UNPROVEN = "unproven"  # the measure was not seen to beat chance on real clips
    BUDGET_SPENT = "budget_spent"  # the call or cost budget ended before this question
    BACKEND_UNAVAILABLE = "backend_unavailable"  # the model this needs is not installed here
    BACKEND_FAILED = "backend_failed"  # the model is installed but raised an error
    UNDEFINED = "undefined"  # the formula has no value here (0/0, constant input)
    TOO_FEW_VALUES = "too_few_values"  # a statistic of fewer values than it needs
    SEPARATED = "separated"  # one group won or lost everything: the estimate is infinite
    DISCONNECTED = "disconnected"  # groups that were never compared: no common scale


def hint(name: str, known: Iterable[str], what: str = "known") -> str:
    """The end of an error about an unknown name: the most similar name, or all names."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean '{near[0]}'?" if near else f"{what}: {', '.join(names)}"


def brief(value: object, name: str = "") -> str:
    """A value as an error message shows it: short, and never a secret key. `name` is the field that held the value."""
    return HIDDEN if is_secret(name) else _Brief().repr(value)


class _Brief(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 2, 60, 60, 60

    def repr_str(self, x: str, level: int) -> str:
        return HIDDEN if is_secret("", x) else super().repr_str(x, level)

    def repr_dict(self, x: dict[object, object], level: int) -> str:
        return super().repr_dict({name: HIDDEN if is_secret(name) else value for name, value in x.items()}, level)


class LookbackError(Exception):
    """Base of every error a user can cause or meet; `exit_code` is what the command line returns."""

    exit_code = 1

    def __str__(self) -> str:
        """The message, wherever it is shown or stored, without any secret that a path, an address or a server put into it."""
        return hide(super().__str__())


class UsageError(LookbackError):
    """The call itself is wrong: an unknown name, an impossible combination, a missing argument."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter file or value does not validate."""


class ContractError(LookbackError):
    """The data broke a contract: a schema, a layout, a file format."""


class CannotWrite(LookbackError):
    """A file could not be written (a full disk, no permission). It stops the work and is never a clip's reason."""


class MediaError(LookbackError):
    """A video or image cannot be read; `reason` is the typed reason for the tables."""

    def __init__(self, message: str, reason: Reason = Reason.DECODE_FAILED):
        super().__init__(message)
        self.reason = reason


class BackendUnavailable(LookbackError):
    """A backend's package, weights or endpoint is not there; `remedy` is the command or file that changes this."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(f"{message}. {remedy}" if remedy else message)
        self.remedy = remedy


class StageError(LookbackError):
    """A stage's notebook failed; the message names stage, cell and cause."""


class NotScorable(Exception):
    """This input has no score; a stage turns it into a row with `reason` (and `detail` for a person)."""

    def __init__(self, reason: Reason | str, detail: str = ""):
        self.reason = Reason(reason)
        self.detail = detail = hide(detail)
        super().__init__(f"{self.reason}: {detail}" if detail else str(self.reason))
