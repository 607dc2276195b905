from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.command import PlannedCommand, Unreadable
from core.model.decision import Decision, DenialReason, Promise, Reason
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity, Trust
from core.policy.judge.evaluate import denial_reason, evaluate
from core.policy.judge.reasons import WHY
from core.policy.matching.argv_template import ArgvTemplate
from tests.support.plans import LISTED, command, listed, plan_of, wrapped
from tests.support.tables import rows

REDIRECTION = Unreadable("R4", "a redirection")
FULL = replace(LISTED, security=ExecSecurity.FULL)
CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
NEVER_ASK = replace(LISTED, ask=ExecAsk.OFF)

COMMANDS = st.sampled_from(
    [
        command("ls", "-la"),
        command("cp", "a", "b"),
        command("sh", "-c", "id"),
        command("git", "status"),
        command("git", "push", "x"),
        wrapped("env", "git", "push", "a b"),
        wrapped("sh", "-c", "ls; touch <x"),
        wrapped("sh", "-c", "cal; touch 'x y'"),
        command("head", "-5"),
        command("head", "x"),
        command("mytool", "x", path="/opt/mytool"),
        command("gone", path=None),
        command("python3", "-c", "x"),
        command("date", "-s", "now"),
    ]
)
PATTERNS = ["/usr/bin/ls", "/usr/bin/*", "/usr/bin/git", "/opt/*", "/usr/bin/date", "/**"]
POLICIES = st.builds(
    ExecPolicy,
    security=st.sampled_from(ExecSecurity),
    ask=st.sampled_from(ExecAsk),
    trust=st.sampled_from(Trust),
    safe_bins=st.sampled_from([(), ("head",)]),
)


def test_security_deny_beats_everything() -> None:
    """Under deny even a listed program is denied, and the reason says so."""
    found = evaluate(plan_of(command("ls")), ExecPolicy(), listed("/usr/bin/ls"))
    assert (found.decision, found.reason) == (Decision.DENY, Reason.SECURITY_DENY)
    assert denial_reason(found) is DenialReason.SECURITY_DENY


def test_a_listed_program_is_allowed() -> None:
    """The allowlist lets an ordinary program run, and the pattern is named."""
    found = evaluate(plan_of(command("ls", "-la")), LISTED, listed("/usr/bin/ls"))
    assert (found.decision, found.reason) == (Decision.ALLOW, Reason.ALLOWLISTED)
    assert found.segments[0].rule == "/usr/bin/ls"
    assert found.promise == ()


def test_a_miss_asks_and_promises_the_real_path() -> None:
    """An ordinary program that is not listed asks; allow-always would store its real path."""
    plan = plan_of(command("ls"), command("cal", realpath="/usr/bin/ncal"))
    found = evaluate(plan, LISTED, listed("/usr/bin/ls"))
    assert (found.decision, found.reason) == (Decision.ASK, Reason.NOT_LISTED)
    assert found.promise == (Promise("/usr/bin/ncal"),)
    assert "not on the allowlist" in found.why


def test_a_miss_is_denied_where_asking_is_off() -> None:
    """``ask: off`` turns each question into a denial, with ``allowlist_miss``."""
    found = evaluate(plan_of(command("ls"), command("cal")), NEVER_ASK, listed("/usr/bin/ls"))
    assert found.decision is Decision.DENY
    assert [one.decision for one in found.segments] == [Decision.ALLOW, Decision.DENY]
    assert denial_reason(found) is DenialReason.ALLOWLIST_MISS
    assert found.promise == ()


def test_not_readable_is_told_from_not_listed() -> None:
    """An unreadable line names its rule (peer lesson: one word for two things)."""
    plan = plan_of(command("/bin/sh", "-c", "ls > x"), unreadable=REDIRECTION)
    found = evaluate(plan, LISTED, listed("/**"))
    assert (found.decision, found.reason) == (Decision.ASK, Reason.UNREADABLE)
    assert found.segments[0].rule == "a redirection"
    assert "a redirection" in found.why
    assert "R4" not in found.why
    assert found.promise == ()
    assert evaluate(plan, NEVER_ASK, listed("/**")).decision is Decision.DENY
    assert evaluate(plan, FULL, listed()).decision is Decision.ALLOW


