"""Connect to a contact's host: a Unix socket of our own user, or TLS with a pinned certificate."""

import asyncio
import os
import ssl
from typing import cast

from core.ipc.peer import peer_of
from core.remote.denials import RemoteDenial
from core.remote.trust.contacts import Contact
from core.remote.wire.frames import LARGEST
from core.remote.wire.link import StreamLink
from core.trust.certificate import client_context, fits

_CONNECT_S = 10.0


class NotConnected(Exception):
    """Nothing was sent, so nothing ran; ``denial`` says why."""

    def __init__(self, denial: RemoteDenial) -> None:
        super().__init__(denial.sentence)
        self.denial = denial


async def connect(contact: Contact, context: ssl.SSLContext | None = None) -> StreamLink:
    """Return a link to a contact's host, known to be the one that was pinned.

    Raises:
        NotConnected: none answers, or a different host does.
    """
    try:
        async with asyncio.timeout(_CONNECT_S):
            if contact.place.path:
                return await _by_unix(contact.place.path)
            return await _by_tls(contact, context or client_context())
    except (OSError, TimeoutError) as error:
        raise NotConnected(RemoteDenial.UNREACHABLE) from error


async def _by_unix(path: str) -> StreamLink:
    reader, writer = await asyncio.open_unix_connection(path, limit=LARGEST)
    peer = peer_of(writer.get_extra_info("socket"))
    if peer.uid not in {os.getuid(), 0}:
        writer.transport.abort()
        raise NotConnected(RemoteDenial.UNREACHABLE)
    return StreamLink(reader, writer, f"unix:{path} uid {peer.uid}")


async def _by_tls(contact: Contact, context: ssl.SSLContext) -> StreamLink:
    place = contact.place
    reader, writer = await asyncio.open_connection(
        place.host, place.port, ssl=context, limit=LARGEST
    )
    connection = cast("ssl.SSLObject", writer.get_extra_info("ssl_object"))
    if contact.fingerprint is None or not fits(connection, contact.fingerprint):
        writer.transport.abort()
        raise NotConnected(RemoteDenial.FINGERPRINT_MISMATCH)
    return StreamLink(reader, writer, str(place))
