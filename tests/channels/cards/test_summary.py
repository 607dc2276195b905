"""Write the sentences that say what a command does and why a person is asked."""

from dataclasses import replace

import pytest

from channels.cards.summary import clause, clause_of_prompt, does, is_plain
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from tests.contracts.channel_examples import plan


def asked(*argvs: tuple[str, ...], reason: Reason = Reason.NOT_LISTED) -> Evaluation:
    """Return the evaluation of commands of which none is listed."""
    segments = tuple(
        SegmentVerdict(argv, f"/usr/bin/{argv[0]}", Decision.ASK, reason, "no entry")
        for argv in argvs
    )
    return Evaluation(
        Decision.ASK, reason, "A program is not on the allowlist: no entry.", segments
    )


def test_one_command_has_one_sentence() -> None:
    """What it does, what an option adds, the effects."""
    said = does(plan(("git", "push", "--force", "origin", "main")))
    assert said.text == "pushes to the remote origin, rewrites history · network"


def test_up_to_three_commands_have_a_sentence_each() -> None:
    """In the order of the command's own numbers."""
    said = does(plan(("ls",), ("rm", "-r", "x"), ("frobnicate",)))
    assert said.text.splitlines() == [
        "1. reads and prints",
        "2. deletes x, with everything below · deletes files",
        "3. not known to Sayso",
    ]


def test_of_more_commands_each_effect_has_its_numbers() -> None:
    """Nothing that a command does is left out, and the harmless comes last."""
    said = does(plan(("ls",), ("git", "push", "-f"), ("cat", "x"), ("rm", "x"), ("frobnicate",)))
    assert said.text == (
        "5 commands · network: 2 · rewrites history: 2 · deletes files: 4 · "
        "reads and prints: 1, 3 · not known to Sayso: 5"
    )
    many = does(plan(*[("rm", "x")] * 12))
    assert many.text == "12 commands · deletes files: 1, 2, 3, 4, 5, 6, 7, 8 and 4 more"


def test_a_text_for_a_shell_has_no_sentence() -> None:
    """What a shell will make of it is not known, and the prompt says that a shell runs it."""
    assert does(plan(text="rm $(x)")).text == ""


def test_variables_of_the_request_take_the_harmless_away() -> None:
    """GIT_SSH_COMMAND and the like turn a reader into what they want."""
    said = does(plan(("git", "status"), env=("GIT_PAGER",)))
    assert said.text.startswith("can run other programs, can write or delete files")


@pytest.mark.parametrize(
    ("operand", "shown"),
    [
        ("a b", "'a b'"),
        ("x · network", "'x \\u{00B7} network'"),
        ("a\nb", "'a\\u{000A}b'"),
        ("\u202ex", "'\\u{202E}x'"),
        ("[x](https://evil.example)", "'[x](https://evil.example)'"),
        ("https://u:hunter2hunter2@h.example/", "https://[secret: URL credentials]@h.example/"),
        ("x" * 100, "x" * 80 + " […20 more]"),
    ],
)
def test_what_a_command_names_is_quoted_escaped_and_masked(operand: str, shown: str) -> None:
    """No operand passes for our words, and no secret leaves in the sentence."""
    said = does(plan(("rm", "--", operand)))
    assert said.text.removeprefix("deletes ").removesuffix(" · deletes files") == shown


def test_a_secret_after_its_option_is_masked_here_too() -> None:
    """A place in the vector is masked as it is in the command."""
    said = does(plan(("rm", "--", "--password", "hunter2hunter2")))
    assert "hunter2" not in said.text


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("git", "push"), "git push is not on main's allowlist"),
        (("git", "-c", "x"), "git is not on main's allowlist"),
        (("rm", "x"), "rm is not on main's allowlist"),
        (("/opt/l\u0455", "x"), "l\\u{0455} is not on main's allowlist"),
    ],
)
def test_the_clause_names_program_and_subcommand(argv: tuple[str, ...], words: str) -> None:
    """A subcommand only if the tables know that the program has some."""
    assert clause(plan(argv), asked(argv)).text == words


