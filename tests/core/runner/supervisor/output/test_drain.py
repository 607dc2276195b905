"""Take a run's output from one pipe, from one for each stream, or from a terminal."""

import os
import select

from core.runner.supervisor.output.capture import LARGEST_TAIL_BYTES
from core.runner.supervisor.output.drain import Drain
from core.runner.supervisor.output.shared_buffer import Shelf

ROOM = 4096
_PIPE_FULL = b"f" * 65_536


def shelf(room: int = ROOM) -> tuple[Shelf, int]:
    """Return memory that a stream is shown in, and the descriptor that reads it."""
    memory = os.memfd_create("shelf")
    os.ftruncate(memory, room)
    return Shelf(memory, os.eventfd(0)), memory


def test_streams_are_apart_with_a_shelf_for_each() -> None:
    """Each is kept and counted on its own; the text has both."""
    drain = Drain(select.poll())
    (out, out_memory), (err, err_memory) = shelf(), shelf()
    drain.keep([out, err])
    os.write(drain.inlet, b"said")
    os.write(drain.error_inlet, b"complained")
    drain.rest()

    assert drain.inlet != drain.error_inlet
    assert drain.totals == [4, 10]
    assert os.pread(out_memory, 4, 0) == b"said"
    assert os.pread(err_memory, 10, 0) == b"complained"
    assert drain.output.text() == ("saidcomplained", False)


def test_a_flood_on_one_stream_leaves_the_other_its_room() -> None:
    """Nothing is added to the text any more, but the shelf of standard error is not full yet."""
    drain = Drain(select.poll())
    (out, _), (err, err_memory) = shelf(), shelf(2 * LARGEST_TAIL_BYTES + len(_PIPE_FULL))
    drain.keep([out, err])
    drain.pace(3600)
    while not drain.output.full:
        os.write(drain.inlet, _PIPE_FULL)
        drain.rest()
    os.write(drain.error_inlet, _PIPE_FULL)
    drain.rest()  # the pipe is larger from now on
    os.write(drain.error_inlet, b"e" * 2 * LARGEST_TAIL_BYTES)
    drain.rest()

    assert drain.totals[1] == err.kept
    assert os.pread(err_memory, drain.totals[1], 0).endswith(b"e" * 2 * LARGEST_TAIL_BYTES)


def test_they_are_one_otherwise() -> None:
    """With one shelf for both, with a terminal, with nothing, and after the next run begins."""
    drain = Drain(select.poll())
    assert (drain.totals, drain.inlet) == ([], drain.error_inlet)

    drain.keep([shelf()[0]])
    assert (drain.totals, drain.inlet) == ([], drain.error_inlet)

    drain.renew()
    drain.keep([shelf()[0], shelf()[0]])
    assert drain.totals == [0, 0]
    drain.renew()
    assert (drain.totals, drain.inlet) == ([], drain.error_inlet)

    drain.open_terminal(os.memfd_create("typed"))
    assert drain.totals == []
    drain.renew()
