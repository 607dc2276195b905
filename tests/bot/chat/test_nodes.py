"""Pair a node from a chat: who may, what is said, and how the notice ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.announcements import Announcer, Audience
from bot.chat.nodes import NodePairing
from bot.jobs.message_sender import Delivery
from bot.jobs.node_notices import NodeNotices
from bot.jobs.outbox import Outbox
from channels.base import Inbound, Reply, Tone
from channels.commands import NodeRequests, PairNode, PendingList
from channels.memory import MemoryChannel
from core.approvals.routing.approvers import Approvers
from core.audit.journal import AuditJournal
from core.model.identity import Actor, AgentId, Target
from core.model.node import NodeId, PairingRequest
from core.store import Store, open_store
from core.store.people import nodes
from core.text.render import Redacted
from tests.support.waiting import until

HERE = Target("memory", "ops")
ANA, EVE = Actor("memory", "ana", "Ana"), Actor("memory", "eve", "Eve")
APPROVERS = Approvers(
    {"memory": frozenset({"ana"})}, by_agent={AgentId("main"): frozenset({"eve"})}
)


@dataclass
class Desk:
    """A store, a chat, and the part under test."""

    store: Store
    channel: MemoryChannel
    pairing: NodePairing
    notices: NodeNotices

    async def asks(self, name: str = "web", key: str = "a", at: str = "10.0.0.5") -> PairingRequest:
        """Ask to be paired."""
        draft = nodes.PairingDraft(NodeId(key * 64), "t" * 64, name, at)
        return await self.store.write(nodes.request, draft)

    async def says(
        self,
        command: PairNode | NodeRequests,
        actor: Actor = ANA,
        process: tuple[int, int] | None = None,
    ) -> Reply:
        """Have a person say something."""
        reply = await self.pairing.take(Inbound(actor, HERE, command, "k", process=process))
        assert reply is not None
        return reply

    def shown(self) -> list[str]:
        """Return the notices as they are."""
        found = (one.notice for one in self.channel.shown.values())
        return [card.text.text for card in found if card is not None]


@asynccontextmanager
async def desk(home: Path) -> AsyncIterator[Desk]:
    """Run the outbox of a chat for as long as the block lasts."""
    store = await open_store(f"sqlite:///{home}/state.db")
    journal, channel = AuditJournal(home / "audit.jsonl"), MemoryChannel()
    with journal:
        made = Desk(
            store,
            channel,
            NodePairing(store, journal, APPROVERS),
            NodeNotices(store, Announcer(store, Audience((HERE,))).tell),
        )
        channels = {"memory": channel}
        outbox = asyncio.create_task(Outbox(store, channels, Delivery(store, channels)).run())
        yield made
        outbox.cancel()
        await asyncio.gather(outbox, return_exceptions=True)
    await store.close()


async def test_a_button_pairs_and_the_notice_says_so(tmp_path: Path) -> None:
    """Name, address, words and code are shown; the press pairs; the copy ends without buttons."""
    async with desk(tmp_path) as made:
        asked = await made.asks()
        assert await made.notices.look()
        await until(made.shown)
        (message,) = made.channel.shown.values()
        assert message.notice is not None
        text = message.notice.text.text
        assert all(word in text for word in ("'web'", "10.0.0.5", asked.code))
        assert "/node approve" in text
        allow, deny = message.notice.choices
        assert (allow.label, deny.label) == ("Allow", "Deny")

        reply = await made.pairing.take(Inbound(ANA, HERE, allow.command, "k", message.id))
        assert reply is not None
        assert (reply.tone, "is paired" in reply.text.text) == (Tone.OK, True)
        (node,) = await made.store.read(nodes.listed)
        assert (node.name, node.by) == ("web", "memory:ana")

        await made.notices.look()
        await until(lambda: "allowed by memory:ana" in made.shown()[0])
        assert message.notice.choices == ()
        assert not await made.notices.look()
    assert '"what":"paired"' in (tmp_path / "audit.jsonl").read_text().replace(" ", "")


async def test_a_denied_and_an_expired_request_end_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each says what happened, and pairs nothing."""
    async with desk(tmp_path) as made:
        first = await made.asks()
        await made.notices.look()
        await until(made.shown)
        reply = await made.says(PairNode(first.code.lower(), allow=False))
        assert "is not paired" in reply.text.text
        await made.notices.look()
        await until(lambda: "refused" in made.shown()[0])

        monkeypatch.setattr(nodes, "REQUEST_LIFE_MS", 1)
        await made.asks("db", "b")
        await made.notices.look()
        await asyncio.sleep(0.05)
        await made.notices.look()
        assert await made.store.read(nodes.listed) == ()
        late = await made.says(PairNode(first.code.lower(), allow=True))
        assert (late.tone, "No node waits" in late.text.text) == (Tone.REFUSED, True)


