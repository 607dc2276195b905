"""Give every channel test an inbox, and no proxy between it and loopback."""

import pytest

from tests.contracts.channel_setup import RecordingInbox


@pytest.fixture
def inbox() -> RecordingInbox:
    """Return an inbox that records what arrives."""
    return RecordingInbox()


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("NO_COLOR", raising=False)