@rows("trust", Trust)
@pytest.mark.parametrize(
    "hidden",
    [
        command("sh", "-c", "id"),
        command("env", "ls"),
        command("/opt/tool", "x", realpath="/usr/bin/dash"),
        command("busybox", "ls"),
        command("sudo", "ls"),
        command("python3", "-c", "x"),
        command("xargs"),
        command("/opt/ls", "x", realpath="/usr/bin/busybox"),
    ],
)
def test_wrappers_ask_whatever_is_listed(trust: Trust, hidden: PlannedCommand) -> None:
    """Shells, wrappers and inline code ask under either trust and are never stored."""
    policy = replace(LISTED, trust=trust)
    found = evaluate(plan_of(hidden), policy, listed("/usr/bin/*", "/opt/*", hidden.argv[0]))
    assert (found.decision, found.reason) == (Decision.ASK, Reason.WRAPPER)
    assert found.promise == ()


def test_a_carrier_asks_under_strict_trust_only() -> None:
    """A listed git that writes asks under strict trust and passes under classical.

    Either would store these very arguments, never the path alone.
    """
    plan = plan_of(command("git", "push"))
    promised = (Promise("/usr/bin/git", ("push",), ()),)
    strict = evaluate(plan, LISTED, listed("/usr/bin/git"))
    assert (strict.decision, strict.reason) == (Decision.ASK, Reason.CARRIER)
    assert strict.promise == promised
    assert evaluate(plan, CLASSICAL, listed("/usr/bin/git")).decision is Decision.ALLOW
    assert evaluate(plan, CLASSICAL, listed()).promise == promised


def test_an_entry_with_arguments_covers_exactly_these() -> None:
    """An entry with an argv widens strict trust for it, and for nothing else."""
    entry = listed(Promise("/usr/bin/git", ("push", "origin", "<NAME>")))
    for words, decision in {
        "git push origin main": Decision.ALLOW,
        "git push origin": Decision.ASK,
        "git push origin main --force": Decision.ASK,
        "git push origin -f": Decision.ASK,
        "git push other main": Decision.ASK,
    }.items():
        found = evaluate(plan_of(command(*words.split())), LISTED, entry)
        assert found.decision is decision, words
    copy = command("git", "push", "origin", "main", path="/tmp/git")
    assert evaluate(plan_of(copy), LISTED, entry).decision is Decision.ASK


@pytest.mark.parametrize("trust", Trust)
def test_a_carrier_is_stored_with_its_arguments_also_where_they_only_read(trust: Trust) -> None:
    """Its path alone would let every other argument pass under classical trust."""
    policy = replace(LISTED, trust=trust)
    found = evaluate(plan_of(command("git", "status")), policy, listed())
    assert found.promise == (Promise("/usr/bin/git", ("status",), ()),)


def test_an_entry_with_arguments_covers_nothing_longer() -> None:
    """The whole vector counts, not how it begins."""
    entry = listed(Promise("/usr/bin/git", ("push", "origin")))
    for words, decision in {
        "git push origin": Decision.ALLOW,
        "git push origin main": Decision.ASK,
        "git push": Decision.ASK,
    }.items():
        found = evaluate(plan_of(command(*words.split())), LISTED, entry)
        assert found.decision is decision, words


@pytest.mark.parametrize(
    "asked",
    [
        ("git", "commit", "-m", "<ANY>"),
        ("awk", 'BEGIN{system("id")}'),
        ("awk", '{print > "x"}'),
        ("sed", "1e id"),
        ("sed", "w x"),
        ("python3", "-c", "x"),
    ],
)
def test_code_and_what_reads_like_a_template_is_never_stored(asked: tuple[str, ...]) -> None:
    """A stored word must mean itself, and code needs an answer each time."""
    found = evaluate(plan_of(command(*asked)), LISTED, listed())
    assert (found.decision, found.promise) == (Decision.ASK, ())


