"""Start a real headless Chromium."""

import asyncio
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.browser.devtools import Tab

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
_LISTENS = re.compile(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)/")
_SECONDS = 30.0
# The only page is the tests' own: no sandbox is needed, and root and containers have none. The
# resolver knows loopback alone, so neither the page nor the browser itself can reach further.
CLOSED_NETWORK = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    # What Chromium keeps from pages of other networks on its own says nothing about ours.
    "--disable-features=LocalNetworkAccessChecks",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--lang=en-GB",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_FLAGS = ("--headless", "--remote-debugging-port=0", *CLOSED_NETWORK)


@asynccontextmanager
async def chromium() -> AsyncIterator[Tab]:
    """Run a browser with an empty profile, and yield its one tab."""
    # The browser still writes into its profile while it ends.
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        log = Path(profile) / "log"
        # Its many processes share its standard error: a pipe would stay open until the last ends.
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                _program(),
                *_FLAGS,
                f"--user-data-dir={profile}",
                "about:blank",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            async with Tab.attach(await _port(process, log)) as tab:
                yield tab
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _program() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(
            "No Chromium here. Run `apt-get install chromium-headless-shell` as root, or put one "
            f"of these on PATH: {', '.join(NAMES)}."
        )
    return found


async def _port(process: asyncio.subprocess.Process, log: Path) -> int:
    async with asyncio.timeout(_SECONDS):
        while not (found := _LISTENS.search(log.read_bytes())):
            if process.returncode is not None:
                pytest.fail(f"Chromium ended at once: {log.read_text(errors='replace')[-2000:]}")
            await asyncio.sleep(0.02)
    return int(found[1])
