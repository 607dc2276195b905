"""Serve the people directory and the grants on gateway.sock (docs/decisions/0009).

Any local peer may look, and may take rights away. What could give rights (adding, pairing,
unlinking, restoring) counts only from a person at a terminal whose kernel session never asked for
anything: the socket is shared with agents of the same uid.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.intake import peers, results
from bot.intake.frames import AccountParams, GrantParams, NameParams, NoParams, WhoParams, read
from core.gate import Gate
from core.gate.previews import Previews
from core.ipc.unix import Peer
from core.model.identity import Requester
from core.store import Store, grants, pairing, people

Handler = Callable[[dict[str, object], Peer], Awaitable[object]]
_MOST_SESSIONS = 4_096


@dataclass(slots=True)
class Askers:
    """The kernel sessions that asked to run something, whether or not a person was asked."""

    store: Store
    _here: dict[tuple[int, int], None] = field(default_factory=dict)

    def note(self, requester: Requester) -> None:
        """Remember who asked; of very many the oldest are left to the store."""
        if requester.process is None:
            return
        self._here.pop(requester.process, None)
        self._here[requester.process] = None
        if len(self._here) > _MOST_SESSIONS:
            del self._here[next(iter(self._here))]

    async def known(self, requester: Requester) -> bool:
        """Say whether this kernel session has asked, here or before a restart."""
        if requester.process is None or requester.process in self._here:
            return True
        return await self.store.read(people.has_asked, requester)


@dataclass(slots=True)
class PeopleMethods:
    """The methods about people and grants; each change is in the journal."""

    gate: Gate
    askers: Askers

    def table(self) -> dict[str, Handler]:
        """Return the methods by name."""
        return {
            "people.list": self.listed,
            "people.add": self.add,
            "people.pair": self.pair,
            "people.unlink": self.unlink,
            "people.revoke": self.revoke,
            "people.restore": self.restore,
            "grants.list": self.grants,
            "grants.revoke": self.revoke_grant,
        }

    async def listed(self, params: dict[str, object], _peer: Peer) -> object:
        """List the people with their accounts."""
        read(NoParams, params)
        found = await self.gate.store.read(people.listed)
        return {"people": [results.person(one) for one in found]}

    async def add(self, params: dict[str, object], peer: Peer) -> object:
        """Add a person."""
        name = read(NameParams, params).name
        refusal = await self._refusal(peer)
        if refusal is not None:
            return refusal
        await self._record(peer, "add", name)
        if await self.gate.store.write(people.add, name):
            return results.change(f"{name} was added. Next: `sayso people pair {name}`.")
        return results.change(f"{name} is there already.")

    async def pair(self, params: dict[str, object], peer: Peer) -> object:
        """Draw a code that links the account it is typed on; it is shown this once."""
        name = read(NameParams, params).name
        refusal = await self._refusal(peer)
        if refusal is not None:
            return refusal
        await self._record(peer, "pair", name)
        drawn = await self.gate.store.write(pairing.begin, name)
        if drawn is None:
            return results.change(f"There is no {name}; add it first.", done=False)
        sentence = (
            f"Send `/pair {drawn.code}` from the account to link, within "
            f"{pairing.CODE_LIFE_MS // 60_000} minutes. Whoever sends it first is {name}."
        )
        return {
            **results.change(sentence),
            "code": drawn.code,
            "expiresMs": drawn.expires_ms,
        }

    async def unlink(self, params: dict[str, object], peer: Peer) -> object:
        """Take an account from its person; it counts as a person of its own from then on."""
        wish = read(AccountParams, params)
        refusal = await self._refusal(peer)
        if refusal is not None:
            return refusal
        await self._record(peer, "unlink", wish.account)
        channel, _, account = wish.account.partition(":")
        person = await self.gate.store.write(people.unlink, channel, account)
        if person is None:
            return results.change(f"{wish.account} is linked to nobody.", done=False)
        return results.change(f"{wish.account} is {person}'s no more.")

    async def revoke(self, params: dict[str, object], peer: Peer) -> object:
        """Let nobody, or no account, of this name answer any more; anybody may call this."""
        who = read(WhoParams, params).who
        await self._record(peer, "revoke", who)
        if await self.gate.store.write(people.revoke, who):
            return results.change(f"{who} is revoked: no answer counts, nor an earlier vote.")
        return results.change(f"There is no {who}; `sayso people list` names them.", done=False)

    async def restore(self, params: dict[str, object], peer: Peer) -> object:
        """Let a person's or an account's answers count again."""
        who = read(WhoParams, params).who
        refusal = await self._refusal(peer)
        if refusal is not None:
            return refusal
        await self._record(peer, "restore", who)
        if await self.gate.store.write(people.restore, who):
            return results.change(f"{who} may answer again where listed.")
        return results.change(f"{who} is not revoked.", done=False)

    async def grants(self, params: dict[str, object], _peer: Peer) -> object:
        """List what people allowed for a while and what still holds."""
        read(NoParams, params)
        rulebook, store = self.gate.rulebook, self.gate.store
        found = await store.read(grants.listed, rulebook.idle_ms)
        previews = await Previews(store, rulebook).of_grants(found)
        return {"grants": [results.grant(one, previews.get(one.id)) for one in found]}

    async def revoke_grant(self, params: dict[str, object], peer: Peer) -> object:
        """End a grant; anybody may call this."""
        wish = read(GrantParams, params)
        await self._record(peer, "revoke grant", wish.id)
        if await self.gate.store.write(grants.revoke, wish.id):
            return results.change(
                f"Grant {wish.id.upper()[:6]} is revoked; people are asked again."
            )
        return results.change("No such grant holds; `sayso grants list` names them.", done=False)

    async def _refusal(self, peer: Peer) -> dict[str, object] | None:
        """Refuse what could give rights, unless a person at a terminal wants it."""
        if not peers.at_terminal(peer):
            return results.change(
                "Only a person at a terminal may do this: run it in the foreground of one. "
                "Nothing was changed.",
                done=False,
            )
        if await self.askers.known(peers.requester(peer)):
            return results.change(
                "This terminal has asked to run commands, so it counts as a requester's. Use "
                "another terminal. Nothing was changed.",
                done=False,
            )
        return None

    async def _record(self, peer: Peer, what: str, whom: str) -> None:
        record: dict[str, object] = {
            "by": peers.account(peer),
            "what": what,
            "whom": results.safe(whom),
        }
        await self.gate.journal.append("people", record)
