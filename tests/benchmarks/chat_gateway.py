"""Run the whole gateway in a separate process, and report when it committed what.

``python -m tests.benchmarks.chat_gateway HOME``; then one JSON line each: ``post`` (ask ``count``
questions, ``places`` such as ``slack:C01`` in turn, or without places where the settings say; in
bursts of ``burst`` to one place, each ``every`` seconds), ``notes`` (the store's wake-ups so far).
"""

import asyncio
import sys
import time
from pathlib import Path

from bot.app import Gateway, gateway
from bot.settings import load
from core.model.command import ExecRequest
from core.model.identity import Intake, Requester, SessionKey, Target
from core.model.result import Pending
from tests.benchmarks.chat_programs import Json, serve


class Asker:
    """Ask for the benchmark, and keep the store's wake-ups with their times."""

    def __init__(self, running: Gateway, home: Path) -> None:
        self._running = running
        self._home = home
        self._notes: list[tuple[float, str]] = []
        self._asked = 0
        running.store.subscribe(lambda note: self._notes.append((time.monotonic(), note)))

    async def handle(self, asked: Json) -> object:
        """Carry out one line."""
        match asked["do"]:
            case "post":
                return await self._post(asked)
            case "notes":
                notes, self._notes = self._notes, []
                return notes
            case _:
                return None

    async def _post(self, asked: Json) -> list[float]:
        """Ask, and return when the first and the last burst of questions was started."""
        places, burst = asked.get("places") or [""], int(asked.get("burst", 1))
        every = float(asked.get("every", 0.0))
        begun = at = time.monotonic()
        for turn in range(int(asked["count"]) // burst):
            await asyncio.sleep(begun + turn * every - time.monotonic())
            channel, _, to = str(places[turn % len(places)]).partition(":")
            place = Target(channel, to) if to else None
            at = time.monotonic()
            await asyncio.gather(*(self._ask(place) for _ in range(burst)))
        return [begun, at]

    async def _ask(self, origin: Target | None) -> None:
        """Ask one question that equals no other."""
        self._asked += 1
        request = ExecRequest(
            requester=Requester(Intake.SOCKET, "uid:0", (1, 2)),
            session=SessionKey("main"),
            cwd=str(self._home),
            line=f"/usr/bin/true {self._asked}",
            origin=origin,
        )
        assert isinstance(await self._running.gate.submit(request), Pending)


async def main(home: Path) -> None:
    """Run a gateway until the input ends."""
    async with gateway(load(home, environ={})) as running:
        await serve({}, Asker(running, home).handle)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
