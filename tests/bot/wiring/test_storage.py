"""Open what a gateway needs first, and leave what the next one needs to know."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest

from bot.settings import load
from bot.wiring.api import Network
from bot.wiring.storage import open_storage
from core.store import Store, approvals, open_store
from core.store.people import people, totp_keys
from core.store.schema.records import ApprovalDraft
from core.trust.sealing import SEALING_KEY, Seals
from tests.support.api_gateway import configure
from tests.support.store_records import draft

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


async def _left_in_clear(home: Path) -> None:
    """Leave a database as an earlier Sayso did."""
    configure(home)
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    try:
        await store.write(people.add, "ana")
        await store.write(totp_keys.enrol, "ana", SECRET, "uid:0")
    finally:
        await store.close()


@asynccontextmanager
async def _ground(home: Path, **environ: str) -> AsyncIterator[tuple[Store, Seals]]:
    """Open a home's store as a gateway does, and its sealer."""
    settings = load(home, environ=environ)
    async with AsyncExitStack() as stack:
        storage = await open_storage(stack, settings, Network.of(settings))
        yield storage.store, settings.seals


def _holding(folder: Path) -> list[str]:
    """Return the files that hold the secret."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    return [one.name for one in files if SECRET.encode() in one.read_bytes()]


def _backed_up(home: Path) -> list[str]:
    """Copy the database as the page about backups says; return what contains the secret there."""
    copy = home.parent / "copy"
    copy.mkdir(exist_ok=True)
    with (
        closing(sqlite3.connect(home / "state.db")) as live,
        closing(sqlite3.connect(copy / "state.db")) as kept,
    ):
        live.backup(kept)
    return _holding(copy)


async def test_what_was_in_clear_is_sealed_at_the_start(tmp_path: Path) -> None:
    """Neither database nor backup contains it then; the control: both did. It is the same one."""
    home = tmp_path / "home"
    await _left_in_clear(home)
    assert "state.db" in _holding(home)
    assert _backed_up(home) == ["state.db"]

    async with _ground(home) as (store, seals):
        assert _backed_up(home) == []
        kept = await store.read(totp_keys.key_of, "ana")
        assert kept is not None
        assert seals.opened(kept.secret, "totp:ana") == SECRET
    assert _holding(home) == []
    assert (home / SEALING_KEY).stat().st_mode & 0o777 == 0o600


async def test_without_an_app_there_is_no_key(tmp_path: Path) -> None:
    """It is made when the first secret is sealed."""
    configure(tmp_path / "home")
    async with _ground(tmp_path / "home"):
        pass
    assert not (tmp_path / "home" / SEALING_KEY).exists()


@pytest.mark.parametrize("key", ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
async def test_the_key_may_be_given(tmp_path: Path, key: str) -> None:
    """By ``store.key``, for gateways that share a database; no file is made."""
    home = tmp_path / "home"
    await _left_in_clear(home)
    async with _ground(home, SAYSO_STORE__KEY=key) as (store, seals):
        kept = await store.read(totp_keys.key_of, "ana")
        assert kept is not None
        assert seals.opened(kept.secret, "totp:ana") == SECRET
    assert (_holding(home), (home / SEALING_KEY).exists()) == ([], False)


async def test_what_a_start_stored_is_recorded_by_the_next_one_of_its_home(
    tmp_path: Path, postgres_url: str
) -> None:
    """It ended before it was recorded; the control: another gateway of the database starts."""
    homes, question = [tmp_path / "one", tmp_path / "two"], draft()
    for home in homes:
        configure(home)

    async def start(home: Path, *asked: ApprovalDraft) -> list[str]:
        settings = load(home, environ={"SAYSO_STORE__URL": postgres_url})
        async with AsyncExitStack() as stack:
            storage = await open_storage(stack, settings, Network.of(settings))
            await storage.journal.append("proof", {})
            for one in asked:
                await storage.store.write(approvals.create, one)
        lines = map(json.loads, settings.audit_path.read_text().splitlines())
        return [line["run"] for line in lines if line["kind"] == "ask"]

    assert await start(homes[1]) == []
    assert await start(homes[0], question) == []
    assert await start(homes[1]) == []
    assert await start(homes[0]) == [question.id]
    assert await start(homes[0]) == [question.id]
