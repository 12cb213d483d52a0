"""Which judges a run uses: the scorer, the gate (another judge), and judges for comparison; or a recording of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lookback.errors import BackendUnavailable, UsageError
from lookback.judging.frames import Encoding
from lookback.judging.judges.base import Judge, JudgeContext
from lookback.judging.judges.replay_judge import ReplayJudge
from lookback.judging.recording import Identity, Recording
from lookback.params.stages import Judging
from lookback.registry import JUDGES

UNAVAILABLE = "unavailable"  # a setting in a recorded identity: why this judge could not be built


@dataclass(frozen=True)
class Seat:
    """A judge in its role. Where it cannot be built here, `judge` is None and `why` gives the reason."""

    role: str  # scorer, gate, also:<name>
    name: str
    judge: Judge | None
    why: str = ""

    @property
    def identity(self) -> Identity:
        return self.judge.identity if self.judge is not None else Identity(self.name, self.name)

    @property
    def label(self) -> str:
        return self.identity.label


@dataclass(frozen=True)
class Panel:
    """The judges of a run, by role."""

    seats: dict[str, Seat] = field(default_factory=dict)

    def judge(self, role: str) -> Seat | None:
        return self.seats.get(role)

    def for_task(self, role: str) -> list[Seat]:
        """The judges that are asked a task of this role: the role's own first, then those for comparison; each judge once."""
        others = [seat for name, seat in self.seats.items() if name.startswith("also:")]
        if role == "witness":
            chosen = [
                seat for seat in self.seats.values() if seat.judge is not None and JUDGES.get(seat.judge.identity.name).measures
            ]
        else:
            chosen = [seat for seat in (self.seats.get(role), *others) if seat is not None]
        unique: dict[str, Seat] = {}
        for seat in chosen:
            unique.setdefault(seat.judge.identity.label if seat.judge is not None else seat.name, seat)
        return list(unique.values())


def check_scorer(params: Judging) -> None:
    """Raise before any work is done if the chosen judge of frames lacks a model or an endpoint."""
    if params.judge != "none" and JUDGES.get(params.judge).looks:
        JUDGES.get(params.judge).build(JudgeContext(params, params.model))


def build_panel(params: Judging, context: JudgeContext, recording: Recording, encoding: Encoding) -> Panel:
    """The judges that the parameters name. The recording stores the identity of each."""
    if params.judge == "none":
        return Panel()
    if params.judge == "replay":
        return _replayed(recording, encoding)
    seats: dict[str, Seat] = {}
    built: dict[tuple[str, str], Seat] = {}
    gate = params.gate_judge or ("simulated" if JUDGES.get(params.judge).simulated else "geometric")
    wanted = [("scorer", params.judge, params.model), ("gate", gate, params.gate_model or params.model)]
    wanted += [(f"also:{name}", name, params.model) for name in params.also]
    for role, name, model in wanted:
        if name == "none":
            continue
        if name == "replay":
            raise UsageError(
                f"judging.{role.partition(':')[0]}: replay replaces all judges of a run; set judging.judge to replay instead"
            )
        key = (name, model if JUDGES.get(name).looks else "")
        if key not in built:
            built[key] = _seat(role, name, model, context)
        seats[role] = Seat(role, name, built[key].judge, built[key].why)
    if _same_model(seats):
        both = f"both are {seats['gate'].name}"
        raise UsageError(
            f"The re-observation gate must be another judge than the scorer ({both}); set judging.gate_judge or gate_model"
        )
    for role, seat in seats.items():
        absent = Identity(seat.name, seat.name, settings={UNAVAILABLE: seat.why})
        recording.set_judge(role, absent if seat.judge is None else seat.judge.identity)
    return Panel(seats)


def _seat(role: str, name: str, model: str, context: JudgeContext) -> Seat:
    try:
        return Seat(role, name, JUDGES.get(name).build(replace(context, model=model)))
    except BackendUnavailable as error:
        if role == "scorer":
            raise
        return Seat(role, name, None, str(error))


def _same_model(seats: dict[str, Seat]) -> bool:
    scorer, gate = seats.get("scorer"), seats.get("gate")
    if scorer is None or gate is None or scorer.judge is None or gate.judge is None or not JUDGES.get(scorer.name).looks:
        return False
    return scorer.judge.identity.label == gate.judge.identity.label


def _replayed(recording: Recording, encoding: Encoding) -> Panel:
    judges = recording.judges()
    if not judges:
        raise UsageError(f"The recording {recording.path} names no judge; record a run first with another judging.judge")
    seats = {}
    for role, who in judges.items():
        why = (who.settings or {}).get(UNAVAILABLE)
        seats[role] = Seat(role, who.name, None, why) if why else Seat(role, who.name, ReplayJudge(who, recording, encoding))
    return Panel(seats)
