"""Ask in a platform's places, decide there, and judge every copy at the end."""

import asyncio
from itertools import count
from pathlib import Path

from bot.app import Gateway
from core.model.approval import ApprovalState
from core.model.command import ExecRequest
from core.model.identity import ApprovalId, Intake, Requester, SessionKey, Target
from core.store import approvals, outbox
from core.store.outbox.receipts import receipts
from core.store.schema.states import OutboxState
from tests.faults.chat_platforms import Platform
from tests.support.prompt_copies import Asked, Copy, Findings, judge

_MOST = 1_000
_UNSENT = {OutboxState.READY, OutboxState.SENDING}


class Round:
    """The questions on one platform through the gateways of one home, one after another."""

    def __init__(self, side: Platform, home: Path) -> None:
        self.side = side
        self.home = home
        self.asked: list[Asked] = []
        self._decided: list[Asked] = []
        self._places: dict[str, Target] = {}
        self._keys = count(1)

    async def ask(self, running: Gateway, place: int, number: int = 1) -> None:
        """Ask this many questions at once in one place."""
        target = self.side.place(place)
        self._places[target.to] = target
        await asyncio.gather(*(self._submit(running, target) for _ in range(number)))

    async def _submit(self, running: Gateway, target: Target) -> None:
        key = f"{self.side.name}-{next(self._keys)}"
        request = ExecRequest(
            requester=Requester(Intake.SOCKET, "uid:0", (1, 2)),
            session=SessionKey(key),
            cwd=str(self.home),
            line=f"echo {key} >> ledger",
            origin=target,
        )
        await running.gate.submit(request)

    async def recall(self, running: Gateway) -> None:
        """Read the questions from the store: a crash may have cut an asker's answer off."""
        waiting = await running.store.read(approvals.pending, _MOST)
        self.asked = [
            Asked(one.id, one.code, one.origin.to, one.plan.session)
            for one in waiting
            if one.origin is not None and one.origin.channel == self.side.name
        ]

    def copies(self) -> list[Copy]:
        """Return every message of the bot."""
        return [copy for place in self._places.values() for copy in self.side.copies(place)]

    def copies_at(self, place: int) -> list[Copy]:
        """Return the bot's messages in one place."""
        return self.side.copies(self.side.place(place))

    async def until_shown(self, running: Gateway) -> None:
        """Wait until the gateway knows of a copy of each question."""
        await self.recall(running)
        async with asyncio.timeout(20):
            for one in self.asked:
                while not await self.is_shown(running, one):
                    await asyncio.sleep(0.02)

    async def is_shown(self, running: Gateway, one: Asked) -> bool:
        """Return whether the gateway knows what happened to each copy of a question."""
        rows = await running.store.read(receipts, ApprovalId(one.id))
        return bool(rows) and all(row.state not in _UNSENT for row in rows)

    def allowed(self) -> list[Asked]:
        """Return the questions that are answered with yes: two of three."""
        return [one for number, one in enumerate(self._decided) if number % 3]

    async def decide(self, most: int = _MOST, *, breaking: bool = False) -> None:
        """Press a button on the first prompts; ``breaking`` cuts the connection of presses."""
        self._decided = self.asked[:most]
        yes = {one.id for one in self.allowed()}
        for number, one in enumerate(self._decided):
            if breaking and number == 1:
                await self.side.cut()
            await self._press(one, f"{'o' if one.id in yes else 'd'}:{one.id}")

    async def _press(self, one: Asked, press: str) -> None:
        async with asyncio.timeout(20):
            while (found := self._button(one, press)) and not await self.side.press(*found):
                await asyncio.sleep(0.1)  # Ana saw that it failed, and presses again

    def _button(self, one: Asked, press: str) -> tuple[Copy, str] | None:
        copies = [copy for copy in self.copies() if copy.place == one.place]
        found = ((copy, name) for copy in copies for name in copy.buttons if name.endswith(press))
        return next(found, None)

    async def until_final(self, running: Gateway) -> None:
        """Wait until everything is decided and every copy that the gateway knows is final.

        Then press what still has buttons: this makes a copy that no gateway recorded final.
        """
        await self._until_settled(running)
        over = {one.id for one in self._decided}
        for copy in self.copies():
            for approval in copy.open & over:
                name = next(name for name in copy.buttons if name.endswith(f"d:{approval}"))
                await self._press_left(copy, name)
        await self._until_settled(running)

    async def _press_left(self, copy: Copy, name: str) -> None:
        for left in self.copies():
            if left.id == copy.id and name in left.buttons:
                await self.side.press(left, name)
                async with asyncio.timeout(20):
                    while any(c.id == copy.id and name in c.buttons for c in self.copies()):
                        await asyncio.sleep(0.02)

    async def _until_settled(self, running: Gateway) -> None:
        async with asyncio.timeout(30):
            while await self.waiting(running) & {one.id for one in self._decided}:
                await asyncio.sleep(0.02)
            while await running.store.read(outbox.open_surfaces) or self._is_running():
                await asyncio.sleep(0.02)

    async def waiting(self, running: Gateway) -> set[str]:
        """Return the ids of the questions that wait for an answer."""
        return {one.id for one in await running.store.read(approvals.pending, _MOST)}

    def _is_running(self) -> bool:
        mine = [word for word in self.ran() if word.startswith(self.side.name)]
        return len(mine) < len(self.allowed())

    def ran(self) -> list[str]:
        """Return what the commands wrote, sorted."""
        ledger = self.home / "ledger"
        return sorted(ledger.read_text().split()) if ledger.exists() else []

    async def verdict(self, running: Gateway, copies: list[Copy] | None = None) -> Findings:
        """Judge copies by what the store says: those that the platform shows now, or others."""
        truth: dict[str, ApprovalState] = {}
        for one in self.asked:
            found = await running.store.read(approvals.get, ApprovalId(one.id))
            assert found is not None
            truth[one.id] = found.resolution.state if found.resolution else ApprovalState.PENDING
        return judge(self.asked, truth, self.copies() if copies is None else copies)
