from dataclasses import replace

from core.model.decision import Decision
from core.model.policy import Trust
from core.policy.judge.evaluate import evaluate
from core.programs.profiles.tables import section, table, words
from core.programs.required_operands import required_of
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

PLAIN = frozenset(words(table("carriers"), "plain"))


@rows(
    "line",
    [
        "tr -d",
        "tr",
        "tr a",
        "tr --delete",
        "tr -cs",
        "tr -d --",
        "grep",
        "grep -rn",
        "grep -e",
        "grep -A 3",
        "head -n",
        "tail -c",
        "cmp",
        "realpath --relative-to x",
        "stat -c %s",
        "seq -s ,",
        "basename",
        "join a",
    ],
)
def test_a_program_without_its_operand_asks(line: str) -> None:
    """Ask about a listed program whose required operand or value is missing."""
    found = evaluate(plan_of(command(*line.split())), LISTED, listed("/usr/bin/*"))
    assert found.decision is Decision.ASK


@rows(
    "line",
    [
        "tr -d x",
        "tr a b",
        "tr -s x",
        "tr -ds a b",
        "grep x",
        "grep -e x",
        "grep -ex",
        "grep --regexp=x",
        "grep -rn x -",
        "grep -- -x",
        "head -n 5",
        "head -n5",
        "head",
        "tail --lines=3",
        "grep --version",
        "stat -c %s f",
        "cut -d , -f 1",
        "seq 5",
        "printf x",
        "ls",
        "wc -l",
    ],
)
def test_a_program_with_its_operands_passes(line: str) -> None:
    """What a program needs, and no more, is required; unknown options are not judged."""
    found = evaluate(plan_of(command(*line.split())), LISTED, listed("/usr/bin/*"))
    assert found.decision is Decision.ALLOW


def test_under_classical_trust_a_path_is_enough() -> None:
    """Control: the same line passes if arguments are not checked."""
    policy = replace(LISTED, trust=Trust.CLASSICAL)
    found = evaluate(plan_of(command("tr", "-d")), policy, listed("/usr/bin/*"))
    assert found.decision is Decision.ALLOW


def test_only_plain_programs_stand_in_the_table() -> None:
    """For a program with a profile, the profile says what it needs."""
    known = section(table("carriers"), "required")
    assert [name for name in known if name not in PLAIN] == []
    assert [name for name in known if required_of(name) is None] == []
