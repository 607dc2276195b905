"""Treat ``$?`` in a line as a shell does: the digits are filled in when the command starts."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import Unreadable
from core.planning.digest import bind
from core.planning.planner import Planner
from core.planning.verify import verify
from core.runner.runner import Runner
from core.runner.supervisor import connectors
from tests.core.runner.supervisor.bash_oracle import agrees_with_bash
from tests.support.runs import Start, new_run, planned, request, run

LINES = [
    "echo $?",
    'false; echo "exit: $?"',
    "sh -c 'exit 7'; echo $? ${?} EXIT=$?; echo $?",
    "sh -c 'exit 255' ; /bin/echo \"$?$?\" '$?' a$?b",
    "sh -c 'exit 3' || echo a$?",
    "sh -c 'exit 3' && echo no ; echo $?",
    "true && echo $? || echo no$?",
    "true || echo no ; echo $?",
    "sh -c 'exit 3' | true ; echo $?",
    "true | sh -c 'exit 4' ; echo $?",
    "sh -c 'exit 4' ; echo $? | cat ; echo $?",
    "sh -c 'exit 4' ; true | echo $?",
    "true | sh -c 'kill -13 $$' ; echo $?",
    "cat /no/such/file 2>/dev/null ; printf '%s-%d\\n' \"$?\" $?",
    "sh -c 'exit 5' ; cd sub ; echo $?",
    "sh -c 'exit 5' ; cd sub && echo $? && sh -c 'exit 6' ; echo $?",
    "sh -c 'exit 5' ; cd sub && cat /dev/null | echo $?",
    "cd sub && sh -c 'exit 6' | echo $?",
    "cd sub ; sh -c 'exit 6' ; pwd ; echo $?",
    "for x in 3 5 ; do sh -c 'exit 2' && true ; done ; echo $?",
    "sh -c 'exit 8'\necho $?\n# then\n\necho \"last: $?\"",
    "false ; echo $? >/dev/null ; echo $?",
    "test 1 -eq 2 ; echo $? ; test a -eq 1 2>/dev/null ; echo $?",
]


@pytest.mark.parametrize("line", LINES)
async def test_the_digits_are_those_of_bash(runner: Runner, tmp_path: Path, line: str) -> None:
    """Codes, signals, pipes, skipped commands, folders and loops."""
    (tmp_path / "sub").mkdir()
    await agrees_with_bash(runner, line, tmp_path)


@pytest.mark.parametrize("number", [9, 15, 1, 11])
async def test_a_signal_counts_from_128(runner: Runner, tmp_path: Path, number: int) -> None:
    """As in bash, whose own word about the signal goes to standard error."""
    killed = f"sh -c 'kill -{number} $$'"
    line = f'{killed} || echo "$?" ; echo $? ; {killed} ; echo $?'
    bash = await asyncio.create_subprocess_exec(
        *("bash", "--norc", "-c", line),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    printed, _ = await bash.communicate()
    done = await run(runner, request(line, cwd=tmp_path))
    assert done.output.text == printed.decode() == f"{128 + number}\n0\n{128 + number}\n"


async def test_a_plan_without_its_places_is_another_one(runner: Runner, tmp_path: Path) -> None:
    """They are bound by the digest; bound again without them, the sign is printed as text."""
    plan = planned(request("false; echo $?", cwd=tmp_path))
    bare = replace(plan, commands=tuple(replace(one, late=()) for one in plan.commands))
    with pytest.raises(PlanDrift):
        await runner.run(new_run(), bare, Start())
    done = await runner.run(new_run(), bind(bare), Start())
    assert done.output.text == "$?\n"


def test_the_places_are_part_of_the_plan(tmp_path: Path) -> None:
    """The vector keeps the sign where it was written, and text that looks alike stays text."""
    plan = planned(request("false; echo '$?' \"a $? $?\"", cwd=tmp_path))

    assert plan.commands[1].argv == ("echo", "$?", "a $? $?")
    assert plan.commands[1].late == ((2, 2), (2, 5))
    with verify(plan) as opened:
        assert opened.plan is plan
    text = planned(request("false; echo '$?' 'a $? $?'", cwd=tmp_path))
    assert text.commands[1].argv == plan.commands[1].argv
    assert text.digest != plan.digest


@pytest.mark.parametrize("line", ["echo $?", "cd / && echo $?", "false; cd /; echo $?"])
def test_what_is_certain_is_put_in_at_once(line: str, tmp_path: Path) -> None:
    """At the start and after a change of folder the status is 0, to be judged as such."""
    last = planned(request(line, cwd=tmp_path)).commands[-1]
    assert (last.argv, last.late) == (("echo", "0"), ())


def test_a_wrapper_under_that_name_is_not_looked_through(tmp_path: Path) -> None:
    """The places are those of the vector as it is, so it stays as it is."""
    (tmp_path / "echo").symlink_to("/usr/bin/env")
    planner = Planner((str(tmp_path), *os.defpath.split(":")))
    one = planned(request("false; echo ls a$?", cwd=tmp_path), planner).commands[1]
    assert (one.inner, one.vector, one.late) == ((), ("echo", "ls", "a$?"), ((2, 1),))


def test_a_glob_beside_it_is_not_expanded(tmp_path: Path) -> None:
    """What it would match is not known before the run."""
    plan = planned(request("false; echo $?*", cwd=tmp_path))
    assert isinstance(plan.unreadable, Unreadable)


def test_digits_go_only_where_the_sign_stands() -> None:
    """From the last place to the first; a place without the sign is an error."""
    argv = ["echo", "$?", "$? $?"]
    assert connectors.filled(argv, [(2, 0), (2, 3)], 143) == ["echo", "$?", "143 143"]
    assert connectors.filled(argv, [], 1) == argv
    with pytest.raises(ValueError, match="word 0"):
        connectors.filled(argv, [(0, 0)], 1)
