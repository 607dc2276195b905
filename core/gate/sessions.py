"""Set a chat session's overrides, for a person who may: ``/exec`` and ``/elevated`` (S0).

``SessionLayers`` is what the gate reads, ``SessionRules`` what a chat's inbox writes. No intake of
agents reaches the latter: an agent never sets its session's policy (docs/decisions/0003).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from core.approvals.routing.principals import Listing
from core.approvals.routing.senders import Senders
from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity, PolicyLayer
from core.ports import Journal
from core.store import Store
from core.store.engine.notifications import RESYNC
from core.store.sessions import overrides as session_overrides
from core.store.sessions.overrides import CHANGED, SessionOverrides
from core.text.render import redact

SOURCE = "session"
"""The source of the layer that people set for one session."""


_SKIPPED = (
    "Approvals are skipped. Still denied: security=deny of exec-approvals.json, deny rules and "
    "what cannot be checked against them, capabilities, variables that choose code, and a lockdown."
)
_NOT_ELEVATED = (
    "This session is not elevated, so nothing was changed. /exec shows its settings, /exec reset "
    "clears them."
)
_ASK = {Elevation.ASK: ExecAsk.ALWAYS, Elevation.FULL: ExecAsk.OFF}


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Whether a session was changed, and the sentence for whoever asked for it."""

    done: bool
    sentence: str


@dataclass(slots=True)
class SessionLayers:
    """The layer of policy of each session.

    Full security holds as long as the person who set it may set it: nothing remains of what was set
    by someone removed from ``senders`` or revoked.

    Where this process alone can write the store, all of them are kept in memory until a wake-up
    says that one changed; otherwise the store is read each time.
    """

    store: Store
    senders: Callable[[], Listing | None] = lambda: None
    _kept: Mapping[SessionKey, SessionOverrides] | None = None
    _shared: bool = False
    _changes: int = 0

    def __post_init__(self) -> None:
        """Listen for changes."""
        self.store.subscribe(self._hear)

    def _hear(self, note: str) -> None:
        if note in {CHANGED, RESYNC}:
            self._changes += 1
            self._kept = None

    async def layer(self, session: SessionKey) -> PolicyLayer | None:
        """Return what people set for a session, ``None`` if nothing.

        Raises:
            StoreError: it cannot be read, so nothing runs.
        """
        if self._kept is not None:
            overrides = self._kept.get(session)
        elif self._shared:
            overrides = await self.store.read(session_overrides.get, session)
        else:
            overrides = await self._read(session)
        if overrides is not None and not await self._holds(overrides):
            before = overrides.before
            overrides = None if before is None else replace(overrides, overrides=before)
            if overrides is not None and overrides.overrides.security is ExecSecurity.FULL:
                overrides = None
        return None if overrides is None else layer_of(overrides)

    async def _holds(self, overrides: SessionOverrides) -> bool:
        listing = self.senders()
        if overrides.overrides.security is not ExecSecurity.FULL or listing is None:
            return True
        return await Senders(self.store, listing).may(overrides.by)

    async def _read(self, session: SessionKey) -> SessionOverrides | None:
        seen = self._changes
        found = await self.store.read(session_overrides.every)
        self._shared = not found.alone
        # A change that was committed while we read must not be hidden by what we read.
        if found.alone and seen == self._changes:
            self._kept = found.sessions
        return found.sessions.get(session)


def layer_of(found: SessionOverrides) -> PolicyLayer:
    """Return what people set for a session as a layer of policy."""
    overrides = found.overrides
    return PolicyLayer(
        SOURCE,
        host=overrides.host,
        security=overrides.security,
        ask=overrides.ask,
        node=overrides.node,
        skip_approvals=_skips_approvals(overrides) or None,
    )


def _skips_approvals(overrides: ExecOverrides) -> bool:
    return overrides.security is ExecSecurity.FULL and overrides.ask is ExecAsk.OFF


