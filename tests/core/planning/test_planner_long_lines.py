"""What it takes to plan a line grows as the line does."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.planning.planner import Planner
from core.planning.python_modules import imported
from tests.support.runs import POLICY, planned, request

_SHORT, _FACTOR = 1_000, 8
_AT_ONCE_S = 0.5


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


@pytest.mark.parametrize("module", ["a.b." * 500 + "x", "./" * 1_000, "../" * 600])
def test_a_module_within_hundreds_of_packages_cannot_be_started(module: str) -> None:
    """Looking for its 20,000 names held up the gateway for 40 s."""
    plan = planned(request(f"python3 -m {module}"))

    assert "too many packages" in plan.commands[0].problem
    assert _processor_s(f"python3 -m {module}") < _AT_ONCE_S


def test_a_module_within_a_hundred_packages_is_looked_for(tmp_path: Path) -> None:
    """Each folder on the way is asked once where it leads."""
    (tmp_path / "a.py").touch()
    asked = f"python3 -m {'.'.join('a' * 100)}"
    plan = planned(request(asked, cwd=tmp_path))

    assert [one.path for one in plan.commands[0].operands] == [f"{tmp_path}/a.py"]
    assert _processor_s(asked) < _AT_ONCE_S


def _processor_s(line: str) -> float:
    """Return the seconds of this process's own time, the least of three tries."""
    planner, asked, tries = Planner(), request(line), []
    for _ in range(3):
        begun = time.process_time()
        planner.plan(asked, POLICY)
        tries.append(time.process_time() - begun)
    return min(tries)
