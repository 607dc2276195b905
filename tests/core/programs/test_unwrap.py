from dataclasses import replace

import pytest

from core.model.command import Connector, PinnedFile, PlannedCommand
from core.model.decision import Decision, Evaluation, Promise, Reason
from core.model.policy import Trust
from core.policy.judge.evaluate import evaluate
from core.programs.profiles.tables import section, table, words
from core.programs.shell_payload import shell_grammars
from core.programs.unwrap import Unwrapped, reading_applet, unwrap
from core.programs.wrapper_grammar import Opaque, find_command, grammars
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import (
    LISTED,
    command,
    in_usr_bin,
    listed,
    pinned,
    plan_of,
    wrapped,
)
from tests.support.tables import rows

EVERYDAY = listed("/usr/bin/ls", "/usr/bin/grep", "/usr/bin/git", "/opt/a=b/tool")


def inner_of(line: str) -> tuple[str, ...] | None:
    """Return the inner command of a line of blank-separated words, if it can be unwrapped."""
    argv = line.split()
    found = unwrap(argv, pinned(f"/usr/bin/{argv[0]}"))
    return found.commands[0] if isinstance(found, Unwrapped) else None


def judged(one: PlannedCommand, trust: Trust = Trust.STRICT) -> Evaluation:
    """Judge a single command under the everyday list."""
    return evaluate(plan_of(one), replace(LISTED, trust=trust), EVERYDAY)


@rows(
    "line, inner",
    [
        ("env ls -l", "ls -l"),
        ("env LANG=C A=b ls", "ls"),
        ("env -- A=b ls", "ls"),
        ("nice ls", "ls"),
        ("nice -n 5 -7 --adjustment=3 ls -n", "ls -n"),
        ("nice --adjustment 5 ls -n", "ls -n"),
        ("timeout --signal KILL --kill-after 5 9 ls", "ls"),
        ("xargs --max-procs 2 ls -l", "ls -l"),
        ("nohup -- ls", "ls"),
        ("stdbuf -oL -e 0 ls", "ls"),
        ("time -pv -f %e ls", "ls"),
        ("timeout 5 ls", "ls"),
        ("timeout -vk9 --signal=KILL -s TERM 1.5m ls -k", "ls -k"),
        ("setsid -w ls", "ls"),
        ("ionice -tc3 -n 5 ls", "ls"),
        ("chrt -b 0 ls", "ls"),
        ("taskset -c 0-3,7 ls", "ls"),
        ("taskset 0xff ls", "ls"),
        ("xargs -0rn1 --max-procs=4 ls -d", "ls -d"),
    ],
)
def test_what_the_grammar_knows_is_unwrapped(line: str, inner: str) -> None:
    """Options in every listed spelling lead to the inner command, untouched."""
    assert inner_of(line) == tuple(inner.split())


@rows(
    "line",
    """env -i ls|env - ls|env -u PATH ls|env -S ls|env -Sls|env --split-string=ls|env -C / ls
    |env --chdir=/ ls|env -a x ls|env -v ls|env --ignore-environment ls|env A=b|env|env A=b -- ls
    |nice -n|nice -n x ls|nice --adj=5 ls|nice --5 ls|nice -n5 -n|nice --adjustment ls
    |nice --adjustment|nice --adjustment x ls|nice --adjustment=x ls|timeout --signal XYZ 5 ls
    |nohup --version ls|stdbuf ls|stdbuf -o ls|stdbuf -oX ls|time -o f ls|time -of ls|time -a ls
    |time --output=f ls|timeout ls|timeout 5|timeout x ls|timeout -k ls|timeout -s XYZ 5 ls
    |timeout --sig=KILL 5 ls|timeout -x 5 ls|setsid ls|setsid -f ls|setsid -cw ls|ionice -p 1 ls
    |ionice -c1 ls|ionice -c realtime ls|chrt 0 ls|chrt -f 1 ls|chrt -o 1 ls|chrt -op 0 1
    |taskset ls|taskset -p 1 2|taskset -ap 1 ls|taskset x ls|xargs -I% ls|xargs -i ls|xargs -a f ls
    |xargs -p ls|xargs -o ls|xargs -E x ls|xargs -n ls|xargs --arg-file=f ls|xargs|xargs -0
    |nice -- -n ls|timeout 5 -- ls""".replace("\n    ", "").split("|"),
)
def test_what_the_grammar_does_not_know_is_not_unwrapped(line: str) -> None:
    """Unknown options, odd values, abbreviations and missing commands end it."""
    assert inner_of(line) is None


