"""Stop counting entries that were not used for long; the file stays as it was written."""

import json
from pathlib import Path

import pytest

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.idle import Idle
from core.approvals.file.last_use import LastUse
from core.approvals.file.usage import Usage
from core.model.approval import AllowlistEntry
from core.model.identity import DEFAULT_AGENT
from tests.support.stores import START_MS, ManualClock

DAY_MS = 86_400_000
MAIN = DEFAULT_AGENT


class Home:
    """A home with two entries, and a clock that a test sets."""

    def __init__(self, path: Path) -> None:
        path.chmod(0o700)
        self.path = path
        self.clock = ManualClock()
        self.file = ApprovalsFile(path / "exec-approvals.json")
        self.usage = Usage(self.file, quiet_s=60)
        self.write({"pattern": "/usr/bin/rg"}, {"pattern": "/usr/bin/seq", "id": "a"})

    def write(self, *entries: dict[str, str]) -> None:
        """Write the file by hand."""
        text = {"version": 1, "agents": {"main": {"allowlist": list(entries)}}}
        (self.path / "exec-approvals.json").write_text(json.dumps(text))
        (self.path / "exec-approvals.json").chmod(0o600)

    def idle(self, days: int | None = 10) -> Idle:
        """Return what a gateway that starts now knows."""
        idle = Idle.of(self.path, self.usage, days)
        idle.now_ms = self.clock
        return idle

    def counted(self, idle: Idle, *, seen: bool = True) -> list[str]:
        """Return the patterns that count, after a gateway has seen the file."""
        agents = self.file.read().agents
        if seen:
            idle.see(agents)
        return [one.pattern for one in idle.sort(MAIN, agents[MAIN].allowlist).counted]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home."""
    return Home(tmp_path)


def test_an_entry_counts_from_when_it_was_first_seen(home: Home) -> None:
    """Without statistics it lasts for the set time, over a restart too."""
    assert ["/usr/bin/rg", "/usr/bin/seq"] == home.counted(home.idle())
    home.clock.ms += 10 * DAY_MS - 1
    assert ["/usr/bin/rg", "/usr/bin/seq"] == home.counted(home.idle())
    home.clock.ms += 1
    assert [] == home.counted(home.idle())


def test_a_use_keeps_an_entry(home: Home) -> None:
    """The last use counts, written or still in memory; the other entry is reported as idle."""
    idle = home.idle()
    home.counted(idle)
    home.usage.note(MAIN, "/usr/bin/rg", LastUse(START_MS + 5 * DAY_MS, "rg", "/usr/bin/rg"))
    home.clock.ms += 12 * DAY_MS

    assert ["/usr/bin/rg"] == home.counted(idle)
    (line,) = idle.lint(home.file.read().agents)
    assert "agents.main.allowlist '/usr/bin/seq' has not been used since 2027-01-15" in line
    assert "allowAlwaysIdle" in line


def test_nothing_is_rewritten(home: Home) -> None:
    """Expiry leaves the bytes of the approvals file alone, and without a setting makes no file."""
    before = (home.path / "exec-approvals.json").read_bytes()
    off = home.idle(None)
    home.counted(off)
    home.clock.ms += 5_000 * DAY_MS
    assert ["/usr/bin/rg", "/usr/bin/seq"] == home.counted(off)
    assert ["exec-approvals.json", "exec-approvals.json.last-good"] == sorted(
        path.name for path in home.path.iterdir()
    )
    home.counted(home.idle())
    home.clock.ms += 11 * DAY_MS
    assert [] == home.counted(home.idle())
    assert before == (home.path / "exec-approvals.json").read_bytes()
    assert 0o600 == (home.path / "exec-approvals.seen.json").stat().st_mode & 0o777


def test_removing_and_adding_begins_anew(home: Home) -> None:
    """A new entry has a new id; an entry that was absent for a while is forgotten."""
    home.counted(home.idle())
    home.clock.ms += 11 * DAY_MS
    home.write({"pattern": "/usr/bin/seq", "id": "b"})
    assert ["/usr/bin/seq"] == home.counted(home.idle())
    home.write({"pattern": "/usr/bin/rg"})
    assert ["/usr/bin/rg"] == home.counted(home.idle())


def test_a_person_may_renew_an_entry(home: Home) -> None:
    """Pressing Always allow for a listed, idle entry makes it count again."""
    idle = home.idle()
    home.counted(idle)
    home.clock.ms += 11 * DAY_MS
    idle.renew(MAIN, AllowlistEntry("/usr/bin/seq", "a"))

    assert ["/usr/bin/seq"] == home.counted(idle)
    assert ["/usr/bin/seq"] == home.counted(home.idle())


def test_looking_writes_nothing(home: Home) -> None:
    """Doctor's and explain's questions make no file; unseen entries count."""
    assert ["/usr/bin/rg", "/usr/bin/seq"] == home.counted(home.idle(), seen=False)
    assert not (home.path / "exec-approvals.seen.json").exists()


def test_a_broken_file_begins_anew(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """Lost statistics cost no one a permission, and the log says so."""
    home.counted(home.idle())
    home.clock.ms += 11 * DAY_MS
    (home.path / "exec-approvals.seen.json").write_text("{")

    assert ["/usr/bin/rg", "/usr/bin/seq"] == home.counted(home.idle())
    assert "starting afresh" in caplog.text


def test_the_answer_says_until_when_it_is_good(home: Home) -> None:
    """It is checked again when the first entry ends, at most once a minute."""
    idle = home.idle()
    idle.see(home.file.read().agents)
    entries = home.file.entries(MAIN)

    assert START_MS + 10 * DAY_MS == idle.sort(MAIN, entries).until_ms
    home.clock.ms += 10 * DAY_MS - 1
    assert home.clock.ms + 60_000 == idle.sort(MAIN, entries).until_ms
    home.clock.ms += 1
    assert idle.sort(MAIN, entries).until_ms is None


def test_what_was_used_long_ago_and_not_seen_yet_counts(home: Home) -> None:
    """A gateway sees it for the first time when it judges, and so starts over."""
    home.usage.note(MAIN, "/usr/bin/rg", LastUse(START_MS, "rg", "/usr/bin/rg"))
    home.clock.ms += 11 * DAY_MS

    assert "/usr/bin/rg" in home.counted(home.idle(), seen=False)
    assert "/usr/bin/rg" in home.counted(home.idle())
