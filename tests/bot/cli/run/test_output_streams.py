"""Write what a run prints to a pipe and to a file, as far as there is room."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.run.output_streams import Outlet


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Yield both ends of a pipe."""
    ends = os.pipe()
    yield ends
    for one in ends:
        os.close(one)


def test_a_full_pipe_is_waited_for(pipe: tuple[int, int]) -> None:
    """The rest is kept, and written once its reader has taken some."""
    reader, writer = pipe
    outlet = Outlet(writer)
    taking = threading.Thread(target=outlet.take, args=(b"x" * 200_000,), daemon=True)
    taking.start()
    taking.join(5)  # one that blocked would hold up the caller until all was read
    assert not taking.is_alive()
    assert outlet.blocked
    assert outlet.printed == 200_000

    total = 0
    while total < 200_000:
        total += len(os.read(reader, 65_536))
        outlet.flush()
    assert not outlet.blocked


def test_a_file_takes_all_at_once(tmp_path: Path) -> None:
    """What was printed before a new start of the stream is not printed again."""
    with (tmp_path / "out").open("wb") as file:
        outlet = Outlet(file.fileno())
        outlet.take(b"x" * 200_000)
        assert not outlet.blocked
        outlet.rewind()
        outlet.take(b"x" * 200_000)
        outlet.take(b"y")
    assert (tmp_path / "out").read_bytes() == b"x" * 200_000 + b"y"


def test_a_reader_that_has_gone_is_noticed() -> None:
    """Unless that is forgiven: then the rest is dropped."""
    reader, writer = os.pipe()
    os.close(reader)
    outlet = Outlet(writer)
    with pytest.raises(BrokenPipeError):
        outlet.take(b"lost")
    outlet.forgives = True
    outlet.add(b"lost")
    assert not outlet.blocked
    os.close(writer)
