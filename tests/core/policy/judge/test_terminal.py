"""Judge what programs do because they have a terminal.

On the code before (commit 6a3dcf4), with a rule that lets cat pass::

    $ ln -s ~/.bashrc nohup.out; echo 'echo payload' > payload
    $ sayso run --pty -c 'nohup cat payload'
    nohup: ignoring input and appending output to 'nohup.out'
    exit 0
    $ cat ~/.bashrc
    echo payload
"""

from dataclasses import replace

import pytest

from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation, Reason
from core.model.policy import ExecPolicy, ExecSecurity, Trust
from core.model.stdio import Capture, Stdio
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import NO_PROVISIONS, Provisions
from core.programs.carriers import is_plain, profiled
from core.programs.profiles.tables import section, table, words
from core.programs.wrappers import names_of
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, listed, plan_of, wrapped
from tests.support.tables import rows

ALL = listed("/usr/bin/*")
GIT = (("GIT_PAGER", "cat"),)


def at_terminal(*argv: str, stdin: bytes | None = None) -> ExecPlan:
    """Return the plan of a command that gets a terminal."""
    plan = plan_of(wrapped(*argv), env=GIT)
    return replace(plan, requested_env=(), stdio=Stdio(stdin, Capture.PTY))


def judged(plan: ExecPlan, trust: Trust = Trust.STRICT) -> Evaluation:
    """Judge a plan with every program listed."""
    return evaluate(plan, replace(LISTED, trust=trust), ALL)


def with_pipes(plan: ExecPlan) -> ExecPlan:
    """Return the same command with pipes."""
    return replace(plan, stdio=Stdio())


@rows("trust", Trust)
@pytest.mark.parametrize(
    "argv",
    [
        ("nohup", "cat", "payload"),
        ("timeout", "5", "nohup", "ls"),
        ("sh", "-c", "nohup ls"),
        ("nice", "nohup", "--", "git", "status"),
    ],
)
def test_nohup_asks_at_a_terminal(argv: tuple[str, ...], trust: Trust) -> None:
    """Hole 7: there it writes nohup.out, wherever a link of that name leads."""
    plan = at_terminal(*argv)

    found = judged(plan, trust)

    assert (found.decision, found.reason, found.promise) == (Decision.ASK, Reason.TERMINAL, ())
    assert judged(with_pipes(plan), trust).decision is Decision.ALLOW


@rows(
    "line, decision",
    [
        ("ls -l", Decision.ALLOW),
        ("cat f", Decision.ALLOW),
        ("git log --oneline", Decision.ALLOW),
        ("timeout 5 git diff", Decision.ALLOW),
        ("find . -name x", Decision.ALLOW),
        ("docker ps", Decision.ALLOW),
        ("python3 --version", Decision.ALLOW),
        ("sort f", Decision.ALLOW),
        ("npm --version", Decision.ASK),
        ("cargo --version", Decision.ASK),
    ],
)
def test_harmless_with_pipes_is_not_harmless_at_a_terminal(line: str, decision: Decision) -> None:
    """What was never tried there asks; programs that differ only in their looks pass."""
    plan = at_terminal(*line.split())

    assert judged(with_pipes(plan)).decision is Decision.ALLOW
    assert judged(plan).decision is decision


@pytest.mark.parametrize("line", ["less f", "journalctl -n 5", "systemctl status x", "man ls"])
def test_a_rule_for_its_words_does_not_cover_a_pager(line: str) -> None:
    """The author of the rule had pipes in mind, with which none is started."""
    named, plan = provisions(rule("allow", *line.split())), at_terminal(*line.split())

    assert allowed(with_pipes(plan), LISTED, listed(), named)
    assert not allowed(plan, LISTED, listed(), named)


def test_git_needs_its_pager_switched_off() -> None:
    """Without that setting core.pager names a program, and git starts it for a terminal."""
    assert judged(replace(at_terminal("git", "log"), env=())).reason is Reason.TERMINAL


@pytest.mark.parametrize("trust", Trust)
def test_what_is_typed_to_a_pager_is_a_command(trust: Trust) -> None:
    """`less` obeys `!touch x` from a terminal, so not even a rule for its words covers that."""
    named = provisions(rule("allow", "less", "f"))
    policy = replace(LISTED, trust=trust)

    for stdio, decision in (
        (Stdio(b"!touch x\n", Capture.PTY), Decision.ASK),
        (Stdio(b"!touch x\n"), Decision.ALLOW),
    ):
        plan = replace(at_terminal("less", "f"), stdio=stdio)
        found = evaluate(plan, policy, listed(), provisions=named)
        assert found.decision is decision


def allowed(
    plan: ExecPlan, policy: ExecPolicy, lists: Allowlist, more: Provisions = NO_PROVISIONS
) -> bool:
    """Return whether a plan runs without a question."""
    return evaluate(plan, policy, lists, provisions=more).decision is Decision.ALLOW


def test_what_is_trusted_whatever_it_does_may_have_a_terminal() -> None:
    """A rule for words that no profile calls harmless, an own tool, full security, its path."""
    tests = provisions(rule("allow", "npm", "test"))
    full = replace(LISTED, security=ExecSecurity.FULL)
    classical = replace(LISTED, trust=Trust.CLASSICAL)
    own = at_terminal("/opt/tool", "build")

    assert allowed(at_terminal("npm", "test"), LISTED, listed(), tests)
    assert allowed(own, LISTED, listed("/opt/tool"))
    assert allowed(at_terminal("nohup", "ls"), full, ALL)
    assert allowed(at_terminal("less", "f"), classical, ALL)


def test_the_table_names_what_other_tables_know() -> None:
    """A program counts as the same only if a profile says what of it is harmless."""
    known = table("terminal")
    same, otherwise = words(known, "same"), set(words(known, "otherwise"))
    assert set(same) <= profiled().keys()
    assert set(section(known, "neutral")) <= profiled().keys()
    assert otherwise.isdisjoint(one for name in same for one in names_of(name))
    assert not any(is_plain(f"/usr/bin/{name}") for name in otherwise)
