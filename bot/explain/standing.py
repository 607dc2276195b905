"""Look beside the gateway at what people set for a session and what they granted for a while."""

from dataclasses import dataclass, replace
from pathlib import Path

from bot.settings import Settings
from core.errors import StoreError
from core.gate.sessions import layer_of
from core.model.identity import AgentId, SessionKey
from core.model.policy import ExecSecurity, PolicyLayer
from core.store import grants, session_overrides
from core.store.aside import read_aside
from core.store.grants import Grant

_SQLITE = "sqlite:///"
MAIN = "main"
"""The session of a request that names none."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds for a session besides files; ``unread`` says why that could not be looked up."""

    layers: tuple[PolicyLayer, ...] = ()
    grants: tuple[Grant, ...] = ()
    unread: str = ""


def standing_of(
    settings: Settings, agent: AgentId, session: SessionKey, idle_ms: int | None
) -> Standing:
    """Read it from the store, whether a gateway holds that or not; without a store it is nothing.

    ``idle_ms``: grants that were not used for so long are left out.
    """
    url = settings.store_url
    if url.startswith(_SQLITE) and not Path("/" + url.removeprefix(_SQLITE).lstrip("/")).exists():
        return Standing()
    try:
        knobs = read_aside(url, session_overrides.get, session)
        given = read_aside(url, grants.active, agent, session, idle_ms)
    except StoreError as failure:
        return Standing(unread=f"Grants and the session's settings were not looked at. {failure}")
    layers = () if knobs is None else (layer_of(knobs),)
    elevated = settings.tools.elevated.enabled
    return Standing(layers if elevated else tuple(map(_unelevated, layers)), given)


def _unelevated(layer: PolicyLayer) -> PolicyLayer:
    return replace(layer, security=None) if layer.security is ExecSecurity.FULL else layer
