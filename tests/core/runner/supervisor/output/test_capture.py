import os
import select
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.runner.supervisor.output.capture import CUT, LARGEST_TAIL, LARGEST_TEXT, Output
from core.runner.supervisor.output.drain import Drain


def printed(data: bytes, *, text_cap: int = 20, tail_cap: int = 5, chunk: int = 7) -> Output:
    """Return what is kept of data that arrives in chunks."""
    output = Output(text_cap, tail_cap)
    for start in range(0, len(data), chunk):
        output.add(memoryview(data)[start : start + chunk])
    return output


def test_the_caps_are_those_of_the_seed() -> None:
    """S0: 200k combined, a tail of 20k, a clear suffix."""
    assert (LARGEST_TEXT, LARGEST_TAIL, CUT) == (200_000, 20_000, "… (truncated)")


def test_what_fits_is_kept_as_it_is() -> None:
    """At the cap nothing is cut."""
    assert printed(b"x" * 20).text() == ("x" * 20, False)


def test_one_character_more_is_cut() -> None:
    """Beyond the cap the text ends in the suffix and is still no longer than the cap."""
    text, cut = printed(b"x" * 21).text()

    assert cut
    assert text == "x" * (20 - len(CUT)) + CUT


def test_what_is_not_utf8_becomes_a_replacement() -> None:
    """Any bytes can be printed; what is stored and sent is text."""
    assert printed(b"a\xff\xc3").text() == ("a\ufffd\ufffd", False)


def test_a_character_that_the_cap_cuts_is_left_out() -> None:
    """The byte bounds never show half a character as damage."""
    output = printed("€".encode() * 1000, chunk=1)

    assert "\ufffd" not in output.text()[0] + output.tail()
    assert output.tail() == "€" * 5


@given(st.text(max_size=120), st.integers(1, 50))
def test_head_and_tail_are_those_of_the_whole(text: str, chunk: int) -> None:
    """However it arrives, what is kept is what cutting the whole would give."""
    data = text.encode("utf-8", "surrogatepass")
    whole = data.decode("utf-8", "replace")
    output = printed(data, chunk=chunk)
    kept, cut = output.text()

    assert output.total_bytes == len(data)
    assert cut == (len(whole) > 20)
    assert kept == (whole[: 20 - len(CUT)] + CUT if cut else whole)
    assert output.tail() == whole[-5:]


@pytest.mark.timeout(10)
def test_a_survivor_cannot_hold_up_the_end() -> None:
    """Finishing takes what is in the pipe and leaves, although another process holds its end."""
    drain = Drain(select.poll())
    held = os.dup(drain.inlet)
    os.write(held, b"last words")

    drain.finish()

    assert drain.output.text() == ("last words", False)
    os.close(held)


def drained(cpu_s: float, seconds: float) -> int:
    """Return how many bytes of `yes` a drain takes in some time, under a CPU limit."""
    poll = select.poll()
    drain = Drain(poll)
    drain.pace(cpu_s)
    actions = [(os.POSIX_SPAWN_DUP2, drain.inlet, 1)]
    pid = os.posix_spawn("/usr/bin/yes", ["yes"], {}, file_actions=actions)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        drain.take_ready({fd for fd, _ in poll.poll(100)})
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return drain.output.total_bytes


def test_draining_spares_the_cpu_limit() -> None:
    """Draining counts against the commands' own limit: past half, one read a second is left.

    This process has spent more than nothing, and less than a day.
    """
    paced = drained(0.0, 1.5)
    free = max(drained(24 * 60 * 60, 0.5) for _ in range(3))  # the machine may freeze

    assert 0 < paced < 20_000_000
    assert free > 3 * paced
