"""Let people do in a chat more than answer: choose, run, watch, stop, set, pair, look."""

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from channels.commands import HELP, SLASH_COMMANDS, Approve, Details
from channels.memory import MemoryChannel
from core.approvals.routing.approvers import Approvers
from core.model.approval import HALF_HOUR, ApprovalReply
from core.model.identity import Target, TaskId
from core.model.policy import ExecSecurity
from core.model.result import Finished, Pending
from core.store.people import pairing, people
from tests.support.chat import BOB, ask, notices, prompts, say, sending, settled
from tests.support.gate import ANA, PLACE, gate_at, layer, list_patterns, request
from tests.support.waiting import until

ONCE, ALWAYS, DENY = ApprovalReply
HERE = Target("memory", "desk")


async def test_always_shows_what_is_stored_and_a_limit_ends_it(tmp_path: Path) -> None:
    """Behind "Always allow…" are the pattern and the choices; 30 min lets the next one run."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        asked = await ask(gate, tmp_path, "uptime")
        await until(lambda: prompts(channel))
        offered = await channel.press(prompts(channel)[0].id, ALWAYS, ANA)
        reply = await channel.press_choice(PLACE, "30 min", ANA)
        first = await gate.wait(asked.run_id, 10_000)
        second = await gate.submit(request("uptime", cwd=tmp_path))

    assert offered is not None
    assert reply is not None
    assert (
        "lets agent main run this without asking:\n/usr/bin/uptime with any arguments\n"
        in offered.text.text
    )
    assert ["30 min", "This session", "Always", "Only once"] == [c.label for c in offered.choices]
    assert asked.code in reply.text.text
    assert isinstance(first, Finished)
    assert isinstance(second, Finished)
    assert not (tmp_path / "exec-approvals.json").exists()


async def test_always_offers_the_task_where_one_is_named(tmp_path: Path) -> None:
    """Instead of the session; it lets the next one of the task run, and no other."""
    channel = MemoryChannel()
    wish = replace(request("uptime", cwd=tmp_path), task=TaskId("fix-login"))
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        asked = await gate.submit(wish)
        await until(lambda: prompts(channel))
        offered = await channel.press(prompts(channel)[0].id, ALWAYS, ANA)
        reply = await channel.press_choice(PLACE, "This task", ANA)
        await gate.wait(asked.run_id, 10_000)
        second = await gate.submit(wish)
        other = await gate.submit(replace(wish, task=TaskId("fix-logout")))

    assert offered is not None
    assert ["30 min", "This task", "Always", "Only once"] == [c.label for c in offered.choices]
    assert reply is not None
    assert "Allowed in this task" in reply.text.text
    assert isinstance(second, Finished)
    assert isinstance(other, Pending)


async def test_always_says_what_holds_for_a_script(tmp_path: Path) -> None:
    """Always applies while it is unchanged; the limits are for scripts that change."""
    script = tmp_path / "x.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        await ask(gate, tmp_path, "./x.sh")
        await until(lambda: prompts(channel))
        offered = await channel.press(prompts(channel)[0].id, ALWAYS, ANA)
        told = await channel.press_choice(PLACE, "Always", ANA)

    assert offered is not None
    assert (
        f"\n{script} with any arguments, while it stays as it is\nWith a time, session"
        in offered.text.text
    )
    assert told is not None
    assert "Always allowed from now on, while its code stays as it is" in told.text.text


async def test_a_stranger_is_offered_nothing(tmp_path: Path) -> None:
    """A person who may not answer is not shown what would be stored; their choice is refused."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        asked = await ask(gate, tmp_path, "uptime")
        await until(lambda: prompts(channel))
        pressed = await channel.press(prompts(channel)[0].id, ALWAYS, BOB)
        chosen = await say(inbox, Approve(asked.run_id, ALWAYS, terms=HALF_HOUR), BOB)
        still = await gate.wait(asked.run_id, 0)

    assert pressed is not None
    assert () == pressed.choices
    assert "bob" in pressed.text.text
    assert "bob" in chosen
    assert isinstance(still, Pending)


