"""Try to read what `sandbox.hide` hides in a workspace that the configuration names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.hosts.sandbox.filesystem.layout import places_of
from core.hosts.sandbox.filesystem.workspace_check import Check
from tests.support.runs import running
from tests.support.sandbox import PROTECTED, SECRET, HomeBeside, bwrap, over

HIDDEN = ("app/deep/.env", ".git/credentials", "keys")
MOVES = "for one in app .git; do mv $one moved-$one; done; true"
READS = "cat */.env */*/.env .git/* moved-*/* keys/* 2>/dev/null; true"


@asynccontextmanager
async def hiding(folder: Path) -> AsyncIterator[HomeBeside]:
    """Yield a sandbox with one workspace that contains something to hide."""
    home, work = folder / "home", folder / "work"
    home.mkdir(mode=0o700)
    for one in ("app/deep/.env", ".git/credentials", "keys/one"):
        (work / one).parent.mkdir(parents=True, exist_ok=True)
        (work / one).write_text(f"{SECRET}\n")
    (work / ".git" / "config").touch()
    hidden = [str(work / one) for one in HIDDEN]
    places = places_of([home], str(Path.home()), hidden, (), str(work), PROTECTED)
    async with (
        running() as runner,
        over(runner, Bubblewrap(bwrap(), places, network=False), home) as host,
    ):
        yield HomeBeside(runner, host, home, work)


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
async def test_hidden_files_cannot_be_read(
    held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by moving a parent folder away for the next run, nor below a protected folder."""
    if not held:
        monkeypatch.setattr(Check, "begin", lambda *_words, **_options: ())
    async with hiding(tmp_path) as house:
        first = await house.run(("/bin/sh", "-c", READS))
        await house.run(("/bin/sh", "-c", MOVES))
        second = await house.run(("/bin/sh", "-c", READS))
        outside = await house.run_outside(("/bin/sh", "-c", "cat app/deep/.env"))

    assert first.output.text == ""
    assert (second.output.text == "") is held
    if held:
        assert SECRET in outside.output.text
