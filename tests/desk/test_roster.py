"""Invitations to the desk: whose link it is, and what lies on disk."""

import stat

import pytest
from lookback.desk.roster import Roster, annotator_name
from lookback.errors import ContractError, UsageError
from lookback.widgets.keys import digest


def test_a_token_is_stored_hashed_where_only_its_owner_reads(tmp_path):
    roster = Roster(tmp_path / "run" / "annotators.json")
    tokens = roster.invite(["ann", "Bób  Lee"])
    assert set(tokens) == {"ann", "Bób Lee"} and len(set(tokens.values())) == 2
    assert stat.S_IMODE(roster.path.stat().st_mode) == 0o600
    text = roster.path.read_text()
    assert not any(token in text for token in tokens.values())
    assert roster.keys() == {digest(token): name for name, token in tokens.items()} and roster.names == ["ann", "Bób Lee"]


def test_a_new_invitation_ends_the_old_link_and_leaves_the_others(tmp_path):
    roster = Roster(tmp_path / "annotators.json")
    first = roster.invite(["ann", "bob"])
    second = roster.invite(["ann"])
    assert dict(roster.keys()) == {digest(second["ann"]): "ann", digest(first["bob"]): "bob"}


@pytest.mark.parametrize("name", ["ANN", " Ann ", "ann\u200b", "\ufeffann", "\uff41nn", "a\u00adnn"])
def test_names_that_look_the_same_are_one_person(tmp_path, name):
    roster = Roster(tmp_path / "annotators.json")
    roster.invite(["ann", "annie"])
    (token,) = roster.invite([name, "ann"]).values()
    assert roster.names == ["ann", "annie"] and roster.keys()[digest(token)] == roster.name_of(name) == "ann"
    assert roster.name_of("Bob") == "Bob"


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "a\nb", "a\x1b[31m", "a\u202eb"])
def test_a_name_without_letters_or_with_control_characters_is_refused(name):
    with pytest.raises(UsageError):
        annotator_name(name)


@pytest.mark.parametrize("content", ["", "[]", '{"ann": 3}'])
def test_a_spoilt_roster_is_named(tmp_path, content):
    (tmp_path / "annotators.json").write_text(content)
    with pytest.raises(ContractError, match="move it away"):
        Roster(tmp_path / "annotators.json").keys()
