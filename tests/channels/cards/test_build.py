"""Build cards from the bound plan alone."""

from dataclasses import replace

import pytest

from channels.cards.build import LONGEST_SHOWN, build_outcome, build_prompt
from channels.cards.lines import facts
from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import DenialReason
from core.model.identity import Actor, TaskId
from core.model.result import Denied, ExecResult, Finished, Output, Unknown
from tests.contracts.channel_examples import ID, approval, plan, program, resolved
from tests.support.plans import wrapped
from tests.support.tables import rows


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


@rows(
    "resolution, words",
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


@rows(
    "result, words",
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
