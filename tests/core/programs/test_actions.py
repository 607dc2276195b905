"""Word actions from the table, and say nothing about what it does not know."""

import shlex

import pytest

from core.programs.actions import examples, said_of
from core.programs.carriers import in_system_directory, is_known
from core.programs.profiles.tables import section, table
from tests.support.tables import rows

EXAMPLES = tuple(examples())
SAID = [line for line, sentence in EXAMPLES if sentence]


def sentence(line: str) -> str:
    """Return what the table says about a line, with its operands in place."""
    argv = tuple(shlex.split(line))
    said = said_of(argv[0], argv)
    if said is None:
        return ""
    values = (named([argv[at] for at in places]) for places in said.operands)
    words = ", ".join([said.words.format(*values), *said.added])
    return f"{words} · {', '.join(said.effects)}"


def named(values: list[str]) -> str:
    """Return operands as the card names them."""
    if len(values) > 2:
        return f"{values[0]}, {values[1]} and {len(values) - 2} more"
    return " and ".join(values)


@rows("line, expected", EXAMPLES)
def test_each_example_gets_its_sentence(line: str, expected: str) -> None:
    """The examples of the table are its tests; an empty one says that nothing is claimed."""
    assert expected == sentence(line)


@rows("line", SAID)
@pytest.mark.parametrize("option", ["--zz-unknown", "--zz-unknown=x", "-\u00a7"])
def test_an_option_that_is_not_listed_takes_the_words_away(line: str, option: str) -> None:
    """An unknown option may turn the words into a lie, wherever an option is read."""
    argv = shlex.split(line)
    program = section(table("actions"), next(one for one in table("actions") if argv[0] in one))
    first = any(section(program, entry).get("first") is True for entry in program)
    last = 1 if first else len(argv)
    start = next((at for at, word in enumerate(argv[:last]) if word.startswith("-")), last)
    assert "" == sentence(shlex.join([*argv[:start], option, *argv[start:]]))


def test_each_entry_has_an_example_that_says_something() -> None:
    """No entry without a proof."""
    known = table("actions")
    bare = [
        (names, entry)
        for names in known
        for entry in section(known, names)
        if not any(section(section(section(known, names), entry), "examples").values())
    ]
    assert bare == []


def test_each_program_is_in_the_tables_of_carriers() -> None:
    """What the table describes is never called unknown elsewhere."""
    names = [name for one in table("actions") for name in one.split("|")]
    assert [name for name in names if not is_known(f"/usr/bin/{name}")] == []
    assert in_system_directory("/usr/bin/git")
