"""Format cards as lines: what is in front, and what is folded."""

from dataclasses import replace
from datetime import UTC

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import PromptCard
from channels.cards.lines import Fact, checked, details, ending_facts, facts, front
from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from core.model.policy import ExecAsk, ExecSecurity
from tests.contracts.channel_examples import approval, plan, program, resolved


def shown(lines: tuple[Fact, ...]) -> dict[str, str]:
    """Return lines by their labels."""
    return {line.label: line.value.text for line in lines}


def crowd(count: int) -> PromptCard:
    """Return the card of this many commands, of which the last is not listed."""
    argvs = [("ls",)] * (count - 1) + [("rm", "x")]
    verdicts = tuple(
        SegmentVerdict(argv, f"/usr/bin/{argv[0]}", Decision.ALLOW, Reason.ALLOWLISTED, "")
        for argv in argvs[:-1]
    )
    last = SegmentVerdict(argvs[-1], "/usr/bin/rm", Decision.ASK, Reason.NOT_LISTED, "no entry")
    return build_prompt(approval(plan(*argvs), segments=(*verdicts, last)))


def test_in_front_stands_what_decides_and_all_lines_are_in_one_of_both() -> None:
    """Five short lines; the rest is behind, and nothing is in neither or in both."""
    card = build_prompt(approval(plan(("rm", "-rf", "/srv/x"))))

    assert ["Does", "Why", "Folder", "Agent", "Answer by"] == [line.label for line in front(card)]
    assert (*front(card), *details(card)) == facts(card)
    assert len(shown(facts(card))) == len(facts(card))


def test_the_policy_in_effect_is_in_the_details() -> None:
    """S1 wants it shown; what an earlier version stored lacks it."""
    asked = approval()
    known = replace(asked.evaluation, security=ExecSecurity.ALLOWLIST, ask=ExecAsk.ALWAYS)
    card = build_prompt(replace(asked, evaluation=known))

    assert shown(details(card))["Policy"] == "security allowlist, ask always"
    assert "Policy" not in shown(facts(build_prompt(asked)))


@pytest.mark.parametrize(
    ("argv", "path", "realpath", "words"),
    [
        (("ls",), "/usr/bin/ls", "", ""),
        (("/usr/bin/ls",), "/usr/bin/ls", "", ""),
        (("ls",), "/tmp/ls", "", "ls: /tmp/ls; not in a system folder"),
        (("vi",), "/usr/bin/vi", "/usr/bin/vim", "vi: /usr/bin/vi (a link to /usr/bin/vim)"),
        (("ls",), "/usr/bin/rm", "", "ls: /usr/bin/rm"),
        (("l\u0455",), "/usr/bin/l\u0455", "", "l\\u{0455}: /usr/bin/l\\u{0455}"),
    ],
)
def test_a_program_that_may_deceive_stays_in_front(
    argv: tuple[str, ...], path: str, realpath: str, words: str
) -> None:
    """Another place, another file, another name, or letters that are escaped."""
    of = plan(argv)
    odd = replace(of.commands[0], executable=program(path, realpath))
    card = build_prompt(approval(replace(of, commands=(odd,))))

    assert shown(front(card)).get("\u26a0 Program", "") == words
    assert "Program" in shown(details(card))


def test_a_program_that_cannot_be_run_stays_in_front_below_a_wrapper_too() -> None:
    """Whatever is odd about what runs, however deep."""
    inner = replace(plan(("tool",)).commands[0], executable=None, problem="not found")
    outer = replace(plan(("nice", "tool")).commands[0], inner=(inner,))
    card = build_prompt(approval(replace(plan(("nice", "tool")), commands=(outer,))))

    assert shown(front(card))["\u26a0 Program"] == "tool: not found"


def test_a_program_is_named_once() -> None:
    """Called by its path, it is that path."""
    of = plan(("/usr/bin/printf", "x"))
    named = replace(of.commands[0], executable=program("/usr/bin/printf"))
    card = build_prompt(approval(replace(of, commands=(named,))))

    assert shown(facts(card))["Program"] == "/usr/bin/printf"


