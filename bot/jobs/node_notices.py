"""Notify people of nodes that ask to be paired, and update each notice with the outcome.

What people see is read from the store, so a restart in between changes nothing. Anybody who can
reach the port may ask: beyond a few notices within a period, requests only appear in `sayso node
list`.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from core.errors import StoreError
from core.model.node import Node, PairingRequest
from core.nodes.fingerprints import fingerprint_words, looks_like
from core.store import Store
from core.store.engine.clock import now_ms
from core.store.engine.wakeups import wakeups
from core.store.outbox import node_notices
from core.store.people import nodes

_log = logging.getLogger(__name__)
_LOOK_S, _CALM_S = 2.0, 60.0
_MOST, _WITHIN_MS = 6, 10 * 60_000
"""Requests that people are asked about within a period, half as many from one address."""
_MOST_OF_ADDRESS = _MOST // 2
Tell = Callable[[str, str, dict[str, object]], Awaitable[None]]
"""Enqueues a text for everybody concerned: the text, a key that is sent once, more to store."""


@dataclass(frozen=True, slots=True)
class NodeNotices:
    """The notices of one gateway."""

    store: Store
    tell: Tell

    async def run(self) -> None:
        """Check whenever nodes or requests change, for as long as the task runs."""
        with wakeups(self.store, nodes.CHANGED) as changes:
            while True:
                try:
                    waiting = await self.look()
                except StoreError as failure:
                    _log.warning("cannot look for nodes that ask to be paired: %s", failure)
                    waiting = True
                await changes.wait(_LOOK_S if waiting else _CALM_S)

    async def look(self) -> bool:
        """Send new notices and end those that are over; return whether any is left to end.

        Raises:
            StoreError: the store cannot be used; what was not done is done by the next check.
        """
        asked = await self.store.read(nodes.requests)
        paired = await self.store.read(nodes.listed) if asked else ()
        for request in asked:
            await self._send(request, nodes.twin(request.name, request.id, paired))
        shown = await self.store.read(node_notices.unended)
        if not shown:
            return False
        paired = await self.store.read(nodes.listed)
        now = await self.store.read(now_ms)
        codes = {request.code for request in asked}
        for notice in shown:
            facts = json.loads(notice.payload)["node"]
            if facts["code"] not in codes:
                words = _ended(facts, paired, now)
                payload = json.dumps({"of": "notice", "text": words})
                await self.store.write(node_notices.end, notice.id, payload)
        return True

    async def _send(self, request: PairingRequest, like: Node | None) -> None:
        recent = await self.store.read(node_notices.recent, _WITHIN_MS)
        earlier = [json.loads(payload)["node"] for payload in recent]
        known = {each["code"]: each.get("address") for each in earlier}
        of_address = sum(address == request.address for address in known.values())
        if request.code in known or len(known) >= _MOST or of_address >= _MOST_OF_ADDRESS:
            return
        facts: dict[str, object] = {
            "code": request.code,
            "id": request.id,
            "name": request.name,
            "address": request.address,
            "expiresMs": request.expires_ms,
        }
        await self.tell(_words(request, like), f"node:{request.code}", {"node": facts})


def _words(request: PairingRequest, like: Node | None) -> str:
    code, minutes = request.code, (request.expires_ms - request.created_ms) // 60_000
    caution = "" if like is None else f"CAUTION: its name {looks_like(like)}.\n"
    return (
        f"The node {request.name!r} at {request.address} asks to be paired.\n{caution}"
        f"Key: {fingerprint_words(request.id)}\n"
        f"Code: {code}; it waits {minutes} minutes.\n"
        "Compare these words with those that the node printed. Once paired, commands may run on it "
        f"as policy and people allow.\nAnswer: /node approve {code} or /node deny {code}"
    )


def _ended(facts: dict[str, object], paired: Sequence[Node], now: int) -> str:
    """Format how a request ended; a node that is paired by now was allowed, whoever acted first."""
    head = f"The node {facts['name']!r} asked to be paired ({facts['code']})"
    found = next((node for node in paired if node.id == facts["id"]), None)
    if found is not None:
        return f"{head}: allowed by {found.by}; it is called {found.name!r}."
    expires = facts["expiresMs"]
    if isinstance(expires, int) and now >= expires:
        return f"{head}: nobody answered in time, so it is not paired."
    return f"{head}: it was refused, or asks for something else now."
