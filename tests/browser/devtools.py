"""Speak the Chrome DevTools Protocol with one tab."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from aiohttp import ClientSession, ClientWebSocketResponse

Json = dict[str, Any]

_DOMAINS = ("Page", "Runtime", "Log", "Network")
_COMPLAINTS = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown"} | {
    "Log.entryAdded",
    "Network.loadingFailed",
}
_LONGEST_MESSAGE = 64 * 2**20
_SECONDS = 20.0
# A window lower than any page, so that the page's own height can be read.
_LOW = 100


@dataclass(slots=True)
class Tab:
    """One tab; ``requests`` are all that it made, ``complaints`` all that went wrong in it."""

    socket: ClientWebSocketResponse
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _open: dict[int, asyncio.Future[Json]] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def attach(cls, port: int) -> AsyncIterator[Self]:
        """Attach to the first tab of the browser whose DevTools listen on a port of loopback."""
        async with ClientSession() as http:
            async with http.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [one for one in await answer.json() if one["type"] == "page"]
            address = pages[0]["webSocketDebuggerUrl"]
            async with http.ws_connect(address, max_msg_size=_LONGEST_MESSAGE) as socket:
                tab = cls(socket)
                reading = asyncio.create_task(tab._read())
                try:
                    for domain in _DOMAINS:
                        await tab.call(f"{domain}.enable")
                    yield tab
                finally:
                    reading.cancel()

    async def call(self, method: str, **params: Any) -> Json:
        """Call a method and return its result.

        Raises:
            AssertionError: the browser refused.
            TimeoutError: it did not answer in time.
        """
        number = next(self._numbers)
        answered = self._open[number] = asyncio.get_running_loop().create_future()
        await self.socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(_SECONDS):
            answer = await answered
        assert "error" not in answer, (method, answer)
        result: Json = answer["result"]
        return result

    async def show(self, url: str, width: int, scale: int) -> None:
        """Open a page in a window of this width (CSS pixels) and as high as the page."""
        size = {"width": width, "deviceScaleFactor": scale, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", height=_LOW, **size)
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(_SECONDS):
            await self._loaded.wait()
        await self.evaluate("document.fonts.ready.then(() => true)")
        height = await self.evaluate("document.documentElement.scrollHeight")
        await self.call("Emulation.setDeviceMetricsOverride", height=height, **size)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a script in the page.

        Raises:
            AssertionError: the script threw.
        """
        done = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def screenshot(self) -> bytes:
        """Return the window as a PNG."""
        made = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(made["data"])

    async def _read(self) -> None:
        async for message in self.socket:
            said = json.loads(message.data)
            if "id" in said:
                self._open.pop(said["id"]).set_result(said)
            else:
                self._note(said["method"], said["params"])

    def _note(self, event: str, params: Json) -> None:
        if event == "Page.loadEventFired":
            self._loaded.set()
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event in _COMPLAINTS:
            self.complaints.append(f"{event}: {json.dumps(params)}")
