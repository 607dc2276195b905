"""Start a real headless Chromium."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.browser.devtools import Tab

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_LISTENS = re.compile(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)/")
_SECONDS = 30.0
# The only page is the tests' own: no sandbox is needed, and root and containers have none. The
# resolver knows loopback alone, so neither the page nor the browser itself can reach further.
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--lang=en-GB",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)


@asynccontextmanager
async def chromium() -> AsyncIterator[Tab]:
    """Run a browser with an empty profile, and yield its one tab."""
    # The browser still writes into its profile while it ends.
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            _program(),
            *_FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            port = await _port(process.stderr)
            async with Tab.attach(port) as tab:
                yield tab
        finally:
            process.kill()
            await process.communicate()


def _program() -> str:
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(
            "No Chromium here. Run `apt-get install chromium-headless-shell` as root, or put one "
            f"of these on PATH: {', '.join(_NAMES)}."
        )
    return found


async def _port(stderr: asyncio.StreamReader) -> int:
    said = b""
    async with asyncio.timeout(_SECONDS):
        while line := await stderr.readline():
            said += line
            if found := _LISTENS.search(line):
                return int(found[1])
    return pytest.fail(f"Chromium ended at once: {said.decode(errors='replace')[-2000:]}")
