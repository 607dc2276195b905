"""Carry a terminal in a thread, on a terminal of this process."""

import asyncio
import contextlib
import os
import threading

import pytest

from core.isolation.terminal.stream import KEPT, MOST_TYPED, NotTaken, Stream, TooSlow
from tests.support.terminals import carried
from tests.support.waiting import until, wait_until


def fill(slave: int, size: int) -> threading.Thread:
    """Show bytes from another thread, as a program does."""

    def show() -> None:
        left = size
        with contextlib.suppress(OSError):
            while left:
                left -= os.write(slave, b"x" * min(left, 65536))

    thread = threading.Thread(target=show)
    thread.start()
    return thread


async def test_a_viewer_that_is_behind_slows_the_program() -> None:
    """What would be lost is not read; the control without a viewer is read to its end."""
    size = 3 * KEPT
    with carried() as (stream, slave):
        fill(slave, size).join(30)
        await until(lambda: stream.total == size)
    with carried() as (stream, slave):
        seen = 0
        with stream.viewer(0) as viewer:
            thread = fill(slave, size)
            await until(lambda: stream.total > KEPT // 2)
            assert stream.total <= KEPT
            while seen < size:
                data, _ = await stream.next(viewer, 30)
                seen += len(data)
            thread.join(30)
    assert seen == size


async def test_waiting_for_the_end_holds_no_thread() -> None:
    """Many terminals end at a time; the loop's few threads are for files."""
    with carried() as (stream, slave):
        running = threading.active_count()
        waiting = [asyncio.ensure_future(stream.drained(30)) for _ in range(50)]
        await asyncio.sleep(0)
        assert threading.active_count() == running
        assert not any(one.done() for one in waiting)
        os.write(slave, b"the last bytes")
        os.close(slave)
        await asyncio.gather(*waiting)
        assert stream.over
        assert stream.read(0) == (b"the last bytes", len(b"the last bytes"))


async def test_waiting_for_the_end_ends_in_time() -> None:
    """If a process keeps the terminal open."""
    with carried() as (stream, _):
        await stream.drained(0.01)
        assert not stream.over


async def test_a_viewer_that_takes_nothing_is_cut_off() -> None:
    """The program continues then; another viewer that reads gets everything."""
    size = 2 * KEPT
    with carried(patience_s=2.0) as (stream, slave):
        with stream.viewer(0) as stuck, stream.viewer(0) as reading:
            thread = fill(slave, size)
            seen = 0
            while seen < size:
                data, _ = await stream.next(reading, 30)
                seen += len(data)
            with pytest.raises(TooSlow):
                await stream.next(stuck, 30)
            thread.join(30)
        assert seen == size


def test_nothing_waits_for_a_loop() -> None:
    """There is no event loop here at all: typing, showing and recording work all the same."""
    with carried() as (stream, slave):
        stream.type(b"typed\x00\xff")
        assert os.read(slave, 100) == b"typed\x00\xff"
        os.write(slave, b"shown\x00\xfe")
        wait_until("what was shown", lambda: stream.read(0)[0] == b"shown\x00\xfe")
        assert stream.read(5)[0] == b"\x00\xfe"


def test_what_a_program_does_not_read_is_bounded() -> None:
    """Beyond the bound nothing is accepted, and the typist is told why."""
    with carried() as (stream, _slave), pytest.raises(NotTaken):
        type_much(stream)


def type_much(stream: Stream) -> None:
    """Type more than may wait."""
    for _ in range(2 * MOST_TYPED // 4096 + 10):
        stream.type(b"y" * 4096)


async def test_the_end_is_the_end_for_all() -> None:
    """Once no one has the terminal, viewers get what is left, then nothing."""
    with carried() as (stream, slave):
        with stream.viewer(0) as viewer:
            os.write(slave, b"last")
            os.close(slave)
            got = b""
            while data := (await stream.next(viewer, 30))[0]:
                got += data
            assert got == b"last"
        assert stream.over
        with pytest.raises(NotTaken):
            stream.type(b"z")
        await asyncio.sleep(0)
