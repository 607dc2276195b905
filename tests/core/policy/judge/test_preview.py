"""Find what an entry would have matched: plans are judged, texts are read, denied ones named."""

from dataclasses import replace

import pytest

from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, PlannedCommand
from core.model.decision import Evaluation
from core.model.identity import AgentId, SessionKey
from core.model.policy import ExecPolicy, Trust
from core.policy.judge.evaluate import evaluate
from core.policy.judge.preview import Earlier, History, Preview
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import Provisions
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, command, plan_of, wrapped

MAIN = AgentId("main")
HERE = SessionKey("main")
HOME = "/home/alice"
SEQ = AllowlistEntry("/usr/bin/seq")
TOUCH = AllowlistEntry("/usr/bin/touch", argv=("made",))


def asked(*commands: PlannedCommand, denied: bool = False, session: str = "main") -> Earlier:
    """Return a command that people were asked about."""
    text = "; ".join(" ".join(one.argv) for one in commands)
    return Earlier(text, SessionKey(session), plan_of(*commands), denied)


def ran(text: str) -> Earlier:
    """Return a command that no one was asked about."""
    return Earlier(text, HERE)


def previewed(
    *earlier: Earlier,
    entry: AllowlistEntry = SEQ,
    own: tuple[str, ...] = (),
    held_to: Provisions | None = None,
    session: SessionKey | None = None,
    policy: ExecPolicy = LISTED,
) -> Preview:
    """Return what an entry would have matched, next to an agent's own patterns and rules."""

    def judge(one: ExecPlan, allowlist: Allowlist) -> Evaluation:
        return evaluate(one, policy, allowlist, provisions=held_to or Provisions())

    listed = Allowlist(map(AllowlistEntry, own), HOME)
    return History(MAIN, earlier, HOME).preview([entry], listed, judge, session)


def test_commands_are_counted_and_denied_ones_named() -> None:
    """Everything is checked; a match that a person denied is given by its text."""
    found = previewed(
        asked(command("seq", "1")),
        asked(command("seq", "2"), denied=True),
        asked(command("uname"), denied=True),
    )

    assert Preview(3, 2, ("seq 2",)) == found


def test_exact_arguments_match_themselves_only() -> None:
    """An entry with arguments covers that vector, of a carrier as well."""
    found = previewed(
        asked(command("touch", "made"), denied=True), asked(command("touch", "other")), entry=TOUCH
    )

    assert Preview(2, 1, ("touch made",)) == found


def test_a_carrier_is_not_covered_by_its_path() -> None:
    """Strict trust would still have asked, so nothing is promised."""
    assert 0 == previewed(asked(command("rm", "x")), entry=AllowlistEntry("/usr/bin/rm")).matched


def test_any_arguments_of_a_carrier_are_covered_under_classical_trust() -> None:
    """Strict trust lets only those pass that are harmless by the program's profile."""
    git = AllowlistEntry("/usr/bin/git", argv=("<REST>",))
    pushed = asked(command("git", "push"))
    classical = replace(LISTED, trust=Trust.CLASSICAL)

    assert 0 == previewed(pushed, entry=git).matched
    assert 1 == previewed(pushed, entry=git, policy=classical).matched


def test_the_whole_line_must_pass() -> None:
    """A line with another program that asks counts only if that one is listed."""
    line = asked(command("seq", "1"), command("uname"))

    assert 0 == previewed(line).matched
    assert 1 == previewed(line, own=("/usr/bin/uname",)).matched


def test_what_would_pass_without_the_entry_is_not_its_match() -> None:
    """A listed program is not the entry's."""
    assert 0 == previewed(asked(command("uname")), own=("/usr/bin/uname",)).matched


def test_a_wrapper_counts_by_what_it_runs() -> None:
    """A program inside a wrapper is found."""
    assert 1 == previewed(asked(wrapped("env", "seq", "3"))).matched


def test_a_rule_that_denies_holds() -> None:
    """What today's rules deny or ask about would not have run."""
    held_to = provisions(rule("ask", "seq", "7"))

    assert (
        1
        == previewed(
            asked(command("seq", "7")), asked(command("seq", "a")), held_to=held_to
        ).matched
    )


def test_a_session_limits_it() -> None:
    """A grant of one session matches nothing of another; all are checked."""
    earlier = asked(command("seq", "1")), asked(command("seq", "2"), session="other")

    assert Preview(2, 1, ()) == previewed(*earlier, session=HERE)


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        ("seq 3", 1),
        ("cd /srv && seq 3 | head -1", 1),
        ("/usr/bin/seq 3", 1),
        ("echo seq", 0),
        ("seq 3 && uname", 0),
        ("seq $(id -u)", 0),
        ("seq *", 0),
    ],
)
def test_a_text_is_read(text: str, matched: int) -> None:
    """What ran unasked kept its text; what cannot be read for certain is not counted."""
    assert Preview(1, matched, ()) == previewed(ran(text))


def test_a_word_of_a_text_means_what_it_meant_in_the_plans() -> None:
    """A name that is a link counts by the program behind it."""
    linked = asked(command("s", path="/opt/bin/s", realpath="/usr/bin/seq"))

    assert 2 == previewed(linked, ran("s 4")).matched


def test_a_pattern_below_home_and_a_wildcard() -> None:
    """Wildcards check every text; ``~`` is the given home."""
    tool = AllowlistEntry("~/bin/tool")
    any_tool = AllowlistEntry("~/bin/**")

    assert 1 == previewed(ran("tool a"), ran("other"), entry=tool).matched
    assert (
        2
        == previewed(
            ran(f"{HOME}/bin/tool a"), ran(f"{HOME}/bin/x"), ran("ls"), entry=any_tool
        ).matched
    )


def test_nothing_asked_for_is_nothing_matched() -> None:
    """An agent without a past has an empty preview."""
    assert Preview(0, 0, ()) == previewed()