@pytest.mark.parametrize(
    "line",
    ["sudo ls", "doas ls", "su -c ls", "chroot / ls", "unshare ls", "setpriv ls", "flock f ls"],
)
def test_privilege_and_locks_ask_and_promise_nothing(line: str) -> None:
    """A wrapper that changes privileges or writes its lock file is never unwrapped."""
    found = judged(wrapped(*line.split()))
    assert (found.decision, found.reason, found.promise) == (Decision.ASK, Reason.WRAPPER, ())


def test_taskset_is_looked_through_and_asks_all_the_same() -> None:
    """What it runs is judged, bound and shown; no list lets it pass."""
    for trust in Trust:
        found = judged(wrapped("taskset", "0x1", "ls"), trust)
        assert (found.decision, found.reason) == (Decision.ASK, Reason.WRAPPER)
        assert "chooses the processors" in found.segments[0].rule
    deny = provisions({**rule("deny", glob="/usr/bin/ls"), "reason": "not here"})
    denied = evaluate(plan_of(wrapped("taskset", "0x1", "ls")), LISTED, EVERYDAY, provisions=deny)
    assert (Decision.DENY, Reason.RULE_DENIED) == (denied.decision, denied.reason)


def test_taskset_is_looked_through_and_promises_nothing() -> None:
    """To store what it runs would not let it pass."""
    listed_inside = judged(wrapped("taskset", "0x1", "ls"))
    missed_inside = judged(wrapped("taskset", "0x1", "/opt/x"))

    assert ((), ()) == (listed_inside.promise, missed_inside.promise)


@rows(
    "argv, path, real",
    [
        (("env", "ls"), "/opt/env", "/opt/env"),
        (("env", "ls"), "/usr/bin/env", "/usr/bin/busybox"),
        (("env", "ls"), "/usr/bin/env", "/usr/lib/cargo/bin/coreutils/env"),
        (("./x", "ls"), "/usr/bin/x", "/usr/bin/env"),
        (("nice", "ls"), "/usr/bin/env", "/usr/bin/env"),
        (("sh", "-c", "ls"), "/usr/bin/sh", "/usr/bin/busybox"),
        (("sh", "-c", "ls"), "/tmp/sh", "/usr/bin/dash"),
        (("rbash", "-c", "ls"), "/usr/bin/rbash", "/usr/bin/bash"),
    ],
)
def test_another_file_of_that_name_has_no_grammar(
    argv: tuple[str, ...], path: str, real: str
) -> None:
    """The grammar is that of one implementation: a link, a copy or another name asks."""
    assert unwrap(argv, pinned(path, real)) is None


@rows("options", ["-c", "-ec", "-euc", "-ce", "-e -c", "-eo nounset -c", "-c --"])
@pytest.mark.parametrize("real", ["bash", "dash"])
def test_a_payload_is_read(options: str, real: str) -> None:
    """The one text after -c is read as a line; what joins its commands is kept."""
    argv = ("sh", *options.split(), "ls 'a b' | grep x && git status")
    found = unwrap(argv, pinned("/usr/bin/sh", f"/usr/bin/{real}"))
    assert isinstance(found, Unwrapped)
    assert found.commands == (("ls", "a b"), ("grep", "x"), ("git", "status"))
    assert found.connectors == (Connector.PIPE, Connector.AND)


@rows(
    "argv",
    [
        ("-lc", "ls"),
        ("-ic", "ls"),
        ("-sc", "ls"),
        ("-s",),
        ("-c",),
        ("-e", "ls"),
        ("-c", "ls", "a"),
        ("-c", "ls > x"),
        ("-c", "ls $x"),
        ("-c", "cd /tmp; ls"),
        ("-c", "ls *"),
        ("-c", "ls ~"),
        ("-c", "-ls"),
        ("-c", "+ls"),
        ("-c", "-", "ls"),
        ("-oc", "ls"),
        ("-o", "vi", "-c", "ls"),
        ("-eco", "nounset", "ls"),
        ("--norc", "-c", "ls"),
        ("--rcfile", "x", "-c", "ls"),
        ("-c", "time ls"),
        ("-c", ""),
        ("x.sh",),
    ],
)
def test_other_shells_ask(argv: tuple[str, ...]) -> None:
    """Login, interactive, scripts, positional words and unreadable payloads are not unwrapped."""
    assert isinstance(unwrap(("bash", *argv), pinned("/usr/bin/bash")), Opaque)


