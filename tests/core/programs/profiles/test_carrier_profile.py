"""Find what one program's profile knows to be harmless, and what the rest of it can do."""

import tomllib

import pytest

from core.programs.profiles.carrier_profile import CarrierProfile, Effect, carrier_profile_of
from tests.support.tables import rows


def profile(text: str) -> CarrierProfile:
    """Build the profile of a table."""
    return carrier_profile_of("tool", tomllib.loads(text))


PLAIN = profile("""
reading = "reads"
can = "writes"
exact = "--version"
options.flags = "-l"
options.operands = 1
""")
PARTS = profile("""
reading = "reads"
can = "runs"
inherit = true
options.flags = "-q"
[commands."list|ls"]
flags = "-a"
[commands."remote show"]
operands = 1
[acts]
network = "push"
writes = "remote.add"
""")
BARE = profile('reading = "reads"\ncan = "network writes"\nexact = "--version"')


@rows(
    "known, line, problem",
    [
        (PLAIN, "-l", None),
        (PLAIN, "-l a", None),
        (PLAIN, "--version", None),
        (PLAIN, "-x", "unknown option -x"),
        (PARTS, "list", None),
        (PARTS, "ls -a", None),
        (PARTS, "-q ls", None),
        (PARTS, "ls -q", None),
        (PARTS, "remote show a", None),
        (PARTS, "-x ls", "unknown option -x"),
        (PARTS, "ls -x", "ls: unknown option -x"),
        (PARTS, "push", "the subcommand 'push' is not known to be harmless"),
        (PARTS, "-q", "the subcommand '' is not known to be harmless"),
        (BARE, "--version", None),
        (BARE, "--version x", "can do more than read (network, writes)"),
        (BARE, "", "can do more than read (network, writes)"),
    ],
)
def test_what_is_not_known_to_be_harmless_is_said(
    known: CarrierProfile, line: str, problem: str | None
) -> None:
    """By the whole list, by the subcommand if there are some, else by the options."""
    assert known.problem(line.split()) == problem


@pytest.mark.parametrize(
    ("known", "line", "effects"),
    [
        (PLAIN, "-l", {Effect.READS}),
        (PLAIN, "-x", {Effect.WRITES}),
        (PARTS, "ls", {Effect.READS}),
        (PARTS, "-q push", {Effect.NETWORK}),
        (PARTS, "remote add a", {Effect.WRITES}),
        (PARTS, "-x push", None),
        (PARTS, "else", None),
    ],
)
def test_the_rest_can_do_what_its_subcommand_can(
    known: CarrierProfile, line: str, effects: set[Effect] | None
) -> None:
    """Nothing is known of a subcommand that is not listed, nor after a strange option."""
    assert known.effects(line.split()) == effects


@pytest.mark.parametrize(
    ("known", "line", "bounds"),
    [
        (PLAIN, "-x", True),
        (PARTS, "ls", True),
        (PARTS, "push -q", True),
        (PARTS, "push -x", False),
        (PARTS, "-x push", False),
    ],
)
def test_a_strange_option_may_add_to_what_a_subcommand_does(
    known: CarrierProfile, line: str, bounds: bool
) -> None:
    """If effects are those of a subcommand; those of a whole program are all it can do."""
    assert known.bounds(line.split()) is bounds


def test_a_key_that_means_nothing_stops_the_load() -> None:
    """A misspelled `can` would have a program do nothing but read."""
    with pytest.raises(ValueError, match=r"could means nothing; known: .*can"):
        carrier_profile_of("tool", {"could": "writes"})
