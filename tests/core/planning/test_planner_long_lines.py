"""What it takes to plan a line grows as the line does."""

import time
from collections.abc import Callable

import pytest

from core.planning.planner import Planner
from core.planning.python_modules import imported
from tests.support.runs import POLICY, request

_SHORT, _FACTOR = 1_000, 8


@pytest.mark.parametrize(
    "line",
    [
        lambda count: "su " * count,
        lambda count: "chroot x " * count,
        lambda count: "sh -c 'sh < x; " + "xz" * count + "!'",
        lambda count: (
            "sh -c 'cat <<E\n" + "".join(f"cat <<E{at}\nE{at}\n" for at in range(count)) + "E'"
        ),
    ],
    ids=["su", "chroot", "unpacker", "documents"],
)
def test_a_line_of_eight_times_the_length_takes_no_sixty_four_times(
    line: Callable[[int], str],
) -> None:
    """An agent could hold up the gateway with 60 kB."""
    short, long = _processor_s(line(_SHORT)), _processor_s(line(_SHORT * _FACTOR))

    assert long < 3 * _FACTOR * short


def test_a_module_that_no_path_can_lead_to_is_not_looked_for() -> None:
    """Its 30,000 folders took minutes to write down."""
    assert not list(imported(["-m", ".".join("a" * 2_100)]))
    assert list(imported(["-m", ".".join("a" * 2_000)]))


def _processor_s(line: str) -> float:
    """Return the seconds of this process's own time, the least of three tries."""
    planner, asked, tries = Planner(), request(line), []
    for _ in range(3):
        begun = time.process_time()
        planner.plan(asked, POLICY)
        tries.append(time.process_time() - begun)
    return min(tries)
