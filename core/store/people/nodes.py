"""Store which other machines are nodes of this gateway, and which want to be.

An unknown node's request waits five minutes for a person; asking again within that time is the same
request under the same code. Nothing here replaces a node: another key is another node, and a name
that a paired node has must be given up before a second one gets it.
"""

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select, update

from core.errors import BadRequest, NotFound
from core.model.identity import CODE_LENGTH
from core.model.node import SHORTEST_PREFIX, Node, NodeId, PairingRequest, normalised
from core.store.engine.clock import now_ms
from core.store.engine.notifications import note
from core.store.people.token_text import digest
from core.store.schema.json_columns import plain
from core.store.schema.people_tables import node_requests, nodes
from core.text.likeness import likeness
from core.text.render import redact

CHANGED: Final = "nodes"
"""The wake-up that says: a node was paired, renamed or revoked, or wants to be paired."""
REQUEST_LIFE_MS: Final = 5 * 60_000
MOST_REQUESTS: Final = 64
"""Requests that may wait at a time; more are refused, as anybody who reaches the port may ask."""
MOST_OF_ADDRESS: Final = 8
"""Of these from one address: one machine must leave room for others."""
_RENAME_IT: Final = "Give it another: sayso node approve CODE --name NAME, or sayso node rename."
_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOK_ALIKES: Final = str.maketrans("ILO", "110", "- ")

_NODE = select(nodes).where(nodes.c.id == bindparam("p_id"))
_NODES = select(nodes).order_by(nodes.c.paired_ms, nodes.c.id)
_SEEN = (
    update(nodes)
    .where(nodes.c.id == bindparam("p_id"))
    .values(seen_ms=bindparam("p_now"), address=bindparam("p_address"))
)
_LEFT = update(nodes).where(nodes.c.id == bindparam("p_id")).values(seen_ms=bindparam("p_now"))
_RENAME = update(nodes).where(nodes.c.id == bindparam("p_id")).values(name=bindparam("p_name"))
_REVOKE = delete(nodes).where(nodes.c.id == bindparam("p_id"))
_REQUESTS = (
    select(node_requests)
    .where(node_requests.c.expires_ms > bindparam("p_now"))
    .order_by(node_requests.c.created_ms, node_requests.c.id)
)
_REQUEST = select(node_requests).where(
    node_requests.c.id == bindparam("p_id"), node_requests.c.expires_ms > bindparam("p_now")
)
_TAKE = (
    delete(node_requests)
    .where(
        node_requests.c.code == bindparam("p_code"),
        node_requests.c.expires_ms > bindparam("p_now"),
    )
    .returning(*node_requests.c)
)
_EXPIRE = delete(node_requests).where(node_requests.c.expires_ms <= bindparam("p_now"))
_FORGET = delete(node_requests).where(node_requests.c.id == bindparam("p_id"))
_COUNT = select(func.count()).select_from(node_requests)
_COUNT_OF = _COUNT.where(node_requests.c.address == bindparam("p_address"))


@dataclass(frozen=True, slots=True)
class PairingDraft:
    """What an unknown node says about itself; ``token`` is what it will show from then on."""

    id: NodeId
    token: str = field(repr=False)
    name: str
    address: str


class TooManyRequests(BadRequest):
    """Too many nodes wait to be paired. Approve or wait for these; each waits 5 minutes."""


def request(conn: Connection, draft: PairingDraft) -> PairingRequest:
    """Note that a node wants to be paired; the request that waits already is returned again.

    A request with another name, address or token ends the one that waited: a person must see what
    is asked now, under a code of its own.

    Raises:
        TooManyRequests: as many wait as may.
        BadRequest: the node is already paired.
    """
    now = now_ms(conn)
    conn.execute(_EXPIRE, {"p_now": now})
    if conn.execute(_NODE, {"p_id": draft.id}).first() is not None:
        raise BadRequest("This node is already paired.")
    row = conn.execute(_REQUEST, {"p_id": draft.id, "p_now": now}).mappings().first()
    if row is not None and _is_same(row, draft):
        return _request(row)
    conn.execute(_FORGET, {"p_id": draft.id})
    of_address = conn.execute(_COUNT_OF, {"p_address": plain(draft.address)}).scalar_one()
    if of_address >= MOST_OF_ADDRESS or conn.execute(_COUNT).scalar_one() >= MOST_REQUESTS:
        raise TooManyRequests
    code = "".join(secrets.choice(_CROCKFORD) for _ in range(CODE_LENGTH))
    name, address, expires = plain(draft.name), plain(draft.address), now + REQUEST_LIFE_MS
    made = PairingRequest(code, draft.id, name, address, now, expires)
    conn.execute(insert(node_requests), {**asdict(made), "token_hash": digest(draft.token)})
    note(conn, CHANGED)
    return made


def requests(conn: Connection) -> tuple[PairingRequest, ...]:
    """Return the requests that wait for a person, the oldest first."""
    rows = conn.execute(_REQUESTS, {"p_now": now_ms(conn)}).mappings()
    return tuple(_request(row) for row in rows)


def approve(conn: Connection, code: str, by: str, name: str | None = None) -> Node:
    """Pair the node whose request has a code; ``name`` replaces the one that it gave itself.

    Raises:
        NotFound: no request has the code, or it expired.
        BadRequest: a paired node has the name; the request still waits.
    """
    row, now = _taken(conn, code), now_ms(conn)
    called = row["name"] if name is None else name
    _must_be_free(conn, called, row["id"])
    made = {
        "id": row["id"],
        "token_hash": row["token_hash"],
        "name": plain(called),
        "address": row["address"],
        "paired_by": plain(by),
        "paired_ms": now,
    }
    conn.execute(insert(nodes), made)
    note(conn, CHANGED)
    return Node(row["id"], made["name"], row["address"], now, made["paired_by"])


