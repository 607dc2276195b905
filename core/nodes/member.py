"""Stay connected to this node's gateway: connect, prove who we are, reconnect after a loss.

A laptop that slept, or has a new address, connects again; a gateway that answers with another key
receives nothing.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from core.nodes.backoff import Backoff
from core.nodes.elapsed import elapsed_s
from core.nodes.fingerprints import fingerprint_words
from core.nodes.frames import AnyFrame, Auth, BadFrame, Hello, Refused, Waiting, Welcome, proof
from core.nodes.link import LinkLost, NodeLink, WrongKey, connect
from core.nodes.node_file import NodeFile
from core.text.escape import redact
from core.trust.identity import SigningKey
from core.trust.ids import new_id

_log = logging.getLogger(__name__)
_HELLO_S = 10.0
_MOST_WAITING = 20
"""Codes that one connection may show to this node's user: each holds for minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class GatewayConnection:
    """One connection to the gateway. ``session`` names it in what the gateway signs for it.

    ``name`` is what the gateway calls this node. ``offset_s`` is the time of the gateway's clock at
    the start, minus the time elapsed: a wall clock that is wrong or set changes nothing.
    """

    link: NodeLink
    session: str
    name: str
    offset_s: float

    def now_ms(self) -> int:
        """Return the gateway's time as epoch ms."""
        return round((elapsed_s() + self.offset_s) * 1000)


class Work(Protocol):
    """What a node does for its gateway."""

    async def joined(self, joined: GatewayConnection) -> None:
        """Handle that the gateway is connected.

        Raises:
            LinkLost: it is gone already.
        """

    async def heard(self, joined: GatewayConnection, frame: AnyFrame) -> None:
        """Handle one frame, without waiting for anything that takes long.

        Raises:
            BadFrame: a gateway never sends that.
        """

    def left(self) -> None:
        """Handle that the connection ended; what runs continues."""

    async def dismissed(self) -> None:
        """Handle that the gateway revoked this node: what runs for it must end."""


def _warn(words: str) -> None:
    _log.warning("%s", words)


@dataclass(slots=True)
class Member:
    """This node's side of the connection; ``say`` informs its user.

    ``caps`` are the commands that the gateway may invoke.
    """

    file: NodeFile
    key: SigningKey
    work: Work
    say: Callable[[str], None]
    backoff: Backoff = field(default_factory=Backoff)
    caps: tuple[str, ...] = ()

    async def run(self) -> None:
        """Stay connected whenever that is possible, until the task is cancelled."""
        while True:
            try:
                await self._connected()
            except WrongKey as error:
                self.say(f"{self.file.gateway}: {error}; nothing was said to it")
            except (LinkLost, BadFrame) as error:
                _log.info("%s", error)
            except Exception:  # noqa: BLE001 - no error may end the node in silence
                _log.exception("the connection to %s failed", self.file.gateway)
            await asyncio.sleep(self.backoff.pause())

    async def _connected(self) -> None:
        link = await connect(self.file.host, self.file.port, self.file.gateway_key)
        try:
            joined = await self._joined(link)
            if joined is not None:
                await self._stay(joined)
        finally:
            await link.close()

    async def _joined(self, link: NodeLink) -> GatewayConnection | None:
        """Prove who we are and wait to be admitted; ``None`` if we are refused."""
        hello = await link.receive(_HELLO_S)
        if not isinstance(hello, Hello) or hello.gateway != self.file.gateway_key:
            raise BadFrame("the gateway did not begin with hello")
        offset_s = hello.now_ms / 1000 - elapsed_s()
        session = new_id()
        await link.send(self._auth(hello, session))
        for _ in range(_MOST_WAITING):
            match await link.receive():
                case Welcome(name=name):
                    return GatewayConnection(link, session, name, offset_s)
                case Waiting(code=code):
                    self.say(
                        f"a person must allow this node on the gateway: sayso node approve {code} "
                        f"(words: {fingerprint_words(self.file.node_id)})"
                    )
                case Refused(why=why):
                    self.say(f"the gateway refuses this node: {redact(why)}")
                    return None
                case other:
                    raise BadFrame(f"{other.t} before welcome")
        raise BadFrame("the gateway gives one code after another")

    def _auth(self, hello: Hello, session: str) -> Auth:
        signed = proof(hello.nonce, self.file.gateway_key, session)
        return Auth(
            node_id=self.file.node_id,
            name=self.file.display_name,
            token=self.file.pairing_token,
            session=session,
            caps=self.caps,
            signature=self.key.sign(signed).hex(),
        )

    async def _stay(self, joined: GatewayConnection) -> None:
        self.say(f"connected to {self.file.gateway} as {redact(joined.name)}")
        since = elapsed_s()
        try:
            await self.work.joined(joined)
            while True:
                frame = await joined.link.receive()
                if isinstance(frame, Refused):
                    self.say(f"the gateway ends the connection: {redact(frame.why)}")
                    await self.work.dismissed()
                    return
                await self.work.heard(joined, frame)
        finally:
            self.backoff.held(elapsed_s() - since)
            self.work.left()