def test_zsh_must_be_told_not_to_read_its_start_up_file() -> None:
    """Without -f, zsh obeys ~/.zshenv before the payload."""
    zsh = pinned("/usr/bin/zsh")
    assert isinstance(unwrap(("zsh", "-c", "ls"), zsh), Opaque)
    assert isinstance(unwrap(("zsh", "-fc", "ls"), zsh), Unwrapped)


def test_what_runs_names_its_programs_by_path() -> None:
    """Nested wrappers and payloads are rewritten to absolute paths, all the way down."""
    assert wrapped("nice", "env", "A=b", "ls", "-l").bound == (
        *("nice", "/usr/bin/env", "A=b", "/usr/bin/ls", "-l"),
    )
    line = "echo 'a b' | timeout 5 grep a"
    assert wrapped("sh", "-c", line).bound == (
        *("sh", "-c", "/usr/bin/echo 'a b' | /usr/bin/timeout 5 /usr/bin/grep a"),
    )


def test_a_path_that_the_wrapper_would_misread_is_not_bound() -> None:
    """``env`` takes a path with ``=`` for an assignment, so that one asks."""
    tool = wrapped(
        "env",
        "tool",
        find=lambda name: pinned("/usr/bin/env" if name == "env" else "/opt/a=b/tool"),
    )
    assert (tool.inner, tool.bound) == ((), ())
    assert judged(tool).reason is Reason.WRAPPER
    assert judged(command("tool", path="/opt/a=b/tool")).decision is Decision.ALLOW


@rows("trust", Trust)
@pytest.mark.parametrize(
    ("line", "decision", "reason"),
    [
        ("env ls", Decision.ALLOW, Reason.ALLOWLISTED),
        ("env LANG=C ls", Decision.ALLOW, Reason.ALLOWLISTED),
        ("nice nohup timeout 5 ls", Decision.ALLOW, Reason.ALLOWLISTED),
        ("timeout 5 head -5", Decision.ALLOW, Reason.SAFE_BIN),
        ("env cal", Decision.ASK, Reason.NOT_LISTED),
        ("env FOO=1 ls", Decision.ASK, Reason.ENVIRONMENT),
        ("env LD_PRELOAD=x ls", Decision.DENY, Reason.ENVIRONMENT),
        ("nice env PATH=/tmp ls", Decision.DENY, Reason.ENVIRONMENT),
        ("timeout 5 python3 -c x", Decision.ASK, Reason.WRAPPER),
        ("nice sudo ls", Decision.ASK, Reason.WRAPPER),
        ("env env env env ls", Decision.ALLOW, Reason.ALLOWLISTED),
        ("env env env env env ls", Decision.ASK, Reason.WRAPPER),
        ("xargs grep x", Decision.ALLOW, Reason.ALLOWLISTED),
        ("xargs nice grep x", Decision.ALLOW, Reason.ALLOWLISTED),
        ("xargs git status", Decision.ASK, Reason.WRAPPER),
        ("xargs head -5", Decision.ASK, Reason.NOT_LISTED),
        ("xargs cal", Decision.ASK, Reason.NOT_LISTED),
        ("xargs rm", Decision.ASK, Reason.WRAPPER),
        ("xargs printf", Decision.ASK, Reason.WRAPPER),
        ("xargs sh -c ls", Decision.ASK, Reason.WRAPPER),
        ("busybox ls", Decision.ASK, Reason.WRAPPER),
        ("busybox sh -c ls", Decision.ASK, Reason.WRAPPER),
    ],
)
def test_the_inner_command_is_judged_as_if_it_stood_there(
    line: str, decision: Decision, reason: Reason, trust: Trust
) -> None:
    """Allowlist, safe bins, inline code and the environment rules all see the inner command."""
    found = judged(wrapped(*line.split()), trust)
    assert (found.decision, found.reason) == (decision, reason)


def test_a_carrier_behind_a_wrapper_is_a_carrier() -> None:
    """Strict trust asks about arguments of the inner program, classical trusts its path."""
    pushed = wrapped("env", "git", "push")
    assert judged(pushed).reason is Reason.CARRIER
    assert judged(pushed, Trust.CLASSICAL).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("argv", "decision"),
    [
        (("sh", "-c", "ls | grep x"), Decision.ALLOW),
        (("bash", "-euo", "pipefail", "-c", "ls; ls -l"), Decision.ALLOW),
        (("sh", "-c", "ls; cal"), Decision.ASK),
        (("sh", "-c", "ls; env LD_PRELOAD=x ls"), Decision.DENY),
        (("sh", "-c", "ls; sh -c 'ls; sudo ls'"), Decision.ASK),
    ],
)
def test_every_command_of_a_payload_counts(argv: tuple[str, ...], decision: Decision) -> None:
    """A payload is as strict as its strictest command."""
    assert judged(wrapped(*argv)).decision is decision


