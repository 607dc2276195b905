"""Keep the cost of planning a line proportional to its length."""

import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.planning.planner import Planner
from core.planning.python_modules import imported
from tests.support.runs import POLICY, planned, request

_SHORT, _FACTOR = 1_000, 8
_AT_ONCE_S = 0.5
_LONG_S = 2.0


@pytest.mark.parametrize(
    "line",
    [
        lambda count: "su " * count,
        lambda count: "chroot x " * count,
        lambda count: "sh -c 'sh < x; " + "xz" * count + "!'",
        lambda count: (
            "sh -c 'cat <<E\n" + "".join(f"cat <<E{at}\nE{at}\n" for at in range(count)) + "E'"
        ),
        lambda count: f"(true {_words(count)}; ./x)",
        lambda count: f"(cat {_words(count)} | sh)",
        lambda count: f"flock lock find {_words(count)}",
        lambda count: f"(PATH=a:b:$PATH; {_words(count)})",
        lambda count: "(true " + " ".join(f"./a/{one}" for one in range(count)) + "; ./x)",
        lambda count: f"(echo '{'$' * 8 * count}'; {'; '.join(_words(count).split())})",
    ],
    ids=[
        *("su", "chroot", "unpacker", "documents"),
        *("words", "fed", "vector", "search path", "one folder", "commands"),
    ],
)
def test_a_line_of_eight_times_the_length_takes_no_sixty_four_times(
    line: Callable[[int], str],
) -> None:
    """An agent could stall the gateway with 60 kB."""
    short, long = _processor_s(line(_SHORT)), _processor_s(line(_SHORT * _FACTOR))

    assert long < 3 * _FACTOR * short


@pytest.mark.parametrize(
    "line",
    [
        "git " + "-C sub " * 2_300,
        "git -c " + "-C sub " * 2_300,
        "sh " + "PATH=sub " * 1_800,
        "echo " + "{a,b}" * 3_200,
        "echo " + "{1..1}" * 2_700,
        "make " + "-f " * 5_400,
        "make " + " ".join(f"-f{one}" for one in range(2_000)),
        "sudo " + "node -r " * 2_000,
        "x=$(cat notes); " + "y=" + "a" * 250 + ";" + "$y" * 8_000,
        "sed '" + "sa" * 8_000 + "'",
        "node -C sub " + " ".join(f"-r ./{one}" for one in range(1_500)) + " x",
        "make -" + "f" * 16_000,
        "(true sub " + " ".join(f"sub/{one}" for one in range(1_500)) + "; ./x)",
        "(cat " + " ".join("./" * 1_800 + str(one) for one in range(4)) + " | sh)",
    ],
    ids=[
        *("git -C", "git -c -C", "PATH", "braces", "ranges", "make -f", "make -fN", "node -r"),
        *("values", "sed", "node -C -r", "make -fff", "sub", "deep"),
    ],
)
def test_sixteen_thousand_characters_take_no_time(tmp_path: Path, line: str) -> None:
    """Folders within folders took 21 s, and braces ended in an error of our own."""
    (tmp_path / "sub").mkdir()

    assert _processor_s(line, tmp_path) < _LONG_S


def test_a_command_in_too_many_folders_asks(tmp_path: Path) -> None:
    """Those beyond are not checked; this many need no answer."""
    few, many = (planned(request("git " + "-C . " * one + "status")) for one in (32, 33))

    assert not few.commands[0].steered
    assert "more than 32 folders" in many.commands[0].steered


def test_a_command_with_too_many_files_of_code_cannot_be_started(tmp_path: Path) -> None:
    """As many as an ordinary line may name are bound."""
    for one in range(257):
        (tmp_path / str(one)).write_text("all:\n")
    few, many = (" ".join(f"-f {one}" for one in range(count)) for count in (256, 257))
    plans = [planned(request(f"make {line}", cwd=tmp_path)).commands[0] for line in (few, many)]

    assert len(plans[0].operands) == 256
    assert "more than 256 files of code" in plans[1].problem


def test_a_module_that_no_path_can_lead_to_is_not_looked_for() -> None:
    """Its 30,000 folders took minutes to write."""
    assert not list(imported(["-m", ".".join("a" * 2_100)]))
    assert list(imported(["-m", ".".join("a" * 2_000)]))


@pytest.mark.parametrize("module", ["a.b." * 500 + "x", "./" * 1_000, "../" * 600])
def test_a_module_within_hundreds_of_packages_cannot_be_started(module: str) -> None:
    """Looking up its 20,000 names stalled the gateway for 40 s."""
    plan = planned(request(f"python3 -m {module}"))

    assert "too many packages" in plan.commands[0].problem
    assert _processor_s(f"python3 -m {module}") < _AT_ONCE_S


def test_a_module_within_a_hundred_packages_is_looked_for(tmp_path: Path) -> None:
    """The target of each folder on the way is resolved once."""
    (tmp_path / "a.py").touch()
    asked = f"python3 -m {'.'.join('a' * 100)}"
    plan = planned(request(asked, cwd=tmp_path))

    assert [one.path for one in plan.commands[0].operands] == [f"{tmp_path}/a.py"]
    assert _processor_s(asked) < _AT_ONCE_S


def test_a_line_with_too_many_files_that_may_be_code_cannot_be_started(tmp_path: Path) -> None:
    """As many as an ordinary line may name are bound."""
    for one in range(1_025):
        (tmp_path / f"{one}.sh").touch()
    few, many = (" ".join(f"{one}.sh" for one in range(count)) for count in (1_024, 1_025))
    lines = (f"(ls {line}; ./0.sh ./1.sh)" for line in (few, many))
    plans = [planned(request(line, cwd=tmp_path)).commands[0] for line in lines]

    assert len(plans[0].operands) == 1_024
    assert "more than 1024 files that may be code" in plans[1].problem


def test_a_text_that_becomes_too_long_cannot_be_started() -> None:
    """Each use of a variable is filled in."""
    plan = planned(request("(y=" + "a" * 250 + ";" + "$y" * 5_000 + ")"))

    assert "too many files" in plan.commands[0].problem


def _words(count: int) -> str:
    return " ".join(f"w{one}" for one in range(count))


def _processor_s(line: str, at: Path = Path("/tmp")) -> float:
    """Return the seconds of this process's own time, the least of three tries.

    Without the collector of cycles: it runs more often the more the other tests keep.
    """
    planner, asked, tries = Planner(), request(line, cwd=at), []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            begun = time.process_time()
            planner.plan(asked, POLICY)
            tries.append(time.process_time() - begun)
    finally:
        gc.enable()
    return min(tries)
