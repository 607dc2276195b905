"""Load ladder, quiet hours, filters and threads of ``approvals.exec``."""

import pytest
from pydantic import ValidationError

from core.settings.approvals import ApprovalsExecSection, LocalAccounts, ThreadMode
from tests.support.tables import rows

STEP = {"to": [{"channel": "slack", "to": "C1"}], "for": 300}


def _read(**keys: object) -> ApprovalsExecSection:
    return ApprovalsExecSection.model_validate(keys)


def test_a_ladder_is_read_as_it_is_written() -> None:
    """Places, the session's chat, seconds, reminders, and who may be woken."""
    section = _read(ask=[STEP, {"session": True, "for": 60.5, "remind": 20, "wake": True}])
    first, second = section.ask

    assert ("slack", "C1") == (first.to[0].channel, first.to[0].to)
    assert (False, 300, None, False) == (first.session, first.lasts, first.remind, first.wake)
    assert ((), True, 60.5) == (second.to, second.session, second.lasts)
    assert (20, True) == (second.remind, second.wake)


def test_quiet_hours_and_threads_are_read() -> None:
    """HH:MM in a zone, and whether each session gets its thread."""
    hours = {"from": "21:30", "until": "06:00", "zone": "Europe/Berlin"}
    section = _read(quietHours=hours, threads="session")

    assert section.quiet_hours is not None
    assert ("21:30", "06:00") == (section.quiet_hours.since, section.quiet_hours.until)
    assert ThreadMode.SESSION is section.threads
    assert ThreadMode.NONE is _read().threads


@rows(
    "keys, words",
    [
        ({"ask": [{"for": 60}]}, "asks nobody"),
        ({"ask": [{**STEP, "remind": 1}]}, "reminds more than 100 times"),
        ({"ask": [STEP], "timeout": 60}, "replaces timeout"),
        ({"ask": [STEP], "mode": "both", "targets": []}, "replaces mode, targets"),
        ({"ask": [{**STEP, "for": 2_000_000}] * 2}, "more than 30 days"),
        ({"ask": [{**STEP, "for": 0}]}, "greater than 0"),
        ({"quietHours": {"zone": "Europe/Atlantis"}}, "not a time zone"),
        ({"quietHours": {"zone": "../etc/passwd"}}, "not a time zone"),
        ({"quietHours": {"from": "24:00"}}, "match pattern"),
        ({"quietHours": {"until": "7:00"}}, "match pattern"),
        ({"quietHours": {"from": "07:00", "until": "07:00"}}, "the same time"),
        ({"sessionFilter": ["ok", "/(a/"]}, "a pattern cannot be used"),
        ({"sessionFilter": [r"/(a)\1/"]}, "invalid escape sequence"),
        ({"threads": "always"}, "none"),
    ],
)
def test_mistakes_are_named_when_the_file_is_read(keys: dict[str, object], words: str) -> None:
    """No mistake is found only in the night in which someone should be asked."""
    with pytest.raises(ValidationError, match=words):
        _read(**keys)


def test_a_ladder_may_last_thirty_days() -> None:
    """To the second; one more is too long."""
    half = 15 * 24 * 3600

    assert len(_read(ask=[{**STEP, "for": half}] * 2).ask) == 2
    with pytest.raises(ValidationError, match="more than 30 days"):
        _read(ask=[{**STEP, "for": half}, {**STEP, "for": half + 1}])


@rows("entry", ["root", "0", "uid:root", "uid:", "telegram:42", "uid:-1"])
@pytest.mark.parametrize("key", ["approvers", "senders"])
def test_who_can_never_be_let_in_is_named(key: str, entry: str) -> None:
    """A local account is its number; the controls: one, and a person by name."""
    assert LocalAccounts.model_validate({key: ["uid:0", "person:ana"]})
    with pytest.raises(ValidationError, match="is not an account of this machine: write uid:1000"):
        LocalAccounts.model_validate({key: ["uid:0", entry]})
