"""Freeze a plan, log its amendments, and say what is known about the order of plan and votes.

`<plan>.frozen.json` lies beside the plan. It holds the plan's content and hash, the time of this machine's clock, the hashes of the
study's files that existed already, and every later amendment. The tool cannot know what people saw elsewhere, so it says only what
these hashes show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import lookback
from lookback.agreement.looks import NOT_COUNTED, Look
from lookback.agreement.plan import Estimand, Plan, canonical_hash, load_plan
from lookback.errors import ContractError, UsageError, brief
from lookback.files import sha256_file, write_json
from lookback.names import listing, one_line
from lookback.paths import frozen_file

Record = dict[str, Any]
STEP = ("time", "plan_hash", "plan", "present", "because", "changes")  # what a step's hash is about
ABSENT = "nothing"  # in place of the value of a key that is not there


@dataclass(frozen=True)
class Standing:
    """What is known about a plan: `words` for the readings, `amendments` for the line under every table."""

    words: str
    frozen_at: str = ""
    amendments: tuple[str, ...] = ()
    order: str = ""  # whether the votes were there when it was frozen
    look: Look | None = None

    @property
    def footnote(self) -> str:
        """The part of every table's footnote that tells when the plan was frozen, how it changed since, and which look this is."""
        look = self.look.footnote if self.look else NOT_COUNTED
        if not self.frozen_at:
            return f"plan not frozen; {look}"
        log = "; ".join(self.amendments) if self.amendments else "no amendment"
        return f"plan frozen {self.frozen_at}, {self.order}; {log}; {look}"


def freeze(path: Path, because: str = "") -> str:
    """Freeze the plan, or record an amendment when the frozen plan differs. Returns a sentence about what was written."""
    plan, target = load_plan(path), frozen_file(path)
    present = _present(plan, path.parent)
    if not target.exists():
        entry = _hashed(_entry(plan, present))
        write_json(target, {"lookback": lookback.__version__, "plan_file": path.name, **entry, "amendments": []})
        return f"frozen {entry['time']} as {target.name}, plan {plan.hash[:16]}. {_seen(present, plan)}"
    record = read_frozen(target)
    changes = differences(_newest(record)["plan"], plan)
    if not changes:
        return f"{target.name} holds this plan already, frozen {record['time']}; nothing was written"
    if not because.strip():
        raise UsageError(
            f"{path.name} differs from the plan that was frozen {record['time']}: {_listed(changes)}; "
            'record the change with --because "the reason", or restore the plan'
        )
    entry = _hashed(_entry(plan, present) | {"because": one_line(because.strip()), "changes": changes})
    write_json(target, {**record, "amendments": [*record["amendments"], entry]})
    return f"amendment {len(record['amendments']) + 1} recorded in {target.name}: {_listed(changes)}. {_seen(present, plan)}"


def standing(path: Path, votes: Sequence[Path], look: Look | None = None) -> Standing:
    """What the frozen record of this plan shows about these files of votes. A change without an amendment is an error."""
    target, seen = frozen_file(path), f" {look.words}" if look else ""
    if not target.exists():
        words = "The plan was not frozen before this analysis, so nothing shows that it came before the votes."
        return Standing(words + seen, look=look)
    record, plan = read_frozen(target), load_plan(path)
    changes = differences(_newest(record)["plan"], plan)
    if changes:
        raise ContractError(
            f"{path.name} differs from the plan frozen {record['time']} ({target.name}): {_listed(changes)}; restore it, or "
            f'record the change: lookback study freeze {path.name} --because "the reason"'
        )
    log = tuple(
        f"amendment {number} ({entry['time']}, {_order(entry, votes)[0]}): {_listed(entry['changes'])}, because {entry['because']}"
        for number, entry in enumerate(record["amendments"], start=1)
    )
    words = " ".join(
        f"When {what} ({entry['time']}, this machine's clock), {_order(entry, votes)[1]}." for what, entry in _steps(record)
    )
    words += f" The tool cannot know more than this.{seen}"
    return Standing(words, record["time"], log, _order(record, votes)[0], look)