def test_a_link_to_a_carrier_is_a_carrier() -> None:
    """The real name counts as well as the invoked one."""
    plan = plan_of(command("/opt/reader", "x", realpath="/usr/bin/vim.basic"))
    assert evaluate(plan, LISTED, listed("/opt/*")).reason is Reason.CARRIER


@pytest.mark.parametrize("trust", Trust)
def test_a_link_is_what_it_is_called_and_what_it_leads_to(trust: Trust) -> None:
    """The invoked name counts as well as the real one: a file may act by its name."""
    policy, entries = replace(LISTED, trust=trust), listed("/opt/*", "/usr/bin/*")
    hidden = command("sudo", "ls", realpath="/opt/tool")
    assert evaluate(plan_of(hidden), policy, entries).reason is Reason.WRAPPER
    editor = command("vim", "x", realpath="/opt/tool")
    wanted = Reason.CARRIER if trust is Trust.STRICT else Reason.ALLOWLISTED
    assert evaluate(plan_of(editor), policy, entries).reason is wanted


def test_a_wildcard_does_not_cover_an_unknown_system_program() -> None:
    """``/usr/bin/*`` lets known readers run; an unknown program needs its own entry."""
    unknown = plan_of(command("zyzzyva", "x"))
    assert evaluate(unknown, LISTED, listed("/usr/bin/*")).reason is Reason.CARRIER
    assert evaluate(unknown, LISTED, listed("/usr/bin/zyzzyva")).decision is Decision.ALLOW
    assert evaluate(plan_of(command("ls")), LISTED, listed("/usr/bin/*")).decision is Decision.ALLOW
    own = plan_of(command("/home/alice/bin/tool"))
    assert evaluate(own, LISTED, listed("~/bin/*")).decision is Decision.ALLOW


@rows(
    "path, pattern, decision",
    [
        ("/srv/tools/zyzzyva", "/**", Decision.ASK),
        ("/srv/tools/zyzzyva", "/srv/**", Decision.ASK),
        ("/srv/tools/zyzzyva", "/srv/*/z*", Decision.ASK),
        ("/srv/tools/zyzzyva", "/srv/tools/*", Decision.ALLOW),
        ("/srv/tools/own/zyzzyva", "/srv/tools/own/**", Decision.ALLOW),
        ("/srv/tools/zyzzyva", "/srv/**/zyzzyva", Decision.ALLOW),
        ("/srv/tools/zyzzyva", "/srv/tools/zyzzyva", Decision.ALLOW),
        ("/home/ana/.cargo/bin/zyzzyva", "/home/ana/.cargo/bin/*", Decision.ASK),
        ("/home/ana/.cargo/bin/zyzzyva", "/home/ana/.cargo/bin/zyzzyva", Decision.ALLOW),
        ("/srv/app/node_modules/.bin/zyzzyva", "/srv/app/node_modules/.bin/*", Decision.ASK),
        ("/usr/local/bin/zyzzyva", "/usr/local/bin/*", Decision.ASK),
        ("/usr/local/bin/zyzzyva", "/usr/local/bin/zyzzyva", Decision.ALLOW),
    ],
)
def test_a_wildcard_covers_an_unknown_program_where_it_means_it(
    path: str, pattern: str, decision: Decision
) -> None:
    """It names the program, or the one folder of the owner's own tools; no registry's folder."""
    found = evaluate(plan_of(command(path, "x")), LISTED, listed(pattern))
    assert found.decision is decision