async def test_a_burst_is_one_message_with_buttons_for_each(tmp_path: Path) -> None:
    """Gathered prompts are sent together; each is answered and ends on its own."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate:
        asked = [await ask(gate, tmp_path, f"touch made-{number}") for number in range(5)]
        async with sending(gate, channel):
            await until(lambda: prompts(channel))
            (group,) = prompts(channel)
            await channel.press(group.id, ONCE, ANA, code=asked[0].code)
            await channel.press(group.id, DENY, ANA, code=asked[3].code)
            done = await gate.wait(asked[0].run_id, 10_000)
            await until(lambda: len(group.outcomes) == 2)
            confused = await channel.say(PLACE, "yes", ANA, to=group.id)

    assert 5 == len(group.prompts)
    assert isinstance(done, Finished)
    assert {asked[0].run_id, asked[3].run_id} == set(group.outcomes)
    assert ["made-0"] == sorted(path.name for path in tmp_path.glob("made-*"))
    assert confused is not None
    assert "several prompts" in confused.text.text


async def test_each_session_has_its_own_thread(tmp_path: Path) -> None:
    """With threads wanted, a session's prompts share one thread, opened once."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel, threaded=True):
        await ask(gate, tmp_path, "touch one")
        await ask(gate, tmp_path, "touch two")
        await until(lambda: len(prompts(channel)) == 2)
        shown = prompts(channel)
        await channel.press(shown[1].id, DENY, ANA)
        await until(lambda: shown[1].outcome)

    assert ["Session main"] == notices(channel)
    assert shown[0].target == shown[1].target
    assert "" != shown[0].target.thread


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a chat wait for a short command however long the machine takes for it."""
    monkeypatch.setattr("bot.chat.runs._PATIENCE_S", 30.0)


async def test_run_goes_through_the_same_policy(tmp_path: Path, patient: None) -> None:
    """An allowed line runs and shows its output; one that needs an answer reports its end."""
    channel = MemoryChannel()
    list_patterns(tmp_path, "/usr/bin/uname")
    people = Approvers({"memory": frozenset({"ana", "bob"})})
    async with (
        gate_at(tmp_path, people=people) as gate,
        sending(gate, channel, approvers=("bob",)) as inbox,
    ):
        allowed = await say(inbox, "/run uname -s")
        asked = await say(inbox, "/run hostname --fqdn-of-nobody", place=HERE)
        await until(lambda: prompts(channel))
        code = prompts(channel)[0].prompt.code  # type: ignore[union-attr] # a single prompt
        own = await say(inbox, f"/approve {code} allow-once")
        stranger = await say(inbox, "/run uname", BOB)

    assert re.search(r"finished after [\d.]+ s, code 0", allowed)
    assert "Linux" in allowed
    assert "is waiting for approval by another person than you" in asked
    assert "you can neither allow nor deny it" in own
    assert f"/stop {code}" in own
    assert "another terminal" not in own
    assert "not in senders" in stranger


async def test_a_requester_who_alone_could_answer_is_not_asked(tmp_path: Path) -> None:
    """It is denied at once, with the solution: an answer of the requester would not count."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        denied = await say(inbox, f"/run touch {tmp_path}/made", place=HERE)

    assert "did not run (no_route)" in denied
    assert "memory:ana requested this and is the only approver" in denied
    assert "add another person to the approvers" in denied
    assert prompts(channel) == []