def deny(conn: Connection, code: str) -> PairingRequest:
    """End the request that has a code, and return it.

    Raises:
        NotFound: no request has the code, or it expired.
    """
    row = _taken(conn, code)
    note(conn, CHANGED)
    return _request(row)


def waits(conn: Connection, node_id: NodeId) -> bool:
    """Return whether a node's request waits for a person."""
    values = {"p_id": node_id, "p_now": now_ms(conn)}
    return conn.execute(_REQUEST, values).first() is not None


def listed(conn: Connection) -> tuple[Node, ...]:
    """Return the paired nodes, the oldest first."""
    return tuple(_node(row) for row in conn.execute(_NODES).mappings())


def admit(conn: Connection, node_id: NodeId, token: str, address: str) -> Node | None:
    """Return a paired node that shows its token, and note where and when it was seen.

    ``None``: it is not paired. That it holds its key must have been proven before.

    Raises:
        BadRequest: it is paired, and this is not its token.
    """
    row = conn.execute(_NODE, {"p_id": node_id}).mappings().first()
    if row is None:
        return None
    if not hmac.compare_digest(row["token_hash"], digest(token)):
        raise BadRequest("This node is paired with another token. Restore its node.json.")
    now = now_ms(conn)
    conn.execute(_SEEN, {"p_id": node_id, "p_now": now, "p_address": plain(address)})
    return replace(_node(row), address=plain(address), seen_ms=now)


def left(conn: Connection, node_id: NodeId) -> None:
    """Note that a node was connected until now; one that is not paired is ignored."""
    conn.execute(_LEFT, {"p_id": node_id, "p_now": now_ms(conn)})


def rename(conn: Connection, node_id: NodeId, name: str) -> None:
    """Give a node another display name.

    Raises:
        NotFound: it is not paired.
        BadRequest: another node has the name.
    """
    _must_be_free(conn, name, node_id)
    if not conn.execute(_RENAME, {"p_id": node_id, "p_name": plain(name)}).rowcount:
        raise _unknown()
    note(conn, CHANGED)


def revoke(conn: Connection, node_id: NodeId) -> None:
    """Remove a node from the list; to come back it must be allowed again.

    Raises:
        NotFound: it is not paired.
    """
    if not conn.execute(_REVOKE, {"p_id": node_id}).rowcount:
        raise _unknown()
    note(conn, CHANGED)


def _taken(conn: Connection, code: str) -> RowMapping:
    """Take the request that has a code, however it is typed.

    Raises:
        NotFound: no request has the code, or it expired.
    """
    typed = code.upper().translate(_LOOK_ALIKES)
    row = conn.execute(_TAKE, {"p_code": typed, "p_now": now_ms(conn)}).mappings().first()
    if row is None:
        raise NotFound(
            "No node waits with this code; a request lasts 5 minutes. See `sayso node list`."
        )
    return row


def _unknown() -> NotFound:
    return NotFound("This node is not paired; see `sayso node list`.")


def twin(name: str, node_id: str, paired: Iterable[Node]) -> Node | None:
    """Return another paired node that ``name`` could be taken for.

    By its appearance, or because a part of that node's id reads like it: people choose by it.
    """
    like, plainly = likeness(name), normalised(name)
    others = (one for one in paired if one.id != node_id)
    return next((one for one in others if _is_like(like, plainly, one)), None)


def _is_like(like: str, plainly: str, node: Node) -> bool:
    is_start = len(plainly) >= SHORTEST_PREFIX and node.id.startswith(plainly)
    return is_start or like == likeness(node.name) or plainly == normalised(node.name)


def _must_be_free(conn: Connection, name: str, node_id: str) -> None:
    """Refuse a name by which another paired node, or an address, could be meant.

    Raises:
        BadRequest: saying which, and what to do.
    """
    if redact(name).text != name or not likeness(name):
        raise BadRequest(
            f"The name {name!r} cannot be shown as it is: it holds what cannot be seen, what "
            f"passes for something else, or a secret. {_RENAME_IT}"
        )
    if _is_address(normalised(name)):
        raise BadRequest(f"The name {name!r} is an address, and could mean another. {_RENAME_IT}")
    taken = twin(name, node_id, listed(conn))
    if taken is None:
        return
    if normalised(taken.name) == normalised(name):
        raise BadRequest(
            f"The paired node {taken.id[:12]} is already called {taken.name!r}. Give the new one "
            "another name, or first rename or revoke that one."
        )
    raise BadRequest(
        f"The name {name!r} could be taken for the paired node {taken.name!r} ({taken.id[:12]}). "
        f"{_RENAME_IT}"
    )


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_same(row: RowMapping, draft: PairingDraft) -> bool:
    shown = (row["name"], row["address"], row["token_hash"])
    return shown == (plain(draft.name), plain(draft.address), digest(draft.token))


def _request(row: RowMapping) -> PairingRequest:
    return PairingRequest(
        code=row["code"],
        id=NodeId(row["id"]),
        name=row["name"],
        address=row["address"],
        created_ms=row["created_ms"],
        expires_ms=row["expires_ms"],
    )


def _node(row: RowMapping) -> Node:
    return Node(
        id=NodeId(row["id"]),
        name=row["name"],
        address=row["address"],
        paired_ms=row["paired_ms"],
        by=row["paired_by"],
        seen_ms=row["seen_ms"],
    )
