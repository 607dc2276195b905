from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.command import PinnedDirectory, PlannedCommand, Unreadable
from core.model.decision import Decision, DenialReason, Evaluation, Promise, Reason, Tier
from core.model.identity import AgentId
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity, Trust
from core.policy.judge.evaluate import denial_reason, evaluate
from core.policy.matching.matchers import surroundings
from core.policy.rules.compiled import BadRule, compiled
from core.policy.rules.rules import Rules
from core.settings import CoreSettings
from tests.core.policy.configured_rules import CODER, HOME, provisions, rule, settings
from tests.support.plans import LISTED, command, in_usr_bin, listed, plan_of, wrapped
from tests.support.tables import rows

FULL = replace(LISTED, security=ExecSecurity.FULL)
SKIPPED = replace(FULL, ask=ExecAsk.OFF, skip_approvals=True)
EVERYTHING = ("/**",)
SUBSTITUTION = Unreadable("R7", "a substitution")


def judged(
    line: str | PlannedCommand,
    *rules: dict[str, Any],
    policy: ExecPolicy = LISTED,
    patterns: tuple[str, ...] = (),
    **more: Any,
) -> Evaluation:
    """Judge one command of /usr/bin, wrappers unwrapped, under rules."""
    planned = wrapped(*line.split()) if isinstance(line, str) else line
    held = provisions(*rules, **more)
    return evaluate(plan_of(planned), policy, listed(*patterns), provisions=held)


def test_a_deny_says_its_reason_and_its_place() -> None:
    """The agent is told why, and the owner finds the rule."""
    forbidden = {**rule("deny", "git", "push"), "reason": "Ask for a review first."}
    found = judged("git push", forbidden, patterns=EVERYTHING)

    assert (found.decision, found.reason) == (Decision.DENY, Reason.RULE_DENIED)
    assert denial_reason(found) is DenialReason.RULE_DENIED
    assert found.why == ("A rule forbids this: Ask for a review first (tools.exec.rules[0]).")


@rows(
    "policy", [LISTED, FULL, replace(LISTED, trust=Trust.CLASSICAL), replace(FULL, ask=ExecAsk.OFF)]
)
@pytest.mark.parametrize("line", ["rm x", "env rm x", "sh -c ls;rm"])
def test_a_deny_wins_over_everything(policy: ExecPolicy, line: str) -> None:
    """No list, no trust, no full security and no wrapper gets past it; nor an allow rule."""
    denied, allowed = rule("deny", glob="/usr/bin/rm"), rule("allow", glob="/usr/bin/*")
    planned = wrapped("sh", "-c", "ls; rm x") if line.startswith("sh") else wrapped(*line.split())
    found = judged(planned, allowed, denied, policy=policy, patterns=EVERYTHING)
    assert (found.decision, found.reason) == (Decision.DENY, Reason.RULE_DENIED)


@pytest.mark.parametrize("line", ["rm x", "env rm x", "sudo rm x", "python3 -c x", "xargs rm"])
def test_rules_that_ask_do_not_count_where_approvals_are_skipped(line: str) -> None:
    """Neither a question nor what it could not see stops the line (S0, S1)."""
    found = judged(line, rule("ask", glob="/usr/bin/*"), policy=SKIPPED)

    assert found.decision is Decision.ALLOW
    assert "Approvals are skipped in this session." in found.why


@pytest.mark.parametrize("line", ["sudo ls", "python3 -c x", "mkfs x"])
def test_a_rule_that_asks_lifts_no_denial(line: str) -> None:
    """What a rule that denies might concern is denied, although another rule asks about it."""
    rules = rule("ask", glob="/usr/bin/*"), rule("deny", glob="/usr/bin/mkfs")
    found = judged(line, *rules, policy=SKIPPED)

    assert found.decision is Decision.DENY
    assert line == "mkfs x" or "a rule that denies might concern it" in found.why


@pytest.mark.parametrize("ask", [ExecAsk.ON_MISS, ExecAsk.ALWAYS])
def test_a_call_gets_the_question_that_it_asks_for(ask: ExecAsk) -> None:
    """It hardened a policy that skips approvals."""
    found = judged("rm x", rule("ask", glob="/usr/bin/rm"), policy=replace(SKIPPED, ask=ask))

    assert found.decision is Decision.ASK