async def test_help_and_refusals_are_shown_as_they_are_written(tmp_path: Path) -> None:
    """Our words are not a command's words: no mark of a line feed, no escape."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        asked = [await ask(gate, tmp_path, f"touch made-{number}") for number in range(3)]
        await until(lambda: prompts(channel))
        shown = prompts(channel)[0].id
        replies = [
            await say(inbox, "/help"),
            await say(inbox, "/start"),
            await say(inbox, "/approve nothing perhaps"),
            *[await say(inbox, f"/{one.name} ?? ??") for one in SLASH_COMMANDS],
            await say(inbox, "yes", to=shown),
        ]

    assert len(asked) == 3
    assert replies[0] == HELP
    assert "\n/exec [host=…] [security=…]" in replies[0]
    assert [reply for reply in replies if "\u23ce" in reply or "\\u{" in reply] == []


async def test_details_are_shown_to_those_who_may_look_and_decide_nothing(
    tmp_path: Path,
) -> None:
    """What a prompt folds, with the policy in effect, also after its end; strangers get none."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        asked = await ask(gate, tmp_path, "touch secret-plan")
        await until(lambda: prompts(channel))
        shown = await say(inbox, Details(asked.run_id), to=prompts(channel)[0].id)
        strange = await say(inbox, Details(asked.run_id), BOB)
        still = await gate.status(asked.run_id)
        await say(inbox, f"/approve {asked.code} deny")
        after = await say(inbox, Details(asked.run_id))
        gone = await say(inbox, Details("0" * 26))

    lines = shown.splitlines()
    assert lines[0] == asked.code
    assert "Program: touch: /usr/bin/touch" in lines
    assert "Policy: security allowlist, ask on-miss" in lines
    assert f"Id: {asked.run_id}" in lines
    assert isinstance(still, Pending)
    assert after == shown
    assert "You may not use Details" in strange
    assert "touch" not in strange
    assert "no longer stored" in gone


async def test_the_end_of_an_asked_run_is_told_where_it_was_asked(tmp_path: Path) -> None:
    """The chat that ran something is told that it was denied, with the reason."""
    channel = MemoryChannel()
    async with (
        gate_at(tmp_path, people=Approvers({"memory": frozenset({"bob"})})) as gate,
        sending(gate, channel, approvers=("bob",)) as inbox,
    ):
        await say(inbox, "/run touch made", place=HERE)
        await until(lambda: prompts(channel))
        card = prompts(channel)[0].prompt
        assert card is not None
        await say(inbox, f"/approve {card.code} deny not on a Friday", BOB)
        await until(lambda: any("Friday" in words for words in notices(channel)))


async def test_a_running_command_is_watched_and_stopped(tmp_path: Path) -> None:
    """A long command is named, shows what it printed so far, and ends when told to."""
    channel = MemoryChannel()
    everyone = layer(security=ExecSecurity.FULL)
    async with gate_at(tmp_path, everyone) as gate, sending(gate, channel) as inbox:
        begun = await say(inbox, "/run sh -c 'echo working; sleep 60'")
        code = begun.removeprefix("Running as ").rstrip(".")
        tail = ""
        async with asyncio.timeout(10):
            while "working" not in tail:
                tail = await say(inbox, f"/tail {code}")
        strange = await say(inbox, f"/stop {code}", BOB)
        stopped = await say(inbox, f"/stop {code}")
        await until(lambda: any("cancelled after" in words for words in notices(channel)))
        late = await say(inbox, f"/stop {code}")
        past = await say(inbox, "/history")

    assert "printed 8 bytes so far" in tail
    assert "not in approvers and senders" in strange
    assert f"{code} is being stopped." == stopped
    assert re.search(rf"{code}: cancelled after [\d.]+ s\.", late)
    assert re.search(rf"{code} cancelled after [\d.]+ s: sh", past)


@pytest.mark.parametrize("command", ["/tail 7K3F9Q", "/stop 7K3F9Q"])
async def test_a_code_that_nothing_has_is_told(tmp_path: Path, command: str) -> None:
    """Watching and stopping name what was not found, and where to look."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        told = await say(inbox, command)

    assert "7K3F9Q" in told
    assert "/history" in told


async def test_exec_sets_the_session_of_this_chat_only(tmp_path: Path, patient: None) -> None:
    """/exec shows and sets; the next /run here is judged by it, another chat's is not."""
    channel = MemoryChannel()
    list_patterns(tmp_path, "/usr/bin/uname")
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        before = await say(inbox, "/exec")
        set_ = await say(inbox, "/exec security=deny")
        after = await say(inbox, "/exec")
        denied = await say(inbox, "/run uname")
        elsewhere = await say(inbox, "/run uname", place=HERE)
        stranger = await say(inbox, "/exec ask=off", BOB)

    assert "no settings of its own" in before
    assert "security=deny" in set_
    assert "by Ana (memory): security=deny" in after
    assert "did not run (security_deny)" in denied
    assert re.search(r"finished after [\d.]+ s, code 0", elsewhere)
    assert "not in channels.memory.senders" in stranger


