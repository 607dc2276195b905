"""Read ``$?`` where a program only prints it; its value is unknown when it is judged."""

from dataclasses import replace
from typing import Any

import pytest

from core.model.command import OpenWord, PartKind, PlannedCommand, Reading, Unreadable, WordPart
from core.model.decision import Decision, Evaluation, Promise, Reason
from core.model.policy import ExecSecurity, Trust
from core.policy.judge.evaluate import evaluate
from core.policy.matching.argv_template import ArgvTemplate
from core.shell import posix_reader, reader, tree_reader
from core.shell.quoting import quote_reading
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

ECHO = "/usr/bin/echo"
FULL = replace(LISTED, security=ExecSecurity.FULL)
STATUS = WordPart(PartKind.STATUS, "?")


def text(words: str) -> WordPart:
    """Return literal text of a word."""
    return WordPart(PartKind.LITERAL, words)


def late(*argv: str, path: str | None = "") -> PlannedCommand:
    """Return a command that gets the status at the first ``$?`` of its last word."""
    return replace(command(*argv, path=path), late=((len(argv) - 1, argv[-1].index("$?")),))


def judged(one: PlannedCommand, *rules: dict[str, Any], **more: Any) -> Evaluation:
    """Judge one command after another, by default under strict trust with `echo` listed."""
    given = {"policy": LISTED, "allowlist": listed("/usr/bin/false", ECHO), **more}
    return evaluate(plan_of(command("false"), one), provisions=provisions(*rules), **given)


@rows(
    "word, parts",
    [
        ("$?", [STATUS]),
        ("${?}", [STATUS]),
        ('"$?"', [STATUS]),
        ('"${?}"', [STATUS]),
        ('"exit: $?"', [text("exit: "), STATUS]),
        ("EXIT=$?", [text("EXIT="), STATUS]),
        ("a$?b", [text("a"), STATUS, text("b")]),
        ("${?}9", [STATUS, text("9")]),
        ("$?$?", [STATUS, STATUS]),
        ('"$??"', [STATUS, text("?")]),
        ("$?'*'", [STATUS, text("*")]),
        ('"$HOME: $?"', [WordPart(PartKind.QUOTED_VALUE, "HOME"), text(": "), STATUS]),
    ],
)
def test_both_readers_take_the_last_status(word: str, parts: list[WordPart]) -> None:
    """Each on its own, quoted or not; and the canonical form reads back as the same."""
    line = f"false; echo {word}"
    expected = (("false",), ("echo", OpenWord(tuple(parts))))
    for read in (tree_reader.read, posix_reader.read, reader.read):
        reading = read(line)
        assert isinstance(reading, Reading), reading
        assert reading.argvs == expected
        assert read(quote_reading(reading)) == reading


@pytest.mark.parametrize("word", [r"\$?", r'"\$?"', "'$?'", r'"\${?}"'])
def test_a_quoted_sign_is_text(word: str) -> None:
    """What a shell would not expand is not a status."""
    for read in (tree_reader.read, posix_reader.read):
        reading = read(f"echo {word}")
        assert isinstance(reading, Reading), reading
        assert PartKind.STATUS.name not in str(reading)


@rows(
    "word",
    [
        *("$$?", '"$$?"', "${?:-x}", "${#?}", '"${?:-x}"', "${ ?}", "$ ?", "$", "$#", "$!", "$0"),
        *('"$\\\n?"', "$\\\n?", "${?", '"${?"', "=$?", "~$?", "{$?,b}", "[$?]", "$?\\\nx"),
    ],
)
def test_neither_reader_takes_what_only_looks_like_it(word: str) -> None:
    """Other special parameters, operators in braces and joined lines are refused twice."""
    for read in (tree_reader.read, posix_reader.read):
        assert isinstance(read(f"echo {word}"), Unreadable)


@rows(
    "line",
    [
        *("echo $?", "/bin/echo $?", "/usr/bin/echo a $? b", "printf '%s\\n' $?", "echo -$?"),
        *('ls | echo "$?"', "cd / && echo $?", "for x in a; do ls $x; done; echo $?"),
    ],
)
def test_it_is_read_where_a_program_prints_it(line: str) -> None:
    """Among the words of echo, and after the format of printf."""
    assert isinstance(reader.read(line), Reading)