def test_allow_always_promises_the_inner_programs() -> None:
    """The wrapper is never stored; nothing is promised if a word of it could not pass."""
    assert judged(wrapped("env", "cal")).promise == (Promise("/usr/bin/cal"),)
    assert judged(wrapped("sh", "-c", "ls; cal | cat x")).promise == (
        Promise("/usr/bin/cal"),
        Promise("/usr/bin/cat"),
    )
    for argv in (("env", "FOO=1", "cal"), ("env", "-i", "cal"), ("xargs", "rm"), ("nice", "sudo")):
        assert judged(wrapped(*argv)).promise == ()
    after = listed("/usr/bin/cal")
    assert evaluate(plan_of(wrapped("env", "cal")), LISTED, after).decision is Decision.ALLOW


def test_a_listed_wrapper_is_not_matched_as_itself() -> None:
    """An entry for the wrapper covers nothing that it runs."""
    found = evaluate(plan_of(wrapped("env", "cal")), LISTED, listed("/usr/bin/env"))
    assert found.decision is Decision.ASK


def test_applets_that_read_need_the_multiplexers_own_entry() -> None:
    """``busybox ls`` is not /usr/bin/ls, and an entry for busybox lets no other applet run."""
    multiplexer = listed("/usr/bin/busybox")
    for applet, decision in (("ls", Decision.ALLOW), ("touch", Decision.ASK), ("sh", Decision.ASK)):
        plan = plan_of(wrapped("busybox", applet, "x"))
        assert evaluate(plan, LISTED, multiplexer).decision is decision
        assert evaluate(plan, LISTED, listed("/usr/bin/*")).decision is Decision.ASK
    assert reading_applet(("busybox", "ls"), pinned("/tmp/busybox")) is None


def test_no_applet_is_a_wrapper() -> None:
    """The list of applets that read contains no name of another table."""
    known = table("wrappers")
    applets = set(words(section(known, "applets"), "reading"))
    for key in ("shells", "dispatch", "privilege", "multiplexers"):
        assert applets.isdisjoint(words(known, key))


def test_a_plan_that_is_not_bound_asks() -> None:
    """What was unwrapped must be what the plan pins and runs."""
    whole = wrapped("env", "ls")
    inner = whole.inner[0]
    for broken in (
        PlannedCommand(whole.argv, whole.executable, operands=whole.operands, inner=whole.inner),
        PlannedCommand(whole.argv, whole.executable, inner=whole.inner, bound=whole.bound),
        PlannedCommand(
            whole.argv, whole.executable, "", whole.operands, (inner, inner), whole.bound
        ),
        PlannedCommand(("env", "cal"), whole.executable, "", whole.operands, (inner,), whole.bound),
    ):
        assert judged(broken).reason is Reason.WRAPPER


@pytest.mark.parametrize("argv", [("sh", "-c", "ls; tool"), ("xargs", "ls")])
def test_programs_that_could_change_meanwhile_ask(argv: tuple[str, ...]) -> None:
    """After a ``;`` and under xargs time passes after the last check of an inner program."""

    def find(name: str) -> PinnedFile:
        return pinned(f"/opt/{name}") if name in {"ls", "tool"} else in_usr_bin(name)

    entries = listed("/opt/ls", "/opt/tool")
    found = evaluate(plan_of(wrapped(*argv, find=find)), LISTED, entries)
    assert (found.decision, found.reason) == (Decision.ASK, Reason.WRAPPER)
    for at_once in (("env", "tool"), ("sh", "-c", "tool")):
        alone = evaluate(plan_of(wrapped(*at_once, find=find)), LISTED, entries)
        assert alone.decision is Decision.ALLOW


def test_each_grammar_is_known_as_a_wrapper() -> None:
    """What can be unwrapped is first recognised, and every kind that it names exists."""
    known = table("wrappers")
    assert set(grammars()) <= set(words(known, "dispatch"))
    assert set(shell_grammars()) <= set(words(known, "shells"))
    kinds = set(section(known, "kinds"))
    used = {kind for one in grammars().values() for kind in (*one.values.values(), *one.operands)}
    assert {*used, "niceness"} == kinds
    assert find_command(grammars()["env"], ("env", "")) == Opaque("it names no command")