async def test_elevated_is_full_access_until_it_is_off(tmp_path: Path, patient: None) -> None:
    """/elevated full runs what would need an answer; off ends it."""
    channel = MemoryChannel()
    people = Approvers({"memory": frozenset({"bob"})})
    async with gate_at(tmp_path, people=people) as gate, sending(gate, channel) as inbox:
        gate.rulebook.elevated = True
        await say(inbox, "/elevated full")
        elevated = await say(inbox, f"/run touch {tmp_path}/made")
        off = await say(inbox, "/elevated off")
        asked = await say(inbox, f"/run touch {tmp_path}/made")
        stranger = await say(inbox, "/elevated on", BOB)

    assert re.search(r"finished after [\d.]+ s, code 0", elevated)
    assert "No longer elevated. Cleared" in off
    assert "is waiting for approval" in asked
    assert "not in channels.memory.senders" in stranger


async def test_lists_are_for_those_who_are_known(tmp_path: Path) -> None:
    """/pending and /history show lines to approvers and senders, and nothing to a stranger."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        empty = await say(inbox, "/pending")
        asked = await ask(gate, tmp_path, "touch secret-plan")
        waiting = await say(inbox, "/pending")
        await say(inbox, f"/approve {asked.code} deny too soon")
        past = await say(inbox, "/history 5")
        strange = [await say(inbox, words, BOB) for words in ("/pending", "/history")]

    assert "Nothing is waiting." == empty
    assert asked.code in waiting
    assert "touch secret-plan" in waiting
    assert f"{asked.code} denied (approver_denied); decided by Ana: touch secret-plan" in past
    assert all("secret-plan" not in words and "bob" in words for words in strange)


async def test_a_pairing_code_links_the_account_that_sends_it(tmp_path: Path) -> None:
    """A code counts once; the linked person is then known on that account."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        await gate.store.write(people.add, "bob")
        begun = await gate.store.write(pairing.begin, "bob")
        assert begun is not None
        linked = await say(inbox, f"/pair {begun.code.lower()}", BOB)
        again = await say(inbox, f"/pair {begun.code}", ANA)
        known = await gate.store.read(people.known_as, BOB)

    assert "This account is now linked to bob." == linked
    assert "Unknown or expired code" in again
    assert "bob" == known.person


async def test_the_prompt_tells_how_the_run_ended(tmp_path: Path) -> None:
    """A copy with the decision is edited again when the command has ended, and then closed."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        asked = await ask(gate, tmp_path, "sh -c 'sleep 0.5; exit 3'")
        await until(lambda: prompts(channel))
        (shown,) = prompts(channel)
        await channel.press(shown.id, ONCE, ANA)
        await until(lambda: shown.outcome and "Allowed once" in shown.outcome.headline.text)
        decided = shown.outcome
        await gate.wait(asked.run_id, 10_000)
        await until(lambda: shown.outcome and "code 3" in shown.outcome.detail.text)
        await settled(gate)

    assert decided is not None
    assert "" == decided.detail.text


def _shows_more(channel: MemoryChannel, than: int) -> bool:
    return len(prompts(channel)) > than


async def test_always_tells_what_it_would_have_matched(tmp_path: Path) -> None:
    """Behind "Always allow…" are the past commands that it covers, the denied ones by name."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        for number, (line, reply) in enumerate((("uptime", ONCE), ("uptime -s", DENY))):
            asked = await ask(gate, tmp_path, line)
            await until(partial(_shows_more, channel, number))
            await channel.press(prompts(channel)[number].id, reply, ANA)
            await gate.wait(asked.run_id, 10_000)
        await ask(gate, tmp_path, "uptime -p")
        await until(lambda: len(prompts(channel)) > 2)
        offered = await channel.press(prompts(channel)[2].id, ALWAYS, ANA)

    assert offered is not None
    words = "It would have matched 2 of the last 2 commands, 1 of them denied: uptime -s."
    assert words in offered.text.text
    assert 4 == len(offered.choices)