@pytest.mark.parametrize("line", ["sudo rm x", "python3 -c x", "xargs rm"])
def test_full_security_asks_where_a_rule_cannot_look(line: str) -> None:
    """What a restricting rule cannot see, a person must; without such a rule full is full."""
    denied = rule("deny", "rm", "x")
    assert judged(line, denied, policy=FULL).decision is Decision.ASK
    assert judged(line, rule("allow", "rm", "x"), policy=FULL).decision is Decision.ALLOW
    shelled = plan_of(command("/bin/sh", "-c", "rm $(x)"), unreadable=SUBSTITUTION)
    found = evaluate(shelled, FULL, listed(), provisions=provisions(denied))
    assert (found.decision, found.reason) == (Decision.ASK, Reason.UNREADABLE)


def test_an_ask_rule_asks_about_what_is_listed_and_promises_nothing() -> None:
    """Allow-always would not help, so it is not offered; ``ask: off`` makes it a denial."""
    asked = {**rule("ask", "ls", "<ANY>"), "tier": "critical", "reason": "look twice"}
    found = judged("ls x", asked, patterns=EVERYTHING)
    assert (found.decision, found.reason, found.promise) == (Decision.ASK, Reason.RULE_ASKED, ())
    assert found.tier is Tier.CRITICAL
    never = judged("ls x", asked, policy=replace(LISTED, ask=ExecAsk.OFF))
    assert (never.decision, denial_reason(never)) == (Decision.DENY, DenialReason.ALLOWLIST_MISS)
    assert judged("ls", asked, patterns=EVERYTHING).decision is Decision.ALLOW


def test_the_tier_of_a_line_is_the_heaviest_of_its_commands() -> None:
    """One critical command makes the question critical, also inside a wrapper."""
    elevated = {**rule("ask", "ls", "x"), "tier": "elevated"}
    critical = {**rule("ask", glob="/usr/bin/cal"), "tier": "critical"}
    held = provisions(elevated, critical)
    plan = plan_of(wrapped("ls", "x"), wrapped("env", "cal"), wrapped("cat"))
    assert evaluate(plan, LISTED, listed(), provisions=held).tier is Tier.CRITICAL
    assert judged("ls x", elevated, critical).tier is Tier.ELEVATED
    assert judged("cat x", elevated, critical).tier is Tier.ROUTINE


def test_an_allow_rule_lets_a_carrier_run_by_its_exact_vector() -> None:
    """Only these arguments; a glob trusts a carrier no more than an entry would."""
    exact, glob = (
        rule("allow", "git", "push", "origin", "<NAME>"),
        rule("allow", glob="/usr/bin/git"),
    )
    found = judged("git push origin main", exact, glob)
    assert (found.decision, found.reason) == (Decision.ALLOW, Reason.RULE_ALLOWED)
    assert judged("git push origin --force", exact, glob).decision is Decision.ASK
    assert judged("git push origin main", glob).reason is Reason.CARRIER
    assert judged("git status", glob).decision is Decision.ALLOW
    assert judged("zyzzyva x", rule("allow", glob="/usr/bin/*")).decision is Decision.ASK


@pytest.mark.parametrize(
    "asked",
    [
        command("sudo", "ls"),
        command("sh", "-c", "id"),
        command("python3", "-c", "x"),
        command("busybox", "sh"),
        wrapped("xargs", "rm"),
    ],
)
def test_an_allow_rule_lifts_no_hidden_program(asked: PlannedCommand) -> None:
    """Neither its vector nor its path nor an effect makes a wrapper pass as itself."""
    rules = (
        rule("allow", *asked.argv),
        rule("allow", glob="/usr/bin/*"),
        rule("allow", effect="writes"),
    )
    assert judged(asked, *rules).decision is Decision.ASK


def test_a_vector_says_nothing_of_arguments_that_nobody_has_seen() -> None:
    """`xargs cat` runs more than `cat`: neither a rule nor an entry for that vector covers it."""
    reader = wrapped("xargs", "cat")
    assert judged(reader, rule("allow", "cat")).decision is Decision.ASK
    entry = listed(Promise("/usr/bin/cat", ()))
    assert evaluate(plan_of(reader), LISTED, entry).decision is Decision.ASK
    assert judged(reader, rule("allow", glob="/usr/bin/cat")).decision is Decision.ALLOW


