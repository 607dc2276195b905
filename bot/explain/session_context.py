"""Look up what people set for a session, and what they granted for a while."""

from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreError
from core.gate.sessions import layer_of
from core.model.command import ExecRequest
from core.model.identity import AgentId, SessionKey, TaskId
from core.model.policy import PolicyLayer
from core.store import Store
from core.store.approvals import grants
from core.store.approvals.grants import Grant
from core.store.engine.read_only import open_and_read
from core.store.sessions import overrides
from core.store.sessions.overrides import SessionOverrides

_SQLITE = "sqlite:///"
MAIN = "main"
"""The session of a request that names none."""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What applies to a session in addition to files; ``unread`` says why it could not be read."""

    layer: PolicyLayer | None = None
    grants: tuple[Grant, ...] = ()
    unread: str = ""


def read_session_context(url: str, request: ExecRequest, idle_ms: int | None) -> SessionContext:
    """Read it outside of the gateway, whether or not one uses the store; empty without a store.

    ``idle_ms``: grants that were not used for that long are left out.
    """
    if url.startswith(_SQLITE) and not Path("/" + url.removeprefix(_SQLITE).lstrip("/")).exists():
        return SessionContext()
    session, whose = request.session, _whose(request, idle_ms)
    try:
        stored = open_and_read(url, overrides.get, session)
        given = open_and_read(url, grants.active, *whose)
    except StoreError as failure:
        return SessionContext(unread=f"Cannot read grants and the session's settings. {failure}")
    return _context(stored, given)


async def load_session_context(
    store: Store, request: ExecRequest, idle_ms: int | None
) -> SessionContext:
    """Read it in the gateway itself.

    Raises:
        StoreError: it cannot be read.
    """
    stored = await store.read(overrides.get, request.session)
    return _context(stored, await store.read(grants.active, *_whose(request, idle_ms)))


def _whose(
    request: ExecRequest, idle_ms: int | None
) -> tuple[AgentId, SessionKey, int | None, TaskId | None]:
    return request.agent, request.session, idle_ms, request.task


def _context(overrides: SessionOverrides | None, given: tuple[Grant, ...]) -> SessionContext:
    return SessionContext(None if overrides is None else layer_of(overrides), given)
