"""Report only what is proven of a process: that it lives, or that it is dead."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from core.runner.process_liveness import Fate, fate, own_name
from core.runner.supervisor.processes import procfs

SLEEPER = """
import sys
from core.runner.process_liveness import own_name
print(own_name(), flush=True)
sys.stdin.read()
"""


@contextmanager
def process() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Yield another process and its identity."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        try:
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()


def test_a_process_lives_until_it_is_dead() -> None:
    """One that has not been waited for is already dead, and so is one whose pid is gone."""
    with process() as (child, name):
        lives = fate(name)
        child.kill()
        while (seen := procfs.process(child.pid)) is not None and seen.alive:
            pass
        unwaited = fate(name)
    gone = fate(name)

    assert (lives, unwaited, gone) == (Fate.LIVES, Fate.DEAD, Fate.DEAD)


def test_another_process_of_its_number_is_not_it() -> None:
    """The start time tells them apart."""
    with process() as (_, name):
        head, ticks = name.rsplit(" ", 1)

        assert fate(f"{head} {int(ticks) - 1}") is Fate.DEAD
        assert fate(name) is Fate.LIVES, "the control"


@pytest.mark.parametrize("name", [None, "", "x", "; 1", "; 1 x", "a; 1 1"])
def test_of_what_names_nothing_here_nothing_is_proven(name: str | None) -> None:
    """A name of another machine, or none."""
    assert fate(name) is Fate.UNPROVEN


def test_of_elsewhere_and_of_itself_nothing_is_proven() -> None:
    """Another boot, another container, this process, and the pid 0, which is none."""
    with process() as (_, name):
        where, _, rest = name.rpartition("; ")

        assert fate(f"{where}x; {rest}") is Fate.UNPROVEN
        assert fate(f"x{where}; {rest}") is Fate.UNPROVEN
        assert fate(f"{where}; 0 {rest.partition(' ')[2]}") is Fate.UNPROVEN
        assert fate(own_name()) is Fate.UNPROVEN
