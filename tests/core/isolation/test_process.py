"""Start an executor with nothing of the gateway's own but its socket, and read why it failed."""

import signal

import pytest

from core.errors import SpawnError
from core.isolation import process

SHOW = ("/bin/sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status >&2; ps -o sid= $$ >&2")


def nothing() -> None:
    """Do nothing when it ends."""


async def test_an_executor_inherits_no_signal_settings() -> None:
    """Python ignores SIGPIPE: whatever an executor starts would go on writing to nobody."""
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
    gone: list[bool] = []
    started, ours = process.start(SHOW, lambda: gone.append(True))
    with ours:
        await started.ended(20)
    _, blocked, _, ignored, session = started.words().split()
    started.forget()

    kept = {n for n in signal.valid_signals() if int(ignored, 16) >> (n - 1) & 1}
    assert (int(blocked, 16), kept, session) == (0, set(), str(started.pid))
    assert (started.status, gone) == (0, [True])


async def test_one_that_fails_says_why() -> None:
    """Its standard error becomes one line; what does not exist is not started."""
    started, ours = process.start(("/bin/sh", "-c", "echo 'no\n  such user' >&2; exit 3"), nothing)
    with ours:
        await started.ended(20)
    words = started.words()
    started.forget()

    assert (words, started.status) == ("no such user", 3 << 8)
    with pytest.raises(SpawnError, match=r"/nowhere/sudo cannot be started: No such file"):
        process.start(("/nowhere/sudo",), nothing)