def test_safe_bins_pass_without_an_entry() -> None:
    """A configured safe bin filters; with a file operand it asks and may be promised."""
    assert evaluate(plan_of(command("head", "-5")), LISTED, listed()).reason is Reason.SAFE_BIN
    found = evaluate(plan_of(command("head", "x")), LISTED, listed())
    assert (found.decision, found.reason) == (Decision.ASK, Reason.SAFE_BIN_ARGUMENTS)
    assert found.promise == (Promise("/usr/bin/head"),)
    none = replace(LISTED, safe_bins=())
    assert evaluate(plan_of(command("head", "-5")), none, listed()).reason is Reason.NOT_LISTED


def test_a_missing_program_is_denied() -> None:
    """Nothing can run, so no one is asked; the plan's problem is reported."""
    found = evaluate(plan_of(command("gone", path=None)), LISTED, listed("/**"))
    assert (found.decision, found.reason) == (Decision.DENY, Reason.EXECUTABLE_NOT_FOUND)
    assert "no executable file" in found.why


@pytest.mark.parametrize("policy", [LISTED, FULL, CLASSICAL, NEVER_ASK])
def test_an_empty_line_is_never_allowed(policy: ExecPolicy) -> None:
    """No commands is not the same as all commands allowed."""
    assert evaluate(plan_of(), policy, listed("/**")).decision is Decision.DENY


def test_full_allows_and_always_asks() -> None:
    """``full`` lets anything run; ``ask: always`` still asks, and offers no allow-always."""
    plan = plan_of(command("sh", "-c", "id"))
    assert evaluate(plan, FULL, listed()).reason is Reason.SECURITY_FULL
    asked = evaluate(plan, replace(FULL, ask=ExecAsk.ALWAYS), listed())
    assert (asked.decision, asked.reason) == (Decision.ASK, Reason.ASK_ALWAYS)
    missed = evaluate(plan_of(command("cal")), replace(LISTED, ask=ExecAsk.ALWAYS), listed())
    assert missed.promise == ()


@pytest.mark.parametrize("policy", [LISTED, FULL, CLASSICAL])
def test_forbidden_variables_deny(policy: ExecPolicy) -> None:
    """A loader variable denies even under ``full``."""
    plan = plan_of(command("ls"), env=[("LD_PRELOAD", "/tmp/x.so")])
    found = evaluate(plan, policy, listed("/usr/bin/ls"))
    assert (found.decision, found.reason) == (Decision.DENY, Reason.ENVIRONMENT)
    assert "LD_PRELOAD" in found.why


def test_other_variables_ask_and_are_never_stored() -> None:
    """An unknown name asks next to a listed program; a harmless one does not."""
    found = evaluate(plan_of(command("ls"), env=[("FOO", "1")]), LISTED, listed("/usr/bin/ls"))
    assert (found.decision, found.reason) == (Decision.ASK, Reason.ENVIRONMENT)
    assert evaluate(plan_of(command("cal"), env=[("FOO", "1")]), LISTED, listed()).promise == ()
    harmless = plan_of(command("ls"), env=[("NO_COLOR", "1")])
    assert evaluate(harmless, LISTED, listed("/usr/bin/ls")).decision is Decision.ALLOW


def test_an_acl_alone_decides() -> None:
    """With an ACL neither allowlist nor safe bins count; a miss denies (S4)."""
    acl = [ArgvTemplate.parse(["df", "-h"]), ArgvTemplate.parse(["sh", "-c", "id"])]
    hit = evaluate(plan_of(command("df", "-h")), LISTED, listed(), acl)
    assert (hit.decision, hit.reason) == (Decision.ALLOW, Reason.ACL)
    for missed in (
        command("ls"),
        command("head"),
        command("sh", "-c", "id"),
        command("/usr/bin/df", "-h"),
    ):
        found = evaluate(plan_of(missed), LISTED, listed("/**"), acl)
        assert (found.decision, found.reason) == (Decision.DENY, Reason.ARGV_NOT_ALLOWED)
    shelled = plan_of(command("/bin/sh", "-c", "df -h"), unreadable=REDIRECTION)
    assert evaluate(shelled, FULL, listed(), acl).decision is Decision.DENY