def test_the_clause_names_the_commands_of_several() -> None:
    """With their numbers, and programs beyond two by their count."""
    argvs = (("git", "push"), ("rm", "x"), ("make",))
    assert clause(plan(*argvs), asked(*argvs)).text == (
        "commands 1, 2, 3 of 3: git push, rm and 1 more are not on main's allowlist"
    )


def test_other_reasons_keep_their_sentence() -> None:
    """A long one is cut with a mark; all of it is in the details."""
    verdict = asked(("make",), reason=Reason.RULE_ASKED)
    assert clause(plan(("make",)), replace(verdict, why="A rule asks: x.")).text == "a rule asks: x"
    long = clause(plan(("make",)), replace(verdict, why="w" * 300)).text
    assert long == "w" * 200 + " […100 more]"
    always = replace(verdict, reason=Reason.ASK_ALWAYS)
    assert clause(plan(("make",)), always).text == "the policy asks about every command"


def test_of_a_wrapper_the_sentence_names_what_is_not_listed() -> None:
    """It is not the wrapper that lacks an entry."""
    of = plan(("nice", "make"))
    inner = replace(of.commands[0], inner=plan(("make",)).commands)
    found = clause(replace(of, commands=(inner,)), asked(("nice", "make")))
    assert found.text == "a program is not on the allowlist: no entry"


def test_a_question_is_plain_if_a_list_is_all_that_is_missing() -> None:
    """About a program that is seen: in no text of a shell, and below no wrapper."""
    seen = plan(("rm", "x"))
    below = replace(seen, commands=(replace(seen.commands[0], inner=seen.commands),))

    assert is_plain(seen, asked(("rm", "x")))
    assert is_plain(seen, asked(("rm", "x"), reason=Reason.ASK_ALWAYS))
    assert not is_plain(seen, asked(("rm", "x"), reason=Reason.CARRIER))
    assert not is_plain(below, asked(("rm", "x")))
    assert not is_plain(plan(text="rm $(x)"), asked(("rm", "x")))
    hidden = replace(asked(("rm", "x")).segments[0], reason=Reason.WRAPPER)
    both = replace(asked(("rm", "x")), segments=(hidden,))
    assert not is_plain(seen, both)
    allowed = replace(hidden, decision=Decision.ALLOW)
    assert is_plain(seen, replace(both, segments=(allowed,)))


def test_as_many_numbers_as_there_is_room_for_are_listed() -> None:
    """Of one more, it is said that there is one more."""
    eight, nine = (does(plan(*[("rm", "x")] * count)).text for count in (8, 9))

    assert eight.endswith("deletes files: 1, 2, 3, 4, 5, 6, 7, 8")
    assert nine.endswith("deletes files: 1, 2, 3, 4, 5, 6, 7, 8 and 1 more")


def test_different_reasons_are_said_to_be_different() -> None:
    """One reason for all would be wrong for some; each is in the list of commands."""
    argvs = (("curl", "x"), ("sh",))
    both = asked(*argvs)
    hidden = replace(both.segments[1], reason=Reason.WRAPPER)
    found = clause(plan(*argvs), replace(both, segments=(both.segments[0], hidden)))
    assert found.text == "commands 1, 2 of 2: each for a reason of its own"


def test_a_prompt_says_once_why_the_line_could_not_be_read() -> None:
    """The statement on the shell is above; elsewhere the clause has the reason."""
    unreadable = plan(text="echo $(id)")
    why = "The line cannot be parsed with certainty (a $ expansion): a shell would run it."
    verdict = Evaluation(Decision.ASK, Reason.UNREADABLE, why, ())
    other = replace(verdict, reason=Reason.RULE_ASKED, why="A rule requires this: x.")

    said = clause_of_prompt(unreadable, verdict).text
    assert said == "the line cannot be parsed with certainty"
    assert "a $ expansion" in clause(unreadable, verdict).text
    assert clause_of_prompt(unreadable, other) == clause(unreadable, other)
    listed = plan(("git", "push"))
    missing = asked(("git", "push"))
    assert clause_of_prompt(listed, missing) == clause(listed, missing)
