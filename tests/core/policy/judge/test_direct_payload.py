from dataclasses import replace

import pytest

from core.model.command import UNROUTED, Connector, ErrorTo, PinnedFile, Routing
from core.model.decision import Decision, Reason
from core.model.policy import ExecSecurity, Trust
from core.model.stdio import Capture, Stdio
from core.policy.judge.direct_payload import direct
from core.policy.judge.evaluate import evaluate
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, in_usr_bin, listed, pinned, plan_of, wrapped
from tests.support.tables import rows

EVERYDAY = listed(
    "/usr/bin/ls", "/usr/bin/false", "/usr/bin/sleep", "/usr/bin/cat", "/usr/bin/git", "/opt/tool"
)
TERMINAL = Stdio(capture=Capture.PTY)
Argv = tuple[str, ...]


def started(*argv: str) -> list[Argv]:
    """Return the vectors that are started instead of one."""
    return [one.argv for one in direct(plan_of(wrapped(*argv))).commands]


@rows("options", ["-c", "-ec", "-u -c", "-fuc", "-c --", "-e -c"])
@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_a_shell_that_is_the_whole_line_is_not_started(shell: str, options: str) -> None:
    """What it would run is started instead, joined as it joins it."""
    found = direct(plan_of(wrapped(shell, *options.split(), "ls 'a b' | cat && git status")))

    assert [one.argv for one in found.commands] == [("ls", "a b"), ("cat",), ("git", "status")]
    assert found.connectors == (Connector.PIPE, Connector.AND)


def test_a_shell_within_a_shell_is_not_started_either() -> None:
    """As long as each is all that the other runs."""
    assert started("sh", "-c", "bash -c 'ls; git diff'") == [("ls",), ("git", "diff")]
    assert started("sh", "-c", "ls; sh -c 'ls; git diff'")[1][0] == "sh"


@rows(
    "argv",
    [
        ("sh", "-ec", "ls; git diff"),
        ("bash", "-o", "pipefail", "-c", "ls | cat"),
        ("bash", "-eo", "pipefail", "-c", "ls"),
        ("timeout", "5", "sh", "-c", "ls; cat"),
        ("bash", "-lc", "ls"),
        ("sh", "-c", "ls > x"),
        ("sh", "-c", "cd /; ls"),
        ("sh", "-c", "ls $x"),
    ],
)
def test_a_shell_that_changes_how_its_text_runs_is_started(argv: Argv) -> None:
    """Options that end a list or change a status, start-up files, expansions, other wrappers."""
    assert started(*argv) == [argv]


def test_a_terminal_is_for_one_command() -> None:
    """A payload of one command needs no shell there, one of several does."""
    for text, count in (("git diff", 1), ("ls; git diff", 1)):
        plan = replace(plan_of(wrapped("sh", "-c", text)), stdio=TERMINAL)
        assert len(direct(plan).commands) == count
    assert direct(replace(plan_of(wrapped("sh", "-c", "ls; ls")), stdio=TERMINAL)).commands[0].inner


def test_what_the_shell_was_redirected_to_its_commands_are() -> None:
    """If no pipe is between them; within one a redirection means something else."""
    routing = Routing(null_output=True, error=ErrorTo.NULL)
    for text, routings in (("ls; git diff", {routing}), ("ls | cat", {UNROUTED, routing})):
        shell = replace(wrapped("sh", "-c", text), routing=routing)
        found = direct(plan_of(shell)).commands
        assert {one.routing for one in found} <= routings
        assert bool(found[0].inner) is ("|" in text)


def test_a_line_of_several_commands_keeps_its_shells() -> None:
    """There is no grouping in a flat line, so only a shell that is the whole line is left out."""
    plan = plan_of(wrapped("ls"), wrapped("sh", "-c", "ls; cat"))
    assert direct(plan).commands == plan.commands


@rows("trust", Trust)
@pytest.mark.parametrize(
    ("argv", "decision"),
    [
        (("sh", "-c", "sleep 4; git diff"), Decision.ALLOW),
        (("sh", "-c", "git status"), Decision.ALLOW),
        (("timeout", "5", "sh", "-c", "git status"), Decision.ALLOW),
        (("timeout", "5", "sh", "-c", "sleep 4 | git diff"), Decision.ALLOW),
        (("timeout", "5", "sh", "-c", "git diff; sleep 4; ls"), Decision.ALLOW),
        (("timeout", "5", "sh", "-c", "sleep 4; git diff"), Decision.ASK),
        (("timeout", "5", "sh", "-c", "sleep 4 && git diff | cat"), Decision.ASK),
        (("timeout", "5", "sh", "-c", "sleep 4 && ls | nice git diff"), Decision.ASK),
        (("nice", "timeout", "5", "sh", "-c", "false || git diff"), Decision.ASK),
        (("sh", "-ec", "sleep 4; git diff"), Decision.ASK),
        (("bash", "-euo", "pipefail", "-c", "sleep 4; git diff"), Decision.ASK),
        (("sh", "-c", "ls; sh -c 'sleep 4; git diff'"), Decision.ASK),
        (("sh", "-c", "ls; sh -c 'sleep 4; ls'"), Decision.ALLOW),
    ],
)
def test_what_a_shell_starts_later_may_depend_on_nothing(
    argv: Argv, decision: Decision, trust: Trust
) -> None:
    """Hole 5: nothing is bound again between the commands of a shell that is started."""
    found = evaluate(plan_of(wrapped(*argv)), replace(LISTED, trust=trust), EVERYDAY)

    assert found.decision is decision
    if decision is Decision.ASK:
        assert (found.reason, found.promise) == (Reason.WRAPPER, ())
        assert "'git' depends on could change" in found.segments[0].rule


def test_a_rule_about_paths_depends_on_where_they_lead() -> None:
    """What a template or a restriction judged by its path could lead elsewhere by then."""
    argv = ("timeout", "5", "sh", "-c", "sleep 4; cat /srv/app/x")
    plan, some = plan_of(wrapped(*argv)), listed("/usr/bin/sleep")
    roots = {"project": "/srv/app"}
    by_path = provisions(rule("allow", "cat", "<PATH:project>"), roots=roots)
    by_name = provisions(rule("allow", glob="/usr/bin/cat"))
    denies = provisions(
        rule("allow", glob="/usr/bin/cat"), {**rule("deny", "cat", "/srv/app/.env"), "reason": "no"}
    )

    found = [evaluate(plan, LISTED, some, provisions=one) for one in (by_path, by_name, denies)]

    assert [one.decision for one in found] == [Decision.ASK, Decision.ALLOW, Decision.ASK]


def test_a_bound_file_could_be_another_by_then() -> None:
    """A program outside the system folders, as before, and any script."""

    def find(name: str) -> PinnedFile:
        return pinned("/opt/tool") if name == "tool" else in_usr_bin(name)

    tool = wrapped("timeout", "5", "sh", "-c", "sleep 4; tool", find=find)
    assert evaluate(plan_of(tool), LISTED, EVERYDAY).decision is Decision.ASK


def test_full_security_asks_nothing() -> None:
    """As about everything else."""
    plan = plan_of(wrapped("timeout", "5", "sh", "-c", "sleep 4; git diff"))
    full = replace(LISTED, security=ExecSecurity.FULL)
    assert evaluate(plan, full, EVERYDAY).decision is Decision.ALLOW