def test_an_allow_rule_lifts_no_unreadable_line_and_no_environment() -> None:
    """What a shell would read and what a request sets remain for a person to decide."""
    held = provisions(rule("allow", "sh", "-c", "ls > x"), rule("allow", glob="/**"))
    shelled = plan_of(command("/bin/sh", "-c", "ls > x"), unreadable=SUBSTITUTION)
    assert evaluate(shelled, LISTED, listed(), provisions=held).decision is Decision.ASK
    for name, decision in {"FOO": Decision.ASK, "LD_PRELOAD": Decision.DENY}.items():
        plan = plan_of(command("ls"), env=[(name, "1")])
        assert evaluate(plan, LISTED, listed(), provisions=held).decision is decision


def test_a_rule_about_shells_is_about_unreadable_lines() -> None:
    """A line that only a shell can read is judged by the rules for that shell."""
    held = provisions({**rule("ask", glob="/bin/sh"), "tier": "critical"})
    shell = command("/bin/sh", "-c", "x >y", path="/usr/bin/sh", realpath="/usr/bin/dash")
    plan = plan_of(shell, unreadable=SUBSTITUTION)
    found = evaluate(plan, LISTED, listed(), provisions=held)
    assert (found.reason, found.tier) == (Reason.RULE_ASKED, Tier.CRITICAL)
    denied = provisions(rule("deny", glob="/usr/bin/dash"))
    assert evaluate(plan, LISTED, listed(), provisions=denied).decision is Decision.DENY


def test_a_bare_name_allows_what_the_search_path_finds_and_nothing_else() -> None:
    """A copy elsewhere is another program; to forbid, whatever the name may mean counts."""
    allowed, denied = rule("allow", "cal", "x"), rule("deny", "python", "x")
    assert (
        judged(command("cal", "x", path="/usr/local/bin/cal"), allowed).decision is Decision.ALLOW
    )
    assert judged(command("/usr/bin/cal", "x"), allowed).decision is Decision.ALLOW
    assert judged(command("./cal", "x", path="/tmp/cal"), allowed).decision is Decision.ASK
    assert judged(command("/usr/local/bin/cal", "x"), allowed).decision is Decision.ASK
    for one in (
        command("python3.11", "x"),
        command("/opt/python", "x"),
        command("/tmp/y", "x", realpath="/usr/bin/python3"),
    ):
        assert judged(one, denied, patterns=EVERYTHING).decision is Decision.DENY


def test_a_template_cannot_be_dodged_in_a_rule_that_forbids() -> None:
    """Odd spellings that an allow would refuse are still forbidden."""
    denied = rule("deny", "cat", "<PATH:keys>")
    for word in ("/srv/keys/a", "//srv/keys/a", "/srv/x/../keys/ü", "../../srv/keys/", "/srv/keys"):
        found = judged(f"cat {word}", denied, patterns=EVERYTHING, roots={"keys": "/srv/keys"})
        assert found.decision is Decision.DENY, word
    found = judged("cat /srv/keyed", denied, patterns=EVERYTHING, roots={"keys": "/srv/keys"})
    assert found.decision is Decision.ALLOW
    assert judged("ls --x", rule("deny", "ls", "<NAME>")).decision is Decision.DENY


@rows(
    "line, decide, effect, wanted",
    [
        ("cp a b", "deny", "writes", Decision.DENY),
        ("cat a", "deny", "writes", Decision.ALLOW),
        ("curl http://x", "deny", "network", Decision.DENY),
        ("apt x", "deny", "network", Decision.ASK),
        ("zyzzyva", "deny", "network", Decision.ASK),
        ("env cp a b", "deny", "writes", Decision.DENY),
        ("env cat a", "deny", "runs", Decision.ALLOW),
        ("cp a b", "allow", "writes", Decision.ALLOW),
        ("make", "allow", "writes", Decision.ASK),
        ("zyzzyva", "allow", "writes", Decision.ASK),
        ("cat a", "ask", "writes", Decision.ALLOW),
        ("docker push x", "allow", "network", Decision.ALLOW),
        ("systemctl enable x", "allow", "writes", Decision.ALLOW),
        ("kubectl get pods --kubeconfig=f", "deny", "network", Decision.DENY),
    ],
)
def test_effects_are_allowed_when_known_and_forbidden_when_known(
    line: str, decide: str, effect: str, wanted: Decision
) -> None:
    """If the tables do not know, a person is asked; what only reads is not concerned."""
    classical = replace(LISTED, trust=Trust.CLASSICAL)
    patterns = () if decide == "allow" else EVERYTHING
    found = judged(line, rule(decide, effect=effect), policy=classical, patterns=patterns)
    assert found.decision is wanted


