"""Look up what people set for a session and what they granted for a while."""

from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreError
from core.gate.sessions import layer_of
from core.model.command import ExecRequest
from core.model.identity import AgentId, SessionKey, TaskId
from core.model.policy import PolicyLayer
from core.store import Store, grants, session_overrides
from core.store.aside import read_aside
from core.store.grants import Grant
from core.store.session_overrides import SessionKnobs

_SQLITE = "sqlite:///"
MAIN = "main"
"""The session of a request that names none."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds for a session besides files; ``unread`` says why that could not be looked up."""

    layer: PolicyLayer | None = None
    grants: tuple[Grant, ...] = ()
    unread: str = ""


def standing_aside(url: str, request: ExecRequest, idle_ms: int | None) -> Standing:
    """Read it beside the gateway, whether one holds the store or not; without a store it is none.

    ``idle_ms``: grants that were not used for so long are left out.
    """
    if url.startswith(_SQLITE) and not Path("/" + url.removeprefix(_SQLITE).lstrip("/")).exists():
        return Standing()
    session, whose = request.session, _whose(request, idle_ms)
    try:
        knobs = read_aside(url, session_overrides.get, session)
        given = read_aside(url, grants.active, *whose)
    except StoreError as failure:
        return Standing(unread=f"Grants and the session's settings were not looked at. {failure}")
    return _standing(knobs, given)


async def standing_in(store: Store, request: ExecRequest, idle_ms: int | None) -> Standing:
    """Read it in the gateway itself.

    Raises:
        StoreError: it cannot be read.
    """
    knobs = await store.read(session_overrides.get, request.session)
    return _standing(knobs, await store.read(grants.active, *_whose(request, idle_ms)))


def _whose(
    request: ExecRequest, idle_ms: int | None
) -> tuple[AgentId, SessionKey, int | None, TaskId | None]:
    return request.agent, request.session, idle_ms, request.task


def _standing(knobs: SessionKnobs | None, given: tuple[Grant, ...]) -> Standing:
    return Standing(None if knobs is None else layer_of(knobs), given)
