"""Build cards from the bound plan alone."""

from dataclasses import replace
from datetime import UTC

import pytest

from channels.card_text import digest_words, duration
from channels.cards import (
    LONGEST_SHOWN,
    Fact,
    PromptCard,
    build_outcome,
    build_prompt,
    checked,
    details,
    ending_facts,
    facts,
    front,
)
from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import Decision, DenialReason, Evaluation, Reason, SegmentVerdict
from core.model.identity import Actor, TaskId
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Denied, ExecResult, Finished, Output, Unknown
from tests.contracts.channel_examples import ID, approval, plan, program, resolved
from tests.support.plans import wrapped


def test_the_prompt_names_everything_that_is_bound() -> None:
    """Folder, agent, session, host, program, environment names, reason, promise, times, digest."""
    card = build_prompt(approval(plan(("rm", "-rf", "/srv/x"), env=("PATH", "FOO"))))

    shown = {fact.label: fact.value.text for fact in facts(card)}

    assert shown == {
        "Does": "deletes /srv/x, with everything below · deletes files, can write or delete files",
        "Why": "/usr/bin/rm is not on the allowlist of main",
        "Folder": "/home/dev/proj",
        "Agent": "main · on gateway",
        "Session": "agent:main:main",
        "Program": "rm: /usr/bin/rm",
        "Sets": "PATH, FOO",
        "Why you are asked": "/usr/bin/rm is not on the allowlist of main",
        "Allow always stores": "/usr/bin/rm with any arguments",
        "May run for": "30 min",
        "Answer by": "10:10:00 UTC (10 min); no answer means deny",
        "Id": ID,
        "Length and check": "13 characters · gusop-nakus-babid-famug",
    }


