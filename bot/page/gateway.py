"""Lock the gateway down, and list the sessions of the person who is signed in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.registry.method import Table, invoke
from bot.page.passkeys import may_register
from bot.page.render import Renderer
from bot.page.visit import Visit, elsewhere, page
from core.store import Store
from core.store.engine.clock import now_ms
from core.store.people import passkeys, push, tokens
from core.trust.passkeys import relying_party

_LONGEST_WHY = 500


@dataclass(frozen=True, slots=True)
class GatewayPages:
    """The pages about the gateway and the sessions of the person who is signed in."""

    table: Table
    store: Store
    render: Renderer
    page_url: Callable[[], str]
    pushes: bool

    async def lockdown(self, visit: Visit) -> Response:
        """Show whether the gateway is locked, and ask for confirmation before locking it."""
        locked: Any = await invoke(self.table["lockdown.get"], {}, visit.who)
        text = self.render.text("lockdown.html", visit=visit, here="lockdown", locked=locked)
        return page(text)

    async def engage(self, visit: Visit) -> Response:
        """Deny everything from now on.

        Raises:
            Fault: the lockdown was not confirmed.
        """
        form = await visit.form()
        if form.get("confirm") != "yes":
            raise Fault(FaultCode.BAD_REQUEST, "Tick the box to confirm. Nothing was changed.")
        why = form.get("why", "").strip()[:_LONGEST_WHY]
        await invoke(self.table["lockdown.engage"], {"why": why}, visit.who)
        return elsewhere("/lock-down")

    async def sessions(self, visit: Visit) -> Response:
        """List where this person is signed in."""
        found: Any = await invoke(self.table["page.sessions"], {}, visit.who)
        own = await self.store.read(passkeys.of_person, visit.person)
        session = await self.store.read(tokens.by_id, visit.who.token)
        now = await self.store.read(now_ms)
        fresh = session is not None and may_register(session, now)
        text = self.render.text(
            "sessions.html",
            visit=visit,
            here="sessions",
            sessions=found["sessions"],
            passkeys=own,
            notified=await self.store.read(push.of_person, visit.person),
            pushes=self.pushes,
            can_add=fresh and relying_party(self.page_url()) is not None,
        )
        return page(text)

    async def end(self, visit: Visit) -> Response:
        """Sign one session out, or revoke it."""
        form = await visit.form()
        raw: dict[str, object] = {"id": visit.path("id"), "revoke": form.get("how") == "revoke"}
        await invoke(self.table["page.end"], raw, visit.who)
        return elsewhere("/sessions")
