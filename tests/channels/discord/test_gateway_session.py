"""Keep a session's position over processes, behind what is still being handled."""

from pathlib import Path

import pytest

from channels.discord.gateway_session import InProgress, Session, SessionFile

_SESSION = Session("s1", 7, "wss://gateway.example/", "9:1")


def test_a_session_is_kept_for_the_next_process(tmp_path: Path) -> None:
    """What was saved is loaded by its owner alone; an ended session leaves no file."""
    path = tmp_path / "session.json"
    kept = SessionFile(path)
    kept.save(_SESSION)

    assert SessionFile(path).load("9:1") == _SESSION
    assert SessionFile(path).load("9:32769") is None
    kept.save(None)
    assert not path.exists()
    assert SessionFile(path).load("9:1") is None


@pytest.mark.parametrize("content", ["", "{", '{"id": "a"}', "[1]", '{"id": 1, "x": 2}'])
def test_a_file_that_cannot_be_read_costs_only_the_replay(tmp_path: Path, content: str) -> None:
    """A broken file is as good as none."""
    path = tmp_path / "session.json"
    path.write_text(content)

    assert SessionFile(path).load("9:1") is None


def test_a_disk_that_fails_is_logged_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer is never delayed by the session's file."""
    kept = SessionFile(tmp_path / "missing" / "session.json")
    kept.save(_SESSION)

    assert kept.load("9:1") == _SESSION
    assert "Cannot save the gateway session" in caplog.text


def test_what_is_in_hand_holds_the_number_back() -> None:
    """A resumed session begins before the oldest unfinished event."""
    hand = InProgress()
    hand.begin(100, 5)
    hand.begin(101, 6)
    assert hand.done_up_to(9) == 4
    hand.end(100)
    assert hand.done_up_to(9) == 5
    hand.end(101)
    assert hand.done_up_to(9) == 9


def test_events_that_nobody_ends_are_forgotten_in_time() -> None:
    """The list of open events is bounded."""
    hand = InProgress()
    for number in range(1_001):
        hand.begin(number, number + 1)

    assert hand.done_up_to(5_000) == 1