def test_the_check_words_are_in_front_where_the_eye_does_not_suffice() -> None:
    """A masked secret, a long command, and a card that cannot show the whole."""
    masked = plan(("curl", "-H", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123"))
    for of in (masked, plan(text="x" * 600)):
        assert "Length and check" in shown(front(build_prompt(approval(of))))
    plain = build_prompt(approval())
    assert "Length and check" not in shown(front(plain))
    assert "Length and check" in shown(checked(plain))


@pytest.mark.parametrize(("count", "in_front"), [(2, False), (3, False), (4, True)])
def test_the_commands_of_concern_are_in_front_where_they_are_hard_to_find(
    count: int, in_front: bool
) -> None:
    """Few are numbered in front anyway; of many, the one that asks is named."""
    card = crowd(count)

    label = "Not allowed by policy"
    assert (label in shown(front(card))) is in_front
    assert shown(facts(card))[label] == f"{count}. rm x (no entry)"
    assert shown(checked(card))[label] == f"{count}. rm x (no entry)"
    assert shown(front(card))["Why"] == (
        f"command {count} of {count}: rm is not on main's allowlist"
    )


def test_the_one_command_that_is_asked_about_is_not_named_again() -> None:
    """The command is above, and the reason next to it."""
    card = crowd(1)

    assert "Not allowed by policy" not in shown(facts(card))
    assert "Not allowed by policy" not in shown(checked(card))
    assert shown(front(card))["Why"] == "rm is not on main's allowlist"


def test_an_ending_says_why_it_was_asked_and_what_was_stored() -> None:
    """A later reader sees which rule asked, and what runs from now on."""
    always = resolved(ApprovalState.ALLOWED, ApprovalReply.ALLOW_ALWAYS)
    ended = build_outcome(approval(resolution=always))

    assert shown(ending_facts(ended)) == {
        "Agent": "main",
        "Asked because": "/usr/bin/rm is not on the allowlist of main",
        "Stored": "/usr/bin/rm with any arguments",
        "Check": "gusop-nakus-babid-famug",
    }
    once = build_outcome(approval(resolution=resolved()))
    assert "Stored" not in shown(ending_facts(once))


def test_a_rule_is_named_in_front_and_at_the_end() -> None:
    """The reason that an owner wrote next to the rule is what people read."""
    rule = "production is frozen (tools.exec.rules[2])"
    verdict = SegmentVerdict(("make",), "/usr/bin/make", Decision.ASK, Reason.RULE_ASKED, rule)
    why = f"A rule requires a person to approve this: {rule}."
    asked = replace(
        approval(plan(("make",))),
        evaluation=Evaluation(Decision.ASK, Reason.RULE_ASKED, why, (verdict,)),
        resolution=resolved(),
    )

    words = f"a rule requires a person to approve this: {rule}"
    assert shown(front(build_prompt(asked)))["Why"] == words
    assert shown(ending_facts(build_outcome(asked)))["Asked because"] == words


def test_each_reason_is_in_front_where_they_differ() -> None:
    """Two commands, two reasons, both to be read before the answer."""
    argvs = (("curl", "x"), ("sh",))
    verdicts = tuple(
        SegmentVerdict(argv, f"/usr/bin/{argv[0]}", Decision.ASK, reason, words)
        for argv, reason, words in (
            (argvs[0], Reason.NOT_LISTED, "no entry"),
            (argvs[1], Reason.WRAPPER, "a shell"),
        )
    )
    card = build_prompt(approval(plan(*argvs), segments=verdicts))

    label = "Not allowed by policy"
    assert shown(front(card))[label] == "1. curl x (no entry)\n2. sh (a shell)"
    assert label not in shown(details(card))


def test_a_prompt_links_to_its_page_where_there_is_one() -> None:
    """One line at the end of the first screen, alike on every platform; none without a page."""
    question = approval()
    linked = build_prompt(question, UTC, "https://sayso.example")

    label, address = front(linked)[-1].label, front(linked)[-1].value.text
    assert (label, address) == ("Page", f"https://sayso.example/approve/{question.id}")
    assert "Page" not in [fact.label for fact in front(build_prompt(question))]


HOOK = "it runs the hook `/r/.git/hooks/pre-commit` (SHA-256 00)"


@pytest.mark.parametrize(("steered", "unsettled"), [(HOOK, ""), ("", HOOK)])
def test_what_a_command_does_beyond_its_words_is_in_front(steered: str, unsettled: str) -> None:
    """Whoever allows a commit also starts its hooks; below a wrapper too."""
    of = plan(("git", "commit"))
    inner = replace(of.commands[0], steered=steered, unsettled=unsettled)
    outer = replace(plan(("nice", "git", "commit")).commands[0], inner=(inner,))

    for command in (inner, outer):
        card = build_prompt(approval(replace(of, commands=(command,))))
        assert shown(front(card))["\u26a0 Also"] == HOOK
        assert not card.plain
    assert "\u26a0 Also" not in shown(facts(build_prompt(approval(of))))
    assert build_prompt(approval(of)).plain


def test_what_is_asked_about_because_of_it_is_said_once() -> None:
    """The reason says it already."""
    of = plan(("git", "diff"))
    steered = replace(of, commands=(replace(of.commands[0], steered=HOOK),))
    verdict = SegmentVerdict(("git", "diff"), "/usr/bin/git", Decision.ASK, Reason.STEERED, HOOK)

    card = build_prompt(approval(steered, segments=(verdict,)))
    assert "\u26a0 Also" not in shown(facts(card))


def test_all_of_what_is_too_long_for_the_front_is_in_the_details() -> None:
    """Where it is short, the details do not repeat it."""
    of = plan(("git", "commit"))
    long = "; ".join([HOOK] * 9)
    cards = [
        build_prompt(approval(replace(of, commands=(replace(of.commands[0], steered=one),))))
        for one in (HOOK, long)
    ]

    assert [shown(details(card)).get("Beyond its words") for card in cards] == [None, long]
    assert "more]" in shown(front(cards[1]))["\u26a0 Also"]