@rows(
    "line",
    [
        *("$?", "./$?", "~/$?", "ls $?", "cat $?", "kill $?", "test $? -eq 0", "cd $?", "sleep $?"),
        *("env echo $?", "timeout 5 echo $?", "nohup echo $?", "xargs echo $?", "sudo echo $?"),
        *('sh -c "echo $?"', "sh -c $?", "git $?", "./echo $?", "/tmp/echo $?", "~/echo $?"),
        *("printf $?", 'printf "$?"', "printf -- $?", "printf -- %s $?", 'printf "%$?d" 1'),
        *("printf -$? x", "printf ~/%s $?", "printf $? $?"),
        *("echo $??", "echo $?*", "echo *$?", "echo *'$?'$?"),
        *("for x in $?; do echo $x; done", "for x in a; do echo $?; done"),
        *("for x in a; do ls; echo $x$?; done", "test -v $?", "exit $?", "return $?"),
    ],
)
def test_elsewhere_it_asks(line: str) -> None:
    """Any other program, a name, a format, a loop and a glob next to it stay unreadable."""
    assert isinstance(reader.read(line), Unreadable)


@pytest.mark.parametrize("line", ["echo $?", 'echo "exit: $?"', "printf '%s\\n' $?"])
def test_a_payload_with_it_keeps_its_shell_and_asks(line: str) -> None:
    """What ``sh -c`` is given is then not inspected."""
    one = command("sh", "-c", f"false; {line}")
    assert judged(one, allowlist=listed("/**")).decision is Decision.ASK


@pytest.mark.parametrize("trust", list(Trust))
def test_a_listed_echo_passes(trust: Trust) -> None:
    """Whatever the number, it is only printed."""
    found = judged(late(ECHO, "exit: $?"), policy=replace(LISTED, trust=trust))
    assert found.decision is Decision.ALLOW


def test_a_listed_printf_passes() -> None:
    """It has an option that writes a variable in a shell, which no number can be."""
    found = judged(late("printf", "%s", "$?"), allowlist=listed("/usr/bin/*"))
    assert found.decision is Decision.ALLOW


@pytest.mark.parametrize("name", ["python3", "rm", "env", "git", "unheard-of", "sh"])
def test_a_plan_that_gives_it_to_another_program_asks(name: str) -> None:
    """The reader makes no such plan; if one existed, a person would be asked."""
    found = judged(late(name, "$?"), allowlist=listed("/**", f"/usr/bin/{name}"))
    assert found.decision is Decision.ASK


def test_no_exact_vector_covers_it() -> None:
    """Neither an entry with arguments nor a rule that allows them, as text or typed."""
    entry = listed("/usr/bin/false", Promise(ECHO, ("$?",), ()))
    assert judged(command("echo", "$?"), allowlist=entry).decision is Decision.ALLOW
    assert judged(late("echo", "$?"), allowlist=entry).decision is Decision.ASK
    none = listed("/usr/bin/false")
    for words in (["echo", "$?"], ["echo", "<ANY>"], ["echo", "<REST>"]):
        allowing = rule("allow", *words)
        assert judged(command("echo", "$?"), allowing, allowlist=none).decision is Decision.ALLOW
        assert judged(late("echo", "$?"), allowing, allowlist=none).decision is Decision.ASK


@pytest.mark.parametrize("decide", ["ask", "deny"])
def test_a_rule_about_the_words_asks(decide: str) -> None:
    """Whether the number will match what a rule forbids is not known, so a person is asked."""
    found = judged(late("echo", "$?"), rule(decide, "echo", "1"))
    assert found.decision is Decision.ASK
    restricted = judged(late("echo", "$?"), rule("deny", "echo", "1"), policy=FULL)
    assert restricted.decision is Decision.ASK


def test_a_rule_about_the_program_holds() -> None:
    """A denial of the whole program needs no words."""
    found = judged(late("echo", "$?"), rule("deny", glob=ECHO))
    assert (found.decision, found.reason) == (Decision.DENY, Reason.RULE_DENIED)


def test_an_acl_never_covers_it() -> None:
    """An access list compares element by element, and one of them is not known."""
    acl = [ArgvTemplate.parse(words) for words in (["false"], ["echo", "0"], ["echo", "$?"])]
    assert judged(command("echo", "0"), acl=acl).decision is Decision.ALLOW
    found = judged(late("echo", "$?"), acl=acl)
    assert found.decision is Decision.DENY
    assert "not known before it starts" in found.segments[1].rule


def test_allow_always_stores_the_program_and_no_words() -> None:
    """As for any program that is harmless with all arguments."""
    found = judged(late("echo", "$?"), allowlist=listed("/usr/bin/false"))
    assert found.promise == (Promise(ECHO),)
