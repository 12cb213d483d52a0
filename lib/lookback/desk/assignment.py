"""Who gets which item: every item gets its planned number of raters, every person the same load, every two people shared items.

A unit is an item, or a block of items that stay together. Units are dealt out one by one. A unit goes to the people with the
smallest load; among them to those who share the fewest items with the people who already have it. This keeps loads equal to within
one unit and the number of shared items of any two people nearly equal, as a balanced incomplete block design has it, for any number
of people. It can start from work that is already done, so people may join late or leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lookback.desk.items import ordered


@dataclass(frozen=True)
class Dealt:
    """The new units of each person, and how many raters each unit still lacks."""

    units: Mapping[str, list[str]]
    lacking: Mapping[str, int]


@dataclass(frozen=True)
class Standing:
    """What is fixed already. `kept`: unit -> people who rate it; `closed`: unit -> people who must not get it (they skipped it)."""

    kept: Mapping[str, set[str]] = field(default_factory=dict)
    closed: Mapping[str, set[str]] = field(default_factory=dict)


def deal(
    sizes: Mapping[str, int],
    raters: int,
    people: Sequence[str],
    standing: Standing | None = None,
    most: int | None = None,
    seed: int = 0,
) -> Dealt:
    """Deal out the units (unit -> its number of items) to the active `people`; each gets at most `most` units."""
    standing = standing or Standing()
    table = _Table(sizes, people, standing)
    units: dict[str, list[str]] = {person: [] for person in people}
    lacking = {}
    # units that have raters already come first: they are the hardest to complete
    for unit in sorted(sizes, key=lambda unit: (-len(table.on[unit]), ordered(seed, unit))):
        barred = table.on[unit] | standing.closed.get(unit, set())
        for _ in range(raters - len(table.on[unit])):
            free = [person for person in people if person not in barred and (most is None or table.units[person] < most)]
            if not free:
                break
            chosen = min(table.best(unit, free), key=lambda person: ordered(seed, unit, person))
            table.give(unit, chosen)
            barred = barred | {chosen}
            units[chosen].append(unit)
        if len(table.on[unit]) < raters:
            lacking[unit] = raters - len(table.on[unit])
    return Dealt(units, lacking)


class _Table:
    """Loads and shared items while units are dealt out."""

    def __init__(self, sizes: Mapping[str, int], people: Sequence[str], standing: Standing):
        self.sizes = sizes
        self.load: Counter[str] = Counter()
        self.units: Counter[str] = Counter()
        self.shared: Counter[frozenset[str]] = Counter()
        self.on: dict[str, set[str]] = {unit: set() for unit in sizes}
        for unit, raters in standing.kept.items():
            for person in sorted(raters) if unit in sizes else ():
                self.give(unit, person)

    def best(self, unit: str, free: Sequence[str]) -> list[str]:
        """Those with the smallest load, and among them those who share the fewest items with the unit's raters."""
        load = min(self.load[person] for person in free)
        near = [person for person in free if self.load[person] == load]
        shared = {person: sum(self.shared[frozenset((person, other))] for other in self.on[unit]) for person in near}
        return [person for person in near if shared[person] == min(shared.values())]

    def give(self, unit: str, person: str) -> None:
        for other in self.on[unit]:
            self.shared[frozenset((person, other))] += self.sizes[unit]
        self.on[unit].add(person)
        self.load[person] += self.sizes[unit]
        self.units[person] += 1
