"""Serve the page of what the three local platforms received."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from aiohttp import web

from tests.emulators.page.markup import Json
from tests.emulators.page.sheet import STYLE, sheet

# The browser itself refuses anything else that a page might load or run.
_POLICY = "default-src 'none'; style-src 'self'; img-src data:"


@dataclass(slots=True)
class PromptPage:
    """The page, on a free loopback port; ``posted`` is called at each request."""

    posted: Callable[[], dict[str, Json]]
    bot: str = "sayso"
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Return the page's address."""
        assert self._runner is not None
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/", self._page)
        app.router.add_get("/page.css", self._style)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(
            text=sheet(self.posted(), self.bot),
            content_type="text/html",
            headers={"Content-Security-Policy": _POLICY},
        )

    async def _style(self, request: web.Request) -> web.Response:
        return web.Response(text=STYLE.read_text(encoding="utf-8"), content_type="text/css")