@rows(
    "line, effect",
    [
        ("git ls-remote --upload-pack=id .", "network"),
        ("git tag -a v1", "writes"),
        ("git branch --edit-description", "writes"),
        ("git stash", "writes"),
        ("kubectl get pods --kubeconfig=f", "network"),
        ("kubectl top pods -x", "network"),
        ("npm view x --git=f", "network"),
        ("systemctl enable --now x", "writes"),
        ("systemctl disable x -H h", "writes"),
        ("openssl s_time -engine x", "network"),
        ("curl --engine x", "network"),
    ],
)
def test_an_effect_is_allowed_only_where_nothing_can_be_added_to_it(line: str, effect: str) -> None:
    """A subcommand's effect says little about an option that no profile lists."""
    classical = replace(LISTED, trust=Trust.CLASSICAL)
    allowed = judged(line, rule("allow", effect=effect), policy=classical)
    assert allowed.decision is Decision.ASK
    everything = judged(line, rule("deny", effect="runs"), policy=classical, patterns=EVERYTHING)
    assert everything.decision is not Decision.ALLOW


def test_the_tables_do_not_speak_for_a_namesake() -> None:
    """A script called cp in a folder of the agent is not the cp that only writes."""
    ours = command("./cp", "a", "b", path="/srv/app/cp")
    assert judged(ours, rule("allow", effect="writes")).decision is Decision.ASK


@pytest.mark.parametrize("words", ["cat passwd", "env cat passwd", "env nice cat passwd"])
def test_a_path_is_judged_where_cd_led(words: str) -> None:
    """`cd /etc && env cat passwd` names /etc/passwd, also inside a wrapper."""
    rules = (rule("allow", "cat", "<PATH:app>"), rule("deny", "cat", "<PATH:etc>"))
    roots = {"app": "/srv/app", "etc": "/etc"}
    here = wrapped(*words.split())
    there = replace(here, cwd=PinnedDirectory("/etc", 1, 1))
    assert judged(here, *rules, roots=roots).decision is Decision.ALLOW
    assert judged(there, *rules, roots=roots).decision is Decision.DENY


def test_an_agents_own_rules_stand_beside_those_for_all() -> None:
    """Neither list replaces the other; the stricter of both counts."""
    both = settings(rule("deny", "ls", "x"), own=(rule("allow", "ls", "x"), rule("ask", "cat")))
    held = compiled(both, HOME)
    for agent, line, wanted in (
        (CODER, "ls x", Decision.DENY),
        (CODER, "cat", Decision.ASK),
        (AgentId("other"), "cat", Decision.ALLOW),
        (AgentId("other"), "ls x", Decision.DENY),
    ):
        plan = plan_of(wrapped(*line.split()))
        found = evaluate(plan, LISTED, listed(*EVERYTHING), provisions=held.of(agent))
        assert found.decision is wanted, (agent, line)
    assert held.of(CODER).rules.rules[0].place == "agents.list[coder].tools.exec.rules[0]"


@rows(
    "bad, path, words",
    [
        (rule("deny", "ls", "<FOO>"), "match", "unknown template"),
        (rule("deny", "ls", "<PATH:none>"), "match", "names no root"),
        (rule("deny", "<ANY>"), "match", "bare name"),
        (rule("deny", "bin/ls"), "match", "bare name"),
        (rule("deny", glob="ls"), "match", "can never match"),
        (rule("allow", effect="runs"), "match", "allow everything"),
        (
            {**rule("deny", "rm", "<PATH>"), "examples": {"match": [["rm", "a"], ["rm", "/etc"]]}},
            ("examples", "match", 1),
            "is not matched",
        ),
        (
            {**rule("allow", "rm", "<PATH>"), "examples": {"miss": [["rm", "a"]]}},
            ("examples", "miss", 0),
            "is matched",
        ),
    ],
)
def test_a_rule_that_cannot_be_right_stops_the_load(
    bad: dict[str, Any], path: str | tuple[str | int, ...], words: str
) -> None:
    """The error names the rule and, if an example fails, the example."""
    with pytest.raises(BadRule, match=words) as caught:
        compiled(settings(rule("ask", "ls"), bad), HOME)
    tail = (path,) if isinstance(path, str) else path
    assert caught.value.path == ("tools", "exec", "rules", 1, *tail)