@dataclass(frozen=True, slots=True)
class SessionRules:
    """Change a session's settings; only authorised senders may, and each change is in the journal.

    ``elevated`` is ``tools.elevated.enabled``: without it nobody gives a session full security.
    """

    store: Store
    journal: Journal
    senders: Senders
    elevated: bool

    async def set(
        self, session: SessionKey, overrides: ExecOverrides, actor: Actor
    ) -> SessionChange:
        """Set the given settings; those that are not given stay as they were set before.

        Full security skips approvals unless ``ask`` is given (S1 "Security notes"). While the
        session is elevated, the settings stay set when that ends.

        Raises:
            StoreError: nothing was changed.
            JournalError: nothing was changed.
        """
        refusal = await self._refusal(actor, widens=overrides.security is ExecSecurity.FULL)
        if refusal is not None:
            return refusal
        if overrides.security is ExecSecurity.FULL and overrides.ask is None:
            overrides = replace(overrides, ask=ExecAsk.OFF)
        found = await self.shown(session)
        if found is None:
            return await self._write(session, overrides, actor)
        restored = None if found.before is None else _merged(found.before, overrides)
        return await self._write(session, _merged(found.overrides, overrides), actor, restored)

    async def elevate(self, session: SessionKey, mode: Elevation, actor: Actor) -> SessionChange:
        """Give a session full access on the gateway host, or restore what was set before (S0).

        Raises:
            StoreError: nothing was changed.
            JournalError: nothing was changed.
        """
        refusal = await self._refusal(actor, widens=mode is not Elevation.OFF)
        if refusal is not None:
            return refusal
        found = await self.shown(session)
        if mode is Elevation.OFF:
            return await self._restore(session, found, actor)
        restored = _unelevated(found)
        ask = _ASK.get(mode, restored.ask)
        overrides = ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL, ask)
        return await self._write(session, overrides, actor, restored)

    async def reset(self, session: SessionKey, actor: Actor) -> SessionChange:
        """Clear everything that was set for a session.

        Raises:
            StoreError: nothing was changed.
            JournalError: nothing was changed.
        """
        refusal = await self._refusal(actor, widens=False)
        if refusal is not None:
            return refusal
        await self._record(session, actor, "cleared")
        if await self.store.write(session_overrides.clear, session):
            return SessionChange(True, "Cleared: the configuration applies to this session again.")
        return SessionChange(True, "This session had no settings.")

    async def shown(self, session: SessionKey) -> SessionOverrides | None:
        """Return what is set for a session and by whom, ``None`` if nothing."""
        return await self.store.read(session_overrides.get, session)

    async def _refusal(self, actor: Actor, *, widens: bool) -> SessionChange | None:
        if not await self.senders.may(actor):
            return _may_not(actor)
        if widens and not self.elevated:
            return SessionChange(
                False,
                "Full security is not available: tools.elevated.enabled is false in the "
                "configuration. Nothing was changed.",
            )
        return None

    async def _write(
        self,
        session: SessionKey,
        overrides: ExecOverrides,
        actor: Actor,
        restored: ExecOverrides | None = None,
    ) -> SessionChange:
        words = worded(overrides)
        await self._record(session, actor, words)
        await self.store.write(session_overrides.put, session, overrides, actor, restored)
        skipped = f" {_SKIPPED}" if _skips_approvals(overrides) else ""
        return SessionChange(True, f"Set for this session: {words}.{skipped}")

    async def _restore(
        self, session: SessionKey, found: SessionOverrides | None, actor: Actor
    ) -> SessionChange:
        if found is None or found.before is None:
            return SessionChange(True, _NOT_ELEVATED)
        if found.before == ExecOverrides():
            change = await self.reset(session, actor)
        else:
            change = await self._write(session, found.before, actor)
        return replace(change, sentence=f"No longer elevated. {change.sentence}")

    async def _record(self, session: SessionKey, actor: Actor, words: str) -> None:
        record: dict[str, object] = {
            "session": redact(session).text,
            "by": actor.ref,
            "set": redact(words).text,
        }
        await self.journal.append("session", record)


def _unelevated(found: SessionOverrides | None) -> ExecOverrides:
    """Return what is set for a session apart from its elevation."""
    if found is None:
        return ExecOverrides()
    return found.overrides if found.before is None else found.before


def _merged(before: ExecOverrides, now: ExecOverrides) -> ExecOverrides:
    given = {
        name: value
        for name in ("host", "security", "ask", "node")
        if (value := getattr(now, name)) is not None
    }
    return replace(before, **given)


def worded(overrides: ExecOverrides) -> str:
    """Format settings as they are typed: ``host=gateway security=full``."""
    given = {
        "host": overrides.host,
        "security": overrides.security,
        "ask": overrides.ask,
        "node": overrides.node,
    }
    return " ".join(f"{name}={value}" for name, value in given.items() if value is not None)


def _may_not(actor: Actor) -> SessionChange:
    return SessionChange(
        False,
        f"You may not change this session: id {actor.account} is not in "
        f"channels.{actor.channel}.senders. Nothing was changed.",
    )