def test_the_prompt_names_the_task_beside_the_session() -> None:
    """Escaped and masked like every untrusted text; without one nothing is said."""
    shown = {
        task: {fact.label: fact.value.text for fact in facts(build_prompt(approval(of)))}["Session"]
        for task in ("fix-login", "f\u202ex", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", None)
        for of in [replace(plan(("rm", "x")), task=None if task is None else TaskId(task))]
    }

    assert [
        "agent:main:main · task fix-login",
        "agent:main:main · task f\\u{202E}x",
        "agent:main:main · task [secret: GitHub token]",
        "agent:main:main",
    ] == list(shown.values())


def test_values_of_the_environment_are_never_shown() -> None:
    """Only names: values are where secrets are."""
    of = replace(plan(("ls",), env=("TOKEN",)), env=(("TOKEN", "hunter2"),))

    assert "hunter2" not in repr(build_prompt(approval(of)))


def test_a_link_shows_both_paths() -> None:
    """The called path and the file that starts."""
    of = plan(("awk", "1"))
    linked = replace(of.commands[0], executable=program("/usr/bin/awk", "/usr/bin/mawk"))

    card = build_prompt(approval(replace(of, commands=(linked,))))

    assert card.resolved[0].text == "awk: /usr/bin/awk (a link to /usr/bin/mawk)"


def test_a_wrapper_names_what_it_starts() -> None:
    """However deep: the approver sees each file that will run, not only the outermost."""
    line = ("timeout", "5", "sh", "-c", "ls | /opt/tool")
    of = replace(plan(line), commands=(wrapped(*line),))

    card = build_prompt(approval(of))
    shown = {fact.label: fact.value.text for fact in facts(card)}

    assert shown["Programs"].splitlines() == [
        "timeout: /usr/bin/timeout",
        "sh: /usr/bin/sh (a link to /usr/bin/dash), started by timeout",
        "ls: /usr/bin/ls, started by sh, started by timeout",
        "/opt/tool, started by sh, started by timeout",
    ]
    assert "Program" not in shown


def test_a_program_that_was_not_found_says_so() -> None:
    """The problem is where the path would be."""
    of = plan(("nope",))
    missing = replace(of.commands[0], executable=None, problem="not found on the search path")

    card = build_prompt(approval(replace(of, commands=(missing,))))

    assert card.resolved[0].text == "nope: not found on the search path"


@pytest.mark.parametrize(("extra", "whole"), [(0, True), (1, False)])
def test_beyond_the_longest_only_a_denial_is_offered(extra: int, whole: bool) -> None:
    """What no one can read cannot be allowed."""
    card = build_prompt(approval(plan(text="x" * (LONGEST_SHOWN + extra))))

    assert (card.whole, card.approvable, card.offers_always) == (whole, whole, whole)
    assert card.replies == ("allow-once|allow-always|deny" if whole else "deny")


@pytest.mark.parametrize(
    ("resolution", "words"),
    [
        (resolved(), "Allowed once by Ana (telegram 42) at 10:02 UTC"),
        (
            resolved(reply=ApprovalReply.ALLOW_ALWAYS),
            "Allowed always by Ana (telegram 42) at 10:02 UTC",
        ),
        (resolved(by=Actor("terminal", "uid:0")), "Allowed once by terminal uid:0 at 10:02 UTC"),
        (
            resolved(by=Actor("terminal", "uid:0", "uid:0")),
            "Allowed once by terminal uid:0 at 10:02 UTC",
        ),
        (
            resolved(by=Actor("terminal", "uid:0", "root")),
            "Allowed once by root (terminal) at 10:02 UTC",
        ),
        (
            resolved(by=Actor("terminal", "uid:7", "a\u202eb (telegram 42)")),
            "Allowed once by a\\u{202E}b (telegram 42) (terminal) at 10:02 UTC",
        ),
        (resolved(by=None), "Allowed once by Sayso at 10:02 UTC"),
        (
            resolved(by=Actor("telegram", "42", "Ana\u202e by Bob")),
            "Allowed once by Ana\\u{202E} by Bob (telegram 42) at 10:02 UTC",
        ),
        (None, "Still waiting for an answer"),
    ],
)
def test_the_headline_says_who_and_when(resolution: object, words: str) -> None:
    """A person's own name cannot forge anything."""
    card = build_outcome(replace(approval(), resolution=resolution))  # type: ignore[arg-type] # parametrised

    assert card.headline.text == words


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Finished(ID, 0, None, Output(), 1_240), "Finished after 1.2 s, code 0"),
        (Finished(ID, None, 9, Output(), 1_000), "Ended by signal 9 after 1.0 s"),
        (Finished(ID, None, 9, Output(), 1_000, timed_out=True), "Stopped at its time limit"),
        (Finished(ID, 0, None, Output(), 1_000, cancelled=True), "Cancelled after 1.0 s"),
        (Finished(ID, None, None, Output(), 1_000), "Ended after 1.0 s, exit status unknown"),
        (Denied(ID, DenialReason.PLAN_DRIFT, "rm changed"), "Nothing ran (plan_drift): rm changed"),
        (Unknown(ID), "The gateway died while it ran"),
        (None, ""),
    ],
)
def test_the_detail_says_what_became_of_it(result: ExecResult | None, words: str) -> None:
    """Finished, signalled, timed out, drifted and unknown are told apart."""
    card = build_outcome(approval(resolution=resolved()), result)

    assert card.detail.text.startswith(words)
    assert bool(card.detail.text) == bool(words)


def test_a_reason_for_a_denial_is_shown_and_masked() -> None:
    """What a person typed goes through the same masks."""
    note = "use token=hunter2hunter2\u202e"
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, note=note)

    card = build_outcome(approval(resolution=ended))

    assert card.detail.text == "Reason: use token=[secret: secret]"


def test_digest_words_are_proquints() -> None:
    """The published examples: 127.0.0.1 is lusab-babad, 63.84.220.193 is gutih-tugad."""
    assert digest_words("7f000001" + "3f54dcc1" + "0" * 48) == "lusab-babad-gutih-tugad"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0 s"), (999, "0 s"), (45_000, "45 s"), (1_800_000, "30 min"), (5_400_000, "1 h 30 min")],
)
def test_durations_are_worded(milliseconds: int, words: str) -> None:
    """Whole units, largest first."""
    assert duration(milliseconds) == words


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