HEADS = ["git", "/usr/bin/git", "ls", "python", "/bin/ls"]
WORDS = ["push", "-f", "a", "<ANY>", "<NAME>", "<PATH>", "<INT>", "5", "<GLOB:p*>"]
RESTS = [[], [], ["<REST>"], ["<REST:any>"]]
MATCHES = st.one_of(
    st.builds(
        lambda head, words, rest: {"argv": [head, *words, *rest]},
        st.sampled_from(HEADS),
        st.lists(st.sampled_from(WORDS), max_size=2),
        st.sampled_from(RESTS),
    ),
    st.sampled_from(["/usr/bin/*", "/bin/ls", "/**", "/usr/bin/git", "/opt/*", "/USR/bin/LS"]).map(
        lambda g: {"glob": g}
    ),
    st.sampled_from(["writes", "network"]).map(lambda e: {"effect": e}),
)
RULES = st.lists(
    st.builds(
        lambda match, decide, tier: {"match": match, "decide": decide, "tier": tier},
        MATCHES,
        st.sampled_from(["allow", "ask", "deny"]),
        st.sampled_from(list(Tier)),
    ),
    max_size=8,
)
ASKED = st.builds(
    lambda head, rest: command(head, *rest, path=in_usr_bin(head.rpartition("/")[2]).path),
    st.sampled_from(["git", "/usr/bin/git", "ls", "python3", "zyzzyva"]),
    st.lists(st.sampled_from(["push", "-f", "a", "5", "../x", "<ANY>"]), max_size=2),
)


@given(RULES, ASKED)
def test_the_index_agrees_with_looking_at_every_rule(
    rules: list[dict[str, Any]], asked: PlannedCommand
) -> None:
    """The winner is as strict, and as heavy, as the strictest of all matching rules."""
    held = provisions(*rules).rules
    assert asked.executable is not None
    at = surroundings(asked, "/srv/app")
    looked = held.looked_at(asked.argv, asked.executable, at)
    matched = [(one.decision, one.rule.tier.weight) for one in looked if one.decision is not None]
    for whole in (held, Rules(held.rules)):  # once cold, once from the cache
        won = whole.ruling(asked.argv, asked.executable, at)
        found = None if won is None else (won.decision, won.rule.tier.weight)
        assert found == max(matched, default=None)


@given(RULES, st.lists(ASKED, min_size=1, max_size=3), st.sampled_from(list(ExecSecurity)))
def test_more_restrictions_never_allow_more(
    rules: list[dict[str, Any]], asked: list[PlannedCommand], security: ExecSecurity
) -> None:
    """Removing the rules that ask and deny never makes a verdict stricter."""
    plan, policy = plan_of(*asked), replace(LISTED, security=security)
    lax = [one for one in rules if one["decide"] == "allow"]
    strict = evaluate(plan, policy, listed("/usr/bin/*"), provisions=provisions(*rules))
    laxer = evaluate(plan, policy, listed("/usr/bin/*"), provisions=provisions(*lax))
    none = evaluate(plan, policy, listed("/usr/bin/*"))
    assert laxer.decision <= min(strict.decision, none.decision)


@pytest.mark.parametrize("own", [False, True])
def test_a_safe_bin_without_a_profile_is_refused(*, own: bool) -> None:
    """It would have no effect; the error names the place and those that can be one (S1)."""
    bins = {"tools": {"exec": {"safeBins": ["jq", "nl"]}}}
    text = {"agents": {"list": [{"id": CODER, **bins}]}} if own else bins
    with pytest.raises(BadRule, match=r"'nl' cannot be a safe bin.*cut, grep") as found:
        compiled(CoreSettings.model_validate(text), HOME)

    assert found.value.path[-1] == "safeBins"
    assert ("agents" in found.value.path) is own
