"""Let a phone install the page: the manifest, the service worker and the offline note.

All three are the same for everybody and contain no personal data, so they need no session.
"""

from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

from bot.page.assets import Assets
from bot.page.render import Renderer
from bot.page.visit import HEADERS, Visit, page

_FRESH = {"Cache-Control": "no-cache"}
_SIZES = (192, 512)


@dataclass(frozen=True, slots=True)
class InstallPages:
    """The files that a browser requests before it installs a page."""

    assets: Assets
    render: Renderer

    async def manifest(self, _visit: Visit) -> Response:
        """Return the manifest (W3C Web Application Manifest)."""
        icons = [
            {
                "src": self.assets.url(f"icon-{size}.png"),
                "sizes": f"{size}x{size}",
                "type": "image/png",
                "purpose": purpose,
            }
            for size in _SIZES
            for purpose in ("any", "maskable")
        ]
        made = {
            "id": "/",
            "name": "Sayso",
            "short_name": "Sayso",
            "description": "What agents ask to run, and your answers.",
            "start_url": "/",
            "scope": "/",
            "display": "standalone",
            "background_color": "#f5f4f0",
            "theme_color": "#14643c",
            "icons": icons,
        }
        headers = {**HEADERS, **_FRESH}
        return JSONResponse(made, headers=headers, media_type="application/manifest+json")

    async def worker(self, _visit: Visit) -> Response:
        """Return the service worker, for all pages; browsers request it again each day."""
        data = self.assets.files["worker.js"]
        return Response(data, media_type="text/javascript", headers={**HEADERS, **_FRESH})

    async def offline(self, _visit: Visit) -> Response:
        """Return the note that the worker stores and shows when the gateway does not answer."""
        return page(self.render.text("offline.html"))