@pytest.mark.parametrize("command", [NodeRequests(), PairNode("k3f7qz", allow=True)])
async def test_only_approvers_of_all_agents_may(
    tmp_path: Path, command: PairNode | NodeRequests
) -> None:
    """Eve approves for one agent; a node is for all. Ana is the control."""
    async with desk(tmp_path) as made:
        await made.asks()
        refused = await made.says(command, EVE)
        assert (refused.tone, "id eve is not in approvers" in refused.text.text) == (
            Tone.REFUSED,
            True,
        )
        assert await made.store.read(nodes.listed) == ()
        assert "You may not" not in (await made.says(command, ANA)).text.text


async def test_on_this_machine_it_takes_the_command(tmp_path: Path) -> None:
    """A console cannot know whether its terminal asked for anything (decision 9)."""
    async with desk(tmp_path) as made:
        asked = await made.asks()
        told = await made.says(PairNode(asked.code.lower(), allow=True), process=(1, 2))
        assert (told.tone, told.text) == (
            Tone.REFUSED,
            Redacted(f"On this machine, run: sayso node approve {asked.code}"),
        )
        assert await made.store.read(nodes.listed) == ()


async def test_the_list_has_buttons(tmp_path: Path) -> None:
    """`/node` alone lists the waiting nodes."""
    async with desk(tmp_path) as made:
        assert "No node asks" in (await made.says(NodeRequests())).text.text
        asked = await made.asks()
        listed = await made.says(NodeRequests())
        assert asked.code in listed.text.text
        assert [choice.label for choice in listed.choices] == [
            f"{asked.code} Allow",
            f"{asked.code} Deny",
        ]
        other = await made.pairing.take(Inbound(ANA, HERE, PendingList(), "k"))
        assert other is None


async def test_a_flood_from_one_address_leaves_notices_for_others(tmp_path: Path) -> None:
    """It has half of them; the node of another address still gets a notice."""
    async with desk(tmp_path) as made:
        for number, key in enumerate("01234567"):
            await made.asks(f"node-{number}", key)
        await made.notices.look()
        await made.asks("mine", "f", at="10.0.0.6")
        await made.notices.look()
        await until(lambda: any("'mine'" in text for text in made.shown()))
        assert sum("'node-" in text for text in made.shown()) == 3


@pytest.mark.parametrize("name", ["w\u0435b", "web\u200b", "we\u202eb", "vveb", "\uff37EB"])
async def test_a_name_that_looks_like_a_paired_nodes_is_shown_so(tmp_path: Path, name: str) -> None:
    """In the notice and the list, and it is not allowed under it; another name has no warning."""
    async with desk(tmp_path) as made:
        first = await made.asks()
        await made.says(PairNode(first.code.lower(), allow=True))
        asked, plain = await made.asks(name, "b"), await made.asks("db", "c")
        await made.notices.look()
        await until(lambda: len(made.shown()) == 2)
        caution = f"looks like the paired node 'web' ({'a' * 12}), which is another machine"
        found = {asked.code: True, plain.code: False}
        for code, is_like in found.items():
            (notice,) = (text for text in made.shown() if f"Code: {code}" in text)
            assert (f"CAUTION: its name {caution}" in notice) is is_like
        listed = (await made.says(NodeRequests())).text.text.splitlines()
        assert {line.split()[0]: caution in line for line in listed} == found
        for code, is_like in found.items():
            reply = await made.says(PairNode(code.lower(), allow=True))
            assert (reply.tone is Tone.REFUSED) is is_like
        assert {node.name for node in await made.store.read(nodes.listed)} == {"web", "db"}


async def test_a_flood_of_requests_is_no_flood_of_notices(tmp_path: Path) -> None:
    """Anyone who reaches the port may ask; all are in the list."""
    async with desk(tmp_path) as made:
        for number, key in enumerate("0123456789"):
            await made.asks(f"node-{number}", key, at=f"10.0.0.{number}")
        await made.notices.look()
        await made.notices.look()
        await until(lambda: len(made.shown()) == 6)
        await asyncio.sleep(0.2)
        assert len(made.shown()) == 6
        assert len(await made.store.read(nodes.requests)) == 10
