"""Draw what people see of nodes and the companion: ``python -m tests.browser.node_pictures``.

``node-pairing.png`` are the three messages of a node that asks to be paired, ``companion.svg`` is
the companion's screen with a question, as the library that draws it writes it.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.companion.dialog_queue import DialogQueue
from bot.companion.screen import CompanionScreen
from core.model.node import NodeId
from core.store.people import nodes
from tests.browser.chromium import chromium
from tests.browser.devtools import Tab
from tests.browser.picture import IMAGES
from tests.browser.png import with_palette
from tests.browser.scene import WIDTH
from tests.core.companion.desks import TOKEN, companion, question
from tests.emulators.page.server import PromptPage
from tests.support.page_client import PageClient
from tests.support.ports import free_port
from tests.support.three_platforms import three_platforms
from tests.support.waiting import until

PAIRING, COMPANION = IMAGES / "node-pairing.png", IMAGES / "companion.svg"
NAME, ADDRESS = "build-server", "192.0.2.17"
_GEOMETRY = Path(__file__).with_name("geometry.js")
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


@asynccontextmanager
async def pairing(home: Path) -> AsyncIterator[tuple[Tab, dict[str, Any]]]:
    """Show the messages of a node that asks; yield the tab, and what a person sees in it."""
    listening = {"nodes": {"enabled": True, "listen": f"127.0.0.1:{free_port()}"}}
    async with (
        three_platforms(home, listening) as at,
        PromptPage(at.shown) as page,
        chromium() as tab,
    ):
        draft = nodes.PairingDraft(NodeId("5c" * 32), "ab" * 32, NAME, ADDRESS)
        await at.running.gate.store.write(nodes.request, draft)
        await until(lambda: len(at.open()) == 3)
        await tab.show(page.url, WIDTH, 2)
        yield tab, await tab.evaluate(_GEOMETRY.read_text(encoding="utf-8"))


async def companion_screen() -> str:
    """Return the companion's screen with one question, without the fonts that it would load."""
    dialogs = DialogQueue()
    async with companion(dialogs) as server:
        screen = CompanionScreen(dialogs, "~/.sayso/exec-approvals.sock")
        async with screen.run_test(size=(92, 14)) as pilot:
            client = PageClient(server.path, TOKEN)
            try:
                await asyncio.to_thread(client.ask, question())
                await until(lambda: dialogs.waiting)
                screen.draw()
                await pilot.pause()
                drawn = screen.export_screenshot(title="sayso companion")
            finally:
                client.close()
    return _FONT.sub("", drawn)


async def _draw() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with pairing(Path(home)) as (tab, seen):
            assert not seen["faults"], seen["faults"]
            PAIRING.write_bytes(await with_palette(await tab.screenshot(), tab))
    COMPANION.write_text(await companion_screen(), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_draw())
