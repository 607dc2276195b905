"""Claim in a summary what the tables know, and call nothing harmless that they do not."""

from dataclasses import replace

import pytest

from core.model.command import PinnedFile, PlannedCommand
from core.programs.summary import NOT_KNOWN, READS, Summary, summaries

CAN = ("can run other programs", "can write or delete files", "can use the network")


def command(*argv: str, path: str = "", realpath: str = "") -> PlannedCommand:
    """Return a planned command whose program is in /usr/bin."""
    path = path or f"/usr/bin/{argv[0]}"
    return PlannedCommand(argv, PinnedFile(path, realpath or path, 1, 2, 3, "00" * 32))


def one(planned: PlannedCommand, *, steered: bool = False) -> Summary:
    """Return the one summary of a command."""
    (found,) = summaries(planned, steered=steered)
    return found


def test_a_known_action_is_said_with_its_effects() -> None:
    """Words, places of operands, what options add, effects."""
    found = one(command("git", "push", "--force", "origin", "main"))
    assert ("pushes to the remote {}", ((3,),)) == (found.words, found.operands)
    assert (("rewrites history",), ("network",)) == (found.added, found.effects)


@pytest.mark.parametrize("argv", [("git", "push", "--zz"), ("git", "-C", "x", "push")])
def test_what_is_not_listed_gets_the_worst(argv: tuple[str, ...]) -> None:
    """An unknown option leaves all that the program can do."""
    assert ("", CAN) == (one(command(*argv)).words, one(command(*argv)).effects)


@pytest.mark.parametrize(
    "where", ["/home/ana/bin/git", "/tmp/git", "/usr/local/bin/git", "/opt/x/git"]
)
def test_a_program_elsewhere_is_not_taken_for_its_name(where: str) -> None:
    """The tables know programs by name, so only where the system keeps its own."""
    assert (NOT_KNOWN,) == one(command("git", "status", path=where)).effects
    assert (NOT_KNOWN,) == one(command("git", "push", realpath=where)).effects
    assert (NOT_KNOWN,) == one(command("ls", path=where)).effects


def test_a_reader_is_one_only_where_nothing_steers_it() -> None:
    """A request's variables, a folder writable by others and settings in files remove it."""
    status = command("git", "status")
    assert (READS,) == one(status).effects
    assert CAN == one(status, steered=True).effects
    for changed in (
        replace(status, exposed="/srv"),
        replace(status, steered="core.pager"),
        replace(status, unsettled="git config"),
    ):
        assert CAN == one(changed).effects


def test_an_unknown_program_is_said_to_be_unknown() -> None:
    """No table, no words."""
    assert (NOT_KNOWN,) == one(command("frobnicate", "--all")).effects


def test_code_in_arguments_is_named() -> None:
    """Whatever the code does, nothing softer is said."""
    found = one(command("perl", "-e", "unlink 'x'"))
    assert "may run code or programs that its arguments name" == found.words
    assert CAN == found.effects


@pytest.mark.parametrize("argv", [("sudo", "rm", "x"), ("bash", "x.sh"), ("xargs", "rm")])
def test_a_wrapper_that_hides_what_runs_says_so(argv: tuple[str, ...]) -> None:
    """What is not planned below a wrapper is not guessed."""
    words = one(command(*argv)).words
    assert words.startswith("a ")
    assert words.endswith("; what it runs is not known to Sayso")


def test_a_wrapper_is_what_it_runs() -> None:
    """Below a wrapper that is understood, the commands themselves are summarised."""
    inner = command("git", "push")
    found = one(replace(command("nice", "git", "push"), inner=(inner,)))
    assert "pushes to the default remote" == found.words
    set_first = replace(command("env", "A=b", "git", "status"), inner=(command("git", "status"),))
    assert CAN == one(set_first).effects


def test_arguments_that_come_later_are_not_forgotten() -> None:
    """Xargs adds operands: what is named is not all, and a reader of few is none of all."""
    pushed = replace(command("xargs", "git", "push"), inner=(command("git", "push"),))
    assert ("with more arguments when it runs",) == one(pushed).added
    assert {"network", *CAN} == set(one(pushed).effects)
    listed = replace(command("xargs", "git", "log"), inner=(command("git", "log"),))
    assert READS not in one(listed).effects
    shown = replace(command("xargs", "cat"), inner=(command("cat"),))
    assert (READS,) == one(shown).effects


def test_what_cannot_be_run_does_nothing() -> None:
    """A program that was not found is described by the prompt's line about it."""
    missing = PlannedCommand(("foo",), None, problem="not found")
    assert () == summaries(missing)


@pytest.mark.parametrize("argv", [("logger", "-n", "host", "x"), ("lpr", "x"), ("clamscan", "x")])
def test_what_is_listed_of_a_program_without_profile_is_not_all(argv: tuple[str, ...]) -> None:
    """`logger -n HOST` uses the network although it was listed as a writer: more may follow."""
    assert one(command(*argv)).effects[-1] in {"more is not known to Sayso", NOT_KNOWN}


def test_what_runs_programs_needs_no_more() -> None:
    """The control: another program can do anything, and a profile is complete."""
    assert one(command("bazel", "x")).effects[-1] != "more is not known to Sayso"
    assert "can use the network" in one(command("logger", "x")).effects
    assert one(command("mkdir", "--zz")).effects == ("can write or delete files",)


def test_what_is_known_is_not_said_again_of_a_steered_command() -> None:
    """`network, …, can use the network` said it twice; what runs programs can do all the rest."""
    push = one(command("git", "push", "origin"), steered=True)
    assert push.effects == ("network", "can run other programs")
    assert one(command("mkdir", "x"), steered=True).effects == (
        "writes files",
        "can write or delete files",
    )
