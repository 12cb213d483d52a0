"""Who rates what: planned numbers of raters, equal loads, shared items, for several rosters, late joiners and drop-outs."""

from collections import Counter
from itertools import combinations

import pytest
from lookback.desk.assignment import Standing, deal


def units(count: int, size: int = 1) -> dict[str, int]:
    return {f"item {number}": size for number in range(count)}


def people(count: int) -> list[str]:
    return [f"person {number}" for number in range(count)]


def raters_of(dealt) -> Counter:
    return Counter(unit for own in dealt.units.values() for unit in own)


@pytest.mark.parametrize(
    ("items", "crowd", "raters"), [(60, 2, 2), (60, 5, 3), (210, 7, 3), (90, 4, 2), (37, 5, 2), (300, 22, 3), (12, 9, 3), (5, 3, 1)]
)
def test_every_item_gets_its_raters_every_person_the_same_load_and_every_two_share_items(items, crowd, raters):
    dealt = deal(units(items), raters, people(crowd))
    assert set(raters_of(dealt).values()) == {raters} and len(raters_of(dealt)) == items and not dealt.lacking
    assert all(len(own) == len(set(own)) for own in dealt.units.values())
    loads = [len(own) for own in dealt.units.values()]
    assert max(loads) - min(loads) <= 1
    # a balanced incomplete block design shares lambda = n r (r - 1) / (N (N - 1)) items between any two people
    balanced = items * raters * (raters - 1) / (crowd * (crowd - 1))
    for one, other in combinations(dealt.units.values(), 2):
        assert abs(len(set(one) & set(other)) - balanced) < 2


@pytest.mark.parametrize(("items", "crowd", "raters", "shared"), [(100, 6, 3, 20), (90, 4, 2, 15)])
def test_where_a_balanced_design_exists_it_is_met_exactly(items, crowd, raters, shared):
    dealt = deal(units(items), raters, people(crowd))
    assert {len(set(one) & set(other)) for one, other in combinations(dealt.units.values(), 2)} == {shared}


def test_the_same_seed_deals_the_same_and_another_seed_does_not():
    assert deal(units(30), 2, people(4), seed=1) == deal(units(30), 2, people(4), seed=1)
    assert deal(units(30), 2, people(4), seed=1).units != deal(units(30), 2, people(4), seed=2).units


def test_too_few_people_leave_a_stated_gap():
    dealt = deal(units(10), 3, people(2))
    assert set(raters_of(dealt).values()) == {2} and set(dealt.lacking.values()) == {1} and len(dealt.lacking) == 10
    assert deal(units(4), 2, []).lacking == dict.fromkeys(units(4), 2)


def test_a_late_joiner_takes_over_open_work_until_all_loads_are_equal():
    first = deal(units(60), 2, people(3))
    done = {unit: {name for name, own in first.units.items() if unit in own[:10]} for unit in units(60)}
    again = deal(units(60), 2, people(4), Standing(done))
    loads = Counter(name for names in done.values() for name in names) + Counter({n: len(own) for n, own in again.units.items()})
    assert max(loads.values()) - min(loads.values()) <= 1 and sum(loads.values()) == 120
    total = raters_of(again) + Counter({unit: len(names) for unit, names in done.items()})
    assert set(total.values()) == {2}
    assert not any(name in done[unit] for name, own in again.units.items() for unit in own)


def test_what_a_drop_out_left_open_goes_to_the_others_and_the_votes_count():
    first = deal(units(60), 2, people(4))
    left = {"person 0": first.units["person 0"][:7]}  # answered before leaving
    kept = {unit: {"person 0"} for unit in left["person 0"]}
    again = deal(units(60), 2, people(4)[1:], Standing(kept))
    total = raters_of(again) + Counter({unit: len(names) for unit, names in kept.items()})
    assert set(total.values()) == {2} and not again.lacking
    assert "person 0" not in again.units


def test_a_skipped_item_goes_to_somebody_else():
    dealt = deal(units(6), 2, people(3), Standing(closed={"item 1": {"person 0"}}))
    assert "item 1" not in dealt.units["person 0"] and raters_of(dealt)["item 1"] == 2


def test_a_survey_version_stays_whole_and_each_person_gets_one():
    versions = {f"version {number}": 24 for number in range(1, 5)}
    dealt = deal(versions, 7, people(30), most=1)
    assert all(len(own) <= 1 for own in dealt.units.values())
    assert set(raters_of(dealt).values()) == {7} and not dealt.lacking
