"""Run one of the platforms in a separate process, with a stopwatch next to its people.

``python -m tests.benchmarks.chat_platform slack|telegram|discord``; then one JSON line each:
``press`` (press open buttons one after the other; time each, and its other copies), ``open`` (count
the messages with buttons), ``shown`` (the prompts that have buttons), ``calls`` (what the bot
called since the last ``forget``: when, what, status), ``unlimited`` (no rates), ``delay`` (answer
messages later, or with ``edits`` what shows a decision).
"""

import asyncio
import re
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.benchmarks.chat_programs import Json, serve
from tests.benchmarks.chat_stages import Button, DiscordStage, SlackStage, Stage, TelegramStage
from tests.emulators.discord import DiscordServer
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer
from tests.emulators.telegram import TelegramServer

_PATIENCE_S = 20.0
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


@dataclass(slots=True)
class Stopwatch:
    """Press, and record when each call was answered."""

    stage: Stage
    _times: list[float] = field(default_factory=list)
    _from: int = 0

    async def watch(self) -> None:
        """Record the time of each call, as it is answered."""
        while True:
            async with self.stage.changed:
                await self.stage.changed.wait()
            now = time.monotonic()
            self._times += [now] * (len(self.stage.calls()) - len(self._times))

    async def handle(self, asked: Json) -> object:
        """Carry out one line."""
        match asked["do"]:
            case "press":
                return await self._press_all(int(asked["count"]), float(asked["pause"]))
            case "open":
                return len(self.stage.open())
            case "shown":
                return sorted(
                    {one for data in self.stage.all_buttons() for one in _ID.findall(data)}
                )
            case "delay":
                method = self.stage.shows if asked.get("edits") else self.stage.says
                delay = Fault(FaultKind.DELAY, method, seconds=float(asked["seconds"]))
                self.stage.faults.add(delay, int(asked["times"]))
            case "forget":
                self._from = len(self.stage.calls())
            case "unlimited":
                self.stage.unlimited()
            case "calls":
                calls = self.stage.calls()[: len(self._times)]
                timed = list(zip(self._times, calls, strict=True))[self._from :]
                return [[at, *call] for at, call in timed]
            case _:
                pass
        return True

    async def _press_all(self, count: int, pause: float) -> list[tuple[float, float, float]]:
        """Press a button of this many prompts, one after the other.

        Returns when, when that copy was edited, and when the last of the others was.
        """
        waiting = list({button[2]: button for button in reversed(self.stage.open())}.values())
        assert count <= len(waiting)
        times = []
        for button in waiting[::-1][:count]:
            times.append(await self._press(button))
            await asyncio.sleep(pause)
        return times

    async def _press(self, button: Button) -> tuple[float, float, float]:
        others = [one for one in self.stage.open() if one[2] == button[2] and one != button]
        begun = time.monotonic()
        pressing = asyncio.ensure_future(self.stage.press(button))
        own, *rest = await asyncio.gather(*(self._ended(one) for one in (button, *others)))
        await pressing
        return begun, own, max(rest, default=own)

    async def _ended(self, button: Button) -> float:
        """Return when a copy has lost its buttons."""
        async with asyncio.timeout(_PATIENCE_S), self.stage.changed:
            await self.stage.changed.wait_for(lambda: not self.stage.waits(button))
            return time.monotonic()


async def main(name: str) -> None:
    """Run one platform until the input ends."""
    async with AsyncExitStack() as stack:
        stage: Stage
        match name:
            case "slack":
                stage = SlackStage(await stack.enter_async_context(SlackServer()))
            case "telegram":
                stage = TelegramStage(await stack.enter_async_context(TelegramServer()))
            case _:
                stage = DiscordStage(await stack.enter_async_context(DiscordServer()))
        watch = Stopwatch(stage)
        watching = asyncio.create_task(watch.watch())
        await serve(stage.hello, watch.handle)
        watching.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