def test_an_acl_reads_addresses_narrowly_under_strict_trust() -> None:
    """A proxy may take what follows a double slash for another host."""
    acl = [ArgvTemplate.parse(["curl", "http://127.0.0.1:1<URL_PATH>"])]
    plan = plan_of(command("curl", "http://127.0.0.1:1//evil/a"))
    assert evaluate(plan, LISTED, listed(), acl).decision is Decision.DENY
    assert evaluate(plan, CLASSICAL, listed(), acl).decision is Decision.ALLOW


def is_a_shell(command: PlannedCommand) -> bool:
    """Return whether a command is a shell with a payload of several commands."""
    return len(command.inner) > 1


@given(st.lists(COMMANDS, min_size=1, max_size=4), st.lists(st.sampled_from(PATTERNS)), POLICIES)
def test_the_line_is_as_strict_as_its_strictest_command(
    commands: list[PlannedCommand], patterns: list[str], policy: ExecPolicy
) -> None:
    """One verdict per segment, combined by maximum, worded as one sentence or two.

    A shell next to other commands stays a shell, and may need an answer where it alone does not.
    """
    found = evaluate(plan_of(*commands), policy, listed(*patterns))
    assert len(found.segments) == len(commands)
    assert found.decision >= max(one.decision for one in found.segments)
    alone = [evaluate(plan_of(one), policy, listed(*patterns)).decision for one in commands]
    assert found.decision >= max(alone)
    if len(commands) == 1 or not any(map(is_a_shell, commands)):
        assert found.decision == max(alone)
    assert found.why.endswith(".")


@given(st.lists(COMMANDS, min_size=1, max_size=4), st.lists(st.sampled_from(PATTERNS)), POLICIES)
def test_a_promise_is_kept(
    commands: list[PlannedCommand], patterns: list[str], policy: ExecPolicy
) -> None:
    """Once what was promised is stored, the same line passes without a question."""
    plan = plan_of(*commands)
    found = evaluate(plan, policy, listed(*patterns))
    if found.promise:
        assert found.decision is Decision.ASK
        after = evaluate(plan, policy, listed(*patterns, *found.promise))
        assert after.decision is Decision.ALLOW


@given(st.lists(COMMANDS, min_size=1, max_size=3), st.lists(st.sampled_from(PATTERNS)), POLICIES)
def test_strict_trust_is_never_laxer(
    commands: list[PlannedCommand], patterns: list[str], policy: ExecPolicy
) -> None:
    """Whatever strict trust lets pass, classical trust lets pass as well."""
    plan = plan_of(*commands)
    strict = evaluate(plan, replace(policy, trust=Trust.STRICT), listed(*patterns))
    classical = evaluate(plan, replace(policy, trust=Trust.CLASSICAL), listed(*patterns))
    assert strict.decision >= classical.decision


@pytest.mark.parametrize("listing", [(), ("/usr/bin/*",)])
def test_nothing_is_promised_where_a_shell_would_still_wait(listing: tuple[str, ...]) -> None:
    """A shell next to another command runs its payload itself, so a late one asks each time."""
    late = wrapped("sh", "-c", "cal; touch 'x y'")
    alone = evaluate(plan_of(late), LISTED, listed(*listing))
    beside = evaluate(plan_of(command("ls"), late), LISTED, listed(*listing))
    plain = wrapped("sh", "-c", "cal; uname")
    assert alone.promise
    assert (beside.decision, beside.promise) == (Decision.ASK, ())
    assert evaluate(plan_of(command("ls"), plain), LISTED, listed("/usr/bin/ls")).promise


def test_a_path_with_a_wildcard_is_not_promised() -> None:
    """A stored pattern is literal: a program named with a star could become a wildcard."""
    assert evaluate(plan_of(command("/opt/a*")), LISTED, listed()).promise == ()


def test_every_reason_has_words() -> None:
    """Each reason has a text."""
    assert set(WHY) == set(Reason)
