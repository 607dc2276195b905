"""Refuse to start a gateway whose shipped tables contradict their own examples."""

import pytest

from bot.wiring.gate import check_tables
from core.errors import StateError
from core.policy.rules import self_test
from core.programs.profiles.tables import Table, section


def test_a_broken_table_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with what to do; the tables as shipped pass."""
    honest = section

    def changed(holder: Table, key: str) -> Table:
        found = honest(holder, key)
        return {**found, "accept": ["--delete-all"]} if key == "sqlite3" else found

    check_tables()
    monkeypatch.setattr(self_test, "section", changed)

    with pytest.raises(StateError, match=r"reinstall Sayso.*sqlite3.*should be harmless"):
        check_tables()
