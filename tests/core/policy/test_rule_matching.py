"""Rules about many words at once: the rest of a vector, folders, files that nobody may read."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.model.command import PlannedCommand
from core.model.decision import Decision, Evaluation, Reason
from core.model.policy import ExecPolicy, Trust
from core.model.stdio import Stdio
from core.policy.allowlist import Allowlist
from core.policy.carriers import carrier_problem
from core.policy.elements import Surroundings
from core.policy.evaluate import evaluate
from core.policy.templates import ArgvTemplate
from tests.core.policy.plans import LISTED, command, listed, plan_of, wrapped
from tests.core.policy.ruled import provisions, rule

CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
HERE = Surroundings("/srv/app")
GIT_WORDS = ("log", "-p", "--oneline", "-3", "x", "--output=f", "--ext-diff", "push", "-c", "a=b")


def judged(
    line: str | PlannedCommand, *rules: dict[str, Any], policy: ExecPolicy = LISTED, **more: Any
) -> Evaluation:
    """Judge one command of /usr/bin, wrappers looked through, under rules and no list."""
    planned = wrapped(*line.split()) if isinstance(line, str) else line
    return evaluate(plan_of(planned), policy, listed(), provisions=provisions(*rules, **more))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("git log", Decision.ALLOW),
        ("git log --oneline -3", Decision.ALLOW),
        ("git log --output=f", Decision.ASK),
        ("git log -3 --ext-diff", Decision.ASK),
        ("git push", Decision.ASK),
        ("git -p log", Decision.ASK),
    ],
)
def test_the_rest_is_judged_by_the_programs_profile(line: str, wanted: Decision) -> None:
    """`git log <REST>` lets what reads run, and no option that writes or runs something."""
    found = judged(line, rule("allow", "git", "log", "<REST>"))
    assert found.decision is wanted
    assert (found.reason is Reason.RULE_ALLOWED) is (wanted is Decision.ALLOW)


def test_the_rest_is_free_under_classical_trust_and_where_the_rule_says_so() -> None:
    """Classical trust takes the owner's prefix; <REST:any> does so under strict trust too."""
    kept, free = rule("allow", "make", "<REST>"), rule("allow", "make", "<REST:any>")
    assert judged("make all", kept).decision is Decision.ASK
    assert judged("make all", kept, policy=CLASSICAL).decision is Decision.ALLOW
    assert judged("make all -j4", free).decision is Decision.ALLOW
    assert judged("make", free).decision is Decision.ALLOW


def test_the_rest_of_an_unknown_program_is_not_allowed() -> None:
    """No profile says what its words do, so only <REST:any> allows them."""
    unknown = command("zyzzyva", "x", path="/usr/local/bin/zyzzyva")
    assert judged(unknown, rule("allow", "zyzzyva", "<REST>")).decision is Decision.ASK
    assert judged(unknown, rule("allow", "zyzzyva", "<REST:any>")).decision is Decision.ALLOW


def test_both_names_of_a_program_must_be_harmless() -> None:
    """A link called cat that leads to git is judged as both."""
    linked = command("cat", "push", path="/usr/bin/cat", realpath="/usr/bin/git")
    assert judged(linked, rule("allow", "cat", "<REST>")).decision is Decision.ASK
    assert judged("cat push", rule("allow", "cat", "<REST>")).decision is Decision.ALLOW


@pytest.mark.parametrize("word", ["a\nb", "a\0", "\x1b[2J", "a\u202eb"])
def test_a_free_rest_takes_no_control_characters(word: str) -> None:
    """What a terminal would obey or hide was not meant by the rule."""
    assert judged(command("make", word), rule("allow", "make", "<REST:any>")).decision is (
        Decision.ASK
    )
    assert judged(command("make", "-f"), rule("allow", "make", "<REST:any>")).decision is (
        Decision.ALLOW
    )


def test_a_free_rest_lifts_neither_inline_code_nor_wrappers() -> None:
    """A prefix for python3 is no word on `-c`, nor one for env on what env runs."""
    free = (rule("allow", "python3", "<REST:any>"), rule("allow", "env", "<REST:any>"))
    assert judged("python3 -c x", *free).decision is Decision.ASK
    assert judged("env rm x", *free).decision is Decision.ASK
    assert judged("python3 x.py", *free).decision is Decision.ALLOW


