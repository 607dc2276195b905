"""Reply to /run, /tail and /stop by what became of the run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bot.chat.permissions import KnownPeople
from bot.chat.runs import ChatRuns, _reply_for
from channels.base import Inbound, Reply, Tone
from channels.commands import Command, LogIn, RunLine, Stop, Tail
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.principals import Listing
from core.approvals.routing.senders import Senders
from core.gate.gate import Gate
from core.model.decision import DenialReason
from core.model.identity import Actor, ApprovalId, code_of
from core.model.result import Denied, Finished, Output, Pending, Running, Submission, Unknown
from core.store import approvals
from core.store.runs import runs
from tests.support.chat import BOB
from tests.support.gate import ANA, PLACE, allowed, gate_at, request
from tests.support.store_link import StoreLink
from tests.support.store_records import run_draft

RUN = ApprovalId("0123456789abcdef" * 2)
CODE = code_of(RUN)


@pytest.mark.parametrize(
    ("end", "words", "tone", "handles"),
    [
        (Finished(RUN, 0, None, Output("hello", "", 5), 1), "\nhello", Tone.INFO, False),
        (
            Finished(RUN, 0, None, Output("x", "last", 9, truncated=True), 1),
            "\nlast",
            Tone.INFO,
            False,
        ),
        (
            Denied(RUN, DenialReason.RULE_DENIED, "not here"),
            f"{CODE} did not run (rule_denied): not here",
            Tone.REFUSED,
            False,
        ),
        (
            Unknown(RUN),
            f"{CODE}: the gateway died while it ran; how it ended is unknown.",
            Tone.INFO,
            False,
        ),
        (Pending(RUN, "K3F7QZ", 9), f"{CODE} is waiting for approval.", Tone.INFO, False),
        (Running(RUN), f"{CODE} runs.", Tone.INFO, True),
    ],
)
def test_what_became_of_a_run(end: Submission, words: str, tone: Tone, *, handles: bool) -> None:
    """The buttons only while it runs."""
    reply = _reply_for(end)

    assert reply.text.text.endswith(words)
    assert reply.tone is tone
    assert [one.command for one in reply.choices] == ([Tail(RUN), Stop(RUN)] if handles else [])


def test_a_token_that_the_tail_begins_in_is_not_shown() -> None:
    """Output that is masked gets short, so a chat shows where its tail begins."""
    rest = "a1B2" * 9
    tail = f"{rest}\n{' ' * 19_950}"
    for padded in (tail.ljust(20_000), f"{tail}last".rjust(20_000, "x")):
        reply = _reply_for(Finished(RUN, 0, None, Output("", padded, 10**6, truncated=True), 1))
        assert rest not in reply.text.text


@dataclass
class Chat:
    """What a chat with Ana says; nothing that is allowed starts unless a test starts it."""

    gate: Gate
    runs: ChatRuns

    async def say(self, command: Command, actor: Actor = ANA) -> Reply:
        """Return the reply to a command."""
        reply = await self.runs.take(Inbound(actor, PLACE, command, "update:1"))
        assert reply is not None
        return reply

    async def words(self, command: Command, actor: Actor = ANA) -> tuple[str, Tone, bool]:
        """Return the same as its text, its tone, and whether it has buttons."""
        reply = await self.say(command, actor)
        return reply.text.text, reply.tone, bool(reply.choices)


@asynccontextmanager
async def chat_at(
    home: Path, link: "type[StoreLink] | partial[StoreLink]" = StoreLink
) -> AsyncIterator[Chat]:
    """Run a gate and the part of its chats."""
    async with gate_at(home, over=link) as gate:
        senders = Senders(gate.store, Listing({"memory": frozenset({"ana"})}))
        known = KnownPeople(gate.store, Approvers({"memory": frozenset({"ana"})}), senders)
        chat = ChatRuns(gate, gate.store, known, home)
        yield Chat(gate, chat)
        for task in chat._under_way:
            task.cancel()


async def test_a_run_before_between_and_after(tmp_path: Path) -> None:
    """A question, then a run that waits for its turn, then its end."""
    async with chat_at(tmp_path) as chat:
        asked = await chat.gate.submit(request("echo asked", cwd=tmp_path))
        assert isinstance(asked, Pending)
        waits = await chat.words(Tail(asked.code))
        run_id = await allowed(chat.gate, "echo hello")
        queued = await chat.words(Tail(run_id))
        ((_, plan),) = await chat.gate.queued()
        await chat.gate.run_approved(run_id, plan)
        over = await chat.words(Tail(run_id))
        late = await chat.words(Stop(run_id))
        other = await chat.runs.take(Inbound(ANA, PLACE, LogIn(), "update:1"))

    assert other is None  # a login is for another part
    assert waits == (f"{asked.code} is waiting for approval.", Tone.INFO, False)
    assert queued == (f"{code_of(run_id)} runs.", Tone.INFO, True)
    assert over[0].endswith("code 0.\nhello")
    assert over == late
    assert over[1:] == (Tone.INFO, False)


async def test_a_question_is_withdrawn(tmp_path: Path) -> None:
    """By whoever may look; the journal says by whom."""
    async with chat_at(tmp_path) as chat:
        asked = await chat.gate.submit(request("echo asked", cwd=tmp_path))
        assert isinstance(asked, Pending)
        strange = await chat.words(Stop(asked.code), BOB)
        still = await chat.gate.status(asked.run_id)
        done = await chat.words(Stop(asked.code))
        again = await chat.words(Stop(asked.code))
        end = await chat.gate.store.read(approvals.get, asked.run_id)

    assert strange[0].startswith("You may not use /stop")
    assert "approvers and senders" in strange[0]
    assert strange[1:] == (Tone.REFUSED, False)
    assert isinstance(still, Pending)
    assert done == (f"{asked.code} is being stopped.", Tone.OK, False)
    assert "did not run" in again[0]
    assert again[1:] == (Tone.REFUSED, False)
    assert end is not None
    assert end.resolution is not None
    assert end.resolution.note == "stopped by Ana (memory)"


async def test_a_reference_means_one_run_and_no_other(tmp_path: Path) -> None:
    """Who may not look learns nothing."""
    alike = "0" * 20
    async with chat_at(tmp_path) as chat:
        for end in "12":
            await chat.gate.store.write(runs.begin, run_draft(ApprovalId(alike + end)))
        one = await chat.words(Tail(f"{alike}1"))
        others = [await chat.words(kind(ref)) for kind in (Tail, Stop) for ref in (alike, "9" * 20)]
        strange = await chat.words(Tail(f"{alike}1"), BOB)
        second = await chat.gate.status(ApprovalId(f"{alike}2"))

    assert one[1:] == (Tone.INFO, True)
    assert {said[1:] for said in others} == {(Tone.REFUSED, False)}
    assert all(said[0].startswith("No run here has the id or code") for said in others)
    assert strange[0].startswith("You may not use /tail")
    assert isinstance(second, Running)


async def test_a_line_that_is_not_stored_yet_has_no_code(tmp_path: Path) -> None:
    """Its end is posted, however long the store takes; a chat waits a moment only."""
    slow = partial(StoreLink, holds=lambda op: op in (approvals.create, approvals.settle_unrouted))
    async with chat_at(tmp_path, slow) as chat:
        said = await chat.words(RunLine("true"))
        strange = await chat.words(RunLine("true"), BOB)

    assert said == ("Submitted; the result will be posted here.", Tone.INFO, False)
    assert strange[0].startswith("You may not use /run")
    assert "in senders of" in strange[0]
