"""Find where a step leads, and what is not a step to one folder."""

import pytest

from core.model.command import Unreadable
from core.shell import posix_reader
from core.shell.working_directory import Stage, stages_of
from tests.support.tables import rows


def steps(line: str) -> tuple[Stage, ...] | Unreadable:
    """Return the commands of a line with the steps before them."""
    reading = posix_reader.read(line)
    assert not isinstance(reading, Unreadable), reading
    return stages_of(reading)


@rows(
    "folder",
    ["a", "a-b", "~", "~/-x", '"$HOME"', '"$HOME"-x', '$HOME/"-x"', "./-x", "/", "/srv/a"],
)
def test_one_folder_is_a_step(folder: str) -> None:
    """Whatever follows its first character."""
    found = steps(f"cd {folder} && ls")

    assert not isinstance(found, Unreadable)
    assert [(one.place, len(one.entered)) for one in found] == [(1, 1)]


@rows(
    "operands",
    ["", "-", "-P", "-P a", "a b", "+1", "//srv", "''", '-"$HOME"', '"-$HOME"', "-a/$HOME", "./*"],
)
def test_what_cd_takes_as_more_than_a_folder_is_no_step(operands: str) -> None:
    """An option, the previous folder, a stack, a glob: the line does not say where they lead."""
    found = steps(f"cd {operands} && ls")

    assert isinstance(found, Unreadable)
    assert (found.rule, found.detail) == ("R9", "cd with anything but one folder")


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("cd a | ls", "cd inside a pipeline"),
        ("ls | cd a", "cd inside a pipeline"),
        ("cd a || ls", "cd next to ||"),
        ("ls || cd a", "cd next to ||"),
        ("x && cd a; ls", "cd that may not be taken, and commands that run anyway"),
        ("x && cd a && y || z", "cd that may not be taken, and commands that run anyway"),
        ("for i in a b; do cd a; done", "cd inside a loop"),
    ],
)
def test_a_step_that_may_not_be_taken_is_not_read(line: str, detail: str) -> None:
    """Nothing that runs may depend on whether it was."""
    found = steps(line)

    assert isinstance(found, Unreadable)
    assert found.detail == detail