def test_a_rest_that_forbids_takes_anything() -> None:
    """Control characters and options are forbidden like all else."""
    denied = rule("deny", "git", "push", "<REST>")
    for words in ((), ("-f",), ("a\nb", "\0")):
        assert judged(command("git", "push", *words), denied).decision is Decision.DENY
    assert judged("git log", denied).decision is Decision.ASK


def test_words_from_standard_input_are_part_of_the_rest() -> None:
    """`xargs cat` is covered where every further word is harmless, `xargs git log` is not."""
    assert judged("xargs cat", rule("allow", "cat", "<REST>")).decision is Decision.ALLOW
    assert judged("xargs git log", rule("allow", "git", "log", "<REST>")).decision is Decision.ASK
    assert judged("xargs make", rule("allow", "make", "<REST:any>")).decision is Decision.ASK


def test_an_open_rule_says_nothing_of_standard_input() -> None:
    """`python3 -` would read its program from there."""
    plan = replace(plan_of(command("tee", "x")), stdio=Stdio(stdin=b"x"))
    for element, wanted in (("<REST:any>", Decision.ASK), ("x", Decision.ALLOW)):
        held = provisions(rule("allow", "tee", element))
        assert evaluate(plan, LISTED, listed(), provisions=held).decision is wanted


def test_another_rule_may_allow_what_the_profile_does_not_know() -> None:
    """A rule whose rest is not harmless does not hide a wider one behind it."""
    rules = (rule("allow", "git", "<REST>"), rule("allow", "git", "push", "<REST:any>"))
    assert judged("git push -f", *rules).decision is Decision.ALLOW
    assert judged("git fetch", *rules).decision is Decision.ASK


@given(st.lists(st.sampled_from(GIT_WORDS), max_size=5))
def test_the_rest_allows_nothing_that_strict_trust_would_ask_about(words: list[str]) -> None:
    """Oracle: the carrier tables, for the whole vector."""
    found = judged(command("git", *words), rule("allow", "git", "<REST>"))
    harmless = carrier_problem("/usr/bin/git", words) is None
    assert (found.decision is Decision.ALLOW) is harmless


@given(st.lists(st.text(max_size=3), max_size=4))
def test_what_an_open_template_takes_it_also_forbids(words: list[str]) -> None:
    """A rule that forbids is about every vector that the same rule would allow."""
    for rest in ("<REST>", "<REST:any>"):
        template = ArgvTemplate.of_rule(["<GLOB:a*>", rest])
        assert template.may_fit(words, HERE) or not template.fits(words, HERE)


def test_the_rest_stands_last() -> None:
    """What follows it could never be matched."""
    with pytest.raises(ConfigError, match="last element"):
        ArgvTemplate.of_rule(["git", "<REST>", "x"])


@pytest.mark.parametrize(
    ("argv", "words", "wanted"),
    [
        (("log", "<REST>"), ("log", "-3"), Decision.ALLOW),
        (("log", "<REST>"), ("log", "--output=f"), Decision.ASK),
        (("push", "<REST:any>"), ("push", "-f"), Decision.ALLOW),
        (("add", "<GLOB:src/*>"), ("add", "src/a"), Decision.ALLOW),
        (("add", "<GLOB:src/*>"), ("add", "-f"), Decision.ASK),
    ],
)
def test_an_entry_of_the_allowlist_takes_the_same(
    argv: tuple[str, ...], words: tuple[str, ...], wanted: Decision
) -> None:
    """Entries with argv are read as rules are."""
    entries = Allowlist([AllowlistEntry("/usr/bin/git", argv=argv)], "/home/alice")
    assert evaluate(plan_of(command("git", *words)), LISTED, entries).decision is wanted


def test_an_entry_for_a_rest_is_free_under_classical_trust() -> None:
    """As a rule is."""
    entries = Allowlist([AllowlistEntry("/usr/bin/make", argv=("<REST>",))], "/home/alice")
    plan = plan_of(command("make", "all"))
    assert evaluate(plan, CLASSICAL, entries).decision is Decision.ALLOW
    assert evaluate(plan, LISTED, entries).decision is Decision.ASK
