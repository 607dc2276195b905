"""Ask about what a request puts on standard input, unless it only passes a filter."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.model.command import Connector, PlannedCommand, Routing
from core.model.decision import Decision, Evaluation, Promise, Reason
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity, Trust
from core.model.stdio import Stdio
from core.policy.judge.evaluate import evaluate
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.compiled import NO_PROVISIONS, Provisions
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, listed, plan_of, wrapped
from tests.support.tables import rows

TEXT = b"drop table orders;\n"
CODE = (
    ("sh",),
    ("bash", "-s"),
    ("python3",),
    ("python3", "-"),
    ("perl",),
    ("node",),
    ("psql", "shop"),
    ("mysql",),
    ("sqlite3", "shop.db"),
    ("xargs", "rm"),
    ("xargs",),
    ("xargs", "sort"),
    ("xargs", "wc"),
    ("xargs", "-0", "cat"),
    ("tee", "out"),
    ("ssh", "host"),
    ("dd", "of=x"),
    ("cat",),
    ("git", "apply"),
    ("patch",),
    ("at", "now"),
    ("crontab", "-"),
    ("make", "-f", "-"),
    ("env", "sh"),
    ("timeout", "5", "psql", "shop"),
    ("sh", "-c", "sort | psql shop"),
    ("sh", "-c", "sort; cat"),
    ("sort", "-o", "out"),
    ("jq", "-f", "p.jq"),
)
FILTERS = (
    ("sort", "-u"),
    ("jq", ".name"),
    ("wc", "-l"),
    ("grep", "-v", "x"),
    ("timeout", "5", "sort"),
    ("nice", "env", "cut", "-f1"),
    ("sh", "-c", "sort | uniq -c"),
)


def judged(
    *argvs: Sequence[str] | PlannedCommand,
    joined: Connector = Connector.THEN,
    stdin: bytes | None = TEXT,
    allowed: Sequence[str | Promise] = ("/usr/bin/**",),
    policy: ExecPolicy = LISTED,
    given: Provisions = NO_PROVISIONS,
    acl: Sequence[ArgvTemplate] | None = None,
) -> Evaluation:
    """Judge a line that reads something; everything in /usr/bin is listed by its path."""
    commands = [one if isinstance(one, PlannedCommand) else wrapped(*one) for one in argvs]
    plan = replace(
        plan_of(*commands),
        connectors=(joined,) * (len(commands) - 1),
        stdio=Stdio(stdin=stdin),
    )
    classical = replace(policy, trust=Trust.CLASSICAL)
    return evaluate(plan, classical, listed(*allowed), acl, given)


@rows("argv", CODE)
def test_what_may_be_code_is_asked_about(argv: tuple[str, ...]) -> None:
    """No listed program is given input without asking; allow-always is not offered."""
    paths = [f"/usr/bin/{name}" for name in argv if name.isalnum()]

    found = judged(argv, allowed=("/usr/bin/**", *paths))

    assert found.decision is Decision.ASK
    assert found.promise == ()


@pytest.mark.parametrize("argv", [("psql", "shop"), ("cat",), ("git", "apply")], ids=" ".join)
def test_it_is_the_input_that_is_asked_about(argv: tuple[str, ...]) -> None:
    """The same commands pass without input, or with an empty one; the reason names the program."""
    found = judged(argv)

    assert found.reason is Reason.STDIN
    assert f"/usr/bin/{argv[0]} would read 19 bytes of standard input" in found.why
    assert judged(argv, stdin=None).decision is Decision.ALLOW
    assert judged(argv, stdin=b"").decision is Decision.ALLOW


@pytest.mark.parametrize("argv", FILTERS, ids=" ".join)
def test_a_filter_within_its_profile_may_read_anything(argv: tuple[str, ...]) -> None:
    """Text filters pass, also through wrappers that pass their input on."""
    assert judged(argv, allowed=()).decision is Decision.ALLOW


def test_a_filter_that_is_not_configured_is_none() -> None:
    """A safe bin counts if the policy has it, however else it is listed."""
    without = replace(LISTED, safe_bins=("jq",))

    assert judged(("sort",), policy=without).reason is Reason.STDIN


def test_a_filter_elsewhere_is_none() -> None:
    """A program of that name in another folder is not the filter."""
    found = judged(("/home/alice/bin/sort",), allowed=("/home/alice/bin/sort",))

    assert found.reason is Reason.STDIN


def test_what_a_filter_lets_through_is_judged_too() -> None:
    """A filter in front does not turn code into something else; two filters are fine."""
    piped = judged(("sort",), ("psql", "shop"), joined=Connector.PIPE)

    assert piped.reason is Reason.STDIN
    assert [one.decision for one in piped.segments] == [Decision.ALLOW, Decision.ASK]
    assert judged(("sort",), ("uniq", "-c"), joined=Connector.PIPE).decision is Decision.ALLOW


@pytest.mark.parametrize("joined", [Connector.THEN, Connector.AND, Connector.OR])
def test_later_pipelines_read_what_is_left(joined: Connector) -> None:
    """Every pipeline has the same descriptor, so `true; psql` gives all of it to psql."""
    assert judged(("sort",), ("psql", "shop"), joined=joined).reason is Reason.STDIN


def test_a_command_that_reads_nothing_is_not_asked_about() -> None:
    """`</dev/null` cuts a command off, and what is behind its pipe."""
    closed = replace(wrapped("psql", "shop"), routing=Routing(null_input=True))

    assert judged(closed, ("cat",), joined=Connector.PIPE).decision is Decision.ALLOW
    assert judged(closed, ("cat",)).reason is Reason.STDIN


def test_an_entry_with_arguments_does_not_cover_input() -> None:
    """What allow-always stored for a vector was stored without this input."""
    entry = Promise("/usr/bin/psql", ("shop",))
    found = judged(("psql", "shop"), allowed=(entry,))

    assert judged(("psql", "shop"), allowed=(entry,), stdin=None).decision is Decision.ALLOW

    assert found.reason is Reason.STDIN


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (rule("allow", "/usr/bin/psql", "shop"), Decision.ALLOW),
        (rule("allow", "psql", "<INT>"), Decision.ASK),
        (rule("allow", glob="/usr/bin/psql"), Decision.ASK),
        (rule("ask", "/usr/bin/psql", "shop"), Decision.ASK),
        (rule("deny", "/usr/bin/psql", "shop"), Decision.DENY),
    ],
)
def test_a_rule_about_the_very_vector_covers_input(
    given: dict[str, object], expected: Decision
) -> None:
    """The owner may let one vector read; a pattern of paths says nothing about input."""
    assert judged(("psql", "shop"), given=provisions(given)).decision is expected


def test_a_rule_about_a_wrapper_does_not_cover_what_it_runs() -> None:
    """The vector that a rule names is that of the program that reads."""
    given = provisions(rule("allow", "/usr/bin/timeout", "5", "psql", "shop"))

    assert judged(("timeout", "5", "psql", "shop"), given=given).decision is Decision.ASK


def test_an_access_list_decides_alone() -> None:
    """S4 has its own cap on what is read, and no people."""
    acl = [ArgvTemplate.parse(("/usr/bin/psql", "shop"))]

    assert judged(("/usr/bin/psql", "shop"), acl=acl).decision is Decision.ALLOW
    assert judged(("/usr/bin/cat",), acl=acl).decision is Decision.DENY


def test_full_security_lets_everything_read_unless_a_rule_restricts() -> None:
    """Full is full; if rules forbid something, what is read could do just that."""
    full = replace(LISTED, security=ExecSecurity.FULL)
    restricted = provisions(rule("deny", "/usr/bin/rm", "-rf", "/"))

    assert judged(("psql", "shop"), policy=full).decision is Decision.ALLOW
    assert judged(("psql", "shop"), policy=full, given=restricted).reason is Reason.STDIN
    assert judged(("sort",), policy=full, given=restricted).decision is Decision.ALLOW


def test_nobody_is_asked_where_asking_is_off() -> None:
    """Without questions it is a denial, and so is everything that was one before."""
    off = replace(LISTED, ask=ExecAsk.OFF)

    assert judged(("psql", "shop"), policy=off).decision is Decision.DENY
    assert judged(("nosuch",), allowed=()).reason is Reason.NOT_LISTED


def test_a_fallback_to_the_lists_does_not_see_it_as_listed() -> None:
    """``askFallback: allowlist`` checks the segments; the one that reads is not allowed there."""
    found = judged(("cat",))

    assert [one.decision for one in found.segments] == [Decision.ASK]


def test_allow_always_is_not_offered_beside_input() -> None:
    """What would be stored for another command of the line would not make this line pass."""
    closed = replace(wrapped("frob"), routing=Routing(null_input=True))

    assert judged(("cat",), closed, allowed=("/usr/bin/cat",)).promise == ()
    assert judged(("cat",), closed, allowed=("/usr/bin/cat",), stdin=None).promise != ()