def read_frozen(path: Path) -> Record:
    """The frozen record; one that was edited by hand or cut off is an error.

    Each plan is held to its hash as it was written, so that records of an older lookback, whose plans had fewer keys, still open;
    those without a hash of their entries are held to the hashes of their plans alone. No hash stops somebody who computes it anew.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for _, entry in _steps(record):
            if canonical_hash(entry["plan"]) != entry["plan_hash"]:
                raise ContractError(
                    f"{path.name}: a plan in it does not have the hash beside it: it was changed by hand; restore it"
                )
            if not isinstance(entry["time"], str) or not isinstance(entry["present"], dict):
                raise TypeError("time or present")
            if entry.get("entry_hash", _entry_hash(entry)) != _entry_hash(entry):
                raise ContractError(f"{path.name}: an entry does not have the hash in it: it was changed by hand; restore it")
        return dict(record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        raise ContractError(f"{path.name} is not a readable frozen plan ({problem}); restore it from a copy") from None


def differences(before: Record, plan: Plan) -> dict[str, list[str]]:
    """The keys in which a recorded plan differs from this one, with both values; defaults are compared too.

    A key that the record does not have, since its lookback did not know it, differs only where it is not at its default. Analyses
    that lookback no longer makes count as not asked for.
    """
    asked = [name for name in before.get("estimands", ()) if name in get_args(Estimand)]
    old, new = _flat({**before, "estimands": asked}), _flat(plan.model_dump(mode="json"))
    chosen = _flat(plan.model_dump(mode="json", exclude_defaults=True))
    changed = [
        key for key in sorted({*old, *new}) if old.get(key, ABSENT) != new.get(key, ABSENT) and (key in old or key in chosen)
    ]
    return {key: [brief(old.get(key, ABSENT)), brief(new.get(key, ABSENT))] for key in changed}


def _flat(value: object, place: str = "") -> dict[str, object]:
    if isinstance(value, dict) and value:
        return {k: v for name, inner in value.items() for k, v in _flat(inner, f"{place}.{name}" if place else str(name)).items()}
    return {place: value}


def _listed(changes: dict[str, list[str]]) -> str:
    return listing([f"{key} from {old} to {new}" for key, (old, new) in changes.items()], 5)


def _entry(plan: Plan, present: dict[str, str]) -> Record:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"time": now, "plan_hash": plan.hash, "plan": plan.model_dump(mode="json"), "present": present}


def _hashed(entry: Record) -> Record:
    return entry | {"entry_hash": _entry_hash(entry)}


def _entry_hash(entry: Record) -> str:
    """sha256 of what one step recorded; the first step is the record itself, without what is about the file."""
    own = {name: entry[name] for name in STEP if name in entry}
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


def _present(plan: Plan, folder: Path) -> dict[str, str]:
    """The study's files that exist, with their hashes."""
    named = (*plan.files.votes, *plan.files.scores, *plan.files.gold)
    return {name: sha256_file(folder / name) for name in named if (folder / name).is_file()}


def _seen(present: dict[str, str], plan: Plan) -> str:
    if not plan.files.votes:
        return "The plan names no file of votes (files: votes: ...), so an analysis cannot say whether votes were there before it."
    return f"Already there: {', '.join(present)}." if present else "None of the study's files was there."


def _newest(record: Record) -> Record:
    return list(_steps(record))[-1][1]


def _steps(record: Record) -> Iterator[tuple[str, Record]]:
    yield "the plan was frozen", record
    for number, entry in enumerate(record["amendments"], start=1):
        yield f"amendment {number} was recorded", entry


def _order(entry: Record, votes: Sequence[Path]) -> tuple[str, str]:
    """What the hashes of one step show about the files of votes: a few words for the tables, and half a sentence."""
    named, present = entry["plan"]["files"]["votes"], entry["present"]
    unknown = "not known whether votes were there"
    if not named:
        return unknown, "it named no file of votes, so it is not known whether votes were there"
    same = [path.name for path in votes if sha256_file(path) in present.values()]
    if same:
        known = f"{', '.join(same)} was already there with the same content: the plan did not come before these votes"
        return "votes already there", known
    other = [name for name in named if name in present]
    if other:
        return "some votes there", f"{', '.join(other)} was there with other content: some votes may have been seen before it"
    unnamed = [path.name for path in votes if path.name not in {Path(name).name for name in named}]
    if unnamed:
        return unknown, f"it did not name {', '.join(unnamed)}, so it is not known whether these votes were there"
    return "votes not there yet", f"{', '.join(named)} was not there"
