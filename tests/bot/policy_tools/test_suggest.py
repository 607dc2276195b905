"""Report with `sayso policy suggest` what prompts cost, and what is never suggested."""

import json
import shlex
from pathlib import Path
from typing import Any

from bot.policy_tools.suggestible import suggestible
from core.model.approval import ApprovalReply
from core.model.decision import Promise
from tests.bot.policy_tools.past import Answered, home, remember, sayso
from tests.support.tables import rows

ONCE, DENY = ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY
CONFIG = {"tools": {"exec": {"host": "gateway", "security": "allowlist"}}}


async def suggested(
    folder: Path, history: list[Answered], *more: str, approvals: object = None
) -> dict[str, Any]:
    """Return the report on a history."""
    state = home(folder, CONFIG, approvals)
    await remember(f"sqlite:///{state}/state.db", folder, history)
    done = sayso(state, "policy", "suggest", "--json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def test_what_was_always_allowed_is_suggested_as_a_command(tmp_path: Path) -> None:
    """Three allows of cat make an entry; what it would have saved is counted again."""
    history: list[Answered] = [(f"cat {name}", ONCE) for name in ("a", "b", "c")]
    found = await suggested(tmp_path, [*history, ("ls", ONCE)])

    (one,) = found["suggestions"]
    assert "sayso approvals allowlist add --agent main /usr/bin/cat" == one["command"]
    assert (3, 3) == (one["prompts"], found["saved"])
    assert 4 == found["all"]["prompts"]
    assert 1.0 == found["all"]["acceptRate"]
    assert found["all"]["medianAnswerMs"] >= 0


async def test_the_suggested_command_does_what_was_promised(tmp_path: Path) -> None:
    """Typed as printed, the entry is in the file and no further saving is suggested."""
    found = await suggested(tmp_path, [(f"cat {name}", ONCE) for name in ("a", "b", "c")])
    (one,) = found["suggestions"]
    state = tmp_path / "state"
    _, *words = shlex.split(one["command"])

    assert 0 == sayso(state, *words).returncode
    again = json.loads(sayso(state, "policy", "suggest", "--json").stdout)
    assert 0 == again["saved"]


async def test_one_denial_is_enough_to_suggest_nothing(tmp_path: Path) -> None:
    """The same program denied once, or too rarely allowed, is not suggested."""
    history: list[Answered] = [("cat a", ONCE), ("cat b", ONCE), ("cat c", ONCE), ("cat d", DENY)]
    found = await suggested(tmp_path, history)

    assert [] == found["suggestions"]
    program = next(one for one in found["programs"] if one["name"] == "/usr/bin/cat")
    assert (4, 3, 1, 0.75) == (
        program["prompts"],
        program["allowed"],
        program["denied"],
        program["acceptRate"],
    )


async def test_an_entry_with_a_part_in_what_was_denied_is_left_out(tmp_path: Path) -> None:
    """If `cat secret | wc` was denied, cat alone would have let it run (wc is a safe bin)."""
    history: list[Answered] = [(f"cat {name}", ONCE) for name in ("a", "b", "c")]
    denied: list[Answered] = [("cat secret | wc -l", DENY)]
    found = await suggested(tmp_path, [*history, *denied])

    assert [] == found["suggestions"]


async def test_unanswered_prompts_count_but_suggest_nothing(tmp_path: Path) -> None:
    """No answer is no consent."""
    found = await suggested(tmp_path, [("cat a", None), ("cat b", None), ("cat c", None)])

    assert [] == found["suggestions"]
    assert (3, None, None) == (
        found["all"]["unanswered"],
        found["all"]["acceptRate"],
        found["all"]["medianAnswerMs"],
    )


async def test_the_text_says_what_was_never_denied(tmp_path: Path) -> None:
    """Reasons, programs, the sum, and the commands to copy; nothing was applied."""
    await suggested(tmp_path, [(f"cat {name}", ONCE) for name in ("a", "b", "c")])
    state = tmp_path / "state"
    done = sayso(state, "policy", "suggest")

    assert done.stdout.startswith("3 prompts: 3 allowed, 0 denied, 0 unanswered, median answer")
    assert "1 program cost 3 prompts and was never denied" in done.stdout
    assert "not_listed" in done.stdout
    assert "sayso approvals allowlist add --agent main /usr/bin/cat    # 3 prompts" in done.stdout
    assert not (state / "exec-approvals.json").exists()


async def test_with_no_history_there_is_nothing_to_say(tmp_path: Path) -> None:
    """An empty span is reported in one sentence."""
    state = home(tmp_path, CONFIG)
    await remember(f"sqlite:///{state}/state.db", tmp_path, [])

    assert "Nobody was asked in this period.\n" == sayso(state, "policy", "suggest").stdout


@rows(
    "pattern, argv, expected",
    [
        ("/usr/bin/cat", None, True),
        ("/opt/tool/bin/tool", None, True),
        ("/usr/bin/make", ("test",), True),
        ("/usr/bin/git", ("push",), True),
        ("/usr/bin/make", None, False),
        ("/usr/bin/git", None, False),
        ("/usr/bin/bash", ("x.sh",), False),
        ("/bin/sh", None, False),
        ("/usr/bin/env", ("ls",), False),
        ("/usr/bin/sudo", ("ls",), False),
        ("/usr/bin/xargs", ("ls",), False),
        ("/usr/bin/python3.11", ("x.py",), False),
        ("/usr/bin/node", ("x.js",), False),
        ("/usr/bin/perl", ("x.pl",), False),
        ("/usr/bin/busybox", ("ls",), False),
    ],
)
def test_shells_interpreters_and_wrappers_are_never_suggested(
    pattern: str, argv: tuple[str, ...] | None, expected: bool
) -> None:
    """Nor is a carrier without its exact arguments."""
    assert expected is suggestible(Promise(pattern, argv))
